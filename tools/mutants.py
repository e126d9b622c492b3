# SPDX-License-Identifier: Apache-2.0
"""Seed small defects, one at a time, and see which test files find them: what a change of the tests must not lower.

    python tools/mutants.py --check                  # every row of mutants.toml fits the source
    python tools/mutants.py csrc/capture testing/    # the rows whose file begins so (default: all)
    python tools/mutants.py --all -o before.json     # go on after the first test file that finds it; keep the outcome
    python tools/mutants.py --tests test_record      # the rows that name the file, and that file alone

Nothing of the checkout is touched: the source is copied to build/mutants, where each defect of the core costs one file
and a link. The tests of the checkout run against the copy. One line a mutant: what found it, or SURVIVED; the last one
counts. Exit code 1 where a file that outcome --than names found a mutant before and none finds it now.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / "build" / "mutants"
SITE = PLACE / "site"
PACKAGE = "python/regimeter"
COPIED = ("csrc", "cmake", PACKAGE, "tests/core", "tests/fakes", "CMakeLists.txt", "pyproject.toml", "docs/regimeter.1")
# A mutant that loops for ever is found too; programs of C take seconds.
PATIENCE_S, CORE_PATIENCE_S = 600, 120
BUILDS = {
    "module": ("-DREGIMETER_PYTHON=ON", "-DCMAKE_BUILD_TYPE=Release", f"-DPython_EXECUTABLE={sys.executable}"),
    "tests": ("-DREGIMETER_BUILD_TESTS=ON",),
}


@dataclass(slots=True)
class Mutant:
    """A defect: the file below ROOT, the text and what replaces it, and the tests that are asked."""

    file: str
    old: str
    new: str
    tests: list[str]
    found_by: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """A name that stays when lines move."""
        return f"{self.file}: {' '.join(self.old.split())[:90]}"

    @property
    def core(self) -> bool:
        """Whether something has to be compiled."""
        return self.file.endswith(".c")


def mutants() -> list[Mutant]:
    """Return the rows of mutants.toml."""
    table = tomllib.loads((ROOT / "tools" / "mutants.toml").read_text(encoding="utf-8"))
    prefix = {"core": "", "python": f"{PACKAGE}/"}
    return [Mutant(prefix[room] + file, old, new, t.split()) for room in prefix for file, old, new, t in table[room]]


def misfit(row: Mutant) -> str:
    """Say why a row fits no more, "" where it does: its text is not there once, or a test file is absent."""
    path = ROOT / row.file
    count = path.read_text(encoding="utf-8").count(row.old) if path.exists() else 0
    if count != 1:
        return f"{row.name}: its text occurs {count} times"
    return next((f"{row.name}: no test file {test}" for test in row.tests if not test_file(test).exists()), "")


def test_file(name: str) -> Path:
    """Return the file of a test of the list."""
    stem = name.removeprefix("core:")
    place = f"core/*/{stem}.c" if name != stem else f"python/*/{stem}.py"
    return next((ROOT / "tests").glob(place), ROOT / "tests" / name)


# --- the copy -----------------------------------------------------------------------------------------------------


def copy(source: Path, target: Path) -> None:
    """Make the target like the source; files that are alike keep their time, so that nothing is compiled for them."""
    if source.is_file():
        if not target.exists() or source.read_bytes() != target.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
        return
    names = {path.name for path in source.iterdir() if path.name != "__pycache__"}
    for path in target.iterdir() if target.exists() else ():
        if path.name not in names and path.suffix != ".so":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name in names:
        copy(source / name, target / name)


def prepare() -> None:
    """Copy the source and build what has no defect."""
    for name in COPIED:
        copy(ROOT / name, PLACE / name)
    for build, options in BUILDS.items():
        command = ["cmake", "-S", PLACE, "-B", PLACE / build, "-G", "Ninja", *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    if not install() or not ninja("tests", *(f"fake_{path.stem}" for path in (ROOT / "tests/fakes").glob("*.c"))):
        sys.exit(f"mutants: the source does not build: ninja -C {PLACE / 'module'}; ninja -C {PLACE / 'tests'}")


def ninja(build: str, *targets: str) -> bool:
    """Build; return whether it could be."""
    return subprocess.run(["ninja", "-C", PLACE / build, *targets], capture_output=True, check=False).returncode == 0


def install() -> bool:
    """Build the package and put it where the tests import it; return whether it could be built."""
    command = ["cmake", "--install", PLACE / "module", "--prefix", SITE]
    return ninja("module") and subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode == 0


def source_of(row: Mutant) -> Path:
    """Return the file of the copy that has the defect."""
    return PLACE / row.file if row.core else SITE / Path(row.file).relative_to("python")


# --- asking the tests -----------------------------------------------------------------------------------------------


def finds(test: str) -> bool:
    """Return whether a test file fails."""
    stem = test.removeprefix("core:")
    if stem != test:
        if not ninja("tests", stem):
            return True
        command, environment = [str(PLACE / "tests" / stem)], dict(os.environ)
        cwd, patience = PLACE / "tests", CORE_PATIENCE_S
    else:
        options = ("-q", "-x", "-p", "no:cacheprovider", "-m", "not gpu")
        command = [sys.executable, "-m", "pytest", *options, str(test_file(test))]
        path = os.pathsep.join(filter(None, (str(SITE), os.environ.get("PYTHONPATH"))))
        environment, cwd, patience = {**os.environ, "PYTHONPATH": path}, ROOT, PATIENCE_S
    try:
        done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, timeout=patience, check=False)
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def ask(row: Mutant, tests: list[str], *, every: bool) -> Iterator[str]:
    """Seed the defect and yield the test files that find it; the source is as it was afterwards."""
    place = source_of(row)
    text = place.read_text(encoding="utf-8")
    place.write_text(text.replace(row.old, row.new), encoding="utf-8")
    try:
        installed = not row.core or all(test.startswith("core:") for test in tests) or install()
        if not installed:
            yield "the compiler"
            return
        for test in tests:
            if finds(test):
                yield test
                if not every:
                    return
    finally:
        place.write_text(text, encoding="utf-8")


def main() -> int:
    """Run the mutants that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("places", nargs="*", help="beginnings of file names; python/regimeter/ may be left out")
    parser.add_argument("--tests", nargs="+", default=[], help="only these test files")
    parser.add_argument("--all", action="store_true", help="ask every test file of a mutant")
    parser.add_argument("--check", action="store_true", help="only see whether every row fits the source")
    parser.add_argument("-o", metavar="FILE", help="where the outcome goes, as JSON")
    parser.add_argument("--than", metavar="FILE", help="an outcome of before")
    asked = parser.parse_args()
    rows = mutants()
    said = {row.name: why for row in rows if (why := misfit(row))}
    print("".join(f"left out: {why}\n" for why in said.values()), end="")
    if asked.check:
        print(f"{len(rows)} mutants, {len(said)} rows do not fit")
        return int(bool(said))
    rows = [row for row in rows if row.name not in said]
    if asked.places:
        rows = [row for row in rows if row.file.removeprefix(f"{PACKAGE}/").startswith(tuple(asked.places))]
    if asked.tests:
        rows = [row for row in rows if set(row.tests) & set(asked.tests)]
    prepare()
    unfit = {test for test in sorted({test for row in rows for test in row.tests}) if finds(test)}
    print("".join(f"not asked: {test} fails without a defect, too\n" for test in sorted(unfit)), end="", flush=True)
    for row in rows:
        begin = time.monotonic()
        tests = [test for test in row.tests if test not in unfit and (not asked.tests or test in asked.tests)]
        row.found_by = list(ask(row, tests, every=asked.all))
        print(f"{', '.join(row.found_by) or 'SURVIVED':40} {row.name}  ({time.monotonic() - begin:.0f} s)", flush=True)
    install()
    outcome = {row.name: row.found_by for row in rows}
    if asked.o:
        Path(asked.o).write_text(json.dumps(outcome, indent=1), encoding="utf-8")
    print(f"{sum(bool(found) for found in outcome.values())} of {len(outcome)} found")
    if not asked.than:
        return 0
    before = json.loads(Path(asked.than).read_text(encoding="utf-8"))
    lost = [name for name, found in outcome.items() if before.get(name) and not found]
    print(*(f"lost: {name}" for name in lost), sep="\n")
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main())
