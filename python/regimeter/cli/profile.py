# SPDX-License-Identifier: Apache-2.0
"""``regimeter profile``: run a torch program under torch.profiler, keep its trace, say what stands out."""

import argparse
import math
from typing import TYPE_CHECKING

from ..run.summary_text import anomaly_lines
from ..suite import UnifiedProfiler
from ..system.text import UNAVAILABLE, duration, printable, shorten
from .common import declare_in_process, tell_in_process
from .in_process import name_of, run_program

if TYPE_CHECKING:
    from ..suite import ProfileSession
    from .common import Verbs

USAGE = "regimeter profile [-o DIR] [options] [--] (SCRIPT | -m MODULE) [ARGS ...]"
TOP = 10


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    parser = declare_in_process(
        verbs,
        common,
        "profile",
        run,
        usage=USAGE,
        description="Run the program in this process under torch.profiler, and keep trace and flame graph in DIR."
        " `regimeter record` records any program, at less cost and without a trace of every operator.",
    )
    parser.add_argument("-o", "--output", metavar="DIR", default="profiles", help="default: profiles")
    parser.add_argument("--no-memory", action="store_true", help="record no allocations")
    parser.add_argument("--disk-budget-mb", metavar="MB", type=float, help="keep no more than this")


def run(arguments: argparse.Namespace) -> int:
    """Run the program and report; the exit code is the program's."""
    name = name_of(arguments.program)
    profiler = UnifiedProfiler(
        arguments.output,
        enable_memory=not arguments.no_memory,
        with_stack=not arguments.no_stack,
        with_modules=not arguments.no_stack,
        disk_budget_mb=arguments.disk_budget_mb,
    )
    code = run_program(arguments.program, profiler.profile(name))
    session = profiler.sessions[-1]
    tell_in_process(arguments, session.to_dict, lambda: text(session))
    return code


def text(session: "ProfileSession") -> str:
    """Return the session for a terminal."""

    def ms(value: float) -> str:
        return UNAVAILABLE if math.isnan(value) else duration(value)

    peak = UNAVAILABLE if math.isnan(session.peak_memory_mb) else f"{session.peak_memory_mb:,.1f} MB"
    lines = [
        (
            f"{printable(session.name)}: {ms(session.total_time_ms)}, device {ms(session.cuda_time_ms)}, processors"
            f" {ms(session.cpu_time_ms)}, peak memory {peak}"
        )
    ]
    lines += [f"  {name}: unavailable: {printable(why)}" for name, why in session.unavailable.items()]
    added = session.inflation.get("share")
    if added is not None:
        lines.append(f"  the profiler added about {session.inflation['added_ms']:,.1f} ms, {added:.1%} of it")
    rows = [(kernel.cuda_time_us, kernel.call_count, kernel.name) for kernel in session.kernels]
    title = "Kernels with most time"
    if not rows:
        title = "Operators with most time of their own"
        rows = [(row["self_ns"] / 1e3, row["calls"], row["name"]) for row in session.operators]
    if rows:
        lines += ["", title]
        lines += [f"  {duration(us / 1e3):>8} {count:>9,}  {shorten(name, 80)}" for us, count, name in rows[:TOP]]
    for title, found in (("Bottlenecks", session.bottlenecks), ("What to try", session.recommendations)):
        lines += ["", title, *(f"  {printable(line)}" for line in found)] if found else []
    paths = (session.trace_path, session.flame_graph_path, session.memory_snapshot_path)
    files = [str(path) for path in paths if path is not None]
    if files:
        lines += ["", *files]
    if session.anomalies:
        lines += ["", *anomaly_lines(session.anomalies)]
    return "\n".join(lines)
