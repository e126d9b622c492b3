# SPDX-License-Identifier: Apache-2.0
"""The words of a command that starts Python: ``python [options] SCRIPT | -m MODULE | -c CODE | - [arguments]``."""

import os
import re
from collections.abc import Sequence

PYTHON = re.compile(r"python(3(\.\d+)?)?")
VALUED = "WX"  # options that take the rest of their word, or the next one
LONG_VALUED = "--check-hash-based-pycs"


def split(words: Sequence[str]) -> tuple[str, list[str], list[str]]:
    """Return the interpreter, '' where none is named, its own options, and the program with its arguments."""
    rest = list(words)
    if not rest or not PYTHON.fullmatch(os.path.basename(rest[0])):
        return "", [], rest
    first, options = rest.pop(0), []
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        at = next((at for at, letter in enumerate(word) if letter in "cm" + VALUED), 0)
        if word.startswith("--") or not at:
            options += [word, *([rest.pop(0)] if word == LONG_VALUED and rest else [])]
        elif word[at] in VALUED:
            options += [word, *([rest.pop(0)] if at == len(word) - 1 and rest else [])]
        else:
            options += [word[:at]] if at > 1 else []
            return first, options, [f"-{word[at:]}", *rest]
    return first, options, rest


def flags(options: Sequence[str]) -> set[str]:
    """Return the letters of the options that take no value."""
    words = [word[1:] for word in options if word.startswith("-") and not word.startswith("--")]
    return {letter for word in words for letter in re.split(f"[{VALUED}]", word, maxsplit=1)[0]}
