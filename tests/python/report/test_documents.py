# SPDX-License-Identifier: Apache-2.0
"""Pages that are made of sections: what they say first, what their bars divide, and what they hold."""

import json
from pathlib import Path
from typing import Any

import pytest
from page_data import page_of, sections_of
from places import TESTS

from regimeter.cli import main
from regimeter.report.compile_page import compile_data
from regimeter.report.document import MOST_ROWS, TEXT, Column, document, first, sentences, table
from regimeter.report.html import render_html
from regimeter.report.memory_page import memory_data
from regimeter.suite import TorchCompileAnalyzer
from regimeter.suite.compile_report import CompileReport

LOG = TESTS / "data" / "compile_logs" / "dedicated_log_torch_trace_cold.log"
LEVEL = {"verdict": "level", "reason": "", "steps": 3}


def peak(**given: Any) -> dict[str, Any]:
    """Return a peak as ``MemoryProfiler.get_peak_analysis`` returns it."""
    names = ("peak_allocated_mb", "peak_above_start_mb", "current_allocated_mb", "peak_reserved_mb", "peak_resident_mb")
    known = dict.fromkeys(names) | {"peak_time_ms": None, "categories": {}, "top_allocations": [], "leak": LEVEL}
    return {"timeline": [], "peak_analysis": known | {"unavailable": {}} | given}


def test_what_has_nothing_is_named_with_its_reason() -> None:
    none = table("a", "Nothing", [Column("x", TEXT, [])], "There is no x.")
    some = sentences("b", "Said", ["one"], "")
    made = document("memory", "title", limit=first("What", "It is so."), sections=[none, some])
    assert [one["id"] for one in made["sections"]] == ["b"]
    assert made["empty_sections"] == [{"title": "Nothing", "reason": "There is no x.", "form": "table"}]


def test_a_long_table_says_how_many_rows_it_lacks() -> None:
    made = table("a", "Long", [Column("x", "ns", list(range(MOST_ROWS + 7)))], "")
    assert (made["total"], len(made["columns"][0]["values"])) == (MOST_ROWS + 7, MOST_ROWS)


def test_a_figure_that_is_not_known_is_null_and_a_name_of_others_is_text() -> None:
    columns = [Column("x", TEXT, ["</script><b>"]), Column("y", "bytes", [float("nan")])]
    page = render_html(document("memory", "<b>", limit=first("", "s"), sections=[table("a", "<i>", columns, "")]))
    assert "<b>" not in page
    assert "<i>" not in page
    values = [column["values"] for column in sections_of(page)["a"]["columns"]]
    assert values == [["</script><b>"], [None]]


@pytest.mark.parametrize("of_file", [True, False])
def test_the_parts_of_compiling_are_all_of_it_and_overlap_nowhere(of_file: bool) -> None:
    report = TorchCompileAnalyzer.from_trace(LOG).to_dict()
    page = compile_data(report, LOG.name if of_file else "")
    assert page["title"] == f"torch.compile: {LOG.name}"
    assert sum(page["limit"]["shares"].values()) == pytest.approx(1)
    phases = report["phases_ms"]
    whole = phases["frame"] + phases["backward"]
    assert page["limit"]["shares"]["tracing Python"] == pytest.approx((phases["frame"] - phases["backend"]) / whole)
    assert page["limit"]["shares"]["generating code"] == pytest.approx(phases["code_generation"] / whole)
    assert page["limit"]["sentence"] == "1 graph compiled in 20.0 s, with 0 graph breaks and 0 recompiles."


def test_a_compiled_call_that_is_slower_is_said_to_be() -> None:
    report = CompileReport(speedup=0.4, speedup_low=0.25, speedup_high=0.5, verdict="regression")
    sentence = compile_data(report.to_dict())["limit"]["sentence"]
    assert sentence == "A compiled call takes 2.50 times as long as an eager one (2.00 to 4.00)."


def test_the_suffix_says_what_a_report_is_written_as(tmp_path: Path) -> None:
    report = CompileReport(subject="f", backend="inductor", mode="default")
    report.export(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    for name in ("report.json", "report"):
        report.export(tmp_path / name)
        assert json.loads((tmp_path / name).read_text())["format"] == "regimeter.suite.compile"
    with pytest.raises(ValueError, match="the suffix is that of a page"):
        report.export(tmp_path / "report.html", "json")
    with pytest.raises(ValueError, match="format must be 'json' or 'html'"):
        report.export(tmp_path / "report.json", "yaml")


def test_a_phase_that_cannot_lie_within_another_is_not_taken_apart() -> None:
    report = CompileReport(phases_ms={"frame": 10.0, "backend": 4.0, "inductor": 6.0})
    assert compile_data(report.to_dict())["limit"]["shares"] == {
        "tracing Python": pytest.approx(0.6), "the rest of the backend": pytest.approx(0.4),
    }  # fmt: skip


def test_what_was_timed_comes_first_with_its_interval() -> None:
    report = CompileReport(speedup=1.85, speedup_low=1.8, speedup_high=1.9, verdict="improvement", subject="model")
    assert compile_data(report.to_dict())["limit"]["sentence"] == (
        "A compiled call is 1.85 times as fast as an eager one (1.80 to 1.90)."
    )
    report.error = "it broke\nat a line"
    assert compile_data(report.to_dict())["limit"]["sentence"] == "Compiling failed: it broke"


def test_memory_says_the_peak_and_what_most_of_it_was() -> None:
    owners = {"weights": 3_000_000, "other": 1_000_000}
    found = memory_data(peak(peak_allocated_mb=4.0, peak_time_ms=12.0, categories=owners), "train.py")
    assert found["limit"]["sentence"] == "At most 4 MB was allocated after 12.0 ms, 75 % of it weights."
    assert found["limit"]["why"] == "Memory does not grow from step to step."
    assert found["limit"]["shares"] == {"weights": 0.75, "other": 0.25}
    unknown = memory_data(peak(peak_resident_mb=9.0), "train.py")
    assert unknown["limit"]["sentence"] == "What was allocated is not known. The process held 9 MB at most."
    assert memory_data({"timeline": [], "peak_analysis": {}}, "x")["limit"]["sentence"] == "No memory was tracked."


def test_budgets_that_could_not_be_checked_are_not_called_kept(tmp_path: Path) -> None:
    page = tmp_path / "budgets.html"
    words = ["workloads", "budgets", "--check", "--backend", "c", "--iterations", "2", "--format", "html"]
    assert main([*words, "-o", str(page)]) == 5
    limit = page_of(page.read_text())["limit"]
    assert limit["sentence"] == "None of 7 budgets could be checked: the table says why."
    assert limit["shares"] == {}
