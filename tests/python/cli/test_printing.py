# SPDX-License-Identifier: Apache-2.0
"""Printing to whatever standard output is: closed, ASCII, narrow, and names of wide characters."""

import io
import os
import re

import pytest

from regimeter import GPUProfiler
from regimeter.system.text import TextTable, cells, render, say, shorten

PRINTING = """
    import sys, regimeter
    p = regimeter.GPUProfiler()
    with p.profile("r\u00e9sum\u00e9 \u6d4b\u8bd5", device="cpu"): pass
    p.print_summary(); p.print_bottlenecks()
    q = {"entries": [{"operation": "a", "duration_ms": 1.0, "device": "cpu", "backend": "numpy"}]}
    c = regimeter.compare_profiling_runs(q, q)
    c.print_summary(); c.print_regressions(); c.print_improvements()
    o = regimeter.ProfilerOptimizer({"summary": {"a": {"call_count": 200, "avg_time_ms": 0.5, "total_time_ms": 100.0}}})
    o.print_suggestions(); o.print_critical_suggestions()
    sys.stderr.write("done")
"""


def test_a_closed_standard_output_is_silent(run_python):
    done = run_python(PRINTING, preexec_fn=lambda: os.close(1))
    assert done.stderr == "done"


def test_standard_output_in_ascii(run_python):
    done = run_python(PRINTING, env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert done.stderr == "done"
    assert "r\\xe9sum\\xe9" in done.stdout


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.mark.parametrize("width", [60, 80])
def test_notes_are_wrapped_in_a_terminal(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    with GPUProfiler() as profiler, profiler.profile("a", device="cpu"):
        pass
    out = Terminal()
    from regimeter.run.summary_text import print_bottlenecks, print_summary

    print_summary(profiler.run(), file=out)
    print_bottlenecks(profiler.run(), file=out)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()).splitlines()
    assert max(len(line) for line in lines) <= width
    assert any(line.startswith("Cost of profiling") for line in lines)


def test_lines_stay_whole_where_no_terminal_is():
    out = io.StringIO()
    say(out, "word " * 100, wrapped=True)
    assert out.getvalue().count("\n") == 1


def test_wide_names_are_aligned_by_cells():
    assert cells("abc") == 3
    assert cells("\u6d4b\u8bd5") == 4
    assert cells("e\u0301") == 1
    names = ("plain", "\u6d4b\u8bd5\u64cd\u4f5c", "e\u0301te\u0301")
    table = TextTable("t", ("operation", "calls"), [(name, "1") for name in names])
    assert len({cells(line) for line in render(table).splitlines()[2:]}) == 1


@pytest.mark.parametrize("text", ["\u6d4b" * 60, "a" * 100, "\u6d4ba" * 40])
@pytest.mark.parametrize("width", [5, 12, 44])
def test_a_long_name_is_cut_to_its_cells(text, width):
    assert width - 2 <= cells(shorten(text, width)) <= width
