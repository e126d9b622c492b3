# SPDX-License-Identifier: Apache-2.0
"""Timing loops for the benchmarks: short bursts, interleaved, of which the minimum counts.

A busy machine only ever adds time, so the least of many short bursts is the best estimate of what the code
costs; interleaving the candidates gives each the same share of quiet moments.
"""

import gc
import json
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter_ns
from typing import Any

BURST = 1000
ROUNDS = 60


def loop(body: str, **names: object) -> Callable[[], int]:
    """Compile a function that runs `body` BURST times and returns the nanoseconds it took.

    The names are the function's globals, as they are in a user's module.
    """
    source = f"def burst():\n    begin = clock()\n    for _ in range({BURST}):\n"
    source += "".join(f"        {line}\n" for line in body.strip().splitlines())
    source += "    return clock() - begin\n"
    scope: dict[str, Any] = {"clock": perf_counter_ns, **names}
    exec(compile(source, "<burst>", "exec"), scope)
    function: Callable[[], int] = scope["burst"]
    return function


def minima(
    candidates: Mapping[str, Callable[[], int]], rounds: int = ROUNDS, empty: str = "empty loop"
) -> dict[str, float]:
    """Return nanoseconds per execution of each candidate, without those of the empty loop."""
    best = dict.fromkeys(candidates, float("inf"))
    for function in candidates.values():
        function()
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, function in candidates.items():
                best[name] = min(best[name], function() / BURST)
    finally:
        if collecting:
            gc.enable()
    base = best.get(empty, 0.0)
    return {name: value - base for name, value in best.items() if name != empty}


def table(rows: list[tuple[str, ...]], header: tuple[str, ...]) -> str:
    """Return rows as aligned text."""
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    lines = []
    for row in (header, tuple("-" * w for w in widths), *rows):
        first, *others = zip(row, widths, strict=True)
        lines.append("  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]))
    return "\n".join(lines)


def child(script: str, *args: str) -> dict[str, Any]:
    """Run a benchmark script in a process of its own and return the JSON object that it prints last."""
    path = Path(__file__).with_name(script)
    done = subprocess.run([sys.executable, str(path), *args], capture_output=True, text=True, check=False)
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    value: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return value


def machine() -> str:
    """Return one line about the machine and the interpreter."""
    from regimeter.system.processors import cpu_model

    return f"{cpu_model()}, CPython {platform.python_version()}, {platform.system()} {platform.release()}"


def median_ratio(pairs: list[tuple[float, float]]) -> float:
    """Return the median of b/a over pairs (a, b) that were measured one after the other."""
    return statistics.median(b / a for a, b in pairs)
