# SPDX-License-Identifier: Apache-2.0
"""The page's data for one flame graph, from nested nodes ``{name, value, children}``."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import _core
from ..analysis.flame_tree import places_in_time
from ..system.kernel_name import short_names
from .flame_sentence import sentence
from .pack import packed
from .trace_data import FORMAT, VERSION

_TIMES = {
    "total_host_ns": "host_us",
    "self_host_ns": "host_self_us",
    "total_device_ns": "device_us",
    "self_device_ns": "device_self_us",
}


def flame_data(root: Mapping[str, Any]) -> dict[str, Any]:
    """Return the page's data. Nodes without times of their own show their value as device time.

    The root may state `trace`, the name of the file, and `anomalies`, rows of `trace_facts.anomalies_of`.
    """
    rows: list[tuple[Mapping[str, Any], int, int]] = []
    waiting: list[tuple[Mapping[str, Any], int, int]] = [(root, -1, 0)]
    while waiting:
        node, parent, depth = waiting.pop()
        place = len(rows)
        rows.append((node, parent, depth))
        waiting += [(child, place, depth + 1) for child in reversed(node.get("children") or ())]
    nodes = [node for node, _, _ in rows]
    names = list(dict.fromkeys(["", *(str(node["name"]) for node in nodes)]))
    numbers = {name: number for number, name in enumerate(names)}
    kinds = {kind: number for number, kind in enumerate(_core.SPAN_KINDS)}
    other = kinds["other"]
    activities = {activity: number for number, activity in enumerate(_core.ACTIVITIES)}
    parents = np.array([parent for _, parent, _ in rows])
    columns = {
        "name": np.array([numbers[str(node["name"])] for node in nodes]),
        "role": np.zeros(len(nodes), dtype="uint8"),  # names are complete, so every node is shown by its name
        "kind": np.array([kinds.get(str(node.get("kind")), other) for node in nodes]),
        "activity": np.array([activities.get(str(node.get("activity")), 0) for node in nodes]),
        "parent": parents,
        "depth": np.array([depth for _, _, depth in rows]),
        "lane": np.full(len(nodes), -1),
        "count": np.array([int(node.get("count", 0)) for node in nodes]),
        "grouped": np.zeros(len(nodes), dtype="int64"),
        "place": _places(nodes, parents),
        **{name: _times(nodes, key) for name, key in _TIMES.items()},
    }
    return {
        "format": FORMAT,
        "version": VERSION,
        "title": f"Flame graph of {root['trace']}" if root.get("trace") else "Flame graph",
        "anomalies": list(root.get("anomalies") or ()),
        "limit": {"sentence": sentence(root)},
        "names": names,
        "short_names": [[numbers[name], short] for name, short in short_names(_kernels(nodes)).items()],
        "flame": {
            "count": len(nodes),
            "roles": list(_core.FLAME_ROLES),
            "kinds": list(_core.SPAN_KINDS),
            "activities": list(_core.ACTIVITIES),
            "columns": {name: packed(column) for name, column in columns.items()},
        },
    }


def _kernels(nodes: list[Mapping[str, Any]]) -> list[str]:
    return [str(node["name"]) for node in nodes if node.get("kind") == "kernel"]


def _places(nodes: list[Mapping[str, Any]], parents: Any) -> Any:
    """Return the places of siblings by their start; where that is stated for none, as they stand."""
    return places_in_time(parents, np.array([float(node.get("first_us", 0.0)) for node in nodes]))


def _times(nodes: list[Mapping[str, Any]], key: str) -> Any:
    """Return µs as ns; a node that states no such time has its value where that is device time, NaN elsewhere."""
    stated = [node.get(key, node["value"] if key == "device_us" else None) for node in nodes]
    if all(value is not None for value in stated):
        return np.rint(np.array(stated, dtype="float64") * 1e3).astype("int64")
    return np.array([np.nan if value is None else value * 1e3 for value in stated])
