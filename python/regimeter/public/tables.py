# SPDX-License-Identifier: Apache-2.0
"""The tables of a run, by name."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .. import _core

if TYPE_CHECKING:
    from .run import Run

NAMES = tuple(_core.schema()["run"])


class Tables:
    """The columnar tables of a run: ``run.tables.launches.grid_x`` is a read-only NumPy array without a copy.

    What each column holds, with its unit: docs/schema.md. Iterating gives the names.
    """

    __slots__ = ("_run",)

    spans: "_core.SpansTable"  # scopes and, in imported traces, operators, kernels and copies
    lanes: "_core.LanesTable"  # threads, task slots and device streams
    launches: "_core.LaunchesTable"  # launch configurations of kernels
    memory: "_core.MemoryTable"  # memory samples and events
    segments: "_core.SegmentsTable"  # memory that an allocator had reserved when a snapshot was taken
    blocks: "_core.BlocksTable"  # parts of the segments, in use or free
    counters: "_core.CountersTable"  # values of time series
    flops: "_core.FlopsTable"  # work attributed to spans
    operators: "_core.OperatorsTable"  # arguments of framework operators
    frames: "_core.FramesTable"  # identities of Python function calls
    collectives: "_core.CollectivesTable"  # arguments of collectives
    stalls: "_core.StallsTable"  # samples of instructions of kernels, by why they waited
    syncs: "_core.SyncsTable"  # arguments of synchronisations
    flows: "_core.FlowsTable"  # ends of arrows between spans
    intervals: "_core.IntervalsTable"  # device times of scopes
    witness: "_core.WitnessTable"  # looks at how fast the machine was; regimeter.run.witness.Witness.of reads them
    pressure: "_core.PressureTable"  # what kept a recorded process from its processors, by interval
    samples: "_core.SamplesTable"  # threads of the host, each found at a moment in a call stack
    stacks: "_core.StacksTable"  # call stacks of the samples: functions, each called by the stack that is its parent
    files: "_core.FilesTable"  # inputs that the run was imported from
    anomalies: "_core.AnomaliesTable"  # what was repaired, dropped or doubted

    def __init__(self, run: "Run") -> None:
        self._run = run

    def __getattr__(self, name: str) -> "_core.Table":
        if name in NAMES:
            table: _core.Table = self._run.table(name)
            return table
        raise AttributeError(f"a run has no table {name!r}; it has {', '.join(NAMES)}", name=name, obj=self)

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *NAMES]
