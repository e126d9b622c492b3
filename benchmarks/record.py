# SPDX-License-Identifier: Apache-2.0
"""What `regimeter record` costs a program that knows nothing of it, beside other profilers of whole programs.

Each round runs a program bare and under every tool that is installed, and divides what it took under a tool by what it
took bare in the same round. From their first lines on they take turns of a second, the others are stopped:
a machine that is faster or slower for some seconds is so for all of them. Compared are the wall time that each had, of
its start and its turns, and processor time (of the program and all that the tool starts) of the whole command; the
median of the rounds is shown with its quartiles. Start is how much later the program's first line runs than without a
tool.

Programs: `slow`, training steps of about 200 ms; `fast`, of about 5 ms (batches are as large as that takes on this
machine); `python`, words counted in a text; `objects`, lists, dictionaries and texts made and kept; `arrays`, arrays of
80 kB made and dropped.

What lies where in the heap makes a program faster or slower by several percent: one that only imports `json` or
`logging` first is another program in that. So each round takes another module that the program imports and does not
use, the same under every tool, and the median is over what that changes, too.

Beside the tools stands a program with nothing but a thread that sleeps: the first thread of a process costs what glibc
leaves out in programs of one.

With `--memory` the tools are those that tell who allocates.

Usage: record.py [--memory] [--rounds N] [--seconds S] [--only TEXT] [PROGRAM ...]; TEXT is in the names of tools.
"""

import argparse
import contextlib
import functools
import importlib.util
import itertools
import os
import random
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

TURN_S = 1.0
FIRST_LINE = "import sys, time; print(time.clock_gettime(time.CLOCK_MONOTONIC), file=sys.stderr, flush=True)\n"
TRAINING = """
    import torch
    from torch import nn

    torch.manual_seed(0)
    layers = [nn.Sequential(nn.Linear({width}, {width}), nn.GELU()) for _ in range({depth})]
    model = nn.Sequential(*layers, nn.Linear({width}, 10))
    optimizer, loss = torch.optim.SGD(model.parameters(), lr=1e-3), nn.CrossEntropyLoss()
    x, y = torch.randn({batch}, {width}), torch.randint(0, 10, ({batch},))


    def step():
        optimizer.zero_grad()
        value = loss(model(x), y)
        value.backward()
        optimizer.step()
        value.item()


    for _ in range({steps}):
        step()
"""
# Prints the median of the last steps, in seconds.
STEP = """
    import statistics, time

    took = []
    for _ in range(20):
        begin = time.perf_counter()
        step()
        took.append(time.perf_counter() - begin)
    print(statistics.median(took))
"""
PYTHON = """
    import re

    text = "the quick brown fox jumps over the lazy dog and runs away from all the others " * 200


    def words(line):
        return [word.strip(".,").lower() for word in re.split(r"[ ]+", line)]


    def count(lines):
        found = {{}}
        for line in lines:
            for word in words(line):
                found[word] = found.get(word, 0) + 1
        return found


    for _ in range({steps}):
        count([text])
"""
OBJECTS = """
    import collections

    kept = collections.deque(maxlen=20)
    for step in range({steps}):
        kept.append({{str(i): [i, i + 1, (i, step)] for i in range(3000)}})
"""
ARRAYS = """
    import numpy

    kept = []
    for step in range({steps}):
        value = numpy.arange(10_000.0)
        for _ in range(20):
            value = value * 1.5 + 1.0
        kept.append(float(value[0]))
"""


def training(seconds: float, step: float, width: int, depth: int) -> str:
    """Return a program whose steps last about `step` seconds here, and all of them `seconds`."""
    batch = fitting_batch(step, width, depth)
    return TRAINING.format(width=width, depth=depth, batch=batch, steps=max(3, round(seconds / step)))


@functools.cache
def fitting_batch(step: float, width: int, depth: int) -> int:
    """Return the size of a batch of which a step lasts about that long, of powers of 2 ** 0.5."""
    size = 8.0
    while size < 1 << 20:
        program = TRAINING.format(width=width, depth=depth, batch=round(size), steps=3) + STEP
        command = [sys.executable, "-c", textwrap.dedent(program)]
        lasts = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        if lasts > step / 2**0.25:
            break
        size *= 2 if lasts < step / 4 else 2**0.5
    print(f"  batches of {round(size)}: steps of {lasts * 1e3:.3g} ms")
    return round(size)


PROGRAMS: dict[str, Callable[[float], str]] = {
    "slow": lambda s: training(s, 0.2, 1024, 12),
    "fast": lambda s: training(s, 0.005, 256, 8),
    "objects": lambda s: OBJECTS.format(steps=max(3, round(s / 0.0025))),
    "arrays": lambda s: ARRAYS.format(steps=max(3, round(s / 0.0004))),
    "python": lambda s: PYTHON.format(steps=max(10, round(s / 0.002))),
}
# Each leaves other holes in the heap; none does anything when it is imported.
IMPORTED = ("argparse", "ctypes", "dataclasses", "decimal", "json", "logging", "sqlite3", "unittest")
# torch.profiler knows no command; what it is asked for is what `regimeter record` tells: modules and lines.
UNDER_TORCH = (
    "import runpy, sys, torch\n"
    "with torch.profiler.profile(with_stack=True, with_modules=True) as found:\n"
    "    runpy.run_path(sys.argv[1], run_name='__main__')\n"
    "found.export_chrome_trace(sys.argv[2])\n"
)
Tool = Callable[[str, str], list[str]]


def _installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _beside_a_thread(program: str, folder: str) -> list[str]:
    place = Path(folder, "thread")
    place.mkdir(exist_ok=True)
    (place / "sitecustomize.py").write_text("import _thread, time\n_thread.start_new_thread(time.sleep, (1e6,))\n")
    return ["env", f"PYTHONPATH={place}", sys.executable, program]


def memory_tools() -> dict[str, Tool]:
    """Return how each tool that tells who allocates runs a program."""
    py = sys.executable
    found: dict[str, Tool] = {
        "regimeter record --memory": lambda program, folder: [
            *(py, "-m", "regimeter", "record", "--quiet", "--memory", "-o", f"{folder}/r.rgm", program)
        ],
        "python -X tracemalloc": lambda program, folder: [py, "-X", "tracemalloc=25", program],
    }
    if _installed("memray"):
        found["memray"] = lambda program, folder: [
            *(py, "-m", "memray", "run", "-q", "-f", "-o", f"{folder}/m.bin", program)
        ]
        found["memray, small objects too"] = lambda program, folder: [
            *(py, "-m", "memray", "run", "-q", "-f", "--trace-python-allocators", "-o", f"{folder}/m.bin", program)
        ]
    if _installed("scalene"):
        found["scalene"] = lambda program, folder: [
            *(py, "-m", "scalene", "run", "--memory", "-o", f"{folder}/s.json", program)
        ]
    return found


def tools(*, torch: bool) -> dict[str, Tool]:
    """Return how each tool runs a program, by its name; files of its own go to the folder.

    torch: whether the program uses it, without which some tools have nothing to tell.
    """
    py = sys.executable
    found: dict[str, Tool] = {
        "regimeter record": lambda program, folder: [
            *(py, "-m", "regimeter", "record", "--quiet", "-o", f"{folder}/r.rgm", program)
        ]
    }
    if not torch:
        found["a thread that sleeps"] = _beside_a_thread
    if _installed("viztracer"):
        found["viztracer"] = lambda program, folder: [
            *(py, "-m", "viztracer", "--quiet", "-o", f"{folder}/v.json", program)
        ]
    if _installed("pyinstrument"):
        found["pyinstrument"] = lambda program, folder: [
            *(py, "-m", "pyinstrument", "-r", "json", "-o", f"{folder}/p.json", program)
        ]
    if _installed("scalene"):
        found["scalene, processor only"] = lambda program, folder: [
            *(py, "-m", "scalene", "run", "--cpu-only", "-o", f"{folder}/s.json", program)
        ]
    spy = shutil.which("py-spy", path=f"{Path(py).parent}:{os.environ.get('PATH', '')}")
    if spy:
        found["py-spy"] = lambda program, folder: [
            *(str(spy), "record", "-r", "100", "-f", "raw", "-o", f"{folder}/y.txt", "--", py, program)
        ]
    if torch:
        found["torch.profiler"] = lambda program, folder: [py, "-c", UNDER_TORCH, program, f"{folder}/t.json"]
        if _installed("traceml_ai"):
            found["traceml"] = lambda program, folder: [
                *(py, "-m", "traceml_ai.launcher.cli", "run", "--no-save-training-output"),
                *("--logs-dir", tempfile.mkdtemp(dir=folder), program),
            ]
    return found


class Running:
    """A command, which runs when it has its turn."""

    def __init__(self, command: list[str], folder: str) -> None:
        self.printed = os.open(folder, os.O_TMPFILE | os.O_RDWR)
        begin = time.clock_gettime(time.CLOCK_MONOTONIC)
        self.pid = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.DEVNULL, stderr=self.printed, start_new_session=True
        ).pid
        self.end: int | None = os.pidfd_open(self.pid)
        self.processes = [self.pid]
        self.wall, self.spent, self.failed = 0.0, 0.0, False
        while self.first_line() is None and self.end is not None:
            self._wait(begin, 0.005)
        self._stop()
        self.wall = time.clock_gettime(time.CLOCK_MONOTONIC) - begin if self.end is not None else self.wall
        self.start = (self.first_line() or begin) - begin

    def turn(self, seconds: float) -> None:
        """Run for so long, or until the command ends."""
        begin = time.clock_gettime(time.CLOCK_MONOTONIC)
        self._send(signal.SIGCONT)
        had = self.wall
        self._wait(begin, seconds)
        self._stop()
        if self.end is not None:
            self.wall = had + time.clock_gettime(time.CLOCK_MONOTONIC) - begin

    def kill(self) -> None:
        """End what is left of it."""
        self._send(signal.SIGKILL)
        os.close(self.printed)

    def _send(self, number: signal.Signals) -> None:
        for process in reversed(self.processes):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)

    def first_line(self) -> float | None:
        """Return when the program's first line ran."""
        text = os.pread(self.printed, 1 << 16, 0).decode(errors="replace")
        return next(
            (float(line) for line in text.rpartition("\n")[0].split() if line.replace(".", "", 1).isdigit()), None
        )

    def _wait(self, begin: float, seconds: float) -> None:
        """Wait for the command's end, at most so long."""
        if self.end is not None and select.select([self.end], [], [], seconds)[0]:
            self.wall += time.clock_gettime(time.CLOCK_MONOTONIC) - begin
            _, status, usage = os.wait4(self.pid, 0)
            self.spent, self.failed = usage.ru_utime + usage.ru_stime, status != 0
            os.close(self.end)
            self.end = None

    def _stop(self) -> None:
        """Stop it and all that it has started, parents before their children."""
        self.processes, found = [], [self.pid] if self.end is not None else []
        while found:
            process = found.pop()
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGSTOP)
                self.processes.append(process)
                for thread in Path(f"/proc/{process}/task").iterdir():
                    found += [int(child) for child in Path(thread, "children").read_text().split()]


def run_in_turns(commands: dict[str, list[str]], folder: str) -> dict[str, tuple[float, float, float] | None]:
    """Return of each command seconds on the wall, on processors, and until the first line; None where it fails."""
    running: dict[str, Running] = {}
    try:
        for way in random.sample(list(commands), len(commands)):
            running[way] = Running(commands[way], folder)
        while left := [one for one in running.values() if one.end is not None]:
            for one in random.sample(left, len(left)):
                one.turn(TURN_S)
        failed = {way for way, one in running.items() if one.failed or one.first_line() is None}
        return {way: None if way in failed else (one.wall, one.spent, one.start) for way, one in running.items()}
    finally:
        for one in running.values():
            one.kill()


def run(command: list[str], folder: str) -> tuple[float, float, float] | None:
    """As ``run_in_turns``, of one command."""
    return run_in_turns({"": command}, folder)[""]


def lasting(name: str, seconds: float, folder: str) -> str:
    """Return the program with as many steps as last about that long here, by what a quarter and a half of them take."""
    took = []
    for part in (0.25, 0.5):
        program = Path(folder, f"{name}.py")
        program.write_text(FIRST_LINE + textwrap.dedent(PROGRAMS[name](part * seconds)))
        found = run([sys.executable, str(program)], folder)
        if found is None:
            raise SystemExit(f"the program {name} fails without a tool")
        took.append(found[0])
    return PROGRAMS[name](seconds * 0.25 * seconds / max(1e-3, took[1] - took[0]))


def measure(name: str, rounds: int, seconds: float, only: str, *, memory: bool) -> None:
    """Print a line for each tool."""
    compared = memory_tools() if memory else tools(torch="import torch" in PROGRAMS[name](seconds))
    ways: dict[str, Tool] = {"bare": lambda program, folder: [sys.executable, program]}
    ways |= {way: tool for way, tool in compared.items() if only in way}
    results: dict[str, list[tuple[float, float, float]]] = {way: [] for way in ways}
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, f"{name}.py")
        text = textwrap.dedent(lasting(name, seconds, folder))
        run([sys.executable, "-c", f"import {', '.join(IMPORTED)}"], folder)  # warms caches of files
        for module in itertools.islice(itertools.cycle(random.sample(IMPORTED, len(IMPORTED))), rounds):
            program.write_text(f"{FIRST_LINE}import {module}\n{text}")
            found = run_in_turns({way: tool(str(program), folder) for way, tool in ways.items()}, folder)
            bare = found["bare"]
            for way, one in found.items():
                if one is not None and bare is not None:
                    results[way].append((one[0] / bare[0], one[1] / bare[1], one[2] - bare[2]))
                elif way != "bare" and one is None:
                    print(f"  {way}: failed")
    for way, rows in results.items():
        if way != "bare" and rows:
            wall, spent, start = zip(*rows, strict=True)
            print(
                f"{name:8} {way:26} wall {_middle(wall)}  processor {_middle(spent)}  "
                f"starts {statistics.median(start) * 1e3:+5.0f} ms later (least {min(start) * 1e3:+.0f})"
            )


def _middle(values: tuple[float, ...]) -> str:
    if len(values) < 2:
        return f"{values[0]:.3f}"
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{middle:.3f} [{low:.3f}, {high:.3f}]"


def main() -> None:
    """Measure the programs that are named, or all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--memory", action="store_true", help="compare what tells who allocates")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=20.0, help="how long a program runs, about (default: 20)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only tools whose name contains it (default: all)")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=f"of {', '.join(PROGRAMS)} (default: all)")
    given = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors, {given.rounds} rounds")
    for name in given.programs or PROGRAMS:
        measure(name, given.rounds, given.seconds, given.only, memory=given.memory)


if __name__ == "__main__":
    main()
