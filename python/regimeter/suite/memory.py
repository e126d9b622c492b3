# SPDX-License-Identifier: Apache-2.0
"""Memory of torch programs over time: every allocation, true peaks, whose it is, who asked for it, whether it grows.

memory = MemoryProfiler()
with memory.track("step"):
    model(batch).sum().backward()
    optimizer.step()
print(memory.get_peak_analysis()["peak_allocated_mb"])
memory.export("memory.json")
"""

import contextlib
import math
import os
import pickle
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .. import _core
from ..capture.device_memory import TorchMemoryProbe
from ..capture.device_memory import reason as memory_reason
from ..public.run import load
from ..system.files import atomic_path, write_json
from ..system.quantities import known
from ..system.torch_extra import torch_for, wait_for_devices
from .allocations import BEFORE, Allocations, Block, held_blocks, live_before, of_run
from .allocator_history import allocator_run, begin_history, end_history
from .host_lines import HostLines
from .leak import trend_of
from .memory_snapshot import MemorySnapshot
from .ownership import UNKNOWN, Ownership
from .post_mortem import is_out_of_memory, write_report
from .recording import Recording
from .sampler import Sampler

FORMAT, VERSION = "regimeter.suite.memory", 1
MB = 1e-6  # per byte
OUTPUT = "./profiles"
NO_POOL = "the host's allocator keeps no pool that torch tells of"
NOT_RECORDED = "record_history is off"
GUEST = "another torch.profiler was recording, which keeps the allocations of the host in its own trace"


@dataclass(slots=True)
class _Stretch:
    """What belongs to one stretch from start to stop."""

    begin_ns: int
    owners: Ownership
    recording: Recording | None
    sampler: Sampler
    lines: HostLines
    probe: Any = None
    token: Any = None
    history: bool = False
    samples: list[MemorySnapshot] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)
    found: Allocations | None = None
    device: tuple[int, int, int, int, int] | None = None
    host: dict[str, Any] = field(default_factory=dict)
    stats: dict[str, Any] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)


class MemoryProfiler:
    """Tracks memory of what runs between start and stop.

    On a CUDA device figures are of torch's allocator; without one, of the storages of tensors on the host.
    sample_interval_ms: how often the resident set and the device's allocator are read, 0 for never.
    record_history: every allocation, on the host by torch.profiler, on a device by the allocator's history; without it
    there are only samples. track_allocations: with the stack of each. output_dir: where a report of the end of memory
    goes, "./profiles" unless given. UnavailableError without torch, ValueError for a negative interval.
    """

    def __init__(
        self,
        sample_interval_ms: float = 1.0,
        record_history: bool = True,
        track_allocations: bool = True,
        *,
        output_dir: str | os.PathLike[str] | None = None,
    ) -> None:
        if not 0 <= sample_interval_ms < math.inf:
            raise ValueError(f"sample_interval_ms must be a number of at least 0, got {sample_interval_ms}")
        self._torch = torch_for("tracking memory")
        self.sample_interval_ms = sample_interval_ms
        self.record_history = record_history
        self.track_allocations = track_allocations
        self.output_dir = Path(OUTPUT if output_dir is None else output_dir)
        self.post_mortem_path: Path | None = None
        self.markers: list[dict[str, Any]] = []
        self.result: Any = None
        self._began_ns = 0
        self._open: _Stretch | None = None
        self._done: list[_Stretch] = []

    # --- tracking ---------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def track(self, name: str = "tracking") -> Iterator["MemoryProfiler"]:
        """Track the block; within a stretch that is tracked it is a marker. What it raises passes on.

        Where memory ran out a report is written first: `post_mortem_path`.
        """
        outermost = self._open is None
        if outermost:
            self.start_tracking()
        marker = {"name": name, "begin_ms": self._since(), "end_ms": None}
        self.markers.append(marker)
        error: BaseException | None = None
        try:
            yield self
        except BaseException as raised:
            error = raised
            raise
        finally:
            marker["end_ms"] = self._since()
            if outermost:
                self.stop_tracking()
            if error is not None and is_out_of_memory(self._torch, error) and self._open is None:
                self._report(name, error)

    def start_tracking(self) -> None:
        """Begin a stretch. RuntimeError where one has begun."""
        if self._open is not None:
            raise RuntimeError("memory is tracked already")
        wait_for_devices(self._torch)
        owners = Ownership(self._torch)
        device = None if memory_reason() is not None else int(self._torch.cuda.current_device())
        unavailable = {} if self.record_history else {"history": NOT_RECORDED}
        recording = None
        if self.record_history and device is None:
            recording = self._recording(unavailable)
        one = _Stretch(0, owners, recording, Sampler(self.sample, self.sample_interval_ms), HostLines())
        one.unavailable = unavailable
        if device is not None:
            one.probe = TorchMemoryProbe()
            one.token = one.probe.begin(device)
            one.history = self.record_history and self._begin_history(unavailable)
        owners.begin()
        if recording is not None:
            recording.begin()
        one.begin_ns = time.time_ns()
        self._began_ns = self._began_ns or one.begin_ns
        self._open = one
        self.sample()
        one.sampler.begin()

    def stop_tracking(self) -> None:
        """End the stretch and read what was recorded. RuntimeError where none has begun."""
        if (one := self._open) is None:
            raise RuntimeError("memory is not tracked")
        wait_for_devices(self._torch)
        one.sampler.end()
        self.sample()
        end_ns = time.time_ns()
        self._open = None
        self._done.append(one)
        one.host = one.lines.read()
        try:
            self._read(one, end_ns)
            one.owners.end()  # the recording has ended: looking at all objects is not in it
            if one.found is not None:
                one.found.own(one.owners, -1 if one.device is None else one.device[0])
        except Exception as error:
            one.owners.end()
            one.unavailable["history"] = f"{type(error).__name__}: {error}"
            warnings.warn(f"regimeter: memory: {one.unavailable['history']}", RuntimeWarning, stacklevel=2)

    def mark_step(self) -> None:
        """Say that a step has ended. Optimizers say so themselves. RuntimeError where nothing is tracked."""
        if self._open is None:
            raise RuntimeError("memory is not tracked")
        self._open.marks.append(time.time_ns())

    def sample(self) -> MemorySnapshot:
        """Read memory now: the process's resident set, and the device's allocator where there is one."""
        found = self._reading()
        if self._open is not None:
            self._open.samples.append(found)
        return found

    def reset(self) -> None:
        """Forget what was tracked. RuntimeError while something is."""
        if self._open is not None:
            raise RuntimeError("memory is being tracked: stop first")
        self._done.clear()
        self.markers.clear()
        self._began_ns = 0

    def profile_memory(
        self, fn: Callable[..., Any], *args: Any, warmup: int = 3, iterations: int = 10, **kwargs: Any
    ) -> dict[str, Any]:
        """Call the function `warmup` times untracked and `iterations` times tracked, each a step; return the analysis.

        `result` is what the last call returned. ValueError for numbers out of bounds.
        """
        if warmup < 0 or iterations < 1:
            raise ValueError(f"warmup must be at least 0 and iterations at least 1, got {warmup} and {iterations}")
        for _ in range(warmup):
            fn(*args, **kwargs)
        with self.track(getattr(fn, "__name__", type(fn).__name__)):
            for _ in range(iterations):
                self.result = fn(*args, **kwargs)
                self.mark_step()
        return self.get_peak_analysis()

    # --- what was found ---------------------------------------------------------------------------------------------

    def get_timeline(self) -> list[dict[str, Any]]:
        """Return [{time_ms, allocated_mb, reserved_mb, peak_mb}] by time; peak_mb is the largest so far.

        With the history it has every allocation, or of many the extremes; else the samples. None: not known.
        """
        rows: list[dict[str, Any]] = []
        peak = -math.inf
        for one in self._done:
            for time_ms, allocated, reserved in self._points(one):
                peak = max(peak, allocated if not math.isnan(allocated) else -math.inf)
                rows.append(
                    {
                        "time_ms": time_ms,
                        "allocated_mb": known(allocated),
                        "reserved_mb": known(reserved),
                        "peak_mb": peak if peak > -math.inf else None,
                    }
                )
        return rows

    def get_peak_analysis(self) -> dict[str, Any]:
        """Return the peak: how much, when, of what, asked for by whom; growth over steps; the host. docs/suite.md.

        RuntimeError where nothing was tracked.
        """
        if not self._done:
            raise RuntimeError("nothing was tracked")
        one = max(self._done, key=self._peak_of)
        found: dict[str, Any] = {
            "peak_allocated_mb": known(self._peak_of(one)),
            "peak_reserved_mb": known(max((s.reserved_mb for s in one.samples), default=math.nan)),
            "peak_time_ms": None,
            "peak_above_start_mb": known(self._peak_of(one) - self._start_of(one)),
            "current_allocated_mb": known(self._current(self._done[-1])),
            "potential_leak": None,
            "categories": {},
            "top_allocations": [],
            "histogram": [],
            "totals": {},
            "leak": self._trend(),
            "fragmentation": one.stats,
            "peak_resident_mb": known(max((s.resident_mb for s in one.samples), default=math.nan)),
            "host": one.host,
            "unavailable": one.unavailable | ({} if one.device else {"peak_reserved_mb": NO_POOL}),
        }
        found["potential_leak"] = None if found["leak"]["verdict"] is None else found["leak"]["verdict"] == "grows"
        if (blocks := one.found) is not None:
            moment, _ = blocks.peak()
            found |= {
                "peak_time_ms": (moment - self._began_ns) / 1e6,
                "categories": blocks.by_category(moment),
                "top_allocations": blocks.top(moment),
                "histogram": blocks.histogram(),
                "totals": {
                    "events": blocks.events,
                    "allocated_bytes": blocks.allocated_bytes,
                    "freed_bytes": blocks.freed_bytes,
                    "net_bytes": blocks.allocated_bytes - blocks.freed_bytes,
                },
            }
        elif one.samples:
            highest = max(one.samples, key=lambda s: -math.inf if math.isnan(s.allocated_mb) else s.allocated_mb)
            found["peak_time_ms"] = None if math.isnan(highest.allocated_mb) else highest.time_ms
        return found

    def get_memory_snapshot(self) -> MemorySnapshot:
        """Return what is in memory now, by category; on a device with segments and the history, ready to `dump`."""
        now = self._reading()
        owners = Ownership(self._torch)
        if memory_reason() is None:
            run = allocator_run(self._torch)
            held = held_blocks(run, int(self._torch.cuda.current_device()))
            return replace(now, by_category=owners.of_blocks(held), run=run)
        total, by_category = owners.live()
        unavailable = {name: why for name, why in now.unavailable.items() if name != "allocated_mb"}
        return MemorySnapshot(
            now.time_ms, total * MB, resident_mb=now.resident_mb, by_category=by_category, unavailable=unavailable
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything ready for JSON."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "timeline": self.get_timeline(),
            "peak_analysis": self.get_peak_analysis() if self._done else {},
            "markers": self.markers,
            "samples": [sample.to_dict() for one in self._done for sample in one.samples],
        }

    def export(self, path: str | os.PathLike[str], format: str = "json") -> Path:
        """Write {timeline, peak_analysis, markers, samples} as "json" or as a "pickle" of plain objects, atomically."""
        if format not in ("json", "pickle"):
            raise ValueError(f"format must be 'json' or 'pickle', got {format!r}")
        target, document = Path(path), self.to_dict()
        target.parent.mkdir(parents=True, exist_ok=True)
        if format == "json":
            write_json(target, document)
        else:
            with atomic_path(target) as temporary, open(temporary, "wb") as binary:
                pickle.dump(document, binary)
        return target

    # --- the parts --------------------------------------------------------------------------------------------------

    def _recording(self, unavailable: dict[str, str]) -> Recording | None:
        options = {"profile_memory": True, "with_stack": self.track_allocations}

        def take(path: Path) -> None:
            one, end_ns = self._done[-1], time.time_ns()
            one.found = of_run(load(path), one.begin_ns, end_ns, stacks=self.track_allocations)

        recording = Recording(self._torch, "regimeter: memory", options, None, take)
        if recording.guest:
            unavailable["history"] = GUEST
            return None
        return recording

    def _begin_history(self, unavailable: dict[str, str]) -> bool:
        context = "alloc" if self.track_allocations else None
        why = begin_history(self._torch, context=context, stacks="python")
        if why is not None:
            unavailable["history"] = why
        return why is None

    def _read(self, one: _Stretch, end_ns: int) -> None:
        if one.recording is not None:
            one.recording.end()
        elif one.token is not None and (end := one.probe.end(one.token)) is not None:
            one.device = end
            one.stats = fragmentation(self._torch.cuda.memory_stats(end[0]))
            if one.history:
                self._read_history(one, end[0], end_ns)

    def _read_history(self, one: _Stretch, device: int, end_ns: int) -> None:
        try:
            run = allocator_run(self._torch)
        finally:
            end_history(self._torch)
        one.found = of_run(run, one.begin_ns, end_ns, stacks=self.track_allocations, device=device)
        known = sum(known.size for known in one.owners.before if known.device == device)
        if (before := live_before(run, device, one.begin_ns)) > known:
            one.found.blocks.append(Block(0, before - known, BEFORE, category=UNKNOWN))

    def _reading(self) -> MemorySnapshot:
        resident = float(_core.host_memory()["resident"]) * MB
        why = memory_reason()
        if why is not None:
            unavailable = {"allocated_mb": f"{why}; the host's allocations are known when tracking has stopped"}
            return MemorySnapshot(self._since(), resident_mb=resident, unavailable=unavailable | {"reserved_mb": why})
        cuda = self._torch.cuda
        allocated, reserved = int(cuda.memory_allocated()) * MB, int(cuda.memory_reserved()) * MB
        return MemorySnapshot(self._since(), allocated, reserved, int(cuda.max_memory_allocated()) * MB, resident)

    def _since(self) -> float:
        return (time.time_ns() - self._began_ns) / 1e6 if self._began_ns else 0.0

    def _points(self, one: _Stretch) -> Iterator[tuple[float, float, float]]:
        if one.found is None:
            yield from ((s.time_ms, s.allocated_mb, s.reserved_mb) for s in one.samples)
            return
        shift, at, reserved = (one.begin_ns - self._began_ns) / 1e6, 0, math.nan
        for time_ms, level in one.found.points():
            while at < len(one.samples) and one.samples[at].time_ms <= time_ms + shift:
                reserved, at = one.samples[at].reserved_mb, at + 1
            yield time_ms + shift, level * MB, reserved

    def _peak_of(self, one: _Stretch) -> float:
        if one.device is not None:
            return one.device[3] * MB
        if one.found is not None:
            return one.found.peak()[1] * MB
        return math.nan

    def _start_of(self, one: _Stretch) -> float:
        if one.device is not None:
            return one.device[1] * MB
        return one.found.level_at([one.begin_ns])[0] * MB if one.found is not None else math.nan

    def _current(self, one: _Stretch) -> float:
        if one.device is not None:
            return one.device[2] * MB
        return one.found.levels()[1][-1].item() * MB if one.found is not None else math.nan

    def _trend(self) -> dict[str, Any]:
        """Return what the ends of the steps of all stretches say."""
        levels: list[float] = []
        for one in self._done:
            steps = one.marks or one.owners.steps
            if one.found is not None:
                levels += one.found.level_at(steps)
        return trend_of(levels) | {"levels": levels}

    def _report(self, name: str, error: BaseException) -> None:
        try:
            self.post_mortem_path = write_report(self.output_dir, name, error, {"analysis": self.get_peak_analysis()})
        except Exception as failed:
            warnings.warn(f"regimeter: no report of the end of memory: {failed}", RuntimeWarning, stacklevel=3)


def fragmentation(stats: dict[str, Any]) -> dict[str, Any]:
    """Return what torch's allocator tells of unused memory in its pool, retries and ends of memory.

    inside_blocks: part of the allocated bytes that nobody asked for (rounding). idle_pool: part of the reserved bytes
    that no block uses. split_bytes: in free parts of split segments.
    """

    def of(name: str, kind: str = "current") -> int:
        return int(stats.get(f"{name}.all.{kind}", 0))

    requested, allocated = of("requested_bytes"), of("allocated_bytes")
    active, reserved = of("active_bytes"), of("reserved_bytes")
    return {
        "inside_blocks": 1 - requested / allocated if allocated and requested else None,
        "idle_pool": 1 - active / reserved if reserved else None,
        "split_bytes": of("inactive_split_bytes"),
        "retries": int(stats.get("num_alloc_retries", 0)),
        "out_of_memory": int(stats.get("num_ooms", 0)),
    }


__all__ = ["MemoryProfiler", "MemorySnapshot"]
