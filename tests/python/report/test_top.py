# SPDX-License-Identifier: Apache-2.0
"""`regimeter top`: a recording that grows, one that is done, one that was killed, and what is no recording."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import regimeter
from regimeter.cli import main
from regimeter.report.following import Seen, screen

TOOL = [sys.executable, "-m", "regimeter"]
# Sleeps until it is told to spin, and spins until it is told to end.
PROGRAM = """
import pathlib, sys, time
def pause():
    time.sleep(0.02)
def spin():
    return sum(range(20_000))
print("begun", flush=True)
while not pathlib.Path("spin").exists():
    pause()
while not pathlib.Path("end").exists():
    spin()
"""


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A recording that is being written, of a program that ends when a file `end` is there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(PROGRAM)
    command = [*TOOL, "record", "-q", "-o", "run.rgm", "prog.py"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        yield tmp_path / "run.rgm"
        (tmp_path / "spin").touch()
        (tmp_path / "end").touch()
        process.wait(300)


def look(file: Path, seen: Seen, **more: int) -> list[str]:
    """Return the screen of a recording that is being written."""
    run = regimeter.load(file, recover=True)
    given = {"width": 80, "height": 40, **more}
    return screen(run, seen, name=file.name, size=1, writing=not run.complete, **given)


def wait_for(what: str, file: Path, seen: Seen) -> list[str]:
    """Look until a line of the screen has this text."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        shown = look(file, seen)
        if any(what in line for line in shown):
            return shown
        time.sleep(0.2)
    raise AssertionError(shown)


def test_it_shows_what_the_program_does_now(recording: Path) -> None:
    seen = Seen()
    shown = wait_for("pause (prog.py:4)", recording, seen)
    assert "being written" in shown[0]
    (recording.parent / "spin").touch()
    wait_for("spin (prog.py:6)", recording, seen)
    look(recording, seen)
    time.sleep(1.0)
    shown = look(recording, seen)
    title = next(at for at, line in enumerate(shown) if line.startswith("lines, by samples of the last"))
    assert "spin (prog.py:6)" in shown[title + 1], "the sleeping before has more samples by far, but is over"
    assert all(len(line) <= 80 for line in shown)


def test_it_follows_until_the_program_ends(recording: Path) -> None:
    following = subprocess.Popen([*TOOL, "top", "--interval", "0.1", "run.rgm"], stdout=subprocess.PIPE, text=True)
    assert following.stdout is not None
    assert "being written" in following.stdout.readline()
    (recording.parent / "spin").touch()
    (recording.parent / "end").touch()
    rest = following.communicate(timeout=300)[0]
    assert following.returncode == 0
    assert "run.rgm: closed; " in rest


def test_a_process_is_followed_by_its_id(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wait_for("pause", recording, Seen())
    [program] = [
        int(one.name)
        for one in Path("/proc").iterdir()
        if one.name.isdecimal() and f"REGIMETER_RECORD={recording}".encode() in environ_of(one)
    ]
    assert main(["top", str(program), "--once", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["file"] == str(recording)
    assert found["writing"]
    assert found["verdict"]["cause"] == "sleep"


def environ_of(process: Path) -> list[bytes]:
    """Return the environment that a process was started with; nothing where it cannot be read."""
    try:
        return (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def test_a_killed_program_is_shown_as_far_as_it_came(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(f"import os, time\ntime.sleep(0.5)\nos.kill(os.getpid(), {signal.SIGKILL})\n")
    subprocess.run([*TOOL, "record", "-q", "-o", "run.rgm", "prog.py"], check=False, timeout=300)
    os.utime("run.rgm", (1, 1))
    done = subprocess.run([*TOOL, "top", "run.rgm"], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "not closed, and no longer written" in done.stdout


def test_a_low_screen_has_the_verdict_and_no_table(recording: Path) -> None:
    wait_for("pause", recording, Seen())
    shown = look(recording, Seen(), height=8)
    assert any(line.startswith("Limit:") for line in shown)
    assert not any(line.startswith("operations") for line in shown)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["absent.rgm"], "absent.rgm"),
        ([str(os.getpid())], "is not being recorded"),
        (["999999999"], "process 999999999"),
        (["--interval", "0", "x.rgm"], "expected seconds from 0.1 to 3600"),
    ],
)
def test_what_cannot_be_followed_is_one_line(words: list[str], says: str, refused: Callable[..., str]) -> None:
    refused(["top", *words], says)
