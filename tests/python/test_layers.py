# SPDX-License-Identifier: Apache-2.0
"""Includes of the C core and imports of the package point downward (tools/check_layers.py)."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def check(csrc: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "check_layers.py"), str(csrc)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def write(csrc: Path, file: str, include: str) -> None:
    (csrc / file).parent.mkdir(parents=True, exist_ok=True)
    (csrc / file).write_text(f"// one line before\n#include {include}\n")


def test_the_core_keeps_its_layers():
    done = check(ROOT / "csrc")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("file", "include"),
    [
        ("base/arena.c", '"model/run.h"'),
        ("base/arena.c", '"../model/run.h"'),
        ("model/run.h", '"io/json/json_text.h"'),
        ("analysis/views/flame.c", '"io/json/json_text.h"'),
        ("capture/scope.c", '"cuda/events/events.h"'),
        ("io/json/json_text.c", '"python/module.h"'),
        ("model/run.c", "<Python.h>"),
        ("python/module.c", "<numpy/arrayobject.h>"),
        ("capture/session.c", "<cuda.h>"),
        ("misc/stray.c", "<stdio.h>"),
        ("analysis/view.c", '"analysis/times/lines.h"'),
        ("analysis/waiting/idle.c", '"analysis/times/lines.h"'),
        ("analysis/times/lines.c", '"../waiting/idle.h"'),
        ("analysis/misc/stray.c", '"analysis/view.h"'),
        ("io/trace/trace_join.c", '"io/export/stacks.h"'),
    ],
)
def test_an_upward_include_is_found(tmp_path, file, include):
    write(tmp_path, file, include)
    done = check(tmp_path)
    assert done.returncode == 1
    assert f"{tmp_path / file}:2: " in done.stderr


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
def test_a_downward_include_is_left_alone(tmp_path, file, include):
    write(tmp_path, file, include)
    assert check(tmp_path).returncode == 0


def test_a_circle_of_headers_is_found(tmp_path):
    write(tmp_path, "io/json/a.h", '"io/json/b.h"')
    write(tmp_path, "io/json/b.h", '"a.h"')
    write(tmp_path, "io/json/a.c", '"io/json/a.h"')
    done = check(tmp_path)
    assert done.returncode == 1
    assert "a circle of headers: io/json/a.h -> io/json/b.h -> io/json/a.h" in done.stderr


def test_every_room_says_what_lies_in_it():
    sys.path.insert(0, str(ROOT / "tools"))
    import check_layers

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


def test_the_package_keeps_its_layers():
    done = check(ROOT / "python" / "regimeter")
    assert done.returncode == 0, done.stderr
    assert "in functions" in done.stdout


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
def test_an_upward_import_is_found(tmp_path, file, text, line):
    package = package_of(
        tmp_path,
        {
            "report/html.py": "",
            "public/run.py": "class Run: ...\n",
            "cli/common.py": "",
            "capture/recording.py": "",
            "system/files.py": "",
            "profiler.py": "",
            file: text,
        },
    )
    done = check(package)
    assert done.returncode == 1
    assert f"{package / file}:{line}: " in done.stderr


def test_a_circle_within_a_room_and_a_joint_to_nothing_are_found(tmp_path):
    package = package_of(
        tmp_path,
        {
            "run/a.py": "from . import b\n",
            "run/b.py": "def f():\n    from .a import x\n",
            "system/joints.py": 'JOINTS = {\n    "page": "regimeter.report.html:gone",\n}\n',
            "report/html.py": "def render(): ...\n",
        },
    )
    done = check(package)
    assert done.returncode == 1
    assert "a circle of imports: run.a -> run.b -> run.a" in done.stderr
    assert f"{package / 'system/joints.py'}:2: there is no regimeter.report.html:gone" in done.stderr


def test_what_only_a_type_checker_sees_is_no_arrow(tmp_path):
    text = "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from ..public.run import Run\n"
    package = package_of(tmp_path, {"run/records.py": text, "public/run.py": "from ..run import records\n"})
    assert check(package).returncode == 0
