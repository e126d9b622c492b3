# SPDX-License-Identifier: Apache-2.0
# The tables between the marks are written by tools/describe_schema.py from csrc/model/schema.h.
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import FrameType
from typing import Any, Final, Protocol, Self, TypeVar, final, overload, type_check_only

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Buffer, disjoint_base

__version__: Final[str]

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
    def __aenter__(self) -> Awaitable[Self]: ...
    def __aexit__(self, kind: object, value: object, traceback: object, /) -> Awaitable[None]: ...
    @overload
    def __call__(self) -> Self: ...
    @overload
    def __call__(self, function: _F, /) -> _F: ...
    def annotate(self, **metadata: object) -> None: ...
    def _forget(self) -> None: ...
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
    def __aenter__(self) -> Awaitable[Self]: ...
    def __aexit__(self, kind: object, value: object, traceback: object, /) -> Awaitable[None]: ...
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
    __annotations__: dict[str, Any]
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
    def _device_timing(
        self, on: bool, find_streams: Callable[[], tuple[object, ...]], stream_handle: Callable[[Any], int | None], /
    ) -> None: ...
    def _telemetry_start(self, interval_ns: int, budget: float, /) -> str: ...
    def _telemetry_state(self) -> dict[str, Any] | None: ...
    def _counters_start(self, device: int, set: str, source: str, interval_ns: int, /) -> str: ...
    def _ranges_start(self, set: str, max_ranges: int, names: Iterable[str] | None, /) -> None: ...
    def _ranges_state(self) -> dict[str, Any] | None: ...
    def _sampling_stop(self) -> dict[str, Any] | None: ...
    def _stalls_start(self, period: int, /) -> str: ...
    def _stalls_collect(self) -> None: ...
    def _stalls_stop(self) -> None: ...
    def _stalls_state(self) -> dict[str, Any] | None: ...
    def _kernels_start(self, options: dict[str, int], /) -> str: ...
    def _kernels_await(self, options: dict[str, int], /) -> None: ...
    def _kernels_begin(self) -> None: ...
    def _kernels_yield(self, reason: str, /) -> None: ...
    def _kernels_watch(self) -> dict[str, Any]: ...
    def _kernels_flush(self) -> None: ...
    def _kernels_stop(self) -> None: ...
    def _collectives(self, rows: list[tuple[int, int, int, int, int, str, str, str, str, str, int]], /) -> None: ...
    @staticmethod
    def _kernels_state() -> dict[str, Any]: ...
    @staticmethod
    def _cupti() -> dict[str, Any]: ...
    def _device_drain(self) -> int: ...
    def _device_state(self) -> dict[str, Any] | None: ...
    def _leave_out_roles(self, leave: bool, /) -> None: ...
    def _set_probes(
        self,
        backend: Callable[[FrameType | None, object, int, int], int] | None,
        memory: _MemoryProbe | None,
        host: bool,
        /,
    ) -> None: ...
    def _count(self) -> bool: ...
    def _set_sampling(self, rate: float, operation: str | None = None, device: str | None = None, /) -> None: ...
    def _switch(self, operation: str, on: bool, /) -> None: ...
    def _scope_for(self, operation: str, device: str, function: object, /) -> Scope: ...
    def _role_scope(self, name: str, role: int, metadata: str | None = None, /) -> Scope: ...
    def _wrap(self, function: object, operation: str, device: str, /) -> ProfiledFunction: ...
    def _sampler(self, interval_ns: int, /) -> None: ...
    def _control_group(self, folder: str, /) -> bool: ...
    def _stacks_reason(self) -> str: ...
    def _resume(self) -> None: ...
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
    def tolist(self) -> list[Any]: ...

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
    def row(self, number: int, /) -> dict[str, Any]: ...
    def __getattr__(self, name: str, /) -> NDArray[Any]: ...
    def __len__(self) -> int: ...
    def __dir__(self) -> list[str]: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

# --- begin of generated tables
ACTIVITIES: Final[tuple[str, ...]]
ANOMALY_CODES: Final[tuple[str, ...]]
BACKENDS: Final[tuple[str, ...]]
BLOCK_STATES: Final[tuple[str, ...]]
CEILINGS: Final[tuple[str, ...]]
CHANGES: Final[tuple[str, ...]]
COLLECTIVES: Final[tuple[str, ...]]
COLLECTIVE_SOURCES: Final[tuple[str, ...]]
COPY_DIRECTIONS: Final[tuple[str, ...]]
COPY_MEMORIES: Final[tuple[str, ...]]
COUNTER_SOURCES: Final[tuple[str, ...]]
DEGREES: Final[tuple[str, ...]]
DEVICES: Final[tuple[str, ...]]
DEVICE_PARTS: Final[tuple[str, ...]]
ENVIRONMENT_VARIABLES: Final[tuple[str, ...]]
EXPORT_FORMATS: Final[tuple[str, ...]]
FLAME_ROLES: Final[tuple[str, ...]]
FLOP_SOURCES: Final[tuple[str, ...]]
FLOW_KINDS: Final[tuple[str, ...]]
FLOW_PHASES: Final[tuple[str, ...]]
HOST_PARTS: Final[tuple[str, ...]]
IDLE_CAUSES: Final[tuple[str, ...]]
INTERVAL_STATES: Final[tuple[str, ...]]
KERNEL_TYPES: Final[tuple[str, ...]]
LIBRARIES: Final[tuple[str, ...]]
LIMITS: Final[tuple[str, ...]]
LIMIT_CAUSES: Final[tuple[str, ...]]
MACHINE_SIGNS: Final[tuple[str, ...]]
MEMORY_ACTIONS: Final[tuple[str, ...]]
MEMORY_SOURCES: Final[tuple[str, ...]]
OCCUPANCY_LIMITS: Final[tuple[str, ...]]
PATH_KINDS: Final[tuple[str, ...]]
PATH_REASONS: Final[tuple[str, ...]]
PATH_SIDES: Final[tuple[str, ...]]
PIPES: Final[tuple[str, ...]]
PRIORITIES: Final[tuple[str, ...]]
QUANTITIES: Final[tuple[str, ...]]
QUANTITY_UNITS: Final[tuple[str, ...]]
RACE_OUTCOMES: Final[tuple[str, ...]]
REGIMES: Final[tuple[str, ...]]
REGIME_DETAILS: Final[tuple[str, ...]]
REGIME_REASONS: Final[tuple[str, ...]]
ROLES: Final[tuple[str, ...]]
SAMPLE_STATES: Final[tuple[str, ...]]
SCOPE_SOURCES: Final[tuple[str, ...]]
SEGMENT_KINDS: Final[tuple[str, ...]]
SHORTAGES: Final[tuple[str, ...]]
SPAN_KINDS: Final[tuple[str, ...]]
STEP_STATES: Final[tuple[str, ...]]
SUGGESTION_RULES: Final[tuple[str, ...]]
SUGGESTION_RULE_EFFORTS: Final[tuple[str, ...]]
SUGGESTION_RULE_REFERENCES: Final[tuple[str, ...]]
SUGGESTION_RULE_TYPES: Final[tuple[str, ...]]
SUGGESTION_TYPES: Final[tuple[str, ...]]
SYNC_CLASSES: Final[tuple[str, ...]]
TIERS: Final[tuple[str, ...]]
VERDICTS: Final[tuple[str, ...]]
VERDICT_REASONS: Final[tuple[str, ...]]
WORK_SOURCES: Final[tuple[str, ...]]
FLAG_FAILED: Final[int]
FLAG_INFERRED: Final[int]
FLAG_MIGRATED: Final[int]
FLAG_OPEN: Final[int]
FLAG_ORPHAN: Final[int]
FLAG_OVERLAPS: Final[int]
FLAG_REPAIRED: Final[int]
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
    launch: NDArray[np.int32]
    """Of device work: row of the call that launched it, -1 when not recorded."""
    correlation: NDArray[np.int64]
    """Joins a launch to its device work, -1 for none."""
    external_id: NDArray[np.int64]
    """Operator id given by the framework, -1 for none."""
    step: NDArray[np.int32]
    """Training step, -1 outside any."""
    bytes: NDArray[np.int64]
    """Bytes moved by a copy or set (also on its call, where recorded), -1 elsewhere. [bytes]"""
    flags: NDArray[np.uint32]
    """Bits: see SPAN_FLAGS; declared device in bits 8-11, backend in bits 12-15."""
    metadata: NDArray[np.uint32]
    """JSON object text of metadata and of arguments without a column, "" for none."""
    category: NDArray[np.uint32]
    """Category text of the file where `kind` is `other`; of a scope that was found its role: one of ROLES."""
    own_ns: NDArray[np.int64]
    """Of a scope: the profiler's own time in it outside nested scopes, which is not exclusive time. [ns]"""

@type_check_only
class LanesTable(Table):
    """A host thread, a task slot of one, or a device stream."""

    process: NDArray[np.int64]
    """Process id; the device for a device lane of a Kineto trace, -1 when it is a text."""
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
    process_name: NDArray[np.uint32]
    """Name of the process, or the process id where that is a text."""
    label: NDArray[np.uint32]
    """Label of the process: "CPU", "GPU 0"."""

@type_check_only
class LaunchesTable(Table):
    """Launch configuration of a kernel (sparse)."""

    span: NDArray[np.uint32]
    """Row in `spans` of the kernel, of a copy or set that a graph launched, or of the call where it has no kernel of
    its own."""
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
    cluster_x: NDArray[np.int32]
    """Size of a thread block cluster; 0 where there are none, or not known. [blocks]"""
    cluster_y: NDArray[np.int32]
    """Size of a cluster. [blocks]"""
    cluster_z: NDArray[np.int32]
    """Size of a cluster. [blocks]"""
    registers: NDArray[np.int32]
    """Registers per thread."""
    shared_bytes: NDArray[np.int64]
    """Static and dynamic shared memory per block. [bytes]"""
    occupancy: NDArray[np.float64]
    """Theoretical occupancy, 0 to 1: as recorded, or derived from the launch and the limits of the device."""
    occupancy_limit: NDArray[np.uint8]
    """What it is limited by: an index of OCCUPANCY_LIMITS."""
    estimated_occupancy: NDArray[np.float64]
    """Kineto's estimate of the achieved occupancy, 0 to 1."""
    blocks_per_sm: NDArray[np.float64]
    """Blocks of the grid per multiprocessor."""
    warps_per_sm: NDArray[np.float64]
    """Warps of the grid per multiprocessor."""
    graph: NDArray[np.int64]
    """CUDA graph that launched it, -1 when not known."""
    graph_node: NDArray[np.int64]
    """Node of that graph, -1 when not known."""
    capture: NDArray[np.int64]
    """Row in `spans` of the call that made the graph node, inside the scopes of the capture, -1 when not known."""
    buffered_ns: NDArray[np.int64]
    """Of a kernel: from when its launch was queued to when CUPTI says that it was submitted, which lies behind the
    earlier work of the stream on the hardware that was seen; -1 when not recorded. [ns]"""
    waiting_ns: NDArray[np.int64]
    """Of a kernel: from there to its start, -1 when not recorded. The sum of both is the whole wait. [ns]"""

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
    """Row of the scope or operator that the value belongs to, -1 for none."""
    lane: NDArray[np.int32]
    """Lane on which it happened, -1 when not known."""
    stream: NDArray[np.int64]
    """Handle of the stream that the block belongs to, 0 for the default one."""
    stack: NDArray[np.int32]
    """Row in `stacks` of who asked, -1 when not known."""
    device_free: NDArray[np.int64]
    """Of an end of memory: what the device had left, -1 elsewhere. [bytes]"""
    note: NDArray[np.uint32]
    """What the program or the compiler said of itself then (JSON object), "" for none."""
    category: NDArray[np.uint32]
    """Of what the memory is, where the recording says so, "" elsewhere; of memory that CUDA gave out its kind."""
    pool: NDArray[np.int64]
    """Address of the pool of CUDA that the block is of, 0 for none; `allocated` and `reserved` are then that pool's."""

@type_check_only
class SegmentsTable(Table):
    """Memory that an allocator had reserved when a snapshot was taken."""

    device: NDArray[np.int16]
    """Device ordinal, -1 for pinned memory of the host."""
    address: NDArray[np.int64]
    """Address of the first byte."""
    bytes: NDArray[np.int64]
    """Size: what the allocator has reserved with one call, or mapped in a row. [bytes]"""
    allocated: NDArray[np.int64]
    """Of that in blocks that are in use, as recorded; -1 when not. [bytes]"""
    active: NDArray[np.int64]
    """Of that in blocks in use or awaiting their stream; -1 when not recorded. [bytes]"""
    requested: NDArray[np.int64]
    """What the program asked for in blocks in use; -1 when not recorded. [bytes]"""
    stream: NDArray[np.int64]
    """Handle of the stream that it belongs to, 0 for the default one."""
    kind: NDArray[np.uint8]
    """An index of SEGMENT_KINDS."""
    expandable: NDArray[np.uint8]
    """1 where the segment can grow in its place."""
    pool_graph: NDArray[np.int64]
    """First number of its pool: of CUDA graphs; 0 with the next for the common one."""
    pool_user: NDArray[np.int64]
    """Second number of its pool."""
    stack: NDArray[np.int32]
    """Row in `stacks` of who made the allocator reserve it, -1 when not known."""
    lane: NDArray[np.int32]
    """A lane of the rank or process whose allocator it is, -1 where all are of one."""

@type_check_only
class BlocksTable(Table):
    """A part of a segment, in use or free, when a snapshot was taken."""

    device: NDArray[np.int16]
    """Device ordinal, -1 for pinned memory of the host."""
    segment_address: NDArray[np.int64]
    """Address of the segment that it is a part of."""
    address: NDArray[np.int64]
    """Address of the first byte."""
    bytes: NDArray[np.int64]
    """Size, rounded as the allocator does. [bytes]"""
    requested: NDArray[np.int64]
    """What the program asked for. [bytes]"""
    state: NDArray[np.uint8]
    """An index of BLOCK_STATES."""
    stack: NDArray[np.int32]
    """Row in `stacks` of who asked, -1 when not known."""
    lane: NDArray[np.int32]
    """A lane of the rank or process whose allocator it is, -1 where all are of one."""

@type_check_only
class CountersTable(Table):
    """One value of a time series."""

    time_ns: NDArray[np.int64]
    """When, on the clock of the spans. [ns]"""
    series: NDArray[np.uint32]
    """Name of the series."""
    value: NDArray[np.float64]
    """Value, in the unit that the series' name states."""
    device: NDArray[np.int16]
    """Device ordinal, -1 for the host or when not known."""
    span: NDArray[np.int64]
    """Row of the span that the value was measured over, -1 for none."""

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
class OperatorsTable(Table):
    """Arguments of a framework operator (sparse)."""

    span: NDArray[np.uint32]
    """Row of the operator in `spans`."""
    sequence: NDArray[np.int64]
    """Autograd sequence number: joins forward and backward, -1 for none."""
    forward_thread: NDArray[np.int64]
    """Thread number of the forward operator, on backward operators."""
    shapes: NDArray[np.uint32]
    """Input shapes, JSON text without spaces: [[2,3],[]]."""
    types: NDArray[np.uint32]
    """Input types, JSON text."""
    strides: NDArray[np.uint32]
    """Input strides, JSON text."""
    values: NDArray[np.uint32]
    """Concrete inputs, JSON text."""
    stack: NDArray[np.uint32]
    """Call stack as recorded."""
    module: NDArray[np.uint32]
    """Module hierarchy as recorded."""

@type_check_only
class FramesTable(Table):
    """Identity of a Python function call (sparse)."""

    span: NDArray[np.uint32]
    """Row of the Python function in `spans`."""
    id: NDArray[np.int64]
    """Number of the call within the trace."""
    parent_id: NDArray[np.int64]
    """Number of the calling function, -1 for none."""
    module_id: NDArray[np.int64]
    """Number of the nn.Module, -1 for plain functions."""

@type_check_only
class CollectivesTable(Table):
    """Arguments of a collective (sparse)."""

    span: NDArray[np.uint32]
    """Row of the operator or kernel in `spans`."""
    collective: NDArray[np.uint32]
    """Collective: allreduce, _allgather_base, ..."""
    element_type: NDArray[np.uint32]
    """Element type as recorded: Float, BFloat16, ..."""
    in_elements: NDArray[np.int64]
    """Input elements of this rank, -1 when not recorded."""
    out_elements: NDArray[np.int64]
    """Output elements of this rank, -1 when not recorded."""
    group_size: NDArray[np.int32]
    """Ranks in the process group."""
    group_name: NDArray[np.uint32]
    """Process group name."""
    group_description: NDArray[np.uint32]
    """Process group description."""
    group_ranks: NDArray[np.uint32]
    """Ranks of the group as recorded: "[0, 1]", possibly cut off."""
    in_split: NDArray[np.uint32]
    """Input split sizes as recorded."""
    out_split: NDArray[np.uint32]
    """Output split sizes as recorded."""
    rank: NDArray[np.int32]
    """Rank within the group."""
    source_rank: NDArray[np.int32]
    """Sender of a point-to-point transfer."""
    destination_rank: NDArray[np.int32]
    """Receiver of a point-to-point transfer."""
    global_rank_start: NDArray[np.int32]
    """First global rank of the group."""
    global_rank_stride: NDArray[np.int32]
    """Distance of the global ranks of the group."""
    sequence: NDArray[np.int64]
    """Number of the collective within its group."""
    communicator: NDArray[np.int64]
    """Communicator id."""

@type_check_only
class StallsTable(Table):
    """Samples of an instruction of a kernel that waited for one reason."""

    kernel: NDArray[np.uint32]
    """Kernel function, as kernels are called in `spans`."""
    reason: NDArray[np.uint32]
    """Why the warp did not go on, in NVIDIA's words: long_scoreboard, selected, ..."""
    offset: NDArray[np.int64]
    """Of the instruction in the function. [bytes]"""
    cubin: NDArray[np.int64]
    """Number by which CUPTI tells binaries apart."""
    samples: NDArray[np.int64]
    """Samples that found a warp there for that reason."""
    not_issued: NDArray[np.int64]
    """Of them in which the scheduler issued no instruction of any warp, as CUPTI counts them."""
    device: NDArray[np.int16]
    """Device ordinal."""
    file: NDArray[np.uint32]
    """Of the source; empty where the binary has no line information, or was not seen."""
    line: NDArray[np.int64]
    """Of the source, from 1; 0 where it is not known."""

@type_check_only
class SyncsTable(Table):
    """Arguments of a synchronisation (sparse)."""

    span: NDArray[np.uint32]
    """Row of the synchronisation in `spans`."""
    sync: NDArray[np.uint32]
    """Stream Sync, Event Sync, Stream Wait Event or Context Sync."""
    stream: NDArray[np.int64]
    """Stream that waits, -1 for all."""
    waits_on_stream: NDArray[np.int64]
    """Stream that is waited for, -1 when not recorded."""
    event: NDArray[np.int64]
    """CUDA event id, -1 for none. The driver reuses ids."""
    record_correlation: NDArray[np.int64]
    """Correlation of the cudaEventRecord, -1 when not recorded."""

@type_check_only
class FlowsTable(Table):
    """One end of an arrow between two spans."""

    id: NDArray[np.int64]
    """Joins the ends of one flow, within its kind."""
    time_ns: NDArray[np.int64]
    """When, on the clock of the spans. [ns]"""
    lane: NDArray[np.uint32]
    """Row of `lanes` to which this end is bound."""
    span: NDArray[np.int32]
    """Span that this end is bound to, -1 when there is none."""
    kind: NDArray[np.uint8]
    """An index of FLOW_KINDS."""
    phase: NDArray[np.uint8]
    """An index of FLOW_PHASES."""
    category: NDArray[np.uint32]
    """Category text of the file where `kind` is `other`."""

@type_check_only
class IntervalsTable(Table):
    """Device time of a scope, between two events (sparse)."""

    span: NDArray[np.uint32]
    """Row of the scope in `spans`."""
    device: NDArray[np.int16]
    """Device ordinal, -1 when not known."""
    stream: NDArray[np.int64]
    """Handle of the stream that the events were recorded in."""
    start_ns: NDArray[np.int64]
    """When the device passed the first event, on the clock of the spans, -1 when not known. Derived: no event can pass
    before it was recorded, which bounds the distance of the two clocks. [ns]"""
    duration_ns: NDArray[np.int64]
    """Device time from the first to the second event, -1 when not known. [ns]"""
    queue_ns: NDArray[np.int64]
    """From the recording of the first event to its passing: a lower bound of the delay in the queue. [ns]"""
    state: NDArray[np.uint8]
    """An index of INTERVAL_STATES."""

@type_check_only
class WitnessTable(Table):
    """A look of a recording thread at how fast its machine was (docs/witness.md)."""

    time_ns: NDArray[np.int64]
    """When, on the clock of the spans. [ns]"""
    lane: NDArray[np.int32]
    """Lane of the thread, -1 when it has recorded nothing."""
    processor: NDArray[np.int32]
    """Processor that it was on, -1 when not known."""
    cpu_ns: NDArray[np.int64]
    """Processor time of the thread so far, -1 when not known. [ns]"""
    throughput_ns: NDArray[np.int64]
    """Time of a fixed piece of arithmetic, eight chains of 500 steps; -1 for a mark at the end of a block. [ns]"""
    memory_ns: NDArray[np.int64]
    """Time of 1,024 fixed reads from main memory; -1 for a mark, or where lines cannot be put out of the caches.
    [ns]"""

@type_check_only
class PressureTable(Table):
    """What kept a recorded process from its processors, by interval."""

    time_ns: NDArray[np.int64]
    """End of the interval, on the clock of the spans. [ns]"""
    interval_ns: NDArray[np.int64]
    """Its length. [ns]"""
    lane: NDArray[np.int32]
    """First lane of the process that it tells of, -1 when that has none."""
    running_ns: NDArray[np.int64]
    """Time on a processor of the threads that record, -1 when not known. [ns]"""
    waiting_ns: NDArray[np.int64]
    """Time in which they were ready to run and others had the processor, -1 when not known. [ns]"""
    steal_ns: NDArray[np.int64]
    """Time that the hypervisor gave to other machines, mean of the processors that the process may use; -1 when not
    known. [ns]"""
    throttled_ns: NDArray[np.int64]
    """Time that a limit of the control groups held back, -1 when not known. [ns]"""
    involuntary: NDArray[np.int64]
    """Context switches that the process did not ask for, -1 when not known."""
    system_ns: NDArray[np.int64]
    """Processor time of the process in the kernel, -1 when not known. [ns]"""
    faults: NDArray[np.int64]
    """Pages of memory that were touched for the first time, -1 when not known."""
    tree_ns: NDArray[np.int64]
    """Processor time of the process and of those that it and they have started; -1 when not known. [ns]"""
    processors: NDArray[np.int32]
    """Processors that the process may use, -1 when not known."""
    blocks: NDArray[np.int64]
    """Blocks of 512 bytes that file systems read or wrote for it, -1 when not known."""
    busy_ns: NDArray[np.int64]
    """Time in which the processors that it may use computed for any program, mean of them; -1 when not known. [ns]"""
    huge_pages: NDArray[np.int64]
    """Huge pages that the system handed out at faults, of all programs; -1 when not known."""

@type_check_only
class SamplesTable(Table):
    """A thread of the host, found at a moment in a call stack (docs/stacks.md)."""

    time_ns: NDArray[np.int64]
    """When, on the clock of the spans. [ns]"""
    thread: NDArray[np.int64]
    """Native id of the thread."""
    lane: NDArray[np.int32]
    """Lane of the thread: that of `span`, else its first; -1 when it has recorded no scope."""
    state: NDArray[np.uint8]
    """An index of SAMPLE_STATES."""
    stack: NDArray[np.uint32]
    """Row in `stacks` of where the thread was."""
    span: NDArray[np.int64]
    """Row of the innermost scope that was open on the thread, -1 for none."""

@type_check_only
class StacksTable(Table):
    """A call stack: a function, called by the stack that is its parent."""

    parent: NDArray[np.int32]
    """Row of the stack that called this function, -1 for none."""
    function: NDArray[np.uint32]
    """Qualified name of the innermost function."""
    file: NDArray[np.uint32]
    """Its file."""
    line: NDArray[np.int32]
    """The line that it is at, -1 when not known."""
    first_line: NDArray[np.int32]
    """The function's first line, -1 when not known."""

@type_check_only
class FilesTable(Table):
    """An input that the run was imported from."""

    file: NDArray[np.uint32]
    """Path of the input as given, or what it was read from."""
    format: NDArray[np.uint32]
    """Format of the input: kineto, chrome, nsys, ..."""
    bytes: NDArray[np.int64]
    """Size of the inflated text, -1 when not known. [bytes]"""
    events: NDArray[np.int64]
    """Rows read from the input."""
    kept: NDArray[np.int64]
    """Rows of the input that are in the run; the rest is named in `anomalies`."""
    rank: NDArray[np.int32]
    """Rank of a distributed job, -1 when unknown."""
    base_ns: NDArray[np.int64]
    """Unix time of the input's time 0, 0 when not known. [ns]"""
    shift_ns: NDArray[np.int64]
    """What was added to the times of the input. [ns]"""
    environment: NDArray[np.uint32]
    """JSON object text: what the input says of its machine and process."""

@type_check_only
class AnomaliesTable(Table):
    """What was repaired, dropped or doubted."""

    code: NDArray[np.uint8]
    """An index of ANOMALY_CODES."""
    count: NDArray[np.int64]
    """How often."""
    first_ns: NDArray[np.int64]
    """First time, -1 when it has none. [ns]"""
    lost: NDArray[np.int64]
    """Rows of the input that are not in the run because of it."""
    first_offset: NDArray[np.int64]
    """Byte offset in the (inflated) input of the first, -1 when it has none. [bytes]"""
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
    """Time in the operation itself, without nested scopes and the profiler. [ns]"""
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
    device_ns: NDArray[np.int64]
    """Device time of calls that have one and are not inside another call of the operation, -1 for none: from event to
    event, of a call without events busy_ns. [ns]"""
    device_count: NDArray[np.int64]
    """Calls in device_ns."""
    overhead_ns: NDArray[np.int64]
    """Host time beyond the device time of those of them that lasted longer on the host, -1 for none. [ns]"""
    event_count: NDArray[np.int64]
    """Calls in device_ns that were timed by events."""
    copy_ns: NDArray[np.int64]
    """Time of copies of calls with device work that are not inside another call of the operation, -1 for none. [ns]"""
    device_share: NDArray[np.float64]
    """Mean of busy_ns over window_ns over calls with device work."""
    work_count: NDArray[np.int64]
    """Calls with device work that was launched in them."""
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
    """Duration without nested scopes and the profiler's own time (own_ns). [ns]"""
    memory_allocated_bytes: NDArray[np.float64]
    """Allocated memory at the end minus at the start. [bytes]"""
    memory_peak_bytes: NDArray[np.float64]
    """Largest memory seen inside the scope. [bytes]"""
    memory_source: NDArray[np.uint8]
    """An index of MEMORY_SOURCES."""
    device_ns: NDArray[np.int64]
    """Time from event to event in the scope's stream, an upper bound of its work; -1 when not known. [ns]"""
    queue_ns: NDArray[np.int64]
    """Delay of the first event in the queue, a lower bound; -1 when not known. [ns]"""
    device_state: NDArray[np.uint8]
    """An index of INTERVAL_STATES, 255 for a scope without events."""
    busy_ns: NDArray[np.int64]
    """Time of the device work that was launched in it, as in scope_device; -1 where none is recorded. [ns]"""
    window_ns: NDArray[np.int64]
    """Time that busy_ns is a part of, as in scope_device; -1 without busy_ns. [ns]"""
    copy_ns: NDArray[np.int64]
    """Time of copies among that work, as in scope_device; -1 without busy_ns. [ns]"""
    copy_bytes: NDArray[np.int64]
    """Bytes of these copies, as in scope_device; -1 when not known. [bytes]"""

@type_check_only
class ScopeDeviceTable(Table):
    """Host, launch, device and idle time of scopes."""

    span: NDArray[np.int32]
    """Row in `spans`, -1 where the row is an operation."""
    operation: NDArray[np.uint32]
    """Name of the scope or annotation."""
    calls: NDArray[np.int64]
    """Calls, those inside another call of the operation included."""
    source: NDArray[np.uint8]
    """An index of SCOPE_SOURCES."""
    host_ns: NDArray[np.int64]
    """Duration on the host. [ns]"""
    launches: NDArray[np.int64]
    """Calls inside that launched device work, -1 when unknown."""
    launch_ns: NDArray[np.float64]
    """Time of their threads in these calls, overlaps of one thread once. [ns]"""
    device_ns: NDArray[np.float64]
    """Time from event to event, summed over `measured` calls. [ns]"""
    measured: NDArray[np.int64]
    """Calls with a measured device_ns."""
    queue_ns: NDArray[np.float64]
    """Delay of the first event in the queue, a lower bound, over the same calls. [ns]"""
    work: NDArray[np.int64]
    """Pieces of device work booked on it: launched (or captured) inside, in nested scopes too; -1 unknown."""
    kernels: NDArray[np.int64]
    """Kernels among them."""
    busy_ns: NDArray[np.float64]
    """Union of that work on each device, added up. [ns]"""
    idle_ns: NDArray[np.float64]
    """Rest of the time from its first start to its last end on each device, added up; not known where captured work was
    launched outside. [ns]"""
    graph_work: NDArray[np.int64]
    """Pieces of that work that a CUDA graph launched, -1 when unknown."""
    graph_ns: NDArray[np.float64]
    """Union of these on each device, added up: the part of busy_ns from graphs. [ns]"""
    captured: NDArray[np.int64]
    """Of graph_work, pieces booked here because they were captured here; 0 where work belongs to its launch."""
    window_ns: NDArray[np.float64]
    """From the scope's begin to its end, or to the last end of its work where that is later, on each device that it
    used, added up; not known where idle_ns is not. [ns]"""
    copies: NDArray[np.int64]
    """Copies of memory among that work, -1 when unknown."""
    copy_ns: NDArray[np.float64]
    """Union of these on each device, added up. [ns]"""
    copy_bytes: NDArray[np.int64]
    """Bytes of these, -1 where those of one are not recorded. [bytes]"""

@type_check_only
class BreakdownTable(Table):
    """Where the time of one device went."""

    rank: NDArray[np.int32]
    """Rank of the job, -1 when unknown."""
    process: NDArray[np.int64]
    """Process id that the trace gives the device: its ordinal in a Kineto trace."""
    process_name: NDArray[np.uint32]
    """The same where it is a text."""
    device: NDArray[np.int16]
    """Device ordinal."""
    first_ns: NDArray[np.int64]
    """Start of the first piece of work. [ns]"""
    span_ns: NDArray[np.int64]
    """Last end minus first start. [ns]"""
    busy_ns: NDArray[np.int64]
    """Time with any work. [ns]"""
    idle_ns: NDArray[np.int64]
    """span_ns minus busy_ns. [ns]"""
    compute_ns: NDArray[np.int64]
    """Time with a compute kernel. [ns]"""
    comm_ns: NDArray[np.int64]
    """Time with communication. [ns]"""
    mem_ns: NDArray[np.int64]
    """Time with a copy or a set. [ns]"""
    comm_overlapped_by_compute_ns: NDArray[np.int64]
    """Time with communication and compute. [ns]"""
    mem_overlapped_by_compute_ns: NDArray[np.int64]
    """Time with a copy or set and compute. [ns]"""
    mem_overlapped_by_comm_ns: NDArray[np.int64]
    """Time with a copy or set and communication. [ns]"""
    all_three_ns: NDArray[np.int64]
    """Time with all three. [ns]"""
    exposed_comm_ns: NDArray[np.int64]
    """Time with communication and no compute. [ns]"""
    exposed_mem_ns: NDArray[np.int64]
    """Time with a copy or set and neither compute nor communication. [ns]"""
    busy_share: NDArray[np.float64]
    """busy_ns over span_ns."""
    idle_share: NDArray[np.float64]
    """idle_ns over span_ns."""
    compute_share: NDArray[np.float64]
    """compute_ns over span_ns."""
    exposed_comm_share: NDArray[np.float64]
    """exposed_comm_ns over span_ns."""
    exposed_mem_share: NDArray[np.float64]
    """exposed_mem_ns over span_ns."""
    sum_dur_ns: NDArray[np.int64]
    """Sum of durations of all work, overlaps counted more than once. [ns]"""
    n_kernel: NDArray[np.int64]
    """Kernels that are not communication."""
    n_comm: NDArray[np.int64]
    """Communication kernels."""
    n_memcpy: NDArray[np.int64]
    """Copies."""
    n_memset: NDArray[np.int64]
    """Sets."""

@type_check_only
class KernelTimesTable(Table):
    """Device work of one name, type, operator or module."""

    name: NDArray[np.uint32]
    """Kernel, operator or module; "" by type, for work without one, and for others."""
    type: NDArray[np.uint8]
    """An index of KERNEL_TYPES, told by the kernel's name; mixed where members differ."""
    activity: NDArray[np.uint8]
    """An index of ACTIVITIES; none where members differ."""
    others: NDArray[np.uint8]
    """1 for the row into which all rows beyond the N longest are merged."""
    groups: NDArray[np.int64]
    """Names, types, operators or modules in this row: 1 except for others."""
    count: NDArray[np.int64]
    """Pieces of device work."""
    total_ns: NDArray[np.int64]
    """Sum of their durations; work that overlaps counts more than once. [ns]"""
    share: NDArray[np.float64]
    """total_ns over the sum of all rows."""
    min_ns: NDArray[np.int64]
    """Shortest. [ns]"""
    max_ns: NDArray[np.int64]
    """Longest. [ns]"""
    mean_ns: NDArray[np.float64]
    """Mean over the pieces of work, of others too. [ns]"""
    std_dev_ns: NDArray[np.float64]
    """Population standard deviation (divisor n), by Welford's recurrence. [ns]"""
    median_ns: NDArray[np.float64]
    """50th percentile, linear interpolation (Hyndman-Fan type 7). [ns]"""
    p95_ns: NDArray[np.float64]
    """95th percentile, same rule. [ns]"""
    occupancy: NDArray[np.float64]
    """Kineto's estimate of the achieved occupancy, 0 to 1: mean by duration, where it is recorded."""
    theoretical_occupancy: NDArray[np.float64]
    """Theoretical occupancy, 0 to 1: mean by duration, where it is known."""
    occupancy_limit: NDArray[np.uint8]
    """What limits it for most of that time: an index of OCCUPANCY_LIMITS."""
    few_blocks_share: NDArray[np.float64]
    """Share of the time with fewer blocks than multiprocessors, of where the grid is recorded."""
    bytes: NDArray[np.int64]
    """Sum of the bytes copied or set, -1 when none are recorded. [bytes]"""
    devices: NDArray[np.int32]
    """Devices on which it ran."""

@type_check_only
class OperatorTimesTable(Table):
    """Host and device time of one operator."""

    name: NDArray[np.uint32]
    """Operator."""
    shapes: NDArray[np.uint32]
    """Input shapes as recorded, JSON text; "" when grouped by name only or not recorded."""
    calls: NDArray[np.int64]
    """Calls, recursive ones included."""
    recursive_calls: NDArray[np.int64]
    """Calls inside another call of the same row."""
    self_ns: NDArray[np.int64]
    """Host time without the union of the operators directly inside. [ns]"""
    total_ns: NDArray[np.int64]
    """Host time over calls that are not inside another call of the same row. [ns]"""
    share: NDArray[np.float64]
    """self_ns over the sum of all rows."""
    mean_ns: NDArray[np.float64]
    """Mean host duration over all calls. [ns]"""
    min_ns: NDArray[np.int64]
    """Shortest call. [ns]"""
    max_ns: NDArray[np.int64]
    """Longest call. [ns]"""
    self_device_ns: NDArray[np.int64]
    """Sum of the durations of device work whose innermost operator it is. [ns]"""
    total_device_ns: NDArray[np.int64]
    """The same with the operators inside, over calls that count in total_ns. [ns]"""
    launches: NDArray[np.int64]
    """Runtime and driver calls of its own that launched device work."""
    kernels: NDArray[np.int64]
    """Kernels of its own."""
    copies: NDArray[np.int64]
    """Copies and sets of its own."""
    bytes: NDArray[np.int64]
    """Bytes that these copied or set, where recorded. [bytes]"""

@type_check_only
class StepTimesTable(Table):
    """Where the time of one step went."""

    rank: NDArray[np.int32]
    """Rank of the job, -1 when unknown."""
    step: NDArray[np.int32]
    """Number of the step: N of ProfilerStep#N."""
    device: NDArray[np.int16]
    """Device ordinal; -1 for a step that launched no device work."""
    state: NDArray[np.uint8]
    """An index of STEP_STATES: last is the last step of its rank, whose work the recording may have cut."""
    start_ns: NDArray[np.int64]
    """Start of the step on the host. [ns]"""
    duration_ns: NDArray[np.int64]
    """Duration on the host. [ns]"""
    operators_ns: NDArray[np.int64]
    """Time of the step with an operator on any thread of the rank, as a union. [ns]"""
    launches: NDArray[np.int64]
    """Calls of the step that launched work on this device."""
    kernels: NDArray[np.int64]
    """Kernels of the step on this device, communication included."""
    copies: NDArray[np.int64]
    """Copies and sets."""
    bytes: NDArray[np.int64]
    """Bytes that these moved, where recorded. [bytes]"""
    device_start_ns: NDArray[np.int64]
    """Start of the first piece of work of the step. [ns]"""
    device_end_ns: NDArray[np.int64]
    """End of its last. [ns]"""
    device_ns: NDArray[np.int64]
    """Sum of the durations of its work, overlaps counted more than once. [ns]"""
    busy_ns: NDArray[np.int64]
    """Time with any work of the step. [ns]"""
    compute_ns: NDArray[np.int64]
    """Time with a compute kernel of the step. [ns]"""
    exposed_comm_ns: NDArray[np.int64]
    """Time with communication and no compute of the step. [ns]"""
    exposed_mem_ns: NDArray[np.int64]
    """Time with a copy or set and neither compute nor communication of the step. [ns]"""
    idle_ns: NDArray[np.int64]
    """device_end_ns - device_start_ns - busy_ns; work of another step may run meanwhile. [ns]"""
    late: NDArray[np.int64]
    """Pieces of work that end after the step has ended on the host."""
    late_ns: NDArray[np.int64]
    """How long after the step's end on the host the last of them ends. [ns]"""

@type_check_only
class AnnotationTimesTable(Table):
    """One annotation's time on host and device."""

    name: NDArray[np.uint32]
    """Annotation: a record_function, ProfilerStep#N, nccl:all_reduce, ..."""
    calls: NDArray[np.int64]
    """Annotations of that name on the host."""
    total_ns: NDArray[np.int64]
    """Sum of their host durations, nested ones of the same name included. [ns]"""
    mean_ns: NDArray[np.float64]
    """Mean host duration. [ns]"""
    min_ns: NDArray[np.int64]
    """Shortest. [ns]"""
    max_ns: NDArray[np.int64]
    """Longest. [ns]"""
    launches: NDArray[np.int64]
    """Calls inside, on the same thread, that launched device work. This and the next four are -1 where nesting is
    deeper than annotation_depth."""
    kernels: NDArray[np.int64]
    """Kernels that these launched."""
    copies: NDArray[np.int64]
    """Copies and sets that these launched."""
    device_ns: NDArray[np.int64]
    """Sum of the durations of that work. [ns]"""
    busy_ns: NDArray[np.int64]
    """Union of it on each device, summed over devices. [ns]"""
    device_calls: NDArray[np.int64]
    """Annotations of that name that the profiler drew on device streams."""
    device_total_ns: NDArray[np.int64]
    """Sum of their durations as recorded: Kineto widens each, by 2 ns since June 2024, by 2 us before. [ns]"""
    device_min_ns: NDArray[np.int64]
    """Shortest, as recorded. [ns]"""
    device_max_ns: NDArray[np.int64]
    """Longest, as recorded. [ns]"""

@type_check_only
class LinesTable(Table):
    """How often threads were found at a line or in a function."""

    function: NDArray[np.uint32]
    """Qualified name of the function."""
    file: NDArray[np.uint32]
    """Its file."""
    line: NDArray[np.int32]
    """The line; of a function its first one; -1 when not known."""
    self: NDArray[np.int64]
    """Samples in which a thread was there."""
    total: NDArray[np.int64]
    """Samples in which a thread was there or in what was called from there."""
    self_share: NDArray[np.float64]
    """self over all samples of the run."""
    total_share: NDArray[np.float64]
    """total over all samples of the run."""
    running_share: NDArray[np.float64]
    """Part of total in which the thread was on a processor."""
    lock_share: NDArray[np.float64]
    """Part of total in which it waited for the interpreter's lock."""
    processor_share: NDArray[np.float64]
    """Part of total in which it waited for a processor."""
    waiting_share: NDArray[np.float64]
    """Part of total in which it waited for anything else."""

@type_check_only
class MemoryLevelsTable(Table):
    """What lived and was reserved after each event of an allocator."""

    time_ns: NDArray[np.int64]
    """When, on the clock of the spans. [ns]"""
    device: NDArray[np.int16]
    """Device ordinal, -1 for the host."""
    event: NDArray[np.uint32]
    """Its row in `memory`."""
    live: NDArray[np.int64]
    """What blocks in use hold after it on that device, as asked for. [bytes]"""
    reserved: NDArray[np.int64]
    """What the allocator has reserved there after it, -1 when not known. [bytes]"""
    category: NDArray[np.uint32]
    """Of what the memory of the event is, "" when not known."""
    live_of_category: NDArray[np.int64]
    """What blocks in use of that category hold after it on that device. [bytes]"""
    rank: NDArray[np.int32]
    """Rank whose memory it is, in a run of several; -1 elsewhere."""
    process: NDArray[np.int64]
    """Process whose memory it is, in a run of several without ranks; -1 elsewhere."""

@type_check_only
class AllocationsTable(Table):
    """Who asked for the memory that lived at the peak and at the end."""

    device: NDArray[np.int16]
    """Device ordinal, -1 for the host."""
    function: NDArray[np.uint32]
    """Innermost function that asked, "" when not known."""
    file: NDArray[np.uint32]
    """Its file."""
    line: NDArray[np.int32]
    """Its line, -1 when not known."""
    stack: NDArray[np.int32]
    """Row in `stacks`; of a line or category one of them; -1 when not known."""
    category: NDArray[np.uint32]
    """Of what the memory is, "" when not known."""
    scope: NDArray[np.uint32]
    """By scope: the scope or operator that asked, "" when not known or not asked by."""
    peak_bytes: NDArray[np.int64]
    """Live when the device had most, the first time that it had. [bytes]"""
    peak_blocks: NDArray[np.int64]
    """Blocks of that."""
    peak_share: NDArray[np.float64]
    """peak_bytes over all that lived then."""
    end_bytes: NDArray[np.int64]
    """Live at the end of the recording. [bytes]"""
    end_blocks: NDArray[np.int64]
    """Blocks of that."""
    allocated_bytes: NDArray[np.int64]
    """Asked for within the recording. [bytes]"""
    allocations: NDArray[np.int64]
    """How often."""
    kept_bytes: NDArray[np.int64]
    """Asked for within the recording and live at its end: growth. [bytes]"""
    kept_blocks: NDArray[np.int64]
    """Blocks of that."""
    rank: NDArray[np.int32]
    """Rank whose memory it is, in a run of several; -1 elsewhere."""
    process: NDArray[np.int64]
    """Process whose memory it is, in a run of several without ranks; -1 elsewhere."""

@type_check_only
class PoolsTable(Table):
    """What an allocator had reserved at the end, and how much of it was of use."""

    device: NDArray[np.int16]
    """Device ordinal, -1 for pinned memory of the host."""
    pool_graph: NDArray[np.int64]
    """First number of the pool, -1 for all pools."""
    pool_user: NDArray[np.int64]
    """Second number of the pool, -1 for all pools."""
    stream: NDArray[np.int64]
    """Handle of the stream, -1 for all streams."""
    kind: NDArray[np.uint8]
    """An index of SEGMENT_KINDS; unknown for all."""
    segments: NDArray[np.int64]
    """Segments."""
    reserved: NDArray[np.int64]
    """What they hold. [bytes]"""
    active: NDArray[np.int64]
    """In blocks in use or awaiting their stream. [bytes]"""
    requested: NDArray[np.int64]
    """What the program asked for in those blocks. [bytes]"""
    pending: NDArray[np.int64]
    """In blocks that are freed once their stream has come so far. [bytes]"""
    inactive_split: NDArray[np.int64]
    """In free blocks beside blocks of the same segment: not given back. [bytes]"""
    free_segments: NDArray[np.int64]
    """In segments without a block in use, which could be given back. [bytes]"""
    largest_free: NDArray[np.int64]
    """The largest free block: a larger one needs a new segment. [bytes]"""
    free_blocks: NDArray[np.int64]
    """Free blocks."""
    idle_share: NDArray[np.float64]
    """Part of what is reserved that no block uses: 1 - active / reserved."""
    rounding_share: NDArray[np.float64]
    """Part of the blocks in use that nobody asked for."""
    split_share: NDArray[np.float64]
    """inactive_split over what is reserved."""
    rank: NDArray[np.int32]
    """Rank whose allocator it is, in a run of several; -1 elsewhere."""
    process: NDArray[np.int64]
    """Process whose allocator it is, in a run of several without ranks; -1 elsewhere."""

@type_check_only
class ShortagesTable(Table):
    """When a device had too little memory left."""

    time_ns: NDArray[np.int64]
    """When, on the clock of the spans. [ns]"""
    device: NDArray[np.int16]
    """Device ordinal."""
    shortage: NDArray[np.uint8]
    """An index of SHORTAGES."""
    requested: NDArray[np.int64]
    """What was asked for; of a retry the segment. [bytes]"""
    device_free: NDArray[np.int64]
    """What the device had left, -1 when not recorded. [bytes]"""
    given_back: NDArray[np.int64]
    """Of a retry: what was given back. [bytes]"""
    live: NDArray[np.int64]
    """What blocks in use held. [bytes]"""
    reserved: NDArray[np.int64]
    """What the allocator had reserved, -1 when not known. [bytes]"""
    function: NDArray[np.uint32]
    """Innermost function that asked, "" when not known."""
    file: NDArray[np.uint32]
    """Its file."""
    line: NDArray[np.int32]
    """Its line, -1 when not known."""
    stack: NDArray[np.int32]
    """Row in `stacks`, -1 when not known."""
    rank: NDArray[np.int32]
    """Rank whose memory it is, in a run of several; -1 elsewhere."""
    process: NDArray[np.int64]
    """Process whose memory it is, in a run of several without ranks; -1 elsewhere."""

@type_check_only
class OperatorFlopsTable(Table):
    """Work of one operator, and how fast it was done."""

    span: NDArray[np.int64]
    """Row of the operator in `spans`, -1 where calls are taken together."""
    name: NDArray[np.uint32]
    """Operator."""
    shapes: NDArray[np.uint32]
    """Input shapes as recorded, JSON text."""
    types: NDArray[np.uint32]
    """Input types as recorded, JSON text."""
    source: NDArray[np.uint8]
    """An index of FLOP_SOURCES: unavailable where shapes or arguments were not recorded."""
    calls: NDArray[np.int64]
    """Calls."""
    flops: NDArray[np.float64]
    """Of all calls, by the formulas of torch.utils.flop_counter; a multiply-add is two. [FLOP]"""
    bytes: NDArray[np.float64]
    """Inputs and outputs once each: the least that must move. [bytes]"""
    device_ns: NDArray[np.int64]
    """Sum of the durations of device work that the operator and those inside caused. [ns]"""
    host_ns: NDArray[np.int64]
    """Sum of its durations on the host. [ns]"""
    flops_per_s: NDArray[np.float64]
    """flops over device_ns. [FLOP/s]"""
    bytes_per_s: NDArray[np.float64]
    """bytes over device_ns: a lower bound of the bandwidth that was used. [bytes/s]"""
    intensity: NDArray[np.float64]
    """flops over bytes: an upper bound of the arithmetic intensity. [FLOP/byte]"""

@type_check_only
class OperatorTreeTable(Table):
    """One node of the tree of operators, calls and device work."""

    span: NDArray[np.uint32]
    """Row in `spans`."""
    name: NDArray[np.uint32]
    """Its name."""
    duration_ns: NDArray[np.int64]
    """How long it took itself. [ns]"""
    parent: NDArray[np.int32]
    """Row in this table of the operator around, of a call's operator, or of a work's launch; -1 for none."""
    depth: NDArray[np.int32]
    """Rows around it."""
    height: NDArray[np.int32]
    """Longest way down from it, in rows."""
    work: NDArray[np.int64]
    """Pieces of device work in its subtree, itself included."""
    device_ns: NDArray[np.int64]
    """Sum of their durations. [ns]"""
    device_start_ns: NDArray[np.int64]
    """Start of the first of them, 0 without any. [ns]"""
    device_end_ns: NDArray[np.int64]
    """End of the one that ends last. [ns]"""
    first_work: NDArray[np.int64]
    """Span that starts first, -1 without any."""
    last_work: NDArray[np.int64]
    """Span that ends last, -1 without any."""

@type_check_only
class IdleGapsTable(Table):
    """A time in which a device or stream had no work."""

    rank: NDArray[np.int32]
    """Rank of the job, -1 when unknown."""
    process: NDArray[np.int64]
    """Process id that the trace gives the device."""
    process_name: NDArray[np.uint32]
    """The same where it is a text."""
    device: NDArray[np.int16]
    """Device ordinal."""
    lane: NDArray[np.int32]
    """Row of `lanes` of the stream, -1 for the whole device."""
    stream: NDArray[np.int64]
    """Stream id, -1 for the whole device."""
    start_ns: NDArray[np.int64]
    """Latest end of the work so far. [ns]"""
    duration_ns: NDArray[np.int64]
    """Start of the next work minus start_ns; more than idle_min_ns. [ns]"""
    cause: NDArray[np.uint8]
    """An index of IDLE_CAUSES; where the launch was late, of the part before it."""
    before_launch_ns: NDArray[np.int64]
    """Part before the launch call of the next work began. [ns]"""
    in_launch_ns: NDArray[np.int64]
    """Part while that call ran. [ns]"""
    after_launch_ns: NDArray[np.int64]
    """The rest. The three add up to duration_ns; all are 0 where the cause is unknown. [ns]"""
    sync_ns: NDArray[np.int64]
    """Part of before_launch_ns that the launching thread sat in synchronisation. [ns]"""
    busy_ns: NDArray[np.int64]
    """Part of a stream's gap in which other streams of the device worked. [ns]"""
    previous: NDArray[np.int32]
    """Row of the work that ended last before the gap."""
    next: NDArray[np.int32]
    """Row of the work that ends the gap."""
    launch: NDArray[np.int32]
    """Row of the call that launched `next`, -1 when not recorded."""
    awaited: NDArray[np.int32]
    """Row of the other stream's work that `next` waited for, -1 for none."""
    activity: NDArray[np.int32]
    """Row of the innermost span of the launching thread that covers more than half of the gap; where none does, the
    outermost around its middle; -1 for none."""
    next_name: NDArray[np.uint32]
    """Name of `next`."""
    activity_name: NDArray[np.uint32]
    """Name of `activity`, empty for none."""
    activity_share: NDArray[np.float64]
    """Share of the gap that `activity` covers."""
    function: NDArray[np.uint32]
    """Function of the program in which the launching thread was, by samples of its call stack: before the launch began,
    of an early one in the whole gap. Empty for none."""
    file: NDArray[np.uint32]
    """Its file."""
    line: NDArray[np.int32]
    """The line at which most of these samples stood, -1 for none."""
    samples: NDArray[np.int64]
    """Samples; 0 where none fell into the gap: then the line is that of the nearest, within idle_line_reach_ns."""
    samples_share: NDArray[np.float64]
    """Share of the samples at the line."""
    step: NDArray[np.int32]
    """Step of `next`."""

@type_check_only
class IdleTimesTable(Table):
    """Idle time of a device or stream by cause."""

    rank: NDArray[np.int32]
    """Rank of the job, -1 when unknown."""
    process: NDArray[np.int64]
    """Process id that the trace gives the device."""
    process_name: NDArray[np.uint32]
    """The same where it is a text."""
    device: NDArray[np.int16]
    """Device ordinal."""
    lane: NDArray[np.int32]
    """Row of `lanes` of the stream, -1 for the whole device."""
    stream: NDArray[np.int64]
    """Stream id, -1 for the whole device."""
    cause: NDArray[np.uint8]
    """An index of IDLE_CAUSES."""
    count: NDArray[np.int64]
    """Gaps with such a part, those below idle_min_ns included."""
    total_ns: NDArray[np.int64]
    """Sum; over the causes of a device it is the breakdown's idle_ns. [ns]"""
    share: NDArray[np.float64]
    """total_ns over the idle time of the device or stream."""
    span_share: NDArray[np.float64]
    """total_ns over span_ns."""
    span_ns: NDArray[np.int64]
    """From first start to last end of the device's or stream's work. [ns]"""
    longest_ns: NDArray[np.int64]
    """Longest part of a gap. [ns]"""
    median_ns: NDArray[np.float64]
    """Median part of a gap. [ns]"""
    before_launch_ns: NDArray[np.int64]
    """Part of total_ns before the launch of the next work began. [ns]"""
    in_launch_ns: NDArray[np.int64]
    """Part while that call ran. [ns]"""
    after_launch_ns: NDArray[np.int64]
    """Part after it. [ns]"""
    sync_ns: NDArray[np.int64]
    """Part of before_launch_ns that the launching thread sat in synchronisation. [ns]"""
    busy_ns: NDArray[np.int64]
    """Part of a stream's idle time in which other streams of the device worked. [ns]"""

@type_check_only
class LaunchTimesTable(Table):
    """What launching cost, and how long work waited."""

    name: NDArray[np.uint32]
    """Call, kernel or operator; empty for launches outside any operator."""
    calls: NDArray[np.int64]
    """Launches."""
    graph_calls: NDArray[np.int64]
    """Launches of more than one piece of work."""
    work: NDArray[np.int64]
    """Pieces of device work launched."""
    host_total_ns: NDArray[np.int64]
    """Sum of the calls' durations on the host. [ns]"""
    host_mean_ns: NDArray[np.float64]
    """Mean duration of a call. [ns]"""
    host_median_ns: NDArray[np.float64]
    """Median duration of a call. [ns]"""
    host_p95_ns: NDArray[np.float64]
    """95th percentile (percentile_tail) of the calls' durations. [ns]"""
    host_max_ns: NDArray[np.int64]
    """Longest call. [ns]"""
    delay_mean_ns: NDArray[np.float64]
    """Mean queue delay: start of the first work minus end of the call. [ns]"""
    delay_median_ns: NDArray[np.float64]
    """Median queue delay. [ns]"""
    delay_p95_ns: NDArray[np.float64]
    """95th percentile (percentile_tail) of the queue delay. [ns]"""
    delay_min_ns: NDArray[np.int64]
    """Smallest queue delay; negative where work starts before the call returns. [ns]"""
    delay_max_ns: NDArray[np.int64]
    """Largest queue delay. [ns]"""
    early_calls: NDArray[np.int64]
    """Calls whose work started before they returned: negative delays."""
    begin_delay_mean_ns: NDArray[np.float64]
    """Mean of start of the first work minus start of the call. [ns]"""
    begin_delay_median_ns: NDArray[np.float64]
    """Median of the same. [ns]"""
    device_total_ns: NDArray[np.int64]
    """Sum of the durations of the work. [ns]"""
    device_mean_ns: NDArray[np.float64]
    """Mean duration of a piece of work. [ns]"""
    short_work: NDArray[np.int64]
    """Pieces of work shorter than short_kernel_ns."""
    launch_bound_calls: NDArray[np.int64]
    """Calls that took longer than all the work they launched."""
    queued_work: NDArray[np.int64]
    """Kernels of which it was recorded when their launch was queued and submitted; the following columns are of those
    alone."""
    queued_mean_ns: NDArray[np.float64]
    """Mean wait, from when the launch was queued to the start of the kernel: behind earlier work and on the way to the
    device. [ns]"""
    queued_median_ns: NDArray[np.float64]
    """Median of the same. [ns]"""
    queued_p95_ns: NDArray[np.float64]
    """95th percentile (percentile_tail) of the same. [ns]"""
    buffered_mean_ns: NDArray[np.float64]
    """Mean of the part of the wait before CUPTI's time of submission, which lies behind the earlier work of the stream
    on the hardware that was seen. [ns]"""
    buffered_median_ns: NDArray[np.float64]
    """Median of the same. [ns]"""
    buffered_p95_ns: NDArray[np.float64]
    """95th percentile (percentile_tail) of the same. [ns]"""
    waiting_mean_ns: NDArray[np.float64]
    """Mean of the part of the wait after CUPTI's time of submission. [ns]"""
    waiting_median_ns: NDArray[np.float64]
    """Median of the same. [ns]"""
    waiting_p95_ns: NDArray[np.float64]
    """95th percentile (percentile_tail) of the same. [ns]"""
    on_device_mean_ns: NDArray[np.float64]
    """Mean duration of these kernels. [ns]"""

@type_check_only
class ShortKernelsTable(Table):
    """A class of kernel durations."""

    rank: NDArray[np.int32]
    """Rank of the job, -1 when unknown."""
    process: NDArray[np.int64]
    """Process id that the trace gives the device."""
    process_name: NDArray[np.uint32]
    """The same where it is a text."""
    device: NDArray[np.int16]
    """Device ordinal."""
    low_ns: NDArray[np.int64]
    """Shortest duration of the class. [ns]"""
    high_ns: NDArray[np.int64]
    """End of the class, excluded. [ns]"""
    count: NDArray[np.int64]
    """Kernels, communication included, copies and sets not."""
    total_ns: NDArray[np.int64]
    """Sum of their durations. [ns]"""
    count_share: NDArray[np.float64]
    """count over all kernels of the device."""
    time_share: NDArray[np.float64]
    """total_ns over the sum of durations of all kernels of the device."""
    launched: NDArray[np.int64]
    """Kernels with a recorded launch."""
    launch_bound: NDArray[np.int64]
    """Of these, from calls that took longer than all the work they launched."""
    launch_bound_share: NDArray[np.float64]
    """launch_bound over launched."""

@type_check_only
class QueueLengthsTable(Table):
    """How much work a stream had before it, over time."""

    rank: NDArray[np.int32]
    """Rank of the job, -1 when unknown."""
    process: NDArray[np.int64]
    """Process id that the trace gives the device."""
    process_name: NDArray[np.uint32]
    """The same where it is a text."""
    device: NDArray[np.int16]
    """Device ordinal."""
    lane: NDArray[np.int32]
    """Row of `lanes` of the stream, -1 for the whole device."""
    stream: NDArray[np.int64]
    """Stream id, -1 for the whole device."""
    work: NDArray[np.int64]
    """Pieces of work; each kernel of a graph is one."""
    launched: NDArray[np.int64]
    """Pieces of work with a recorded launch."""
    span_ns: NDArray[np.int64]
    """Time over which the means are taken. [ns]"""
    queued_mean: NDArray[np.float64]
    """Mean number of queued pieces of work."""
    queued_max: NDArray[np.int64]
    """Largest number queued."""
    empty_share: NDArray[np.float64]
    """Share of the time with nothing queued."""
    full_share: NDArray[np.float64]
    """Share of the time with queue_full or more queued."""
    full_ns: NDArray[np.int64]
    """That time: a further launch blocks the host. [ns]"""
    full_calls: NDArray[np.int64]
    """Launch calls that began with queue_full or more queued, their own included."""
    full_calls_ns: NDArray[np.int64]
    """Sum of the durations of these calls. [ns]"""
    outstanding_mean: NDArray[np.float64]
    """Mean number of outstanding pieces of work."""
    outstanding_max: NDArray[np.int64]
    """Largest number outstanding."""
    starved_ns: NDArray[np.int64]
    """Time with nothing outstanding. [ns]"""

@type_check_only
class QueueSeriesTable(Table):
    """Work queued and running on a stream from one moment on."""

    rank: NDArray[np.int32]
    """Rank of the job, -1 when unknown."""
    process: NDArray[np.int64]
    """Process id that the trace gives the device."""
    process_name: NDArray[np.uint32]
    """The same where it is a text."""
    device: NDArray[np.int16]
    """Device ordinal."""
    lane: NDArray[np.int32]
    """Row of `lanes` of the stream, -1 for the whole device."""
    stream: NDArray[np.int64]
    """Stream id, -1 for the whole device."""
    time_ns: NDArray[np.int64]
    """When. [ns]"""
    queued: NDArray[np.int64]
    """Pieces of work launched and not started."""
    running: NDArray[np.int64]
    """Pieces of work started and not ended."""

@type_check_only
class CopyTimesTable(Table):
    """Copies of one kind on one device."""

    rank: NDArray[np.int32]
    """Rank of the job, -1 when unknown."""
    process: NDArray[np.int64]
    """Process id that the trace gives the device."""
    process_name: NDArray[np.uint32]
    """The same where it is a text."""
    device: NDArray[np.int16]
    """Device ordinal."""
    direction: NDArray[np.uint8]
    """An index of COPY_DIRECTIONS."""
    source: NDArray[np.uint8]
    """Memory that is read: an index of COPY_MEMORIES."""
    target: NDArray[np.uint8]
    """Memory that is written: an index of COPY_MEMORIES."""
    count: NDArray[np.int64]
    """Copies or sets."""
    unknown_bytes: NDArray[np.int64]
    """Of these, copies whose bytes are not recorded."""
    bytes: NDArray[np.int64]
    """Bytes of the others. [bytes]"""
    total_ns: NDArray[np.int64]
    """Sum of durations. [ns]"""
    union_ns: NDArray[np.int64]
    """Time with at least one. [ns]"""
    bandwidth: NDArray[np.float64]
    """bytes over the time with at least one copy of recorded bytes. [bytes/s]"""
    peak_bandwidth: NDArray[np.float64]
    """Highest bytes over duration of a single copy. [bytes/s]"""
    median_bytes: NDArray[np.float64]
    """Median of the recorded bytes. [bytes]"""
    small: NDArray[np.int64]
    """Copies of less than small_copy_bytes."""
    synchronous: NDArray[np.int64]
    """Copies by a call that waits for them, cudaMemcpy not cudaMemcpyAsync."""
    blocking: NDArray[np.int64]
    """The same, and asynchronous ones of pageable memory that were done before their call returned."""

@type_check_only
class CopyBandwidthTable(Table):
    """Bandwidth of copies from one moment on."""

    rank: NDArray[np.int32]
    """Rank of the job, -1 when unknown."""
    process: NDArray[np.int64]
    """Process id that the trace gives the device."""
    process_name: NDArray[np.uint32]
    """The same where it is a text."""
    device: NDArray[np.int16]
    """Device ordinal."""
    direction: NDArray[np.uint8]
    """An index of COPY_DIRECTIONS."""
    time_ns: NDArray[np.int64]
    """When. [ns]"""
    bandwidth: NDArray[np.int64]
    """Sum over the copies that run. [bytes/s]"""
    active: NDArray[np.int64]
    """Copies that run."""

@type_check_only
class CopyRatesTable(Table):
    """Bandwidth of copies over time."""

    rank: NDArray[np.int32]
    """Rank of the job, -1 when unknown."""
    process: NDArray[np.int64]
    """Process id that the trace gives the device."""
    process_name: NDArray[np.uint32]
    """The same where it is a text."""
    device: NDArray[np.int16]
    """Device ordinal."""
    direction: NDArray[np.uint8]
    """An index of COPY_DIRECTIONS."""
    active_ns: NDArray[np.int64]
    """Time with at least one copy. [ns]"""
    mean: NDArray[np.float64]
    """Mean bandwidth over that time. [bytes/s]"""
    median: NDArray[np.float64]
    """Bandwidth that is not exceeded for half of that time. [bytes/s]"""
    p95: NDArray[np.float64]
    """The same for the share percentile_tail of it. [bytes/s]"""
    max: NDArray[np.int64]
    """Highest bandwidth. [bytes/s]"""
    left_out: NDArray[np.int64]
    """Copies without recorded bytes or without length."""

@type_check_only
class SyncTimesTable(Table):
    """What a synchronisation cost."""

    name: NDArray[np.uint32]
    """Call, or kind of the record."""
    op: NDArray[np.uint32]
    """Calling operator where asked for, empty outside any."""
    sync_class: NDArray[np.uint8]
    """An index of SYNC_CLASSES."""
    count: NDArray[np.int64]
    """Calls or records."""
    total_ns: NDArray[np.int64]
    """Sum of durations: of a call, the time that it held its thread. [ns]"""
    mean_ns: NDArray[np.float64]
    """Mean duration. [ns]"""
    max_ns: NDArray[np.int64]
    """Longest. [ns]"""
    device_compute_ns: NDArray[np.int64]
    """Part in which the device ran a compute kernel. [ns]"""
    device_comm_ns: NDArray[np.int64]
    """Part in which it ran communication and no compute. [ns]"""
    device_mem_ns: NDArray[np.int64]
    """Part in which it ran copies or sets alone. [ns]"""
    device_idle_ns: NDArray[np.int64]
    """Part in which the device had nothing to do. [ns]"""
    unplaced_ns: NDArray[np.int64]
    """Durations of which the device is not known. [ns]"""
    needless: NDArray[np.int64]
    """Calls during which no work ended and none ran: nothing to wait for."""
    awaited: NDArray[np.uint32]
    """Work that ended last before the return, by the most time; empty for none."""
    awaited_ns: NDArray[np.int64]
    """Sum of durations of the calls that waited for work of that name. [ns]"""

@type_check_only
class CommunicationTable(Table):
    """Communication of a device, a library or a kernel name."""

    rank: NDArray[np.int32]
    """Rank of the job, -1 when unknown."""
    process: NDArray[np.int64]
    """Process id that the trace gives the device."""
    process_name: NDArray[np.uint32]
    """The same where it is a text."""
    device: NDArray[np.int16]
    """Device ordinal."""
    library: NDArray[np.uint8]
    """An index of LIBRARIES: which rule the kernel names match; 0 for all."""
    name: NDArray[np.uint32]
    """Kernel name, where rows are kernel names."""
    count: NDArray[np.int64]
    """Communication kernels."""
    comm_ns: NDArray[np.int64]
    """Time with any of them: the union of their intervals. [ns]"""
    hidden_ns: NDArray[np.int64]
    """Time with any of them and a compute kernel. [ns]"""
    exposed_ns: NDArray[np.int64]
    """Time with any of them and no compute kernel. [ns]"""
    sum_ns: NDArray[np.int64]
    """Sum of their durations, overlaps counted more than once. [ns]"""
    overlap_share: NDArray[np.float64]
    """hidden_ns of comm_ns, 0 to 1; NaN where nothing communicates."""

@type_check_only
class CollectiveTimesTable(Table):
    """Time and bandwidth of a collective."""

    collective: NDArray[np.uint8]
    """An index of COLLECTIVES."""
    source: NDArray[np.uint8]
    """An index of COLLECTIVE_SOURCES: the weakest that tells the collective of a call."""
    element_type: NDArray[np.uint32]
    """Element type as recorded."""
    bytes: NDArray[np.int64]
    """Message of one call, the larger buffer of a rank; -1 when not recorded or mixed. [bytes]"""
    group_size: NDArray[np.int32]
    """Ranks in the process group."""
    group_name: NDArray[np.uint32]
    """Process group name."""
    group_description: NDArray[np.uint32]
    """Process group description."""
    group_ranks: NDArray[np.uint32]
    """Ranks of the group as recorded."""
    rank: NDArray[np.int32]
    """Rank of the job, where a row is one call."""
    device: NDArray[np.int16]
    """Device ordinal, where a row is one call."""
    step: NDArray[np.int32]
    """Training step, where a row is one call."""
    sequence: NDArray[np.int64]
    """Number of the collective within its group, where a row is one call."""
    start_ns: NDArray[np.int64]
    """Start, where a row is one call. [ns]"""
    instance: NDArray[np.int64]
    """Row of collective_instances that it is part of, where a row is one call; -1 when not matched."""
    arguments: NDArray[np.int32]
    """Row of `collectives` that tells the arguments of one call, -1 for none."""
    span: NDArray[np.uint32]
    """Row of the first kernel in `spans`."""
    exposed_ns: NDArray[np.int64]
    """Sum of the time of each kernel with no compute kernel on the device. [ns]"""
    since_ns: NDArray[np.int64]
    """From the end of all communication that began earlier on the device to its start, 0 where some still runs; from
    the first work where there was none. This and the next three where a row is one call. [ns]"""
    since_compute_ns: NDArray[np.int64]
    """Of that, time with a compute kernel. [ns]"""
    since_mem_ns: NDArray[np.int64]
    """Of that, time with a copy or set and no compute kernel. [ns]"""
    since_idle_ns: NDArray[np.int64]
    """Of that, time with nothing on the device. [ns]"""
    count: NDArray[np.int64]
    """Kernels."""
    sized: NDArray[np.int64]
    """Kernels whose message size is recorded: those that the bandwidths are of."""
    total_bytes: NDArray[np.int64]
    """Sum of the messages of those. [bytes]"""
    total_ns: NDArray[np.int64]
    """Sum of durations. [ns]"""
    mean_ns: NDArray[np.float64]
    """Mean duration. [ns]"""
    min_ns: NDArray[np.int64]
    """Shortest. [ns]"""
    median_ns: NDArray[np.float64]
    """Median duration. [ns]"""
    max_ns: NDArray[np.int64]
    """Longest. [ns]"""
    algorithm_bandwidth: NDArray[np.float64]
    """Bytes by time; NaN where no size is recorded. [bytes/s]"""
    bus_bandwidth: NDArray[np.float64]
    """The same times the factor of the collective; NaN where it has none. [bytes/s]"""

@type_check_only
class RankTimesTable(Table):
    """Where the time of one rank went."""

    rank: NDArray[np.int32]
    """Rank of the job, -1 when unknown."""
    process: NDArray[np.int64]
    """Process id that the trace gives the device."""
    process_name: NDArray[np.uint32]
    """The same where it is a text."""
    device: NDArray[np.int16]
    """Device ordinal."""
    step: NDArray[np.int32]
    """Training step, -1 outside any and for the whole run."""
    first_ns: NDArray[np.int64]
    """Start of the first piece of work. [ns]"""
    behind_ns: NDArray[np.int64]
    """The same after the start of the earliest device. [ns]"""
    span_ns: NDArray[np.int64]
    """Last end minus first start. [ns]"""
    busy_ns: NDArray[np.int64]
    """Time with any work. [ns]"""
    compute_ns: NDArray[np.int64]
    """Time with a compute kernel. [ns]"""
    exposed_comm_ns: NDArray[np.int64]
    """Time with communication and no compute. [ns]"""
    exposed_mem_ns: NDArray[np.int64]
    """Time with a copy or set and neither compute nor communication. [ns]"""
    idle_ns: NDArray[np.int64]
    """span_ns minus busy_ns. [ns]"""
    kernels: NDArray[np.int64]
    """Kernels, communication included."""
    compute_deviation: NDArray[np.float64]
    """compute_ns by its mean over the devices, minus 1."""
    imbalance: NDArray[np.float64]
    """Largest compute_ns by its mean over the devices, minus 1; the same in all rows of a step."""

@type_check_only
class StragglersTable(Table):
    """How long the others waited for one rank."""

    rank: NDArray[np.int32]
    """Rank of the job, -1 when unknown."""
    process: NDArray[np.int64]
    """Process id that the trace gives the device."""
    process_name: NDArray[np.uint32]
    """The same where it is a text."""
    device: NDArray[np.int16]
    """Device ordinal."""
    collectives: NDArray[np.int64]
    """Collectives that are matched with other devices, without the doubtful ones."""
    unmatched: NDArray[np.int64]
    """Communication kernels that are not: no counterpart, or not certain which."""
    doubtful: NDArray[np.int64]
    """Matched ones that a rank left before another entered: clocks or match are wrong; not in the rest."""
    last: NDArray[np.int64]
    """Collectives at which it was the last to arrive, on the clocks of the run."""
    last_share: NDArray[np.float64]
    """last of collectives, 0 to 1."""
    mean_late_ns: NDArray[np.float64]
    """Mean of its arrival after the first to arrive. [ns]"""
    latest_ns: NDArray[np.int64]
    """Largest of these. [ns]"""
    caused_ns: NDArray[np.int64]
    """Sum of the waits of the others where it was the last. [ns]"""
    caused_share: NDArray[np.float64]
    """caused_ns of the sum over all devices, 0 to 1."""
    waited_ns: NDArray[np.int64]
    """Sum of its waits where it was not the last: its kernel's duration minus the collective's shortest. [ns]"""
    transfer_ns: NDArray[np.int64]
    """Sum of the shortest durations: the time that transfers took. [ns]"""

@type_check_only
class CollectiveInstancesTable(Table):
    """One collective on all its ranks."""

    collective: NDArray[np.uint8]
    """An index of COLLECTIVES."""
    bytes: NDArray[np.int64]
    """Message on the first device, -1 when not recorded. [bytes]"""
    group_name: NDArray[np.uint32]
    """Process group name."""
    group_size: NDArray[np.int32]
    """Ranks in the process group, -1 when not recorded."""
    step: NDArray[np.int32]
    """Training step."""
    sequence: NDArray[np.int64]
    """Number of the collective within its group, -1 when not recorded."""
    by_sequence: NDArray[np.uint8]
    """1 when matched by that number, 0 when by order of occurrence."""
    participants: NDArray[np.int64]
    """Devices that it was recorded on."""
    start_ns: NDArray[np.int64]
    """Start on the device that arrived first. [ns]"""
    start_skew_ns: NDArray[np.int64]
    """Last start minus first start. [ns]"""
    end_skew_ns: NDArray[np.int64]
    """Last end minus first end. [ns]"""
    transfer_ns: NDArray[np.int64]
    """Shortest duration: the transfer. [ns]"""
    longest_ns: NDArray[np.int64]
    """Longest duration. [ns]"""
    wait_ns: NDArray[np.int64]
    """Sum over the devices but the last to arrive of duration minus transfer. [ns]"""
    last_rank: NDArray[np.int32]
    """Rank that arrived last."""
    last_device: NDArray[np.int16]
    """Device ordinal of it."""
    overlaps: NDArray[np.uint8]
    """1 when the last started before any ended."""
    doubtful: NDArray[np.uint8]
    """1 when it is no ground to charge anybody: see stragglers.doubtful."""
    first_span: NDArray[np.uint32]
    """Row in `spans` of the kernel that started first."""
    last_span: NDArray[np.uint32]
    """Row in `spans` of the kernel that started last."""

@type_check_only
class ClockOffsetsTable(Table):
    """How far the clock of a rank is from the reference."""

    rank: NDArray[np.int32]
    """Rank of the job."""
    reference_rank: NDArray[np.int32]
    """Rank whose clock the others are compared with; -1 where known is 0."""
    known: NDArray[np.uint8]
    """1 when the rank shares a synchronising collective with the reference, directly or over others."""
    offset_ns: NDArray[np.int64]
    """What to add to the times of the rank to put them on the clock of the reference. [ns]"""
    shared: NDArray[np.int64]
    """Collectives that this is the median of."""
    spread_ns: NDArray[np.float64]
    """Median distance of those from their median: what remains uncertain. [ns]"""

@type_check_only
class SequencesTable(Table):
    """A sequence of kernels that repeats."""

    hash: NDArray[np.int64]
    """Of the kernel names, the same in every run."""
    length: NDArray[np.int32]
    """Kernels in the sequence."""
    cut: NDArray[np.uint8]
    """1 when the repeat goes on beyond sequences_max_length."""
    count: NDArray[np.int64]
    """Occurrences that do not overlap, counted from the left."""
    occurrences: NDArray[np.int64]
    """Occurrences, overlapping ones included."""
    kernel_ns: NDArray[np.int64]
    """Durations of the kernels of those that do not overlap. [ns]"""
    gap_ns: NDArray[np.int64]
    """Gaps between them: what fusion, or launching as a graph, could save at most. [ns]"""
    first_name: NDArray[np.uint32]
    """Name of the first kernel."""
    last_name: NDArray[np.uint32]
    """Name of the last kernel."""
    operators: NDArray[np.int64]
    """Operators that launch the kernels of the first occurrence."""
    first_operator: NDArray[np.uint32]
    """Name of the operator of the first kernel."""
    last_operator: NDArray[np.uint32]
    """Name of the operator of the last kernel."""
    first_span: NDArray[np.uint32]
    """Row in `spans` of the first kernel of the first occurrence."""
    last_span: NDArray[np.uint32]
    """Row in `spans` of the last kernel of the first occurrence."""

@type_check_only
class SequenceKernelsTable(Table):
    """One kernel of a sequence."""

    sequence: NDArray[np.int32]
    """Row of the sequence in the result of `sequences`."""
    position: NDArray[np.int32]
    """Place in the sequence, from 0."""
    name: NDArray[np.uint32]
    """Kernel name."""
    op: NDArray[np.uint32]
    """Name of the operator that launches it in the first occurrence."""
    span: NDArray[np.uint32]
    """Row in `spans` of it in the first occurrence."""
    count: NDArray[np.int64]
    """Occurrences of the sequence that do not overlap."""
    total_ns: NDArray[np.int64]
    """Sum of its durations over those. [ns]"""
    gap_ns: NDArray[np.int64]
    """Sum of the gaps in front of it, 0 for the first. [ns]"""

@type_check_only
class CounterValuesTable(Table):
    """A hardware counter of a kernel or an operator."""

    name: NDArray[np.uint32]
    """Kernel name, or operator; empty where no operator is known."""
    series: NDArray[np.uint32]
    """Counter."""
    source: NDArray[np.uint8]
    """An index of COUNTER_SOURCES: profiler ranges, or samples of the device."""
    span: NDArray[np.uint32]
    """Row in `spans` of the first range or kernel."""
    target: NDArray[np.int32]
    """Row of the kernel or call that it is paired with, -1 for none."""
    count: NDArray[np.int64]
    """Ranges, or kernels that samples cover."""
    unpaired: NDArray[np.int64]
    """Ranges of them that could not be paired with a kernel or a call."""
    time_ns: NDArray[np.int64]
    """Time of the kernels that samples cover; 0 for ranges. [ns]"""
    total: NDArray[np.float64]
    """Sum of the values of ranges; NaN for samples."""
    mean: NDArray[np.float64]
    """Mean; of samples weighted by time."""
    min: NDArray[np.float64]
    """Smallest value of one kernel."""
    max: NDArray[np.float64]
    """Largest value of one kernel."""

@type_check_only
class CounterFlopsTable(Table):
    """Floating-point operations that the hardware counted."""

    name: NDArray[np.uint32]
    """Kernel name, or operator; empty where no operator is known."""
    span: NDArray[np.uint32]
    """Row in `spans` of the first range."""
    count: NDArray[np.int64]
    """Ranges."""
    flops: NDArray[np.float64]
    """Operations of all precisions; one fused multiply-add is two. [FLOP]"""
    half_flops: NDArray[np.float64]
    """Operations on half precision. [FLOP]"""
    single_flops: NDArray[np.float64]
    """Operations on single precision. [FLOP]"""
    double_flops: NDArray[np.float64]
    """Operations on double precision. [FLOP]"""

@type_check_only
class StallSharesTable(Table):
    """Samples of warps of a kernel, by why they did not go on."""

    name: NDArray[np.uint32]
    """Kernel function; the scope, where that is asked for: empty where launches of the kernel are in several, in none,
    or not in the recording. Empty by reason."""
    reason: NDArray[np.uint32]
    """Why the warp did not go on, in NVIDIA's words."""
    offset: NDArray[np.int64]
    """Of the instruction in the function, where instructions are told apart. [bytes]"""
    cubin: NDArray[np.int64]
    """Number by which CUPTI tells binaries apart, where instructions are."""
    file: NDArray[np.uint32]
    """Of the source, where lines or instructions are told apart and it is known."""
    line: NDArray[np.int64]
    """Of the source, 0 where it is not known."""
    samples: NDArray[np.int64]
    """Samples that found a warp there."""
    share: NDArray[np.float64]
    """Of all samples with a record, 0 to 1."""
    name_share: NDArray[np.float64]
    """Of the samples of the same name, 0 to 1."""
    not_issued: NDArray[np.int64]
    """Of the samples those in which the scheduler issued nothing at all."""
    not_issued_share: NDArray[np.float64]
    """Of the samples of the row, 0 to 1."""
    launches: NDArray[np.int64]
    """Kernels of that name in the recording, -1 where kernels were not recorded."""
    scope: NDArray[np.uint32]
    """The one scope, by name, whose launches all of them are; empty elsewhere."""
    scopes: NDArray[np.int32]
    """In how many scopes, by name, it was launched, none counted as one; -1 not known."""

@type_check_only
class CriticalPathTable(Table):
    """A segment of the critical path."""

    start_ns: NDArray[np.int64]
    """Start of the segment. [ns]"""
    duration_ns: NDArray[np.int64]
    """Length of the segment. [ns]"""
    kind: NDArray[np.uint8]
    """What the time went into: an index of PATH_KINDS."""
    name: NDArray[np.uint32]
    """Name of the span, "" where nothing was recorded."""
    span: NDArray[np.int32]
    """Span whose self time or execution it is, or that was waited for to begin."""
    lane: NDArray[np.int32]
    """Host thread or stream."""
    from_span: NDArray[np.int32]
    """Span at whose beginning or end the segment starts."""
    inferred: NDArray[np.uint8]
    """1 where the trace does not record the dependency and a rule told it."""
    reason: NDArray[np.uint8]
    """Of a start_delay, what is known of it: an index of PATH_REASONS."""

@type_check_only
class CriticalPathSharesTable(Table):
    """What one kind contributes to the critical path."""

    time_in: NDArray[np.uint8]
    """What the time went into: an index of PATH_KINDS."""
    kind: NDArray[np.uint8]
    """The same, under the name that it has in the other tables of the path."""
    bound_ns: NDArray[np.int64]
    """What remains at least with this kind at no cost: the longest path then. [ns]"""
    saving_ns: NDArray[np.int64]
    """path_ns less bound_ns: what doing without this kind could save at most. [ns]"""
    saving_share: NDArray[np.float64]
    """saving_ns over path_ns."""
    total_ns: NDArray[np.int64]
    """How much of the path runs through segments of this kind. [ns]"""
    path_share: NDArray[np.float64]
    """total_ns over path_ns: where the path runs, not what could be saved."""
    count: NDArray[np.int64]
    """Segments."""
    inferred_ns: NDArray[np.int64]
    """Part of total_ns whose dependency was inferred by a rule. [ns]"""
    reason: NDArray[np.uint8]
    """Of start_delay, what is known of most of it: an index of PATH_REASONS."""
    path_ns: NDArray[np.int64]
    """Length of the whole path, that of its window; the same in all rows. [ns]"""
    host_chain_ns: NDArray[np.int64]
    """The longest path with device work and launching at no cost. [ns]"""
    device_chain_ns: NDArray[np.int64]
    """The longest path with the host and launching at no cost. [ns]"""
    follows: NDArray[np.uint8]
    """Which of these the length follows: an index of PATH_SIDES."""
    start_ns: NDArray[np.int64]
    """When the window begins. [ns]"""
    rank: NDArray[np.int32]
    """Rank whose path it is."""

@type_check_only
class CriticalPathTopTable(Table):
    """A name on the critical path."""

    name: NDArray[np.uint32]
    """Operator, call or kernel; "" where nothing was recorded."""
    kind: NDArray[np.uint8]
    """An index of PATH_KINDS."""
    total_ns: NDArray[np.int64]
    """Sum over its segments. [ns]"""
    path_share: NDArray[np.float64]
    """total_ns over the length of the path: where it runs, no more."""
    count: NDArray[np.int64]
    """Segments."""

@type_check_only
class CriticalTiesTable(Table):
    """A segment of what took nearly as long as the critical path."""

    tie: NDArray[np.int32]
    """Number of the detour, from 0, in the order in which they come back to the path."""
    start_ns: NDArray[np.int64]
    """Start of the segment. [ns]"""
    duration_ns: NDArray[np.int64]
    """Length of the segment. [ns]"""
    kind: NDArray[np.uint8]
    """What the time went into: an index of PATH_KINDS."""
    name: NDArray[np.uint32]
    """Name of the span, "" where nothing was recorded."""
    span: NDArray[np.int32]
    """Span whose self time or execution it is, or that was waited for to begin."""
    lane: NDArray[np.int32]
    """Host thread or stream."""
    slack_ns: NDArray[np.int64]
    """How much before the path its detour was over. [ns]"""
    beside_ns: NDArray[np.int64]
    """Length of the part of the path beside which its detour runs. [ns]"""

@type_check_only
class TraceDiffTable(Table):
    """What changed between two runs."""

    name: NDArray[np.uint32]
    """Name in the current run; "" where it has none or no operator is known."""
    baseline_name: NDArray[np.uint32]
    """Name in the baseline, an id of the baseline's strings."""
    change: NDArray[np.uint8]
    """An index of CHANGES. Replaced: another kernel or sequence in the same place."""
    baseline_calls: NDArray[np.int64]
    """Calls in the baseline."""
    calls: NDArray[np.int64]
    """Calls in the current run."""
    matched: NDArray[np.int64]
    """Calls of both that stand in the same place of the tree."""
    baseline_host_ns: NDArray[np.int64]
    """Host time without nested operators; of sequences, with them. [ns]"""
    host_ns: NDArray[np.int64]
    """The same in the current run. [ns]"""
    baseline_device_ns: NDArray[np.int64]
    """Sum of the device work caused; by operator, caused directly. [ns]"""
    device_ns: NDArray[np.int64]
    """The same in the current run. [ns]"""
    baseline_kernels: NDArray[np.int64]
    """Pieces of device work."""
    kernels: NDArray[np.int64]
    """The same in the current run."""
    difference_ns: NDArray[np.int64]
    """Host and device time of the current run minus the baseline's. [ns]"""
    baseline_matched_ns: NDArray[np.int64]
    """Host and device time of the matched calls in the baseline. [ns]"""
    matched_ns: NDArray[np.int64]
    """The same in the current run. [ns]"""
    baseline_span: NDArray[np.int32]
    """An example in the baseline."""
    span: NDArray[np.int32]
    """An example in the current run."""

@type_check_only
class TraceDiffPairsTable(Table):
    """Two spans in the same place of two runs."""

    baseline_span: NDArray[np.int32]
    """Row in `spans` of the baseline."""
    span: NDArray[np.int32]
    """Row in `spans` of the current run."""
    depth: NDArray[np.int32]
    """Number of enclosing spans of the tree, -1 for device work."""

@type_check_only
class MachineTable(Table):
    """How fast and how steady the machine was while the run was recorded."""

    looks: NDArray[np.int64]
    """Looks at how fast the machine was."""
    throughput_ns: NDArray[np.float64]
    """Median time of the arithmetic, NaN without looks. [ns]"""
    memory_ns: NDArray[np.float64]
    """Median time of the reads from memory, NaN without any. [ns]"""
    spread: NDArray[np.float64]
    """How far the level moved around its median, as a part of it: half the distance of the first and the ninth decile
    of the medians of consecutive pieces of the run, of the sign in which it is larger. NaN with too few looks."""
    spread_sign: NDArray[np.uint8]
    """An index of MACHINE_SIGNS: which that is."""
    waiting_share: NDArray[np.float64]
    """Of the time in which recording threads were ready to run, the part in which others had the processor. NaN, here
    and below, where the system does not tell."""
    steal_share: NDArray[np.float64]
    """Part of the time that a hypervisor took from a processor."""
    throttled_share: NDArray[np.float64]
    """Part of the time that a limit of the control group held the process back; for several processors it may be above
    1."""
    involuntary_per_s: NDArray[np.float64]
    """Context switches that nobody asked for. [1/s]"""
    migrations: NDArray[np.int64]
    """How often a thread was on another processor than at its look before, at least; -1 without looks."""

@type_check_only
class SlowWindowsTable(Table):
    """A stretch in which the machine was slower than usual."""

    start_ns: NDArray[np.int64]
    """Begin, on the clock of the spans. [ns]"""
    end_ns: NDArray[np.int64]
    """End. [ns]"""
    factor: NDArray[np.float64]
    """How many times its usual time a fixed piece of work took."""
    sign: NDArray[np.uint8]
    """An index of MACHINE_SIGNS: what tells so."""

@type_check_only
class MachineLevelsTable(Table):
    """How fast the machine was, look by look."""

    sign: NDArray[np.uint8]
    """An index of MACHINE_SIGNS."""
    time_ns: NDArray[np.int64]
    """When, on the clock of the spans; of waiting the begin of an interval. [ns]"""
    level: NDArray[np.float64]
    """How many times its median of the process a fixed piece of work took: the median of the looks around."""

@type_check_only
class TimelineBlocksTable(Table):
    """A span of the timeline, or a block of short ones."""

    span: NDArray[np.int64]
    """Row in `spans`; of a block the longest span in it."""
    lane: NDArray[np.uint32]
    """Row in `lanes`."""
    depth: NDArray[np.int32]
    """Line within the lane: spans of one line do not cover each other."""
    plain_depth: NDArray[np.int32]
    """Line when Python functions are left out, -1 for those."""
    start_ns: NDArray[np.int64]
    """Start of the first span. [ns]"""
    duration_ns: NDArray[np.int64]
    """Last end minus first start. [ns]"""
    name: NDArray[np.uint32]
    """Name of the longest span."""
    kind: NDArray[np.uint8]
    """Kind of the longest span: an index of SPAN_KINDS."""
    activity: NDArray[np.uint8]
    """What the longest span does: an index of ACTIVITIES."""
    count: NDArray[np.int64]
    """Spans that the row stands for, 1 for a span of its own."""
    sum_ns: NDArray[np.int64]
    """Sum of their durations. [ns]"""
    launch: NDArray[np.int64]
    """Row of this table that shows the launch of this device work, -1 for none."""
    op: NDArray[np.uint32]
    """Operator that issued this call or device work, "" for none."""

@type_check_only
class RangeTimesTable(Table):
    """What runs in a range of the timeline."""

    name: NDArray[np.uint32]
    """Name of the spans."""
    spans: NDArray[np.int64]
    """Spans that have a part in the range."""
    time_ns: NDArray[np.int64]
    """Sum of those parts; spans within others count in both. [ns]"""
    longest: NDArray[np.int64]
    """Row in `spans` of the longest of them."""

@type_check_only
class FlameTable(Table):
    """A node of the merged call tree."""

    name: NDArray[np.uint32]
    """Name of the spans, "" where the role says it all."""
    role: NDArray[np.uint8]
    """What the row is: an index of FLAME_ROLES."""
    kind: NDArray[np.uint8]
    """Kind of its first span: an index of SPAN_KINDS."""
    parent: NDArray[np.int32]
    """Row of the caller, -1 for the first row."""
    depth: NDArray[np.int32]
    """Number of rows above it."""
    lane: NDArray[np.int32]
    """Row in `lanes` where the role is `lane`, -1 otherwise."""
    count: NDArray[np.int64]
    """Spans in it; of a `small` row also those below."""
    grouped: NDArray[np.int64]
    """Rows that a `small` row stands for."""
    first_ns: NDArray[np.int64]
    """Start of the first span in it or below. [ns]"""
    total_host_ns: NDArray[np.int64]
    """Host time in it and below. [ns]"""
    self_host_ns: NDArray[np.int64]
    """Host time during which its span was the latest begun on its lane. [ns]"""
    total_device_ns: NDArray[np.int64]
    """Sum of durations of the device work issued in it and below. [ns]"""
    self_device_ns: NDArray[np.int64]
    """Sum of durations of its own device work. [ns]"""

@type_check_only
class ActiveTimesTable(Table):
    """How long host and device were active."""

    first_ns: NDArray[np.int64]
    """Start of the first host span or device work. [ns]"""
    span_ns: NDArray[np.int64]
    """Last end minus first start. [ns]"""
    host_ns: NDArray[np.int64]
    """Time with any host span. [ns]"""
    device_ns: NDArray[np.int64]
    """Time with any device work. [ns]"""
    host_share: NDArray[np.float64]
    """host_ns over span_ns."""
    device_share: NDArray[np.float64]
    """device_ns over span_ns."""
    overlap_ns: NDArray[np.int64]
    """Time with both. [ns]"""
    n_host: NDArray[np.int64]
    """Host spans that count."""
    n_device: NDArray[np.int64]
    """Pieces of device work."""

@type_check_only
class CounterPointsTable(Table):
    """A sample of a time series that is drawn."""

    series: NDArray[np.uint32]
    """Name of the series, which states the unit."""
    device: NDArray[np.int16]
    """Device ordinal, -1 for the host or when not known."""
    time_ns: NDArray[np.int64]
    """When, on the clock of the spans. [ns]"""
    value: NDArray[np.float64]
    """Value of this sample."""
    count: NDArray[np.int64]
    """Samples since the row before of the series, this one included."""

@type_check_only
class KernelRegimesTable(Table):
    """What limits the kernels of one name, or one kernel."""

    name: NDArray[np.uint32]
    """Kernel."""
    span: NDArray[np.int32]
    """Row in `spans`, -1 where kernels of one name are taken together."""
    count: NDArray[np.int64]
    """Kernels."""
    total_ns: NDArray[np.int64]
    """Sum of their durations. [ns]"""
    share: NDArray[np.float64]
    """total_ns over the sum of all rows."""
    regime: NDArray[np.uint8]
    """An index of REGIMES."""
    detail: NDArray[np.uint8]
    """An index of REGIME_DETAILS."""
    leans_to: NDArray[np.uint8]
    """An index of REGIMES: what is likelier where none is certain."""
    reason: NDArray[np.uint8]
    """An index of REGIME_REASONS."""
    confidence: NDArray[np.float64]
    """Probability of the regime, or of leans_to where it is AMBIGUOUS; NaN where nothing is known."""
    source: NDArray[np.uint8]
    """An index of WORK_SOURCES."""
    known_share: NDArray[np.float64]
    """Share of total_ns of the kernels whose work is known."""
    operations: NDArray[np.float64]
    """Operations of all pipes, of the kernels whose work is known."""
    bytes: NDArray[np.float64]
    """Bytes to and from memory, of the same. [bytes]"""
    sol_compute: NDArray[np.float64]
    """Time that the operations need at the ceilings of their pipes, of the time."""
    sol_memory: NDArray[np.float64]
    """Time that the bytes need at the ceiling of the memory, of the time."""
    floor_share: NDArray[np.float64]
    """The shortest kernel's duration, of the time of a kernel."""
    floor_assumed: NDArray[np.uint8]
    """1 where the shortest kernel was not measured, and a usual value taken."""
    intensity: NDArray[np.float64]
    """Operations over bytes. [operations/byte]"""
    ridge: NDArray[np.float64]
    """The intensity at which both roofs take equally long. [operations/byte]"""
    model_ns: NDArray[np.float64]
    """Time that floor and roofs allow. [ns]"""
    model_low_ns: NDArray[np.float64]
    """Lower end of its interval of 95 %. [ns]"""
    model_high_ns: NDArray[np.float64]
    """Upper end of the same. [ns]"""
    blocks_per_sm: NDArray[np.float64]
    """Blocks per multiprocessor, mean by duration."""
    overhead_probability: NDArray[np.float64]
    """Probability of OVERHEAD_BOUND."""
    memory_probability: NDArray[np.float64]
    """Probability of MEMORY_BOUND."""
    compute_probability: NDArray[np.float64]
    """Probability of COMPUTE_BOUND."""
    error_probability: NDArray[np.float64]
    """Probability that it was faster than a roof allows."""

@type_check_only
class RegionRegimesTable(Table):
    """What limits a device in a run, a step or a scope."""

    rank: NDArray[np.int32]
    """Rank of the job, -1 when unknown."""
    process: NDArray[np.int64]
    """Process id that the trace gives the device."""
    process_name: NDArray[np.uint32]
    """The same where it is a text."""
    device: NDArray[np.int16]
    """Device ordinal."""
    name: NDArray[np.uint32]
    """Scope or annotation, empty for a run or step."""
    step: NDArray[np.int32]
    """Step, -1 for none."""
    regions: NDArray[np.int64]
    """Regions: calls of the scope."""
    start_ns: NDArray[np.int64]
    """Start of the first. [ns]"""
    wall_ns: NDArray[np.int64]
    """Of a run from its first device work to its last, of a step its time on the host, of a scope from its start to its
    end, or to that of the work launched in it. [ns]"""
    regime: NDArray[np.uint8]
    """An index of REGIMES."""
    detail: NDArray[np.uint8]
    """An index of REGIME_DETAILS."""
    leans_to: NDArray[np.uint8]
    """An index of REGIMES: what is likelier where none is certain."""
    reason: NDArray[np.uint8]
    """An index of REGIME_REASONS."""
    confidence: NDArray[np.float64]
    """Probability of the regime, or of leans_to where it is AMBIGUOUS; NaN where nothing is known."""
    kernels_ns: NDArray[np.int64]
    """Time with a compute kernel. [ns]"""
    communication_ns: NDArray[np.int64]
    """Time with communication and no compute kernel. [ns]"""
    transfer_ns: NDArray[np.int64]
    """Time with a copy or set and neither. [ns]"""
    host_wait_ns: NDArray[np.int64]
    """The device had nothing to do: the launch of the next work had not begun. [ns]"""
    launch_gap_ns: NDArray[np.int64]
    """Launched, and not running yet: latency of call, driver and hardware. [ns]"""
    wait_ns: NDArray[np.int64]
    """Launched long before: waits for an event, another stream, or for no recorded reason. [ns]"""
    unknown_ns: NDArray[np.int64]
    """Idle, and the launch of the next work is not in the recording. These seven add up to wall_ns. [ns]"""
    host_input_ns: NDArray[np.int64]
    """Of host_wait_ns: in a data loader. [ns]"""
    host_sync_ns: NDArray[np.int64]
    """Of host_wait_ns: in a synchronisation. [ns]"""
    host_allocation_ns: NDArray[np.int64]
    """Of host_wait_ns: allocating or freeing device memory. [ns]"""
    host_compile_ns: NDArray[np.int64]
    """Of host_wait_ns: compiling. [ns]"""
    host_optimizer_ns: NDArray[np.int64]
    """Of host_wait_ns: in an optimizer's step. [ns]"""
    host_other_ns: NDArray[np.int64]
    """Of host_wait_ns: anything else. These six add up to it. [ns]"""
    overhead_share: NDArray[np.float64]
    """Everything but kernels_ns, over wall_ns."""
    overhead_kernels_share: NDArray[np.float64]
    """Kernels that are overhead themselves, over wall_ns; the four kinds share kernels_ns by duration."""
    memory_kernels_share: NDArray[np.float64]
    """Kernels that memory limits, over wall_ns."""
    compute_kernels_share: NDArray[np.float64]
    """Kernels that arithmetic limits, over wall_ns."""
    unjudged_kernels_share: NDArray[np.float64]
    """Kernels of which that is not known, over wall_ns."""
    launches: NDArray[np.int64]
    """Pieces of work that started in the region and whose launch is recorded."""
    queue_delay_ns: NDArray[np.float64]
    """Median of their start minus the start of their launch. [ns]"""
    stacks: NDArray[np.uint8]
    """1 where Python stacks were recorded: the host was slowed more than usual."""

@type_check_only
class ComparisonTable(Table):
    """What a comparison of two sides says of each operation."""

    operation: NDArray[np.uint32]
    """Place of the operation in the input."""
    tier: NDArray[np.uint8]
    """An index of TIERS."""
    verdict: NDArray[np.uint8]
    """An index of VERDICTS."""
    reason: NDArray[np.uint8]
    """An index of VERDICT_REASONS."""
    conclusive: NDArray[np.uint8]
    """1 when the verdict is not for want of data."""
    gates: NDArray[np.uint8]
    """1 when the operation is large enough to fail a gate."""
    pairs: NDArray[np.int32]
    """Pairs of launches used, 0 when they are not paired."""
    baseline_launches: NDArray[np.int32]
    """Launches of the baseline."""
    current_launches: NDArray[np.int32]
    """Launches of the current side."""
    baseline_samples: NDArray[np.int64]
    """Samples of the baseline."""
    current_samples: NDArray[np.int64]
    """Samples of the current side."""
    baseline: NDArray[np.float64]
    """Level of the samples; the ratio of both is the change as it was seen. [s]"""
    current: NDArray[np.float64]
    """Level of the samples. [s]"""
    baseline_least: NDArray[np.float64]
    """Least sample. [s]"""
    current_least: NDArray[np.float64]
    """Least sample. [s]"""
    change: NDArray[np.float64]
    """Relative change, current / baseline - 1, estimated on the logarithms."""
    low: NDArray[np.float64]
    """Lower end of the interval of the change."""
    high: NDArray[np.float64]
    """Upper end of the interval of the change."""
    standard_error: NDArray[np.float64]
    """Standard error of the logarithm of the ratio."""
    df: NDArray[np.float64]
    """Degrees of freedom of it, infinite for the normal distribution."""
    p: NDArray[np.float64]
    """Two-sided p-value of no change."""
    q: NDArray[np.float64]
    """The same, adjusted for all operations together."""
    rank_p: NDArray[np.float64]
    """Cross-check by ranks: signed-rank for pairs, Mann-Whitney otherwise."""
    detectable: NDArray[np.float64]
    """Smallest relative slowdown that would be detected."""
    needed: NDArray[np.int32]
    """Launches or pairs in all that would probably conclude, -1 when not known."""
    share: NDArray[np.float64]
    """Part of the sum of all rows of the metric in the baseline (current when new)."""
    baseline_slow: NDArray[np.float64]
    """Share of its samples in the slow mode, NaN when there is one mode."""
    current_slow: NDArray[np.float64]
    """Share of its samples in the slow mode, NaN when there is one mode."""
    autocorrelation: NDArray[np.float64]
    """Autocorrelation time of the samples where that widens the interval."""

@type_check_only
class SuggestionsTable(Table):
    """Something to try, and what it can save."""

    rule: NDArray[np.uint8]
    """An index of SUGGESTION_RULES."""
    type: NDArray[np.uint8]
    """An index of SUGGESTION_TYPES."""
    priority: NDArray[np.uint8]
    """An index of PRIORITIES, by saved_high_ns and confidence."""
    subject: NDArray[np.uint32]
    """Operation, kernel, call or series that it is about, "" for the run."""
    span: NDArray[np.int64]
    """Row in `spans` of an example, -1 for none."""
    current_ns: NDArray[np.int64]
    """What it takes now: sum of durations, overlaps counted more than once. [ns]"""
    path_ns: NDArray[np.int64]
    """Part of the critical path that it is about. [ns]"""
    path_share: NDArray[np.float64]
    """path_ns of the whole path."""
    bounded: NDArray[np.uint8]
    """1 where the run allows a bound of what it saves."""
    saved_low_ns: NDArray[np.int64]
    """At least this is saved, as far as the model of the path goes; 0 where not bounded. [ns]"""
    saved_high_ns: NDArray[np.int64]
    """At most this is saved, without what suggestions before it save. [ns]"""
    idle_ns: NDArray[np.int64]
    """Time of the path in which the device has nothing to do, where that bounds saved_high_ns; else -1. [ns]"""
    speedup_low: NDArray[np.float64]
    """Path over path without saved_low_ns."""
    speedup_high: NDArray[np.float64]
    """Path over path without saved_high_ns; infinite where all of it goes."""
    confidence: NDArray[np.uint8]
    """An index of DEGREES: how directly the evidence shows it."""
    effort: NDArray[np.uint8]
    """An index of DEGREES: what it costs to try."""
    merged_into: NDArray[np.int32]
    """Row of the suggestion that already counts its time, -1 for none."""
    whole_ns: NDArray[np.int64]
    """Length of the critical path, the same in all rows. [ns]"""

@type_check_only
class SuggestionEvidenceTable(Table):
    """A figure behind a suggestion."""

    suggestion: NDArray[np.int32]
    """Row in `suggestions`."""
    quantity: NDArray[np.uint8]
    """An index of QUANTITIES, whose units are those of QUANTITY_UNITS."""
    value: NDArray[np.float64]
    """What the run shows."""
    threshold: NDArray[np.float64]
    """What the rule compares it with, NaN for a figure that is only shown."""
    span: NDArray[np.int64]
    """Row in `spans` that shows it, -1 for none."""

@type_check_only
class CausesTable(Table):
    """A cause that limits the program."""

    cause: NDArray[np.uint8]
    """An index of LIMIT_CAUSES."""
    time_ns: NDArray[np.int64]
    """Time of the window that it takes. [ns]"""
    share: NDArray[np.float64]
    """time_ns of the window."""
    error: NDArray[np.float64]
    """Standard error of the share, where samples of stacks tell it; 0 where spans do."""
    saved_ns: NDArray[np.int64]
    """What its going would save of the window at most, -1 where that is not known. [ns]"""
    tied: NDArray[np.uint8]
    """1 where it is within the margin of the first."""
    confidence: NDArray[np.uint8]
    """An index of DEGREES: how clearly it comes before the others."""
    subject: NDArray[np.uint32]
    """Module, scope, operator or kernel that takes most of it, "" for none."""
    subject_share: NDArray[np.float64]
    """Share of time_ns that the subject or the line has."""
    stack: NDArray[np.int32]
    """Row in `stacks` of the line that takes most of it, -1 for none."""
    inner: NDArray[np.int32]
    """Row in `stacks` of the innermost function called there that most of its samples are within, -1: none."""
    inner_share: NDArray[np.float64]
    """Share of these samples that it has."""
    span: NDArray[np.int64]
    """Row in `spans` of an example, -1 for none."""
    count: NDArray[np.int64]
    """Spans that are it, or samples that show it."""
    elsewhere: NDArray[np.int64]
    """Samples that show it in other threads or processes, for which the main thread waits."""
    process: NDArray[np.int64]
    """Process of the line where that is another than the main thread's, which waits for it; -1 where not."""
    calling: NDArray[np.uint8]
    """1 where the line waits for calls of compiled code that keep the interpreter's lock."""
    serving: NDArray[np.uint8]
    """1 where a server waits for who asks it, or for what its requests wait for."""
    figure: NDArray[np.float64]
    """Its own figure: growth in bytes per second, mean length of the calls in ns, the first step by the usual one, the
    kernel's part of what compiled code computes where that is most of it."""
    window_ns: NDArray[np.int64]
    """Length of the window, the same in all rows. [ns]"""
    marked_ns: NDArray[np.int64]
    """Of the window, in scopes of the program's own on its driving thread; the same in all rows. [ns]"""
    steps: NDArray[np.int32]
    """Steps in the window, 0 where it is the whole run; the same in all rows."""
    samples: NDArray[np.int64]
    """Samples of the main thread in the window that tell; the same in all rows."""
    displaced: NDArray[np.int64]
    """Samples that found it ready to run while other programs had the processors: left out of the shares."""
    unseen_ns: NDArray[np.int64]
    """Of the window, between two samples far apart, as of a process that was suspended: left out of the shares; the
    same in all rows. [ns]"""
# --- end of generated tables

@final
class BufferPool:
    """Memory that is used again; `memory` is None (host), a device's ordinal, or "none" for counting only."""

    def __new__(
        cls,
        memory: int | str | None,
        /,
        *,
        max_pool_bytes: int = ...,
        max_buffers_per_class: int = ...,
        buffer_ttl_ns: int = ...,
        min_pooled_size: int = ...,
    ) -> Self: ...
    @property
    def device(self) -> int | None: ...
    @property
    def closed(self) -> bool: ...
    def allocate(self, size: int, stream: int = 0, /) -> PoolBuffer: ...
    def register(self, size: int, /) -> int: ...
    def deregister(self, id: int, /) -> None: ...
    def evict_stale(self) -> int: ...
    def clear(self) -> int: ...
    def close(self) -> int: ...
    def counts(self) -> dict[str, int]: ...
    def live(self) -> list[tuple[int, int, int]]: ...
    def set_clock(self, ns: int, /) -> None: ...

@final
class PoolBuffer:
    """Memory of a pool; host memory has the buffer protocol."""

    @property
    def pool(self) -> BufferPool: ...
    @property
    def device(self) -> int | None: ...
    @property
    def address(self) -> int: ...
    @property
    def id(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def granted(self) -> int: ...
    @property
    def reused(self) -> bool: ...
    @property
    def freed(self) -> bool: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def free(self, stream: int = 0, /) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *args: object) -> None: ...
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class KernelMonitor:
    """Executions that the program reports itself; the last `room` are kept one by one."""

    def __new__(cls, room: int) -> Self: ...
    def add(
        self, name: str, duration_ns: int, memory_bytes: int, success: bool, end_ns: int, /
    ) -> None: ...
    def totals(self) -> dict[str, Any]: ...
    def kernels(self) -> dict[str, dict[str, int]]: ...
    def records(self) -> list[tuple[str, int, int, int, bool]]: ...
    def reset(self) -> None: ...

@final
class Race:
    """Which of several candidates is fastest."""

    def __new__(cls, candidates: int, /, **thresholds: float) -> Self: ...
    def takes_part(self, candidate: int, /) -> bool: ...
    def withdraw(self, candidate: int, /) -> None: ...
    def round(self, times: Sequence[float], /) -> bool: ...
    def result(self) -> dict[str, Any]: ...
    def candidate(self, candidate: int, /) -> dict[str, Any]: ...

def race_policy() -> dict[str, dict[str, Any]]: ...
def pseudo_median(values: Buffer, level: float, /) -> tuple[float, float, float]: ...
@final
class Feed:
    """Bytes on their way to the importer, at most `depth` chunks at once."""

    def __new__(cls, depth: int = 4) -> Self: ...
    def put(self, buffer: Buffer, /) -> bool: ...
    def end(self, failure: str | None, /) -> None: ...
    def stop(self) -> None: ...

@disjoint_base
class Run:
    @classmethod
    def _load(cls, path: str | os.PathLike[str], recover: bool, /) -> Self: ...
    @classmethod
    def _import(
        cls, source: str | Buffer | Feed, name: str, strict: bool, threads: int, scan: int, /
    ) -> Self: ...
    @classmethod
    def _import_snapshot(cls, source: str | Feed, name: str, /) -> Self: ...
    @classmethod
    def _merge(cls, runs: list[Any], shifts: list[int], processes: bool = False, /) -> Self: ...
    @classmethod
    def _build(
        cls,
        strings: list[str] | tuple[str, ...],
        tables: Mapping[str, Mapping[str, Any]],
        environment: str,
        source: str,
        start_ns: int,
        end_ns: int,
        start_unix_ns: int,
        complete: bool,
        /,
    ) -> Self: ...
    def _link(self) -> None: ...
    def save(self, path: str | os.PathLike[str], /) -> None: ...
    def _sampled(self, choice: str, /) -> Self: ...
    def _export(self, format: str, option: str | None, write: Callable[[bytes], object], /) -> None: ...
    def table(self, name: str, /) -> Any: ...
    def string(self, id: int, /) -> str: ...
    def summarise(self, thresholds: Mapping[str, float], /) -> SummaryTable: ...
    def _suggest(
        self, thresholds: dict[str, float], ceilings: dict[str, float] | None, /
    ) -> tuple[SuggestionsTable, SuggestionEvidenceTable]: ...
    def _causes(self, thresholds: dict[str, float], /) -> CausesTable: ...
    def _tile(
        self, python: bool, from_ns: int, to_ns: int, pixel_ns: int, lane_low: int, lane_high: int, /
    ) -> TimelineBlocksTable: ...
    def _tile_span(self, python: bool, span: int, /) -> TimelineBlocksTable: ...
    def _find(self, python: bool, passes: bytes, span: int, direction: int, /) -> tuple[int, int, int]: ...
    def _range_times(self, python: bool, from_ns: int, to_ns: int, lanes: bytes, /) -> RangeTimesTable: ...
    def _analyse(
        self,
        name: str,
        thresholds: Mapping[str, float],
        rules: tuple[tuple[str, str], ...],
        group_by: int,
        text: str | None,
        other: Run | None,
        ceilings: NDArray[np.float64] | None = None,
        /,
    ) -> Table: ...
    @property
    def entries(self) -> EntriesTable: ...
    @property
    def summary(self) -> SummaryTable: ...
    @property
    def strings(self) -> tuple[str, ...]: ...
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
    @property
    def _has_work(self) -> bool: ...

def schema() -> dict[str, dict[str, Any]]: ...
def not_kept() -> tuple[tuple[str, str], ...]: ...
def policy() -> dict[str, dict[str, Any]]: ...
def analyses() -> dict[str, dict[str, str]]: ...
def options() -> dict[str, dict[str, Any]]: ...
def heap_reason() -> str: ...
def host_memory() -> dict[str, Any]: ...
def spill_begin(folder: str, budget: int, /) -> None: ...
def spill_use() -> dict[str, int]: ...
def clock_name() -> str: ...
def allocations() -> int: ...
def die_with_parent(signal: int, /) -> None: ...
def next_signal(signals: Iterable[int], seconds: float, /) -> tuple[int, int, int] | None:
    """Return the next of these signals, which are blocked, as its number, code (as in siginfo_t) and sender's process.

    None for none in that time, which goes on while the process is stopped.
    """

def frame(type: int, payload: Buffer, file: int, number: int, /) -> bytes:
    """Return the bytes of one block of a recording, with its sums."""

def punch_hole(fd: int, offset: int, length: int, /) -> None:
    """Give the room of a part of a file back; it reads as zeros. OSError where the file system cannot."""

def count_open(log: str, /) -> None: ...
def count_calls(function: Callable[[], Any], calls: int, /) -> tuple[int | None, Any]: ...
def telemetry_devices() -> list[dict[str, Any]]: ...
def telemetry_read(device: int | str, expensive: bool = False, /) -> dict[str, tuple[float | None, str]]: ...
def telemetry_facts(limit_ms: float, /) -> list[dict[str, Any]]: ...
def telemetry_library() -> dict[str, Any]: ...
def telemetry_metrics() -> dict[str, dict[str, Any]]: ...
def clock_reasons() -> dict[str, tuple[int, str, bool]]: ...
@final
class CounterMeasurement:
    @classmethod
    def sample(cls, device: int, source: str, set: str, interval_ns: int, /) -> Self: ...
    @classmethod
    def ranges(cls, set: str, max_ranges: int, /) -> Self: ...
    def push(self, name: str, /) -> None: ...
    def pop(self) -> None: ...
    def stop(self) -> dict[str, Any]: ...

def library_search(folders: str, /) -> None: ...
def counter_roles() -> dict[str, dict[str, Any]]: ...
def counter_sets() -> dict[str, dict[str, Any]]: ...
def counter_chips() -> dict[str, Any]: ...
def counter_plan(chip: str, set: str, /) -> dict[str, Any]: ...
def ceilings() -> dict[str, dict[str, str]]: ...
def datasheets() -> dict[str, dict[str, Any]]: ...
def regime_texts() -> dict[str, dict[str, str]]: ...
def classify(
    *,
    time_ns: float | None = None,
    time_spread: float = 0.0,
    operations: Mapping[str, float | None] | None = None,
    operations_spread: float = 0.0,
    bytes: float | None = None,
    bytes_spread: float = 0.0,
    compute_share: float | None = None,
    memory_share: float | None = None,
    l2_bytes: float | None = None,
    l2_spread: float = 0.0,
    accesses: float | None = None,
    calls: float = 1,
    dispatch: str | None = None,
    floor_ns: float | None = None,
    floor_spread: float = 0.0,
    blocks: float | None = None,
    multiprocessors: float | None = None,
    threads: float | None = None,
    machine_threads: float | None = None,
    cpu_ns: float | None = None,
    working_set: float | None = None,
    caches: Sequence[float | None] | None = None,
    limits: Mapping[str, tuple[float, float]] | None = None,
    ceilings: NDArray[np.float64] | None = None,
    single: NDArray[np.float64] | None = None,
    host: bool = False,
    policy: Mapping[str, float] = ...,
) -> dict[str, Any]:
    """Return what limits work: regime, detail, reason, confidence and the figures behind them.

    Times are nanoseconds, spreads relative half-widths of two standard deviations, None is not known. operations:
    by pipe of PIPES, a pipe that is not named did none. compute_share, memory_share: of peak, as hardware counted, for
    where operations or bytes are not known. bytes: to and from where the working set lies; accesses:
    loads that each depend on the one before; limits: by name of LIMITS, the part of a host's time that it takes, and
    its spread; calls: kernels, or calls of `dispatch` (python, numpy, torch) of a host.
    ceilings and single: as `Calibration.vector()` has them, of all threads and of one. ValueError or TypeError for
    anything else. docs/regime_profiler.md states the rules.
    """

def light_call(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    floor_ns: float,
    answers: tuple[dict[str, Any], dict[str, Any], dict[str, Any]],
    memory: dict[str, Any],
    /,
) -> tuple[Any, dict[str, Any]]: ...
def pace_begin(short_ns: float, /) -> object | None:
    """Look from another thread at how long the calling thread's Python code stays at one instruction.

    None where that cannot be seen. End it with `pace_end`.
    """

def pace_end(pace: object, /) -> tuple[int, int, int, int]:
    """Return ns in stays of at most short_ns, ns in all that were seen, bursts of looks, and bursts without a
    processor."""

def touched_begin() -> int | None:
    """Forget which pages of memory this process has touched. None where the system does not tell; what it returns is
    given to `touched_end`, once."""

def touched_end(marks: int, /) -> tuple[int, int] | None:
    """Return the bytes of the pages that all threads of the process touched since then, but for those of programs and
    libraries that nobody writes, and how many of them are in huge pages. None where the system does not tell."""

def turns_new(first: int, turn_ns: int, limit_ns: int, /) -> int:
    """Make a table of turns for two programs and return its descriptor, which is closed on exec.

    first: which of 0 and 1 begins. A turn ends with the first outermost scope that ends turn_ns after it began; who
    waits longer than limit_ns goes on without. ValueError for a wrong side or time, UnavailableError where the system
    has no such files.
    """

def turns_join(fd: int, side: int, /) -> None:
    """Take turns with the other program from here on; returns when the first has come. BusyError the second time."""

def turns_leave(fd: int, side: int, /) -> None:
    """Say that a program has ended, however it did: the other waits for it no longer."""

def turns_read(fd: int, /) -> dict[str, Any]:
    """Return what a table tells: turns, joined (by side), overlapped, device, threads."""

def calibrate_figure(bests: list[float], least: bool, /) -> tuple[float, float]: ...
def device_about(device: int, /) -> dict[str, Any]: ...
def measure_device(
    part: str, device: int, quick: bool = True, policy: dict[str, float] = {}
) -> tuple[dict[str, dict[str, Any]], int]: ...
def host_caches() -> list[dict[str, int]]: ...
def measure_host(
    part: str, threads: int, free_bytes: int, quick: bool = True, policy: dict[str, float] = {}, seconds: float = 0.0
) -> dict[str, dict[str, Any]]: ...
def host_takes(threads: int, free_bytes: int, quick: bool, policy: dict[str, float], /) -> int: ...
def calibrate_policy() -> dict[str, dict[str, Any]]: ...
def kernels() -> dict[str, dict[str, Any]]: ...
def workloads() -> dict[str, dict[str, Any]]: ...
def compile_kernel(file: str, arch: str, cached: bool = True) -> bytes: ...
def run_workload(
    name: str,
    device: int | None = None,
    *,
    parameters: dict[str, float] | None = None,
    inputs: dict[str, Any] | None = None,
    warmup: int = 3,
    iterations: int = 20,
    calls: int = 0,
    backend: str | None = None,
    threads: int = 0,
    block: int = 0,
) -> dict[str, Any]: ...
def workload_inputs(name: str, parameters: dict[str, float] = {}, /) -> dict[str, Any]: ...
def compare(
    operations: int,
    baseline: tuple[Any, Any, Any, Any],
    current: tuple[Any, Any, Any, Any],
    paired: bool,
    policy: dict[str, float],
    fdr: str,
    decision: str,
    floors: Any,
    metrics: Any,
    /,
) -> tuple[ComparisonTable, dict[str, Any]]: ...
def compare_policy() -> dict[str, dict[str, Any]]: ...
def change_points(
    values: Any, alpha: float, autocorrelated: bool, /
) -> list[tuple[int, float, float, float]]: ...
def predict(history: Any, values: Any, alpha: float, /) -> dict[str, float]: ...
def adjust(p: Any, method: str, /) -> list[float]: ...
def t_quantile(p: float, df: float, /) -> float: ...
