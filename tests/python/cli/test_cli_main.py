# SPDX-License-Identifier: Apache-2.0
"""The command as a whole: help, options, errors, imports, completion."""

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from regimeter import GPUProfiler, __version__
from regimeter.analysis.catalog import find_verbs
from regimeter.cli import main, make_parser
from regimeter.cli.completion import read_verbs
from regimeter.cli.overview import ANALYSES
from regimeter.cli.words import split_program


def verbs_of_the_parser():
    """Yield the verbs of the command."""
    return read_verbs(make_parser().verbs)


NAMES = [verb.name for verb in verbs_of_the_parser()]


def regimeter(*words: object, **options: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "regimeter", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **options)  # type: ignore[call-overload, no-any-return]


@pytest.fixture
def run_file(tmp_path):
    file = tmp_path / "run.rgm"
    with GPUProfiler(path=file, enable_detailed_metrics=False) as profiler:
        with profiler.profile("step", device="cpu"):
            pass
    return file


def test_help_imports_nothing_heavy():
    heavy = ("numpy", "rich", "torch", "regimeter._core", "subprocess", "importlib.metadata")
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "regimeter", "--help"], capture_output=True, text=True, check=True
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "regimeter.cli" in imported
    assert not [name for name in imported if name in heavy or name.startswith(tuple(f"{one}." for one in heavy))]


def test_the_script_and_the_module_are_the_same():
    script = Path(sys.executable).with_name("regimeter")
    if not script.exists():
        pytest.skip("the package is not installed beside this interpreter")
    by_script = subprocess.run([script, "--help"], capture_output=True, text=True, check=True)
    assert by_script.stdout == regimeter("--help").stdout


def test_each_verb_has_help(capsys):
    for verb in NAMES:
        assert main([verb, "--help"]) == 0
        said = capsys.readouterr().out
        assert said.startswith(f"usage: regimeter {verb}")
        assert "TRACE" in said or verb not in find_verbs()


@pytest.mark.parametrize("words", [["--version"], ["show", "--version"], ["record", "--version"]])
def test_version(words, capsys):
    assert main(words) == 0
    assert capsys.readouterr().out == f"regimeter {__version__}\n"


def test_a_layout_without_counts_is_said(tmp_path, capsys):
    assert main(["record", "--layout", "3", "-o", str(tmp_path / "run.rgm"), "-c", "pass"]) == 2
    assert "--layout is for counts" in capsys.readouterr().err
    assert not (tmp_path / "run.rgm").exists()


@pytest.mark.parametrize("words", [["--json", "show"], ["show", "--json"]])
def test_options_stand_before_or_after_the_verb(words, run_file, capsys):
    assert main([*words, str(run_file)]) == 0
    assert json.loads(capsys.readouterr().out)["summary"][0]["operation"] == "step"


@pytest.mark.parametrize("words", [["-q", "show"], ["show", "--quiet"]])
def test_quiet_leaves_the_hints_out(words, run_file, capsys):
    assert main([*words, str(run_file)]) == 0
    quiet = capsys.readouterr().out
    assert "step" in quiet
    assert "Next:" not in quiet
    main(["show", str(run_file)])
    assert capsys.readouterr().out.splitlines()[-1].startswith("Next: regimeter report ")


@pytest.mark.parametrize(
    "words", [[], ["nonsense"], ["show"], ["show", "--nonsense", "a"], ["show", "--top", "-1", "a"]]
)
def test_wrong_usage_is_one_line_and_code_2(words, refused):
    refused(words, "--help")


@pytest.mark.parametrize("digits", ["65536", "9" * 400, "9" * 5000])
def test_a_number_that_is_too_large_is_told_what_was_expected(digits, refused):
    refused(["serve", "--port", digits], "expected a port from 0 to 65535")


def test_an_unknown_failure_is_one_line(monkeypatch, capsys):
    def broken(_):
        raise RuntimeError("it is\nbroken")

    monkeypatch.setattr("regimeter.cli.doctor.check_machine", lambda: broken(None))
    monkeypatch.delenv("REGIMETER_DEBUG", raising=False)
    assert main(["doctor"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "regimeter: internal error: RuntimeError: it is broken; REGIMETER_DEBUG=1 shows where"
    ]
    monkeypatch.setenv("REGIMETER_DEBUG", "1")
    with pytest.raises(RuntimeError):
        main(["doctor"])


def test_ctrl_c_is_code_130(monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr("regimeter.cli.doctor.check_machine", interrupted)
    assert main(["doctor"]) == 130


@pytest.mark.parametrize("words", [["show"], ["show", "--json"]])
def test_a_closed_pipe_is_quiet(words, run_file):
    command = [sys.executable, "-m", "regimeter", *words, str(run_file)]
    reading, writing = os.pipe()
    os.close(reading)  # before the first byte is written
    try:
        done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=300, check=False)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


def test_output_that_cannot_show_a_character(run_file):
    done = regimeter("show", run_file, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr


# --- the program's words are not ours -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "ours", "program"),
    [
        (["record", "a.py", "-o", "x", "--json"], ["record"], ["a.py", "-o", "x", "--json"]),
        (["record", "-o", "x", "a.py", "-q"], ["record", "-o", "x"], ["a.py", "-q"]),
        (["record", "-ox", "--html=y", "a.py"], ["record", "-ox", "--html=y"], ["a.py"]),
        (["-q", "record", "--", "-x.py", "1"], ["-q", "record"], ["-x.py", "1"]),
        (["record", "-m", "m", "-o", "x"], ["record"], ["-m", "m", "-o", "x"]),
        (["record", "--interval", "5", "-c", "pass"], ["record", "--interval", "5"], ["-c", "pass"]),
        (["record", "-"], ["record"], ["-"]),
        (["record", "--track-memory", "a.py", "--", "b"], ["record", "--track-memory"], ["a.py", "--", "b"]),
        (["show", "record", "-m"], ["show", "record", "-m"], []),
        (["record"], ["record"], []),
    ],
)
def test_the_command_line_is_split(words, ours, program):
    assert split_program(words) == (ours, program)


@pytest.mark.parametrize(
    ("name", "content", "is_program"),
    [
        ("train.py", "", True),
        ("gone.py", None, True),
        ("train.pyw", "", True),
        ("train", "#!/usr/bin/env python3\n", True),
        ("folder/__main__.py", "", True),
        ("train", "#!/bin/sh\n", False),
        ("train", "print(1)\n", False),
        ("empty", "", False),
        ("folder/train.py", "", False),
        ("snap.pickle", "", False),
        ("snap.json", "#!/usr/bin/env python3\n", False),
        ("gone.rgm", None, False),
    ],
)
def test_what_memory_takes_for_a_program(name, content, is_program, tmp_path):
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    if content is not None:
        file.write_text(content)
    word = str(file.parent if name.startswith("folder") else file)
    ours, program = ["memory", "-o", "x.html"], [word, "-o", "y"]
    assert split_program(ours + program) == ((ours, program) if is_program else (ours + program, []))
    assert split_program([*ours, "--", *program]) == (ours, program)


def test_memory_runs_no_file_that_is_no_program(tmp_path, capsys):
    made = tmp_path / "made"
    for name, content in (
        ("t.json", f"open({str(made)!r}, 'w')"),
        ("t.pickle", ""),
        ("t", f"open({str(made)!r}, 'w')"),
    ):
        file, page = tmp_path / name, tmp_path / "page.html"
        file.write_text(content)
        assert main(["memory", str(file), "-o", str(page)]) == 2
        assert f"{file}: " in capsys.readouterr().err
        assert not made.exists()
        assert not page.exists()


# --- completion -----------------------------------------------------------------------------------------------------


def completion(*words: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(["completion", *words]) == 0
    return out.getvalue()


def complete(script: str, *words: str) -> list[str]:
    quoted = " ".join(f"'{word}'" for word in ("regimeter", *words))
    ask = f'{script}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _regimeter; printf "%s\\n" "${{COMPREPLY[@]}}"'
    return subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes():
    script = completion("bash")
    assert complete(script, "") == NAMES
    assert complete(script, "re") == ["record", "report", "recover", "regime", "region-regimes"]
    assert complete(script, "breakdown", "--ru") == ["--rule"]
    assert complete(script, "export", "--f") == ["--format"]
    assert complete(script, "export", "--format", "pa") == ["parquet"]
    assert complete(script, "-q", "export", "--table", "sp") == ["spans"]
    assert complete(script, "selftest", "") == ["overhead"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_option_is_in_the_completion(shell):
    script = completion(shell)
    for verb in verbs_of_the_parser():
        assert verb.name in script
        for option in verb.options:
            for name in option.names:
                assert (name.lstrip("-") if shell == "fish" else name) in script
    found = shutil.which(shell)
    if found:
        subprocess.run([found, "-n"], input=script, text=True, check=True)


def test_completion_as_json():
    assert set(json.loads(completion("bash", "--json"))) == {"shell", "script", "install"}


@pytest.mark.parametrize("words", [["--help"], ["--help", "show"]])
def test_help_has_every_verb_once_under_a_question(words, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(words) == 0
    text = capsys.readouterr().out
    listed = text[text.index("Record a program") : text.index("options:")]
    assert max(len(line) for line in listed.splitlines()) <= 80
    grouped = listed[: listed.index(ANALYSES)]
    rest = re.split(r",\s*", listed[listed.index(ANALYSES) + len(ANALYSES) : listed.index("`regimeter VERB")].strip())
    everyday = re.findall(r"(?m)^  ([a-z][a-z-]*)  ", grouped)
    assert sorted([*everyday, *rest]) == sorted(NAMES)


@pytest.mark.parametrize(("word", "near"), [("shwo", "show"), ("comparse", "compare"), ("critical", "critical-path")])
def test_an_unknown_verb_is_answered_with_the_nearest(word, near, refused):
    said = refused([word, "x"], f"no verb is called '{word}'", near)
    assert len(said) < 200
