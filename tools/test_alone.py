# SPDX-License-Identifier: Apache-2.0
"""Run each test file in a process of its own, or each test: what lives from another file's leftovers fails here.

    python tools/test_alone.py                       # every file
    python tools/test_alone.py tests/python/compare/test_ab.py --each
    python tools/test_alone.py --again 20            # files that pass are run again, 20 times in all

The processes run one after another; the last line counts the failures, which are also the exit code (0 or 1).
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTEST = (sys.executable, "-m", "pytest", "-q", "-m", "not gpu", "-p", "no:cacheprovider")
NOTHING_COLLECTED = 5


def files(names: list[str]) -> list[str]:
    """Return the test files below the names; those that `make test` runs where there are none."""
    found: list[str] = []
    for name in names or ["tests/python", "tests/web"]:
        place = ROOT / name
        found += [name] if place.is_file() else [str(path.relative_to(ROOT)) for path in place.rglob("test_*.py")]
    return sorted(found)


def tests(file: str) -> list[str]:
    """Return the names of the tests of a file."""
    asked = subprocess.run([*PYTEST, "--collect-only", file], cwd=ROOT, capture_output=True, text=True, check=False)
    return [line for line in asked.stdout.splitlines() if "::" in line and not line.startswith(("SKIPPED", "ERROR"))]


def run(name: str, more: list[str]) -> tuple[bool, str, float]:
    """Run one file or test; return whether it passed, what it said, and how long it took."""
    begin = time.monotonic()
    done = subprocess.run([*PYTEST, name, *more], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode in (0, NOTHING_COLLECTED), done.stdout + done.stderr, time.monotonic() - begin


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="test files or folders (default: what `make test` runs)")
    parser.add_argument("--each", action="store_true", help="every test in a process of its own")
    parser.add_argument("--again", type=int, default=1, metavar="N", help="run everything N times")
    arguments, more = parser.parse_known_args()
    names = files(arguments.names)
    if arguments.each:
        names = [test for file in names for test in tests(file)]
    failed: list[str] = []
    for turn in range(arguments.again):
        for name in names:
            passed, said, seconds = run(name, more)
            lines = said.strip().splitlines()
            print(
                f"{'passed' if passed else 'FAILED'} {seconds:6.1f} s  {name}: {lines[-1] if lines else ''}", flush=True
            )
            if not passed:
                failed.append(f"{name} (turn {turn + 1})")
                print("\n".join(lines[-60:]), flush=True)
    print(f"{len(failed)} of {len(names) * arguments.again} failed" + "".join(f"\n  {name}" for name in failed))
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
