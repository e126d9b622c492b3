# SPDX-License-Identifier: Apache-2.0
"""One call, timed: wall time, processor time of this thread and of the process, page faults and waits.

On a CUDA device (torch or CuPy) also the device's time between two events of the current stream, and the host's time
until the call returned. Everything is read once before and once after the call; nothing is run that was not asked for.
"""

import functools
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from .. import _core
from ..system import scheduling
from ..system.descriptors import Kept
from .policy import VALUE
from .touched import Touched

PAGE_BYTES = resource.getpagesize()
PROCESSORS = os.cpu_count() or 1  # of the machine: threads may be bound to others than this one is
# Of five calls and more the first third is not counted: caches, predictors and clocks still warm up, which is most of
# the time of a call of a microsecond.
SETTLED_FROM, WARMING = 5, 3
QUARTILES = 4  # samples below which a quartile says nothing
STOLEN_FROM_NS = 20_000  # shorter waits for the processor may lie between the clocks, outside of the call
SYSTEM = 9  # place in a row of the system's time, all processor time (both in s), and bytes of files
OWN_FILE_BYTES = 16_384  # what reading the clocks reads itself: a line for each thread


@dataclass(frozen=True, slots=True)
class Measurement:
    """Times in ns of the median call once they have settled, and counts per call.

    wall_ns: on a device, until it had finished. enqueue_ns: until the call returned. device_ns: between two events in
    the stream, None on the host. thread_cpu_ns: of the calling thread. process_cpu_ns: of all threads of the process.
    stolen_ns: a thread that worked was ready, but other processes had the processor; part of wall_ns. faults: pages
    that were touched for the first time. waits: times that the thread gave up the processor by itself. spread: relative
    half-width of what the calls gave, None for one call. times_ns: wall time of each call, on a device the device's.
    system_share: part of the processor time of all calls that the system worked, by what it tells, which on many
    machines is a sample every few ms; system_cpu_ns: the processor time that this is a part of. file_bytes: read and
    written through calls of the system, files and pipes alike. quick_ns, seen_ns: how long Python was looked at, and
    how much of that it stayed at an instruction for no longer than a small call takes. touched: which memory they
    touched, None where nobody looked.
    """

    wall_ns: float
    enqueue_ns: float
    device_ns: float | None
    thread_cpu_ns: float
    process_cpu_ns: float
    stolen_ns: float
    faults: float
    waits: float
    preempted: float
    calls: int
    spread: float | None
    times_ns: tuple[int, ...]
    system_share: float = 0.0
    system_cpu_ns: float = 0.0
    file_bytes: float = 0.0
    quick_ns: int = 0
    seen_ns: int = 0
    touched: Touched | None = None

    @property
    def own_ns(self) -> float:
        """Wall time without what other processes took; what a verdict rests on. On a device, the device's time.

        Never less than the processor time of the calling thread: the scheduler may tell of a wait that began earlier.
        """
        if self.device_ns is not None:
            return self.device_ns
        return max(1.0, self.wall_ns - self.stolen_ns, min(self.thread_cpu_ns, self.wall_ns))

    @property
    def is_unresolved(self) -> bool:
        """Whether a device was busy for less than events resolve, so that its time is only known to be short."""
        return self.device_ns is not None and self.device_ns < VALUE["event_resolution_ns"]

    @property
    def busy_threads(self) -> float:
        """Processors that worked on average; at most all that there are, although the clocks of threads and of the wall
        are not read at one instant and threads that spin go on meanwhile."""
        worked = self.process_cpu_ns / (self.own_ns if self.device_ns is None else max(1.0, self.wall_ns))
        return min(worked, float(PROCESSORS))


def measure(
    function: Callable[[], Any],
    repeat: int,
    device: "DeviceClock | None" = None,
    pace: bool = False,
    touched: bool = False,
) -> tuple[Any, Measurement]:
    """Call `function` exactly `repeat` times; return what the last call returned, and the measurement.

    pace: look from another thread at how fast Python goes. touched: look at the memory that a call touches, where there
    are enough calls. What the function raises is raised.
    """
    rows = []
    result = None
    warming = repeat // WARMING if repeat >= SETTLED_FROM else 0
    look = Touched() if touched else None
    looking = _core.pace_begin(VALUE["small_call_ns"]) if pace else None
    try:
        for number in range(repeat):
            result = None  # what the last call returned is freed outside of the time of the next one
            looked = look is not None and number < warming
            result, row = _one(functools.partial(look.call, number, function) if look and looked else function, device)
            rows.append(row)
    finally:
        quick, seen = _core.pace_end(looking)[:2] if looking is not None else (0, 0)
    counted = _undisturbed(rows[warming:])
    spread = None
    owns = [_own_ns(row) for row in counted]
    if repeat > 1 and (middle := statistics.median(owns)) > 0:
        spread = (max(owns) - min(owns)) / 2 / middle if len(owns) < QUARTILES else _half_iqr(owns) / middle
    middle_row = sorted(counted, key=_own_ns)[(len(counted) - 1) // 2]
    times = tuple(row[0] if row[2] is None else round(row[2]) for row in rows)
    if look:
        times = tuple(look.took_ns.get(number, took) for number, took in enumerate(times))
        rows = [row for number, row in enumerate(rows) if number not in look.took_ns]  # the system's part is not theirs
    measured = _measurement(middle_row, repeat, spread, times)
    return result, replace(_with_system(measured, rows), quick_ns=quick, seen_ns=seen, touched=look)


def _with_system(measured: Measurement, rows: list[tuple[Any, ...]]) -> Measurement:
    """Return the measurement with what the system tells only of many milliseconds, from all calls together."""
    system, whole = sum(row[SYSTEM] for row in rows), sum(row[SYSTEM + 1] for row in rows)
    return replace(
        measured,
        system_share=min(1.0, system / whole) if whole > 0 else 0.0,
        system_cpu_ns=whole * 1e9,
        file_bytes=statistics.median(row[SYSTEM + 2] for row in rows),
    )


def _own_ns(row: tuple[Any, ...]) -> float:
    """Return the time of one call: on a device between its events, on the host without what others took."""
    return float(max(row[0] - row[5], min(row[3], row[0])) if row[2] is None else row[2])


def _undisturbed(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the calls of which other processes took little; where those are too few to have a middle, the least
    disturbed ones."""
    found = [row for row in rows if row[5] <= VALUE["stolen_share"] * row[0]]
    least = int(VALUE["least_undisturbed"])
    return found if len(found) >= least else sorted(rows, key=lambda row: row[5] / max(1, row[0]))[:least]


def _measurement(row: tuple[Any, ...], calls: int, spread: float | None, times_ns: tuple[int, ...]) -> Measurement:
    names = [field.name for field in fields(Measurement)]
    first = dict(zip(names[:SYSTEM], row, strict=False))
    return Measurement(calls=calls, spread=spread, times_ns=times_ns, **first)


def _half_iqr(values: list[float]) -> float:
    low, _, high = statistics.quantiles(values, n=4)
    return (high - low) / 2


def _one(function: Callable[[], Any], device: "DeviceClock | None") -> tuple[Any, tuple[Any, ...]]:
    interval = Interval(device)
    interval.begin()
    result = function()
    return result, interval.row()


class Interval:
    """All clocks and counts from `begin` to `row` or `end`, the wall clock innermost."""

    __slots__ = ("_before", "_begin", "_device", "_every", "_files", "_process", "_thread", "_usage", "_watch")

    def __init__(self, device: "DeviceClock | None" = None) -> None:
        self._device = device
        self._watch = scheduling.watch()

    def begin(self) -> None:
        """Read everything, the wall clock last."""
        if self._device is not None:
            self._device.begin()
        self._files = _file_bytes()
        self._usage = resource.getrusage(resource.RUSAGE_THREAD)
        self._every = resource.getrusage(resource.RUSAGE_SELF)
        self._before = self._watch.read()
        self._process, self._thread = time.process_time_ns(), time.thread_time_ns()
        self._begin = time.perf_counter_ns()

    def row(self) -> tuple[Any, ...]:
        """Read everything, the wall clock first; return the differences in the order of Measurement."""
        returned = time.perf_counter_ns()
        device_ns = None if self._device is None else self._device.end()
        end = returned if self._device is None else time.perf_counter_ns()
        thread, process = time.thread_time_ns() - self._thread, time.process_time_ns() - self._process
        after = self._watch.read()
        process = max(process, scheduling.cpu_ns(self._before, after) if self._before else 0)
        every = resource.getrusage(resource.RUSAGE_SELF)
        usage = resource.getrusage(resource.RUSAGE_THREAD)
        stolen = scheduling.stolen_ns(self._before, after, end - self._begin)
        return (
            end - self._begin,
            returned - self._begin,
            device_ns,
            thread,
            process,
            stolen if stolen > STOLEN_FROM_NS else 0,
            every.ru_minflt - self._every.ru_minflt,
            usage.ru_nvcsw - self._usage.ru_nvcsw,
            usage.ru_nivcsw - self._usage.ru_nivcsw,
            every.ru_stime - self._every.ru_stime,
            every.ru_stime + every.ru_utime - self._every.ru_stime - self._every.ru_utime,
            max(0, _file_bytes() - self._files - OWN_FILE_BYTES),
        )

    def end(self) -> Measurement:
        """Return the same as a measurement of one call."""
        row = self.row()
        return _with_system(_measurement(row, 1, None, (row[0],)), [row])


_files: dict[int, Kept] = {}  # by process


def _file_bytes() -> int:
    """Return bytes that this process read and wrote so far, 0 where the system does not tell."""
    process = os.getpid()
    try:
        if process not in _files:
            _files.clear()
            _files[process] = Kept("/proc/self/io")
        fields = _files[process].read().split()
        return int(fields[1]) + int(fields[3])
    except (OSError, ValueError, IndexError):
        return 0


class DeviceClock:
    """Two events in the current stream of a device, through the library whose arrays the call has.

    The only waits of a measurement are here: for what the device was doing before, and for the second event.
    """

    def __init__(self, cuda: Any) -> None:
        self._cuda = cuda
        self._events: tuple[Any, Any] = (None, None)

    def begin(self) -> None:
        """Wait for earlier work, so that it is not counted, and record the first event."""
        self._cuda.synchronize()
        self._events = self._cuda.make_event(), self._cuda.make_event()
        self._cuda.record(self._events[0])

    def end(self) -> float:
        """Record the second event, wait for it, and return the time between the two in ns."""
        first, last = self._events
        self._cuda.record(last)
        last.synchronize()
        return float(self._cuda.elapsed_ms(first, last)) * 1e6


class TorchCuda:
    """torch.cuda as a DeviceClock uses it."""

    def __init__(self, device: str) -> None:
        self._torch: Any = sys.modules["torch"]
        self._device = device

    def synchronize(self) -> None:
        self._torch.cuda.synchronize(self._device)

    def make_event(self) -> Any:
        return self._torch.cuda.Event(enable_timing=True)

    def record(self, event: Any) -> None:
        """In the stream of the device of the arrays, which need not be the current device."""
        event.record(self._torch.cuda.current_stream(self._device))

    def elapsed_ms(self, first: Any, last: Any) -> float:
        return float(first.elapsed_time(last))


class CupyCuda:
    """cupy.cuda as a DeviceClock uses it."""

    def __init__(self, device: str) -> None:
        self._cuda: Any = sys.modules["cupy"].cuda
        number = device.partition(":")[2]
        self._device: Any = self._cuda.Device(int(number)) if number else self._cuda.Device()

    def synchronize(self) -> None:
        self._device.synchronize()

    def make_event(self) -> Any:
        with self._device:
            return self._cuda.Event()

    def record(self, event: Any) -> None:
        with self._device:
            event.record(self._cuda.get_current_stream())

    def elapsed_ms(self, first: Any, last: Any) -> float:
        return float(self._cuda.get_elapsed_time(first, last))


def clock_for(library: str | None, device: str) -> DeviceClock | None:
    """Return the clock of a CUDA device, None for the host and for what has no events."""
    if not device.startswith("cuda"):
        return None
    torch: Any = sys.modules.get("torch")
    by_torch = library == "torch" or (library != "cupy" and torch is not None and torch.cuda.is_available())
    return DeviceClock(TorchCuda(device) if by_torch else CupyCuda(device))
