# SPDX-License-Identifier: Apache-2.0
"""What several verbs share: reading a run, printing a document, naming the next step."""

import argparse
import json
import os
import shlex
import sys
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from ..trace import Run

    Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def load_run(path: str, *, recover: bool = False, quiet: bool = False) -> "Run":
    """Read a recording, a saved run or an exported file."""
    from ..trace import load
    from .errors import CommandError
    from .progress import step

    if os.path.isdir(path):
        raise CommandError(f"{path}: a directory; expected a recording (.rgm) or an exported profile (.json)")
    with step(f"reading {path}", quiet=quiet):
        return load(path, recover=recover)


def print_document(document: object) -> None:
    """Print one JSON document."""
    json.dump(document, sys.stdout, ensure_ascii=False, indent=1, default=str, allow_nan=False)
    print()


def count(number: int, noun: str) -> str:
    """Return the number with its noun, in the plural where due."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def run_line(run: "Run") -> str:
    """Return one line about a run: scopes, operations, threads, duration."""
    from ..report.text import duration

    parts = [count(len(run.entries), "scope"), count(len(run.summary), "operation"), count(len(run.lanes), "lane")]
    state = "" if run.complete else ", not closed by its program"
    return f"{', '.join(parts)}, {duration(run.duration_ns / 1e6)}{state}"


def program_of(run: "Run") -> str:
    """Return the command line of the recorded program, '' where it is not known."""
    command: Any = run.environment.get("command")
    return shlex.join(str(word) for word in command) if isinstance(command, list) else ""


def next_step(*words: str) -> str:
    """Return a command of ours as the user would type it."""
    return shlex.join(("regimeter", *words))
