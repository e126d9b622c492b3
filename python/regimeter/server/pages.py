# SPDX-License-Identifier: Apache-2.0
"""Pages: that of a run is the one that ``regimeter report`` writes, that of a folder lists its runs."""

import datetime
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..report.document import TEXT, Column, Section, document, first, table
from ..report.html import render_html
from ..system.text import count
from .live import page_data
from .loaded import Loaded
from .problems import HOME
from .sentences import UNREADABLE
from .shelf import COMPILE, MEMORY, RANKS, TAG, TAG_WORDS, Entry

KINDS = {RANKS: "job"}  # what a kind is called in the sentence, where it is not by its own name
TAG_RULE = {"pattern": TAG.pattern, "words": TAG_WORDS}
NOTHING = "No recording, trace or profile is in this folder."
ADD = "Add one below, or have a program write one into it: `regimeter record -o FOLDER/run.rgm program.py`."


def run_page(loaded: Loaded) -> str:
    """Return the page of one run, or of a report; that of a very large run asks for the costly part when it is open."""
    return render_html(page_data(loaded, first=True), home=HOME)


@dataclass(frozen=True, slots=True)
class Listed:
    """A run of the list. sentence: what limits it, None where that is not known yet. written: whether it is a recording
    that is still being written. kept: why it is not deleted, "" where it may be."""

    entry: Entry
    sentence: str | None
    tags: Sequence[str] = ()
    written: bool = False
    kept: str = ""

    @property
    def unreadable(self) -> bool:
        """Whether it only looked like a run."""
        return self.sentence is not None and self.sentence.startswith(UNREADABLE)


def home_page(
    title: str, runs: Sequence[Listed], left_out: Sequence[tuple[str, str]] = (), *, history: bool = False
) -> str:
    """Return the list of runs, from which one can be opened or two compared; it comes again while some are read."""
    return render_html(home_data(title, runs, left_out, history=history))


def home_data(
    title: str, runs: Sequence[Listed], left_out: Sequence[tuple[str, str]] = (), *, history: bool = False
) -> Section:
    """Return what the list of runs shows. left_out: files that are no runs, each with the reason."""
    readable = [run for run in runs if not run.unreadable]
    unreadable = [run for run in runs if run.unreadable]
    jobs = [run.entry.name for run in readable if run.entry.kind == RANKS]
    alone = [run for run in readable if not _job(run, jobs)]
    pending = sum(run.sentence is None for run in runs)
    links = [("/history", "History"), ("/openapi.json", "The API")]
    listed = _listed("runs", "Runs", alone) | {"pending": pending}
    sections = [
        *([listed] if alone else []),
        *_ranks(readable, jobs),
        {"id": "upload", "title": "Add a run", "form": "upload"},
        *_unreadable(unreadable),
        *_left_out(left_out),
        {"id": "more", "title": "More", "form": "links", "links": links if history else links[1:]},
    ]
    why = _why(pending, len(runs), len(unreadable), len(left_out))
    limit = first("What is here", _sentence(alone), why=why if readable else f"{ADD} {why}".strip())
    return document("runs", title, limit=limit, sections=sections, sends=True)


def _sentence(runs: Sequence[Listed]) -> str:
    if not runs:
        return NOTHING
    written = sum(run.written for run in runs)
    kinds = Counter(KINDS.get(run.entry.kind, run.entry.kind) for run in runs)
    told = ", ".join(count(number, kind) for kind, number in kinds.most_common())
    return f"{told}{f', {written} of them being written' if written else ''}."


def _why(pending: int, runs: int, unreadable: int, left_out: int) -> str:
    reading = f"{pending} of {runs} runs are still being read. " if pending else ""
    other = "other file" if unreadable else "file"
    apart = [f"{count(unreadable, 'file')} cannot be read"] if unreadable else []
    apart += [f"{count(left_out, other)} left out"] if left_out else []
    return reading + (f"{', '.join(apart)}: the reasons are below." if apart else "")


def _job(run: Listed, jobs: Sequence[str]) -> str:
    """Return the job whose rank a run is, "" for none."""
    name = run.entry.name
    return next((job for job in jobs if name != job and name.startswith(job)), "")


def _ranks(runs: Sequence[Listed], jobs: Sequence[str]) -> list[Section]:
    """Return the ranks of each job, folded: the job itself is in the list."""
    made = []
    for number, job in enumerate(jobs):
        ranks = [run for run in runs if _job(run, jobs) == job]
        made.append(_listed(f"ranks-{number}", f"{count(len(ranks), 'rank')} of {job}", ranks) | {"folded": True})
    return made


def _unreadable(runs: Sequence[Listed]) -> list[Section]:
    """Return what looked like runs and is none."""
    columns = [
        Column("file", TEXT, [run.entry.name for run in runs], "Below what is served"),
        Column(
            "why",
            TEXT,
            [(run.sentence or "").removeprefix(UNREADABLE) for run in runs],
            "As reading it says",
            prose=True,
        ),
    ]
    return [table("unreadable", "Cannot be read", columns, "")] if runs else []


def _left_out(files: Sequence[tuple[str, str]]) -> list[Section]:
    columns = [
        Column("file", TEXT, [name for name, _ in files], "Below what is served"),
        Column("why", TEXT, [why for _, why in files], "Told by its first bytes", prose=True),
    ]
    return [table("left-out", "Left out: no runs", columns, "")] if files else []


def _listed(id: str, title: str, runs: Sequence[Listed]) -> Section:
    return {"id": id, "title": title, "form": "runs", "rows": _rows(runs), "tag": TAG_RULE}


def _rows(runs: Sequence[Listed]) -> list[dict[str, Any]]:
    return [
        {
            "id": run.entry.id,
            "name": run.entry.name,
            "limit": run.sentence,
            "kind": run.entry.kind + (", uploaded" if run.entry.uploaded else ""),
            "bytes": run.entry.bytes,
            "modified": f"{datetime.datetime.fromtimestamp(run.entry.modified_ns / 1e9).astimezone():%Y-%m-%d %H:%M}",
            "tags": list(run.tags),
            "kept": run.kept,
            "written": run.written,
            "comparable": run.entry.kind not in (MEMORY, COMPILE),
        }
        for run in runs
    ]
