# SPDX-License-Identifier: Apache-2.0
"""Recordings on this machine: the same program against itself, and against itself with real extra work."""

import math
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import peers
from simulate import Line, interval

from regimeter.compare.ab.experiment import Experiment
from regimeter.compare.ab.launches import Command

HERE = Path(__file__).resolve().parent
SLOWED = {"op03": 1, "op07": 2, "op11": 5, "op15": 10, "op19": 20}
PAIRS = 10
# The machine is shared with other work, which shifts whole launches by more than the default guard of 6 %. What is
# looked at here is the rule of the comparison, so pairs are rejected only for what is far beyond that.
GUARD = 0.5


def measure(*, quick: bool) -> tuple[list[Line], dict[str, Any]]:
    """Record experiments of PAIRS pairs, and judge them by our rule and, pair by pair, by those of peers."""
    plans = ["same"] + ["slowed"] * (1 if quick else 3) + ([] if quick else ["same"] * 2)
    same, slowed = [], []
    for number, plan in enumerate(plans):
        found = experiment(plan, seed=number)
        (same if plan == "same" else slowed).append(found)
    lines, table = [], ["## Recordings on this machine", ""]
    false = [row for one in (*same, *slowed) for row in rows(one) if row.operation not in changed(one)]
    alarms = sum(row.is_significant for row in false)
    reports = sum(any(row.is_significant for row in rows(one)) for one in same)
    lines.append(Line("real", f"operations without a change: false verdicts, {PAIRS} pairs", alarms / len(false), "",
                      None, interval(alarms, len(false))))  # fmt: skip
    lines.append(Line("real", "reports of the same program with a false verdict", reports / len(same), "", None,
                      interval(reports, len(same))))  # fmt: skip
    modes = [pair.common_mode or 0.0 for one in (*same, *slowed) for pair in one.found.used]
    text = (
        f"`work.py`, {PAIRS} pairs an experiment in random order, on one processor, {len(same)} of the program against "
        f"itself, {len(slowed)} with operations that do 1, 2, 5, 10 and 20 % more work. Other work ran on the machine: "
        f"the shift of all operations within a pair had a standard deviation of {100 * np.std(modes):.1f} %."
    )
    table += [
        text,
        "",
        "| more work | estimates | detectable | called a regression (threshold 5 %) | real (q < .05) |",
        "|---|---|---|---|---|",
    ]
    for name, percent in SLOWED.items():
        mine = [row for one in slowed for row in rows(one) if row.operation == name]
        estimates = ", ".join(
            f"{row.change_percent:+.1f} [{row.low_percent:+.1f}, {row.high_percent:+.1f}]" for row in mine
        )
        worst = max(row.detectable_percent or math.inf for row in mine)
        called = sum(row.change_type.value == "regression" for row in mine)
        real = sum((row.q or 1) < 0.05 for row in mine)
        table.append(f"| {percent} % | {estimates} | {worst:.1f} % | {called} of {len(mine)} | {real} of {len(mine)} |")
        covered = sum(row.low_percent <= percent <= row.high_percent for row in mine)
        lines.append(Line("real", f"{percent} % more work: intervals that cover it", covered / len(mine), "", None,
                          interval(covered, len(mine))))  # fmt: skip
    text = f"Operations without a change, rows called changed: regimeter {alarms} of {len(false)} from {PAIRS} pairs."
    table += ["", f"{text} Peers, from the one process a side of each pair:", ""]
    table += ["| rule | called | of | |", "|---|---|---|---|"]
    for name, (count, total) in by_peers((*same, *slowed)).items():
        table.append(f"| {name} | {count} | {total} | {100 * count / total:.1f} % |")
    return lines, {"markdown": table, "experiments": [brief(one) for one in (*same, *slowed)]}


def experiment(plan: str, seed: int) -> Experiment:
    """Run one; its recordings are not kept."""
    words = [str(HERE / "work.py")]
    more = [f"{name}={percent}" for name, percent in SLOWED.items()] if plan == "slowed" else []
    with tempfile.TemporaryDirectory() as folder:
        found = Experiment(
            Command.parse(words), Command.parse([*words, *more]), folder, pairs=PAIRS, seed=seed, early=False,
            guard=GUARD, cpus=frozenset([max(os.sched_getaffinity(0))]),
            tell=lambda line: print(f"{plan}: {line}", file=sys.stderr),
        )  # fmt: skip
        found.run()
    return found


def brief(one: Experiment) -> dict[str, Any]:
    """Return what is kept of an experiment: nothing that names this machine's folders."""
    fields = (
        "operation",
        "change_type",
        "change_percent",
        "low_percent",
        "high_percent",
        "p",
        "q",
        "detectable_percent",
    )
    return {
        "more_work": SLOWED if changed(one) else {},
        "pairs": [
            {"order": list(pair.order), "seconds": list(pair.seconds), "common_mode": pair.common_mode}
            for pair in one.found.used
        ],
        "rows": [{name: row.to_dict()[name] for name in fields} for row in rows(one)],
    }


def changed(one: Experiment) -> set[str]:
    """Return the operations that really differ."""
    return set(SLOWED) if one.current.program != one.base.program else set()


def rows(one: Experiment) -> list[Any]:
    """Return the rows of an experiment, which has a comparison unless it was invalid."""
    return [] if one.comparison is None else one.comparison.comparisons


def by_peers(found: tuple[Experiment, ...]) -> dict[str, tuple[int, int]]:
    """Count what peers' rules call changed among the operations that are not, one process a side."""
    counts = {name: [0, 0] for name in peers.RULES}
    for one in found:
        for pair in one.found.used:
            tables = [side.metrics["time"].launches for side in pair.sides]
            names = [name for name in tables[0] if name not in changed(one)]
            before, after = (np.array([np.concatenate(table[name]) for name in names]) for table in tables)
            for name, rule in peers.RULES.items():
                counts[name][0] += int(rule(before, after).sum())
                counts[name][1] += len(names)
    return {name: (count, total) for name, (count, total) in counts.items()}
