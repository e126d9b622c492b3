# SPDX-License-Identifier: Apache-2.0
"""Programs with a cause that was made for them, recorded unchanged by `regimeter record`: is it the verdict?"""

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from . import doubles
from .bounded import left_s, run_bounded
from .claims import Claim, equal, shown
from .common import UnavailableHere, keep

PROGRAMS = Path(__file__).resolve().parent.parent / "programs"


def cause_of(program: Path) -> str:
    """Return the cause that a program states in its first line of text."""
    found = re.search(r'^"""Cause: (\w+)\.', program.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise ValueError(f"{program}: its text does not begin with its cause")
    return found[1]


def recorded(program: Path, folder: Path) -> dict[str, Any]:
    """Record a program and return its verdict, what was printed, and how long both commands took."""
    run, tool = folder / f"{program.stem}.rgm", [sys.executable, "-m", "regimeter"]
    made = run_bounded([*tool, "record", "-o", str(run), str(program)], left_s(30), apart=False)
    row: dict[str, Any] = {"stated": cause_of(program), "record_s": made.seconds, "printed": made.output}
    if made.status != 0:
        return row | {"failed": f"record ended with {made.status}"}
    told = run_bounded([*tool, "show", str(run), "--json"], left_s(20), apart=False, log=folder / "shown.json")
    if told.status != 0:
        return row | {"failed": f"show ended with {told.status}: {told.output}"}
    shown_run = json.loads((folder / "shown.json").read_text(encoding="utf-8"))
    return row | {"show_s": told.seconds, "bytes": run.stat().st_size, "verdict": shown_run["verdict"]}


def measure() -> dict[str, Any]:
    """Record each program once; what is found is kept after each."""
    if doubles.ON:
        raise UnavailableHere("the programs need the real torch")
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for program in sorted(PROGRAMS.glob("*.py")):
            found[program.stem] = recorded(program, Path(folder))
            keep(found)
    return found


def judge(found: dict[str, Any]) -> list[Claim]:
    """Each verdict is the cause that the program states."""
    claims = []
    for name, row in found.items():
        verdict = row.get("verdict", {})
        claims.append(equal(f"{name}: cause", verdict.get("cause", row.get("failed")), row["stated"]))
        claims.append(shown(f"{name}: confidence; what else it may be", [verdict.get("confidence"), verdict.get("tied")]))
        claims.append(shown(f"{name}: seconds to record, to show", [row["record_s"], row.get("show_s")]))
    return claims
