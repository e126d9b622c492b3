# SPDX-License-Identifier: Apache-2.0
"""What to try, from what was found of a compiled function."""

import math

from .compile_report import CompileBreak, CompiledFrame, CompileReport, Recompile

LONG_COMPILE_MS = 30_000.0
LITTLE, MUCH, MUCH_FUSED = 1.2, 2.0, 2.0  # speed-ups, and a ratio, of which the report says something
TOLERANCE = 1e-3  # of the largest value: beyond it a difference is pointed out


def recommendations(report: CompileReport) -> list[str]:
    """Return what to try, from what was found; a difference that the pairs do not show is said to be none."""
    if report.error:
        return [f"The backend failed, and nothing was compiled: {report.error.splitlines()[0]}"]
    found = [
        f"{_place(one)}: {one.reason}. {one.suggestion}" for one in sorted(report.graph_breaks, key=lambda b: -b.count)
    ]
    found += [f"{_place(one)}: compiled again because {one.guard}; mark what changes as dynamic" for one in
              report.recompiles]  # fmt: skip
    found += [f"{_place(one)}: {one.function} was not compiled: {one.error}" for one in report.frames if one.error]
    if report.verdict == "regression":
        found.append(f"Compiled calls are slower ({report.speedup:.2f}x): leave this part as it is.")
    elif report.verdict == "no_change" or report.speedup < LITTLE:
        found.append(f"Compiled calls are hardly faster ({report.speedup:.2f}x): look for breaks, or at a larger part.")
    elif report.speedup >= MUCH:
        found.append(f"Compiled calls are {report.speedup:.2f}x as fast: keep it.")
    if report.fusion_ratio > MUCH_FUSED:
        found.append(f"{report.ops_before_fusion} operators became {report.ops_after_fusion} calls.")
    if report.compile_time_ms > LONG_COMPILE_MS:
        calls = "" if math.isnan(report.break_even_calls) else f" {report.break_even_calls:,.0f} calls pay for it;"
        found.append(f"Compiling takes {report.compile_time_ms / 1e3:.0f} s:{calls} keep the cache folder.")
    if report.mismatch:
        found.append(f"The results differ: {report.mismatch}.")
    elif report.max_rel_difference > TOLERANCE:
        found.append(
            f"The results differ by {report.max_rel_difference:.2g} of their size: check whether that matters."
        )
    return list(dict.fromkeys(found))  # ranks say the same


def _place(one: CompileBreak | Recompile | CompiledFrame) -> str:
    return f"{one.location}:{one.line_number}" if one.line_number is not None else one.location or "unknown place"
