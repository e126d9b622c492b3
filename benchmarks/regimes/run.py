# SPDX-License-Identifier: Apache-2.0
"""How often the verdict is right: all labelled operations, the confusion matrix, the part that stays AMBIGUOUS.

Usage: python -m benchmarks.regimes.run [--set all|tuning|heldout|later|unseen] [--only TEXT] [--repeat N]
                                        [--follow] [--markdown FILE] [--json FILE]

--follow does what the advice on an undecided case says, where that is a number of calls or a run without huge pages.

Rules, floors and calibration were worked on with the set `tuning`; `heldout` has other functions, sizes and types, and
its misses were looked into too, as were those of `later`; `unseen` came last, and only its first run was unseen.
`usual` is code of every day (sorts, filters, files, loops), which the limits beside the roofs were worked on with;
`usual_unseen` was written before they were tried on it, `usual_second` and `usual_third` by other writers, who knew
neither the rules nor the other sets; `usual_fourth` after the rules, by one who knew them, and its first run was
unseen; `usual_fifth` after all of them, by a writer who had read neither rules nor documentation.
Operations that their construction puts between two regimes are shown, not counted.

Prints. Exit code 0 whatever the figures; the labels say by construction what is right, never our own classifier.
"""

import argparse
import gc
import importlib.util
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regimeter import GPUProfiler

from . import (
    cases_c,
    cases_numpy,
    heldout_numpy,
    heldout_others,
    later,
    unseen,
    usual,
    usual_fifth,
    usual_fourth,
    usual_second,
    usual_third,
    usual_unseen,
)
from .case import Case

LABELS = ("OVERHEAD_BOUND", "MEMORY_BOUND", "COMPUTE_BOUND")
VERDICTS = (*LABELS, "AMBIGUOUS", "UNKNOWN")
CONFIDENT = 0.8
# Workers of a BLAS spin for some 30 ms after their last product, in which the next case would run. It is waited for at
# work: after a sleep of as long, the first tens of calls find nothing of theirs in a cache and take several times as
# long as the same calls in a program that runs.
SETTLED_S = 0.1


@dataclass(frozen=True, slots=True)
class Row:
    """A case and the verdict on it."""

    case: Case
    profile: dict[str, Any]

    @property
    def verdict(self) -> str:
        return str(self.profile["regime"])

    @property
    def right(self) -> bool:
        return self.verdict in self.case.labels

    @property
    def undecided(self) -> bool:
        return self.verdict not in LABELS

    @property
    def confidently_wrong(self) -> bool:
        sure = (self.profile["confidence"] or 0) >= CONFIDENT
        return self.verdict in LABELS and not self.right and sure


LATER = {
    "later": later,
    "unseen": unseen,
    "usual": usual,
    "usual_unseen": usual_unseen,
    "usual_second": usual_second,
    "usual_third": usual_third,
    "usual_fourth": usual_fourth,
    "usual_fifth": usual_fifth,
}
SETS = ("tuning", "heldout", *LATER)


def cases_of(name: str) -> Iterator[Case]:
    """Yield the cases of a set, of what is installed."""
    if name == "heldout":
        yield from heldout_numpy.cases()
        yield from heldout_others.cases()
        return
    if name in LATER:
        yield from LATER[name].cases()
        return
    yield from cases_numpy.cases()
    yield from cases_c.cases()
    if importlib.util.find_spec("torch") is not None:
        from . import cases_torch

        yield from cases_torch.cases()


def all_cases() -> list[Case]:
    """Return the cases of all sets."""
    return [case for name in SETS for case in cases_of(name)]


def measure(cases: Iterable[Case], repeat: int, follow: bool) -> list[Row]:
    """Call each case once, then profile it with `repeat` calls. follow: print the advice on what stays undecided, and
    what it leads to where it names a number of calls."""
    profiler = GPUProfiler(device_timing=False)
    rows = []
    for case in cases:
        function, args, options = case.make()
        function(*args)
        settle()
        _, profile = profiler.profile_with_result(function, *args, repeat=repeat, **options)
        rows.append(Row(case, profile))
        print(line(rows[-1]), flush=True)
        if follow and rows[-1].undecided:
            print(f"     {profile['advice']}", flush=True)
            told, times = re.search(r"repeat=([\d,]+)", profile["advice"]), repeat
            if told:
                times = int(told[1].replace(",", ""))
                _, profile = profiler.profile_with_result(function, *args, repeat=times, **options)
                print(f"  -> {line(Row(case, profile))}", flush=True)
            if "NUMPY_MADVISE_HUGEPAGE=0" in profile["advice"]:
                print(f"     {profile['advice']}\n  -> {alone(case, times)}", flush=True)
        del function, args, _
        gc.collect()
    profiler.close()
    return rows


def alone(case: Case, repeat: int) -> str:
    """Return the line of a case that a process of its own measures, in which NumPy asks for no huge pages."""
    command = [sys.executable, "-m", "benchmarks.regimes.run", "--set", "all", "--only", case.name]
    environment = os.environ | {"NUMPY_MADVISE_HUGEPAGE": "0"}
    done = subprocess.run(
        [*command, "--repeat", str(repeat)], env=environment, capture_output=True, text=True, check=True
    )
    return next(text for text in done.stdout.splitlines() if case.name in text)


def settle() -> None:
    """Let what the last call started come to its end."""
    until = time.monotonic() + SETTLED_S
    while time.monotonic() < until:
        pass


def share(value: float | None) -> str:
    """Return a number of a table."""
    return "-" if value is None else f"{value:.2f}"


def line(row: Row) -> str:
    """Return one row as text."""
    profile, evidence = row.profile, row.profile["evidence"]
    mark = "  " if row.right else "X " if row.confidently_wrong else "? "
    figures = " ".join(
        f"{name} {share(evidence[key])}"
        for name, key in (("c", "sol_compute"), ("m", "sol_memory"), ("floor", "floor_share"), ("wait", "wait_share"))
    )
    return (
        f"{mark}{row.case.name:34} {row.verdict:15} {profile['detail']:11} {evidence['reason']:14} "
        f"{profile['runtime_ms']:10.4f} ms  conf {share(profile['confidence'])}  {figures}"
    )


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the figures of all rows."""
    rows = [row for row in rows if len(row.case.labels) == 1]
    count = max(1, len(rows))
    right = sum(row.right for row in rows)
    open_rows = [row for row in rows if row.undecided]
    return {
        "cases": count,
        "right": right,
        "accuracy": right / count,
        "confidently_wrong": sum(row.confidently_wrong for row in rows),
        "wrong": sum(row.verdict in LABELS and not row.right for row in rows),
        "undecided": len(open_rows) / count,
    }


def matrix(rows: Sequence[Row]) -> dict[str, Counter[str]]:
    """Return verdicts by label; a case with more than one label is a row of its own."""
    found: dict[str, Counter[str]] = {}
    for row in rows:
        label = row.case.labels[0] if len(row.case.labels) == 1 else "between two"
        found.setdefault(label, Counter())[row.verdict] += 1
    return found


def markdown(rows: Sequence[Row], name: str) -> str:
    """Return the matrix and the figures of a set as Markdown."""
    figures = summary(rows)
    head = (
        f"**{name}**: {figures['right']} of {figures['cases']} right ({figures['accuracy']:.1%}), "
        f"{figures['wrong']} wrong, of these {figures['confidently_wrong']} with a confidence of at least {CONFIDENT}; "
        f"{figures['undecided']:.1%} undecided."
    )
    lines = [head, "", "| by construction | " + " | ".join(VERDICTS) + " |", "|---" * (len(VERDICTS) + 1) + "|"]
    for label, counts in sorted(matrix(rows).items()):
        lines.append(f"| {label} | " + " | ".join(str(counts[verdict]) for verdict in VERDICTS) + " |")
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.regimes.run", description="accuracy of the verdict")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name contains it")
    parser.add_argument("--set", choices=("all", *SETS), default="all", help="which cases (default: all)")
    parser.add_argument("--repeat", type=int, default=7, metavar="N", help="calls a case (default: 7)")
    parser.add_argument("--follow", action="store_true", help="follow the advice on undecided cases")
    parser.add_argument("--markdown", metavar="FILE")
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args(argv)
    found: dict[str, list[Row]] = {}
    for name in SETS if arguments.set == "all" else (arguments.set,):
        print(f"\n--- {name}")
        chosen = (case for case in cases_of(name) if arguments.only in case.name)
        found[name] = measure(chosen, arguments.repeat, arguments.follow)
    if not any(found.values()):
        print(f"no case contains {arguments.only!r}", file=sys.stderr)
        return 2
    text = "\n".join(markdown(rows, name) for name, rows in found.items() if rows)
    print("\n" + text)
    if arguments.markdown:
        Path(arguments.markdown).write_text(text)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps({name: document(rows) for name, rows in found.items()}, indent=1))
    return 0


def document(rows: Sequence[Row]) -> dict[str, Any]:
    """Return a set as JSON values."""
    found = [
        {"name": row.case.name, "labels": row.case.labels, "reason": row.case.reason, "profile": row.profile}
        for row in rows
    ]
    return {"summary": summary(rows), "rows": found}


if __name__ == "__main__":
    sys.exit(main())
