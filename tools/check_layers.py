# SPDX-License-Identifier: Apache-2.0
"""Check that the includes of the C core and the imports of the Python package point downward, and go in no circle.

base <- model <- {capture, cuda, io, analysis <- suggest, compare, workloads, calibrate} <- python
The rooms of the Python package are in python_layers.py.

Prints ``file:line: reason`` for each that does not, and exits with 1.
Usage: check_layers.py [FOLDER ...]; one with an __init__.py is a Python package, any other the C core.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import python_layers

BASE = {"base"}
MODEL = {"base", "model"}
# What the files of a folder may include, besides their own folder.
ALLOWED = {
    "base": set(),
    # Loaded before all others, and by itself.
    "heap": set(),
    "model": BASE,
    # The journal is written in the file format that io defines and reads.
    "capture": MODEL | {"io", "heap"},
    "cuda": MODEL,
    "io": MODEL,
    "analysis": MODEL,
    # Rules look at the results of analyses.
    "suggest": MODEL | {"analysis"},
    "compare": MODEL,
    # The kernels are launched and timed through the driver's wrapper.
    "workloads": MODEL | {"cuda"},
    # It measures devices with the kernels and the queue of the workloads.
    "calibrate": MODEL | {"cuda", "workloads"},
}
ALLOWED["python"] = set(ALLOWED)
# Single files that join two folders of the same level.
JOINTS = {"capture/device.c": {"cuda"}, "capture/device.h": {"cuda"}}

# Headers that only one place may know: what the include looks like, and which files may have it.
FENCED = [
    (re.compile(r"Python\.h$|structmember\.h$"), re.compile(r"python/"), "only csrc/python includes it"),
    (re.compile(r"numpy/"), re.compile(r"(?!)"), "columns are shared through the buffer protocol"),
    (re.compile(r"(cuda\w*|cupti\w*|nvml|nvrtc|nvperf\w*)\.h$"), re.compile(r"cuda/"), "only csrc/cuda includes it"),
]

INCLUDE = re.compile(r'\s*#\s*include\s*(["<])([^">]+)[">]')


def find_violations(csrc: Path) -> Iterator[str]:
    """Yield ``file:line: reason`` for each include under `csrc` that the layers forbid."""
    for path in sorted(csrc.rglob("*.[ch]")):
        file = path.relative_to(csrc).as_posix()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            reason = match and _forbidden(csrc, file, match[2], quoted=match[1] == '"')
            if reason:
                yield f"{path}:{number}: {reason}"


def _forbidden(csrc: Path, file: str, include: str, *, quoted: bool) -> str | None:
    folder = file.split("/")[0]
    if folder not in ALLOWED:
        return f"csrc/{folder} is no layer; the layers are {', '.join(ALLOWED)}"
    if quoted:
        target = layer(csrc, file, include)
        if target in ALLOWED and target not in {folder} | ALLOWED[folder] | JOINTS.get(file, set()):
            return f"{folder} may not include {target} ({include})"
        if target in ALLOWED:
            return None  # a file of ours, whatever it is called
    for header, place, reason in FENCED:
        if header.match(include) and not place.match(file):
            return f"{include}: {reason}"
    return None


def layer(csrc: Path, file: str, include: str) -> str | None:
    """Return the folder that a quoted include reaches: from the file if it is there, else from `csrc`."""
    beside = (csrc / file).parent / include
    target = beside if include.startswith(".") or beside.exists() else csrc / include
    try:
        return target.resolve().relative_to(csrc.resolve()).parts[0]
    except ValueError:
        return None


def main() -> int:
    root = Path(__file__).resolve().parent.parent
    folders = [Path(given) for given in sys.argv[1:]] or [root / "csrc", root / "python" / "regimeter"]
    violations = []
    for folder in folders:
        is_package = (folder / "__init__.py").exists()
        violations += (python_layers.find_violations if is_package else find_violations)(folder)
    if violations:
        print("\n".join(violations), file=sys.stderr)
        return 1
    for folder in folders:
        if (folder / "__init__.py").exists():
            print(f"layers: every import points downward, {python_layers.count_inside(folder)} of them in functions")
        else:
            print("layers: every include points downward")
    return 0


if __name__ == "__main__":
    sys.exit(main())
