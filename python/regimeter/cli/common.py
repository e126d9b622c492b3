# SPDX-License-Identifier: Apache-2.0
"""What several verbs share: reading a run, printing a document, naming the next step."""

import argparse
import json
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    from ..public.run import Run

    Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


Value = TypeVar("Value")

# Of the input itself; all other anomalies say something of what was recorded.
DAMAGE = frozenset(("truncated", "trailing_bytes", "invalid_json", "corrupt_bytes", "bad_event", "unfinished"))


RUNS = "recording, saved run, exported JSON or trace; RUN* also has what its forked and spawned processes did"

SIZE = re.compile(r"([A-Za-z_0-9.]+)=([-+0-9.eE]+)")  # NAME=NUMBER
PIPE_WIDTH = 200  # of text that no terminal shows


def load_run(
    path: str | list[str], *, strict: bool = False, recover: bool = False, quiet: bool = False, told: bool = False
) -> "Run":
    """Read a recording, a saved run, an exported file or a trace; say on standard error what of a trace is damaged.

    told: the verb prints the anomalies itself.
    """
    from ..public.run import load
    from .progress import step

    shown = path if isinstance(path, str) else f"{len(path)} files"
    with step(f"reading {shown}", quiet=quiet):
        run = load(path, strict, recover)
    if not quiet and not told and len(run.tables.files) > 0:
        for row in run.anomaly_list():
            if row["code"] == "skipped_files" or row["code"] in DAMAGE:
                print(f"regimeter: {shown}: {row['detail']}", file=sys.stderr)
    return run


def as_option(read: Callable[[str], Value], text: str) -> Value:
    """Return what `read` makes of the value of an option; ArgumentTypeError for its ValueError."""
    try:
        return read(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def print_document(document: object) -> None:
    """Print one JSON document."""
    write_document(document, sys.stdout)


def write_document(document: object, file: IO[str]) -> None:
    """Write one JSON document to a file of text."""
    json.dump(document, file, ensure_ascii=False, indent=1, default=str, allow_nan=False)
    file.write("\n")


def only(traces: str | list[str]) -> str | list[str]:
    """Return a single file as itself; several are the ranks of a job."""
    return traces[0] if isinstance(traces, list) and len(traces) == 1 else traces


def shown_name(files: list[str]) -> str:
    """Return what several files are called: the first, which is the program's own where RUN* was asked for."""
    return files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"


def check_thresholds(thresholds: dict[str, float]) -> None:
    """Refuse names that no threshold has, with similar ones."""
    from .. import _core
    from .errors import CommandError

    known = _core.policy()
    for name in thresholds:
        if name not in known:
            from difflib import get_close_matches

            near = get_close_matches(name, known, cutoff=0.5)
            raise CommandError(
                f"no threshold is called {name!r}; {'similar' if near else 'valid'}: {', '.join(near or known)}"
            )


def not_negative(text: str) -> int:
    """Return a number given as an argument; ArgumentTypeError for one below 0."""
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"expected a number of at least 0, got {text!r}")
    return value


def run_line(run: "Run") -> str:
    """Return one line about a run: scopes, operations, threads, duration."""
    from ..system.text import count, duration

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


def text_width() -> int:
    """Return the width of the terminal; text for a file or a pipe is wide, unless COLUMNS says otherwise."""
    return shutil.get_terminal_size((PIPE_WIDTH if not sys.stdout.isatty() else 80, 24)).columns


# --- verbs that run a program in this process ----------------------------------------------------------------------


def declare_in_process(
    verbs: "Verbs",
    common: argparse.ArgumentParser,
    name: str,
    run: Callable[[argparse.Namespace], int],
    *,
    usage: str,
    help: str,
    description: str,
) -> argparse.ArgumentParser:
    """Declare a verb that runs a torch program here, with the options that all of them have but for ``--output``."""
    parser = verbs.add_parser(
        name, parents=[common], allow_abbrev=False, usage=usage, help=help,
        description=f"{description} What is found goes to standard error; --json prints everything to standard output"
        " when the program has ended.",
    )  # fmt: skip
    parser.add_argument("--no-stack", action="store_true", help="record no stacks: cheaper")
    parser.set_defaults(run=run)
    return parser


def tell_in_process(arguments: argparse.Namespace, document: Callable[[], object], text: Callable[[], str]) -> None:
    """Say what was found of a program that has ended."""
    if arguments.json:
        print_document(document())
    elif not arguments.quiet:
        print(text(), file=sys.stderr)
