# SPDX-License-Identifier: Apache-2.0
"""Programs with a cause that was made for them, recorded unchanged: is it the verdict, and always the same one?

    python -m benchmarks.verdicts.run [--set programs|unseen|unseen_second|...] [--times N] [PROGRAM ...]

A program states its cause in its first line of text. A recording counts as right where the verdict is that cause, as
tied where it is within the margin of the verdict, as wrong otherwise; `sure` are wrong ones of high confidence.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent


def cause_of(program: Path) -> str:
    """Return the cause that a program states."""
    found = re.search(r'^"""Cause: (\w+)\.', program.read_text(), re.MULTILINE)
    if found is None:
        raise SystemExit(f"{program}: its text does not begin with its cause")
    return found[1]


def verdict_of(program: Path, folder: str) -> dict[str, object]:
    """Record the program as it is and return the verdict of `regimeter show --json`."""
    run = os.path.join(folder, "run.rgm")
    tool = [sys.executable, "-m", "regimeter"]
    subprocess.run([*tool, "record", "--quiet", "-o", run, str(program)], check=True, capture_output=True)
    shown = subprocess.run([*tool, "show", run, "--json"], check=True, capture_output=True, text=True)
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))
    found: dict[str, object] = json.loads(shown.stdout)["verdict"]
    return found


def main() -> None:
    """Print a line a program and a total."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    sets = ("programs", "unseen", "unseen_second", "unseen_third", "unseen_fourth")
    parser.add_argument("--set", choices=sets, default="programs", dest="folder")
    parser.add_argument("--times", type=int, default=1, help="recordings of each program (default: 1)")
    parser.add_argument("programs", nargs="*", help="names without .py (default: all)")
    given = parser.parse_args()
    programs = [one for one in sorted((HERE / given.folder).glob("*.py")) if not one.name.startswith("_")]
    total: Counter[str] = Counter()
    print(f"{'program':24} {'cause':20} {'right':>5} {'tied':>5} {'wrong':>5} {'sure':>5}  verdicts")
    for program in programs:
        if given.programs and program.stem not in given.programs:
            continue
        cause, counted, said = cause_of(program), Counter[str](), Counter[str]()
        for _ in range(given.times):
            with tempfile.TemporaryDirectory() as folder:
                found = verdict_of(program, folder)
            said[f"{found['cause']} ({found['confidence']})"] += 1
            tied = found["tied"]
            assert isinstance(tied, list)
            outcome = "right" if found["cause"] == cause else "tied" if cause in tied else "wrong"
            counted[outcome] += 1
            counted["sure"] += outcome == "wrong" and found["confidence"] == "high"
        total += counted
        figures = " ".join(f"{counted[name]:5}" for name in ("right", "tied", "wrong", "sure"))
        print(f"{program.stem:24} {cause:20} {figures}  {', '.join(f'{n} x {v}' for v, n in said.items())}", flush=True)
    print(f"{'together':45} {' '.join(f'{total[name]:5}' for name in ('right', 'tied', 'wrong', 'sure'))}")


if __name__ == "__main__":
    main()
