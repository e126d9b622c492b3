# SPDX-License-Identifier: Apache-2.0
"""Running a program as a child that behaves as if it had been started without us.

The child is ``python script.py ...`` itself: no code of ours runs in it before the program, but for
``bootstrap/sitecustomize.py``. So its frames, ``__main__``, paths and random numbers
are its own. Standard streams are inherited. The supervisor only waits, passes signals on and reads the child's
resident set from /proc.

Signals: with a terminal the child stays in our process group, so job control works as ever; what the terminal
sends to the whole group has reached the child already and is not passed on, what is sent to us is. Without a
terminal the child gets a group of its own, so that a signal to our group, which comes to us, comes to it once too.

What is imported here and in `reservation` is imported before the program begins, hence no dataclasses: with what they
import they take as long as Python's own start.
"""

import contextlib
import os
import resource
import signal
import sys
import time
from array import array
from collections.abc import Callable, Mapping
from typing import NamedTuple

from .. import _core
from ..capture import recording
from ..system.memory import Resident

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
CANNOT_START = 127
MAX_SAMPLES = 200_000
HEARTBEAT_NS = 100_000_000
SELDOM_NS = 1_000_000_000
ECHO_S = 1.0
REST_S = 3600.0  # without samples of memory


class MemorySamples:
    """Resident set of the child over time: a value when it has changed, at the latest after HEARTBEAT_NS.

    interval_ns: between two looks. longest_ns: the longer the child has run, the rarer they come, up to this far apart:
    where a profiler in the program looks too, they serve only what that could not keep.
    """

    __slots__ = ("bytes", "interval_ns", "longest_ns", "time_ns")

    def __init__(self, interval_ns: int, longest_ns: int = 0) -> None:
        self.time_ns, self.bytes = array("q"), array("q")
        self.interval_ns, self.longest_ns = interval_ns, longest_ns

    def pause_s(self) -> float:
        """Return how long until the next look: the interval, or a tenth of the time so far where that is more."""
        if self.interval_ns <= 0:
            return REST_S
        tenth_ns = (self.time_ns[-1] - self.time_ns[0]) // 10 if self.time_ns else 0
        return max(self.interval_ns, min(tenth_ns, self.longest_ns)) / 1e9

    def add(self, now_ns: int, resident: int) -> None:
        """Keep a value; a long run keeps every second one of what it has, and samples half as often from then on."""
        if self.bytes and self.bytes[-1] == resident and now_ns - self.time_ns[-1] < HEARTBEAT_NS:
            return
        self.time_ns.append(now_ns)
        self.bytes.append(resident)
        if len(self.bytes) >= MAX_SAMPLES:
            self.time_ns, self.bytes = self.time_ns[::2], self.bytes[::2]
            self.interval_ns *= 2


def beside_a_profiler() -> MemorySamples:
    """Return samples of a program whose own profiler reads its memory, too: a few a second are enough from here."""
    return MemorySamples(HEARTBEAT_NS, SELDOM_NS)


class Outcome(NamedTuple):
    """How the child ended: `code` is its exit code, `killed_by` the signal that ended it, 0 for none."""

    pid: int
    code: int
    killed_by: int
    start_ns: int
    end_ns: int
    start_unix_ns: int
    samples: MemorySamples
    supervisor_cpu_ns: int

    @property
    def failed(self) -> bool:
        """Whether the program ended by a signal or with a code other than 0."""
        return self.killed_by != 0 or self.code != 0


def run_child(
    command: list[str],
    environment: Mapping[str, str],
    samples: MemorySamples,
    started: Callable[[int], None] | None = None,
    taken: Mapping[int, Callable[[], None]] | None = None,
) -> Outcome:
    """Run the command to its end; the environment names the recording's file.

    samples: where the child's memory over time goes. started: called with the process id as soon as there is one; what
    it starts must leave signals alone. taken: of FORWARDED, the signals that are for us and not passed on, with what is
    called then.
    """
    own_group = not _has_terminal()
    sys.stdout.flush()
    sys.stderr.flush()
    inherited_child_action = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    waited = {*FORWARDED, signal.SIGCHLD}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, waited)
    cpu_ns, start_ns, start_unix_ns = time.process_time_ns(), time.monotonic_ns(), time.time_ns()
    supervisor = os.getpid()
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGCHLD, inherited_child_action or signal.SIG_DFL)
        owner = {recording.OWNER: recording.owner_of(environment[recording.FILE])}
        _become(command, {**environment, **owner}, own_group, mask, supervisor)
    try:
        if own_group:
            with contextlib.suppress(OSError):  # the child does it too; whoever comes first
                os.setpgid(pid, pid)
        if started is not None:
            started(pid)
        status = _wait(pid, waited, own_group, samples, taken or {})
        end_ns = time.monotonic_ns()
    finally:
        _ignore_echoes()
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return Outcome(
        pid=pid,
        code=os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 0,
        killed_by=os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
        start_ns=start_ns,
        end_ns=end_ns,
        start_unix_ns=start_unix_ns,
        samples=samples,
        supervisor_cpu_ns=time.process_time_ns() - cpu_ns,
    )


def end_like(outcome: Outcome) -> int:
    """Return the child's exit code, or end by the signal that ended the child, so that a shell sees the same."""
    if not outcome.killed_by:
        return outcome.code
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the child's core dump is the one that matters
    with contextlib.suppress(OSError, ValueError):
        signal.signal(outcome.killed_by, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {outcome.killed_by})
    os.kill(os.getpid(), outcome.killed_by)
    return 128 + outcome.killed_by  # the first process of a container is not ended by its own signals


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


def _become(
    command: list[str], environment: dict[str, str], own_group: bool, mask: set[int | signal.Signals], supervisor: int
) -> None:
    """Turn the forked child into the program; does not return."""
    try:
        _core.die_with_parent(signal.SIGKILL)
        if os.getppid() != supervisor:  # it ended before this was asked for
            os._exit(CANNOT_START)
        if own_group:
            os.setpgid(0, 0)
        # What our interpreter has changed for itself; what was ignored when we started stays ignored.
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        if callable(signal.getsignal(signal.SIGINT)):
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.execve(command[0], command, environment)
    except BaseException as error:
        os.write(2, f"regimeter: {command[0]}: cannot be started: {error}\n".encode(errors="replace"))
    os._exit(CANNOT_START)


def _wait(
    child: int,
    waited: set[signal.Signals],
    own_group: bool,
    samples: MemorySamples,
    taken: Mapping[int, Callable[[], None]],
) -> int:
    """Pass signals on and sample memory until the child has ended; return its status."""
    memory = Resident(child) if samples.interval_ns else None
    while True:
        if memory is not None:
            samples.add(time.monotonic_ns(), memory.read())
        told = _core.next_signal(waited, samples.pause_s())
        if told is None:
            continue
        number, code, sender = told
        if number == signal.SIGCHLD:
            status = _reap(child)
            if status is not None:
                return status
        elif number in taken:
            taken[number]()
        elif own_group or not _reached_group(number, code, sender):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, number)


def _reached_group(number: int, code: int, sender: int) -> bool:
    """Tell whether a signal came to the whole process group: from the terminal, or from the shell at its end."""
    from_kernel = code > 0
    from_shell = number == signal.SIGHUP and sender == os.getsid(0)
    return from_kernel or from_shell


def _reap(child: int) -> int | None:
    """Return the child's status if it has ended. Others are reaped too: in a container we may be the first process."""
    found = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        if pid == child:
            found = status


def _ignore_echoes() -> None:
    """From the child's end on: no signal for ECHO_S, which will have been meant for it; then any stops the report."""
    ended = time.monotonic()

    def stop(number: int, frame: object) -> None:
        if time.monotonic() - ended > ECHO_S:
            raise KeyboardInterrupt

    for number in FORWARDED:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop)
