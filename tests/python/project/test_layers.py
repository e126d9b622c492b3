# SPDX-License-Identifier: Apache-2.0
"""Includes of the C core and imports of the package point downward (tools/check_layers.py)."""

import ast
import sys
from pathlib import Path

import pytest
from places import HELPERS, ROOT, TESTS

sys.path.insert(0, str(ROOT / "tools"))

import check_layers


@pytest.fixture
def check(monkeypatch, capsys):
    """Look at a folder as `make lint` looks at those of this repository; return the exit code and what is said."""

    def run(folder):
        monkeypatch.setattr(sys, "argv", ["check_layers.py", str(folder)])
        return check_layers.main(), capsys.readouterr().err

    return run


def write(csrc: Path, file: str, include: str) -> None:
    (csrc / file).parent.mkdir(parents=True, exist_ok=True)
    (csrc / file).write_text(f"// one line before\n#include {include}\n")


@pytest.mark.parametrize(
    ("file", "include"),
    [
        ("base/arena.c", '"model/run.h"'), ("base/arena.c", '"../model/run.h"'),
        ("model/run.h", '"io/json/json_text.h"'), ("analysis/views/flame.c", '"io/json/json_text.h"'),
        ("capture/scope.c", '"cuda/events/events.h"'), ("io/json/json_text.c", '"python/module.h"'),
        ("model/run.c", "<Python.h>"), ("python/module.c", "<numpy/arrayobject.h>"), ("capture/session.c", "<cuda.h>"),
        ("misc/stray.c", "<stdio.h>"), ("analysis/view.c", '"analysis/times/lines.h"'),
        ("analysis/waiting/idle.c", '"analysis/critical/path.h"'), ("analysis/times/lines.c", '"../waiting/idle.h"'),
        ("analysis/misc/stray.c", '"analysis/view.h"'), ("io/trace/trace_join.c", '"io/export/stacks.h"'),
    ],
)  # fmt: skip
def test_an_upward_include_is_found(check, tmp_path, file, include):
    write(tmp_path, file, include)
    code, said = check(tmp_path)
    assert code == 1
    assert f"{tmp_path / file}:2: " in said


@pytest.mark.parametrize(
    ("file", "include"),
    [
        ("model/run.c", '"base/arena.h"'),
        ("model/run.c", '"../base/arena.h"'),
        ("analysis/views/flame.c", '"model/run.h"'),
        ("capture/device.c", '"cuda/events/events.h"'),
        ("cuda/loader.c", "<cuda.h>"),
        ("io/json/json_text.c", '"json.h"'),
        ("python/module.c", '"analysis/views/flame.h"'),
        ("analysis/critical/critical_path.c", '"analysis/waiting/calls.h"'),
        ("analysis/critical/critical_path.c", '"analysis/view.h"'),
    ],
)
def test_a_downward_include_is_left_alone(check, tmp_path, file, include):
    write(tmp_path, file, include)
    assert check(tmp_path) == (0, "")


def test_a_circle_of_headers_is_found(check, tmp_path):
    write(tmp_path, "io/json/a.h", '"io/json/b.h"')
    write(tmp_path, "io/json/b.h", '"a.h"')
    write(tmp_path, "io/json/a.c", '"io/json/a.h"')
    code, said = check(tmp_path)
    assert code == 1
    assert "a circle of headers: io/json/a.h -> io/json/b.h -> io/json/a.h" in said


def test_every_room_says_what_lies_in_it():
    for layer, rooms in check_layers.ROOMS.items():
        folders = {path.name for path in (ROOT / "csrc" / layer).iterdir() if path.is_dir()}
        assert folders == set(rooms)
        for room in rooms:
            text = (ROOT / "csrc" / layer / room / "README.md").read_text(encoding="utf-8")
            assert len(text.splitlines()) <= 10


def package_of(tmp_path, files):
    root = tmp_path / "regimeter"
    for name, text in {"__init__.py": "", **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / "__init__.py").touch()
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        ("system/files.py", "import os\nfrom ..report import html\n", 2),
        ("run/inputs.py", "from ..public.run import Run\n", 1),
        ("run/inputs.py", "def read():\n    from regimeter.report import html\n", 2),
        ("run/inputs.py", "import regimeter.cli\n", 1),
        ("analysis/verb.py", "from ..capture import recording\n", 1),
        ("capture/backend.py", "from ..profiler import GPUProfiler\n", 1),
        ("compare/decide.py", "from .. import load\n", 1),
        ("misc/stray.py", "from ..system import files\n", 1),
        (
            "compare/decide.py",
            "if True:\n    try:\n        from ..cli import main\n    except ImportError:\n        pass\n",
            3,
        ),
    ],
)
def test_an_upward_import_is_found(check, tmp_path, file, text, line):
    package = package_of(
        tmp_path,
        {
            "report/html.py": "", "public/run.py": "class Run: ...\n", "cli/common.py": "", "capture/recording.py": "",
            "system/files.py": "", "profiler.py": "", file: text,
        },
    )  # fmt: skip
    code, said = check(package)
    assert code == 1
    assert f"{package / file}:{line}: " in said


def test_a_circle_within_a_room_and_a_joint_to_nothing_are_found(check, tmp_path):
    package = package_of(
        tmp_path,
        {
            "run/a.py": "from . import b\n",
            "run/b.py": "def f():\n    from .a import x\n",
            "system/joints.py": 'JOINTS = {\n    "page": "regimeter.report.html:gone",\n}\n',
            "report/html.py": "def render(): ...\n",
        },
    )
    code, said = check(package)
    assert code == 1
    assert "a circle of imports: run.a -> run.b -> run.a" in said
    assert f"{package / 'system/joints.py'}:2: there is no regimeter.report.html:gone" in said


def test_too_many_imports_in_functions_are_found(check, tmp_path):
    text = "".join(f"def f{number}():\n    from . import b\n" for number in range(500))
    package = package_of(tmp_path, {"run/a.py": text, "run/b.py": ""})
    code, said = check(package)
    assert code == 1
    assert "500 imports of its own stand in functions" in said


def test_what_only_a_type_checker_sees_is_no_arrow(check, tmp_path):
    text = "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from ..public.run import Run\n"
    package = package_of(tmp_path, {"run/records.py": text, "public/run.py": "from ..run import records\n"})
    assert check(package) == (0, "")


def imported(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def test_rooms_of_tests_share_what_lies_outside_of_them():
    # pytest makes a room's files importable when it comes to it, so the order of the files would decide.
    rooms = {file.stem: file.parent for file in HELPERS.glob("*/*.py")}
    files = [file for folder in (HELPERS, TESTS / "web") for file in folder.rglob("*.py")]
    taken = [
        (file.name, name) for file in files for name in imported(file) if rooms.get(name, file.parent) != file.parent
    ]
    assert len(files) > 250
    assert not taken
