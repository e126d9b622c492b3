# SPDX-License-Identifier: Apache-2.0
"""What several verbs share: reading a run, printing a document, naming the next step."""

import argparse
import json
import shlex
import sys
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from ..trace import Run

    Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


# Of the input itself; all other anomalies say something of what was recorded.
DAMAGE = frozenset(("truncated", "trailing_bytes", "invalid_json", "corrupt_bytes", "bad_event", "unfinished"))


def load_run(
    path: str | list[str], *, strict: bool = False, recover: bool = False, quiet: bool = False, told: bool = False
) -> "Run":
    """Read a recording, a saved run, an exported file or a trace; say on standard error what of a trace is damaged.

    told: the verb prints the anomalies itself.
    """
    from ..trace import load
    from .progress import step

    shown = path if isinstance(path, str) else f"{len(path)} files"
    with step(f"reading {shown}", quiet=quiet):
        run = load(path, strict, recover)
    if not quiet and not told and len(run.files) > 0:
        for row in run.anomaly_list():
            if row["code"] == "skipped_files" or row["code"] in DAMAGE:
                print(f"regimeter: {shown}: {row['detail']}", file=sys.stderr)
    return run


def print_document(document: object) -> None:
    """Print one JSON document."""
    json.dump(document, sys.stdout, ensure_ascii=False, indent=1, default=str, allow_nan=False)
    print()


def not_negative(text: str) -> int:
    """Return a number given as an argument; ArgumentTypeError for one below 0."""
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"expected a number of at least 0, got {text!r}")
    return value


def count(number: int, noun: str) -> str:
    """Return the number with its noun, in the plural where due."""
    if number != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("py") else f"{noun}s"
    return f"{number:,} {noun}"


def run_line(run: "Run") -> str:
    """Return one line about a run: scopes, operations, threads, duration."""
    from ..report.text import duration

    parts = [count(len(run.entries), "scope"), count(len(run.summary), "operation"), count(len(run.lanes), "lane")]
    state = "" if run.complete else ", not closed by its program"
    lasted = duration(run.duration_ns / 1e6) if run.has_start_times else "no start times"
    return f"{', '.join(parts)}, {lasted}{state}"


def program_of(run: "Run") -> str:
    """Return the command line of the recorded program, '' where it is not known."""
    command: Any = run.environment.get("command")
    return shlex.join(str(word) for word in command) if isinstance(command, list) else ""


def next_step(*words: str) -> str:
    """Return a command of ours as the user would type it."""
    return shlex.join(("regimeter", *words))
