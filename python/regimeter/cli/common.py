# SPDX-License-Identifier: Apache-2.0
"""What verbs share, whatever they do: options, documents, the next step. What those share that read a run: runs.py."""

import argparse
import json
import re
import shlex
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias, TypeVar

if TYPE_CHECKING:
    Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


Value = TypeVar("Value")

SIZE = re.compile(r"([A-Za-z_0-9.]+)=([-+0-9.eE]+)")  # NAME=NUMBER
PIPE_WIDTH = 200  # of text that no terminal shows


def as_option(read: Callable[[str], Value], text: str) -> Value:
    """Return what `read` makes of the value of an option; ArgumentTypeError for its ValueError."""
    try:
        return read(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def print_document(document: object) -> None:
    """Print one JSON document."""
    json.dump(document, sys.stdout, ensure_ascii=False, indent=1, default=str, allow_nan=False)
    sys.stdout.write("\n")


def not_negative(text: str) -> int:
    """Return a number given as an argument; ArgumentTypeError for one below 0."""
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"expected a number of at least 0, got {text!r}")
    return value


def number(expected: str, accepts: Callable[[float], bool]) -> Callable[[str], float]:
    """Return what reads the number of an option; its ArgumentTypeError says what was expected."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not accepts(value):
            raise argparse.ArgumentTypeError(f"expected {expected}, got {text!r}")
        return value

    return read


def whole_number(expected: str, least: int = 0, most: float = float("inf")) -> Callable[[str], int]:
    """Return the same for a number in digits."""

    def read(text: str) -> int:
        # int refuses what has thousands of digits with words of its own.
        if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= most):
            raise argparse.ArgumentTypeError(f"expected {expected}, got {text!r}")
        return int(text)

    return read


port = whole_number("a port from 0 to 65535", most=65535)


def next_step(*words: str) -> str:
    """Return a command of ours as the user would type it."""
    return shlex.join(("regimeter", *words))


def text_width() -> int:
    """Return the width of the terminal; text for a file or a pipe is wide, unless COLUMNS says otherwise."""
    import shutil  # with what it imports 8 ms, before a recorded program begins

    return shutil.get_terminal_size((PIPE_WIDTH if not sys.stdout.isatty() else 80, 24)).columns


# --- verbs that run a program in this process ----------------------------------------------------------------------


def declare_in_process(
    verbs: "Verbs",
    common: argparse.ArgumentParser,
    name: str,
    run: Callable[[argparse.Namespace], int],
    *,
    usage: str,
    description: str,
) -> argparse.ArgumentParser:
    """Declare a verb that runs a torch program here, with the options that all of them have but for ``--output``."""
    parser = verbs.add_parser(
        name, parents=[common], usage=usage,
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
