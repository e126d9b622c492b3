# SPDX-License-Identifier: Apache-2.0
"""The command ``regimeter``: parse, call the verb, turn errors into one line.

One module a verb, imported when that verb is called and no sooner: ``add_parser(verbs, common)`` declares it,
``run(arguments)`` does it. The analyses of a trace are declared by one module, ``analyse``, from their descriptions.
Which verbs there are is in ``verbs``.
"""

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from ..system.quantities import size
from .verbs import ANALYSES, EXTENDED, OWN, module_of
from .words import split_program

if TYPE_CHECKING:
    from .common import Verbs

# Those that load a run into this process. `serve` and `record` have another --memory; the variable holds for all.
LOADING = frozenset(
    (
        "show",
        "report",
        "export",
        "recover",
        "counters",
        "ranks",
        ANALYSES,
        "regime",
        "suggest",
        "explain",
        "query",
        "flame",
        "timeline",
        "hta",
        "memory",
        "compare",
    )
)
LISTS = ("schema", "completion")  # whose text is for programs
# What these print is not ours alone, or is read by programs: it is printed as it is.
AS_IT_IS = ("record", "serve", "top", "export", "query", "profile", "memory", "compile", "ab", "monitor", *LISTS)
DEBUG_VARIABLE = "REGIMETER_DEBUG"
FAILED, USAGE = 1, 2
COLUMNS = 80  # of a text that nobody sees
EXAMPLES = """\
examples:
  regimeter record train.py --epochs 1     run a program, keep what its profiler recorded
  regimeter show RUN.rgm                   where the time went
  regimeter report RUN.rgm -o report.html  the same as a page that opens without a network
  regimeter breakdown TRACE.json.gz        how a trace's device time divides into compute, communication and idle
  regimeter regime TRACE.json.gz           what limits it: overhead, memory or arithmetic, and by how much
  regimeter compare BASE.rgm NEW.rgm       did it get slower, with what certainty; exit code 1 if so
  regimeter doctor                         what can be measured on this machine, and what not
"""


class _Parser(argparse.ArgumentParser):
    _intermixed = False
    _declaring = False

    def __init__(self, **options: Any) -> None:
        super().__init__(**options | {"allow_abbrev": False})

    def add_argument(self, *args: Any, **kwargs: Any) -> argparse.Action:
        """Declare an argument, without asking for each how wide the terminal is: what asks takes 10 ms to import."""
        self._declaring = True
        try:
            return super().add_argument(*args, **kwargs)
        finally:
            self._declaring = False

    def _get_formatter(self, **options: Any) -> argparse.HelpFormatter:  # of the stream, from Python 3.15 on
        if self._declaring:
            return argparse.HelpFormatter(self.prog, width=COLUMNS)
        return super()._get_formatter(**options)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line; `--help` has the rest."""
        self.exit(USAGE, f"regimeter: {message}; see `{self.prog} --help`\n")

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        """Take options before, between and after words, also where any number of words may stand at the end."""
        if self._intermixed or all(action.nargs != "*" for action in self._get_positional_actions()):
            return super().parse_known_args(args, namespace)
        self._intermixed = True  # the other method calls this one
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._intermixed = False


class RootParser(_Parser):
    """The parser of the whole command; `verbs` are those that it has declared."""

    verbs: "Verbs"

    def format_help(self) -> str:
        """Return usage, verbs by question, options and examples."""
        # What a list of the verbs needs takes 15 ms to import, and a verb that is called needs none.
        from .overview import overview

        formatter = self._get_formatter()
        formatter.add_usage(self.usage, [action for action in self._actions if action.option_strings], [], "usage: ")
        usage = formatter.format_help().rstrip() + " VERB ..."
        formatter = self._get_formatter()
        formatter.start_section("options")
        formatter.add_arguments([action for action in self._actions if action.option_strings])
        formatter.end_section()
        parts = (usage, self.description or "", overview(), formatter.format_help().strip(), self.epilog or "")
        return "\n\n".join(part.rstrip() for part in parts) + "\n"


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from .._core import __version__  # the core is not loaded for help

        print(f"regimeter {__version__}")
        parser.exit()


def _common_options() -> argparse.ArgumentParser:
    # Without defaults, so that what stood before the verb is not overwritten by what did not stand after it.
    common = _Parser(add_help=False, argument_default=argparse.SUPPRESS)
    common.add_argument("--json", action="store_true", help="print one JSON document instead of text")
    common.add_argument("-q", "--quiet", action="store_true", help="print results and warnings of damage only")
    common.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    return common


def _loading_options(common: argparse.ArgumentParser) -> argparse.ArgumentParser:
    loading = _Parser(add_help=False, argument_default=argparse.SUPPRESS, parents=[common])
    loading.add_argument(
        "--memory",
        metavar="SIZE",
        type=_size,
        dest="memory_limit",
        help="how much memory to take, such as 512MB; more lies in a file (REGIMETER_SPILL names the folder)",
    )
    return loading


def _size(text: str) -> float:
    try:
        return size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _module(name: str) -> ModuleType:
    return import_module(f".{name}", __name__)


def make_parser(modules: Iterable[str] = (*OWN, ANALYSES, *EXTENDED)) -> RootParser:
    """Return the parser of the whole command, or of the verbs that some of our modules declare."""
    common = _common_options()
    loading = _loading_options(common)
    parser = RootParser(
        prog="regimeter",
        description="GPU profiler for Python: where time and memory went, and what the profiling itself cost.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[common],
    )
    verbs = parser.verbs = parser.add_subparsers(
        dest="verb", metavar="VERB", required=True, parser_class=_Parser, prog=parser.prog
    )
    for name in modules:
        _module(name).add_parser(verbs, loading if name in LOADING else common)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, 1 for a finding or a failure, 2 for usage or unreadable input."""
    words = list(sys.argv[1:] if argv is None else argv)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # started with a closed stream; a program that we start inherits it closed
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a character
    try:
        return _call(words)
    except SystemExit as end:  # argparse, for --help and usage
        return end.code if isinstance(end.code, int) else FAILED
    except BrokenPipeError:
        _forget_output()
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        from .errors import describe  # it loads the core

        message, code = describe(error)
        with contextlib.suppress(OSError):
            print(f"regimeter: {message}", file=sys.stderr)
        return code


def _call(words: list[str]) -> int:
    # What follows the verb is its own, and no other verb is imported for it.
    name = next((word for word in words if not word.startswith("-")), "")
    words, program = split_program(words)
    parser = make_parser((module_of(name),) if name else ())
    if name and name not in parser.verbs.choices:
        from .overview import unknown  # as for help

        parser.error(unknown(name))
    arguments = parser.parse_args(words, argparse.Namespace(json=False, quiet=False, program=program))
    if "memory_limit" in arguments:
        from ..system.spill import limit_memory  # it loads the core

        limit_memory(arguments.memory_limit)
    with _fitted(arguments):
        status: int = arguments.run(arguments)
    sys.stdout.flush()
    return status


def _fitted(arguments: argparse.Namespace) -> contextlib.AbstractContextManager[None]:
    """Let the text of a verb fit the terminal; documents and reports in a format stay as they are."""
    form = getattr(arguments, "format", None) or "text"
    if arguments.json or form != "text" or arguments.verb in AS_IT_IS:
        return contextlib.nullcontext()
    # What measures text takes 25 ms to import, and no recorded program waits for it.
    from ..system.fitting import fitted

    return fitted(sys.stdout)


def _forget_output() -> None:
    """Send what is still buffered nowhere, so that the interpreter does not complain about it at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
