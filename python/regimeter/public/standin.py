# SPDX-License-Identifier: Apache-2.0
"""The profiler of a program that has none, so that ``regimeter record`` sees where any program is.

It records one scope, the program, with the call stacks of its threads, its structure and the kernels that it launches.
The first profiler that the program makes takes its place: it goes on with that recording, in which there is no scope of
the program any more, or begins the file anew where it asks for what a session cannot learn on its way. When the program
closes it and goes on, another one stands in. Processes that multiprocessing or loky spawns, those that a server of
multiprocessing forks, and those that torchrun or accelerate starts, have one too.
"""

import atexit
import contextlib
import gc
import os
import sys
import threading
from typing import Any

from ..capture import lifetime, recording
from ..profiler import GPUProfiler


class StandIn:
    """What stands in for the program's profilers, one recording after the other."""

    def __init__(self) -> None:
        self._profiler: GPUProfiler | None = None
        self._scope: Any = None
        self._process = 0  # that has begun the scope; one that the program forks has a recording, and not this scope
        self._follows: GPUProfiler | None = None  # that of the program, which nobody else may hold
        self._over = False

    def begin(self, told: dict[str, Any], *, may_be_nothing: bool = False, standing_in: bool | str = True) -> bool:
        """Record; `may_be_nothing`: only for kernels, where these can be had. Return whether it does."""
        recording.standing_in = standing_in
        try:
            profiler = GPUProfiler()
        except BaseException:
            recording.standing_in = False  # the next one is the program's own
            raise
        if may_be_nothing and not profiler._devices.kernels.may_run:  # the reason stays in the file
            profiler.close()
            recording.standing_in = False
            recording.give_back()
            return False
        self._profiler = profiler
        self._scope = profiler.profile(_name(told), device="cpu")
        self._scope.__enter__()
        self._process = os.getpid()
        recording.stand_in(self)
        return True

    def look(self) -> None:
        """Look for kernels, for the last time before the program: what it misses is counted from here."""
        if self._profiler is not None:
            self._profiler._devices.kernels.look()

    def _leave(self) -> GPUProfiler | None:
        profiler, self._profiler = self._profiler, None
        recording.standing_in = False
        return profiler

    def profiler(self) -> GPUProfiler | None:
        """As of ``recording.StandIn``."""
        return self._profiler

    def hand_over(self) -> GPUProfiler | None:
        """As of ``recording.StandIn``."""
        profiler = self._follows = self._leave()
        if profiler is not None and os.getpid() == self._process:
            self._scope._forget()
        self._scope = None
        return profiler

    def give_way(self) -> None:
        """As of ``recording.StandIn``."""
        profiler, self._scope = self._leave(), None
        if profiler is not None:
            profiler.close()
            recording.give_back()

    def come_back(self) -> None:
        """As of ``recording.StandIn``."""
        self._follows = None
        over = self._over or lifetime.ending or os.getpid() != self._process or not recording.may_have_more()
        if over or self._profiler is not None or threading.current_thread() is not threading.main_thread():
            return
        with contextlib.suppress(Exception):  # the program must go on all the same
            self.begin(recording.options(), standing_in=recording.AGAIN)

    def end(self) -> None:
        """End the scope of the program, at its end."""
        self._over = True
        if self._profiler is None:
            return
        failure = getattr(sys, "last_value", None)  # of an exception that nobody caught
        gc.unfreeze()
        if os.getpid() == self._process:
            self._scope.__exit__(type(failure) if failure is not None else None, failure, None)
        self._profiler.close()


def begin(spawned: bool = False, forked: bool = False) -> None:
    """Begin, if `regimeter record` asks this process, the program itself or one `spawned` for it, or `forked` by a
    server, for stacks, structure or kernels."""
    told = recording.options()
    owner = recording.is_owner()
    kernels = owner and recording.may_have_kernels(told)
    anything = (told.get("stacks") or told.get("structure")) and (owner or spawned or forked or recording.is_launched())
    if not kernels and not anything:
        return
    place = StandIn()
    if not place.begin(told, may_be_nothing=not anything):
        return
    if not forked:  # the program has not begun: its collections need not look through what is there before it
        gc.freeze()
    place.look()
    atexit.register(place.end)


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
