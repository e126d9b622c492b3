# SPDX-License-Identifier: Apache-2.0
"""Run the C tests and the Python tests over builds that count, and say which lines and branches ran.

Usage: measure_coverage.py [--jobs N] [PYTEST ARGUMENTS]. Without arguments for pytest only the C tests run. The core is
counted in both, and a line that either runs counts; files of C and Python are one table, by room, and one figure.
Tests that fail are named and stop nothing: counting slows programs down, and some tests watch exactly that. Needs the
groups `build`, `test` and `coverage`, and gcov of the compiler.
"""

import argparse
import csv
import os
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "coverage"
SITE, WHEEL, PYTHON, REPORT = (BUILD / name for name in ("site", "wheel", "python", "report"))
DEEPEST = 3  # folders of a room: csrc/analysis/times, python/regimeter/compare


def run(*command: str | Path, may_fail: bool = False, variables: Mapping[str, str] | None = None) -> None:
    """Run a command of this environment in the root of the project."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "PATH": path, **(variables or {})})
    if done.returncode and may_fail:
        print(f"measure_coverage: {command[0]} ended with {done.returncode}; what ran is counted all the same")
    elif done.returncode:
        raise SystemExit(done.returncode)


def run_c_tests(jobs: int) -> None:
    """Build the C tests so that they count, and run them."""
    run("cmake", "--preset", "coverage")
    run("cmake", "--build", "--preset", "coverage", "--parallel", str(jobs))
    run("ctest", "--preset", "coverage", "--output-on-failure", may_fail=True)


def run_python_tests(jobs: int, arguments: list[str]) -> None:
    """Build the package so that its core counts, put it before the installed one, and run pytest."""
    settings = ("-Ccmake.define.REGIMETER_COVERAGE=ON", "-Ccmake.build-type=Debug", f"-Cbuild-dir={WHEEL}")
    install = (sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps")
    run(*install, "--no-build-isolation", "--upgrade", "--target", SITE, *settings, ROOT)
    PYTHON.mkdir(parents=True, exist_ok=True)
    config = ROOT / "pyproject.toml"
    here = {"PYTHONPATH": str(SITE), "COVERAGE_RCFILE": str(config), "COVERAGE_FILE": str(PYTHON / "data")}
    pytest = ("pytest", "-q", "-n", str(jobs), "--dist", "worksteal", "-m", "not gpu", "--assert=plain")
    run("coverage", "run", "-m", *pytest, *arguments, may_fail=True, variables=here)
    run("coverage", "combine", "--quiet", may_fail=True, variables=here)
    run("coverage", "xml", "--quiet", "--ignore-errors", "-o", PYTHON / "python.xml", variables=here)


def report() -> None:
    """Print lines and branches by room, and write the pages."""
    REPORT.mkdir(parents=True, exist_ok=True)
    folders = [folder for folder in (BUILD, WHEEL) if folder.is_dir()]
    parse = ("--exclude-throw-branches", "--gcov-ignore-parse-errors=all", "--merge-mode-functions=separate")
    # Kernels are programs of a device, which the core carries as text; a double runs those that tests ask it for.
    core = ("--filter", "csrc/", "--exclude", "csrc/workloads/kernels/", "--exclude", "csrc/workloads/device/")
    run("gcovr", "--root", ROOT, *core, *parse, "--json", REPORT / "core.json", *folders)
    parts: list[str | Path] = ["--json-add-tracefile", REPORT / "core.json"]
    if (PYTHON / "python.xml").exists():
        parts += ["--cobertura-add-tracefile", PYTHON / "python.xml"]
    out = ("--csv", REPORT / "files.csv", "--html-nested", REPORT / "index.html")
    run("gcovr", "--root", ROOT, *parts, *out, "--merge-mode-functions=separate")
    rooms: dict[str, Counter[str]] = defaultdict(Counter)
    with (REPORT / "files.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            room = "/".join(row["filename"].split("/")[:-1][:DEEPEST])
            core = "C, without csrc/python" if room.startswith("csrc") and room != "csrc/python" else ""
            for name in (room, core, "C" if room.startswith("csrc") else "Python", "all"):
                for kind in ("line", "branch"):
                    rooms[name][f"{kind}_total"] += int(row[f"{kind}_total"])
                    rooms[name][f"{kind}_covered"] += int(row[f"{kind}_covered"])
    last = ("C, without csrc/python", "C", "Python", "all")
    print(f"{'':40} {'lines':>8} {'ran':>7}   {'branches':>8} {'ran':>7}")
    for name in [*sorted(set(rooms) - {"", *last}), *(name for name in last if name in rooms)]:
        found = rooms[name]
        parts = [
            f"{found[f'{kind}_total']:8,} {100 * found[f'{kind}_covered'] / max(1, found[f'{kind}_total']):6.1f}%"
            for kind in ("line", "branch")
        ]
        print(f"{name:40} {parts[0]}   {parts[1]}")
    print(f"file by file: {(REPORT / 'index.html').relative_to(ROOT)}")


def main() -> int:
    """Count afresh."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    known, arguments = parser.parse_known_args()
    for stale in [*BUILD.rglob("*.gcda"), *PYTHON.glob("*")]:
        stale.unlink()
    shutil.rmtree(REPORT, ignore_errors=True)
    run_c_tests(known.jobs)
    if arguments:
        run_python_tests(known.jobs, arguments)
    report()
    return 0


if __name__ == "__main__":
    sys.exit(main())
