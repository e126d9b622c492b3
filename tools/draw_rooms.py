# SPDX-License-Identifier: Apache-2.0
"""Write the picture of the rooms into ARCHITECTURE.md, from the includes and imports that there are.

An arrow means "uses"; one that follows from others is left out. Usage: draw_rooms.py [--check]
"""

import sys
from collections import defaultdict
from pathlib import Path

import check_layers
import python_layers
from generated import settle

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "ARCHITECTURE.md"
BEGIN, END = "<!-- rooms: written by tools/draw_rooms.py -->", "<!-- rooms: end -->"


def uses_of_core(csrc: Path) -> dict[str, set[str]]:
    """Return which folders of the core each one includes."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in csrc.rglob("*.[ch]"):
        file = path.relative_to(csrc).as_posix()
        for line in path.read_text(encoding="utf-8").splitlines():
            match = check_layers.INCLUDE.match(line)
            target = check_layers.layer(csrc, file, match[2]) if match and match[1] == '"' else None
            if target in check_layers.ALLOWED and target != file.split("/")[0]:
                found[file.split("/")[0]].add(target)
    return dict(sorted(found.items()))


def rooms_of_core(csrc: Path) -> dict[str, dict[str, set[str]]]:
    """Return of each layer that is divided which of its rooms each one includes."""
    found: dict[str, dict[str, set[str]]] = {}
    for name, known in check_layers.ROOMS.items():
        rooms = found[name] = {room: set() for room in known}
        for path in (csrc / name).rglob("*.[ch]"):
            file = path.relative_to(csrc)
            for line in path.read_text(encoding="utf-8").splitlines():
                match = check_layers.INCLUDE.match(line)
                target = check_layers.reached(csrc, file.as_posix(), match[2]) if match and match[1] == '"' else None
                to = check_layers.room(target) if target and target.parts[0] == name else ""
                if to not in ("", check_layers.room(file)):
                    rooms[check_layers.room(file)].add(to)
    return found


def uses_of_package(package: Path) -> dict[str, set[str]]:
    """Return which rooms of the package each one imports when it runs."""
    modules = python_layers.modules_of(package)
    found: dict[str, set[str]] = defaultdict(set)
    for module, path in modules.items():
        room = python_layers.room_of(path, package)
        if not module or room == "__main__":
            continue
        for one in python_layers.imports_of(module, path, modules, package.name):
            to = python_layers.ROOMS.get(one.target.split(".")[0], one.target.split(".")[0])
            if to and to not in (room, python_layers.CORE):
                found[room].add(to)
    return dict(sorted(found.items()))


def reduced(uses: dict[str, set[str]]) -> list[tuple[str, str]]:
    """Return the arrows that do not follow from others; there is no circle among them."""

    def reach(room: str, without: str) -> bool:
        return any(other == without or reach(other, without) for other in uses.get(room, ()))

    return [
        (room, to)
        for room in sorted(uses)
        for to in sorted(uses[room])
        if not any(other != to and reach(other, to) for other in uses[room])
    ]


def arrows(uses: dict[str, set[str]], prefix: str) -> list[str]:
    """Return the lines of the rooms of one folder; those that use the same stand in one line."""
    users: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for room in uses:
        users[tuple(to for one, to in reduced(uses) if one == room)].append(room)
    used = set().union(*uses.values())
    node = f"{prefix}{{0}}[{{0}}]".format
    lines = []
    for targets, rooms in sorted(users.items(), key=lambda one: one[1]):
        if targets:
            lines.append(f"{' & '.join(map(node, rooms))} --> {' & '.join(map(node, targets))}")
        elif alone := [room for room in rooms if room not in used]:
            lines.append("; ".join(map(node, alone)))
    return lines


def picture() -> str:
    """Return the picture as Mermaid, which hosts of repositories draw."""
    csrc, package = ROOT / "csrc", ROOT / "python" / "regimeter"
    lines = ["```mermaid", "flowchart BT", '  subgraph c_all["csrc"]']
    lines += [f"    {line}" for line in arrows(uses_of_core(csrc), "c_")]
    for name, rooms in rooms_of_core(csrc).items():
        lines.append(f'    subgraph c_{name}["{name}"]')
        lines += [f"      {line}" for line in arrows(rooms, f"c_{name}_")]
        lines.append("    end")
    lines += ["  end", '  subgraph p_all["python/regimeter"]']
    lines += [f"    {line}" for line in arrows(uses_of_package(package), "p_")]
    return "\n".join([*lines, "  end", "  p_all --> c_python", "```"])


def main() -> int:
    text = DOCUMENT.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    if not after:
        print(f"{DOCUMENT}: the lines '{BEGIN}' and '{END}' are not there", file=sys.stderr)
        return 1
    drawn = f"{before}{BEGIN}\n{picture()}\n{END}{after}"
    return settle({DOCUMENT: drawn}, check="--check" in sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
