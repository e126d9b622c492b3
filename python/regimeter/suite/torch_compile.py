# SPDX-License-Identifier: Apache-2.0
"""What torch.compile makes of a function or module: where the graph breaks, what is fused, what it costs and brings.

analyzer = TorchCompileAnalyzer(backend="inductor", mode="default")
report = analyzer.analyze(model, sample_input, warmup=3, iterations=10)
print(report.speedup, report.total_graph_breaks, report.fusion_ratio)
"""

import contextlib
import copy
import inspect
import logging
import math
import os
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from ..compare.ab.duet import Duet, blocks
from ..regime.torch_work import must_not_count
from ..system.torch_extra import torch_for, wait_for_devices
from .compile_advice import recommendations
from .compile_launches import Launches, of_eager, of_generated
from .compile_report import CompileBreak, CompileReport, FusedKernel
from .compile_trace import read_trace
from .compile_watch import Dynamo, Watch
from .memory import MemoryProfiler
from .numeric import difference
from .recording import is_recording

OUTPUT = "./compile_analysis"
MODES = ("default", "reduce-overhead", "max-autotune")
LOGGERS = ("torch._dynamo", "torch._inductor", "torch._functorch")
LEAST_PAIRS = 5  # that an interval needs
SEED = 0


class TorchCompileAnalyzer:
    """Compiles a callable, watches how, and compares it with the callable as it is.

    backend, mode: as of torch.compile; a mode is inductor's. output_dir: where a report of the end of memory goes;
    "./compile_analysis" unless given. capture_logs: keep what torch's compilers log as warnings. cold: compile
    with a cache folder of its own, so that the compile time is that of the first time; False uses the caches that
    are there, and a graph that comes out of them tells nothing about its fusion. ValueError for an unknown backend or
    mode, UnavailableError without torch.
    """

    def __init__(
        self,
        backend: str = "inductor",
        mode: str = "default",
        output_dir: str | os.PathLike[str] | None = None,
        capture_logs: bool = True,
        *,
        cold: bool = True,
    ) -> None:
        self._torch = torch_for("analysing torch.compile")
        self.backend = backend
        self.mode = mode
        self.output_dir = Path(OUTPUT if output_dir is None else output_dir)
        self.capture_logs = capture_logs
        self.cold = cold
        Watch(self._torch, backend, mode)  # refuses what torch does not know

    @staticmethod
    def from_trace(path: str | os.PathLike[str]) -> CompileReport:
        """Return what the logs of a program say that compiled; needs no torch.

        path: a folder that TORCH_TRACE names, with a file a process; one of its files; or a text that TORCH_LOGS had
        written. Of what they do not tell, and of speed, `unavailable` says why. Damaged records are counted by process.
        FormatError for a file or folder without any line of torch's, OSError for one that cannot be read.
        """
        return read_trace(path)

    def analyze(
        self,
        model_or_fn: Callable[..., Any],
        sample_inputs: Any = (),
        warmup: int = 3,
        iterations: int = 10,
        *,
        kwargs: Mapping[str, Any] | None = None,
        probe_inputs: Sequence[Any] = (),
    ) -> CompileReport:
        """Return the report of a function, a module or a training step. What it raises as it is, is raised.

        sample_inputs: one argument, a tuple or list of them, or a dictionary: of keywords where the callable takes
        them, else as one argument. kwargs: further keywords. probe_inputs: further inputs of the same forms, each of
        which is tried once to see what is compiled again. The callable runs `warmup` times in each form, then in
        `iterations` pairs, and some ten times more: compiled cold and warm, compared, its memory and launches tracked.
        Random numbers are the same in both forms, and afterwards those that they were; parameters and buffers of a
        module are put back. ValueError for numbers out of bounds.
        """
        if warmup < 0 or iterations < 1:
            raise ValueError(f"warmup must be at least 0 and iterations at least 1, got {warmup} and {iterations}")
        given = _bound(model_or_fn, sample_inputs, kwargs)
        report = CompileReport(self.backend, self.mode, subject=_name_of(model_or_fn))
        torch = self._torch
        with torch.random.fork_rng(), _state_kept(torch, model_or_fn), self._logs(report), Dynamo() as dynamo:
            report.result = self._call(model_or_fn, given)
            expected = report.result
            self._count_eager(model_or_fn, given, report)
            with self._caches():
                compiled = self._compile(model_or_fn, given, report, dynamo)
                if compiled is not None:
                    self._compare(model_or_fn, compiled[1], given, expected, report, warmup, iterations)
                    for probe in probe_inputs:
                        self._call(compiled[1], _bound(model_or_fn, probe, kwargs))
                    report.recompiles = compiled[0].recompiles()
                else:
                    report.eager_time_ms = statistics.median(
                        self._times([model_or_fn], given, warmup, max(1, iterations))[0]
                    )
            known = {(one.location, one.line_number, one.reason) for one in report.graph_breaks}
            report.graph_breaks += [
                one for one in dynamo.breaks() if (one.location, one.line_number, one.reason) not in known
            ]
        report.total_graph_breaks = len(report.graph_breaks)
        report.recommendations = recommendations(report)
        return report

    def compare_modes(
        self,
        model_or_fn: Callable[..., Any],
        sample_inputs: Any = (),
        modes: Sequence[str] = MODES,
        *,
        warmup: int = 3,
        iterations: int = 10,
        kwargs: Mapping[str, Any] | None = None,
    ) -> dict[str, CompileReport]:
        """Return the report of each mode, each compiled anew. ValueError for an unknown mode, before any is tried."""
        analyzers = {
            mode: TorchCompileAnalyzer(self.backend, mode, self.output_dir, self.capture_logs, cold=self.cold)
            for mode in modes
        }
        return {
            mode: one.analyze(model_or_fn, sample_inputs, warmup, iterations, kwargs=kwargs)
            for mode, one in analyzers.items()
        }

    def export_report(self, report: CompileReport, path: str | os.PathLike[str], format: str | None = None) -> Path:
        """Write the report as "json" or "html", as `CompileReport.export`; return the path.

        A relative path is one of the current folder, as everywhere; folders that are missing are made.
        """
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        report.export(target, format)
        return target

    # --- the parts --------------------------------------------------------------------------------------------------

    def _compile(
        self, fn: Callable[..., Any], given: "_Given", report: CompileReport, dynamo: Dynamo
    ) -> tuple[Watch, Callable[..., Any]] | None:
        """Compile cold, then warm; return the second with its watch, None where compiling failed."""
        torch = self._torch
        first, report.result = self._compiled_once(fn, given, report)
        if report.error:
            return None
        watch, compiled, cold_ms = first
        report.graph_breaks = dynamo.breaks()
        report.compile_time_ms = cold_ms
        report.phases_ms = watch.phases_ms()
        report.graphs, report.captured_ops = watch.seen.graphs, watch.seen.operators
        self._read_fusion(watch, report)
        dynamo.drop()
        second, report.result = self._compiled_once(fn, given, report)
        if report.error:
            return None
        watch, compiled, report.compile_time_warm_ms = second
        wait_for_devices(torch)
        return watch, compiled

    def _compiled_once(
        self, fn: Callable[..., Any], given: "_Given", report: CompileReport
    ) -> tuple[tuple[Watch, Callable[..., Any], float], Any]:
        watch = Watch(self._torch, self.backend, self.mode)
        compiled = watch.compile(fn)
        lengths: list[float] = []
        result = report.result
        for _ in range(2):
            began = time.perf_counter_ns()
            try:
                result = self._call(compiled, given)
            except Exception as error:
                report.error = watch.seen.errors[-1] if watch.seen.errors else f"{type(error).__name__}: {error}"
                why = "compiling failed"
                names = ("speedup", "compile_time_ms", "compile_time_warm_ms", "compiled_time_ms", "fusion_ratio",
                         "compiled_launches", "compiled_bytes")  # fmt: skip
                report.unavailable |= dict.fromkeys(names, why)
                return (watch, compiled, math.nan), report.result
            lengths.append((time.perf_counter_ns() - began) / 1e6)
        if watch.seen.errors:  # dynamo was told to go on without
            report.error = watch.seen.errors[0]
        return (watch, compiled, max(0.0, lengths[0] - lengths[1])), result

    def _read_fusion(self, watch: Watch, report: CompileReport) -> None:
        if self.backend != "inductor":
            report.unavailable["fusion_ratio"] = f"backend {self.backend} does not tell what it fuses"
            return
        report.fused_kernels, extern = watch.kernels()
        after = sum(kernel.call_count for kernel in report.fused_kernels) + extern
        if not watch.seen.nodes or not after:
            report.unavailable["fusion_ratio"] = "no graph was scheduled: nothing to compile, or all of it was cached"
            return
        report.ops_before_fusion, report.ops_after_fusion, report.extern_calls = watch.seen.nodes, after, extern
        report.fusion_ratio = watch.seen.nodes / after

    def _compare(
        self,
        fn: Callable[..., Any],
        compiled: Callable[..., Any],
        given: "_Given",
        expected: Any,
        report: CompileReport,
        warmup: int,
        iterations: int,
    ) -> None:
        found = difference(self._torch, expected, report.result)
        report.max_abs_difference, report.max_rel_difference, report.mismatch = found
        eager, quick = self._times([fn, compiled], given, warmup, iterations)
        report.eager_time_ms, report.compiled_time_ms = statistics.median(eager), statistics.median(quick)
        report.speedup = report.eager_time_ms / report.compiled_time_ms if report.compiled_time_ms > 0 else math.nan
        _judge(report, eager, quick)
        saved = report.eager_time_ms - report.compiled_time_ms
        if saved > 0:
            report.break_even_calls = report.compile_time_ms / saved
        else:
            report.unavailable["break_even_calls"] = "compiled calls are not faster"
        self._memory(fn, compiled, given, report)
        self._count_compiled(compiled, given, report)

    def _count_eager(self, fn: Callable[..., Any], given: "_Given", report: CompileReport) -> None:
        why = must_not_count(fn)
        try:
            if why is None:
                found = self._counted(of_eager, fn, given)
                report.eager_launches, report.eager_bytes = found.count, found.bytes
        except Exception as error:
            why = f"its operators cannot be counted: {type(error).__name__}: {error}"
        if why is not None:
            report.unavailable |= dict.fromkeys(("eager_launches", "eager_bytes"), why)

    def _count_compiled(self, compiled: Callable[..., Any], given: "_Given", report: CompileReport) -> None:
        why = "" if self.backend == "inductor" else f"backend {self.backend} does not tell what it launches"
        if not why:
            found = self._counted(of_generated, compiled, given)
            report.compiled_launches, report.compiled_bytes = found.count, found.bytes
            if not found.count and report.fused_kernels:  # a recorded graph of the device is replayed
                report.compiled_launches = report.compiled_bytes = None
                why = "the generated code did not run by itself: its launches are replayed"
        if why:
            report.unavailable |= dict.fromkeys(("compiled_launches", "compiled_bytes"), why)

    def _memory(
        self, fn: Callable[..., Any], compiled: Callable[..., Any], given: "_Given", report: CompileReport
    ) -> None:
        if is_recording(self._torch):
            why = "another profiler of torch was recording"
            report.unavailable |= dict.fromkeys(("peak_memory_mb", "memory_savings_mb"), why)
            return
        eager, quick = self._peak(fn, given), self._peak(compiled, given)
        if eager is not None and quick is not None:
            report.peak_memory_mb, report.memory_savings_mb = quick, eager - quick

    def _peak(self, fn: Callable[..., Any], given: "_Given") -> float | None:
        """Return the peak of a call in MB above its start; copying its inputs is not in it."""
        self._torch.manual_seed(SEED)
        copied = given.copied(self._torch)
        tracked = MemoryProfiler(0, True, False, output_dir=self.output_dir)
        with tracked.track():
            copied.call(fn)
        found: float | None = tracked.get_peak_analysis()["peak_above_start_mb"]
        return found

    def _counted(
        self, tally: Callable[[Callable[[], Any]], Launches], fn: Callable[..., Any], given: "_Given"
    ) -> Launches:
        """Return what a call launches; copying its inputs is not in it."""
        self._torch.manual_seed(SEED)
        copied = given.copied(self._torch)
        return tally(lambda: copied.call(fn))

    def _times(
        self, calls: list[Callable[..., Any]], given: "_Given", warmup: int, iterations: int
    ) -> list[list[float]]:
        """Return the times in ms of calls in turn, in random order."""
        for call in calls:
            for _ in range(warmup):
                given.call(call)
        wait_for_devices(self._torch)
        order = random.Random(SEED)  # not the program's numbers
        found: list[list[float]] = [[] for _ in calls]
        for _ in range(iterations):
            for side in order.sample(range(len(calls)), len(calls)):
                began = time.perf_counter_ns()
                given.call(calls[side])
                wait_for_devices(self._torch)
                found[side].append((time.perf_counter_ns() - began) / 1e6)
        return found

    def _call(self, fn: Callable[..., Any], given: "_Given") -> Any:
        """Call with copies of the inputs, and with the same random numbers each time."""
        self._torch.manual_seed(SEED)
        found = given.copied(self._torch).call(fn)
        wait_for_devices(self._torch)
        return found

    @contextlib.contextmanager
    def _caches(self) -> Iterator[None]:
        """Give inductor a cache folder of its own, where it is to compile cold."""
        utils = import_module("torch._inductor.utils") if self.cold and self.backend == "inductor" else None
        names = ("fresh_cache", "fresh_inductor_cache")  # the second in older versions
        fresh: Any = next((getattr(utils, name) for name in names if hasattr(utils, name)), contextlib.nullcontext)
        with fresh():
            yield

    @contextlib.contextmanager
    def _logs(self, report: CompileReport) -> Iterator[None]:
        if not self.capture_logs:
            yield
            return
        handler = _Kept(report.logs)
        loggers = [logging.getLogger(name) for name in LOGGERS]
        for logger in loggers:
            logger.addHandler(handler)
        try:
            yield
        finally:
            for logger in loggers:
                logger.removeHandler(handler)


class _Kept(logging.Handler):
    """Keeps messages of at least a warning."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(f"{record.name}: {record.getMessage()}")


class _Given:
    """The arguments of a call."""

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.args, self.kwargs = args, kwargs

    def call(self, fn: Callable[..., Any]) -> Any:
        return fn(*self.args, **self.kwargs)

    def copied(self, torch: Any) -> "_Given":
        """Return the same with tensors that may be changed; a leaf that wants a gradient stays one."""

        def one(value: Any) -> Any:
            if not isinstance(value, torch.Tensor) or isinstance(value, torch.nn.Parameter) or not value.is_leaf:
                return value
            return value.detach().clone().requires_grad_(value.requires_grad)

        args, kwargs = torch.utils._pytree.tree_map(one, (self.args, self.kwargs))
        return _Given(args, kwargs)


def _name_of(subject: Callable[..., Any]) -> str:
    return str(getattr(subject, "__qualname__", None) or type(subject).__qualname__)


def _bound(fn: Callable[..., Any], inputs: Any, kwargs: Mapping[str, Any] | None) -> _Given:
    """Return the arguments that inputs stand for."""
    extra = dict(kwargs or {})
    if isinstance(inputs, Mapping):
        if _takes(fn, {**inputs, **extra}):
            return _Given((), {**inputs, **extra})
        return _Given((inputs,), extra)
    return _Given(tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,), extra)


def _takes(fn: Callable[..., Any], keywords: Mapping[str, Any]) -> bool:
    if not all(isinstance(name, str) for name in keywords):
        return False
    try:
        inspect.signature(getattr(fn, "forward", fn)).bind(**keywords)
    except (TypeError, ValueError):
        return False
    return True


@contextlib.contextmanager
def _state_kept(torch: Any, fn: Any) -> Iterator[None]:
    """Put parameters, buffers and gradients of a module back as they were."""
    module = fn if isinstance(fn, torch.nn.Module) else getattr(fn, "__self__", None)
    if not isinstance(module, torch.nn.Module):
        yield
        return
    before = copy.deepcopy(module.state_dict())
    gradients = [(one, one.grad, None if one.grad is None else one.grad.clone()) for one in module.parameters()]
    try:
        yield
    finally:
        module.load_state_dict(before)
        for parameter, gradient, values in gradients:
            parameter.grad = gradient if gradient is None else gradient.copy_(values)


def _judge(report: CompileReport, eager: list[float], quick: list[float]) -> None:
    """Let the comparison engine say how much faster, with an interval."""
    if len(eager) < LEAST_PAIRS:
        report.unavailable["speedup_low"] = report.unavailable["speedup_high"] = f"needs {LEAST_PAIRS} pairs"
        return
    seconds = [[ms / 1e3 for ms in times] for times in (eager, quick)]
    row = Duet(old=blocks(seconds[0]), new=blocks(seconds[1])).row
    if row is None or row.change_percent is None or row.low_percent is None or row.high_percent is None:
        report.unavailable["speedup_low"] = report.unavailable["speedup_high"] = "the engine found no interval"
        return
    report.speedup, report.speedup_high, report.speedup_low = (
        100.0 / (100.0 + percent) for percent in (row.change_percent, row.low_percent, row.high_percent)
    )
    report.verdict = row.change_type.value


__all__ = ["CompileBreak", "CompileReport", "FusedKernel", "TorchCompileAnalyzer"]
