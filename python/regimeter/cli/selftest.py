# SPDX-License-Identifier: Apache-2.0
"""``regimeter selftest overhead``: what a scope costs on this machine, beside contextlib.nullcontext."""

import argparse
import contextlib
import gc
from collections.abc import Callable
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from .._core import Profiler
from ..system.text import TextTable, print_table
from .common import print_document
from .progress import step

if TYPE_CHECKING:
    from .common import Verbs

BURST = 500
BURSTS = 60
DEPTH = 10


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "selftest",
        parents=[common],
        description="overhead: least time per scope over short bursts, less an empty loop, with warm caches. Right "
        "after a large computation a scope costs several times as much.",
    )
    parser.add_argument("what", choices=["overhead"], help="what to measure")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Measure and print."""
    with step("measuring", quiet=arguments.quiet):
        rows = measure()
    if arguments.json:
        facts = {"burst": BURST, "bursts": BURSTS, "statistic": "minimum", "unit": "ns", "rows": rows}
        print_document({"format": "regimeter.selftest", "version": 1} | facts)
        return 0
    table = TextTable(
        f"Cost of a scope: least of {BURSTS} bursts of {BURST}, warm caches",
        ("what", "ns", "of nullcontext"),
        [(row["what"], f"{row['ns']:.1f}", f"{row['ratio']:.2f}") for row in rows],
    )
    print_table(table)
    if not arguments.quiet:
        print("\nNext: `regimeter show RUN` states for each run how many scopes it holds and what they cost")
    return 0


def measure() -> list[dict[str, Any]]:
    """Return one row per way to mark a block: name, ns per block, ratio to contextlib.nullcontext."""
    profiler, disabled = Profiler(), Profiler()
    for made in (profiler, disabled):
        made._open(None, {})
    profiler._warm(BURST * BURSTS * (DEPTH + 4))
    profiler.enabled = True
    try:
        costs = {
            what: _least(burst) - (_least(without) if without else 0.0)
            for what, (burst, without) in _bursts(profiler, disabled).items()
        }
    finally:
        profiler._stop()
        disabled._stop()
    reference = costs["contextlib.nullcontext"] or 1.0
    return [{"what": what, "ns": cost, "ratio": cost / reference} for what, cost in costs.items()]


def _bursts(profiler: Profiler, disabled: Profiler) -> dict[str, tuple[Callable[[], None], Callable[[], None] | None]]:
    """Return by way to mark a block a loop of such blocks, and the loop whose time is none of theirs."""

    def plain() -> None:
        pass

    decorated = profiler._wrap(plain, "function", "cpu")

    def empty() -> None:
        for _ in range(BURST):
            pass

    def null() -> None:
        for _ in range(BURST):
            with contextlib.nullcontext():
                pass

    def scope() -> None:
        for _ in range(BURST):
            with profiler.profile("scope"):
                pass

    def scope_device() -> None:
        for _ in range(BURST):
            with profiler.profile("scope", device="cpu"):
                pass

    def metadata() -> None:
        for _ in range(BURST):
            with profiler.profile("scope", device="cpu", batch=32, stage="train"):
                pass

    def off() -> None:
        for _ in range(BURST):
            with disabled.profile("scope"):
                pass

    def call() -> None:
        for _ in range(BURST):
            plain()

    def decorated_call() -> None:
        for _ in range(BURST):
            decorated()

    def nested() -> None:
        open_scope = profiler.profile
        for _ in range(BURST // DEPTH):
            with (
                open_scope("1"), open_scope("2"), open_scope("3"), open_scope("4"), open_scope("5"),
                open_scope("6"), open_scope("7"), open_scope("8"), open_scope("9"), open_scope("10"),
            ):  # fmt: skip
                pass

    return {
        "contextlib.nullcontext": (null, empty),
        "scope": (scope, empty),
        "scope, device given": (scope_device, empty),
        "scope, two metadata values": (metadata, empty),
        f"scope, nested {DEPTH} deep": (nested, None),
        "scope, disabled": (off, empty),
        "decorator, above the bare call": (decorated_call, call),
        "empty loop": (empty, None),
    }


def _least(burst: Callable[[], None]) -> float:
    """Return the least time of one pass of the loop, in nanoseconds."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        times = []
        for _ in range(BURSTS):
            begin = perf_counter_ns()
            burst()
            times.append(perf_counter_ns() - begin)
    finally:
        if collecting:
            gc.enable()
    return min(times) / BURST
