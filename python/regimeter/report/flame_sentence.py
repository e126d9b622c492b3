# SPDX-License-Identifier: Apache-2.0
"""A flame graph in one sentence: below which call of the host most of its time lies."""

from collections.abc import Mapping
from typing import Any

from .. import _core
from ..system.text import duration, shorten

NAME = 60
HOST = {"cpu_op", "scope", "annotation", "python"}  # kinds of nodes that say what the program does
WORK = {"kernel", "accelerator", "memcpy", "memset"}
SAME = 0.99  # of its caller's time: a node with more is the same call under another name
assert set(_core.SPAN_KINDS) >= HOST | WORK

Node = Mapping[str, Any]


def sentence(root: Node) -> str:
    """Return it for nested nodes {name, value, kind, children}, values in microseconds; "" where nothing took time.

    Work counts for the nearest call above it that a reader knows: an operator, a scope, a function. A call that has all
    of its caller's time counts as the caller.
    """
    total = float(root["value"])
    if not total > 0:
        return ""
    device = root.get("device_us") == root["value"]
    times, calls = _times(root)
    if not times:
        return ""
    name, time = max(times.items(), key=lambda one: one[1])
    share = 100 * min(time / total, 1.0)
    where = ("hangs under" if device else "lies in") if calls else "is taken by"
    side = "device" if device or not calls else "host"
    return f"{share:.0f} % of the {side} time ({duration(time / 1e3)}) {where} {shorten(name, NAME)}."


def _times(root: Node) -> tuple[dict[str, float], bool]:
    """Return the time of each call without that of calls below it, by name, and whether there are calls: kernels
    without any stand for themselves."""
    own: dict[str, float] = {}
    work: dict[str, float] = {}
    # A node, the call that it counts for, and the value of that call's last name.
    waiting: list[tuple[Node, str | None, float]] = [(root, None, 0.0)]
    while waiting:
        node, call, whole = waiting.pop()
        kind, value = node.get("kind"), float(node["value"])
        if kind in WORK:
            work[str(node["name"])] = work.get(str(node["name"]), 0.0) + value
        if kind in HOST:
            if call is None or value < SAME * whole:
                call = str(node["name"])
            whole = value
        children = node.get("children") or ()
        left = value - sum(float(child["value"]) for child in children)
        if call is not None and left > 0:
            own[call] = own.get(call, 0.0) + left
        waiting += [(child, call, whole) for child in children]
    return (own, True) if own else (work, False)
