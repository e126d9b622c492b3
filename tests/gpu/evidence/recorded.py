# SPDX-License-Identifier: Apache-2.0
"""Programs with a cause that was made for them, recorded unchanged by `regimeter record`: is it the verdict?

Those in `programs` have been looked at while the verdict was made; those in `programs/unseen` were written by somebody
who knew the table of causes alone, and committed before they were recorded for the first time.
"""

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from . import doubles
from .bounded import left_s, run_bounded
from .claims import Claim, at_least, equal, shown
from .common import UnavailableHere, keep

PROGRAMS = Path(__file__).resolve().parent.parent / "programs"
KEEP = "REGIMETER_KEEP_RUNS"  # a folder in which the recordings stay
UNSEEN_RIGHT = 0.8


def cause_of(program: Path) -> str:
    """Return the cause that a program states in its first line of text."""
    found = re.search(r'^"""Cause: (\w+)\.', program.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise ValueError(f"{program}: its text does not begin with its cause")
    return found[1]


def recorded(program: Path, folder: Path) -> dict[str, Any]:
    """Record a copy of a program and return its verdict, what was printed, and how long it took."""
    import regimeter

    run, copy = folder / f"{program.stem}.rgm", folder / program.name
    shutil.copyfile(program, copy)
    command = [sys.executable, "-m", "regimeter", "record", "-o", str(run), str(copy)]
    made = run_bounded(command, left_s(40), apart=False)
    row: dict[str, Any] = {"stated": cause_of(program), "unseen": program.parent != PROGRAMS, "seconds": made.seconds}
    row["printed"] = made.output
    if made.status != 0:
        return row | {"failed": f"record ended with {made.status}"}
    verdict = regimeter.load(run).verdict()
    return row | {"bytes": run.stat().st_size, "verdict": verdict.to_dict() if verdict else None}


def measure() -> dict[str, Any]:
    """Record each program once; what is found is kept after each."""
    if doubles.ON:
        raise UnavailableHere("the programs need the real torch")
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(os.environ.get(KEEP) or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for program in sorted(PROGRAMS.rglob("*.py")):
            found[program.stem] = recorded(program, folder)
            keep(found)
    return found


def verdict_of(row: dict[str, Any]) -> str:
    """Return the cause that was found, or why there is none."""
    return str((row.get("verdict") or {}).get("cause", row.get("failed", "no verdict")))


def judge(found: dict[str, Any]) -> list[Claim]:
    """The verdict of each program is its cause; of those that were unseen, of four in five."""
    claims, right = [], []
    for name, row in found.items():
        verdict = row.get("verdict") or {}
        if row["unseen"]:
            right.append(verdict_of(row) == row["stated"])
            claims.append(shown(f"{name}: cause; stated", [verdict_of(row), row["stated"]]))
        else:
            claims.append(equal(f"{name}: cause", verdict_of(row), row["stated"]))
        told = [verdict.get("sentence"), verdict.get("confidence"), [one for one in causes(verdict) if one["tied"]]]
        claims.append(shown(f"{name}: what is said, how surely, tied", told))
    if right:
        claims.append(at_least("unseen programs whose verdict is their cause", sum(right) / len(right), UNSEEN_RIGHT))
    return claims


def causes(verdict: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the causes of a verdict, each with its share and whether it is tied."""
    return [{name: one.get(name) for name in ("cause", "share", "tied")} for one in verdict.get("causes", ())]
