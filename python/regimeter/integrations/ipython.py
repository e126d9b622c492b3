# SPDX-License-Identifier: Apache-2.0
"""IPython and Jupyter: ``%load_ext regimeter``, then ``%%regimeter`` above a cell and ``%regimeter_time`` in a line."""

import ast
import linecache
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import quote

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class, needs_local_scope
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import display

from ..profiler import GPUProfiler, as_process_profiler
from ..public.run import Run
from ..report.notebook import ROWS, of_run, tables_of
from ..report.verdict import verdict_lines
from ..system.text import TextTable, duration, percent, render, shorten
from ..workloads.python_timing import time_calls
from ..workloads.statistics import Times

PAGES = "regimeter-cells"  # folder of pages, beside the notebook
WIDTH = 110
LEVEL = 0.95
LEAST_TIMES, MOST_TIMES, SECONDS = 20, 500, 1.0


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Make ``%%regimeter`` and ``%regimeter_time`` known to a shell; IPython calls it for ``%load_ext regimeter``."""
    shell.register_magics(RegimeterMagics)


@dataclass(frozen=True)
class CellRecording:
    """What was recorded of a cell, called `name`. cells: names of other cells whose code it ran, by the names of their
    files. page: where its page is, None where none was written; problem: why not."""

    run: Run
    name: str
    cells: Mapping[str, str]
    page: Path | None = None
    problem: str = ""

    def _repr_html_(self) -> str:
        if self.page is None:
            link = f"<p>{escape(self.problem)}</p>" if self.problem else ""
        else:
            place = escape(quote(self.page.as_posix()), quote=True)
            link = f'<p><a href="{place}" target="_blank">timeline, flame graph and tables</a></p>'
        return self._told(of_run(self.run, lines_of(self.run, self.name))) + link

    def __repr__(self) -> str:
        verdict = self.run.verdict()
        (scopes, _), lines = tables_of(self.run, False), lines_of(self.run, self.name)
        parts = ["\n".join(verdict_lines(verdict, WIDTH))] if verdict is not None else []
        parts += [render(scopes)] if scopes is not None else []
        parts += [render(lines)] if lines.rows else []
        parts.append(f"page: {self.page}" if self.page is not None else self.problem)
        return self._told("\n\n".join(part for part in parts if part))

    def _told(self, text: str) -> str:
        for file, cell in self.cells.items():
            for written in (file, escape(file)):
                text = text.replace(f"({written}:", f"({cell}:")
        return text


def lines_of(run: Run, name: str) -> TextTable:
    """Return the lines that samples found the cell at: those of its own thread, from the cell's code downward.

    A kernel has threads of its own that wait all the time, and frames above the cell; neither is in the table.
    """
    own: Counter[tuple[str, str, int]] = Counter()
    total: Counter[tuple[str, str, int]] = Counter()
    inside = run.samples.stack[run.samples.span >= 0].tolist()
    paths = {stack: _below(run, stack, name) for stack in set(inside)}
    for stack, count in Counter(inside).items():
        if paths[stack]:
            own[paths[stack][0]] += count
            total.update(dict.fromkeys(paths[stack], count))
    every = max(1, own.total())
    rows = [
        (
            f"{shorten(function)} ({shorten(os.path.basename(file))}:{line})",
            percent(own[at] / every),
            percent(n / every),
        )
        for at, n in sorted(total.items(), key=lambda item: (-own[item[0]], -item[1]))[:ROWS]
        for function, file, line in [at]
    ]
    return TextTable(f"Lines of {own.total():,} samples ({len(rows)} of {len(total)})", ("line", "self", "total"), rows)


def _line(function: str, file: str, line: int) -> str:
    return f"{shorten(function)} ({shorten(os.path.basename(file))}:{line})"


def _below(run: Run, stack: int, name: str) -> list[tuple[str, str, int]]:
    """Return function, file and line of a stack's frames from the innermost to the outermost of the cell's own."""
    stacks, path, length = run.tables.stacks, [], 0
    while stack >= 0:
        file = run.string(int(stacks.file[stack]))
        path.append((run.string(int(stacks.function[stack])), file, int(stacks.line[stack])))
        length = len(path) if file == name else length
        stack = int(stacks.parent[stack])
    return path[:length]


@dataclass(frozen=True)
class LineTimes:
    """Times of a statement, as ``%regimeter_time -o`` returns them."""

    times: Times

    def __repr__(self) -> str:
        times, count = self.times, len(self.times.totals_ns)
        interval = times.median_interval(LEVEL)
        between = ""
        if interval is not None:
            low, high = (duration(end / 1e6) for end in interval)
            between = f", {percent(LEVEL, 0)} interval {low} to {high}"
        repeats = f" of {times.repeats:,} runs each" if times.repeats > 1 else ""
        spread = "" if times.cv is None else f", spread {percent(times.cv)}"
        return (
            f"median {duration(times.p50_ns / 1e6)}{between} ({count:,} times{repeats}; "
            f"mean {duration(times.mean_ns / 1e6)}, fastest {duration(times.min_ns / 1e6)}{spread})"
        )


@magics_class
class RegimeterMagics(Magics):
    """The two magics."""

    @magic_arguments()
    @argument("-o", "--output", metavar="RUN", help="also keep the recording in this file")
    @argument("--html", metavar="OUT", help=f"where the page goes (default: {PAGES}/cell-N.html)")
    @argument("--no-page", action="store_true", help="write no page")
    @argument("--stacks", metavar="HZ", type=float, default=100.0, help="samples a second, 0 for none (default: 100)")
    @argument("--no-structure", action="store_true", help="do not look for steps, modules and waits of torch")
    @argument("--run", metavar="NAME", help="put the Run into this variable")
    @cell_magic
    def regimeter(self, line: str, cell: str) -> Any:
        """Record a cell, and show what limits it, its scopes, the lines with most time, and a link to its page."""
        asked = parse_argstring(self.regimeter, line)
        if asked.run is not None and not asked.run.isidentifier():
            raise UsageError(f"%%regimeter: --run needs the name of a variable, not {asked.run!r}")
        if asked.stacks and not 1 <= asked.stacks <= 1000:
            raise UsageError(f"%%regimeter: --stacks needs a rate from 1 to 1000, or 0, not {asked.stacks:g}")
        shell = self.shell
        name = _name_of_cell(shell)
        call = _compiled(shell, cell, name)
        profiler = GPUProfiler(path=asked.output, stacks=asked.stacks or False, structure=not asked.no_structure)
        try:
            with profiler, as_process_profiler(profiler), profiler.profile(name, device="cpu"):
                return call(shell.user_ns)
        finally:
            profiler.close()
            run = profiler.run()
            page, problem = (None, "") if asked.no_page else _write_page(run, name, asked.html)
            recorded = CellRecording(run, name, _cells_of(shell, run), page, problem)
            if asked.run is not None:
                shell.user_ns[asked.run] = run
            display(recorded)

    @needs_local_scope
    @line_magic
    def regimeter_time(self, line: str, local_ns: dict[str, Any] | None = None) -> LineTimes | None:
        """Time a statement: its median with a 95 % interval that supposes no distribution.

        ``%regimeter_time [-n N] [-o] STATEMENT``. N: take so many times, by default as many as fit into a second.
        -o: return the times instead of printing them.
        """
        asked, statement = self.parse_options(line, "n:o", posix=False, strict=False, preserve_non_opts=True)
        if not statement.strip():
            raise UsageError("%regimeter_time: nothing to time; write a statement after it")
        if "n" in asked and not (asked.n.isdecimal() and int(asked.n) > 0):
            raise UsageError(f"%regimeter_time: -n must be a number of at least 1, got {asked.n!r}")
        names = self.shell.user_ns if local_ns is None else {**self.shell.user_ns, **local_ns}
        code = self.shell.compile(self.shell.transform_cell(statement), "<regimeter_time>", "exec")
        found = LineTimes(_timed(lambda: exec(code, names), int(asked.n) if "n" in asked else None))
        if "o" in asked:
            return found
        print(found)
        return None


def _timed(call: Callable[[], Any], asked: int | None) -> Times:
    """Return the times of a call: as many as asked, or as fit into a second, and enough for an interval."""
    first, _ = time_calls(call, 1, 1)
    assert first is not None
    count = asked or max(LEAST_TIMES, min(MOST_TIMES, int(SECONDS * 1e9 / max(1, first.totals_ns[0]))))
    times, _ = time_calls(call, 1, count)
    assert times is not None
    return times


def _name_of_cell(shell: InteractiveShell) -> str:
    """Return the name of the cell that runs, as tracebacks have it: In[3]. When its number is counted depends on the
    version of IPython, so the code that runs is asked first."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        named = shell.compile.format_code_name(frame.f_code.co_filename)
        if named is not None and named[1].startswith("In["):
            return str(named[1])
        frame = frame.f_back
    return f"In[{shell.execution_count}]"


def _compiled(shell: InteractiveShell, cell: str, name: str) -> Callable[[dict[str, Any]], Any]:
    """Return what runs the cell in a namespace and returns the value of its last expression, None where it has none.

    Its file is called `name`, so that lines of samples and tracebacks say which cell they are of.
    """
    text = shell.transform_cell(cell)
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    tree = shell.transform_ast(ast.parse(text, name))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    body = shell.compile(tree, name, "exec")
    value = None if last is None else shell.compile(ast.Expression(last.value), name, "eval")

    def call(names: dict[str, Any]) -> Any:
        exec(body, names)
        return None if value is None else eval(value, names)

    return call


def _cells_of(shell: InteractiveShell, run: Run) -> dict[str, str]:
    """Return the names of cells, as tracebacks have them, by the last parts of the files that samples found."""
    files = {run.string(file) for file in run.tables.stacks.file.tolist()}
    named = {os.path.basename(file): shell.compile.format_code_name(file) for file in files}
    return {file: found[1] for file, found in named.items() if found is not None}


def _write_page(run: Run, name: str, given: str | None) -> tuple[Path | None, str]:
    """Return where the page was written, or None and why it was not: the cell's own outcome is not lost for it."""
    page = Path(given) if given is not None else Path(PAGES) / f"cell-{name[3:-1]}.html"
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
        run.write_html(page, title=name)
    except OSError as error:
        return None, f"no page: {page}: {error.strerror or error}"
    return page, ""
