# SPDX-License-Identifier: Apache-2.0
"""The first screen of a page: the verdict, and at most three things to do, each with its bound and its evidence."""

import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from .odd_step import odd_step

if TYPE_CHECKING:
    from ..public.run import Run

MOST_ACTIONS = 3
AROUND = 0.5  # of a span that is evidence, shown before and after it
LEAST_NS = 1_000
# Where a cause can be looked at, of those whose words name no command.
TABLES = {
    "device_idle": "idle",
    "input": "idle",
    "synchronisation": "sync",
    "device": "kernels",
    "scope": "scopes",
    "optimizer": "operators",
}
# Rules of suggestions that say of the critical path what a cause says of its window.
SAME = {
    "input": {"data_loader", "loader_without_workers"},
    "garbage_collection": {"gc_pause"},
    "compile": {"compile_in_window"},
    "device_idle": {"device_idle"},
    "launches": {"launch_bound"},
}
# The same, of a verdict that names the rank that comes last, by the table that it leads to.
SAME_BY_TABLE = {"stragglers": {"straggler"}}
# Rules of suggestions about one part of the bar. A large part has its action before another has a second one.
PARTS = {
    "communication": {
        "exposed_communication",
        "small_collectives",
        "data_parallel",
        "gloo_collectives",
        "straggler",
        "rank_imbalance",
    },
    "device_copies": {"pageable_copies", "sync_copies", "small_copies", "exposed_copies", "device_copies"},
    "synchronisation": {"item_sync", "shape_sync", "to_host_sync", "explicit_sync", "needless_sync"},
    "launches": {"launch_bound", "repeated_sequence", "pointwise_chain"},
    "input": {"data_loader", "loader_without_workers"},
}
LARGE_PART = 0.1  # of the window
OF_PATH = "of the critical path"
_COMMAND = re.compile(r"\bregimeter ([a-z][a-z-]*)")
_LINE = re.compile(r":\d+\)?$")


def first_screen(
    run: "Run", verdict: dict[str, Any] | None, suggestions: list[dict[str, Any]], tables: Collection[str]
) -> dict[str, Any] | None:
    """Return the verdict with its `actions` and the `odd` step, in a sentence; None without a verdict.

    What the verdict says to do comes first, then the first suggestions that say something else, one of each other large
    part of the bar before a second of any. An action is {title, hint, saved_ns, share, of} (None where it is not
    bounded; `of` is what it is a share of) and its evidence: `time`, a range in ns since the start of the run, `query`,
    what to look for in the timeline, and `table`, one of the page's `tables`; each None where there is none.
    """
    if verdict is None:
        return None
    named = [SAME_BY_TABLE.get(name, set()) for name in _COMMAND.findall(verdict["next"])]
    same = SAME.get(verdict["cause"], set()).union(*named)
    chosen = [one for one in suggestions if not one["folded"] and one["rule"] not in same]
    shown = _shown(verdict, chosen)
    actions = [_of_verdict(verdict, tables), *(_of_suggestion(run, one, tables) for one in shown)]
    return verdict | {"actions": actions, "odd": odd_step(run)}


def _shown(verdict: dict[str, Any], chosen: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the suggestions that there is room for beside the verdict, in the order of all of them."""
    large = [name for name, share in verdict["shares"].items() if share >= LARGE_PART and name != verdict["cause"]]
    of_parts = [next((one for one in chosen if one["rule"] in PARTS.get(name, ())), None) for name in large]
    first = [one for one in of_parts if one is not None]
    rest = [one for one in chosen if all(one is not other for other in first)]
    kept = [*first, *rest][: MOST_ACTIONS - 1]
    return [one for one in chosen if any(one is other for other in kept)]


def _of_verdict(verdict: dict[str, Any], tables: Collection[str]) -> dict[str, Any]:
    first = verdict["causes"][0]
    title, _, bound = verdict["next"].partition(" That saves at most ")
    saved = first["saved_ms"]
    place = first["place"] or None
    return {
        "title": title,
        "hint": "",
        "saved_ns": saved * 1e6 if bound and saved is not None else None,
        "share": first["share"] if bound and saved is not None else None,
        "of": _window(verdict),
        "time": None,
        "query": None if place is None or _LINE.search(place) else place,
        "table": _table_of_cause(verdict, tables),
    }


def _window(verdict: dict[str, Any]) -> str:
    if verdict["steps"]:
        return "of the steps"
    return "of the device's time" if any(one["cause"] == "device" for one in verdict["causes"]) else "of the run"


def _of_suggestion(run: "Run", one: dict[str, Any], tables: Collection[str]) -> dict[str, Any]:
    spans = [row["span"] for row in one["evidence"] if row["span"] is not None]
    return {
        "title": one["description"],
        "hint": one["implementation_hint"],
        "saved_ns": one["saved_high_ms"] * 1e6 if one["bounded"] else None,
        "share": one["share"] if one["bounded"] else None,
        "of": OF_PATH,
        "time": _around(run, spans[0]) if spans else None,
        "query": one["operation"] or None,
        "table": _table(one["verify"], tables),
    }


def _around(run: "Run", span: int) -> list[int]:
    """Return a range of time in which a span can be seen with what is beside it."""
    start, length = int(run.spans.start_ns[span]) - run.start_ns, int(run.spans.duration_ns[span])
    air = max(round(length * AROUND), LEAST_NS)
    return [max(0, start - air), start + length + air]


def _table_of_cause(verdict: dict[str, Any], tables: Collection[str]) -> str | None:
    first = verdict["causes"][0]
    usual = "lines" if _LINE.search(first["place"] or "") else TABLES.get(first["cause"], "")
    return _table(verdict["next"], tables) or (usual if usual in tables else None)


def _table(text: str, tables: Collection[str]) -> str | None:
    """Return the table of the first command that a text names, where the page has it."""
    return next((name for name in _COMMAND.findall(text) if name in tables), None)
