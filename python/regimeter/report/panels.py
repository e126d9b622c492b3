# SPDX-License-Identifier: Apache-2.0
"""The result tables of a trace as panels of the page, one for each analysis that has a `Verb`."""

from typing import TYPE_CHECKING, Any

from .. import _core
from ..analysis.catalog import find_verbs
from ..analysis.result import Result
from ..analysis.words import words_of
from .pack import Names, packed, packed_table

if TYPE_CHECKING:
    from ..analysis.verb import Verb
    from ..calibration.choice import Choice
    from ..public.run import Run

NO_DEVICE = _core.REGIME_REASONS.index("no_device")
MOST_ROWS = 5_000  # of one table; the page says how many it does not hold
ELSEWHERE = ("breakdown", "flame", "timeline_blocks", "active_times")  # shown by views of their own


def panel_verbs() -> "list[Verb]":
    """Return the verbs that have a panel: of each analysis that this build has and that needs no second run."""
    known = _core.analyses()
    verbs = [verb for verb in find_verbs().values() if verb.analysis in known and verb.analysis not in ELSEWHERE]
    return [verb for verb in verbs if not _compares(verb)]


def _compares(verb: "Verb") -> bool:
    """Return whether the analysis looks at two runs, as the verb or its columns say."""
    return bool(verb.other) or any(
        column.unit == "other" or column.name.startswith("baseline_") for column in verb.columns
    )


def panel_of(run: "Run", verb: "Verb", names: Names, ceilings: "Choice") -> dict[str, Any]:
    """Return the panel of a verb: its columns and its table by each grouping."""
    table_name = _core.analyses()[verb.analysis]["table"]
    described = {column["name"]: column for column in _core.schema()["results"][table_name]["columns"]}
    shown = [column for column in verb.columns if column.name in described and not column.hidden]
    groups = verb.by or {"": 0}
    return {
        "name": verb.name,
        "help": verb.help,
        "empty": verb.empty,
        "columns": [
            {
                "name": column.name,
                "heading": column.heading,
                "unit": "name" if described[column.name]["type"] == "name" else _unit(column.unit),
                "nested": column.unit == "nested",
                "codes": _words(column.unit),
                "doc": described[column.name]["doc"],
            }
            for column in shown
        ],
        "tables": [
            {"by": label, **_table(run, verb, number, [column.name for column in shown], described, names, ceilings)}
            for label, number in groups.items()
        ],
    }


def divided(panels: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the panels that have rows, and of the others what it is that the run does not hold."""
    full: list[dict[str, Any]] = []
    empty: list[dict[str, Any]] = []
    for panel in panels:
        if any(table["count"] for table in panel["tables"]):
            full.append(panel)
        else:
            empty.append({"name": panel["name"], "reason": panel["empty"]})
    return {"panels": full, "empty_panels": empty}


def _unit(unit: str) -> str:
    return "code" if unit.startswith("code:") else unit


def _words(unit: str) -> list[str] | None:
    """Return what the page says for each code."""
    constant = unit.removeprefix("code:")
    return None if constant == unit else [words_of(constant, token) for token in getattr(_core, constant)]


def _table(
    run: "Run",
    verb: "Verb",
    group_by: int,
    columns: list[str],
    described: dict[str, Any],
    names: Names,
    ceilings: "Choice",
) -> dict[str, Any]:
    table = run.analyse(verb.analysis, group_by=group_by, ceilings=ceilings.vector if verb.ceilings else None)
    types = {name: column["type"] for name, column in described.items()}
    count = 0 if _is_unjudged(verb, table) else len(table)
    found = {"total": count, **packed_table(table, columns, types, names, slice(0, min(count, MOST_ROWS)))}
    found["headline"] = Result(verb, table, run).headline()
    for column in verb.columns:
        if column.unit == "at" and column.name in columns:
            found["columns"][column.name] = packed(_since_start(run, table, column.name))
    return found


def _is_unjudged(verb: "Verb", table: Any) -> bool:
    """Return whether a table of regimes says only that there is nothing to judge: no work of a device."""
    return verb.analysis == "region_regimes" and bool((table.reason == NO_DEVICE).all())


def _since_start(run: "Run", table: Any, column: str) -> Any:
    """Return moments as ns since the start of the run, which a double holds exactly; NaN without device work."""
    since = (getattr(table, column)[:MOST_ROWS] - run.start_ns).astype("f8")
    if "work" in table.columns:
        since[table.work[:MOST_ROWS] == 0] = float("nan")
    return since
