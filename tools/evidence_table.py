#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the table of claims in evidence/README.md, and README.md's sentence, from the collections in evidence/.

    python3 tools/evidence_table.py [--check] [--folder evidence] [--readme README.md]

The list of what can be claimed is that of the measurements; what a collection says of each stands beside it. A
collection of doubles is refused. Exit status: 0 written or current, 1 not current, 2 a collection cannot be used.
"""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

from generated import settle

ROOT = Path(__file__).resolve().parents[1]
TABLE = "<!-- claims: tools/evidence_table.py -->", "<!-- end of claims -->"
SENTENCE = "<!-- confirmed: tools/evidence_table.py -->", "<!-- end of confirmed -->"


class Unusable(Exception):
    """A collection that is no evidence; the text says why."""


def measurements() -> list[tuple[str, str]]:
    """Return name and first line of each measurement, in the order in which they run."""
    folder = ROOT / "tests/gpu/evidence"
    names = re.findall(r'^    Measurement\("(\w+)"', (folder / "runner.py").read_text(encoding="utf-8"), re.MULTILINE)
    texts = (
        re.search(r'"""(.*?)(?:"""|\n\n)', (folder / f"{name}.py").read_text(encoding="utf-8"), re.S) for name in names
    )
    return [(name, " ".join(text.group(1).split())) for name, text in zip(names, texts, strict=True) if text]


def collection(path: Path) -> dict[str, Any]:
    """Read a collection; Unusable for one of doubles, with changes, or that cannot be read."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Unusable(f"{path}: cannot be read: {error}") from None
    if found.get("on") != "hardware":
        raise Unusable(f"{path}: it is of doubles, which show nothing about hardware; remove it")
    if found.get("changed"):
        raise Unusable(f"{path}: collected with changes in {', '.join(found['changed'])}; collect from a commit")
    return found


def verdict(row: dict[str, Any] | None) -> str:
    """Return what a collection says of a measurement."""
    if row is None:
        return "not run"
    judged = [claim for claim in row.get("claims", ()) if claim["holds"] is not None]
    if not judged:
        return str(row["state"])
    failed = [claim["claim"] for claim in judged if not claim["holds"]]
    return f"{len(judged) - len(failed)} of {len(judged)} hold" + "".join(f"; not: {text}" for text in failed)


def collections(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return name and contents of each collection."""
    return [(path.parent.name, collection(path)) for path in sorted(folder.glob("*/evidence.json"))]


def sentence(runs: list[tuple[str, dict[str, Any]]]) -> str:
    """Return what hardware has confirmed so far, in a sentence."""
    if not runs:
        return "**No GPU has confirmed the live GPU layer yet**: it is tested against doubles of\nthe libraries."
    told = []
    for name, run in runs:
        judged = [claim["holds"] for row in run["measurements"] for claim in row.get("claims", ())]
        judged = [held for held in judged if held is not None]
        told.append(f"{sum(judged)} of {len(judged)} claims hold on {run['device']['name']} ({name})")
    return f"The live GPU layer ran on hardware:\n{'; '.join(told)}; [which](evidence/README.md)."


def table(runs: list[tuple[str, dict[str, Any]]]) -> str:
    """Return the table: a line for each measurement, a column for each collection."""
    columns = [name for name, _ in runs] or ["collections"]
    lines = [f"| measurement | what it shows | {' | '.join(columns)} |", f"|---|---|{'---|' * len(columns)}"]
    for name, text in measurements():
        rows = [next((row for row in run["measurements"] if row["name"] == name), None) for _, run in runs]
        lines.append(f"| `{name}` | {text} | {' | '.join(map(verdict, rows)) if runs else 'none yet'} |")
    return "\n".join(lines)


def main() -> int:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="say whether the table is current, write nothing")
    parser.add_argument("--folder", type=Path, default=ROOT / "evidence", help="where the collections are")
    parser.add_argument("--readme", type=Path, default=ROOT / "README.md", help="where the sentence is")
    asked = parser.parse_args()
    try:
        runs = collections(asked.folder)
        folder = asked.folder / "README.md"
        wanted = {
            folder: filled(folder, TABLE, f"\n{table(runs)}\n"),
            asked.readme: filled(asked.readme, SENTENCE, sentence(runs)),
        }
        return settle(wanted, check=asked.check)
    except Unusable as error:
        print(error, file=sys.stderr)
        return 2


def filled(document: Path, marks: tuple[str, str], text: str) -> str:
    """Return a document with a text between its marks; Unusable for a document without them."""
    before = document.read_text(encoding="utf-8")
    begin, end = marks
    if begin not in before:
        raise Unusable(f"{document}: no mark {begin}, where the text goes")
    return re.sub(f"{re.escape(begin)}.*?{re.escape(end)}", lambda _: begin + text + end, before, flags=re.S)


if __name__ == "__main__":
    sys.exit(main())
