# SPDX-License-Identifier: Apache-2.0
"""The includes of the C core point downward (tools/check_layers.py)."""

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
        ("model/run.h", '"io/json.h"'),
        ("analysis/flame.c", '"io/json.h"'),
        ("capture/scope.c", '"cuda/events.h"'),
        ("io/json.c", '"python/module.h"'),
        ("model/run.c", "<Python.h>"),
        ("python/module.c", "<numpy/arrayobject.h>"),
        ("capture/session.c", "<cuda.h>"),
        ("misc/stray.c", "<stdio.h>"),
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
        ("analysis/flame.c", '"model/run.h"'),
        ("capture/device.c", '"cuda/events.h"'),
        ("cuda/loader.c", "<cuda.h>"),
        ("io/json.c", '"json.h"'),
        ("python/module.c", '"analysis/flame.h"'),
    ],
)
def test_a_downward_include_is_left_alone(tmp_path, file, include):
    write(tmp_path, file, include)
    assert check(tmp_path).returncode == 0
