# SPDX-License-Identifier: Apache-2.0
"""Pages: that of a run is the one that ``regimeter report`` writes, that of a folder lists its runs."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from ..report.html import render_html
from ..report.memory_page import render_memory
from ..report.static_page import Markup, page, table
from ..system.text import UNAVAILABLE, amount
from .live import page_data
from .loaded import Loaded
from .sentences import UNREADABLE
from .shelf import COMPILE, MEMORY, RANKS, Entry

COLUMNS = ("run, and what limits it", "kind", "size", "written", "tags", "baseline", "current")
REFRESH = '<meta http-equiv="refresh" content="3">\n'


def run_page(loaded: Loaded) -> str:
    """Return the page of one run, or of a report."""
    if loaded.entry.kind == MEMORY and loaded.document is not None:
        return render_memory(loaded.document, loaded.entry.name)
    if loaded.entry.kind == COMPILE and loaded.document is not None:
        return _compile_page(loaded.entry, loaded.document)
    return render_html(page_data(loaded))


@dataclass(frozen=True, slots=True)
class Listed:
    """A run of the list. sentence: what limits it, None where that is not known yet. written: whether it is a recording
    that is still being written."""

    entry: Entry
    sentence: str | None
    tags: Sequence[str] = ()
    written: bool = False

    @property
    def unreadable(self) -> bool:
        """Whether it only looked like a run."""
        return self.sentence is not None and self.sentence.startswith(UNREADABLE)


def home_page(title: str, runs: Sequence[Listed], *, history: bool = False) -> str:
    """Return the list of runs, from which one can be opened or two compared; it comes again while some are read."""
    pending = [run for run in runs if run.sentence is None]
    readable = [run for run in runs if not run.unreadable]
    jobs = [run.entry.name for run in readable if run.entry.kind == RANKS]
    rows = [_row(run) for run in readable if not _job(run, jobs)]
    waits = f'<p class="note">{len(pending)} of {len(runs)} runs are still being read.</p>' if pending else ""
    compare = "<p>Choose a baseline and a current run, then <button>Compare</button></p>" if len(rows) > 1 else ""
    past = '<a href="/history">History</a> · ' if history else ""
    body = (
        f"<h1>{escape(title)}</h1>\n{waits}"
        '<form action="/uploads" method="post" enctype="multipart/form-data">'
        '<p><label>Add a run: <input type="file" name="file" required></label> <button>Upload</button></p></form>\n'
        f'<form action="/compare" method="get">{compare}\n'
        f"{table('Runs', COLUMNS, rows, 'No recording, trace or profile is in this folder.')}\n"
        f"{_ranks(readable, jobs)}</form>\n"
        f"{_broken([run for run in runs if run.unreadable])}"
        f'<p class="note">{past}<a href="/openapi.json">The API</a></p>'
    )
    return page(title, body, head=REFRESH if pending else "", forms="'self'")


def _job(run: Listed, jobs: Sequence[str]) -> str:
    """Return the job whose rank a run is, "" for none."""
    name = run.entry.name
    return next((job for job in jobs if name != job and name.startswith(job)), "")


def _ranks(runs: Sequence[Listed], jobs: Sequence[str]) -> str:
    """Return the ranks of each job, folded: the job itself is in the list."""
    parts = []
    for job in jobs:
        rows = [_row(run) for run in runs if _job(run, jobs) == job]
        summary = f"<summary>{len(rows)} ranks of {escape(job)}</summary>"
        parts.append(f"<details>{summary}{table('', COLUMNS, rows)}</details>\n")
    return "".join(parts)


def _broken(runs: Sequence[Listed]) -> str:
    """Return what looked like runs and is none, folded."""
    if not runs:
        return ""
    rows = [(run.entry.name, (run.sentence or "").removeprefix(UNREADABLE)) for run in runs]
    number = f"{len(runs)} files cannot be read" if len(runs) > 1 else "1 file cannot be read"
    return f"<details><summary>{number}</summary>{table('', ('file', 'why'), rows)}</details>\n"


def _row(run: Listed) -> list[str]:
    entry = run.entry

    def choose(side: str) -> Markup:
        label = escape(f"{entry.name} as {side}")
        return Markup(f'<input type="radio" name="{side}" value="{entry.id}" aria-label="{label}" required>')

    comparable = entry.kind not in (MEMORY, COMPILE)
    kind = entry.kind + (", uploaded" if entry.uploaded else "")
    modified = datetime.datetime.fromtimestamp(entry.modified_ns / 1e9).astimezone()
    return [
        Markup(
            f'<a href="/runs/{entry.id}">{escape(entry.name)}</a>'
            f'<span class="under">{escape("…" if run.sentence is None else run.sentence)}</span>'
        ),
        Markup(f'<a href="/runs/{entry.id}">being written</a>') if run.written else kind,
        amount(entry.bytes),
        f"{modified:%Y-%m-%d %H:%M}",
        ", ".join(run.tags),
        choose("baseline") if comparable else "",
        choose("current") if comparable else "",
    ]


def _compile_page(entry: Entry, report: Mapping[str, Any]) -> str:
    figures = [
        (
            name.replace("_", " "),
            UNAVAILABLE if value is None else f"{value:,.6g}" if isinstance(value, float) else str(value),
        )
        for name, value in report.items()
        if isinstance(value, int | float | str | None) and name not in ("format", "version")
    ]
    breaks = [
        (f"{row.get('location')}:{row.get('line_number')}", str(row.get("reason")), str(row.get("suggestion")))
        for row in report.get("graph_breaks", ())
    ]
    again = [
        (f"{row.get('function')} ({row.get('location')}:{row.get('line_number')})", str(row.get("guard")))
        for row in report.get("recompiles", ())
    ]
    body = (
        f"<h1>{escape(entry.name)}: torch.compile</h1>"
        + table("Figures", ("", ""), figures)
        + table("Graph breaks", ("place", "reason", "hint"), breaks, "None.")
        + table("Compiled again", ("function", "guard that failed"), again, "None.")
    )
    return page(f"{entry.name} - torch.compile", body)
