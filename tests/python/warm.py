# SPDX-License-Identifier: Apache-2.0
"""Commands and small programs without the time that a process takes to import what they need.

A process that has imported it forks for each: `regimeter record` forks again there for the program, which then is the
main program with modules that it need not load, else as by a start of its own. For tests of what comes out. Those of
starts, of imports and of how an interpreter ends start processes.
"""

import atexit
import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SERVER = """
import atexit, gc, json, os, signal, sys, threading, types

import numpy
from regimeter import _core
from regimeter.cli import main, outcome, record, supervise
from regimeter.public import run, standin
from regimeter.regime import calls, verdict
from regimeter.run import environment, processes, ranks, witness

class Program(BaseException):
    '''Leaves the command for the program that it starts.'''

def become(command, variables, own_group, mask, supervisor):
    _core.die_with_parent(signal.SIGKILL)
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    raise Program(command[-1], variables)

def leave(code):
    '''End without the second that it takes to put away what was imported.'''
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)

supervise._become = become
gc.collect()
gc.freeze()
for line in sys.stdin:
    asked = json.loads(line)
    child = asked["await"] or os.fork()
    if child == 0:
        break
    print(child if asked["started"] else os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()
os.chdir(asked["folder"])
for number, name in enumerate((os.devnull, "out", "err")):
    place = os.path.join(asked["printed"], name)
    os.dup2(os.open(place, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644), number)
os.environ.clear()
os.environ.update(asked["variables"])
sys.path[1:1] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
if not asked["started"]:
    signal.alarm(300)  # nobody else would end it
try:
    if asked["words"]:
        leave(main(asked["words"]))
    raise Program(asked["program"], asked["variables"])
except Program as started:
    path, variables = started.args
os.environ.clear()
os.environ.update(variables)
sys.argv[:], sys.orig_argv[1:] = [path], [path]
sys.path[0] = os.path.dirname(path)
with open(path) as file:
    program = compile(file.read(), path, "exec")
left, module = sys.modules["__main__"], types.ModuleType("__main__")
sys.modules["__main__"], module.__file__ = module, path
if "REGIMETER_RECORD_PYTHONPATH" in os.environ:
    sys.modules.pop("sitecustomize", None)
    sys.path.insert(0, os.environ["PYTHONPATH"].partition(os.pathsep)[0])
    import sitecustomize  # ours, which takes itself out of the path
exec(program, vars(module))
threading._shutdown()
atexit._run_exitfuncs()
leave(0)
"""
TORCH = "import torch, torch._dynamo, torch.utils.data"


@functools.cache
def _server(before: str) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", before + SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    atexit.register(process.communicate)
    return process


def _ask(before: str, folder: Path, **asked: Any) -> int:
    server = _server(before)
    assert server.stdin
    assert server.stdout
    nothing = {"words": [], "await": 0, "started": False, "variables": dict(os.environ)}
    server.stdin.write(json.dumps({**nothing, "folder": str(folder), "printed": str(folder), **asked}) + "\n")
    return int(server.stdout.readline())


def program(
    folder: Path, code: str, variables: Mapping[str, str], *, torch: bool = False
) -> "subprocess.CompletedProcess[str]":
    """Run a program, program.py in the folder, with these variables of the environment alone.

    A folder of its own: what is printed lies there too, in `out` and `err`. torch: whether it has been imported.
    """
    path = folder / "program.py"
    path.write_text(code, encoding="utf-8")
    status = _ask(TORCH if torch else "", folder, program=str(path), variables=dict(variables))
    return subprocess.CompletedProcess([], status, *((folder / name).read_text() for name in ("out", "err")))


def record(folder: Path, code: str, *options: str, quiet: bool = True, name: str = "program.py") -> Path:
    """Record a program, a file of this name in the folder; return the recording.

    A folder of its own: what is printed lies there too, in `out` and `err`.
    """
    (folder / name).write_text(code, encoding="utf-8")
    words = ["record", *["--quiet"] * quiet, *options, "-o", str(folder / "run.rgm"), str(folder / name)]
    status = _ask(TORCH if "torch" in code else "", folder, words=words)
    assert status == 0, (folder / "err").read_text()
    return folder / "run.rgm"


def command(
    folder: Path, *words: object, variables: Mapping[str, str] = os.environ, torch: bool = False
) -> "subprocess.CompletedProcess[str]":
    """Run `regimeter` in the folder, to its end; a program that it starts has no arguments. torch: as above."""
    with tempfile.TemporaryDirectory() as printed:
        asked = {"words": [str(word) for word in words], "printed": printed, "variables": dict(variables)}
        status = _ask(TORCH if torch else "", folder, **asked)
        said = [Path(printed, name).read_text() for name in ("out", "err")]
    return subprocess.CompletedProcess(words, status, *said)


class Command:
    """`regimeter` in a process that goes on: a server. What it prints comes to lie in `out` and `err` of the folder."""

    def __init__(self, folder: Path, *words: str) -> None:
        self._before = f"import regimeter.cli.{words[0]}, regimeter.server.process"
        self._folder = folder
        self.pid = _ask(self._before, folder, words=words, started=True)

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def wait(self) -> int:
        """Return the status, once it has ended."""
        return _ask(self._before, self._folder, **{"await": self.pid})
