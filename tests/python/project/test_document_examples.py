# SPDX-License-Identifier: Apache-2.0
"""The examples of README and docs: Python is executed from top to bottom, command lines are parsed."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import fakes
import pytest
import small_calibration
from places import ROOT
from shared import once
from traces import trace_path

from regimeter import GPUProfiler
from regimeter.cli import make_parser
from regimeter.cli.words import split_program

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMES = [str(path.relative_to(ROOT)) for path in DOCUMENTS]
PYTHON = re.compile(r"^```python\n(.*?)^```", re.S | re.M)

# What the reader of a document has already: the names that its examples use and do not make.
COMMON = """
import sys, types
import numpy as np, polars, pytest
import regimeter
from regimeter import GPUProfiler

model = layer_norm = step = attention = lambda *values: np.ones(3)
batch = batches = x = text = tokens = np.ones(3)
parse = encode = decode = old_tokenize = new_tokenize = str
read, request_id, side = lambda: [1, 2, 3], 100, 0
"""
TORCH = """
import torch
torch.set_num_threads(1)
a = b = torch.ones(8, 8)
"""
HAVING = {
    "README.md": TORCH + small_calibration.PROGRAM,
    "docs/trace_tour.md": TORCH,
    "docs/marking.md": "profiler = regimeter.get_profiler()",
    "docs/tuning.md": """
image, smooth = np.ones(1000), lambda image, block_size: image.sum()
stream = types.SimpleNamespace(cuda_stream=0)
""",
}
# Documents whose examples need what a test cannot have, and why.
LEFT_OUT = {
    "docs/calibration.md": "measures the machine for seconds",
    "docs/regime_profiler.md": "measures the machine for seconds",
    "docs/gate.md": "is a file of a user's own package",
    "docs/gpu/counters.md": "needs a device",
}
# Each document in a child of one process, so that what all of them import is imported once.
RUN = """
import atexit, json, os, sys, threading
import numpy, polars, pytest, regimeter

def run(name, examples):
    namespace = {"__name__": "example"}
    for line, text in examples:
        try:
            exec(compile("\\n" * line + text, name, "exec"), namespace)
        except SystemExit as ended:
            assert ended.code in range(6), ended.code

def leave():
    # As an interpreter ends, without the half second that it takes to put away what was imported.
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)

codes = {}
for name, (folder, uses_torch, examples) in json.load(open("documents.json")).items():
    if uses_torch:
        import torch
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        os.environ["REGIMETER_CACHE"] = os.path.abspath("cache")
        said = os.open("said", os.O_WRONLY | os.O_CREAT)
        os.dup2(said, 1), os.dup2(said, 2)
        run(name, examples)
        leave()
    codes[name] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
with open("codes.json", "w") as file:
    json.dump(codes, file)
"""


def examples(name: str) -> list[tuple[int, str]]:
    """Return the Python examples of a document, each with the lines before it."""
    text = (ROOT / name).read_text()
    return [(text.count("\n", 0, found.start(1)), found[1]) for found in PYTHON.finditer(text)]


def prepare(folder: Path) -> None:
    """Put the files there that examples load: recordings, a trace, logs of torch.compile."""
    for name in ("trace.json.gz", "baseline.json.gz"):
        shutil.copy(trace_path("a100_event_sync.json.gz"), folder / name)
    shutil.copytree(ROOT / "tests/data/compile_logs", folder / "logs")
    for name in ("train.rgm", "base.rgm", "new.rgm", "a.rgm", "b.rgm"):
        with GPUProfiler(path=folder / name) as profiler:
            for _ in range(5):
                with profiler.profile("forward", device="cpu"):
                    sum(range(1000))


EXECUTED = [name for name in NAMES if examples(name) and name not in LEFT_OUT]


def run_all(folder: Path) -> None:
    """Run the examples of all documents, each in a folder of its own."""
    documents = {}
    for number, name in enumerate(EXECUTED):
        place = folder / str(number)
        place.mkdir()
        prepare(place)
        texts = [(0, COMMON + HAVING.get(name, "")), *examples(name)]
        documents[name] = str(place), any("import torch" in text for _, text in texts), texts
    # Those that use torch come last: the others do without it.
    (folder / "documents.json").write_text(json.dumps(dict(sorted(documents.items(), key=lambda row: row[1][1]))))
    environment = {**os.environ, **fakes.environment(cuda="")}
    subprocess.run([sys.executable, "-c", RUN], cwd=folder, env=environment, check=True, timeout=600)


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    return once(tmp_path_factory, "document-examples", run_all)


@pytest.mark.parametrize("name", EXECUTED)
def test_python_examples_run(name, ran):
    said = (ran / str(EXECUTED.index(name)) / "said").read_text(errors="replace")
    assert json.loads((ran / "codes.json").read_text())[name] == 0, said


def test_what_is_left_out_has_examples():
    assert all(examples(name) for name in LEFT_OUT)


def commands(name: str) -> list[str]:
    """Return the command lines of a document that start the command, without what a shell makes of the rest."""
    blocks = re.findall(r"^```(?:sh|console)?\n(.*?)^```|((?:^    .*\n)+)", (ROOT / name).read_text(), re.S | re.M)
    text = "\n".join(part for block in blocks for part in block).replace("\\\n", " ")
    found = []
    for line in text.splitlines():
        line = line.strip().removeprefix("$ ").removeprefix(".venv/bin/")
        if line.startswith("regimeter ") and not re.search(r"\[|\.\.\.|\bVERB\b", line):
            found.append(re.split(r" [|>&;]|;|   ", line)[0])
    return found


@pytest.fixture(scope="module")
def parser():
    return make_parser()


@pytest.mark.parametrize("name", [name for name in NAMES if commands(name)])
def test_command_lines_are_understood(name, parser):
    for line in commands(name):
        words, _ = split_program(shlex.split(line, comments=True)[1:])
        try:
            parser.parse_args(words)
        except SystemExit as refused:
            assert not refused.code, line
