# SPDX-License-Identifier: Apache-2.0
"""Profiles blocks and functions of torch programs: torch.profiler records, regimeter imports, analyses and advises.

profiler = UnifiedProfiler(output_dir="./profiles")
with profiler.profile("step") as session:
    loss = model(batch).sum()
    loss.backward()
print(session.total_time_ms, session.bottlenecks)
"""

import contextlib
import datetime
import math
import os
import re
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..capture.device_memory import TorchMemoryProbe
from ..capture.device_memory import reason as memory_reason
from ..public.run import load
from ..regime.stopwatch import Measurement, clock_for, measure
from ..system.files import write_json
from ..system.processors import cpu_model
from ..system.torch_extra import torch_for, wait_for_devices
from .allocator_history import begin_history, dumped, end_history
from .budget import DiskBudget
from .comparison import compare_sessions
from .flame import FlameGraphGenerator
from .inflation import derived, measured
from .kernel import KernelInfo
from .recording import GUEST, Recording
from .schedule import Schedule
from .session import MB, NO_TRACE, ProfileSession

OUTPUT = "./profiles"
TRACED, TRACED_SHARE = 3, 4  # of the iterations of a function: at most so many, at most one of so many


class UnifiedProfiler:
    """Makes sessions: times, kernels, memory, flame graph, timeline, what stands out and what to try.

    output_dir: where traces and pages go, made when first needed; "./profiles" unless given. enable_trace: keep the
    traces as files. enable_memory: record allocations. enable_flame_graph: make and keep the flame graph.
    warmup_iterations, profile_iterations: calls of `profile_function`, unless it is told otherwise. record_shapes,
    with_stack, with_flops, with_modules: what torch.profiler records; each makes recorded code slower, and sessions
    say by how much. disk_budget_mb: what this profiler's files may take in all; traces beyond it are analysed and not
    kept. UnavailableError without torch, ValueError for numbers out of bounds.
    """

    def __init__(
        self,
        output_dir: str | os.PathLike[str] | None = None,
        enable_trace: bool = True,
        enable_memory: bool = True,
        enable_flame_graph: bool = True,
        warmup_iterations: int = 3,
        profile_iterations: int = 10,
        record_shapes: bool = True,
        with_stack: bool = True,
        with_flops: bool = True,
        with_modules: bool = True,
        *,
        disk_budget_mb: float | None = None,
    ) -> None:
        self._torch = torch_for("profiling")
        self.output_dir = Path(OUTPUT if output_dir is None else output_dir)
        self.enable_trace = enable_trace
        self.enable_memory = enable_memory
        self.enable_flame_graph = enable_flame_graph
        self.warmup_iterations = _at_least("warmup_iterations", warmup_iterations, 0)
        self.profile_iterations = _at_least("profile_iterations", profile_iterations, 1)
        self.budget = DiskBudget(disk_budget_mb)
        self.sessions: list[ProfileSession] = []
        self._options = {
            "record_shapes": record_shapes,
            "with_stack": with_stack,
            "with_flops": with_flops,
            "with_modules": with_modules,
            "profile_memory": enable_memory,
        }
        self._open: list[tuple[ProfileSession, Recording]] = []
        self._inner: list[ProfileSession] = []  # that wait for the trace of the outermost block

    # --- blocks -----------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def profile(
        self, name: str = "profile", *, schedule: Schedule | Mapping[str, int] | None = None
    ) -> Iterator[ProfileSession]:
        """Record the block; its session is filled in when it ends, also when it raises, which passes on.

        schedule: {wait, warmup, active, repeat}: which of the steps are recorded; the block calls :meth:`step` at the
        end of each. The session describes the last cycle, `trace_paths` has all. A block within a recorded block of
        this profiler is cut out of its trace; where another torch.profiler records, see ``ProfileSession.complete``.
        """
        chosen = Schedule(**schedule) if isinstance(schedule, Mapping) else schedule
        session = self._begin(name)
        recording = Recording(self._torch, session.mark, self._options, chosen, lambda path: self._take(session, path))
        probe, token = TorchMemoryProbe(), None
        device = self._device()
        if device is not None:
            token = probe.begin(device)
        snapshot = self._history()
        try:
            wait_for_devices(self._torch)
            recording.begin()
        except BaseException:  # nothing was recorded, and nothing is left behind
            if token:
                probe.end(token)
            if snapshot:
                end_history(self._torch)
            raise
        self._open.append((session, recording))
        own_before, own_cpu_before = recording.own_ns, recording.own_cpu_ns
        cpu_began, began = time.process_time_ns(), time.perf_counter_ns()
        try:
            yield session
        except BaseException as error:
            session.failed = not isinstance(error, SystemExit)
            raise
        finally:
            wait_for_devices(self._torch)
            total = time.perf_counter_ns() - began - (recording.own_ns - own_before)
            cpu = time.process_time_ns() - cpu_began - (recording.own_cpu_ns - own_cpu_before)
            session.total_time_ms, session.cpu_time_ms = total / 1e6, cpu / 1e6
            self._open.remove((session, recording))
            session.steps = recording.steps
            self._guarded(session, lambda: self._end(session, recording, probe.end(token) if token else None, snapshot))
            self.sessions.append(session)

    def step(self) -> None:
        """Say that a step of the innermost open block has ended. RuntimeError outside of a block."""
        if not self._open:
            raise RuntimeError("step() belongs into a block: with profiler.profile(name, schedule=...)")
        self._open[-1][1].step()

    def _begin(self, name: str) -> ProfileSession:
        session = ProfileSession(name)
        session.mark = f"regimeter: {name} #{time.monotonic_ns()}"
        session.timestamp = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        session.device_name = self._device_name()
        session.unavailable = dict.fromkeys(("trace", "kernels", "cuda_time_ms"), NO_TRACE)
        return session

    def _end(self, session: ProfileSession, recording: Recording, memory: Any, snapshot: bool) -> None:
        if snapshot:
            self._snapshot(session)
        self._read_device_memory(session, memory)
        try:
            recording.end()
        finally:
            session.timing = "wall time of the block, recorded by torch.profiler"
            if recording.guest:
                session.timing = "wall time of the block, which another profiler of torch recorded"
                session.unavailable |= dict.fromkeys(("trace", "kernels", "cuda_time_ms"), GUEST)
                session.unavailable["inflation"] = "another profiler of torch was recording, with options of its own"
                if self._open and not self._open[0][1].guest:
                    self._inner.append(session)
            elif session.run is not None:
                session.inflation = self._inflation(session)

    def _inflation(self, session: ProfileSession) -> dict[str, Any]:
        """Return what the profiler added: by steps without it where there are any, else by what an event costs."""
        times = {
            phase: [step["time_ms"] for step in session.steps if step["phase"] == phase] for phase in ("wait", "active")
        }
        if times["wait"] and times["active"]:
            middle = {phase: statistics.median(found) for phase, found in times.items()}
            return measured(middle["wait"], middle["active"], "median of the steps without and with the profiler")
        return derived(self._torch, session.run, session.total_time_ms, self._options)  # type: ignore[arg-type]

    # --- functions --------------------------------------------------------------------------------------------------

    def profile_function(
        self,
        fn: Callable[..., Any],
        *args: Any,
        name: str = "function",
        warmup: int | None = None,
        iterations: int | None = None,
        **kwargs: Any,
    ) -> ProfileSession:
        """Call the function exactly `warmup` + `iterations` times and return the session; what it raises is raised.

        The first of the iterations are timed without the profiler; at most 3, at most a quarter but at least one, run
        under it then. total_time_ms and cpu_time_ms are of the median timed call. With one iteration there is no timed
        call: times are the profiled ones, and `inflation` says what the profiler added.
        """
        warmup = self.warmup_iterations if warmup is None else _at_least("warmup", warmup, 0)
        iterations = self.profile_iterations if iterations is None else _at_least("iterations", iterations, 1)
        traced = max(1, min(TRACED, iterations // TRACED_SHARE))
        timed = iterations - traced
        for _ in range(warmup):
            fn(*args, **kwargs)
        wait_for_devices(self._torch)
        found, memory = self._time(lambda: fn(*args, **kwargs), timed)
        spent: list[float] = []
        with self.profile(name) as session:
            for _ in range(traced):
                began = time.perf_counter_ns()
                session.result = fn(*args, **kwargs)
                wait_for_devices(self._torch)
                spent.append((time.perf_counter_ns() - began) / 1e6)
        session.calls = {"warmup": warmup, "timed": timed, "traced": traced}
        session.total_time_ms = statistics.median(spent)
        session.cpu_time_ms /= traced
        session.cuda_time_ms /= traced
        session.timing = f"median of {traced} calls under the profiler" if traced > 1 else "one call under the profiler"
        if found is not None:
            self._read_device_memory(session, memory)
            _use_timed(session, found, statistics.median(spent))
        elif session.inflation.get("method") == "derived" and session.total_time_ms > 0:
            session.inflation["added_ms"] /= traced
            session.inflation["share"] = session.inflation["added_ms"] / session.total_time_ms
        return session

    def _time(self, call: Callable[[], Any], timed: int) -> tuple[Measurement | None, Any]:
        """Return what calls without the profiler took, and the device's memory over them."""
        if not timed:
            return None, None
        device = self._device()
        probe = TorchMemoryProbe()
        token = None if device is None else probe.begin(device)
        try:
            clock = None if device is None else clock_for("torch", f"cuda:{device}")
            return measure(call, timed, clock)[1], (probe.end(token) if token else None)
        except BaseException:
            if token:
                probe.end(token)
            raise

    # --- what was recorded ------------------------------------------------------------------------------------------

    def _take(self, session: ProfileSession, path: Path) -> None:
        """Read a trace, and keep it where that is wanted and fits."""
        run = load(path)
        session.read(run, flame_graph=self.enable_flame_graph, memory=self.enable_memory)
        for inner in self._inner:
            self._guarded(inner, lambda inner=inner: inner.complete(path))  # type: ignore[misc]
        self._inner.clear()
        if not self.enable_trace:
            session.unavailable["trace_path"] = "enable_trace is off"
        elif self.budget.keep(path, target := self._path(session, "trace", ".json")):
            session.trace_path = target
            session.trace_paths.append(target)
        else:
            session.unavailable["trace_path"] = "the disk budget is used up: the trace was analysed and not kept"
        if self.enable_flame_graph:
            self._keep_flame_graph(session)

    def _keep_flame_graph(self, session: ProfileSession) -> None:
        with tempfile.TemporaryDirectory(prefix="regimeter-") as folder:
            FlameGraphGenerator().export(session.flame_graph_data, page := Path(folder) / "flame.html")
            if self.budget.keep(page, target := self._path(session, "flame", ".html")):
                session.flame_graph_path = target
            else:
                session.unavailable["flame_graph_path"] = "the disk budget is used up: the page was not kept"

    def _path(self, session: ProfileSession, what: str, suffix: str) -> Path:
        plain = re.sub(r"[^\w.-]+", "_", session.name)[:80] or "profile"
        number = session.mark.rpartition("#")[2]
        cycle = f"-{len(session.trace_paths)}" if session.trace_paths and what == "trace" else ""
        return self.output_dir / f"{plain}-{number}{cycle}-{what}{suffix}"

    def _guarded(self, session: ProfileSession, work: Callable[[], Any]) -> None:
        """Do what may fail without harm to the program: the session and a warning say what went wrong."""
        try:
            work()
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            session.unavailable["trace"] = why
            warnings.warn(f"regimeter: {session.name}: {why}", RuntimeWarning, stacklevel=4)

    # --- the device -------------------------------------------------------------------------------------------------

    def _device(self) -> int | None:
        """Return the current CUDA device where the program uses one."""
        return None if memory_reason() is not None else int(self._torch.cuda.current_device())

    def _device_name(self) -> str:
        device = self._device()
        return cpu_model() if device is None else str(self._torch.cuda.get_device_name(device))

    def _read_device_memory(self, session: ProfileSession, found: Any) -> None:
        if found is not None:
            _, _, allocated, peak, reserved = found
            session.peak_memory_mb, session.allocated_memory_mb = peak * MB, allocated * MB
            session.reserved_memory_mb = reserved * MB
            return
        why = memory_reason() or "the device came into use within the block"
        session.unavailable.setdefault("reserved_memory_mb", why)
        if not self.enable_memory and math.isnan(session.peak_memory_mb):
            off = f"{why}, and enable_memory is off"
            session.unavailable |= dict.fromkeys(("peak_memory_mb", "allocated_memory_mb"), off)

    def _history(self) -> bool:
        """Record the device's allocations with their stacks, unless the program does so itself; tell whether."""
        if not self.enable_memory or self._device() is None:
            return False
        return begin_history(self._torch, max_entries=100_000) is None

    def _snapshot(self, session: ProfileSession) -> None:
        """Keep the allocator's snapshot as pytorch.org/memory_viz reads it, and let the history be off again."""
        try:
            with dumped(self._torch) as path:
                target = self._path(session, "memory", ".pickle")
                if self.budget.keep(path, target):
                    session.memory_snapshot_path = target
                else:
                    session.unavailable["memory_snapshot_path"] = "the disk budget is used up"
        finally:
            end_history(self._torch)

    # --- sessions ---------------------------------------------------------------------------------------------------

    def compare_sessions(self, baseline: ProfileSession, optimized: ProfileSession) -> dict[str, Any]:
        """Return how much faster and smaller the second session is: see ``regimeter.suite.comparison``."""
        return compare_sessions(baseline, optimized)

    def export_summary(self, session: ProfileSession, path: str | os.PathLike[str]) -> Path:
        """Write the session as JSON, or, where the name ends in .html, its trace as a page; atomically.

        UnavailableError where there is no trace for a page.
        """
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.suffix == ".html":
            session.page(target)
        else:
            write_json(target, session.to_dict(), indent=1)
        return target


def _use_timed(session: ProfileSession, found: Measurement, profiled_ms: float) -> None:
    """Take times from the calls without the profiler."""
    session.total_time_ms = found.wall_ns / 1e6
    session.cpu_time_ms = found.process_cpu_ns / 1e6
    session.times_ms = [time_ns / 1e6 for time_ns in found.times_ns]
    session.timing = f"median of {found.calls} calls without the profiler"
    session.inflation = measured(session.total_time_ms, profiled_ms, "median call without and with the profiler")


def _at_least(name: str, value: int, least: int) -> int:
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")
    return value


__all__ = ["KernelInfo", "ProfileSession", "UnifiedProfiler"]
