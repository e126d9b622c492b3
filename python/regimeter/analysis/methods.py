# SPDX-License-Identifier: Apache-2.0
"""The analyses of a run as methods."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ..calibration import Calibration
    from ..calibration.choice import Choice
    from ..public.run import Run
    from .result import Result


def _result(run: Any, name: str, **options: Any) -> "Result":
    result: Result = run.result(name, **options)
    return result


class Analyses:
    """One method an analysis; each returns rows with names as text, and the columns behind them as `table`.

    top: rows to give, None for all. thresholds: by name, see docs/schema.md. rules: pairs of a text in kernel names and
    what such kernels do, as in `Run.analyse`. ceilings: what the device can do, as in `Run.result`.
    """

    __slots__ = ()

    # --- written by tools/describe_verbs.py from the descriptions beside this file; what is above is not ---

    def breakdown(
        self,
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """Where the time of each device went: compute, communication, memory, idle."""
        return _result(self, "breakdown", top=top, thresholds=thresholds, rules=rules)

    def communication(
        self,
        by: Literal["device", "library", "kernel"] = "device",
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """Communication time, how much of it compute hides, and by which library."""
        return _result(self, "communication", by=by, top=top, thresholds=thresholds, rules=rules)

    def collectives(
        self,
        by: Literal["collective", "message", "call"] = "collective",
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """Time and bandwidth of collectives (sizes and bus factors as in nccl-tests)."""
        return _result(self, "collectives", by=by, top=top, thresholds=thresholds, rules=rules)

    def counters(
        self,
        by: Literal["kernel-name", "operator", "kernel"] = "kernel-name",
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """Hardware counters attributed to kernels and operators."""
        return _result(self, "counters", by=by, top=top, thresholds=thresholds, rules=rules)

    def counter_flops(
        self,
        by: Literal["kernel-name", "operator", "kernel"] = "kernel-name",
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """Floating-point operations that the hardware counted (without tensor cores)."""
        return _result(self, "counter-flops", by=by, top=top, thresholds=thresholds, rules=rules)

    def critical_path(
        self,
        *,
        text: str | None = None,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """What the duration of a run or step hangs on, and what would remain without each part."""
        return _result(self, "critical-path", text=text, top=top, thresholds=thresholds, rules=rules)

    def critical_path_top(
        self,
        *,
        text: str | None = None,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """The operators, calls and kernels that the critical path runs through."""
        return _result(self, "critical-path-top", text=text, top=top, thresholds=thresholds, rules=rules)

    def critical_path_segments(
        self,
        *,
        text: str | None = None,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """The critical path, segment by segment."""
        return _result(self, "critical-path-segments", text=text, top=top, thresholds=thresholds, rules=rules)

    def critical_path_ties(
        self,
        *,
        text: str | None = None,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """What took nearly as long beside the critical path: without a part of the path that would take its place."""
        return _result(self, "critical-path-ties", text=text, top=top, thresholds=thresholds, rules=rules)

    def allocations(
        self,
        by: Literal["stack", "line", "category", "own", "scope"] = "stack",
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
    ) -> "Result":
        """Who asked for the memory that lived at the peak and at the end."""
        return _result(self, "allocations", by=by, top=top, thresholds=thresholds)

    def pools(
        self,
        by: Literal["device", "pool"] = "device",
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
    ) -> "Result":
        """What an allocator had reserved at the end, and how much of it was of use."""
        return _result(self, "pools", by=by, top=top, thresholds=thresholds)

    def shortages(
        self,
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
    ) -> "Result":
        """When a device had too little memory left: ends of memory, and retries."""
        return _result(self, "shortages", top=top, thresholds=thresholds)

    def ranks(
        self,
        by: Literal["rank", "step"] = "rank",
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """Where the time of each rank went, and how unevenly work is shared out."""
        return _result(self, "ranks", by=by, top=top, thresholds=thresholds, rules=rules)

    def stragglers(
        self,
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """Which rank the others wait for in collectives."""
        return _result(self, "stragglers", top=top, thresholds=thresholds, rules=rules)

    def collective_instances(
        self,
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """Each collective across its ranks: who came last, wait and transfer."""
        return _result(self, "collective-instances", top=top, thresholds=thresholds, rules=rules)

    def clock_offsets(
        self,
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """How far the clocks of the ranks are apart, told by the ends of their collectives."""
        return _result(self, "clock-offsets", top=top, thresholds=thresholds, rules=rules)

    def kernel_regimes(
        self,
        by: Literal["name", "kernel"] = "name",
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
        ceilings: "Calibration | Choice | str | None" = None,
    ) -> "Result":
        """What limits each kernel: overhead, memory or arithmetic."""
        return _result(self, "kernel-regimes", by=by, top=top, thresholds=thresholds, rules=rules, ceilings=ceilings)

    def region_regimes(
        self,
        by: Literal["run", "step", "scope"] = "run",
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
        ceilings: "Calibration | Choice | str | None" = None,
    ) -> "Result":
        """What limits a device in the run, in its steps or in the scopes: all shares of the time."""
        return _result(self, "region-regimes", by=by, top=top, thresholds=thresholds, rules=rules, ceilings=ceilings)

    def lines(
        self,
        by: Literal["line", "function", "own"] = "line",
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
    ) -> "Result":
        """Lines or functions by how often samples found threads of the host there."""
        return _result(self, "lines", by=by, top=top, thresholds=thresholds)

    def sequences(
        self,
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """Kernel sequences that repeat: candidates for fusion or CUDA graphs, by the gaps they contain."""
        return _result(self, "sequences", top=top, thresholds=thresholds, rules=rules)

    def sequence_kernels(
        self,
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """The kernels of each repeated sequence."""
        return _result(self, "sequence-kernels", top=top, thresholds=thresholds, rules=rules)

    def stalls(
        self,
        by: Literal["kernel", "reason", "instruction", "scope", "line"] = "kernel",
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
    ) -> "Result":
        """Why the warps of kernels did not go on, by samples of instructions."""
        return _result(self, "stalls", by=by, top=top, thresholds=thresholds)

    def kernels(
        self,
        by: Literal["name", "type", "operator", "module"] = "name",
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """Device work by name, type, operator or module."""
        return _result(self, "kernels", by=by, top=top, thresholds=thresholds, rules=rules)

    def operators(
        self,
        by: Literal["name", "shapes"] = "name",
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """Host and device time of operators."""
        return _result(self, "operators", by=by, top=top, thresholds=thresholds, rules=rules)

    def steps(
        self,
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """Steps of a training loop, on the host and on each device."""
        return _result(self, "steps", top=top, thresholds=thresholds, rules=rules)

    def scopes(
        self,
        by: Literal["operation", "scope"] = "operation",
        *,
        graphs: Literal["launch", "capture"] = "launch",
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """Host, launch, device and idle time of recorded scopes and annotations."""
        return _result(self, "scopes", by=by, choices={"graphs": graphs}, top=top, thresholds=thresholds, rules=rules)

    def annotations(
        self,
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """What was named by record_function or a library."""
        return _result(self, "annotations", top=top, thresholds=thresholds, rules=rules)

    def flops(
        self,
        by: Literal["shapes", "call"] = "shapes",
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """Work of operators by torch's formulas, and how fast the device did it."""
        return _result(self, "flops", by=by, top=top, thresholds=thresholds, rules=rules)

    def tree(
        self,
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """Operators, their calls and the device work of these, as a tree."""
        return _result(self, "tree", top=top, thresholds=thresholds, rules=rules)

    def diff(
        self,
        other: "Run",
        by: Literal["operator", "kernel", "sequence"] = "operator",
        *,
        text: str | None = None,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """What changed from a baseline trace to another, aligned by the tree of operators."""
        return _result(self, "diff", other=other, by=by, text=text, top=top, thresholds=thresholds, rules=rules)

    def idle(
        self,
        by: Literal["device", "stream"] = "device",
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """Idle time of each device or stream by cause."""
        return _result(self, "idle", by=by, top=top, thresholds=thresholds, rules=rules)

    def idle_gaps(
        self,
        by: Literal["device", "stream"] = "device",
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """Each time a device or stream had nothing to do, with its cause."""
        return _result(self, "idle-gaps", by=by, top=top, thresholds=thresholds, rules=rules)

    def launches(
        self,
        by: Literal["call", "kernel", "operator"] = "call",
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """What launching cost the host, and how long work waited."""
        return _result(self, "launches", by=by, top=top, thresholds=thresholds, rules=rules)

    def short_kernels(
        self,
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """Histogram of kernel durations, and how many are shorter than their launch."""
        return _result(self, "short-kernels", top=top, thresholds=thresholds, rules=rules)

    def queues(
        self,
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """How much work each stream had before it, weighted by time."""
        return _result(self, "queues", top=top, thresholds=thresholds, rules=rules)

    def queue_series(
        self,
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """Work queued and running on each stream, change by change."""
        return _result(self, "queue-series", top=top, thresholds=thresholds, rules=rules)

    def memcpy(
        self,
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """Copies and sets by direction and memory, with their bandwidth."""
        return _result(self, "memcpy", top=top, thresholds=thresholds, rules=rules)

    def memory_bandwidth(
        self,
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """Bandwidth of copies by direction, weighted by time."""
        return _result(self, "memory-bandwidth", top=top, thresholds=thresholds, rules=rules)

    def bandwidth_series(
        self,
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """Bandwidth of copies by direction, change by change."""
        return _result(self, "bandwidth-series", top=top, thresholds=thresholds, rules=rules)

    def sync(
        self,
        by: Literal["name", "operator"] = "name",
        *,
        top: int | None = None,
        thresholds: Mapping[str, float] | None = None,
        rules: Iterable[tuple[str, str]] = (),
    ) -> "Result":
        """What synchronisation cost the host, and what the device did meanwhile."""
        return _result(self, "sync", by=by, top=top, thresholds=thresholds, rules=rules)
