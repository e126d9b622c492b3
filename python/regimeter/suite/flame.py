# SPDX-License-Identifier: Apache-2.0
"""Flame graphs: the merged call tree of a trace, with device work below the host code that launched it.

generator = FlameGraphGenerator(min_duration_us=10.0)
data = generator.from_chrome_trace("trace.json")
generator.export(data, "flame.html")
"""

import math
import os
from collections.abc import Iterable, Mapping
from typing import Any

from .. import _core
from ..analysis.flame_tree import METRICS, flame_tree
from ..public.run import Run
from ..run.roles import GC, with_roles
from ..system.arrays import np
from ..system.files import atomic_writer, write_json
from .imported import run_of_profiler, run_of_trace


class FlameGraphGenerator:
    """Makes flame graph data of traces.

    min_duration_us: siblings below it, by host and by device time, are gathered in one node "(n small)".
    max_depth: what is called from deeper is gathered in one node "(deeper)" for each caller.
    group_small_kernels: kernels with less than small_kernel_threshold_pct percent of all device time are gathered
    likewise. Gathering never changes a total. ValueError for what is no number in bounds.
    metric: what the value of a node is, "device" or "host" time; None takes device time where there is any.
    collapse: host code that calls itself directly is one node. in_time: children are in the order in which they began,
    not by their time.

    The data is a node ``{name, value, children}`` as d3-flame-graph takes it: `value` is the time of the node and all
    below it in microseconds. The root also has `trace`, the name of the file, and its `anomalies`.
    Each node also has `host_us`, `host_self_us`, `device_us`, `device_self_us`, `first_us` (when the first span of it
    or below began, on the clock of the spans), `kind` and `count`, so both times can be read off one tree. Host time is
    the union of the spans of a lane, device time the sum of durations of the device work issued in a node and below it.
    """

    def __init__(
        self,
        min_duration_us: float = 10.0,
        max_depth: int = 50,
        group_small_kernels: bool = True,
        small_kernel_threshold_pct: float = 1.0,
        *,
        metric: str | None = None,
        collapse: bool = False,
        in_time: bool = False,
    ) -> None:
        if metric is not None and metric not in METRICS:
            raise ValueError(f"metric must be one of {METRICS} or None, got {metric!r}")
        if max_depth < 1:
            raise ValueError(f"max_depth must be at least 1, got {max_depth}")
        if not 0 <= min_duration_us < math.inf:
            raise ValueError(f"min_duration_us must be a number of at least 0, got {min_duration_us}")
        if not 0 <= small_kernel_threshold_pct <= 100:
            raise ValueError(f"small_kernel_threshold_pct must be from 0 to 100, got {small_kernel_threshold_pct}")
        self.min_duration_us = min_duration_us
        self.max_depth = max_depth
        self.group_small_kernels = group_small_kernels
        self.small_kernel_threshold_pct = small_kernel_threshold_pct
        self.metric = metric
        self.collapse = collapse
        self.in_time = in_time

    def from_run(self, run: Run) -> dict[str, Any]:
        """Return the flame graph of a run."""
        return flame_tree(
            run,
            least_ns=self.min_duration_us * 1e3,
            most_depth=self.max_depth,
            small_share=self.small_kernel_threshold_pct / 100 if self.group_small_kernels else 0.0,
            metric=self.metric,
            collapse=self.collapse,
            in_time=self.in_time,
        )

    def from_chrome_trace(self, path: str | os.PathLike[str]) -> dict[str, Any]:
        """Return the flame graph of a trace file. FormatError for what is no trace."""
        return self.from_run(run_of_trace(path))

    def from_profiler(self, profiler: Any) -> dict[str, Any]:
        """Return the flame graph of a stopped ``torch.profiler.profile``."""
        return self.from_run(run_of_profiler(profiler))

    def from_kernel_list(self, kernels: Iterable[Any]) -> dict[str, Any]:
        """Return the flame graph of kernels without stacks: one level of names.

        kernels: objects or dictionaries with `name` and a time in microseconds, `cuda_time_us`, `time_us` or
        `duration_us`. KeyError for one that has none, ValueError for a negative time.
        """
        pairs = [_kernel(kernel) for kernel in kernels]
        names = ["", *dict.fromkeys(name for name, _ in pairs if name)]
        numbers = {name: number for number, name in enumerate(names)}
        durations = np.array([duration for _, duration in pairs], dtype="int64")
        if (durations < 0).any():
            raise ValueError("the time of a kernel must not be negative")
        spans = {
            "start_ns": np.cumsum(durations) - durations,
            "duration_ns": durations,
            "name": np.array([numbers[name] for name, _ in pairs], dtype="uint32"),
            "kind": np.full(len(pairs), _core.SPAN_KINDS.index("kernel"), dtype="uint8"),
            "lane": np.zeros(len(pairs), dtype="uint32"),
        }
        lanes = {"device": np.zeros(1, dtype="int16")}
        run: Run = Run._build(
            names, {"spans": spans, "lanes": lanes}, "{}", "kernels", 0, int(durations.sum()), -1, True
        )
        return self.from_run(run)

    def export(self, data: Mapping[str, Any], path: str | os.PathLike[str], format: str = "html") -> None:
        """Write the data as a page that needs no network (``html``), a picture (``svg``) or as it is (``json``).

        ValueError for another format. The file is written atomically.
        """
        # 50 ms, which printing a flame graph does without.
        from ..report.flame_data import flame_data
        from ..report.flame_svg import flame_svg
        from ..report.html import write_html

        if format == "html":
            write_html(flame_data(data), path)
        elif format == "svg":
            with atomic_writer(path) as file:
                file.write(flame_svg(data))
        elif format == "json":
            write_json(path, data, separators=(",", ":"))
        else:
            raise ValueError(f"format must be 'html', 'svg' or 'json', got {format!r}")


def sampled_by_default(run: Run) -> bool:
    """Whether a picture of the run is one of its samples: it has some, and no scope but the program as a whole.

    Collections of garbage do not count: they come when Python likes, and hide what was called around them.
    """
    return len(run.samples) > 0 and int(np.count_nonzero(~with_roles(run, {GC}))) <= 1


def spans_of(run: Run, of: str | None, state: str, *, default: bool) -> Run:
    """Return the run, or what its samples say as one; ValueError where there are none.

    default: whether samples are meant where `of` is None.
    """
    if of == "spans" or (of is None and not default):
        return run
    if not len(run.samples):
        raise ValueError(
            "no call stacks are in the recording: record with --stacks, or GPUProfiler(stacks=100), or use --of spans"
        )
    return run.sampled(state)


def _kernel(kernel: Any) -> tuple[str, int]:
    """Return name and duration in ns."""
    fields = kernel if isinstance(kernel, Mapping) else getattr(kernel, "__dict__", None) or _attributes(kernel)
    for key in ("cuda_time_us", "time_us", "duration_us"):
        if fields.get(key) is not None:
            return str(fields["name"]), round(float(fields[key]) * 1e3)
    raise KeyError(f"{kernel!r} has none of cuda_time_us, time_us and duration_us")


def _attributes(kernel: Any) -> dict[str, Any]:
    """Return the fields of an object with slots."""
    return {key: getattr(kernel, key, None) for key in ("name", "cuda_time_us", "time_us", "duration_us")}
