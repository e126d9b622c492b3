# SPDX-License-Identifier: Apache-2.0
"""docs/threat_model.md: its tests are there, reading has no side effects, and code runs in known places alone."""

import ast
import gzip
import json
import pickle
import re
import shutil
from pathlib import Path

import pytest
from places import ROOT
from snapshots import Allocator, frame, snapshot
from traces import trace_path

import regimeter
from regimeter import GPUProfiler
from regimeter.cli import main

DOCUMENT = ROOT / "docs/threat_model.md"
# Each starts programs, runs code that the user wrote, or loads what a process of our own has pickled.
PLACES = {
    "cli/compile.py": {"run_path"},
    "cli/in_process.py": {"run_module", "run_path"},
    "cli/supervise.py": {"execve"},
    "compare/ab/launches.py": {"Popen"},
    "compare/ab/worktrees.py": {"run"},
    "integrations/ipython.py": {"eval", "exec"},
    "job/workers.py": {"Popen", "loads"},
    "regime/parts.py": {"loads"},
    "system/callgrind.py": {"run"},
    "system/git.py": {"run"},
    "testing/launches.py": {"run"},
}
READING = """
import os, sys
import regimeter

FORBIDDEN = ("subprocess.", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.fork", "socket.", "pickle.",
             "ctypes.", "os.remove", "os.rename", "os.mkdir", "shutil.")
seen = []

def hook(event, given):
    written = event == "open" and isinstance(given[2], int) and given[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if event.startswith(FORBIDDEN) or written:
        seen.append((event, repr(given)[:200]))

files = sys.argv[1:]
for file in files:
    regimeter.load(file).verdict()  # what is imported for it
sys.addaudithook(hook)
for file in files:
    run = regimeter.load(file)
    run.verdict(), run.suggestions(), run.breakdown()
print(seen)
"""


def test_every_test_that_is_named_is_there():
    text = DOCUMENT.read_text()
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", text)
    assert len(named) > 25
    for file, name in named:
        (path,) = (ROOT / "tests").rglob(file)
        assert f"def {name}(" in path.read_text(), f"{file} has no {name}"
    for path in re.findall(r"`((?:tests|python)/[\w/]+\.\w+)`", text):
        assert (ROOT / path).is_file(), path


def test_code_runs_and_processes_start_where_it_is_known():
    found: dict[str, set[str]] = {}
    package = ROOT / "python/regimeter"
    for file in sorted(package.rglob("*.py")):
        names = {name for node in ast.walk(ast.parse(file.read_text())) if (name := _runs(node))}
        if names:
            found[str(file.relative_to(package))] = names
    assert found == PLACES


def _runs(node: ast.AST) -> str:
    """Return by what a call runs code or starts a process, '' where it does not."""
    if not isinstance(node, ast.Call):
        return ""
    assert not any(one.arg == "shell" for one in node.keywords), f"a shell in line {node.lineno}"
    if isinstance(node.func, ast.Name) and node.func.id in ("eval", "exec", "compile"):
        return node.func.id
    if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
        owner, name = node.func.value.id, node.func.attr
        process = owner == "subprocess" and name in ("run", "Popen", "call", "check_call", "check_output")
        loaded = owner in ("pickle", "marshal", "shelve") and name in ("load", "loads", "Unpickler", "open")
        program = owner == "runpy"
        system = owner == "os" and re.match(r"system|popen|exec|spawn|posix_spawn", name)
        return name if process or loaded or program or system else ""
    return ""


@pytest.fixture
def inputs(tmp_path: Path) -> list[Path]:
    """Return a file of each kind that is read."""
    recording, export = tmp_path / "run.rgm", tmp_path / "run.json"
    with GPUProfiler(path=recording) as profiler, profiler.profile("step", device="cpu"):
        pass
    assert main(["export", str(recording), "-o", str(export), "-q"]) == 0
    names = ("h100_bert_small.json.gz", "nsys_h100_2gpu_cut.sqlite")
    traces = [Path(shutil.copy(trace_path(name), tmp_path)) for name in names]
    allocator = Allocator()
    allocator.alloc(4096, [frame(1)])
    with open(tmp_path / "memory.pickle", "wb") as file:
        pickle.dump(snapshot(allocator), file)
    return [recording, export, *traces, tmp_path / "memory.pickle"]


def test_reading_starts_connects_loads_and_writes_nothing(inputs, run_python):
    done = run_python(READING, *map(str, inputs))
    assert done.stdout == "[]\n", done.stdout + done.stderr
    assert regimeter.load(inputs[0]).entries.span.tolist() == [0]


def test_a_trace_hands_on_no_variables_of_its_environment(tmp_path: Path) -> None:
    document = json.loads(gzip.decompress(trace_path("h100_bert_small.json.gz").read_bytes()))
    variables = document["metadata"]["system"]["env"]
    secrets = {"HF_TOKEN", "PATH", "a secret"}
    assert secrets & variables.keys()
    variables |= {"RANK": "3", "MINE": 'a secret, "quoted" {', "WORLD_SIZE": "8"}
    document["env"] = {"MINE": "a secret"}
    trace = tmp_path / "trace.json"
    trace.write_text(json.dumps(document))
    run = regimeter.load(trace)
    stated = run.environment["trace"]
    assert stated["metadata"]["system"]["env"] == {"RANK": "3", "WORLD_SIZE": "8"}
    assert stated["env"] == {}
    assert stated["metadata"]["system"]["uname"] == document["metadata"]["system"]["uname"]
    assert stated["schemaVersion"] == document["schemaVersion"]
    files = [tmp_path / name for name in ("page.html", "out.trace.json", "out.json", "out.pftrace", "out.rgm")]
    assert main(["report", str(trace), "-o", str(files[0]), "-q"]) == 0
    for file in files[1:]:
        run.export(file) if file.suffix != ".rgm" else run.save(file)
    texts = [*(file.read_text(errors="replace") for file in files), *run.strings]
    assert not [text[:80] for text in texts if any(secret in text for secret in secrets - {"PATH"})]
