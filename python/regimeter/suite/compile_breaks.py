# SPDX-License-Identifier: Apache-2.0
"""What torch's texts about a graph break or a failed guard say, whether dynamo keeps them or a log does."""

import re
from collections.abc import Collection, Iterable
from dataclasses import replace

from .compile_report import CompileBreak

REPORT_AN_ISSUE = "Please report an issue to PyTorch."
FALLBACK = "Let the line's decision be made by tensors (torch.where, torch.cond), or outside of the compiled function."
OTHER_BACKEND = "BACKEND_MATCH"
ATTEMPT = "Encountered graph break when attempting to trace"  # which instruction, before the reason itself
_NUMBERED = re.compile(r"\s*(!?\d+(?:/\d+)+): ")
_HINT = re.compile(r"^[ \t]*Hint: (.*)$", re.M)
_EXPLANATION = re.compile(r"^[ \t]*Explanation: (.*)$", re.M)
_CODE = re.compile(r"/gb/gb(\d+)\.html")


def break_of(text: str, location: str, line_number: int | None, function: str) -> CompileBreak:
    """Return the break at a place whose reason, explanation and hints the text has."""
    if text.startswith(ATTEMPT):
        text = text.partition("\n")[2].lstrip("\n")
    hints = [hint for hint in _HINT.findall(text) if hint != REPORT_AN_ISSUE]
    explanation, code = _EXPLANATION.search(text), _CODE.search(text)
    return CompileBreak(
        reason=text.partition("\n")[0].strip(),
        location=location,
        line_number=line_number,
        suggestion=" ".join(hints) or FALLBACK,
        function=function,
        code=f"GB{code[1]}" if code else "",
        explanation=explanation[1] if explanation else "",
    )


def merged(breaks: Iterable[CompileBreak]) -> list[CompileBreak]:
    """Return each place and reason once, with how often it was met."""
    found: dict[tuple[str, int | None, str], CompileBreak] = {}
    for one in breaks:
        key = one.location, one.line_number, one.reason
        known = found.get(key)
        found[key] = one if known is None else replace(known, count=known.count + one.count)
    return list(found.values())


def failed_guards(reason: str, ours: Collection[str] | None = None) -> str:
    """Return the guards that failed, each once.

    reason: a line for each piece of compiled code, which begins with its number (older versions leave that out), and
    perhaps a stack below it. ours: the numbers of the code that counts, where not all does; what another backend
    compiled is then none of it.
    """
    lines = [(_NUMBERED.match(line), line) for line in reason.splitlines()]
    if any(numbered for numbered, _ in lines):
        lines = [(numbered, line) for numbered, line in lines if numbered]
    guards = [
        " ".join(line[numbered.end() if numbered else 0 :].split())
        for numbered, line in lines
        if ours is None or (OTHER_BACKEND not in line and (numbered is None or numbered[1] in ours))
    ]
    return "; ".join(dict.fromkeys(guard for guard in guards if guard))
