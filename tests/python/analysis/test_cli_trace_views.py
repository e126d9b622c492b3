# SPDX-License-Identifier: Apache-2.0
"""The commands flame, timeline and report on a trace."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from traces import trace_path, trace_text

from regimeter.cli import main
from regimeter.suite.flame import FlameGraphGenerator

EXACT_BUSY_US, EXACT_SUM_US = 309.437, 309.437  # exact_gpu_time.json: busy_ns and sum_dur_ns of device 0


@pytest.fixture
def trace() -> str:
    """Return the path of a small trace."""
    path = trace_path("h100_bert_small.json.gz")
    device = json.loads(trace_path("exact_gpu_time.json").read_text())[path.name]["0"]
    assert (device["busy_ns"], device["sum_dur_ns"]) == (EXACT_BUSY_US * 1e3, EXACT_SUM_US * 1e3)
    return str(path)


def test_flame_writes_what_its_suffix_names(trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["flame", trace, "-o", str(tmp_path / "f.json"), "-q"]) == 0
    assert json.loads((tmp_path / "f.json").read_text())["value"] == EXACT_SUM_US
    assert main(["flame", trace, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == EXACT_SUM_US
    assert main(["flame", trace, "-o", str(tmp_path / "f.html"), "--json", "--metric", "host"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["bytes"] == (tmp_path / "f.html").stat().st_size
    assert main(["flame", trace, "-o", str(tmp_path / "f.png")]) != 0
    assert main(["flame", trace, "--max-depth", "0"]) != 0
    assert "max-depth" in capsys.readouterr().err


def test_timeline_prints_unions(trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["timeline", trace]) == 0
    assert "device active" in capsys.readouterr().out
    assert main(["timeline", trace, "--json", "-o", str(tmp_path / "t.html")]) == 0
    summary = json.loads(capsys.readouterr().out)["summary"]
    assert summary["gpu_active_time_us"] == EXACT_BUSY_US
    assert summary["overlap_time_us"] <= EXACT_BUSY_US
    assert (tmp_path / "t.html").read_text().startswith("<!doctype html>")
    assert main(["timeline", trace, "-o", str(tmp_path / "t.html")]) == 0
    assert f"{tmp_path / 't.html'}: " in capsys.readouterr().out
    assert main(["timeline", trace, "-q", "-o", str(tmp_path / "t.json"), "--no-python", "--no-runtime"]) == 0
    kinds = {event.get("cat") for event in json.loads((tmp_path / "t.json").read_text())["traceEvents"]}
    assert kinds.isdisjoint({"python_function", "cuda_runtime", "cuda_driver"})
    assert "cpu_op" in kinds


def test_report_of_a_trace(trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", trace, "-o", str(tmp_path / "r.html"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["spans"] > 2000
    text = (tmp_path / "r.html").read_text()
    assert "regimeter.report" in text
    assert "NVIDIA H100 80GB HBM3" in text


@pytest.fixture
def cut(tmp_path: Path) -> str:
    """Return the path of a trace that ends in the middle of an event."""
    path = tmp_path / "cut.json"
    path.write_bytes(trace_text("a100_memcpy_2023.json")[:60_000])
    return str(path)


@pytest.mark.parametrize("verb", ["hta", "flame", "timeline"])
def test_a_cut_trace_is_said_to_be_cut(
    verb: str, cut: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], refused: Callable[..., str]
) -> None:
    said = "ends in the middle"
    page, data = str(tmp_path / "page.html"), str(tmp_path / "data.json")
    assert main([verb, cut, "-o", page]) == 0
    assert said in "".join(capsys.readouterr())
    assert said in Path(page).read_text()
    if verb != "flame":
        assert main([verb, cut]) == 0
        assert said in capsys.readouterr().out
    assert main([verb, cut, "--json"]) == 0
    assert [row["code"] for row in json.loads(capsys.readouterr().out)["anomalies"]] == ["truncated"]
    refused([verb, cut, "--strict", "-o", data], "cut.json: byte ")
    assert not Path(data).exists()


def test_other_verbs_say_damage_too(cut: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels", cut]) == 0
    assert "ends in the middle" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["hta", "flame", "timeline", "kernels"])
@pytest.mark.parametrize("rows", ["[[-1, 1], [-1, 1]]", "[1, 2, 3, 4, 5, 6, 7, 8]"])
def test_what_is_no_trace_is_said_to_be_none(verb: str, rows: str, tmp_path: Path, refused: Callable[..., str]) -> None:
    text = rows.encode()
    for name, content, said in (
        ("x.json", text, 'neither a trace nor an exported profile: expected a JSON object with a list "traceEvents"'),
        ("x.json.gz", gzip.compress(text), "gzip data of something else; expected"),
    ):
        (tmp_path / name).write_bytes(content)
        refused([verb, str(tmp_path / name)], f"{name}: {said}")


def test_impossible_bounds_are_refused(trace: str, refused: Callable[..., str]) -> None:
    for verb in ("timeline", "flame"):
        for value in ("nan", "-1", "inf"):
            refused([verb, trace, f"--min-duration-us={value}"], "min_duration_us must be a number of at least 0")
    with pytest.raises(ValueError, match="from 0 to 100, got 200"):
        FlameGraphGenerator(small_kernel_threshold_pct=200)


def test_a_page_names_its_trace(trace: str, tmp_path: Path) -> None:
    for verb, title in (("flame", "Flame graph of"), ("timeline", "Timeline of")):
        assert main([verb, trace, "-q", "-o", str(tmp_path / "page.html")]) == 0
        assert f"<title>{title} h100_bert_small.json.gz - regimeter</title>" in (tmp_path / "page.html").read_text()


def test_show_tells_what_of_a_trace_was_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.json"
    path.write_text('{"traceEvents":[{"ph":"X","name":"a","ts":NaN,"dur":1,"pid":1,"tid":1}]}')
    assert main(["show", str(path)]) == 0
    assert "Note: 1 missing_time: events without a usable time were left out." in capsys.readouterr().out
