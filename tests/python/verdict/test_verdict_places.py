# SPDX-License-Identifier: Apache-2.0
"""Which line a verdict names where the program is itself installed, and what counts as importing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from verdicts import leading, verdict

import regimeter
from regimeter.suggest.verdict import Verdict

# Calls of the interpreter's library, so that the innermost line is never the package's own.
WORK = """import textwrap
def run():
    for _ in range(25):
        textwrap.wrap("some words and more " * 3000)
"""


def install(folder: Path) -> Path:
    """Put a package where packages are installed, with a script that calls it; return the script."""
    package = folder / "lib/python3/site-packages/trainer"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "work.py").write_text(WORK)
    (package / "__main__.py").write_text("from trainer.work import run\nrun()\n")
    script = folder / "bin/trainer"
    script.parent.mkdir()
    script.write_text("import sys\nfrom trainer.work import run\nsys.exit(run())\n")
    return script


def verdict_of(folder: Path, *program: str, path: str | None = None) -> Verdict:
    """Record a program as a user would, with packages in `path`, else where `install` puts them."""
    run = folder / "run.rgm"
    command = [sys.executable, "-m", "regimeter", "record", "--quiet", "-o", str(run), *program]
    variables = {"PYTHONPATH": path or str(folder / "lib/python3/site-packages"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    subprocess.run(command, check=True, timeout=300, cwd=folder, env=os.environ | variables)
    return verdict(regimeter.load(run))


def place_of(folder: Path, *program: str) -> tuple[str, str | None]:
    """Return the cause and the place of its verdict."""
    found = verdict_of(folder, *program)
    return found.cause, found.causes[0].place


def test_the_line_of_a_package_that_is_run_as_a_module_is_its_own(tmp_path: Path) -> None:
    install(tmp_path)
    assert place_of(tmp_path, "-m", "trainer") == ("python", "run (work.py:4)")


def test_the_line_of_a_package_that_a_script_calls_is_its_own(tmp_path: Path) -> None:
    assert place_of(tmp_path, str(install(tmp_path))) == ("python", "run (work.py:4)")


@pytest.mark.parametrize("beside", [True, False], ids=["in a folder of its own", "in the program's folder"])
def test_what_pip_puts_into_a_folder_of_another_name_is_not_the_program(beside: bool, tmp_path: Path) -> None:
    """`pip install --target deps`; what lies beside the program may be its own."""
    folder = tmp_path / "deps" if beside else tmp_path
    (folder / "slowlib-1.0.dist-info").mkdir(parents=True)
    (folder / "slowlib.py").write_text(
        "def spin(count):\n    total = 0\n    for value in range(count):\n        total += value % 7\n"
    )
    (tmp_path / "train.py").write_text("import slowlib\ndef work():\n    slowlib.spin(9_000_000)\nwork()\n")
    found = verdict_of(tmp_path, "train.py", path=str(folder))
    first = leading(found, "python")
    assert first.place.startswith("work (train.py:3)" if beside else "spin (slowlib.py:"), found.why
    assert first.inner.startswith("spin (slowlib.py:" if beside else ""), found.why


# As data classes, proxies and decorators make them: a function whose lines nobody can look up.
MADE = """MADE = "def spin(count):\\n    return sum(value % 7 for value in range(count))"
made = {}
exec(MADE, made)
def work():
    return made["spin"](8_000_000)
work()
"""


def test_a_function_that_is_made_from_a_text_is_the_line_that_calls_it(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(MADE)
    assert place_of(tmp_path, "train.py") == ("python", "work (train.py:5)")


def test_a_program_that_is_a_text_itself_has_its_lines(tmp_path: Path) -> None:
    text = "def spin(count):\n    return sum(value % 7 for value in range(count))\nspin(8_000_000)\n"
    (tmp_path / "train.py").write_text(f"exec({text!r}, {{}})\n")
    cause, place = place_of(tmp_path, "train.py")
    assert (cause, place) in (
        ("python", f"{function} (<string>:2)") for function in ("spin", "spin.<locals>.<genexpr>")
    )


# Most of the time is the runner's: no line of the program has as much of it as the entry has below it.
CASES = """import pytest
def compute(n):
    total = 0
    for i in range(n):
        total += i * i
    return total
@pytest.mark.parametrize("i", range(400))
def test_much(i):
    assert compute(20000)
@pytest.mark.parametrize("i", range(400))
def test_little(i):
    assert compute(10)
"""


def test_the_line_of_tests_is_theirs_and_not_the_entry_of_what_runs_them(tmp_path: Path) -> None:
    (tmp_path / "test_cases.py").write_text(CASES)
    words = ["-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), "test_cases.py"]
    found = verdict_of(tmp_path, "-m", "pytest", *words)  # on a busy machine imports may take more
    place = next(one.place for one in found.causes if one.cause == "python")
    assert place in {f"compute (test_cases.py:{line})" for line in (4, 5)}, found.why


def test_who_lets_the_loader_compile_imports_nothing(tmp_path: Path) -> None:
    source = tmp_path / "source.py"
    source.write_text("".join(f"def f{i}(x):\n    return x + {i} * (x - {i})\n" for i in range(3000)))
    program = tmp_path / "program.py"
    program.write_text(f"import py_compile\nfor _ in range(4):\n    py_compile.compile({str(source)!r})\n")
    assert place_of(tmp_path, str(program)) == ("python", "<module> (program.py:3)")
