# SPDX-License-Identifier: Apache-2.0
"""Host stacks: what sampling costs, and how far the shares are from what the program itself measures.

Usage: stacks.py [--seconds S] [--hz HZ] [--rounds N]

cost: processor time of the sampler's thread with 8 threads of 40 functions each, as part of one processor: the median
of all rounds and the least. Beside it that of a program with one thread that sleeps: waking up is most of that.
bias: a program of six functions measures each by the clock; shares by regimeter, py-spy and pyinstrument beside it,
each on a run of its own. py-spy and pyinstrument are taken from PATH and PYTHONPATH; one that is missing is absent.
"""

import argparse
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

THREADS, DEEP = 8, 40

PROGRAM = """
import json, sys, time
took = {}
def timed(function):
    def call(*arguments):
        begin = time.perf_counter()
        function(*arguments)
        took[function.__name__] = took.get(function.__name__, 0.0) + time.perf_counter() - begin
    return call
def until(seconds):
    return time.perf_counter() + seconds
@timed
def of_loop(seconds):
    end = until(seconds)
    while time.perf_counter() < end:
        pass
def short(x):
    return x + 1
@timed
def of_short_calls(seconds):
    end = until(seconds)
    while time.perf_counter() < end:
        short(short(short(1)))
@timed
def of_native(seconds):
    end = until(seconds)
    while time.perf_counter() < end:
        sorted(range(20000), key=lambda i: -i)
@timed
def of_sleep(seconds):
    time.sleep(seconds)
@timed
def of_hash(seconds):
    import hashlib
    end = until(seconds)
    while time.perf_counter() < end:
        hashlib.sha256(bytes(1000000)).digest()
def deep(depth, seconds):
    return deep(depth - 1, seconds) if depth else of_deep(seconds)
@timed
def of_deep(seconds):
    end = until(seconds)
    while time.perf_counter() < end:
        pass
def main(seconds):
    for i in range(round(seconds / 0.1)):
        of_loop(0.03); of_short_calls(0.02); of_native(0.015); of_sleep(0.015); of_hash(0.01); deep(60, 0.01)
main(float(sys.argv[1]))
json.dump(took, open(sys.argv[2], "w"))
"""


def cost(hz: float, seconds: float, pace: str) -> tuple[float, int, dict[str, int]]:
    """Return the sampler's processor time as part of one processor, the samples, and how many in which state."""
    import regimeter
    from regimeter import _core

    stop = False

    def leaf() -> None:
        while not stop:
            if pace != "asleep":
                sum(range(2000))
            time.sleep(0.05 if pace == "asleep" else 0.002 if pace == "busy" else 0)

    def deep(depth: int) -> None:
        if depth:
            deep(depth - 1)
        else:
            leaf()

    # The thread that writes has nothing to do, so that the service time is that of the sampler.
    profiler = regimeter.GPUProfiler(
        enable_detailed_metrics=False, stacks=hz, witness=False, drain_interval_ns=3_600_000_000_000
    )
    threads = [threading.Thread(target=deep, args=(DEEP - 3,)) for _ in range(0 if pace == "alone" else THREADS)]
    with profiler.profile("all", device="cpu"):
        begin = time.perf_counter()
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        stop = True
        for thread in threads:
            thread.join()
        lasted = time.perf_counter() - begin
    used = profiler.stats()["service_cpu_ns"] / 1e9
    profiler.close()
    states = Counter(_core.SAMPLE_STATES[state] for state in profiler.run().samples.state.tolist())
    return used / lasted, sum(states.values()), dict(states)


def shares(found: Counter[str]) -> dict[str, float]:
    """Return the parts of the functions that the program measures."""
    total = sum(found.values())
    return {name: n / total for name, n in sorted(found.items())} if total else {}


def by_line(text: str) -> Counter[str]:
    """Count folded stacks by the function of the program that they are in."""
    found: Counter[str] = Counter()
    for line in text.splitlines():
        stack, _, weight = line.rpartition(" ")
        name = next((f.split(" ")[0].split(".")[0] for f in reversed(stack.split(";")) if f.startswith("of_")), None)
        if name:
            found[name] += int(weight)
    return found


def of_regimeter(folder: Path, program: list[str], hz: float) -> Counter[str]:
    """Count by `regimeter record`."""
    command = [sys.executable, "-m", "regimeter"]
    subprocess.run([*command, "record", "-q", "--stacks", str(hz), "-o", "run.rgm", *program], cwd=folder, check=True,
                   capture_output=True)  # fmt: skip
    subprocess.run([*command, "flame", "-q", "run.rgm", "-o", "run.folded"], cwd=folder, check=True)
    return by_line((folder / "run.folded").read_text())


def of_py_spy(folder: Path, program: list[str], hz: float) -> Counter[str]:
    """Count by py-spy, idle threads included."""
    subprocess.run(["py-spy", "record", "--idle", "-r", str(round(hz)), "-f", "raw", "-o", "spy.folded", "--",
                    sys.executable, *program], cwd=folder, check=True, capture_output=True)  # fmt: skip
    return by_line((folder / "spy.folded").read_text())


def of_pyinstrument(folder: Path, program: list[str], hz: float) -> Counter[str]:
    """Count microseconds by pyinstrument."""
    subprocess.run([sys.executable, "-m", "pyinstrument", "-i", str(1 / hz), "-r", "json", "-o", "pyi.json", *program],
                   cwd=folder, check=True, capture_output=True)  # fmt: skip
    found: Counter[str] = Counter()

    def walk(frame: dict[str, object]) -> None:
        name = str(frame["function"])
        if name.startswith("of_"):
            found[name] += round(float(str(frame["time"])) * 1e6)
            return
        for child in frame["children"]:  # type: ignore[attr-defined]
            walk(child)

    walk(json.loads((folder / "pyi.json").read_text())["root_frame"])
    return found


def bias(seconds: float, hz: float, rounds: int) -> None:
    """Print the shares of each tool beside those that the program measured in the same run."""
    tools = {"regimeter": of_regimeter}
    for name, tool, there in (
        ("py-spy", of_py_spy, shutil.which("py-spy")),
        ("pyinstrument", of_pyinstrument, importlib.util.find_spec("pyinstrument")),
    ):
        if there:
            tools[name] = tool
        else:
            print(f"{name}: absent")
    for turn in range(rounds):
        for name, tool in tools.items():
            with tempfile.TemporaryDirectory() as made:
                folder = Path(made)
                (folder / "truth.py").write_text(PROGRAM)
                began = time.perf_counter()
                found = shares(tool(folder, ["truth.py", str(seconds), "truth.json"], hz))
                took = time.perf_counter() - began
                truth = json.loads((folder / "truth.json").read_text())
                whole = sum(truth.values())
            off = {f: found.get(f, 0.0) - t / whole for f, t in truth.items()}
            worst = max(off, key=lambda f: abs(off[f]))
            row = "  ".join(f"{f[3:]} {100 * t / whole:.1f}{100 * off[f]:+.1f}" for f, t in truth.items())
            print(f"round {turn + 1} {name:12} {row}  worst {100 * off[worst]:+.1f} points, {took:.1f} s in all")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--hz", type=float, default=100.0)
    parser.add_argument("--rounds", type=int, default=2)
    arguments = parser.parse_args()
    print(
        f"load {os.getloadavg()[0]:.1f} when it begins, on {os.cpu_count()} processors, Python {sys.version.split()[0]}"
    )
    rounds: dict[str, list[tuple[float, int, dict[str, int]]]] = {}
    for _ in range(arguments.rounds):
        for pace in ("alone", "asleep", "busy", "contended"):
            rounds.setdefault(pace, []).append(cost(arguments.hz, arguments.seconds, pace))
    for pace, found in rounds.items():
        used = [100 * one for one, _, _ in found]
        what = "one thread, asleep" if pace == "alone" else f"{THREADS} threads {pace}, {DEEP} deep"
        print(f"cost at {arguments.hz:g} Hz, {what}: {statistics.median(used):.2f} % of a processor, "
              f"least {min(used):.2f}; {found[-1][1]:,} samples in the last round: {found[-1][2]}")  # fmt: skip
    bias(arguments.seconds, arguments.hz, arguments.rounds)


if __name__ == "__main__":
    main()
