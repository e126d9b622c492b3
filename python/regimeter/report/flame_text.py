# SPDX-License-Identifier: Apache-2.0
"""A flame graph in a terminal: a sentence, and the heaviest nodes as a tree with bars."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any

from ..system.text import bar, count, duration, padded, percent, printable, shorten

ROWS = 8
BAR, LEAST_BAR = 24, 6  # cells of a bar
FIGURES = 20  # cells of share and time beside it
DEEPEST = 12  # levels of indentation
STEP = "  "
PASSED = 0.95  # of a node: what one child has of it stands in its row
JOIN = " > "

Node = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """A node that is shown, with those above it that it has nearly all of."""

    names: Sequence[str]
    value: float
    depth: int


def flame_lines(data: Node, width: int, most: int | None = ROWS) -> list[str]:
    """Return the lines of a flame graph as `FlameGraphGenerator` makes it.

    most: rows, the heaviest nodes; None for all. width: of the longest line, in cells.
    """
    whole = float(data["value"])
    if not whole > 0:
        return ["Nothing took time here."]
    part = PASSED if most is not None else 1.0
    rows = list(_rows(data, _heaviest(data, most, part), part, 0))
    cells = max(LEAST_BAR, min(BAR, width // 4))
    room = width - cells - FIGURES
    lines = [_sentence(data, whole), ""]
    for row in rows:
        head = STEP * min(row.depth, DEEPEST)
        name = padded(head + _name(row.names, room - len(head)), room)
        figures = f" {percent(row.value / whole):>8} {duration(row.value / 1e3):>9}"
        lines.append(f"{name} {bar(row.value / whole, cells)}{figures}")
    left = _nodes(data) - sum(len(row.names) for row in rows)
    return [*lines, f"({count(left, 'lighter node')}: --full)"] if left else lines


def _sentence(data: Node, whole: float) -> str:
    """Return which node has most of the time to itself."""
    metric = "device" if data.get("device_us") == data["value"] else "host"
    most = max(_all(data), key=lambda node: float(node.get(f"{metric}_self_us") or 0.0))
    own = float(most.get(f"{metric}_self_us") or 0.0)
    name = shorten(printable(str(most["name"])), 60)
    return f"{name} has {percent(own / whole)} of {duration(whole / 1e3)} of {metric} time to itself."


def _all(node: Node) -> Iterator[Node]:
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.get("children", ())


def _nodes(data: Node) -> int:
    return sum(1 for node in _all(data) if float(node["value"]) > 0) - 1


def _passed(node: Node, part: float) -> list[Node]:
    """Return the node and those below it that have that part of it; what lies beside them is not shown."""
    found = [node]
    while children := found[-1].get("children", ()):
        heaviest = max(children, key=lambda one: float(one["value"]))
        if float(heaviest["value"]) < part * float(node["value"]) or (part == 1.0 and _several(children)):
            break
        found.append(heaviest)
    return found


def _several(children: Sequence[Node]) -> bool:
    return sum(1 for one in children if float(one["value"]) > 0) > 1


def _heaviest(data: Node, most: int | None, part: float) -> set[int]:
    """Return which nodes begin a row, as identities; a node is never heavier than the one that it lies in."""
    chosen: set[int] = set()
    places = iter(range(1_000_000_000))  # nodes of equal weight keep their order
    waiting = [(-float(node["value"]), next(places), node) for node in data.get("children", ())]
    heapify(waiting)
    while waiting and (most is None or len(chosen) < most):
        weight, _, node = heappop(waiting)
        if -weight <= 0:
            break
        chosen.add(id(node))
        for child in _passed(node, part)[-1].get("children", ()):
            heappush(waiting, (-float(child["value"]), next(places), child))
    return chosen


def _rows(node: Node, chosen: set[int], part: float, depth: int) -> Iterator[Row]:
    for child in sorted(node.get("children", ()), key=lambda one: -float(one["value"])):
        if id(child) in chosen:
            passed = _passed(child, part)
            yield Row([printable(str(one["name"])) for one in passed], float(child["value"]), depth)
            yield from _rows(passed[-1], chosen, part, depth + 1)


def _name(names: Sequence[str], width: int) -> str:
    """Return the names joined; where they are too long, the first and the last, which tell most."""
    joined = JOIN.join(names)
    if len(names) > 2 and len(joined) > width:
        joined = JOIN.join((names[0], "…", names[-1]))
    if len(joined) > width:
        joined = names[-1]
    return shorten(joined, max(1, width))
