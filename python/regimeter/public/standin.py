# SPDX-License-Identifier: Apache-2.0
"""The profiler of a program that has none, so that ``regimeter record`` sees where any program is.

It records one scope, the program, with the call stacks of its threads, its structure and the kernels that it launches.
The first profiler that the program makes takes its place and its file. Processes that multiprocessing or loky spawns,
those that a server of multiprocessing forks, and those that torchrun or accelerate starts, have one too.
"""

import atexit
import gc
import os
import sys
from typing import Any

from ..capture import recording
from ..profiler import GPUProfiler

_profiler: GPUProfiler | None = None
_scope: Any = None
_process = 0  # that has begun it; one that the program forks has a recording, and not this scope


def begin(spawned: bool = False, forked: bool = False) -> None:
    """Begin, if `regimeter record` asks this process, the program itself or one `spawned` for it, or `forked` by a
    server, for stacks, structure or kernels."""
    global _profiler, _scope, _process
    told = recording.options()
    owner = recording.is_owner()
    kernels = owner and recording.may_have_kernels(told)
    anything = (told.get("stacks") or told.get("structure")) and (owner or spawned or forked or recording.is_launched())
    if not kernels and not anything:
        return
    recording.standing_in = True
    profiler = GPUProfiler()
    if not anything and not profiler._devices.kernels.may_run:  # nothing to stand in for; the reason stays in the file
        profiler.close()
        recording.standing_in = False
        recording.give_back()
        return
    _profiler = profiler
    if not forked:  # the program has not begun: its collections need not look through what is there before it
        gc.freeze()
    _scope = profiler.profile(_name(told), device="cpu")
    _scope.__enter__()
    _process = os.getpid()
    profiler._devices.kernels.look()  # the last look before the program: what it misses is counted from here
    recording.on_next_file(give_way)
    atexit.register(end)


def begin_in_forks() -> None:
    """Begin in each process that this one, multiprocessing's server of forks, forks; it records nothing itself."""
    server = os.getpid()

    def begin_in_fork() -> None:
        if os.getppid() == server:  # what a forked process forks has its recording from that
            begin(forked=True)

    os.register_at_fork(after_in_child=begin_in_fork)


def _name(told: dict[str, Any]) -> str:
    """Return what the program is called: its own file or module where a launcher has started it."""
    if not recording.is_launched():
        return str(told.get("program", "program"))
    program = sys.orig_argv[len(sys.orig_argv) - len(sys.argv) :][:1]  # a file, or a module behind "-m"
    return os.path.basename("".join(program)).removeprefix("-m") or "program"


def give_way() -> None:
    """Leave the place and the file to a profiler of the program."""
    global _profiler, _scope
    profiler, _profiler, _scope = _profiler, None, None
    if profiler is not None:
        profiler.close()
        recording.standing_in = False
        recording.give_back()


def end() -> None:
    """End the scope of the program, at its end."""
    if _profiler is not None:
        failure = getattr(sys, "last_value", None)  # of an exception that nobody caught
        gc.unfreeze()
        if os.getpid() == _process:
            _scope.__exit__(type(failure) if failure is not None else None, failure, None)
        _profiler.close()
