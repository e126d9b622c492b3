# SPDX-License-Identifier: Apache-2.0
"""The timeline of a run for the page: rows of the analysis `timeline_blocks` and the arguments of their spans."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import _core
from ..system.arrays import PART_ROWS, np, parts
from .pack import Names, packed

if TYPE_CHECKING:
    from ..public.run import Run

MICROSECOND = 1_000
PLAIN = ("depth", "plain_depth", "duration_ns", "kind", "activity")
# Run tables with arguments of single spans, and what a reader calls them.
DETAILS = {
    "launches": "launch",
    "operators": "operator",
    "collectives": "collective",
    "syncs": "synchronisation",
    "frames": "Python call",
    "flops": "work",
}


def timeline_of(run: "Run", names: Names, *, most: int | None = None) -> dict[str, Any]:
    """Return the timeline's columns.

    most: rows of one span, by default the threshold `timeline_max_spans`; with it each row has its row in `spans` too.
    """
    limits = {} if most is None else {"timeline_max_spans": most}
    table: Any = run.analyse("timeline_blocks", thresholds=limits)
    found = rows_of(run, table, names, packed) | {"spans": len(run.spans), "tick_ns": _tick(run)}
    if most is not None:
        found["columns"]["span"] = packed(table.span)
    return found


def _tick(run: "Run") -> int:
    """Return 1,000 where all times of a run are whole microseconds, which is then what its clock told apart, else 1."""
    columns = (
        (run.spans.start_ns, run.start_ns),
        (run.spans.duration_ns, 0),
        (run.tables.counters.time_ns, run.start_ns),
    )
    whole = all(not ((part - begin) % MICROSECOND).any() for column, begin in columns for part in parts(column))
    return MICROSECOND if whole else 1


def rows_of(
    run: "Run", table: Any, names: Names, pack: Callable[..., dict[str, Any]], *, details: bool = True
) -> dict[str, Any]:
    """Return rows of the table `timeline_blocks` as columns; times are ns since the start of the run.

    A row is a span, or a block of neighbours: `blocks` says which rows are, how many spans each stands for and how long
    they ran. `drawn` (rows of one span) and `aggregated` (spans in blocks) add up to `spans`. pack: `packed` or `bare`.
    details: whether with the arguments of spans.
    """
    spans, rows = run.spans, table.span
    single = table.count == 1
    blocks = np.flatnonzero(~single)
    columns = {
        "start_ns": pack(table.start_ns - run.start_ns, steps=True),
        "lane": pack(table.lane, steps=True),
        "name": pack(names.number(table.name)),
        "op": pack(names.number(table.op)),
        "launch": pack(table.launch),
        "correlation": pack(np.where(single, spans.correlation[rows], -1)),
        "step": pack(np.where(single, spans.step[rows], -1)),
        "bytes": pack(np.where(single, spans.bytes[rows], -1)),
        "flags": pack(np.where(single, spans.flags[rows] & 0xFF, 0)),
    } | {name: pack(getattr(table, name)) for name in PLAIN}
    drawn, aggregated = int(single.sum()), int(table.count[blocks].sum())
    return {
        "count": len(table),
        "spans": drawn + aggregated,
        "drawn": drawn,
        "aggregated": aggregated,
        "columns": columns,
        "blocks": {
            "count": len(blocks),
            "row": pack(blocks, steps=True),
            "spans": pack(table.count[blocks]),
            "sum_ns": pack(table.sum_ns[blocks]),
        },
        "kinds": list(_core.SPAN_KINDS),
        "activities": list(_core.ACTIVITIES),
        "details": _details(run, rows, single, names, pack) if details else [],
    }


def _details(
    run: "Run", rows: Any, single: Any, names: Names, pack: Callable[..., dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the arguments of the spans that have a row of their own, as sparse tables ordered by that row."""
    tables = {name: run.table(name) for name in DETAILS}
    if not any(map(len, tables.values())):
        return []
    row_of = np.flatnonzero(single)
    row_of = row_of[np.argsort(rows[row_of], kind="stable")]  # by span
    found = []
    for name, title in DETAILS.items():
        table = tables[name]
        if not len(table):
            continue
        order, place = _shown(table.span, rows[row_of], row_of)
        described = [column for column in _core.schema()["run"][name]["columns"] if column["name"] != "span"]
        columns = [_detail(table, column, order, names, pack) for column in described]
        found.append(
            {
                "title": title,
                "count": len(order),
                "row": pack(place, steps=True),
                "columns": [column for column in columns if column is not None],
            }
        )
    return found


def _shown(spans: Any, of: Any, row_of: Any) -> tuple[Any, Any]:
    """Return the rows of a table that tell of spans with a row of their own (`of`, ascending, and `row_of`), and those
    rows, in whose order they are."""
    order, place = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for number, part in enumerate(parts(spans)):
        at = np.minimum(np.searchsorted(of, part), max(0, len(of) - 1))
        here = np.flatnonzero(of[at] == part) if len(of) else np.empty(0, dtype=np.int64)
        order.append(here + number * PART_ROWS)
        place.append(row_of[at[here]])
    found, rows = np.concatenate(order), np.concatenate(place)
    by_row = np.argsort(rows, kind="stable")
    return found[by_row], rows[by_row]


def _detail(
    table: Any, column: dict[str, str], order: Any, names: Names, pack: Callable[..., dict[str, Any]]
) -> dict[str, Any] | None:
    """Return one argument of the shown spans, None where no span has it."""
    values = getattr(table, column["name"])[order]
    unit = {"name": "name", "float64": "number"}.get(column["type"], "count")
    if unit == "name" and not values.any():
        return None
    if unit == "number" and np.isnan(values).all():
        return None
    if unit == "count" and (values == -1).all():
        return None
    unit = column["unit"] if column["unit"] in ("bytes", "ns") else unit
    label = column["name"].removesuffix("_bytes").removesuffix("_ns").replace("_", " ")
    shown = names.number(values) if unit == "name" else values
    return {"heading": label, "unit": unit, "doc": column["doc"], **pack(shown)}
