# SPDX-License-Identifier: Apache-2.0
"""The merged call tree of a run as nested nodes, with device work below the host code that launched it."""

from typing import TYPE_CHECKING, Any

from .. import _core
from ..run.trace_facts import anomalies_of, title_of
from ..system.arrays import np

if TYPE_CHECKING:
    from ..public.run import Run

METRICS = ("device", "host")
ORDERS = ("weight", "time")  # of siblings: the one with most time first, or the one that began first
WORK = ("kernel", "accelerator", "memcpy", "memset")
_NAMES = {"all": "all", "unlaunched": "device work without a recorded launch", "deeper": "(deeper)"}
# Key of a node -> column of the analysis, both in ns there and in µs here.
_TIMES = {
    "host_us": "total_host_ns",
    "host_self_us": "self_host_ns",
    "device_us": "total_device_ns",
    "device_self_us": "self_device_ns",
}


def flame_tree(
    run: "Run",
    *,
    least_ns: float,
    most_depth: int,
    small_share: float,
    metric: str | None = None,
    collapse: bool = False,
    in_time: bool = False,
) -> dict[str, Any]:
    """Return the root of the tree, as ``regimeter.FlameGraphGenerator`` documents nodes.

    least_ns: siblings below it are gathered; most_depth: deeper callees are; small_share: kernels below that share of
    all device time are. metric: "device" or "host", which time the value of a node is; None: device where there is any.
    collapse: host code that calls itself directly is one node. in_time: siblings by the start of their first span.
    """
    thresholds = {
        "flame_min_duration_ns": least_ns,
        "flame_max_depth": most_depth,
        "flame_small_share": small_share,
        "flame_collapse": float(collapse),
    }
    table = run.analyse("flame", thresholds=thresholds)
    root = _tree(run, table, metric, in_time)
    return root | {"order": ORDERS[in_time], "trace": title_of(run), "anomalies": anomalies_of(run)}


def activities_of(run: "Run", table: Any) -> Any:
    """Return for each row of the analysis what its device work does, an index of ``_core.ACTIVITIES``."""
    kernels = run.analyse("kernel_times")
    known = dict(zip(kernels.name.tolist(), kernels.activity.tolist(), strict=True))
    work = np.isin(table.kind, [_core.SPAN_KINDS.index(kind) for kind in WORK])
    names = table.name.tolist()
    return np.array([known.get(name, 0) if is_work else 0 for name, is_work in zip(names, work, strict=True)], "uint8")


def places_in_time(parent: Any, first: Any) -> Any:
    """Return for each row its place among its siblings by their first start."""
    order = np.lexsort((first, parent))
    above = parent[order]
    starts = np.flatnonzero(np.r_[True, above[1:] != above[:-1]])
    places = np.empty(len(parent), "int64")
    places[order] = np.arange(len(parent)) - np.repeat(starts, np.diff(np.r_[starts, len(parent)]))
    return places


def _tree(run: "Run", table: Any, metric: str | None, in_time: bool) -> dict[str, Any]:
    """Return the rows of the analysis as nested nodes; parents come before their children there."""
    if not len(table):
        nothing = {"name": "all", "value": 0.0, "kind": "all", "count": 0, "first_us": 0.0}
        return nothing | dict.fromkeys(_TIMES, 0.0) | {"children": []}
    times = {key: (getattr(table, column) / 1e3).tolist() for key, column in _TIMES.items()}
    chosen = metric or ("device" if times["device_us"][0] > 0 else "host")
    strings = {name: run.string(name) for name in set(table.name.tolist())}
    activities = activities_of(run, table).tolist()
    first = (table.first_ns / 1e3).tolist()
    nodes: list[dict[str, Any]] = []
    for row, (parent, role, kind, name, count, grouped) in enumerate(
        zip(
            *(getattr(table, key).tolist() for key in ("parent", "role", "kind", "name", "count", "grouped")),
            strict=True,
        )
    ):
        token = _core.FLAME_ROLES[role]
        node = {
            "name": _name(token, strings[name], grouped),
            "value": times[f"{chosen}_us"][row],
            "kind": _core.SPAN_KINDS[kind] if token == "span" else token,
            "activity": _core.ACTIVITIES[activities[row]],
            "count": count,
            "first_us": first[row],
            **{key: column[row] for key, column in times.items()},
            "children": [],
        }
        nodes.append(node)
        if parent >= 0:
            nodes[parent]["children"].append(node)
    for node in nodes if in_time else ():
        node["children"].sort(key=lambda child: child["first_us"])
    return nodes[0]


def _name(role: str, name: str, grouped: int) -> str:
    if role == "small":
        return f"({grouped:,} small)"
    if role == "lane":
        return f"thread {name}" if name.isdigit() or not name else name
    return name if role == "span" else _NAMES[role]
