# SPDX-License-Identifier: Apache-2.0
"""What ``regimeter record`` tells the program that it runs, and which file each profiler of it writes.

The first profiler of the program that names no file of its own writes RUN, the next ones RUN.2, RUN.3 and so on
(MAX_FILES in all, further ones stay in memory). In a process that the program has forked or spawned the process id
is appended: RUN.PID, RUN.2.PID. A profiler that exists at a fork follows the same rule in the child.
"""

import json
import os
from collections.abc import Callable
from typing import Any

FILE = "REGIMETER_RECORD"
OWNER = "REGIMETER_RECORD_OWNER"
OPTIONS = "REGIMETER_RECORD_OPTIONS"
MAX_FILES = 16

_taken = 0
_waiting: Callable[[], None] | None = None


def next_file() -> str | None:
    """Return the file for one more profiler of this process, None when it should record in memory."""
    global _taken, _waiting
    waiting, _waiting = _waiting, None
    if waiting is not None:
        waiting()
    run = os.environ.get(FILE)
    if not run or _taken >= MAX_FILES:
        return None
    # Set by `regimeter record`; where the user has set FILE by hand, the first process to come here owns it.
    if not os.environ.get(OWNER, "").endswith(f" {run}"):
        os.environ[OWNER] = owner_of(run)
    _taken += 1  # inherited by a fork, so that a child does not take a name of a profiler it has inherited
    name = run if _taken == 1 else f"{run}.{_taken}"
    return name if os.environ[OWNER] == owner_of(run) else f"{name}.{os.getpid()}"


def is_owner() -> bool:
    """Return whether this is the process that `regimeter record` started."""
    run = os.environ.get(FILE)
    return bool(run) and os.environ.get(OWNER) == owner_of(str(run))


def on_next_file(call: Callable[[], None]) -> None:
    """Call once, before the next file is handed out."""
    global _waiting
    _waiting = call


def give_back() -> None:
    """Hand the last file out again."""
    global _taken
    _taken -= 1


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
