# SPDX-License-Identifier: Apache-2.0
"""The plots and the command gpu-profile."""

import json
import re
from importlib.util import find_spec

import pytest
from made_up_machine import REGIMES, calibration
from needed import package

import regimeter
from regimeter import UnavailableError
from regimeter.cli import gpu_profile
from regimeter.regime import plots, sweep
from regimeter.regime.roofline import plot_of
from regimeter.report.html import render_html
from regimeter.report.sweep_page import sweep_data


@pytest.fixture(autouse=True)
def made_up_machine(monkeypatch):
    monkeypatch.setattr("regimeter.regime.calls.ceilings_of", lambda profiler, device: calibration())
    monkeypatch.setattr(plots, "need_ceilings", lambda profiler, device: calibration())


def test_the_page_holds_what_was_measured(tmp_path):
    path = plots.create_performance_plots(tmp_path / "p.html", operations=("add", "matmul"), elements=(16, 256))
    text = path.read_text()
    assert not re.search(r'(src|href)="(?!#)|@import', text)
    data = json.loads(re.search(r'<script type="application/json" id="regimeter-data">(.*?)</script>', text, re.S)[1])
    assert re.search(r"he best (add|matmul) reaches [\d.]+ GFLOP/s, \d+ % of the roof\.$", data["limit"]["sentence"])
    sections = {section["id"]: section for section in data["sections"]}
    assert list(sections) == ["roofline", "regime-map", "time", "throughput", "bandwidth"]
    assert sections["regime-map"]["elements"] == [16, 256]
    assert len(sections["regime-map"]["cells"]) == 4
    assert [line["name"] for line in sections["time"]["series"]] == ["add", "matmul"]
    assert all(line["x"] == [16, 256] for line in sections["time"]["series"])


def test_roofs_of_the_page_are_those_of_the_type():
    points = list(sweep.run(lambda _: calibration(), operations=("add",), elements=(16,)))
    data = sweep_data(plot_of(points, calibration(), "float32"))
    roofs = {roof["name"]: roof["value"] for roof in data["sections"][0]["roofs"]}
    assert roofs == {"memory": 1e10, "fp32": 2e11}  # not that of float64, which is half of it
    assert "beyond the caches (copy)" in data["sections"][0]["notes"][0]


def test_figures_of_the_page_are_those_of_the_profiles():
    [point] = sweep.run(lambda _: calibration(), operations=("matmul",), elements=(4096,))
    sections = {one["id"]: one for one in sweep_data(plot_of([point], calibration(), "float32"))["sections"]}
    seconds = point.profile["evidence"]["judged_ms"] / 1e3
    found = {name: sections[name]["series"][0]["y"] for name in ("time", "throughput", "bandwidth")}
    assert found["time"] == pytest.approx([seconds * 1e9])
    assert found["throughput"] == pytest.approx([4096 / seconds])
    assert found["bandwidth"] == pytest.approx([point.profile["bandwidth_utilization"]])
    columns = sections["roofline"]["points"]["columns"]
    assert columns["rate"] == pytest.approx([point.profile["achieved_flops"]])
    assert columns["intensity"] == pytest.approx([point.profile["compute_intensity"]])


def test_where_nothing_was_measured_the_page_says_so():
    data = sweep_data(plot_of([], calibration(), "float32"))
    assert data["limit"]["sentence"] == "What limits these operations cannot be told."
    assert [one["title"] for one in data["empty_sections"]][-1] == "Bandwidth, part of the measured roof"


def test_names_are_escaped():
    [point] = sweep.run(lambda _: calibration(), operations=("add",), elements=(16,))
    hostile = sweep.Point("<b>&\"'", 16, point.profile)
    page = render_html(sweep_data(plot_of([hostile], calibration(), "float32")))
    assert "<b>" not in page


def test_a_picture(tmp_path):
    if find_spec("matplotlib") is None:
        with pytest.raises(UnavailableError, match="matplotlib"):
            regimeter.create_performance_plots(tmp_path / "p.png")
        return
    path = regimeter.create_performance_plots(tmp_path / "p.png", operations=("add",), elements=(16, 64))
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("operation", sweep.OPERATIONS)
def test_every_operation_of_the_command_runs(operation, capsys):
    assert gpu_profile.main(["--profile", operation, "--size", "100", "--repeat", "2"]) == 0
    out = capsys.readouterr().out
    assert operation in out
    assert any(regime in out for regime in REGIMES)


def test_the_command_prints_json(capsys):
    assert gpu_profile.main(["--profile", "matmul", "--size", "100", "--repeat", "2", "--json"]) == 0
    profile = json.loads(capsys.readouterr().out)
    assert profile["flops"] == 2 * 10**3


def test_the_work_of_softmax_is_known_and_can_be_given(capsys):
    words = ["--profile", "softmax", "--size", "10000", "--repeat", "2", "--json"]
    assert gpu_profile.main(words) == 0
    profile = json.loads(capsys.readouterr().out)
    assert (profile["flops"], profile["bytes"]) == (5 * 10_000, 8 * 4 * 10_000)
    assert profile["evidence"]["reason"] != "no_work"
    assert gpu_profile.main([*words, "--flops", "7", "--bytes", "9"]) == 0
    profile = json.loads(capsys.readouterr().out)
    assert (profile["flops"], profile["bytes"]) == (7, 9)
    for option, wrong in (("flops", "-1"), ("flops", "nan"), ("flops", "x"), ("size", "1e6"), ("size", "-3")):
        assert gpu_profile.main([*words, f"--{option}={wrong}"]) == 2
        assert re.search(
            f"argument --{option}: expected a .*number of at least [01], got '{wrong}'", capsys.readouterr().err
        )


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--profile", "nothing"], 2),
        ([], 2),
        (["--profile", "cos", "--size", "0"], 2),
        (["--profile", "cos", "--repeat", "0"], 2),
        (["--profile", "cos", "--device", "tpu"], 2),
    ],
)
def test_wrong_usage(words, code, capsys):
    assert gpu_profile.main(words) == code
    assert capsys.readouterr().err


def test_a_device_that_is_not_there_is_one_line(capsys):
    torch = package("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a device")
    assert gpu_profile.main(["--profile", "cos", "--device", "cuda"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("gpu-profile: cuda cannot be used")
    assert error.count("\n") == 1


def test_the_dashboard_is_a_page(tmp_path, capsys):
    target = tmp_path / "d.html"
    assert gpu_profile.main(["--dashboard", "-o", str(target)]) == 0
    assert "<html" in target.read_text()
    assert str(target) in capsys.readouterr().out
