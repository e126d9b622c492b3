# SPDX-License-Identifier: Apache-2.0
"""Run clang-tidy over the core, files side by side: the analyser, which walks paths, and all other checks.

    python tools/tidy.py                  # everything on every file: some ten seconds a file
    python tools/tidy.py --since COMMIT   # only on files that changed since, or whose header did
    python tools/tidy.py --since COMMIT --most 30   # ... the analyser on as many, those that changed last, and
                                                    # the other checks on three times as many

Exit code 1 where something was found. Needs compile commands in build/debug (`make tidy` makes them).
"""

import argparse
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# What defines what tools/tidy.h redefines.
LEFT_OUT = {"csrc/base/status.c"}
# Where these changed everything is looked at anew.
RULES = {".clang-tidy", "tools/tidy.h"}
AT_ONCE = 4
QUICK_FOR_DEEP = 3  # the analyser takes three times as long as the other checks
NOISE = ("warnings generated", "warning generated", "Processing file")


def sources() -> list[str]:
    """Return the files to check; those of the binding are full of what Python's headers ask for."""
    found = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "csrc").rglob("*.c"))
    return [name for name in found if name not in LEFT_OUT and not name.startswith("csrc/python/")]


def changed(since: str) -> list[str]:
    """Return the files that changed after the commit, what is not committed first, then the last commit's."""
    git = ["git", "-C", str(ROOT)]
    commands = [[*git, "diff", "--name-only", "HEAD"], [*git, "log", "--format=", "--name-only", f"{since}..HEAD"]]
    done = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for command in commands]
    return list(dict.fromkeys("".join(done).split()))


def chosen(files: list[str], since: str | None, most: int | None) -> tuple[list[str], list[str]]:
    """Return the files for the analyser, and those for the other checks alone."""
    names = changed(since) if since else []
    if not since or RULES.intersection(names):
        return files, []
    sources = dict.fromkeys(f"{name.removesuffix('.h')}.c" if name.endswith(".h") else name for name in names)
    found = [name for name in sources if name in files]
    return (found, []) if most is None else (found[:most], found[most : most * (1 + QUICK_FOR_DEEP)])


def check(tool: str, files: list[str], *more: str) -> bool:
    """Check some files; print what was found and return whether that was nothing."""
    command = [tool, "-p", "build/debug", "--quiet", f"--extra-arg=-include{ROOT / 'tools/tidy.h'}", *more, *files]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = [line for line in (done.stdout + done.stderr).splitlines() if not any(word in line for word in NOISE)]
    if lines:
        print("\n".join(lines), flush=True)
    return done.returncode == 0


def main() -> int:
    """Check what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--since", metavar="COMMIT")
    parser.add_argument("--most", metavar="FILES", type=int)
    parser.add_argument("--tool", default="clang-tidy-19")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    asked = parser.parse_args()
    files = sources()
    deep, quick = chosen(files, asked.since, asked.most)
    work: list[tuple[list[str], tuple[str, ...]]] = [([name], ()) for name in deep]
    quick_checks = ("--checks=-clang-analyzer-*",)
    work += [(quick[at : at + AT_ONCE], quick_checks) for at in range(0, len(quick), AT_ONCE)]
    with ThreadPoolExecutor(asked.jobs) as pool:
        found = list(pool.map(lambda one: check(asked.tool, one[0], *one[1]), work))
    looked = f"{len(deep) + len(quick)} of {len(files)} files, the analyser on {len(deep)}"
    print(f"clang-tidy: {looked}; {found.count(False)} calls with findings")
    return int(not all(found))


if __name__ == "__main__":
    sys.exit(main())
