# SPDX-License-Identifier: Apache-2.0
"""Check a wheel as its users get it: size, what its libraries need, an empty environment, what importing it costs.

Usage: check_wheel.py WHEEL. Needs the dependency group `release`, and an index once, for what the package depends on.
The environment has no compiler in its PATH, and no network where the system lets us take it away. Exits with 1 where
something does not hold.
"""

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST_BYTES = 2_000_000
MOST_IMPORT_MS = 30.0  # of processor time
TAG = re.compile(r'platform tag:\s*"(manylinux_\d+_\d+_\w+)"')
IMPORTS = 15
COST = "import time; a = time.process_time_ns(); import regimeter; print(time.process_time_ns() - a)"


def run(*words: str | Path, **more: object) -> str:
    """Run a command and return what it prints. CalledProcessError where it fails."""
    return str(subprocess.run(words, check=True, text=True, stdout=subprocess.PIPE, **more).stdout)  # type: ignore[call-overload]


def find_problems(wheel: Path) -> Iterator[str]:
    """Print the findings, and yield what does not hold."""
    size = wheel.stat().st_size
    print(f"{wheel.name}: {size / 1e6:.2f} MB")
    if size > MOST_BYTES:
        yield f"larger than {MOST_BYTES / 1e6} MB"
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        if not any(name.endswith("/man/man1/regimeter.1") for name in names):
            yield "no manual page"
        yield from (f"{name} names this machine" for name in names if str(ROOT).encode() in packed.read(name))
    audited = TAG.search(run(sys.executable, "-m", "auditwheel", "show", wheel).replace("\n", " "))
    if audited is None:
        yield "needs libraries or symbols that no manylinux has"
    else:
        print(f"its libraries need {audited[1]}")
    with tempfile.TemporaryDirectory() as folder:
        yield from find_problems_installed(wheel, Path(folder))


def find_problems_installed(wheel: Path, folder: Path) -> Iterator[str]:
    """Install into an empty environment, run what a user would, and yield what does not hold."""
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    run(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, *needed)
    run(sys.executable, "-m", "venv", folder / "venv")
    python = folder / "venv/bin/python"
    alone = {"cwd": folder, "env": {"PATH": str(python.parent), "HOME": str(folder), "LANG": "C.UTF-8"}}
    unshare = shutil.which("unshare")
    cut = bool(unshare) and subprocess.run([unshare, "-rn", "true"], capture_output=True).returncode == 0
    offline = [unshare, "-rn"] if cut else []
    words = ["-m", "pip", "install", "-q", "--no-index", "--find-links", folder, wheel]
    run(*offline, python, *words, **alone)
    without = "compiler and network" if offline else "compiler"
    print(f"without {without}: {run(*offline, python, ROOT / 'tools/try_installed.py', **alone).strip()}")
    costs = sorted(int(run(python, "-c", COST, **alone)) / 1e6 for _ in range(IMPORTS))
    median = statistics.median(costs)
    print(f"import: {median:.1f} ms of processor time (median of {IMPORTS}; {costs[0]:.1f} to {costs[-1]:.1f})")
    if median > MOST_IMPORT_MS:
        yield f"importing takes more than {MOST_IMPORT_MS:g} ms"


def main() -> int:
    """Check, and say what does not hold."""
    wheel = Path(sys.argv[1]).resolve()
    os.environ["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    problems = list(find_problems(wheel))
    for problem in problems:
        print(f"{wheel.name}: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
