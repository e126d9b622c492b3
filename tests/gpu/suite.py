# SPDX-License-Identifier: Apache-2.0
"""The tests that need a device, one file after the other, each in a process of its own with a limit of its own.

    python3 tests/gpu/suite.py [--out DIR] [--only NAME ...]

A file that hangs or crashes loses its own tests and nothing else. The whole output of each is kept in DIR. With
REGIMETER_DOUBLES=1 each file gets the doubles that it needs; what they cannot prove is listed and counted as not
judged, and nothing of such a run says anything about hardware.

Exit status: 0 every file passed, 2 some did not, 1 nothing could be run.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

from evidence import doubles
from evidence.bounded import run_bounded

HERE = Path(__file__).resolve().parent
PATIENCE = 4  # times the limits, where this processor stands in for a device
NO_TESTS = 5  # pytest's status where a selection leaves nothing


class File(NamedTuple):
    """A file of tests, the seconds that it may take, and the doubles that it is rehearsed on."""

    name: str
    limit_s: float
    doubles: str


# What everything else rests on comes first; PM sampling, which may hang, last.
FILES = (
    File("test_events", 240, "tracing"),
    File("test_device_memory", 60, "tracing"),
    File("test_memory_pool", 60, "tracing"),
    File("test_kernels_live", 600, "tracing"),
    File("test_kernels", 240, "kernels"),
    File("test_tuning", 120, "kernels"),
    File("test_limits", 300, "tracing"),
    File("test_telemetry", 120, "telemetry"),
    File("test_gpm", 60, "gpm"),
    File("test_counters", 120, "counters"),
)


def run(file: File, out: Path) -> dict[str, Any]:
    """Run a file; return its row."""
    log, notes = out / f"{file.name}.log", out / f"{file.name}.claims.jsonl"
    notes.write_text("", encoding="utf-8")
    variables = {"REGIMETER_CLAIMS": str(notes)} | (doubles.variables(file.doubles) if doubles.ON else {})
    command = [sys.executable, "-m", "pytest", "-m", "gpu", "-rs", "-p", "no:cacheprovider", "-p", "no:xdist"]
    limit_s = file.limit_s * (PATIENCE if doubles.ON else 1)
    ended = run_bounded([*command, str(HERE / f"{file.name}.py")], limit_s, variables, log=log)
    state = {None: f"no end after {limit_s:g} s", 0: "passed", NO_TESTS: "no tests"}.get(ended.status, "FAILED")
    lines = [line for line in ended.output.strip().splitlines() if line.strip()]
    return {
        "file": file.name,
        "on": "doubles" if doubles.ON else "hardware",
        "state": state,
        "seconds": round(ended.seconds, 1),
        "told": lines[-1].strip("= ") if lines else "",
        "not_judged": [json.loads(line) for line in notes.read_text(encoding="utf-8").splitlines()],
        "output": ended.output if state not in ("passed", "no tests") else "",
    }


def main() -> int:
    """Run the files and say what they show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("build/gpu/tests"), help="folder for the output of each file")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=[file.name for file in FILES])
    asked = parser.parse_args()
    out = asked.out.resolve() / ("doubles" if doubles.ON else "hardware")
    out.mkdir(parents=True, exist_ok=True)
    rows = []
    for file in FILES:
        if asked.only and file.name not in asked.only:
            continue
        rows.append(run(file, out))
        print(f"{file.name:20} {rows[-1]['seconds']:6.1f} s  {rows[-1]['state']:8} {rows[-1]['told']}", flush=True)
        if rows[-1]["output"]:
            print(rows[-1]["output"], flush=True)
        (out / "suite.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    left = [note for row in rows for note in row["not_judged"]]
    if doubles.ON:
        for note in left:
            print(f"not judged on doubles: {note['test'].rpartition('/')[2]}: {note['text']}")
        claims = sum(note["kind"] == "claim" for note in left)
        print(f"{claims} claims were not judged, {len(left) - claims} tests were not run: these are doubles")
    return 0 if all(row["state"] in ("passed", "no tests") for row in rows) else 2


if __name__ == "__main__":
    sys.exit(main())
