# SPDX-License-Identifier: Apache-2.0
"""One forward pass of a torch model, layer by layer: time, work and regime of each, from one call.

A hook before and one after each module take the time; the time of a module is what its children do not take. The
operators in between are counted for the module that is running, and what counting costs is subtracted.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..system import scheduling
from . import calls, memory, torch_work, verdict
from .arguments import arrays_in, device_of
from .policy import VALUE
from .suggestion import suggest_optimization
from .work import COUNTED, Work

if TYPE_CHECKING:
    from ..calibration import Calibration


@dataclass(frozen=True, slots=True)
class LayerProfile:
    """One module, without its children. time_ms is exclusive; memory_mb the allocations that it left on a device, else
    None; utilisations as in `profile_with_result`, None where unknown."""

    name: str
    regime: str
    time_ms: float
    percentage_of_total: float
    memory_mb: float | None
    flops_utilization: float | None
    bandwidth_utilization: float | None
    suggestion: str
    calls: int = 1
    detail: str = "none"
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class ModelProfile:
    """A forward pass. bottleneck_layers: those with more than `bottleneck_share` percent of the time, longest first.

    regime_distribution: part of the time by regime, 0 to 1. Memory as in `analyze_memory`. warnings: what to doubt.
    """

    layers: tuple[LayerProfile, ...]
    total_time_ms: float
    bottleneck_layers: tuple[str, ...]
    regime_distribution: dict[str, float]
    total_memory_mb: float | None
    peak_memory_mb: float | None
    device: str = "cpu"
    warnings: tuple[str, ...] = ()
    result: Any = field(default=None, repr=False, compare=False)


@dataclass(slots=True)
class _Open:
    """A module that is running. child_ns: what its children took, counting included."""

    name: str
    begin_ns: int
    begin_own: float
    begin_inside: int
    marker: Any
    child_ns: float = 0.0
    child_inside: float = 0.0


@dataclass(slots=True)
class _Layer:
    """What has been seen of a module."""

    count: Any = field(default_factory=torch_work.Count)
    time_ns: float = 0.0
    inside_ns: float = 0.0
    calls: int = 0
    footprint: int = 0
    left_bytes: int | None = None


class _Watcher:
    """Hooks of all modules, and the stack of those that run."""

    def __init__(self, model: Any, cuda: Any, device: int) -> None:
        self.layers: dict[str, _Layer] = {}
        self.stack: list[_Open] = []
        self.handles: list[Any] = []
        self.own_ns = 0.0
        self.inside_ns = 0
        self.entry_ns = torch_work.entry_cost_ns()[0]
        self._cuda, self._device = cuda, device
        names: dict[int, str] = {}
        for name, module in model.named_modules():
            names.setdefault(id(module), name or type(module).__name__)
            if names[id(module)] != (name or type(module).__name__):
                continue
            shown = names[id(module)]
            self.layers[shown] = _Layer()
            self.handles.append(module.register_forward_pre_hook(self._before(shown), with_kwargs=True))
            self.handles.append(module.register_forward_hook(self._after(shown), always_call=True))

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def _before(self, name: str) -> Callable[..., None]:
        def before(module: Any, args: Any, kwargs: Any) -> None:
            begun = time.thread_time_ns()
            found = arrays_in(args, kwargs, list(module.parameters(recurse=False)))
            self.layers[name].footprint += sum(array.bytes for array in found)
            marker = self._mark()
            self.own_ns += time.thread_time_ns() - begun
            self.stack.append(_Open(name, self._now(), self.own_ns, self.inside_ns, marker))

        return before

    def _after(self, name: str) -> Callable[..., None]:
        def after(module: Any, args: Any, result: Any) -> None:
            now = self._now()
            if not self.stack or self.stack[-1].name != name:
                return  # a hook of the program raised between
            done = self.stack.pop()
            layer = self.layers[name]
            whole = now - done.begin_ns - (self.own_ns - done.begin_own)
            inside = self.inside_ns - done.begin_inside
            layer.time_ns += whole - done.child_ns
            layer.inside_ns += inside - done.child_inside
            layer.calls += 1
            if done.marker is not None:
                layer.left_bytes = (layer.left_bytes or 0) + (self._mark() or 0) - done.marker
            if self.stack:
                self.stack[-1].child_ns += whole
                self.stack[-1].child_inside += inside

        return after

    def _now(self) -> int:
        if self._cuda is not None:
            self._cuda.synchronize(self._device)
        return time.perf_counter_ns() - scheduling.watch().ready_ns()

    def _mark(self) -> int | None:
        return int(self._cuda.memory_allocated(self._device)) if self._cuda is not None else None

    def operator(self, function: Any, args: Any, kwargs: Any, result: Any, inside_ns: int) -> None:
        """Count one operator for the module that runs."""
        begun = time.thread_time_ns()
        self.inside_ns += inside_ns
        if self.stack:
            self.layers[self.stack[-1].name].count.add(function, args, kwargs, result)
        self.own_ns += time.thread_time_ns() - begun + self.entry_ns


def profile_model(
    model: Any, sample_input: Any, device_id: int = 0, *, profiler: Any = None, **kwargs: Any
) -> ModelProfile:
    """Run ``model(sample_input)`` once (a tuple is taken as its arguments) and say what limits each layer.

    device_id: kept for the documented call; the tensors decide. kwargs go to the model. On a device each layer is
    waited for, so layers do not overlap as they otherwise may. What the model raises is raised, and all hooks are
    removed. TypeError unless the model is a torch.nn.Module.
    """
    torch: Any = sys.modules.get("torch")
    if torch is None or not isinstance(model, torch.nn.Module):
        raise TypeError(f"a torch.nn.Module is expected, not {type(model).__name__}")
    args = sample_input if isinstance(sample_input, tuple) else (sample_input,)
    device = device_of(arrays_in(args, kwargs, model))
    calls.check_device(device)
    reason = torch_work.must_not_count(model)
    cuda = torch.cuda if device.startswith("cuda") else None
    watcher = _Watcher(model, cuda, int(device.partition(":")[2] or device_id))
    watch = memory.Watch(device)
    try:
        if reason is None:
            with torch_work.make_mode(watcher.operator):
                result = model(*args, **kwargs)
        else:
            result = model(*args, **kwargs)
    finally:
        watcher.remove()
        analysis = watch.analysis()
    ceilings = calls.ceilings_of(profiler, device)
    return _profile(watcher, device, ceilings, analysis, reason, result)


def _profile(
    watcher: _Watcher,
    device: str,
    ceilings: "Calibration | None",
    analysis: memory.MemoryAnalysis,
    reason: str | None,
    result: Any,
) -> ModelProfile:
    run = {name: layer for name, layer in watcher.layers.items() if layer.calls}
    total = sum(max(0.0, layer.time_ns) for layer in run.values())
    rows = tuple(_row(name, layer, total, device, ceilings) for name, layer in run.items())
    rows = tuple(sorted(rows, key=lambda row: -row.time_ms))
    shares: dict[str, float] = {}
    for row in rows:
        shares[row.regime] = shares.get(row.regime, 0.0) + row.percentage_of_total / 100
    notes = [] if reason is None else [f"operators were not counted: {reason}; regimes need the eager model"]
    if ceilings is None:
        notes.append(f"no ceilings of {device}: no layer can be judged by a roof")
    return ModelProfile(
        rows,
        total / 1e6,
        tuple(row.name for row in rows if row.percentage_of_total > VALUE["bottleneck_share"]),
        shares,
        analysis.allocated_mb,
        analysis.peak_allocated_mb,
        device,
        tuple(notes),
        result,
    )


def _row(name: str, layer: _Layer, total: float, device: str, ceilings: "Calibration | None") -> LayerProfile:
    spent = max(1.0, layer.time_ns)
    work = layer.count.work(COUNTED) if layer.count.operators else Work(0.0, 0.0, operators=0)
    outside = min(1.0, max(0.0, 1 - layer.inside_ns / spent)) if device == "cpu" else None
    work = replace(work, footprint=int(max(layer.footprint, work.bytes or 0)))
    judged = verdict.judge_layer(spent, work, layer.calls, device, outside, ceilings)
    regime = judged["regime"]
    return LayerProfile(
        name,
        regime,
        spent / 1e6,
        100 * spent / total if total else 0.0,
        None if layer.left_bytes is None else layer.left_bytes / memory.MB,
        judged["sol_compute"] if work.flops else None,
        judged["sol_memory"] if work.bytes else None,
        suggest_optimization(judged),
        layer.calls,
        judged["detail"],
        judged["confidence"],
    )


def profile_transformer_block(block: Any, sample_input: Any, device_id: int = 0, **kwargs: Any) -> ModelProfile:
    """Run a transformer block once and return the profile of its layers, as `profile_model` does."""
    return profile_model(block, sample_input, device_id, **kwargs)
