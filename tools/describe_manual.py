# SPDX-License-Identifier: Apache-2.0
"""Write docs/regimeter.1, the manual page of the command, from its parser.

Usage: describe_manual.py [--check]; with --check nothing is written and a difference is an error. Needs an installed
regimeter: a verb's module imports what the verb needs, which a build does not have yet. The build puts the version in.
"""

import argparse
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from generated import settle

from regimeter.cli import make_parser
from regimeter.cli.overview import helps

ROOT = Path(__file__).resolve().parent.parent
MANUAL = ROOT / "docs" / "regimeter.1"
VERSION = "@PROJECT_VERSION@"  # as CMake knows it
END = """\
.SH EXIT STATUS
0; 1 for a failure, a finding, a damaged recording or trace; 2 for wrong usage or unreadable input.
\\fBregimeter record\\fR ends as its program does.
.SH SEE ALSO
\\fBregimeter\\fR \\fIVERB\\fR \\fB\\-\\-help\\fR says the same of one verb.
"""


def escaped(text: str) -> str:
    """Return a line of text as roff shows it."""
    text = text.strip().replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def paragraph(text: str) -> str:
    """Return text in one line."""
    return escaped(re.sub(r"\s+", " ", text))


def options(parser: argparse.ArgumentParser, known: frozenset[str]) -> Iterator[str]:
    """Yield the arguments of a parser, but for those that are known already."""
    formatter = parser._get_formatter()
    for action in parser._actions:
        if action.dest in known or isinstance(action, argparse._SubParsersAction):
            continue
        value = "" if action.nargs == 0 else formatter._format_args(action, _placeholder(action))
        names = ", ".join(f"\\fB{escaped(name)}\\fR" for name in action.option_strings)
        head = f"{names} \\fI{escaped(value)}\\fR" if names and value else names or f"\\fI{escaped(value)}\\fR"
        yield from (".TP", head, paragraph(formatter._expand_help(action)) if action.help else "\\&")


def _placeholder(action: argparse.Action) -> str:
    return "|".join(map(str, action.choices or ())) or action.dest.upper()


def verbs_of(parser: argparse.ArgumentParser, phrases: dict[str, str]) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield the verbs of a parser with what each does in one phrase, and theirs below them."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            said = phrases | {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, verb in action.choices.items():
                yield said[name], verb
                yield from verbs_of(verb, {})


def page(parser: argparse.ArgumentParser) -> str:
    """Return the manual page of a command with verbs."""
    common = frozenset(action.dest for action in parser._actions)
    name = parser.prog
    lines = [f'.TH {name.upper()} 1 "" "{name} {VERSION}" "User Commands"', ".ad l", ".SH NAME"]
    lines += [f"{name} \\- profile programs, and say what limits them", ".SH SYNOPSIS"]
    lines += [f"\\fB{name}\\fR [\\fIoptions\\fR] \\fIVERB\\fR ..."]
    lines += [".SH DESCRIPTION", paragraph(parser.description or ""), ".SH OPTIONS", *options(parser, frozenset())]
    lines.append(".SH VERBS")
    for phrase, verb in verbs_of(parser, helps()):
        lines += [f".SS {escaped(verb.prog)}", paragraph(verb.description or f"{phrase[:1].upper()}{phrase[1:]}.")]
        lines += options(verb, common | {"help"})
    lines += [".SH EXAMPLES", ".EX", *(escaped(line) for line in _examples(parser)), ".EE"]
    return "\n".join(lines) + "\n" + END


def _examples(parser: argparse.ArgumentParser) -> list[str]:
    return inspect.cleandoc(parser.epilog or "").splitlines()[1:]


def main() -> int:
    """Write the page, or compare it."""
    return settle({MANUAL: page(make_parser())}, check="--check" in sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
