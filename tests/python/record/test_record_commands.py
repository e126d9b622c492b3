# SPDX-License-Identifier: Apache-2.0
"""`regimeter record` of installed commands, and of those that only start other programs."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import regimeter

# Starts the program behind its name as torchrun and accelerate do: with the interpreter and a copy of its environment.
LAUNCHER = """\
import os, subprocess, sys
ranks = os.environ.get("RANKS", "").split() or [None]
for rank in ranks:
    told = {} if rank is None else {"RANK": rank, "WORLD_SIZE": str(len(ranks))}
    subprocess.run([sys.executable, "-u", *sys.argv[1:]], env={**os.environ, **told}, check=True)
"""
PROGRAM = """\
import time
def turn():
    until = time.process_time() + 0.1
    while time.process_time() < until:
        pass
turn()
"""


def installed(folder: Path, name: str, text: str, first: str = f"#!{sys.executable}") -> Path:
    """Put a command into a folder, as pip does."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"{first}\n{text}")
    path.chmod(0o755)
    return path


def record(folder: Path, *words: object, **variables: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "regimeter", "record", "-o", "run.rgm", *map(str, words)]
    path = os.pathsep.join([str(folder / "bin"), os.environ["PATH"]])
    return subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path, **variables}, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip


def test_a_command_is_found_by_its_name(tmp_path: Path) -> None:
    installed(tmp_path / "bin", "own-tool", "import sys\nprint(sys.argv)\n")
    done = record(tmp_path, "own-tool", "--deep", "-m", "x")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{[str(tmp_path / 'bin/own-tool'), '--deep', '-m', 'x']}\n"
    run = regimeter.load(tmp_path / "run.rgm")
    assert [run.string(name) for name in run.spans.name] == ["own-tool"]


@pytest.mark.parametrize(
    ("first", "said"),
    [
        ("#!/bin/sh", "is no program of Python"),
        ("#!/usr/bin/env perl", "is no program of Python"),
        ("\x7fELF", "is no program of Python"),
        ("#!{other}/python3", "is of another Python than"),
        (None, "no such program file or command"),
    ],
)
def test_what_cannot_be_recorded_is_one_line(tmp_path: Path, first: str | None, said: str) -> None:
    installed(tmp_path / "other", "python3", "exit 1", "#!/bin/sh")
    if first is not None:
        installed(tmp_path / "bin", "own-tool", "", first.format(other=tmp_path / "other"))
    done = record(tmp_path, "own-tool")
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "run.rgm").exists()


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        (("python", "-u", "prog.py"), ()),
        (("python3", "-OO", "-W", "error", "prog.py"), ("optimize=2",)),
        ((sys.executable, "-uB", "-Xdev", "-X", "utf8", "prog.py"), ("dev_mode=True",)),
        (("python", "-bum", "prog"), ("bytes_warning=1",)),
        (("python", "--check-hash-based-pycs", "never", "prog.py"), ()),
    ],
)
def test_options_of_the_interpreter_are_passed_on(
    tmp_path: Path, words: tuple[str, ...], flags: tuple[str, ...]
) -> None:
    (tmp_path / "prog.py").write_text("import sys\nprint(sys.flags, sys.argv[1:])\n")
    done = record(tmp_path, *words, "-c", "x")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("['-c', 'x']\n")
    assert all(flag in done.stdout for flag in flags)
    run = regimeter.load(tmp_path / "run.rgm")
    assert [run.string(name) for name in run.spans.name] == [words[-1]]


@pytest.mark.parametrize("option", ["-I", "-E", "-S", "-uE"])
def test_options_that_keep_the_recorder_out_are_refused(tmp_path: Path, option: str) -> None:
    done = record(tmp_path, "python", option, "-WIES", "-c", "print('ran')")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"leave out -{option[-1]} of Python" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "run.rgm").exists()


def test_an_interpreter_whose_path_is_too_long_for_the_kernel(tmp_path: Path) -> None:
    text = f"'''exec' {sys.executable} \"$0\" \"$@\"\n' '''\nprint('ran')\n"
    installed(tmp_path / "bin", "own-tool", text, "#!/bin/sh")
    assert record(tmp_path, "own-tool").stdout == "ran\n"


@pytest.mark.parametrize(
    ("name", "ranks", "files"),
    [("torchrun", "0 1", ["run.rgm.rank0", "run.rgm.rank1"]), ("accelerate", "", ["run.rgm.*"])],
)
def test_programs_that_are_only_started_are_what_is_told_of(
    tmp_path: Path, name: str, ranks: str, files: list[str]
) -> None:
    """Whatever options of the interpreter stand before the launcher, and where it lies."""
    launcher = installed(tmp_path / "place", name, LAUNCHER)
    (tmp_path / "train.py").write_text(PROGRAM)
    done = record(tmp_path, "--", launcher, "train.py", PYTHONDONTWRITEBYTECODE="1", RANKS=ranks)
    assert done.returncode == 0, done.stderr
    found = [path.name for form in files for path in sorted(tmp_path.glob(form))]
    assert len(found) == max(len(ranks.split()), 1), found
    verdict, _, rest = done.stderr.partition("Operations by")
    assert "for another process" not in verdict, "that the launcher waits limits nothing"
    assert "train.py" in rest.partition("Cost of profiling")[0]
    assert f"Next: regimeter report {' '.join(found)} -o report.html" in rest
    environment: Any = regimeter.load(tmp_path / found[0]).environment
    assert environment["recorded_program"]["launched"] is True
    told = json.loads(record(tmp_path, "--json", "--", launcher, "train.py", RANKS=ranks).stderr)
    operations = {row["operation"] for row in told["summary"]}
    assert "train.py" in operations
    assert name not in operations
    assert told["verdict"]["cause"] != "child"


@pytest.mark.parametrize("words", [["-m", "train"], ["-mtrain"]])
def test_a_module_that_is_started_has_its_own_name(tmp_path: Path, words: list[str]) -> None:
    launcher = installed(tmp_path / "place", "torchrun", LAUNCHER)
    (tmp_path / "train.py").write_text("pass")
    done = record(tmp_path, "--", launcher, *words, RANKS="0")
    assert done.returncode == 0, done.stderr
    run = regimeter.load(tmp_path / "run.rgm.rank0")
    assert [run.string(name) for name in run.spans.name][:1] == ["train"]


def test_pytest_that_takes_warnings_for_errors_is_recorded(tmp_path: Path) -> None:
    """The program has our package before pytest begins, which warns of modules that it can no longer rewrite."""
    (tmp_path / "test_own.py").write_text("def test_own():\n    assert True\n")
    done = record(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", "test_own.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
    assert "warning" not in done.stdout
