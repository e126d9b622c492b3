# SPDX-License-Identifier: Apache-2.0
"""A recording that is still being written: what its journal holds so far, as server-sent events and as a page.

The journal is read anew each time (0.3 s for a million scopes), so the pause between two looks is at least four times
what the last one took. Everybody who watches the same recording shares one look.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

from ..report.static_page import page, table
from ..run.profile_json import summary_facts
from ..run.records import summaries_of
from ..system.text import amount, duration, percent
from .answers import to_json
from .loaded import Loaded
from .problems import Problem
from .shelf import RECORDING, Entry, is_young

if TYPE_CHECKING:
    from .service import Service

TOP = 10
SHARE_OF_TIME = 4.0  # pauses for each second that a look takes
POLL_S = 0.1  # in which the end of the server is noticed
MOST_WATCHERS = 64
REFRESH = '<meta http-equiv="refresh" content="2">\n'


def state_of(loaded: Loaded) -> dict[str, Any]:
    """Return what a recording holds so far."""
    run, verdict = loaded.need_run(), loaded.verdict
    return {
        "file": loaded.entry.name,
        "bytes": loaded.entry.bytes,
        "complete": run.complete,
        "writing": is_written(loaded),
        "spans": len(run.spans),
        "lanes": len(run.lanes),
        "duration_ns": run.duration_ns,
        "limit": verdict.sentence if verdict else None,
        "summary": [summary_facts(row) for row in summaries_of(run)[:TOP]],
        "anomalies": run.anomaly_list(),
    }


def is_written(loaded: Loaded) -> bool:
    """Whether the recording is still being written, as far as the file tells."""
    return loaded.entry.kind == RECORDING and not loaded.need_run().complete and is_young(loaded.entry)


class Watchers:
    """Who watches, at most MOST_WATCHERS at once."""

    def __init__(self, service: "Service") -> None:
        self.service = service
        self.watching = 0

    async def events(self, entry: Entry, interval_s: float) -> AsyncIterator[bytes]:
        """Yield the events of a recording, or one that says that as many as can be are watching."""
        if self.watching >= MOST_WATCHERS:
            yield _event("end", {"file": entry.name, "problem": f"{MOST_WATCHERS} are watching already; try later"})
            return
        self.watching += 1
        try:
            async for event in _events(self.service, entry, interval_s):
                yield event
        finally:
            self.watching -= 1


async def _events(service: "Service", entry: Entry, interval_s: float) -> AsyncIterator[bytes]:
    """Yield the events `state`, one whenever the file has grown, and at last `end` with the same data.

    It ends when the recording was closed, was not written to for a while, or is gone.
    """
    shown: tuple[str, int, int] | None = None
    while not service.ending.is_set():
        begun = time.monotonic()
        try:
            entry = await asyncio.to_thread(service.shelf.find, entry.id)
            if entry.revision != shown or not is_young(entry):
                state = await asyncio.wrap_future(service.answers.submit(partial(service.computed, entry, state_of)))
                yield _event("state" if state["writing"] else "end", state)
                if not state["writing"]:
                    return
                shown = entry.revision
        except Problem as problem:
            yield _event("end", {"file": entry.name, "problem": problem.detail})
            return
        until = begun + max(interval_s, (1 + SHARE_OF_TIME) * (time.monotonic() - begun))
        while time.monotonic() < until and not service.ending.is_set():
            await asyncio.sleep(min(POLL_S, max(0.0, until - time.monotonic())))


def _event(name: str, data: dict[str, Any]) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + to_json(data) + b"\n\n"


def live_page(loaded: Loaded) -> str:
    """Return the page that comes again while the recording is written."""
    state = state_of(loaded)
    rows = [
        (
            row["operation"],
            f"{row['call_count']:,}",
            duration(row["total_time_ms"]),
            duration(row["avg_time_ms"]),
            percent(row["share"]),
        )
        for row in state["summary"]
    ]
    how = (
        "being written" if state["writing"] else "closed" if state["complete"] else "not closed, and no longer written"
    )
    facts = f"{duration(state['duration_ns'] / 1e6)}, {state['spans']:,} spans, {amount(state['bytes'])}, {how}"
    body = (
        f"<h1>{escape(state['file'])}</h1><p>{escape(facts)}</p><p>{escape(state['limit'] or '')}</p>"
        + table("Where the time went so far", ("operation", "calls", "total", "mean", "share"), rows, "No scopes yet.")
        + f'<p class="note"><a href="/runs/{loaded.entry.id}">The whole page</a></p>'
    )
    return page(f"{state['file']} - live", body, head=REFRESH if state["writing"] else "")
