# SPDX-License-Identifier: Apache-2.0
"""What verbs that read a run share: reading it, and saying in a line what it is."""

import contextlib
import shlex
import sys
from typing import Any

from ..capture import recording
from ..public.run import Run, load
from ..run import blocks, processes
from ..run.trace_facts import DAMAGE
from ..system.text import count, duration
from .progress import step

RUNS = "recording, saved run, exported JSON or trace; RUN* also has what its forked and spawned processes did"


def load_run(
    path: str | list[str], *, strict: bool = False, recover: bool = False, quiet: bool = False, told: bool = False
) -> Run:
    """Read a recording, a saved run, an exported file or a trace; say on standard error what of a trace is damaged, and
    how many recordings of the program's other processes lie beside its first.

    quiet: without progress and the line on other recordings. told: the verb prints the anomalies itself.
    """
    shown = path if isinstance(path, str) else f"{len(path)} files"
    with step(f"reading {shown}", quiet=quiet):
        run = load(path, strict, recover)
    if not told and len(run.tables.files) > 0:
        for row in run.anomaly_list():
            if row["code"] == "skipped_files" or row["code"] in DAMAGE:
                times = "" if isinstance(path, str) else f"{row['count']:,} {row['code']}: "
                print(f"regimeter: {shown}: {times}{row['detail']}", file=sys.stderr)
    others = 0 if quiet or not isinstance(path, str) else _others_beside(path, run)
    if others:
        what = f"{count(others, 'recording')} of its other processes beside it"
        print(f"regimeter: {shown}: {what}; {shlex.quote(shown)}* reads all as one run", file=sys.stderr)
    return run


def _others_beside(file: str, run: Run) -> int:
    """Return how many recordings of the program's other processes lie beside that of its first."""
    program = processes.program_of(run)
    if program is None or processes.process_of(run) != program[0]:
        return 0
    found = 0
    for other in recording.files_beside(file):
        with contextlib.suppress(OSError), open(other, "rb", buffering=0) as opened:
            found += processes.stated_program(blocks.environment(opened.fileno()) or {}) == program
    return found


def only(traces: str | list[str]) -> str | list[str]:
    """Return a single file as itself; several are the ranks of a job."""
    return traces[0] if isinstance(traces, list) and len(traces) == 1 else traces


def shown_name(files: list[str]) -> str:
    """Return what several files are called: the first, which is the program's own where RUN* was asked for."""
    return files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"


def run_line(run: Run) -> str:
    """Return one line about a run: scopes, operations, threads, duration."""
    parts = [count(len(run.entries), "scope"), count(len(run.summary), "operation"), count(len(run.lanes), "lane")]
    state = "" if run.complete else ", not closed by its program"
    lasted = duration(run.duration_ns / 1e6) if run.has_start_times else "no start times"
    return f"{', '.join(parts)}, {lasted}{state}"


def program_of(run: Run) -> str:
    """Return the command line of the recorded program, '' where it is not known."""
    command: Any = run.environment.get("command")
    return shlex.join(str(word) for word in command) if isinstance(command, list) else ""
