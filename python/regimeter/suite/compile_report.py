# SPDX-License-Identifier: Apache-2.0
"""What was found of a compiled function: breaks, recompiles, kernels, times with and without, differences."""

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from ..report.compile_page import compile_data
from ..report.html import render_html
from ..run.formats import PAGES, choose
from ..system.files import atomic_writer

FORMAT, VERSION = "regimeter.suite.compile", 1
FIGURES = (
    "speedup", "speedup_low", "speedup_high", "compile_time_ms", "compile_time_warm_ms", "fusion_ratio",
    "eager_time_ms", "compiled_time_ms", "peak_memory_mb", "memory_savings_mb", "max_abs_difference",
    "max_rel_difference", "break_even_calls",
)  # fmt: skip
COUNTS = ("eager_launches", "compiled_launches", "eager_bytes", "compiled_bytes")
DEFINITIONS = {
    "compile_time_ms": "first call minus a later one, with a cache folder of its own: what a machine pays that has"
    " compiled nothing yet, headers that the compiler prepares included; of a log, what torch took for frames and"
    " backward graphs, in the process where that is longest",
    "compile_time_warm_ms": "the same again with the caches that the first time filled",
    "ops_before_fusion": "nodes of the graphs that inductor schedules, calls of library kernels included",
    "ops_after_fusion": "calls in the code that it generates: of fused kernels and of library kernels",
    "fusion_ratio": "ops_before_fusion / ops_after_fusion",
    "eager_launches": "operators that read or write memory, in one call as it is; on a device one may launch several"
    " kernels",
    "compiled_launches": "calls of generated kernels, and operators in the library kernels that generated code calls,"
    " in one call; what runs between graphs is not in it",
    "eager_bytes": "of these operators: operands once, results once, what is changed in place twice; an estimate of the"
    " traffic that ignores caches",
    "compiled_bytes": "the same of these calls: tensors that a kernel reads once, that it writes once",
    "speedup": "time of eager calls by that of compiled ones: pairs in random order, by the comparison engine",
    "memory_savings_mb": "peak above the start of an eager call minus that of a compiled one",
    "max_rel_difference": "largest difference by the largest value of the eager tensor it is in",
}


@dataclass(frozen=True, slots=True)
class CompileBreak:
    """A place where the graph ends. location: the file; suggestion: torch's own hints.

    code: its number in torch's list. count: how often it was met.
    """

    reason: str
    location: str
    line_number: int | None
    suggestion: str
    function: str = ""
    code: str = ""
    explanation: str = ""
    count: int = 1


@dataclass(frozen=True, slots=True)
class FusedKernel:
    """A kernel that was generated. fused_ops: what it does, as torch names operators; call_count: calls in the code."""

    name: str
    fused_ops: list[str]
    call_count: int = 1
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Recompile:
    """A function that was compiled again. guard: the condition that no longer held."""

    function: str
    location: str
    line_number: int | None
    guard: str


@dataclass(frozen=True, slots=True)
class CompiledFrame:
    """One compilation of a function, as a log has it. process: which of `processes`; compile_id: torch's number of it.

    time_ms: of all of it; backend_ms, inductor_ms: within that; backward_ms: of its backward graphs, later. None where
    the log does not tell. operators: in its graph; guards: that are checked before each call. error: why it failed, ''
    where it did not.
    """

    compile_id: str
    process: int
    function: str
    location: str
    line_number: int | None
    time_ms: float | None = None
    backend_ms: float | None = None
    inductor_ms: float | None = None
    backward_ms: float | None = None
    operators: int | None = None
    guards: int | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class CompileProcess:
    """A process that wrote a log. compile_time_ms: of its frames and backward graphs, None where the log does not tell.

    lost: records that could not be read; damage: the first of them, '' without.
    """

    file: str
    pid: int | None
    rank: int | None
    torch_version: str
    frames: int | None
    graphs: int | None
    compile_time_ms: float | None
    lost: int
    damage: str


@dataclass(slots=True)
class CompileReport:
    """What was found. A figure is nan where `unavailable` says why; JSON has null. DEFINITIONS says what figures mean.

    speedup_low, speedup_high: its interval; verdict: of the comparison engine. ops_before_fusion, ops_after_fusion:
    None where the backend does not tell; so are eager_launches, compiled_launches, eager_bytes, compiled_bytes, of one
    call. phases_ms: parts of the cold compile time, one within the other: frame,
    backend, inductor, code generation. graphs: that were compiled; captured_ops: operators in them. error: why
    compiling failed, '' where it did not; `result` is that of the eager call then, else of the compiled one.
    subject: the name of what was compiled.

    Of a log: source: its path; breaks, recompiles, graphs, operators and caches are those of all processes, times those
    of the one that compiled longest. events_ms: torch's own phases by name, one within the other. caches: of each,
    how often a graph was a hit, a miss, or bypassed it. frames, processes: one by one.
    """

    definitions: ClassVar[Mapping[str, str]] = DEFINITIONS

    backend: str = ""
    mode: str = ""
    speedup: float = math.nan
    compile_time_ms: float = math.nan
    graph_breaks: list[CompileBreak] = field(default_factory=list)
    total_graph_breaks: int | None = 0
    fusion_ratio: float = math.nan
    ops_before_fusion: int | None = None
    ops_after_fusion: int | None = None
    fused_kernels: list[FusedKernel] = field(default_factory=list)
    recommendations: list[str] = field(default_factory=list)
    peak_memory_mb: float = math.nan
    memory_savings_mb: float = math.nan
    eager_time_ms: float = math.nan
    compiled_time_ms: float = math.nan
    compile_time_warm_ms: float = math.nan
    speedup_low: float = math.nan
    speedup_high: float = math.nan
    verdict: str = ""
    break_even_calls: float = math.nan
    phases_ms: dict[str, float] = field(default_factory=dict)
    recompiles: list[Recompile] = field(default_factory=list)
    graphs: int | None = 0
    captured_ops: int | None = 0
    extern_calls: int | None = None
    eager_launches: int | None = None
    compiled_launches: int | None = None
    eager_bytes: int | None = None
    compiled_bytes: int | None = None
    max_abs_difference: float = math.nan
    max_rel_difference: float = math.nan
    mismatch: str = ""
    error: str = ""
    logs: list[str] = field(default_factory=list)
    unavailable: dict[str, str] = field(default_factory=dict)
    source: str = ""
    subject: str = ""
    events_ms: dict[str, float] = field(default_factory=dict)
    caches: dict[str, dict[str, int]] = field(default_factory=dict)
    frames: list[CompiledFrame] = field(default_factory=list)
    processes: list[CompileProcess] = field(default_factory=list)
    result: Any = field(default=None, repr=False, compare=False)

    def export(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Write the report as "json" or "html" (one file, no network), atomically.

        format: what the suffix of the file says, unless given; "json" without one. ValueError for another format, and
        for JSON under the name of a page.
        """
        if format not in (None, "json", "html"):
            raise ValueError(f"format must be 'json' or 'html', got {format!r}")
        if choose(path, {".json": "json", **PAGES}, chosen=format, default="json") == "json":
            text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        else:
            text = render_html(compile_data(self.to_dict()))
        with atomic_writer(path) as file:
            file.write(text)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields but `result`, ready for JSON, with what the figures mean."""
        result, self.result = self.result, None  # not to be copied
        try:
            found = asdict(self)
        finally:
            self.result = result
        del found["result"]
        found |= {name: None for name in FIGURES if not math.isfinite(found[name])}
        plain: dict[str, Any] = json.loads(json.dumps(found, default=str, allow_nan=False))
        return {"format": FORMAT, "version": VERSION, "definitions": DEFINITIONS} | plain
