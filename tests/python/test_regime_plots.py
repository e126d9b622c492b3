# SPDX-License-Identifier: Apache-2.0
"""The plots and the command gpu-profile."""

import json
import re
import xml.etree.ElementTree as ElementTree
from importlib.util import find_spec

import pytest
from needed import package
from test_regime_operation import REGIMES, calibration

import regimeter
from regimeter import UnavailableError
from regimeter.cli import gpu_profile
from regimeter.regime import plot_page, plots, sweep
from regimeter.regime.roofline import Plot, lines, roof


@pytest.fixture(autouse=True)
def made_up_machine(monkeypatch):
    monkeypatch.setattr("regimeter.regime.calls.ceilings_of", lambda profiler, device: calibration())
    monkeypatch.setattr(plots, "need_ceilings", lambda profiler, device: calibration())


def test_the_page_holds_what_was_measured(tmp_path):
    path = plots.create_performance_plots(tmp_path / "p.html", operations=("add", "matmul"), elements=(16, 256))
    text = path.read_text()
    assert text.count("<figure>") == 5
    assert re.search(r"<h1>.*he best (add|matmul) reaches [\d.]+ GFLOP/s, \d+ % of the roof\.</h1>", text)
    assert not re.search(r'(src|href)="|https?://(?!www\.w3\.org)|@import', text)
    drawings = [ElementTree.fromstring(drawing) for drawing in re.findall(r"<svg viewBox.*?</svg>", text, re.S)]
    assert len(drawings) == 5
    for drawing in drawings:
        places = [(float(node.get("x")), float(node.get("y"))) for node in drawing.iter("text")]
        assert all(abs(x - u) > 18 or abs(y - v) > 9 for at, (x, y) in enumerate(places) for u, v in places[:at])
        assert any(node.text in ("elements", "FLOP/byte") for node in drawing.iter("text")), "each has an axis title"
    assert "e+0" not in text, "powers of ten are written as such"
    assert text.count("data-text=") >= 2 * 2 * 4
    assert "100 GFLOP/s" not in text  # of float32, which is twice that
    assert "200 GFLOP/s (fp32), 10.0 GB/s (memory beyond the caches" in text


def test_names_are_escaped():
    point = sweep.Point(
        "<b>&\"'", 16, next(iter(sweep.run(lambda _: calibration(), operations=("add",), elements=(16,)))).profile
    )
    plot = Plot("<script>alert(1)</script>", (point,), lines([point]), roof(calibration(), "float32"))
    page = plot_page.render(plot)
    assert "<b>" not in page
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page


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
    for wrong in ("-1", "nan", "x"):
        assert gpu_profile.main([*words, f"--flops={wrong}"]) == 2


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
