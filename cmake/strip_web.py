# SPDX-License-Identifier: Apache-2.0
"""Write the page's scripts and styles without comments and blank space, as one JSON file {name: text}.

    python3 cmake/strip_web.py python/regimeter/web build/page_parts.json

Names stay as they are: the text is what stands in the source, so that a message of a browser can be found there. A line
break stays where a statement might end at it. Runs at build time with nothing but the standard library.
"""

import json
import re
import sys
from itertools import pairwise
from pathlib import Path

# A slash after one of these begins a regular expression, after anything else it divides.
BEFORE_EXPRESSION = "(,=:[!&|?{};+-*%<>~^"
WORDS_BEFORE_EXPRESSION = ("return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "do", "else")
# A line that ends in one of these goes on in the next, and one that begins so goes on from the line before.
GOES_ON_AFTER = "{([,;:?=+-*/&|<>!~^%."
GOES_ON_BEFORE = "})],;:?.=&|<>*^%"
NAME = re.compile(r"[\w$]+")
REGULAR = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")
QUOTED = re.compile(r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*\"""")
BLANK = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)+", re.DOTALL)


def template_end(text: str, at: int) -> int:
    """Return where the template literal that begins at `at` ends; expressions in it may hold others."""
    at += 1
    while text[at] != "`":
        if text[at] == "\\":
            at += 2
        elif text.startswith("${", at):
            at = expression_end(text, at + 2)
        else:
            at += 1
    return at + 1


def expression_end(text: str, at: int) -> int:
    """Return the place after the brace that closes an expression in a template literal."""
    depth = 0
    while True:
        if text[at] in "\"'":
            at = quoted(text, at).end()
        elif text[at] == "`":
            at = template_end(text, at)
        elif text[at] == "}" and depth == 0:
            return at + 1
        else:
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1


def quoted(text: str, at: int) -> re.Match[str]:
    """Return the string that begins at `at`. ValueError where it does not end."""
    found = QUOTED.match(text, at)
    if found is None:
        raise ValueError(f"a string that does not end: {text[at : at + 40]!r}")
    return found


def tokens(text: str) -> list[tuple[str, str]]:
    """Return the tokens of a script, each with the blank space and comments before it."""
    made: list[tuple[str, str]] = []
    at, before = 0, ""
    while at < len(text):
        blank = BLANK.match(text, at)
        if blank:
            at, before = blank.end(), blank[0]
            continue
        last = made[-1][0] if made else ""
        if text[at] in "\"'":
            end = quoted(text, at).end()
        elif text[at] == "`":
            end = template_end(text, at)
        elif text[at] == "/" and (not last or last in WORDS_BEFORE_EXPRESSION or last[-1] in BEFORE_EXPRESSION):
            found = REGULAR.match(text, at)
            if found is None:
                raise ValueError(f"neither division nor regular expression: {text[at : at + 40]!r}")
            end = found.end()
        else:
            name = NAME.match(text, at)
            end = name.end() if name else at + 1
        made.append((text[at:end], before))
        at, before = end, ""
    return made


def between(last: str, token: str, before: str) -> str:
    """Return what must stand between two tokens, `before` in the source."""
    if "\n" in before and last[-1] not in GOES_ON_AFTER and token[0] not in GOES_ON_BEFORE:
        return "\n"
    both_names = NAME.match(last[-1]) and NAME.match(token[0])
    return " " if before and (both_names or (last[-1] in "+-/" and token[0] == last[-1])) else ""


def script(text: str) -> str:
    """Return a script without comments and blank space."""
    found = tokens(text)
    gaps = (between(last, token, before) for (last, _), (token, before) in pairwise(found))
    return "".join(part for pair in zip((token for token, _ in found), [*gaps, ""], strict=True) for part in pair)


def style(text: str) -> str:
    """Return a style sheet without comments and blank space; strings in it hold no braces."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r" ?([{};,]) ?", r"\1", text)
    return re.sub(r"(?<=[{;])([\w-]+): ", r"\1:", text).replace(";}", "}")


def strip(web: Path) -> dict[str, str]:
    """Return the text of each script and style sheet by its place below the folder."""
    made = {}
    for path in sorted([*web.glob("js/**/*.js"), *web.glob("css/*.css")]):
        text = path.read_text(encoding="utf-8")
        made[path.relative_to(web).as_posix()] = script(text) if path.suffix == ".js" else style(text)
    return made


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(strip(Path(sys.argv[1]))), encoding="utf-8")
