# SPDX-License-Identifier: Apache-2.0
"""What is said of programs as people write them, recorded here: rules whose premise is there by construction speak,
rules without one do not (suggest_programs.py has both, with the reason). And the benchmarks name real rules."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from needed import benchmarks, package
from places import ROOT
from suggest_programs import PROGRAMS

from regimeter import _core

FOLDER = Path(__file__).parent


def said_by(recorder: str) -> dict[str, tuple[list[str], list[str]]]:
    """Record the programs in a process of their own: name -> rules that speak, and those that others count."""
    command = [sys.executable, str(FOLDER / "suggest_programs.py"), recorder]
    ended = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    lines = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("[")]
    return {name: (spoken, merged) for name, spoken, merged in lines}


@pytest.fixture(scope="module")
def said() -> dict[str, dict[str, tuple[list[str], list[str]]]]:
    return {}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_said_of_a_program(name: str, said: dict[str, dict[str, tuple[list[str], list[str]]]]) -> None:
    one = PROGRAMS[name]
    if one.recorder == "operators":
        package("torch")
    if one.recorder not in said:
        said[one.recorder] = said_by(one.recorder)
    spoken, merged = said[one.recorder][name]
    assert one.must <= set(spoken), one.why
    assert not one.must_not & {*spoken, *merged}, one.why


def test_benchmarks_validate_at_least_twelve_rules() -> None:
    package("torch")
    benchmarks()
    sys.path.insert(0, str(ROOT))
    run = importlib.import_module("benchmarks.suggestions.run")
    program = importlib.import_module("benchmarks.suggestions.program")
    sys.path.remove(str(ROOT))
    modules = {name: program.load(name) for name in run.names()}
    rules = {module.RULE for module in modules.values()} - {None}
    assert rules <= set(_core.SUGGESTION_RULES)
    assert len(rules) >= 12
    assert all(hasattr(module, "before") and callable(module.prepare) for module in modules.values())
