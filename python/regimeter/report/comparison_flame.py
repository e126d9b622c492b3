# SPDX-License-Identifier: Apache-2.0
"""Two flame graphs as one tree: each node with its time and its calls on both sides. Verdicts are the comparison's."""

import re
from typing import TYPE_CHECKING, Any

from ..analysis.flame_tree import METRICS, flame_tree
from .pack import packed

if TYPE_CHECKING:
    from ..public.run import Run

LEAST_SHARE = 0.0005  # of the larger side; smaller nodes are gathered, which keeps the page small
STEP = re.compile(r"#\d+$")
SMALL = "(small)"
DEEPEST = 50  # calls below each other

Node = dict[str, Any]


def differential(baseline: "Run | None", current: "Run | None") -> dict[str, Any] | None:
    """Return the page's table of both runs' call trees, None where a side has no stacks.

    A node is found again by its name and its callers; threads that have other names are matched in the order of
    their time. Times are ns of the device where both sides have some, of the host otherwise; calls are spans.
    """
    if baseline is None or current is None:
        return None
    roots = [flame_tree(run, least_ns=0.0, most_depth=DEEPEST, small_share=0.0) for run in (baseline, current)]
    if not all(_depth_beyond(root, 2) for root in roots):
        return None
    for metric in METRICS:
        if all(root[f"{metric}_us"] > 0 for root in roots):
            tree = _merge(roots[0], roots[1], f"{metric}_us")
            return _table(tree, metric)
    return None


def _depth_beyond(root: Node, depth: int) -> bool:
    """Whether some node is deeper than that: a list of names is no stack."""
    level = [root]
    for _ in range(depth + 1):
        level = [child for node in level for child in node["children"]]
    return bool(level)


def _merge(before: Node | None, after: Node | None, key: str) -> Node:
    """Return the tree of both; iterative, because stacks may be deeper than Python's own."""
    root: Node = _node("all")
    waiting: list[tuple[Node, list[list[Node]]]] = [(root, [[before] if before else [], [after] if after else []])]
    while waiting:
        node, sides = waiting.pop()
        node["times"] = [sum(one[key] for one in side) for side in sides]
        node["calls"] = [sum(one["count"] for one in side) for side in sides]
        found: dict[str, list[list[Node]]] = {}
        lanes = _lane_names([[child for one in side for child in one["children"]] for side in sides])
        for number, side in enumerate(sides):
            for one in side:
                for child in one["children"]:
                    name = lanes.get(id(child), STEP.sub("", str(child["name"])))
                    found.setdefault(name, [[], []])[number].append(child)
        for name, pair in found.items():
            child = _node(name)
            node["children"].append(child)
            waiting.append((child, pair))
    return root


def _node(name: str, times: list[float] | None = None) -> Node:
    return {"name": name, "times": times or [0.0, 0.0], "calls": [0, 0], "children": []}


def _lane_names(sides: list[list[Node]]) -> dict[int, str]:
    """Return names for threads that only one side has by name: the longest of each side belong together."""
    lanes = [[one for one in side if one["kind"] == "lane"] for side in sides]
    names = [{one["name"] for one in side} for side in lanes]
    renamed: dict[int, str] = {}
    for side in lanes:
        alone = [one for one in side if not all(one["name"] in known for known in names)]
        alone.sort(key=lambda one: -one["host_us"])
        renamed |= {id(one): f"thread {number}" for number, one in enumerate(alone, 1)}
    return renamed


def _table(root: Node, metric: str) -> dict[str, Any]:
    """Return the nodes in preorder as packed columns, children by the larger of both times."""
    least = [total * LEAST_SHARE for total in root["times"]]
    rows: list[tuple[Node, int, int]] = []
    waiting: list[tuple[Node, int, int]] = [(root, -1, 0)]
    while waiting:
        node, parent, depth = waiting.pop()
        place = len(rows)
        rows.append((node, parent, depth))
        kept, small = [], [0.0, 0.0]
        for child in node["children"]:
            if any(time >= limit and time > 0 for time, limit in zip(child["times"], least, strict=True)):
                kept.append(child)
            else:
                small = [a + b for a, b in zip(small, child["times"], strict=True)]
        kept.sort(key=lambda child: max(child["times"]))
        if any(small):
            kept.insert(0, _node(SMALL, small))
        waiting += [(child, place, depth + 1) for child in kept]
    names = list(dict.fromkeys(node["name"] for node, _, _ in rows))
    numbers = {name: number for number, name in enumerate(names)}
    times = [[round(node["times"][side] * 1e3) for node, _, _ in rows] for side in (0, 1)]
    calls = [[node["calls"][side] for node, _, _ in rows] for side in (0, 1)]
    return {
        "metric": metric,
        "count": len(rows),
        "names": names,
        "columns": {
            "name": packed([numbers[node["name"]] for node, _, _ in rows]),
            "parent": packed([parent for _, parent, _ in rows]),
            "depth": packed([depth for _, _, depth in rows]),
            "baseline_ns": packed(times[0]),
            "current_ns": packed(times[1]),
            "baseline_calls": packed(calls[0]),
            "current_calls": packed(calls[1]),
        },
    }
