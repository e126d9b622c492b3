# SPDX-License-Identifier: Apache-2.0
"""The help of the whole command: verbs by the question that they answer, and what was probably meant."""

import argparse
import difflib
import shutil
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .common import Verbs

# Everyday verbs first. What stands in no group is an analysis, or lies under OTHER.
GROUPS = (
    ("Record a program", ("record", "monitor", "profile", "memory", "compile")),
    ("Where did time and memory go?", ("show", "report", "serve", "top", "lines", "flame", "timeline", "explain")),
    ("What limits it, and what to try next?", ("breakdown", "regime", "suggest", "critical-path", "hta")),
    ("Did it get slower?", ("compare", "ab", "baseline", "history", "diff")),
    ("This machine", ("doctor", "calibrate", "workloads", "telemetry", "selftest")),
    ("Files", ("export", "query", "recover", "schema", "completion")),
)
ANALYSES = "Further analyses of a run or trace"
WIDEST, NARROWEST = 100, 60  # columns of the text
NEAR = 3  # names that are offered for one that does not exist


def helps_of(verbs: "Verbs") -> dict[str, str]:
    """Return what each verb does, in one phrase."""
    return {choice.dest: choice.help or "" for choice in verbs._choices_actions}


def overview(verbs: "Verbs") -> str:
    """Return the verbs in their groups; analyses that few ask for by name alone."""
    helps = helps_of(verbs)
    width = max(NARROWEST, min(WIDEST, shutil.get_terminal_size().columns))
    grouped = [(title, [name for name in names if name in helps]) for title, names in GROUPS]
    wide = max(len(name) for _, names in grouped for name in names) + 4
    lines = []
    for title, names in grouped:
        lines += [title, *(line for name in names for line in _entry(name, helps[name], wide, width)), ""]
    shown = {name for _, names in grouped for name in names}
    rest = [name for name in helps if name not in shown]
    names = textwrap.wrap(", ".join(rest), width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
    lines += [ANALYSES, *names, ""]
    return "\n".join([*lines, "`regimeter VERB --help` says more of each."])


def _entry(name: str, text: str, wide: int, width: int) -> Iterable[str]:
    head = f"  {name}".ljust(wide)
    return textwrap.wrap(text.replace("%%", "%"), width, initial_indent=head, subsequent_indent=" " * wide)


def unknown(name: str, verbs: Iterable[str]) -> str:
    """Say that there is no such verb, and which names are near."""
    near = difflib.get_close_matches(name, list(verbs), n=NEAR, cutoff=0.5)
    meant = f"; the nearest: {', '.join(near)}" if near else ""
    return f"no verb is called {name!r}{meant}"


class RootParser(argparse.ArgumentParser):
    """The parser of the whole command; `verbs` is set when they are declared."""

    verbs: "Verbs"

    def format_help(self) -> str:
        """Return usage, verbs by question, options and examples."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, [action for action in self._actions if action.option_strings], [], "usage: ")
        usage = formatter.format_help().rstrip() + " VERB ..."
        formatter = self._get_formatter()
        formatter.start_section("options")
        formatter.add_arguments([action for action in self._actions if action.option_strings])
        formatter.end_section()
        parts = (
            usage,
            self.description or "",
            overview(self.verbs),
            formatter.format_help().strip(),
            self.epilog or "",
        )
        return "\n\n".join(part.rstrip() for part in parts) + "\n"
