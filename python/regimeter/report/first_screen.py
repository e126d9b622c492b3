# SPDX-License-Identifier: Apache-2.0
"""The first screen of a page: the verdict, and at most three things to do, each with its bound and its evidence."""

import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

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
OF_PATH = "of the critical path"
_COMMAND = re.compile(r"\bregimeter ([a-z][a-z-]*)")
_LINE = re.compile(r":\d+\)?$")


def first_screen(
    run: "Run", verdict: dict[str, Any] | None, suggestions: list[dict[str, Any]], tables: Collection[str]
) -> dict[str, Any] | None:
    """Return the verdict with its `actions`; None without a verdict.

    What the verdict says to do comes first, then the first suggestions that say something else. An action is {title,
    hint, saved_ns, share, of} (None where it is not bounded; `of` is what it is a share of) and its evidence: `time`,
    a range in ns since the start of the run, `query`, what to look for in the timeline, and `table`, one of the page's
    `tables`; each None where there is none.
    """
    if verdict is None:
        return None
    same = SAME.get(verdict["cause"], set())
    chosen = [one for one in suggestions if not one["folded"] and one["rule"] not in same]
    actions = [_of_verdict(verdict, tables), *(_of_suggestion(run, one, tables) for one in chosen)]
    return verdict | {"actions": actions[:MOST_ACTIONS]}


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
    if any(one["cause"] == "device" for one in verdict["causes"]):
        return "of the device's time"
    return "of the steps" if verdict["steps"] else "of the run"


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
