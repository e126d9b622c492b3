# SPDX-License-Identifier: Apache-2.0
"""What ``regimeter record`` tells the program that it runs, and which file each profiler of it writes.

The first profiler of the program that names no file of its own writes RUN, the next ones RUN.2, RUN.3 and so on
(MAX_FILES in all, further ones stay in memory). While the program has none, one stands in for it
(:mod:`regimeter.public.standin`), whose place and file the next one takes. In a process that the program has forked or
spawned the process id is appended: RUN.PID, RUN.2.PID; of a rank that torchrun has started its number: RUN.rank0.
A profiler that exists at a fork follows the same rule in the child.
"""

import contextlib
import json
import os
import re
from typing import TYPE_CHECKING, Any, Protocol

from .. import _core
from ..system import gpus

if TYPE_CHECKING:
    from ..profiler import GPUProfiler

FILE = "REGIMETER_RECORD"
OWNER = "REGIMETER_RECORD_OWNER"
OPTIONS = "REGIMETER_RECORD_OPTIONS"
LAUNCHER = "REGIMETER_RECORD_LAUNCHER"  # process id of a recorded torchrun, or what else starts programs
TURNS = "turns"
AWAITED = "auto"  # of kernels: from the program's first use of CUDA on
MAX_FILES = 16

AGAIN = "again"
# Whether a profiler that is made now stands in for one of the program; AGAIN, after one of it has been closed.
standing_in: bool | str = False
_taken = 0
_standing: "StandIn | None" = None
_joined = False


class StandIn(Protocol):
    """What stands in for a profiler of the program."""

    def profiler(self) -> "GPUProfiler | None":
        """Return its profiler; None where it has gone already."""

    def hand_over(self) -> "GPUProfiler | None":
        """Return its profiler, which becomes that of the program and goes on; None where it has gone already."""

    def give_way(self) -> None:
        """End its recording, whose file is handed out again."""

    def come_back(self) -> None:
        """Stand in again, for a program that has closed its profiler and goes on."""


def stand_in(place: StandIn) -> None:
    """Let it make way, or hand over, when the next profiler of the program is made."""
    global _standing
    _standing = place


def stand_in_profiler() -> "GPUProfiler | None":
    """Return the profiler that stands in for the program's next one, and goes on doing so; None for none."""
    return _standing.profiler() if _standing is not None else None


def standing() -> StandIn | None:
    """Return what stands in, once: to the profiler that takes its place."""
    global _standing
    found, _standing = _standing, None
    return found


def make_room() -> StandIn | None:
    """Return what has stood in and has given way to a profiler that records anew; None for nothing."""
    place = standing()
    if place is not None:
        place.give_way()
    return place


def next_file() -> str | None:
    """Return the file for one more profiler of this process, None when it should record in memory."""
    global _taken
    run = os.environ.get(FILE)
    if not run or not may_have_more():
        return None
    # Set by `regimeter record`; where the user has set FILE by hand, the first process to come here owns it.
    if not os.environ.get(OWNER, "").endswith(f" {run}"):
        os.environ[OWNER] = owner_of(run)
    _taken += 1  # inherited by a fork, so that a child does not take a name of a profiler it has inherited
    name = run if _taken == 1 else f"{run}.{_taken}"
    if os.environ[OWNER] == owner_of(run):
        return name
    return f"{name}.{_part()}"


def _part() -> str:
    """Return what tells the recordings of a program's processes apart; those that a rank starts belong to it."""
    if rank() is None or LAUNCHER not in os.environ or not _is_first_attempt():
        return str(os.getpid())
    return f"rank{rank()}" if is_launched() else f"rank{rank()}.{os.getpid()}"


def may_have_kernels(told: dict[str, Any]) -> bool:
    """Return whether kernels are asked for, and where only their first use brings them whether a device can turn up."""
    asked = told.get("profile_kernels", False)
    return bool(asked) and (asked != AWAITED or gpus.possible())


def rank() -> int | None:
    """Return the rank of this process in a job of torchrun, None in no job."""
    text = os.environ.get("RANK", "")
    return int(text) if text.isascii() and text.isdigit() else None


def is_launched() -> bool:
    """Return whether a recorded torchrun, or what else starts programs, has started this one, at its first attempt."""
    return os.environ.get(LAUNCHER) == str(os.getppid()) and _is_first_attempt()


def _is_first_attempt() -> bool:
    return os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0"


def is_owner() -> bool:
    """Return whether this is the process that `regimeter record` started."""
    run = os.environ.get(FILE)
    return bool(run) and os.environ.get(OWNER) == owner_of(str(run))


def may_have_more() -> bool:
    """Return whether there is a file for one more profiler."""
    return _taken < MAX_FILES


def give_back() -> None:
    """Hand the last file out again."""
    global _taken
    _taken -= 1


def take_turns() -> None:
    """Join the other program of a pair where `regimeter ab` runs both in turn; waits for the first turn."""
    global _joined
    turns = options().get(TURNS)
    if _joined or not isinstance(turns, list) or not is_owner():
        return
    _joined = True
    # Without it both run at the same time, which who has started them sees.
    with contextlib.suppress(_core.Error, OSError, ValueError):
        _core.turns_join(*turns)
        os.close(turns[0])


def describe() -> dict[str, Any]:
    """Return what a recording's environment says of the program that `regimeter record` runs: the id of the process
    that it has started, the same in the recordings of all its processes, the name of RUN, and whether that program has
    launched this one, as torchrun does. Empty without one.
    """
    run = os.environ.get(FILE)
    owner = os.environ.get(OWNER, "").partition(" ")[0]
    if not run or not (owner.isascii() and owner.isdigit()):
        return {}
    launched = {"launched": True} if is_launched() else {}
    return {"recorded_program": {"process": int(owner), "file": os.path.basename(run), **launched}}


def owner_of(run: str) -> str:
    """Return the value of OWNER by which this process owns the file: its names carry no process id."""
    return f"{os.getpid()} {run}"


def options() -> dict[str, Any]:
    """Return what `regimeter record` was told, as keywords of GPUProfiler, each only if given."""
    try:
        found = json.loads(os.environ.get(OPTIONS) or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def files_beside(file: str) -> dict[str, int]:
    """Return the files RUN.N, RUN.PID, RUN.N.PID, RUN.rankN, RUN.rankN.PID and their .unfinished-N, which exec leaves,
    with the last change. What only has such a name, as the recording of another program called RUN.10, is none."""
    folder, base = os.path.split(file)
    form = re.compile(re.escape(base) + r"(\.\d+){0,2}(\.rank\d+(\.\d+){0,2})?(\.unfinished-\d+)?")
    found = {}
    with contextlib.suppress(FileNotFoundError):  # the program may have removed the folder
        for entry in os.scandir(folder or "."):
            if form.fullmatch(entry.name) and entry.name != base:
                with contextlib.suppress(OSError):
                    if entry.is_file() and _may_be_of(entry.path, base):
                        found[os.path.join(folder, entry.name)] = entry.stat().st_mtime_ns
    return found


def _may_be_of(path: str, base: str) -> bool:
    """Return whether a file is a recording of a program that was recorded as `base`, or does not say yet of which."""
    # 15 ms, for programs that leave more files than one.
    from ..run import blocks, processes
    from ..run.inputs import is_recording

    with open(path, "rb", buffering=0) as file:
        head = os.pread(file.fileno(), blocks.FILE_HEAD + blocks.BLOCK_HEAD.size, 0)
        if head and not is_recording(head):
            return False
        stated = blocks.environment(file.fileno())
    program = None if stated is None else processes.stated_program(stated)
    return stated is None or (program is not None and program[1] == base)
