# SPDX-License-Identifier: Apache-2.0
"""The commands flame, timeline and report on a trace."""

import json
from pathlib import Path

import pytest
from traces import trace_path

from regimeter.cli import main

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
    assert main(["flame", trace, "-o", str(tmp_path / "f.svg")]) != 0
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
    kinds = {event["cat"] for event in json.loads((tmp_path / "t.json").read_text())["traceEvents"]}
    assert kinds.isdisjoint({"python", "runtime", "driver"})


def test_report_of_a_trace(trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", trace, "-o", str(tmp_path / "r.html"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["spans"] > 2000
    text = (tmp_path / "r.html").read_text()
    assert "regimeter.trace" in text
    assert "NVIDIA H100 80GB HBM3" in text
