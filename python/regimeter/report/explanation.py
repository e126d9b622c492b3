# SPDX-License-Identifier: Apache-2.0
"""A run explained on one page: the verdict, its evidence, what to do next. No rules of its own.

The page has at most MOST characters: names are cut, and what does not fit is left out from the end and counted.
"""

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..system.text import count, duration, percent, printable, shorten
from .memory_run import has_allocations, memory_document
from .memory_text import run_text

if TYPE_CHECKING:
    from ..public.run import Run
    from ..suggest import OptimizationSuggestion
    from ..suggest.verdict import Verdict

FORMAT, VERSION = "regimeter.explain", 1
MOST = 4000
LONGEST = 600  # of one line
NAME = 60
CAUSES, STEPS = 8, 8  # rows at most
MEMORY = 16  # lines
LEAST = 0.01  # of the window


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a page says. what: the run in one line. suggestions: all, in their order. doubts: anomalies. memory: of a
    run that holds nothing else, lines about it."""

    file: str | list[str]
    what: str
    verdict: "Verdict | None"
    suggestions: "tuple[OptimizationSuggestion, ...]"
    doubts: tuple[str, ...]
    memory: tuple[str, ...] = ()

    def to_document(self) -> dict[str, Any]:
        """Return it as a JSON-ready dictionary."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "file": self.file,
            "what": self.what,
            "verdict": self.verdict.to_dict() if self.verdict else None,
            "suggestions": [one.to_dict() for one in self.suggestions],
            "doubts": list(self.doubts),
            "memory": list(self.memory),
            "markdown": self.markdown(),
        }

    def markdown(self) -> str:
        """Return the page as Markdown, at most MOST characters."""
        table = ["| cause | share | time | where |", "|---|---:|---:|---|"]
        table += [f"| {cause} | {share} | {time} | {_code(place)} |" for cause, share, time, place in self._evidence()]
        head = ["# What limits this run", "", _plain(self.what), ""]
        table = table if len(table) > 2 else _block(self.memory)
        return self._page(head, "## Evidence", table, "## Next steps", "**{}**", _plain)

    def text(self) -> str:
        """Return the page as text, at most MOST characters."""
        rows = [
            f"  {name:<18} {share:>7}  {time:>8}  {where}".rstrip() for name, share, time, where in self._evidence()
        ]
        return self._page([self.what, ""], "Evidence", rows or list(self.memory), "Next steps", "{}", printable)

    def _evidence(self) -> Iterable[tuple[str, str, str, str]]:
        for one in (self.verdict.causes if self.verdict else ())[:CAUSES]:
            if one.share is None or one.share >= LEAST:
                place = shorten(printable(one.place), NAME) if one.place else ""
                yield one.cause, percent(one.share), duration(one.time_ms), place

    def _page(self, head: list[str], second: str, rows: list[str], third: str, strong: str, clean: Any) -> str:
        lines = list(head)
        if self.verdict:
            lines += [strong.format(clean(self.verdict.sentence)), "", clean(self.verdict.why), ""]
            lines += [f"Next: {clean(self.verdict.next)} (confidence {self.verdict.confidence})", ""]
        else:
            nothing = "memory and no work" if self.memory else "nothing, or no start times"
            lines += [f"What limits it cannot be told: the recording holds {nothing}.", ""]
        if rows:
            lines += [second, "", *rows, ""]
        steps = [_step(place, one, clean) for place, one in enumerate(self.suggestions[:STEPS], 1)]
        if steps:
            lines += [third, ""]
        end = [f"Doubt: {clean(doubt)}" for doubt in self.doubts]
        return _fitted([_cut(line) for line in lines], steps, len(self.suggestions), [_cut(line) for line in end])


def explain(run: "Run", file: str | list[str]) -> Explanation:
    """Explain a run. file: what it is called."""
    name = shlex.join([file] if isinstance(file, str) else file[:3])
    parts = [
        count(len(run.spans), "span"),
        duration(run.duration_ns / 1e6) if run.has_start_times else "no start times",
    ]
    verdict = run.verdict()
    return Explanation(
        file=file,
        what=f"{shorten(printable(name), 2 * NAME)}: {', '.join(parts)}",
        verdict=verdict,
        suggestions=tuple(run.suggestions()),
        doubts=tuple(f"{row['code']} ({row['count']:,}): {row['detail']}" for row in run.anomaly_list()[:3]),
        memory=_memory_of(run) if verdict is None and not len(run.spans) else (),
    )


def _memory_of(run: "Run") -> tuple[str, ...]:
    """Return what a run says of memory, () where it says nothing."""
    if not has_allocations(run):
        return ()
    lines = run_text(memory_document(run, "")).splitlines()
    return tuple(shorten(line, 2 * NAME) for line in lines[:MEMORY])


def _step(place: int, one: "OptimizationSuggestion", clean: Any) -> str:
    about = f"{place}. {clean(one.description).rstrip('.')}. {clean(one.implementation_hint)}"
    return _cut(f"{about} ({clean(one.expected_improvement)}; confidence {one.confidence})")


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def _fitted(lines: list[str], steps: list[str], total: int, end: list[str]) -> str:
    """Return the page with as many steps as there is room for, then as many doubts."""
    page = _joined(lines)[:MOST].rstrip()
    kept = 0
    for step in steps:
        more = f"\n{step}"
        if len(page) + len(more) + len(_rest(total)) > MOST:
            break
        page, kept = page + ("\n" if not kept else "") + more, kept + 1
    if total > kept:
        page += _rest(total - kept)
    for doubt in end:
        if len(page) + len(doubt) + 2 > MOST:
            break
        page += f"\n\n{doubt}"
    return page[:MOST]


def _rest(left: int) -> str:
    return f"\n\n{left} more: regimeter suggest"


def _joined(lines: list[str]) -> str:
    return "\n".join(lines)


def _plain(text: str) -> str:
    """Return text that Markdown shows as it is."""
    cleaned = printable(text)
    for mark in "\\`*_[]<>|#":
        cleaned = cleaned.replace(mark, f"\\{mark}")
    return cleaned


def _block(lines: Iterable[str]) -> list[str]:
    """Return lines that Markdown shows as they are, nothing where there are none; a fence of their own ends none."""
    shown = [line.replace("`", "'") for line in lines]
    return ["```", *shown, "```"] if shown else []


def _code(text: str) -> str:
    return f"`{text.replace('`', chr(39)).replace('|', chr(0xA6))}`" if text else ""
