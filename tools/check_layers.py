# SPDX-License-Identifier: Apache-2.0
"""Check that the includes of the C core and the imports of the Python package point downward, and go in no circle.

base <- model <- {capture, cuda, io, analysis <- suggest, compare, workloads, calibrate} <- python
Some layers are divided into rooms, each a folder; the arrows among these are listed too, and headers include each
other in no circle. The rooms of the Python package are in python_layers.py.

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

# Layers that are divided: what the files of a room may include, besides their own room and the layer's own files.
# Those lie below the rooms, and so include none.
ROOMS = {
    "analysis": {
        "times": set(),
        "memory": {"times"},
        "waiting": {"times"},
        "communication": {"times", "waiting"},
        "critical": {"waiting"},
        "counters": {"times"},
        "regimes": {"times", "waiting", "counters"},
        "diff": set(),
        "machine": set(),
        "views": set(),
    },
    "cuda": {
        "library": set(),
        "events": {"library"},
        "trace": {"library"},
        "counters": {"library"},
        "stalls": {"library", "trace"},
        "nvml": {"library"},
        "compile": {"library"},
    },
    "io": {
        "json": set(),
        "journal": set(),
        "trace": {"json"},
        "export": {"json"},
        "snapshot": {"json"},
    },
}

# Headers that only one place may know: what the include looks like, and which files may have it.
FENCED = [
    (re.compile(r"Python\.h$|structmember\.h$"), re.compile(r"python/"), "only csrc/python includes it"),
    (re.compile(r"numpy/"), re.compile(r"(?!)"), "columns are shared through the buffer protocol"),
    (re.compile(r"(cuda\w*|cupti\w*|nvml|nvrtc|nvperf\w*)\.h$"), re.compile(r"cuda/"), "only csrc/cuda includes it"),
]

INCLUDE = re.compile(r'\s*#\s*include\s*(["<])([^">]+)[">]')


def find_violations(csrc: Path) -> Iterator[str]:
    """Yield ``file:line: reason`` for each include under `csrc` that the layers or rooms forbid, and each circle."""
    arrows: dict[str, set[str]] = {}
    for path in sorted(csrc.rglob("*.[ch]")):
        file = path.relative_to(csrc).as_posix()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            reason = match and _forbidden(csrc, file, match[2], quoted=match[1] == '"')
            if reason:
                yield f"{path}:{number}: {reason}"
            target = reached(csrc, file, match[2]) if match and match[1] == '"' else None
            if target and file.endswith(".h"):
                arrows.setdefault(file, set()).add(target.as_posix())
                arrows.setdefault(target.as_posix(), set())
    for circle in python_layers.circles(arrows):
        yield f"{csrc / circle[0]}:1: a circle of headers: {' -> '.join(circle)}"


def _forbidden(csrc: Path, file: str, include: str, *, quoted: bool) -> str | None:
    folder = file.split("/")[0]
    if folder not in ALLOWED:
        return f"csrc/{folder} is no layer; the layers are {', '.join(ALLOWED)}"
    if quoted:
        target = layer(csrc, file, include)
        if target in ALLOWED and target not in {folder} | ALLOWED[folder] | JOINTS.get(file, set()):
            return f"{folder} may not include {target} ({include})"
        if target in ALLOWED:  # a file of ours, whatever it is called
            return _forbidden_room(csrc, file, include) if folder in ROOMS and target == folder else None
    for header, place, reason in FENCED:
        if header.match(include) and not place.match(file):
            return f"{include}: {reason}"
    return None


def _forbidden_room(csrc: Path, file: str, include: str) -> str | None:
    """Return why a file may not include that one of its own layer, which is divided into rooms."""
    folder, rooms = file.split("/")[0], ROOMS[file.split("/")[0]]
    own, target = room(Path(file)), room(reached(csrc, file, include) or Path())
    for name in (own, target):
        if name and name not in rooms:
            return f"csrc/{folder}/{name} is no room; the rooms are {', '.join(rooms)}"
    if target and target != own and target not in rooms.get(own, set()):
        return f"{'/'.join(filter(None, (folder, own)))} may not include {folder}/{target} ({include})"
    return None


def room(file: Path) -> str:
    """Return in which room of its layer a file below `csrc` lies; empty for the layer's own."""
    return file.parts[1] if len(file.parts) > 2 else ""


def reached(csrc: Path, file: str, include: str) -> Path | None:
    """Return the file below `csrc` that a quoted include reaches: from the file if it is there, else from `csrc`."""
    beside = (csrc / file).parent / include
    target = beside if include.startswith(".") or beside.exists() else csrc / include
    try:
        return target.resolve().relative_to(csrc.resolve())
    except ValueError:
        return None


def layer(csrc: Path, file: str, include: str) -> str | None:
    """Return the folder that a quoted include reaches."""
    target = reached(csrc, file, include)
    return target.parts[0] if target else None


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
