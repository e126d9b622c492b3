# SPDX-License-Identifier: Apache-2.0
# The tables between the marks are written by tools/describe_schema.py from csrc/model/schema.h.
import os
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, Final, Protocol, Self, TypeVar, final, overload, type_check_only

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

__version__: Final[str]
SPAN_KINDS: Final[tuple[str, ...]]
DEVICES: Final[tuple[str, ...]]
BACKENDS: Final[tuple[str, ...]]
MEMORY_ACTIONS: Final[tuple[str, ...]]
MEMORY_SOURCES: Final[tuple[str, ...]]
ANOMALY_CODES: Final[tuple[str, ...]]
FLAG_FAILED: Final[int]
FLAG_OPEN: Final[int]
FLAG_MIGRATED: Final[int]

_F = TypeVar("_F", bound=Callable[..., Any])
_R = TypeVar("_R", bound=Run)

class Error(Exception): ...

class FormatError(Error, ValueError):
    offset: int | None

class BusyError(Error): ...
class UnavailableError(Error): ...

@type_check_only
class _MemoryProbe(Protocol):
    def begin(self, device: int, /) -> Any: ...
    def end(self, token: Any, /) -> tuple[int, int, int, int, int] | None: ...

@final
class Scope:
    def __enter__(self) -> Self: ...
    def __exit__(self, kind: object, value: object, traceback: object, /) -> None: ...
    @overload
    def __call__(self) -> Self: ...
    @overload
    def __call__(self, function: _F, /) -> _F: ...
    def annotate(self, **metadata: object) -> None: ...
    @property
    def duration_ms(self) -> float | None: ...
    @property
    def recording(self) -> bool: ...
    @property
    def operation(self) -> str: ...
    @property
    def device(self) -> str: ...

@final
class IdleScope:
    def __enter__(self) -> Self: ...
    def __exit__(self, kind: object, value: object, traceback: object, /) -> None: ...
    @overload
    def __call__(self) -> Self: ...
    @overload
    def __call__(self, function: _F, /) -> _F: ...
    def annotate(self, **metadata: object) -> None: ...
    @property
    def duration_ms(self) -> None: ...
    @property
    def recording(self) -> bool: ...

@final
class ProfiledFunction:
    __func__: Callable[..., Any]
    __dict__: dict[str, Any]
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __get__(self, instance: object, owner: type | None = None, /) -> Any: ...
    def __reduce__(self) -> str: ...

@disjoint_base
class Profiler:
    enabled: bool
    device_id: int
    def profile(self, operation: str, device: str = "gpu", **metadata: object) -> Scope: ...
    @property
    def path(self) -> str | None: ...
    @property
    def _session_id(self) -> int: ...
    def _open(self, path: str | os.PathLike[str] | None, options: Mapping[str, int], /) -> None: ...
    def _stop(self) -> None: ...
    def _flush(self) -> bool: ...
    def _reset(self) -> None: ...
    def _snapshot(self, kind: type[_R], /) -> _R: ...
    def _stats(self) -> dict[str, Any]: ...
    def _skipped(self) -> dict[str, int]: ...
    def _environment(self, text: str, /) -> None: ...
    def _take_warning(self) -> str | None: ...
    def _set_probes(
        self,
        backend: Callable[[FrameType | None, object, int, int], int] | None,
        memory: _MemoryProbe | None,
        host: bool,
        /,
    ) -> None: ...
    def _set_sampling(self, rate: float, operation: str | None = None, device: str | None = None, /) -> None: ...
    def _switch(self, operation: str, on: bool, /) -> None: ...
    def _scope_for(self, operation: str, device: str, function: object, /) -> Scope: ...
    def _wrap(self, function: object, operation: str, device: str, /) -> ProfiledFunction: ...
    def _sampler(self, interval_ns: int, /) -> None: ...
    def _warm(self, scopes: int, /) -> None: ...

@final
class Column:
    @property
    def name(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def dtype(self) -> str: ...
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

@disjoint_base
class Table:
    @property
    def columns(self) -> tuple[str, ...]: ...
    @property
    def dtype(self) -> np.dtype[np.void]: ...
    @property
    def table_name(self) -> str: ...
    @property
    def run(self) -> Run: ...
    def column(self, name: str, /) -> Column: ...
    def __len__(self) -> int: ...
    def __dir__(self) -> list[str]: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

# --- begin of generated tables
@type_check_only
class SpansTable(Table):
    """A scope, operator, runtime call, kernel, copy, annotation or Python function."""

    start_ns: NDArray[np.int64]
    """Start on the host's CLOCK_MONOTONIC; for an imported trace, its own clock. [ns]"""
    duration_ns: NDArray[np.int64]
    """End minus start. [ns]"""
    name: NDArray[np.uint32]
    """Operation, operator, kernel or annotation."""
    kind: NDArray[np.uint8]
    """What the span is: an index of SPAN_KINDS."""
    lane: NDArray[np.uint32]
    """Row of `lanes` on which it ran."""
    parent: NDArray[np.int32]
    """Enclosing span on its lane; for a task's first scope the one around the loop; -1 for none."""
    correlation: NDArray[np.int64]
    """Joins a launch to its device work, -1 for none."""
    external_id: NDArray[np.int64]
    """Operator id given by the framework, -1 for none."""
    step: NDArray[np.int32]
    """Training step, -1 outside any."""
    bytes: NDArray[np.int64]
    """Bytes moved by a copy or set, -1 when not applicable. [bytes]"""
    flags: NDArray[np.uint32]
    """Bits: see SPAN_FLAGS; declared device in bits 8-11, backend in bits 12-15."""
    metadata: NDArray[np.uint32]
    """JSON object text of the user's metadata, "" for none."""

@type_check_only
class LanesTable(Table):
    """A host thread, a task slot of one, or a device stream."""

    process: NDArray[np.uint32]
    """Process id."""
    thread: NDArray[np.int64]
    """Native thread id, or stream id for a device lane."""
    slot: NDArray[np.int32]
    """Concurrent task slot of the thread: 0 for plain code, 1.. for asyncio tasks."""
    device: NDArray[np.int16]
    """Device ordinal of a stream, -1 for a host thread."""
    rank: NDArray[np.int32]
    """Rank of a distributed job, -1 when unknown."""
    name: NDArray[np.uint32]
    """Thread, task slot or stream name."""

@type_check_only
class LaunchesTable(Table):
    """Launch configuration of a kernel (sparse)."""

    span: NDArray[np.uint32]
    """Row of the kernel in `spans`."""
    grid_x: NDArray[np.int32]
    """Grid size. [blocks]"""
    grid_y: NDArray[np.int32]
    """Grid size. [blocks]"""
    grid_z: NDArray[np.int32]
    """Grid size. [blocks]"""
    block_x: NDArray[np.int32]
    """Block size. [threads]"""
    block_y: NDArray[np.int32]
    """Block size. [threads]"""
    block_z: NDArray[np.int32]
    """Block size. [threads]"""
    registers: NDArray[np.int32]
    """Registers per thread."""
    shared_bytes: NDArray[np.int64]
    """Static and dynamic shared memory per block. [bytes]"""
    occupancy: NDArray[np.float64]
    """Theoretical occupancy, 0 to 1."""

@type_check_only
class MemoryTable(Table):
    """An allocation, a free, or a sample."""

    time_ns: NDArray[np.int64]
    """When, on the clock of the spans. [ns]"""
    device: NDArray[np.int16]
    """Device ordinal, -1 for the host."""
    action: NDArray[np.uint8]
    """An index of MEMORY_ACTIONS."""
    bytes: NDArray[np.int64]
    """Size of the allocation; resident set for a host sample. [bytes]"""
    address: NDArray[np.int64]
    """Address of the block, 0 when it has none."""
    allocated: NDArray[np.int64]
    """Allocated in total after this event, -1 when not known. [bytes]"""
    reserved: NDArray[np.int64]
    """Reserved in total after this event, -1 when not known. [bytes]"""
    span: NDArray[np.int64]
    """Row of the scope that the value belongs to, -1 for none."""

@type_check_only
class CountersTable(Table):
    """One value of a time series."""

    time_ns: NDArray[np.int64]
    """When, on the clock of the spans. [ns]"""
    series: NDArray[np.uint32]
    """Name of the series."""
    value: NDArray[np.float64]
    """Value, in the unit that the series' name states."""

@type_check_only
class FlopsTable(Table):
    """Work attributed to a span, and where the figure comes from."""

    span: NDArray[np.uint32]
    """Row in `spans` that the work is attributed to."""
    pipe: NDArray[np.uint32]
    """Pipe or data type of the work."""
    flops: NDArray[np.float64]
    """Floating-point operations; one multiply-add is two. [FLOP]"""
    bytes: NDArray[np.float64]
    """Bytes moved. [bytes]"""
    source: NDArray[np.uint32]
    """Where the figure comes from."""

@type_check_only
class AnomaliesTable(Table):
    """What was repaired, dropped or doubted."""

    code: NDArray[np.uint8]
    """An index of ANOMALY_CODES."""
    count: NDArray[np.int64]
    """How often."""
    first_ns: NDArray[np.int64]
    """First time, -1 when it has none. [ns]"""
    detail: NDArray[np.uint32]
    """What happened and what follows from it."""

@type_check_only
class SummaryTable(Table):
    """Statistics of one operation."""

    operation: NDArray[np.uint32]
    """Name given to the scope."""
    device: NDArray[np.uint8]
    """Declared device: an index of DEVICES."""
    backend: NDArray[np.uint8]
    """What ran in the block: an index of BACKENDS."""
    call_count: NDArray[np.int64]
    """Recorded calls, recursive ones included."""
    failed_count: NDArray[np.int64]
    """Calls that ended with an exception."""
    recursive_count: NDArray[np.int64]
    """Calls inside another call of the same operation."""
    total_ns: NDArray[np.int64]
    """Sum over calls not inside another call of the same operation. [ns]"""
    exclusive_ns: NDArray[np.int64]
    """Time in the operation itself, without the scopes nested in it. [ns]"""
    share: NDArray[np.float64]
    """exclusive_ns over the sum of all operations' exclusive_ns."""
    mean_ns: NDArray[np.float64]
    """Mean duration over calls. [ns]"""
    min_ns: NDArray[np.int64]
    """Shortest call. [ns]"""
    max_ns: NDArray[np.int64]
    """Longest call. [ns]"""
    std_dev_ns: NDArray[np.float64]
    """Population standard deviation (divisor n), by Welford's recurrence. [ns]"""
    median_ns: NDArray[np.float64]
    """50th percentile, linear interpolation (Hyndman-Fan type 7). [ns]"""
    p95_ns: NDArray[np.float64]
    """95th percentile, same rule. [ns]"""
    p99_ns: NDArray[np.float64]
    """99th percentile, same rule. [ns]"""
    cv: NDArray[np.float64]
    """Coefficient of variation: std_dev_ns / mean_ns."""
    memory_allocated_bytes: NDArray[np.float64]
    """Mean change of allocated memory over measured calls. [bytes]"""
    memory_peak_bytes: NDArray[np.float64]
    """Largest memory seen inside any call. [bytes]"""
    memory_count: NDArray[np.int64]
    """Calls with a memory measurement."""
    first_ns: NDArray[np.int64]
    """Start of the first call. [ns]"""
    last_ns: NDArray[np.int64]
    """End of the last call. [ns]"""

@type_check_only
class EntriesTable(Table):
    """Derived values of one scope."""

    span: NDArray[np.uint32]
    """Row in `spans`."""
    depth: NDArray[np.int32]
    """Number of enclosing scopes on its lane."""
    exclusive_ns: NDArray[np.int64]
    """Duration without the scopes nested in it. [ns]"""
    memory_allocated_bytes: NDArray[np.float64]
    """Allocated memory at the end minus at the start. [bytes]"""
    memory_peak_bytes: NDArray[np.float64]
    """Largest memory seen inside the scope. [bytes]"""
    memory_source: NDArray[np.uint8]
    """An index of MEMORY_SOURCES."""
# --- end of generated tables

@disjoint_base
class Run:
    @classmethod
    def _load(cls, path: str | os.PathLike[str], recover: bool, /) -> Self: ...
    @classmethod
    def _build(
        cls,
        strings: list[str],
        tables: Mapping[str, Mapping[str, Any]],
        environment: str,
        source: str,
        start_ns: int,
        end_ns: int,
        start_unix_ns: int,
        complete: bool,
        /,
    ) -> Self: ...
    def save(self, path: str | os.PathLike[str], /) -> None: ...
    def table(self, name: str, /) -> Any: ...
    def string(self, id: int, /) -> str: ...
    def summarise(self, thresholds: Mapping[str, float], /) -> SummaryTable: ...
    def _timeline(self, thresholds: Mapping[str, float], /) -> tuple[bytes, int, int]: ...
    @property
    def entries(self) -> EntriesTable: ...
    @property
    def summary(self) -> SummaryTable: ...
    @property
    def strings(self) -> list[str]: ...
    @property
    def environment_json(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def start_ns(self) -> int: ...
    @property
    def end_ns(self) -> int: ...
    @property
    def start_unix_ns(self) -> int | None: ...
    @property
    def complete(self) -> bool: ...

def schema() -> dict[str, dict[str, Any]]: ...
def policy() -> dict[str, dict[str, Any]]: ...
def options() -> dict[str, dict[str, Any]]: ...
def host_memory() -> dict[str, Any]: ...
def clock_name() -> str: ...
def allocations() -> int: ...
def die_with_parent(signal: int, /) -> None: ...
