# SPDX-License-Identifier: Apache-2.0
"""The recordings of one program's processes as one run: its own, and those of what it has forked or spawned."""

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from .rebuild import build, tables_of

if TYPE_CHECKING:
    from ..public.run import Run

NOT_STATED = {"device": -1, "rank": -1}  # of a lane; other columns are 0
OF_MACHINE = ("processors", "busy_ns")  # of a process's pressure: told once, by the program


def program_of(run: "Run") -> tuple[int, str] | None:
    """Return what the recordings of one program's processes have in common; None where a run is of no such program."""
    return stated_program(run.environment)


def stated_program(environment: dict[str, Any]) -> tuple[int, str] | None:
    """Return the process that `regimeter record` has started and the name of its file, as an environment states it."""
    stated = environment.get("recorded_program")
    if not isinstance(stated, dict):
        return None
    process, file = stated.get("process"), stated.get("file")
    return (process, file) if type(process) is int and isinstance(file, str) else None


def process_of(run: "Run") -> int:
    """Return the process that a recording is of, -1 where it does not say.

    A forked one that was killed has its parent's environment: its own threads tell, the first of which has its number.
    """
    columns = (run.lanes.column(name).tolist() for name in ("process", "device"))
    lanes = [process for process, device in zip(*columns, strict=True) if device < 0]
    stated, threads = run.environment.get("pid"), run.samples.column("thread").tolist()
    if lanes:
        return int(lanes[0])
    return int(threads[0]) if threads and stated not in threads else stated if type(stated) is int else -1


def launch_of(run: "Run") -> str:
    """Return what tells one launch of a program from every other: when its recording began, its process and host; ''
    where the run does not say. Copies of a recording, and what was exported of it, are of the same launch."""
    process, began = run.environment.get("pid"), run.start_unix_ns
    if type(process) is not int or began is None:
        return ""
    own = process_of(run)  # a forked one that was killed has its parent's environment
    return f"{began}:{process}:{own if own > 0 else process}@{run.environment.get('host', '')}"


def merge_processes(runs: Sequence["Run"]) -> "Run":
    """Return the recordings of one program's processes as one run on the clock of the first, which they share.

    The process that was started first comes first, and is the program: its environment and its looks at the machine are
    the run's; each process has its own pressure. Each thread with samples gets a lane of its process. Of several
    recordings of one process at a time the samples of the first count. Whether it is complete is what the program's own
    recording says: a pool ends its processes by a signal. The runs are left as they are. ValueError when there is none.
    """
    owner = next((program[0] for run in runs if (program := program_of(run))), -1)
    ordered = sorted(runs, key=lambda run: (process_of(run) != owner, run.start_ns))
    until: dict[int, int] = {}  # when what was recorded of a process ends
    parts: list[Run] = []
    for run in ordered:
        process, first = process_of(run), not parts
        of_program = first or process == process_of(ordered[0])
        without: tuple[str, ...] = () if of_program else ("witness",)
        if run.start_ns < until.get(process, run.start_ns):
            without = ("witness", "pressure", "samples", "stacks")
        elif len(run.samples) or len(run.table("pressure")):
            until[process] = run.end_ns
        unknown = () if of_program else OF_MACHINE
        parts.append(_with_lanes(run, without, unknown, complete=run.complete or not first))
    if not parts:
        raise ValueError("there is no run to merge")
    return type(parts[0])._merge(parts, [0] * len(parts), True)


def with_scope(run: "Run", name: str, flags: int) -> "Run":
    """Return a copy of a run without scopes that has one of all its time, on the first thread that was sampled."""
    laned = _with_lanes(run, (), (), complete=run.complete)
    threads, process = laned.lanes.thread.tolist(), process_of(run)
    tables, strings = tables_of(laned), laned.strings
    tables["spans"] = {
        "start_ns": array("q", [run.start_ns]),
        "duration_ns": array("q", [run.end_ns - run.start_ns]),
        "name": array("I", [len(strings)]),
        "lane": array("I", [threads.index(process) if process in threads else 0]),
        "flags": array("I", [flags]),
    }
    return build(laned, [*strings, name], tables)


def with_sampled_lanes(run: "Run") -> "Run":
    """Return a run in which each sampled thread has a lane, which says whose it is beside the threads of others: a copy
    where one had none."""
    if process_of(run) < 0 or not len(run.samples) or -1 not in run.samples.column("lane").tolist():
        return run
    return _with_lanes(run, (), (), complete=run.complete)


def _with_lanes(run: "Run", without: tuple[str, ...], unknown: tuple[str, ...], *, complete: bool) -> "Run":
    """Return a copy without some tables and columns of its pressure, in which each sampled thread has a lane."""
    tables = {name: columns for name, columns in tables_of(run).items() if name not in without}
    process, samples, pressure = process_of(run), tables.get("samples"), tables.get("pressure")
    known = run.lanes.thread.tolist()
    if pressure is not None and process >= 0:
        tables["pressure"] = {name: column for name, column in pressure.items() if name not in unknown}
    if samples is not None and process >= 0:
        missing = sorted({t for t, lane in _pairs(samples) if lane < 0})
        first = len(known)
        places = {thread: first + place for place, thread in enumerate(missing)}
        samples["lane"] = array("i", [places[t] if lane < 0 else lane for t, lane in _pairs(samples)])
        strings = [*run.strings, "MainThread"]
        added = {
            "process": [process] * len(missing),
            "thread": missing,
            "rank": (run.lanes.column("rank").tolist()[:1] or [-1]) * len(missing),
            "name": [len(strings) - 1 if thread == process else 0 for thread in missing],
        }
        tables["lanes"] = _appended(run, added, len(missing))
        return build(run, strings, tables, complete=complete)
    return build(run, run.strings, tables, complete=complete)


def _pairs(samples: dict[str, Any]) -> list[tuple[int, int]]:
    return list(zip(samples["thread"].tolist(), samples["lane"].tolist(), strict=True))


def _appended(run: "Run", added: dict[str, list[int]], count: int) -> dict[str, Any]:
    """Return the columns of the lanes with rows of host threads more."""
    import numpy as np

    columns = {}
    for described in _core.schema()["run"]["lanes"]["columns"]:
        name = described["name"]
        rows = added.get(name, [NOT_STATED.get(name, 0)] * count)
        columns[name] = np.append(getattr(run.lanes, name), rows).astype(described["dtype"])
    return columns
