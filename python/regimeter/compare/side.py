# SPDX-License-Identifier: Apache-2.0
"""One side of a comparison: samples of each operation by process and metric."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..run.witness import Witness

if TYPE_CHECKING:
    from ..public.run import Run


Floats = NDArray[np.float64]


Numbers = NDArray[np.int64]


MS = 1e-3


NS = 1e-9


# Of a program as a whole, each with its unit; see wholes.py.
TOTAL_TIME, TOTAL_MEMORY = "total_time", "total_memory"
PROGRAM = "program"  # the whole of a program, where its name does not matter
WHOLE_METRICS = {TOTAL_TIME: "s", TOTAL_MEMORY: "bytes"}
# Metrics with noise, in the order of the core's numbers; the others are compared exactly.
TIMES = ("time", "device_time")


EXACT = ("memory_peak", "memory_allocated", "launches", "bytes", "calls")


# Counted by Callgrind, one value a layout of memory: docs/counts.md.
COUNTED = ("instructions",)


UNITS = {
    "time": "s",
    "device_time": "s",
    "memory_peak": "bytes",
    "memory_allocated": "bytes",
    "launches": "",
    "bytes": "bytes",
    "calls": "",
    "instructions": "instructions",
}


@dataclass(slots=True)
class Samples:
    """One metric of one side: samples per operation and process, and the whole of each operation.

    turns: of each launch, the number of the turn in which each sample was taken; None where the program took none.
    """

    launches: dict[str, list[Floats]] = field(default_factory=dict)
    totals: dict[str, float] = field(default_factory=dict)
    calls: dict[str, float] = field(default_factory=dict)
    turns: dict[str, list[Numbers | None]] = field(default_factory=dict)

    def add(
        self,
        operation: str,
        values: Any,
        total: float | None = None,
        calls: float | None = None,
        turns: Numbers | None = None,
    ) -> None:
        """Add what one process has of an operation; total and calls are those of the values unless given."""
        sample = np.ascontiguousarray(values, dtype=np.float64)
        if sample.ndim != 1:
            raise ValueError(f"{operation!r}: samples of a launch are a flat sequence of numbers")
        self.launches.setdefault(operation, []).append(sample)
        self.turns.setdefault(operation, []).append(turns)
        whole = float(sample.sum()) if total is None else total
        self.totals[operation] = self.totals.get(operation, 0.0) + whole
        self.calls[operation] = self.calls.get(operation, 0.0) + (len(sample) if calls is None else calls)

    @property
    def tables(self) -> tuple[dict[str, Any], ...]:
        """All that is kept by operation."""
        return self.launches, self.totals, self.calls, self.turns

    def extend(self, other: "Samples") -> None:
        """Add the launches of other processes."""
        for operation, launches in other.launches.items():
            self.launches.setdefault(operation, []).extend(launches)
            self.turns.setdefault(operation, []).extend(other.turns[operation])
            self.totals[operation] = self.totals.get(operation, 0.0) + other.totals[operation]
            self.calls[operation] = self.calls.get(operation, 0.0) + other.calls[operation]


@dataclass(slots=True)
class Side:
    """All metrics of one side, and what is known of where they were measured.

    witnesses: what each process saw of its machine, None where it did not look. devices: (name, device) of the
    operations whose device is known, by label. not_counted: operations of which the program does not decide how many
    there are: collections of garbage, and parts of backward passes, of which the recorder takes some. clocks: mean MHz
    of the multiprocessors during the device work, a process each, by metric and operation. launches: the recorded
    launches that it is made of, as `launch_of` names them. run: the first run, for its stacks. program: the operation
    that is the whole of a program without scopes of its own, "" for none.
    """

    label: str
    metrics: dict[str, Samples] = field(default_factory=dict)
    memory_mb: dict[str, float] = field(default_factory=dict)
    devices: dict[str, tuple[str, str]] = field(default_factory=dict)
    not_counted: set[str] = field(default_factory=set)
    environments: list[dict[str, Any]] = field(default_factory=list)
    launches: list[str] = field(default_factory=list)
    witnesses: list[Witness | None] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    run: "Run | None" = None
    program: str = ""
    clocks: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    def metric(self, name: str) -> Samples:
        """Return the samples of a metric, made when it is new."""
        return self.metrics.setdefault(name, Samples())

    def add_clocks(self, metric: str, found: dict[str, float]) -> None:
        """Add what one process knows of the device's clock during operations."""
        for operation, mhz in found.items():
            self.clocks.setdefault((metric, operation), []).append(mhz)

    def with_metric(self, name: str, samples: Samples) -> "Side":
        """Return the side with other samples of a metric."""
        return replace(self, metrics={**self.metrics, name: samples})

    def rename(self, old: str, new: str) -> None:
        """Give an operation another label, in all metrics but those of the whole; its place in the order stays."""
        for metric, samples in self.metrics.items():
            if metric not in WHOLE_METRICS:
                for table in samples.tables:
                    _rename(table, old, new)
        _rename(self.memory_mb, old, new)
        _rename(self.devices, old, new)
        self.clocks = {(of, new if name == old else name): mhz for (of, name), mhz in self.clocks.items()}
        if old in self.not_counted:
            self.not_counted = self.not_counted - {old} | {new}

    def name_program(self, name: str) -> None:
        """Call the whole of a program, which has its name, ``program``."""
        self.rename(name, PROGRAM)
        self.program = PROGRAM


def _rename(table: dict[str, Any], old: str, new: str) -> None:
    if old in table:
        rows = [(new if name == old else name, value) for name, value in table.items()]
        table.clear()
        table.update(rows)
