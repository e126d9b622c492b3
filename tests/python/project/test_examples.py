# SPDX-License-Identifier: Apache-2.0
"""What others copy: the gate as a script, a workflow, an action and a hook, by running their commands."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from needed import package
from places import ROOT
from repositories import git

# The base sleeps 2 ms and the change 40 ms, which no noise hides.
SOURCE = "import time\ndef test_it(gpu_benchmark):\n    gpu_benchmark.pedantic(time.sleep, ({},), rounds=9)\n"
BASE, SLOWER = 0.002, 0.04
INPUT = re.compile(r"\$\{\{ *(.*?) *\}\}")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a repository with a benchmark, whose last commit made it slower; `pip` there does nothing."""
    folder, tools = tmp_path / "project", tmp_path / "tools"
    folder.mkdir()
    (folder / ".gitignore").write_text("__pycache__/\n.pytest_cache/\nperformance.*\n")
    (folder / "conftest.py").write_text("")
    git(folder, "init", "-q")
    for sleep in (BASE, SLOWER):
        (folder / "test_it.py").write_text(SOURCE.format(sleep))
        git(folder, "add", ".")
        git(folder, "commit", "-qm", "one")
    tools.mkdir()
    python = f'exec "{sys.executable}"'
    for name, body in {"pip": "exit 0", "pytest": f'{python} -m pytest "$@"', "python": f'{python} "$@"'}.items():
        (tools / name).write_text(f"#!/bin/sh\n{body}\n")
        (tools / name).chmod(0o755)
    return folder


def run(project: Path, command: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a runner would, with little noise allowed for."""
    place = {"PATH": f"{project.parent / 'tools'}{os.pathsep}{os.environ['PATH']}"}
    place |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "-p regimeter.pytest_plugin --perf-noise=20%"}
    place["GITHUB_STEP_SUMMARY"] = str(project.parent / "summary.md")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")}
    return subprocess.run(
        command, cwd=project, env=environment | place | variables, text=True, capture_output=True, timeout=300
    )


def run_steps(
    project: Path, steps: list[dict[str, Any]], values: dict[str, str], **given: str
) -> subprocess.CompletedProcess[str]:
    """Run the steps that are commands, as GitHub does, until one fails that may not. values: of expressions."""

    def filled(text: str) -> str:
        return INPUT.sub(lambda found: values[found[1]], text)

    for step in steps:
        if "run" not in step or step.get("if") == "inputs.requirement != ''":
            continue
        variables = {name: filled(text) for name, text in step.get("env", {}).items()}
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", filled(step["run"])]
        done = run(project, command, GITHUB_ACTION_PATH=str(ROOT), **variables, **given)
        if done.returncode and not step.get("continue-on-error"):
            break
    return done


def test_the_script_fails_what_is_slower(project: Path) -> None:
    variables = {"PYTHON": sys.executable, "INSTALL": "", "LAUNCHES": "1"}

    def gate() -> subprocess.CompletedProcess[str]:
        return run(project, ["sh", str(ROOT / "examples/pre-merge.sh"), "HEAD~1"], **variables)

    slower = gate()
    assert slower.returncode == 1, slower.stdout + slower.stderr
    assert "PERF GATE FAILED  1 regression" in slower.stdout
    assert len(git(project, "worktree", "list").splitlines()) == 1
    (project / "test_it.py").unlink()
    assert gate().returncode == pytest.ExitCode.NO_TESTS_COLLECTED


def test_the_action(project: Path) -> None:
    action = package("yaml").safe_load((ROOT / "action.yml").read_text())
    inputs = {name: one["default"] for name, one in action["inputs"].items()}
    inputs |= {"base": "HEAD~1", "launches": "1", "install": "", "requirement": "", "tests": "test_it.py"}
    done = run_steps(project, action["runs"]["steps"], {f"inputs.{name}": value for name, value in inputs.items()})
    assert done.returncode == 1, done.stdout + done.stderr
    assert (project.parent / "summary.md").read_text().count("### ") == 1
    assert (project / "performance.html").is_file()


def test_the_workflow(project: Path) -> None:
    job = package("yaml").safe_load((ROOT / "examples/github-actions.yml").read_text())["jobs"]["gate"]
    given = {"BASE": git(project, "rev-parse", "HEAD~1"), "HEAD": git(project, "rev-parse", "HEAD")}
    given |= {"STORAGE": str(project.parent / "perf"), "FAIL": "time:5%"}
    assert set(given) == set(job["env"])
    commands = [step for step in job["steps"] if "run" in step]
    steps = [step | {"run": step["run"].replace("-launches=5", "-launches=1")} for step in commands]
    done = run_steps(project, steps, {}, **given)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "PERF GATE FAILED  1 regression" in done.stdout


def test_the_hook(project: Path) -> None:
    """pre-commit runs a hook of the language `script` by its path, in the repository of its user."""
    (hook,) = package("yaml").safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert (hook["language"], hook["args"]) == ("script", ["origin/main"])
    git(project, "update-ref", "refs/remotes/origin/main", "HEAD~1")
    command = [str(ROOT / hook["entry"]), *hook["args"], "--perf-launches=1", "--perf-compare-fail=never"]
    done = run(project, command, PYTHON=sys.executable, INSTALL="")
    assert done.returncode == 0, done.stdout + done.stderr  # its arguments reach the gate
    assert "1 regression" in done.stdout
