# SPDX-License-Identifier: Apache-2.0
"""A recording that is still being written: what its journal holds so far, as server-sent events and as a page that
follows them.

The journal is read anew each time (0.3 s for a million scopes), so the pause between two looks is at least four times
what the last one took. Everybody who watches the same recording shares one look.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from functools import partial
from typing import TYPE_CHECKING, Any

from .. import _core
from ..report.compile_page import compile_data
from ..report.memory_page import memory_data
from ..report.trace_data import trace_data
from ..run.profile_json import summary_facts
from ..run.records import summaries_of
from .answers import to_json
from .loaded import Loaded
from .problems import Problem
from .shelf import MEMORY, RECORDING, Entry, is_young
from .tiles import grid, is_tiled

if TYPE_CHECKING:
    from .service import Service

TOP = 10
SHARE_OF_TIME = 4.0  # pauses for each second that a look takes
POLL_S = 0.1  # in which the end of the server is noticed
MOST_WATCHERS = 64
GOING_ON = ("unfinished", "open_scopes")  # what is odd about a recording that has ended


def state_of(loaded: Loaded) -> dict[str, Any]:
    """Return what a recording holds so far."""
    run, verdict = loaded.need_run(), loaded.verdict
    return {
        "file": loaded.entry.name,
        "bytes": loaded.entry.bytes,
        "revision": loaded.entry.bytes,
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


def document_data(report: dict[str, Any], entry: Entry) -> dict[str, Any]:
    """Return what the page of a report of memory or of compiling shows. Problem for one that is not whole."""
    try:
        return (memory_data if entry.kind == MEMORY else compile_data)(report, entry.name)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        what = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise Problem(422, f"{entry.name}: no whole {entry.kind} ({what}); write it again") from None


def page_data(loaded: Loaded, *, first: bool = False) -> dict[str, Any]:
    """Return what the page of a run or a report shows.

    Of a recording that is being written, `live` says where the page hears that it has grown (`events`), where it has
    its figures from (`data`), and what these are of (`revision`). Of a run with too many spans for a page the timeline
    is an overview, and `tiles` says how to ask for more; with `first` what takes long is left out, and `rest` says
    where the page gets all of it.
    """
    entry = loaded.entry
    if loaded.document is not None:
        return document_data(loaded.document, entry)
    tiled, written = is_tiled(loaded), is_written(loaded)
    first = first and tiled and not written
    most = int(_core.policy()["timeline_overview_spans"]["default"]) if tiled else None
    data = trace_data(loaded.need_run(), title=entry.name, ceilings=loaded.ceilings, most=most, first=first)
    if tiled:
        data["tiles"] = grid(loaded)
    whole = f"/api/runs/{entry.id}/page"
    if not written:
        return data | ({"rest": {"data": whole}} if first else {})
    live = {"events": f"/api/live?run={entry.id}", "data": whole, "revision": entry.bytes}
    # It has not ended early, it has not ended.
    odd = [row for row in data["anomalies"] if row["code"] not in GOING_ON]
    return data | {"run": {**data["run"], "complete": True}, "anomalies": odd, "live": live}
