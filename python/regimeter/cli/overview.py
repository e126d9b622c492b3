# SPDX-License-Identifier: Apache-2.0
"""The help of the whole command: verbs by the question that they answer, and what was probably meant."""

import difflib
import shutil
import textwrap
from collections.abc import Iterable

from ..analysis.catalog import find_verbs
from .verbs import GROUPS, OWN

ANALYSES = "Further analyses of a run or trace"
WIDEST, NARROWEST = 100, 60  # columns of the text
NEAR = 3  # names that are offered for one that does not exist


def helps() -> dict[str, str]:
    """Return what each verb does, in one phrase."""
    return OWN | {verb.name: verb.help for verb in find_verbs().values()}


def overview() -> str:
    """Return the verbs in their groups; analyses that few ask for by name alone."""
    phrases = helps()
    width = max(NARROWEST, min(WIDEST, shutil.get_terminal_size().columns))
    wide = max(len(name) for _, names in GROUPS for name in names) + 4
    lines = []
    for title, names in GROUPS:
        lines += [title, *(line for name in names for line in _entry(name, phrases[name], wide, width)), ""]
    shown = {name for _, names in GROUPS for name in names}
    rest = [name for name in phrases if name not in shown]
    further = textwrap.wrap(", ".join(rest), width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
    lines += [ANALYSES, *further, ""]
    return "\n".join([*lines, "`regimeter VERB --help` says more of each."])


def _entry(name: str, text: str, wide: int, width: int) -> Iterable[str]:
    head = f"  {name}".ljust(wide)
    return textwrap.wrap(text.replace("%%", "%"), width, initial_indent=head, subsequent_indent=" " * wide)


def unknown(name: str) -> str:
    """Say that there is no such verb, and which names are near."""
    near = difflib.get_close_matches(name, list(helps()), n=NEAR, cutoff=0.5)
    meant = f"; the nearest: {', '.join(near)}" if near else ""
    return f"no verb is called {name!r}{meant}"
