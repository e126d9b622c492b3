# SPDX-License-Identifier: Apache-2.0
"""GPUProfiler: scopes as context managers and decorators, and what was recorded in them."""

import contextlib
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from . import _core
from .capture import backend, counting, decorated, device_memory, kernels, lifetime, rates, recording, stated, streams
from .capture.asked import Asked
from .capture.devices import Devices
from .capture.structure import attachment
from .capture.takeover import Signature, profiler_for
from .public.results import Results
from .regime.methods import OperationMethods
from .run import cost
from .system import description, gpus
from .system.cgroup import throttling_folders

if TYPE_CHECKING:
    from .public.run import Run

P = ParamSpec("P")
R = TypeVar("R")

RECORD_VARIABLE = recording.FILE


class GPUProfiler(Results, OperationMethods, _core.Profiler):
    """Records blocks of code with their time, memory and nesting.

    ::

        profiler = GPUProfiler()
        with profiler.profile("forward", device="gpu", batch=32):
            loss = model(batch)

        @profiler.profile_function(operation="step")
        def step(): ...

    enabled: record from the start. device_id: ordinal of the device whose memory is read; ValueError for a negative
    one, a warning for one that is not there.
    enable_detailed_metrics: look at which library a block uses and sample the host's memory every 10 ms.
    path: journal to this file, which survives SIGKILL up to the last 100 ms (``regimeter recover``); None keeps
    the records in memory. A file that cannot be written costs one warning, and recording goes on in memory;
    BusyError when another session is writing it; ValueError when it is not a regimeter recording.
    sample_rate: part of the scopes without a parent to record, with all that is nested in them, 0 to 1.
    seed: start of the pseudo-random choice; the same seed makes the same choice.
    track_memory: measure memory at begin and end of every scope (a few microseconds each): the resident set,
    and torch's allocator with the true peak inside each scope where torch uses CUDA. This resets torch's own
    peak statistics; `device_memory_peak()` keeps the process's. memory_interval_ms: interval of the memory
    sampler, 0 for none; by default 1 ms with track_memory, 10 ms with detailed metrics, else none.
    device_timing: time blocks that are not declared as device='cpu' on the device too, by a pair of events in the
    stream that they work in (docs/gpu/events.md). Nothing of CUDA or HIP is loaded or initialised for it; until the
    program does so, and where it never does, it costs a look at a clock.
    profile_kernels: record every kernel, copy and wait of the device with CUPTI, each under the scope that launched
    it (docs/gpu/kernels_tracing.md); a mapping sets options: ``{"graph_nodes": 1}`` tells the nodes of CUDA graphs
    apart, ``{"memory": 1}`` records memory that CUDA gives out, ``{"queue_times": 1}`` how launches wait. This starts
    the CUDA driver; ``"auto"`` waits until the program has done so, for which it costs a look a hundred times a second,
    and makes room for torch.profiler. Where it is not possible there is one warning (none with "auto"), and the reason
    is in ``kernels_reason`` and in the environment of the run. One profiler of a process can do it at a time.
    telemetry: sample utilisation, memory, power, clocks and more of the devices through NVML, every 100 ms or the
    given milliseconds (docs/gpu/telemetry.md). counters: sample hardware counters of the device, True for the set
    'pm'; the name of a set for ranges, or a mapping ``{"set": "fp", "scopes": ["attention"], "max_ranges": 1000}``,
    counts in the outermost scopes (of these names) of the first thread that uses CUDA in one, and has the values when
    the profiler is closed (docs/gpu/counters.md). Both are rows of the table `counters`; what cannot be had is told
    with its reason in the environment of the run.
    stalls: sample which instructions the warps of kernels are at and why they do not go on (PC sampling), True for
    CUPTI's own period, 5 to 31 for a sample of each multiprocessor every 2^5 to 2^31 cycles; kernels run as without
    (docs/gpu/stalls.md). Rows of the table `stalls`; it takes the device's counters from every other tool, and CUPTI's
    callbacks. Kernels that would be traced from the program's first use of CUDA on are traced at once.
    witness: look every 50 ms, for some 15 microseconds after the end of an outermost block, how fast the machine is,
    and ask the kernel what else ran; so a reader, and a comparison, can tell a slow machine from a slow program
    (docs/witness.md).
    stacks: sample the call stacks of all Python threads that many times a second, 1 to 1000, True for 100, from the
    first block on: rows of the tables `samples` and `stacks` (docs/stacks.md). Where it is not possible there is one
    warning, and the reason is in the environment of the run.
    allocations: watch the blocks that the process asks its C library for, by who asked: of so many bytes (True: half a
    megabyte) one is drawn on average, and the block around it recorded until it is given back, as rows of `memory` that
    stand for all (docs/memory.md). Needs stacks, and a program that was started by ``regimeter record --memory``.
    structure: find the steps, waits for batches, modules, backward passes, optimizers, waits for the device,
    checkpoints, compilations and collections of garbage of a program that uses torch, without a change to it, until
    the profiler is closed (docs/structure.md). One profiler of a process does it at a time.
    budget: what recording may cost, in per cent of the time, as "0.5%": samples of stacks and of memory are taken more
    rarely where more is spent, and scopes whose memory is read; never fewer scopes (docs/own_cost.md).
    force_recalibration: measure the ceilings of `profile_operation` anew, whatever is kept of them. verbose: calibrate
    at once, not at the first call that needs it, and print the table.
    options: budgets and intervals of the session, see ``regimeter.GPUProfiler.options()``.

    Threads: one profiler serves all threads and asyncio tasks; scopes nest per thread and per task. After a fork
    the child starts empty, with its own file PATH.PID.
    """

    __signature__ = Signature()
    _place: recording.StandIn | None = None  # which this one has taken, to be given back

    def __new__(cls, *arguments: Any, **options: Any) -> "GPUProfiler":
        going_on = profiler_for(arguments, options) if cls is GPUProfiler else None
        return going_on or super().__new__(cls)

    def __init__(
        self,
        enabled: bool = True,
        device_id: int = 0,
        enable_detailed_metrics: bool = True,
        *,
        path: str | os.PathLike[str] | None = None,
        sample_rate: float = 1.0,
        seed: int = 0,
        track_memory: bool = False,
        memory_interval_ms: float | None = None,
        device_timing: bool = True,
        profile_kernels: kernels.Asked = False,
        telemetry: bool | float = False,
        counters: bool | str | Mapping[str, Any] = False,
        stalls: bool | int = False,
        witness: bool = True,
        stacks: bool | float = False,
        allocations: bool | int = False,
        structure: bool = False,
        budget: str | float | None = None,
        force_recalibration: bool = False,
        verbose: bool = False,
        **options: int,
    ) -> None:
        begun = perf_counter_ns()
        goes_on = self._place is not None
        rates.check_rate(sample_rate)  # nothing makes room for one that is refused
        self.device_id = gpus.ordinal_of(device_id)
        if path is None and not goes_on:
            self._place = recording.make_room()
        record_file = recording.next_file() if path is None and not goes_on else None
        asked = Asked(
            sample_rate=sample_rate, seed=seed, track_memory=track_memory, memory_interval_ms=memory_interval_ms,
            profile_kernels=profile_kernels, telemetry=telemetry, counters=counters, stalls=stalls, witness=witness,
            stacks=stacks, allocations=allocations, structure=structure, budget=budget, options=options,
        )  # fmt: skip
        if record_file or goes_on:
            asked.fill(recording.options())
        self.sample_rate = rates.check_rate(asked.sample_rate)
        self.force_recalibration = force_recalibration
        self.enable_detailed_metrics = enable_detailed_metrics
        self.track_memory = asked.track_memory
        self.device_timing = device_timing
        self._asked = asked
        self._stands_in = recording.standing_in
        self._memory_probe = device_memory.TorchMemoryProbe() if self.track_memory else None
        if goes_on:
            self._go_on()
        else:
            try:
                self._begin(begun, path, record_file)
            except BaseException:
                self._give_place_back()
                raise
        self._leave_out_roles(asked.structure and not structure)  # the program did not ask for these
        self.enabled = enabled
        lifetime.made.add(self)
        self._show_warning()
        if verbose:
            self._print_calibration()
        if record_file:
            recording.take_turns()

    def _begin(self, begun: int, path: str | os.PathLike[str] | None, record_file: str | None) -> None:
        self._lock = threading.Lock()
        self._cached: tuple[object, Run] | None = None
        # What is done in the program's threads outside scopes, in nanoseconds; the core measures what scopes do.
        self._spent = {"starting": 0, "collecting": 0}
        self._service_before_reset = 0
        self._open_session(path, record_file)
        self._devices = Devices(self, self._asked, self.device_id)
        self._structure = attachment.attach(self) if self._asked.structure else None
        self._announce(begun)

    def _open_session(self, path: str | os.PathLike[str] | None, record_file: str | None) -> None:
        """Begin the session: in the file of `regimeter record` where there is one, else in the path's or in memory."""
        counted = bool(record_file and counting.told())
        self._cost_ns = cost.scope_cost_ns()
        self._session = self._asked.session(self._cost_ns, detailed=self.enable_detailed_metrics, counted=counted)
        try:
            self._open(record_file or path, self._session)
        except (_core.BusyError, ValueError) as error:
            if not record_file:
                raise
            # The program did not ask for the file, so it must not fail for it.
            warnings.warn(f"{error}; recording continues in memory", RuntimeWarning, stacklevel=5)
            self._open(None, self._session)
        self._count_reason = counting.start(self) if record_file else None
        for folder in throttling_folders() if self._asked.witness else ():
            self._control_group(folder)
        if self._count_reason == "":  # what a look allocates moves what the program allocates next
            self.enable_detailed_metrics = False
        self._set_out()

    def _set_out(self) -> None:
        """Let scopes do what they are asked for."""
        detect = backend.detect if self.enable_detailed_metrics else None
        self._set_probes(detect, self._memory_probe, self.track_memory)
        # Where no GPU can turn up scopes do not even ask.
        self._device_timing(self.device_timing and gpus.possible(), streams.find, streams.handle)
        if self.sample_rate < 1.0:
            self._set_sampling(self.sample_rate)

    def _go_on(self) -> None:
        """Go on as a profiler of the program, with the session that stood in for it."""
        self._set_out()
        self.set_detailed_metrics(self.enable_detailed_metrics)
        if self._asked.structure and self._structure is None:
            self._structure = attachment.attach(self)
        with self._lock:  # another thread may be closing it
            self._send_environment()
        with self._collecting():  # who is killed from here on had a profiler, whatever of it is in the file
            self._flush()

    def _announce(self, begun: int) -> None:
        """Tell the recording what it is of, and the user what of it cannot be had."""
        self._spent["starting"] = perf_counter_ns() - begun
        described = self._send_environment()
        missing = described["device"]["device_id_reason"] if described["gpus"].get("devices") else ""
        if missing:
            warnings.warn(missing, RuntimeWarning, stacklevel=4)
        self._spent["starting"] = perf_counter_ns() - begun
        if self._session["stacks_interval_ns"] and self._stacks_reason():
            warnings.warn(f"stacks are not sampled: {self._stacks_reason()}", RuntimeWarning, stacklevel=4)
        elif self._session["allocations_bytes"] and _core.heap_reason():
            warnings.warn(f"allocations are not watched: {_core.heap_reason()}", RuntimeWarning, stacklevel=4)

    # --- recording -----------------------------------------------------------------------------------------

    # profile(operation, device="gpu", **metadata) is implemented in C.

    @overload
    def profile_function(self, operation: Callable[P, R], /) -> Callable[P, R]: ...
    @overload
    def profile_function(
        self, operation: str | None = None, device: str = "gpu"
    ) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
    def profile_function(self, operation: Any = None, device: str = "gpu") -> Any:
        """Decorate a function so that each call is a scope; with or without parentheses.

        operation: the name, by default the function's qualified name. Coroutines are timed over what is
        awaited, generators and asynchronous generators over each item they produce, not over what their
        consumer does in between; wrong arguments of these are noticed when they first run. TypeError for an
        operation that is not a str, ValueError for an unknown device.
        """
        if operation is not None and not isinstance(operation, str):
            if callable(operation) or isinstance(operation, classmethod | staticmethod):
                return self._decorate(operation, None, device)
            raise TypeError(f"operation must be a str, not {type(operation).__name__}")
        if not isinstance(device, str):
            raise TypeError(f"device must be a str, not {type(device).__name__}")
        if device not in _core.DEVICES:
            raise ValueError(f"unknown device {device!r}; valid are: {', '.join(_core.DEVICES)}")
        return lambda function: self._decorate(function, operation, device)

    def _decorate(self, function: Any, operation: str | None, device: str) -> Any:
        # A scope that is used as a decorator calls this too.
        return decorated.decorate(self, function, operation, device)

    def enable(self, operation: str | None = None) -> None:
        """Record from now on; with an operation, that one only (the profiler's own switch is left alone)."""
        if operation is None:
            self.enabled = True
        else:
            self._switch(operation, True)

    def disable(self, operation: str | None = None) -> None:
        """Stop recording; with an operation, stop recording that one."""
        if operation is None:
            self.enabled = False
        else:
            self._switch(operation, False)

    def set_sample_rate(self, rate: float, operation: str | None = None, device: str = "gpu") -> None:
        """Record a part of the scopes: of those without a parent, or of one operation wherever it stands."""
        rate = rates.check_rate(rate)
        if operation is None:
            self._set_sampling(rate)
            self.sample_rate = rate
        else:
            self._set_sampling(rate, operation, device)

    def set_detailed_metrics(self, enabled: bool) -> None:
        """Switch the looks at backends and, unless an interval was given, the memory sampler."""
        self.enable_detailed_metrics = enabled
        self._set_probes(backend.detect if enabled else None, self._memory_probe, self.track_memory)
        with self._lock:
            self._sampler(rates.memory_interval_ns(self._asked.memory_interval_ms, self.track_memory, enabled))

    @property
    def kernels_reason(self) -> str:
        """Why kernels are not traced, '' where they are, or were until the profiler was closed."""
        return self._devices.kernels.reason

    # --- results -------------------------------------------------------------------------------------------

    def run(self) -> "Run":
        """Return what has been recorded so far, as a Run. Blocks that are still open are not in it.

        Waits, for at most ``device_wait_ns`` (two seconds), until the device has finished the blocks that have ended.
        """
        from .public.run import Run  # 10 ms, for which no program waits that is only recorded

        with self._lock, self._collecting():
            self._device_drain()
            self._devices.collect(self)
            stats = self._stats()
            counts = (
                "records",
                "samples",
                "intervals",
                "activities",
                "values",
                "host_samples",
                "collectives",
                "stalls",
                "sampled_out",
                "dropped",
                "lost",
                "stopped",
            )
            key = (self._session_id, *(stats[name] for name in counts))
            if self._cached is None or self._cached[0] != key:
                if not stats["stopped"]:
                    self._send_environment(stats)
                self._cached = (key, self._snapshot(Run))
            run = self._cached[1]
        self._show_warning()
        return run

    def reset(self) -> None:
        """Forget everything recorded so far."""
        with self._lock:
            self._cached = None
            self._reset()
            self._spent["collecting"] = 0
            self._service_before_reset = self._service_cpu_ns(self._stats())

    def stats(self) -> dict[str, Any]:
        """Return counters of the session: records, dropped, blocks, memory in use and more."""
        return self._stats()

    def device_memory_peak(self) -> int | None:
        """Return the largest device memory of the process in bytes, None where it is not measured."""
        return self._memory_probe.process_peak(self.device_id) if self._memory_probe else None

    @staticmethod
    def options() -> dict[str, dict[str, Any]]:
        """Return the options of a session with default, unit and meaning."""
        return _core.options()

    # --- life ----------------------------------------------------------------------------------------------

    def flush(self) -> bool:
        """Write what is recorded to the file now; False when that failed (the data stay in memory)."""
        with self._collecting():
            written = self._flush()
        self._show_warning()
        return written

    def close(self) -> None:
        """End the session: blocks still open are recorded as such, the file gets its closing block."""
        with self._lock:
            if not self._session_id:
                return
            attachment.detach(self._structure)
            with self._collecting():
                self._devices.stop(self)
                self._flush()
            self._send_environment()
            self._stop()
        self._show_warning()
        self._give_place_back()

    def _give_place_back(self) -> None:
        place, self._place = self._place, None
        if place is not None:
            place.come_back()

    def __enter__(self) -> "GPUProfiler":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _send_environment(self, stats: dict[str, Any] | None = None) -> dict[str, Any]:
        """Tell the recording what it is of; with the lock, as soon as other threads may have the profiler."""
        described = stated.describe(self, stats or self._stats())
        self._environment(description.encode(described))
        return described

    def _service_cpu_ns(self, stats: Mapping[str, Any]) -> int:
        """Return the processor time of all threads that work for this profiler, by their own clocks."""
        used = stats["service_cpu_ns"] + (self._device_state() or {}).get("service_cpu_ns", 0)
        return int(used) + self._devices.service_cpu_ns(self)

    @contextlib.contextmanager
    def _collecting(self) -> Iterator[None]:
        """Count the time of the block as the profiler's own."""
        begun = perf_counter_ns()
        try:
            yield
        finally:
            self._spent["collecting"] += perf_counter_ns() - begun

    def _show_warning(self) -> None:
        text = self._take_warning()
        if text:
            warnings.warn(text, RuntimeWarning, stacklevel=3)


# --- the profiler of the process ----------------------------------------------------------------------------

_global: GPUProfiler | None = None
_global_lock = threading.Lock()


def get_profiler(
    enabled: bool | None = None,
    device_id: int | None = None,
    enable_detailed_metrics: bool | None = None,
    *,
    sample_rate: float | None = None,
) -> GPUProfiler:
    """Return the profiler of the process, made on first use; the arguments given are applied every time.

    So ``get_profiler(enabled=random.random() < 0.01)`` switches recording per request, and
    ``get_profiler(sample_rate=0.01)`` leaves the choice to the profiler. Under ``regimeter record`` it writes to
    the recording's file, as every profiler without a path does (:mod:`regimeter.capture.recording`).
    """
    global _global
    with _global_lock:
        if _global is None:
            _global = GPUProfiler(
                True if enabled is None else enabled,
                0 if device_id is None else device_id,
                True if enable_detailed_metrics is None else enable_detailed_metrics,
                sample_rate=1.0 if sample_rate is None else sample_rate,
            )
            return _global
        profiler = _global
    if device_id is not None:
        profiler.device_id = gpus.ordinal_of(device_id)
    if enable_detailed_metrics is not None and enable_detailed_metrics != profiler.enable_detailed_metrics:
        profiler.set_detailed_metrics(enable_detailed_metrics)
    if sample_rate is not None:
        profiler.set_sample_rate(sample_rate)
    if enabled is not None:
        profiler.enabled = enabled
    return profiler


@contextlib.contextmanager
def as_process_profiler(profiler: GPUProfiler) -> Iterator[GPUProfiler]:
    """Within the block `get_profiler` returns this profiler; the one before comes back after it."""
    global _global
    with _global_lock:
        before, _global = _global, profiler
    try:
        yield profiler
    finally:
        with _global_lock:
            _global = before


def profile(operation: str, device: str = "gpu", **metadata: object) -> Any:
    """Scope of the process's profiler: ``with regimeter.profile("forward"): ...``."""
    return get_profiler().profile(operation, device, **metadata)


def _renew_lock() -> None:
    """In a forked child: a lock that another thread held would never be released."""
    global _global_lock
    _global_lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)
