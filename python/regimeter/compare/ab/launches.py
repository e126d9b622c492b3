# SPDX-License-Identifier: Apache-2.0
"""Launching a program under ``regimeter record``, with its output kept for when it fails."""

import contextlib
import glob
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any

from ... import _core
from ...public.run import load
from ...system import python_command

if TYPE_CHECKING:
    from ...public.run import Run

FREQUENCIES = "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq"
TAIL = 20  # lines of a failed program that are shown
STEP_S = 0.05
PATIENCE_S = 5.0
TURN_S = 0.002  # benchmarks/gate/RESULTS.md
LIMIT_S = 20.0  # a program that waits so long for its turn goes on without
LEAST_TURNS = 3  # one of each side, and one more begun


@dataclass(frozen=True, slots=True)
class Command:
    """What to run. interpreter: Python with its options; program: SCRIPT | -m MODULE | -c CODE, and its arguments."""

    interpreter: tuple[str, ...]
    program: tuple[str, ...]
    directory: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, words: Sequence[str], directory: str | None = None, **environment: str) -> "Command":
        """Split a command line. A bare ``python`` is the interpreter that runs us; ValueError without a program."""
        first, options, program = python_command.split(words)
        if not program:
            raise ValueError(f"{shlex.join(words)!r} names no program: SCRIPT, -m MODULE or -c CODE")
        interpreter = first if os.sep in first else sys.executable
        return cls((interpreter, *options), tuple(program), directory, environment)

    @property
    def text(self) -> str:
        """The command as one would type it."""
        return shlex.join(self.program if self.program[0][:1] != "-" else ("python", *self.program))

    @property
    def name(self) -> str:
        """What ``regimeter record`` calls the program when it has no scopes."""
        first = self.program[0]
        if first[:2] == "-m":
            return first[2:] or (self.program[1] if len(self.program) > 1 else "")
        return "-c" if first[:2] == "-c" else os.path.basename(first)

    def recorded(self, file: str, *options: str) -> list[str]:
        """Return the command line that records it into a file."""
        record = ["-m", "regimeter", "record", "--quiet", *options, "-o", os.path.abspath(file), "--"]
        return [*self.interpreter, *record, *self.program]


class LaunchError(Exception):
    """A program that did not end well: `code` is its exit code, negative for the signal that ended it."""

    def __init__(self, message: str, code: int, tail: str) -> None:
        super().__init__(message)
        self.code, self.tail = code, tail


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch that has ended well."""

    run: "Run"
    seconds: float
    frequency_khz: float | None


@contextlib.contextmanager
def _on(cpus: frozenset[int]) -> Iterator[None]:
    """Let what this thread starts run on these processors only; an empty set leaves it all."""
    if not cpus:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@dataclass(slots=True)
class _Started:
    """A program that runs. ended: when, and with which code."""

    command: Command
    file: str
    log: str
    process: "subprocess.Popen[bytes]"
    start: float
    end: float = 0.0
    code: int | None = None
    frequencies: list[float] = field(default_factory=list)

    def look(self, seconds: float) -> bool:
        """Wait so long at most for its end; note the frequency of the processor."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.code = self.process.wait(seconds)
            self.end = time.monotonic()
            return True
        frequency = frequency_khz()
        if frequency is not None:
            self.frequencies.append(frequency)
        return False

    def result(self) -> Launch:
        """Read what it recorded. LaunchError where it ended with another code than 0."""
        if self.code:
            how = f"exit code {self.code}" if self.code > 0 else f"signal {signal.Signals(-self.code).name}"
            raise LaunchError(f"`{self.command.text}` ended with {how}", self.code, _tail(self.log))
        os.unlink(self.log)
        frequency = median(self.frequencies) if self.frequencies else None
        return Launch(load(self.file), self.end - self.start, frequency)


def _start(
    command: Command, file: str, options: Sequence[str], cpus: frozenset[int], descriptors: Sequence[int] = ()
) -> _Started:
    log = f"{os.path.splitext(file)[0]}.log"
    start = time.monotonic()
    with open(log, "wb") as output, _on(cpus):
        process = subprocess.Popen(
            command.recorded(file, *options), stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            cwd=command.directory, env={**os.environ, **command.environment}, pass_fds=descriptors,
        )  # fmt: skip
    return _Started(command, file, log, process, start)


def launch(command: Command, file: str, *options: str, cpus: frozenset[int] = frozenset()) -> Launch:
    """Run the command to its end and read what it recorded.

    cpus: the processors that it may run on, all without any. LaunchError when it ends with another code than 0. On
    KeyboardInterrupt the program is told and waited for.
    """
    started = _start(command, file, options, cpus)
    try:
        while not started.look(STEP_S):
            pass
    except BaseException:
        _end(started.process)
        raise
    return started.result()


@dataclass(frozen=True, slots=True)
class Taken:
    """How two programs took turns. turns: begun by both. unlike: why they did not do so, '' where they did. apart:
    whether nothing of one ran beside the other, in turn or one after the other."""

    turns: int
    unlike: str = ""
    apart: bool = True

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> "Taken":
        """Read a table of turns."""
        turns = int(facts["turns"])
        if not all(facts["joined"]):
            which = "one of the programs" if any(facts["joined"]) else "the program"
            return cls(turns, f"{which} makes no profiler", apart=False)
        if facts["overlapped"]:
            return cls(turns, f"no outermost block ended for {LIMIT_S:g} s", apart=False)
        if facts["device"]:
            return cls(turns, "it works on a device")
        if facts["threads"]:
            return cls(turns, "its outermost blocks end in several threads")
        return cls(turns, "" if turns > LEAST_TURNS else "it ends within its first turn")


def launch_in_turns(
    commands: Mapping[str, Command],
    files: Sequence[str],
    options: Sequence[str],
    first: int,
    cpus: frozenset[int] = frozenset(),
    turn_s: float = TURN_S,
) -> tuple[list[Launch], Taken]:
    """Run two commands, by their labels, in turn to their ends; read what they recorded, and how they took turns.

    first: the place of which begins. LaunchError, with the label, and KeyboardInterrupt as of `launch`; the other
    program is ended then.
    """
    table = _core.turns_new(first, round(turn_s * 1e9), round(LIMIT_S * 1e9))
    running: list[_Started] = []
    try:
        for side, (command, file) in enumerate(zip(commands.values(), files, strict=True)):
            running.append(_start(command, file, (*options, "--turns", f"{table},{side}"), cpus, (table,)))
        while any(one.code is None for one in running):
            for side, one in enumerate(running):
                if one.code is None and one.look(STEP_S / 2):
                    _core.turns_leave(table, side)
                    if one.code:
                        _end_all(running, table)
        taken = Taken.of(_core.turns_read(table))
    except BaseException:
        _end_all(running, table)
        raise
    finally:
        os.close(table)
    made: dict[str, Launch] = {}
    for label, one in sorted(zip(commands, running, strict=True), key=lambda row: (not row[1].code, row[1].end)):
        try:
            made[label] = one.result()
        except LaunchError as error:
            raise LaunchError(f"{label}: {error}", error.code, error.tail) from None
    return [made[label] for label in commands], taken


def _end_all(running: Sequence[_Started], table: int) -> None:
    """End what still runs; nobody waits for a turn any more."""
    for side in range(len(running)):
        _core.turns_leave(table, side)
    for one in running:
        if one.code is None:
            _end(one.process)
            one.code, one.end = one.process.wait(), time.monotonic()


def frequency_khz() -> float | None:
    """Return the highest frequency of a processor core, None where the system does not tell (most virtual machines)."""
    values = []
    for path in glob.glob(FREQUENCIES):
        with contextlib.suppress(OSError, ValueError), open(path) as file:
            values.append(float(file.read()))
    return max(values, default=None)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End the program as Ctrl-C does, which has not reached it where there is no terminal; by force if need be."""
    for number in (signal.SIGINT, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE_S)
            return


def _tail(log: str) -> str:
    with contextlib.suppress(OSError), open(log, "rb") as file:
        file.seek(max(0, os.path.getsize(log) - 20_000))
        return "\n".join(file.read().decode(errors="replace").splitlines()[-TAIL:])
    return ""
