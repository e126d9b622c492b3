# SPDX-License-Identifier: Apache-2.0
"""The rooms of the Python package, which may import which, and what breaks it; see check_layers.py.

A room is a folder or a single module at the top of the package. What only a type checker sees (TYPE_CHECKING) is no
arrow; an import inside a function is one.
"""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

# A room may import those of the lines above its own, never one beside it.
LAYERS = (
    ("system",),  # what this machine and process are; files and text
    ("run",),  # a run read from a file: columns, entries, environment and identity, formats
    ("capture", "analysis"),  # a live program; questions to a run, answered by the core
    ("calibration",),  # ceilings of this machine
    ("regime", "suggest"),  # what bounds a callable; what to do about a run
    ("public",),  # Run and GPUProfiler: the parts of the rooms above, joined
    ("compare", "job"),  # two runs; the ranks of one job
    ("history", "tuning", "query"),
    ("workloads",),
    ("report",),
    ("suite",),
    ("testing", "server", "monitor", "integrations", "schemas"),
    ("pytest_plugin", "cli", "bootstrap"),  # the doors; nothing imports them but __main__
    ("__main__",),
)
CORE = "_core"  # every room may ask the core
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
ROOMS = {"profiler": "public"}  # an import path of the specification stands at the top
JOINTS = "system/joints.py"  # what a room gets from a higher one by name
# Imports of the package's own that may stand in functions: each for a reason that was measured and is said beside it.
# A reader looks for what a module needs at its head, so this number only goes down.
MOST_INSIDE = 87


@dataclass(frozen=True, slots=True)
class Import:
    """One imported module: where it stands, and whether it is imported when a function runs."""

    module: str
    line: int
    target: str
    inside: bool


def modules_of(package: Path) -> dict[str, Path]:
    """Return the package's modules by their dotted names below it; '' is the package itself."""
    return {_dotted(path.relative_to(package)): path for path in sorted(package.rglob("*.py"))}


def _dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(module: str, path: Path, modules: Iterable[str], name: str) -> Iterator[Import]:
    """Yield what a module imports of the package called `name` when it runs."""
    here = module.split(".") if module else []
    folder = here if path.name == "__init__.py" else here[:-1]
    for node, inside in _walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
            targets = [one.removeprefix(name).lstrip(".") for one in found if one.split(".")[0] == name]
        elif node.level or (node.module or "").split(".")[0] == name:
            base = folder[: len(folder) - node.level + 1] if node.level else []
            below = (node.module or "").split(".")[0 if node.level else 1 :]
            home = ".".join([*base, *filter(None, below)])
            inner = [f"{home}.{alias.name}".lstrip(".") for alias in node.names]
            targets = [one if one in modules or one == CORE else home for one in inner]
        else:
            continue
        yield from (Import(module, node.lineno, target, inside) for target in dict.fromkeys(targets))


def _walk(tree: ast.AST, *, inside: bool = False) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, inside
        elif not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _walk(node, inside=inside or function)


def find_violations(package: Path) -> Iterator[str]:
    """Yield ``file:line: reason`` for each import that the layers forbid, each circle, each joint that is none.

    And one where too many imports stand in functions.
    """
    modules = modules_of(package)
    arrows: dict[str, set[str]] = defaultdict(set)
    for module, path in modules.items():
        if not module:
            continue  # the face of the package names everything, and imports a module when its name is asked for
        for one in imports_of(module, path, modules, package.name):
            reason = _forbidden(room_of(path, package), one.target)
            if reason:
                yield f"{path}:{one.line}: {reason}"
            elif one.target in modules and one.target != module:
                arrows[module].add(one.target)
    yield from (f"{modules[circle[0]]}:1: a circle of imports: {' -> '.join(circle)}" for circle in circles(arrows))
    yield from _lost_joints(package, modules)
    inside = count_inside(package)
    if inside > MOST_INSIDE:
        yield f"{package}:1: {inside} imports of its own stand in functions, {MOST_INSIDE} may: put them at the head"


def count_inside(package: Path) -> int:
    """Return how many imports of the package stand in functions."""
    modules = modules_of(package)
    return sum(
        one.inside for module, path in modules.items() for one in imports_of(module, path, modules, package.name)
    )


def room_of(path: Path, package: Path) -> str:
    """Return the room that a module of the package lies in."""
    top = path.relative_to(package).with_suffix("").parts[0]
    return "__main__" if path.name == "__main__.py" else ROOMS.get(top, top)


def _forbidden(room: str, target: str) -> str | None:
    to = ROOMS.get(target.split(".")[0], target.split(".")[0])
    if room not in LEVEL:
        return f"{room} is no room; the rooms are in tools/python_layers.py"
    if to in (CORE, room):
        return None
    if not to:
        return "a room may not import the face of the package; import what the name stands for"
    if to not in LEVEL:
        return f"{to} is no room; the rooms are in tools/python_layers.py"
    return None if LEVEL[to] < LEVEL[room] else f"{room} may not import {to} ({target})"


def circles(arrows: dict[str, set[str]]) -> Iterator[list[str]]:
    """Yield each strongly connected set of modules or headers, as a path around it."""
    order: list[str] = []
    seen: set[str] = set()
    for start in sorted(arrows):
        _finish(start, arrows, seen, order)
    back: dict[str, set[str]] = defaultdict(set)
    for module, targets in arrows.items():
        for target in targets:
            back[target].add(module)
    seen.clear()
    for start in reversed(order):
        found: list[str] = []
        _finish(start, back, seen, found)
        if len(found) > 1:
            yield [*sorted(found), sorted(found)[0]]


def _finish(start: str, arrows: dict[str, set[str]], seen: set[str], order: list[str]) -> None:
    if start in seen:
        return
    seen.add(start)
    for target in sorted(arrows.get(start, ())):
        _finish(target, arrows, seen, order)
    order.append(start)


def _lost_joints(package: Path, modules: dict[str, Path]) -> Iterator[str]:
    """Yield the joints whose module does not define their name."""
    path = package / JOINTS
    if not path.exists():
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.count(":") == 1):
            continue
        module, _, attribute = node.value.partition(":")
        if module.split(".")[0] != package.name:
            continue
        home = modules.get(module.removeprefix(f"{package.name}."))
        defined = home and {getattr(one, "name", None) for one in ast.parse(home.read_text(encoding="utf-8")).body}
        if not defined or attribute not in defined:
            yield f"{path}:{node.lineno}: there is no {node.value}"
