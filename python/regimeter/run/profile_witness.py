# SPDX-License-Identifier: Apache-2.0
"""The machine witness in the JSON form of a run: its summary, and the columns that give it back."""

import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .witness import Witness

if TYPE_CHECKING:
    from ..public.run import Run

LOOKS = ("time_ns", "lane", "processor", "cpu_ns", "throughput_ns", "memory_ns")
INTERVALS = (
    "time_ns", "interval_ns", "lane", "running_ns", "waiting_ns", "steal_ns", "throttled_ns", "involuntary",
    "system_ns", "faults", "tree_ns", "processors", "blocks", "busy_ns", "huge_pages",
)  # fmt: skip
LATER = {"busy_ns", "huge_pages"}  # not in documents of before
NARROW = {"lane": "i", "processor": "i", "processors": "i"}


def witness_columns(run: "Run") -> dict[str, Any]:
    """Return the summary and the columns, {} where nothing of it was recorded; `lane` is a row of "threads"."""
    found = Witness.of(run)
    if found is None:
        return {}
    strings = run.strings
    return {
        "summary": found.facts(),
        "threads": [strings[name] for name in run.lanes.name.tolist()],
        "looks": {name: getattr(run.tables.witness, name).tolist() for name in LOOKS},
        "intervals": {name: getattr(run.tables.pressure, name).tolist() for name in INTERVALS},
    }


@dataclass(frozen=True, slots=True)
class StoredWitness:
    """The columns of a document, checked."""

    threads: tuple[str, ...] = ()
    looks: Mapping[str, list[int]] = field(default_factory=dict)
    intervals: Mapping[str, list[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, given: object) -> "StoredWitness":
        """Return what a document states; ValueError, KeyError or TypeError where it is nothing to read."""
        if not isinstance(given, Mapping) or not given:
            return cls()
        threads = tuple(map(str, given.get("threads") or ()))
        looks = _columns(given.get("looks"), LOOKS, len(threads))
        return cls(threads, looks, _columns(given.get("intervals"), INTERVALS, len(threads)))

    def tables(self, lanes: Mapping[str, int]) -> "dict[str, dict[str, array.array[int]]]":
        """Return the tables of a run whose lanes have these names; the lane of another name is not known."""
        lane_of = [lanes.get(name, -1) for name in self.threads]
        return {"witness": _table(self.looks, lane_of), "pressure": _table(self.intervals, lane_of)}


def _columns(given: object, names: tuple[str, ...], threads: int) -> dict[str, list[int]]:
    if not isinstance(given, Mapping) or not given:
        return {}
    there = [name for name in names if name in given or name not in LATER]
    columns: dict[str, list[int]] = {name: list(given[name]) for name in there}
    if len({len(values) for values in columns.values()}) != 1:
        raise ValueError("its columns are not of one length")
    if any(type(value) is not int or abs(value) >= 2**61 for values in columns.values() for value in values):
        raise ValueError("its values must be whole numbers")
    if not all(-1 <= lane < threads for lane in columns["lane"]):
        raise ValueError("a lane is the number of a thread, or -1")
    if not all(-1 <= processor < 2**31 for processor in columns.get("processor", ())):
        raise ValueError("a processor is a number from -1")
    return columns


def _table(columns: Mapping[str, list[int]], lane_of: list[int]) -> "dict[str, array.array[int]]":
    return {
        name: array.array(
            NARROW.get(name, "q"), ((lane_of[v] if v >= 0 else -1 for v in values) if name == "lane" else values)
        )
        for name, values in columns.items()
    }
