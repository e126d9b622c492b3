# SPDX-License-Identifier: Apache-2.0
"""Whether suggestions keep what they promise: every program of this folder, before and after following the advice.

Usage: python -m benchmarks.suggestions.run [--only TEXT] [--rounds N] [--scale X] [--markdown FILE] [--json FILE]

Prints. The exit code is 0 whatever the figures.
"""

import argparse
import json
import pkgutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HELPERS = {"program", "record", "run"}
TUNED = "tuned"
HEADER = (
    "program",
    "rule",
    "place",
    "before ms",
    "recorded ms",
    "predicted ms",
    "saved ms (95 %)",
    "predicted share",
    "saved share (95 %)",
    "still urgent after",
    "verdict",
)


def names() -> list[str]:
    """Return the programs of this folder, by name."""
    return [found.name for found in pkgutil.iter_modules([str(Path(__file__).parent)]) if found.name not in HELPERS]


def ask(name: str, rounds: int, scale: float) -> dict[str, Any]:
    """Return what one program's process found; RuntimeError with what it said where it failed."""
    command = [sys.executable, "-m", f"{__package__}.program", name, str(rounds), str(scale)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line for line in ended.stdout.splitlines() if line.startswith("{")]
    if ended.returncode or not lines:
        raise RuntimeError(f"{name} failed: {ended.stderr.strip().splitlines()[-1:]}")
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def verdict(low: float, high: float, saved: Sequence[float]) -> str:
    """Return where an estimate with its interval lies: bounds that the interval holds are not decided."""
    estimate, least, most = saved
    if low <= estimate <= high:
        return "inside"
    return "at the bound" if least <= high and most >= low else "OUTSIDE"


def judge(found: dict[str, Any]) -> str:
    """Return the verdicts on the time that is saved and on its share, one word where they agree."""
    if not found["heard"]:
        return "not heard"
    if not found["bounded"]:
        return "not bounded"
    time = verdict(found["low_ms"], found["high_ms"], found["saved_ms"])
    share = verdict(found["low_share"], found["high_share"], found["saved_share"])
    return time if time == share else f"time {time}, share {share}"


def row(name: str, found: dict[str, Any]) -> tuple[str, ...]:
    """Return the cells of a line."""
    place = f"first {found['first']}/{found['recordings']}"
    if not found["heard"]:
        return (name, found["rule"], place, *[""] * 6, "yes" if found["left"] else "no", judge(found))
    ms, share = found["saved_ms"], [100 * one for one in found["saved_share"]]
    return (
        name,
        found["rule"],
        place,
        f"{found['before_ms']:.0f}",
        f"{found['recorded_ms']:.0f}",
        f"{found['low_ms']:.0f} .. {found['high_ms']:.0f}",
        f"{ms[0]:.0f} ({ms[1]:.0f} .. {ms[2]:.0f})",
        f"{100 * found['low_share']:.0f} .. {100 * found['high_share']:.0f} %",
        f"{share[0]:.0f} ({share[1]:.0f} .. {share[2]:.0f}) %",
        "yes" if found["left"] else "no",
        judge(found),
    )


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """Return a Markdown table."""
    lines = [HEADER, tuple("---" for _ in HEADER), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="programs whose names hold this text")
    parser.add_argument("--rounds", type=int, default=21, help="pairs of each program")
    parser.add_argument("--scale", type=float, default=1.0, help="of the work; 1 is some tenths of a second")
    parser.add_argument("--markdown", type=Path, help="write the table to this file too")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args(arguments)
    rows, figures = [], {}
    for name in names():
        if options.only not in name:
            continue
        found = figures[name] = ask(name, options.rounds, options.scale)
        if name == TUNED:
            continue
        rows.append(row(name, found))
        print(" | ".join(rows[-1]), flush=True)
    said = [f"{rule} ({priority})" for rule, priority in figures.get(TUNED, {}).get("said", ())]
    text = table(rows)
    if TUNED in figures:
        text += f"\n\nOf the tuned program is said: {', '.join(said) or 'nothing'}."
    print(text)
    if options.markdown:
        options.markdown.write_text(text + "\n")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
