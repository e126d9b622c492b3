# SPDX-License-Identifier: Apache-2.0
"""Runs a Python program in this process, as `python SCRIPT ARGS` or `python -m MODULE ARGS` would, within a block."""

import contextlib
import os
import runpy
import sys
import traceback
from collections.abc import Iterator
from typing import Any

from .errors import CommandError

FAILED = 1


def name_of(program: list[str]) -> str:
    """Return what to call a program: its file's name without suffix, or its module. CommandError for none."""
    if not program:
        raise CommandError("no program to run; name a script, or -m and a module")
    if program[0] == "-m" and len(program) > 1:
        return program[1]
    if program[0].startswith("-"):
        raise CommandError(f"{program[0]}: a script is expected, or -m and a module")
    if not os.path.exists(program[0]):
        raise CommandError(f"{program[0]}: no such file; check the path")
    return os.path.splitext(os.path.basename(program[0]))[0]


def run_program(program: list[str], block: Any) -> int:
    """Run the program inside a context manager, and return its exit code; an exception is printed as Python does.

    It runs here because torch.profiler records its own process: what the program does to the process stays done.
    """
    with _as_main(program):
        try:
            with block:
                if program[0] == "-m":
                    runpy.run_module(program[1], run_name="__main__", alter_sys=True)
                else:
                    runpy.run_path(program[0], run_name="__main__")
        except SystemExit as ended:
            if isinstance(ended.code, str):
                print(ended.code, file=sys.stderr)
            return ended.code if isinstance(ended.code, int) else FAILED if ended.code else 0
        except Exception:
            traceback.print_exc()
            return FAILED
    return 0


@contextlib.contextmanager
def _as_main(program: list[str]) -> Iterator[None]:
    """Let the program see its own arguments and folder."""
    before = sys.argv, sys.path[:]
    words = program[1:] if program[0] == "-m" else program
    sys.argv = list(words)
    sys.path[0:1] = [os.getcwd() if program[0] == "-m" else os.path.dirname(os.path.abspath(program[0]))]
    try:
        yield
    finally:
        sys.argv, sys.path[:] = before
