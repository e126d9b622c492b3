# SPDX-License-Identifier: Apache-2.0
"""Launching a program under ``regimeter record``, with its output kept for when it fails."""

import contextlib
import glob
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..trace import Run

PYTHON = re.compile(r"python(3(\.\d+)?)?")
VALUED = ("-X", "-W")
FREQUENCIES = "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq"
TAIL = 20  # lines of a failed program that are shown
STEP_S = 0.05
PATIENCE_S = 5.0


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
        rest, interpreter = list(words), [sys.executable]
        if rest and PYTHON.fullmatch(os.path.basename(rest[0])):
            first = rest.pop(0)
            interpreter = [first] if os.sep in first else interpreter
            while rest and rest[0].startswith("-") and rest[0][:2] not in ("-m", "-c") and rest[0] != "-":
                interpreter += [rest.pop(0)]
                if interpreter[-1] in VALUED and rest:
                    interpreter += [rest.pop(0)]
        if not rest:
            raise ValueError(f"{shlex.join(words)!r} names no program: SCRIPT, -m MODULE or -c CODE")
        return cls(tuple(interpreter), tuple(rest), directory, environment)

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


def launch(command: Command, file: str, *options: str, cpus: frozenset[int] = frozenset()) -> Launch:
    """Run the command to its end and read what it recorded.

    cpus: the processors that it may run on, all without any. LaunchError when it ends with another code than 0. On
    KeyboardInterrupt the program is told and waited for.
    """
    from ..trace import load

    log = f"{os.path.splitext(file)[0]}.log"
    frequencies: list[float] = []
    start = time.monotonic()
    with open(log, "wb") as output:
        with _on(cpus):
            process = subprocess.Popen(
                command.recorded(file, *options), stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                cwd=command.directory, env={**os.environ, **command.environment},
            )  # fmt: skip
        try:
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    code = process.wait(STEP_S)
                    break
                frequency = frequency_khz()
                if frequency is not None:
                    frequencies.append(frequency)
        except BaseException:
            _end(process)
            raise
    seconds = time.monotonic() - start
    if code:
        how = f"exit code {code}" if code > 0 else f"signal {signal.Signals(-code).name}"
        raise LaunchError(f"`{command.text}` ended with {how}", code, _tail(log))
    os.unlink(log)
    return Launch(load(file), seconds, median(frequencies) if frequencies else None)


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
