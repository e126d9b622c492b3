# SPDX-License-Identifier: Apache-2.0
"""The roofline of a page: roofs are the ceilings, points the kernels (or operators) whose work is known."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_up_machine import calibration
from page_columns import unpacked
from traces import load_trace, trace_path

import regimeter
from regimeter import FormatError, _core
from regimeter.calibration.choice import choose
from regimeter.cli import main
from regimeter.regime.roofline import bands
from regimeter.report.pack import Names
from regimeter.report.roofline_data import roofline_of

BERT = "h100_bert_small.json.gz"


def data_of(name: str, ceilings: Any = None) -> dict[str, Any]:
    run = load_trace(name)
    found = roofline_of(run, Names(run), choose(run, ceilings))
    assert found is not None
    return found


def points(found: dict[str, Any], name: str) -> Any:
    table = found["points"]
    return np.array(unpacked(table["columns"][name], table["count"]))


def test_points_are_the_kernels_whose_work_is_known() -> None:
    found = data_of(BERT)
    table: Any = load_trace(BERT).analyse("kernel_regimes", ceilings=choose(load_trace(BERT)).vector)
    known = np.isfinite(table.intensity) & (table.intensity > 0)
    assert found["points"]["count"] == int(known.sum()) > 5
    assert points(found, "total_ns").tolist() == table.total_ns[known].tolist()
    # Rate over intensity are bytes per second, whatever part of a name's kernels is known.
    moved = points(found, "rate") / points(found, "intensity")
    seconds = table.total_ns[known] * table.known_share[known] * 1e-9
    assert moved == pytest.approx(table.bytes[known] / seconds)
    # What reaches a share of the memory roof lies that much below it.
    roof = next(roof for roof in found["roofs"] if roof["of"] == "memory")
    assert moved / roof["value"] == pytest.approx(points(found, "sol_memory"))
    assert f"The work of {known.sum()} of {len(table)} kernels is known" in found["notes"][0]


def test_roofs_of_a_datasheet_have_its_wide_interval_and_say_how_to_measure() -> None:
    found = data_of(BERT)
    low, high = (_core.policy()[name]["default"] for name in ("regime_sheet_low", "regime_sheet_high"))
    sheet = _core.datasheets()["NVIDIA H100 80GB HBM3"]
    by_name = {roof["name"]: roof for roof in found["roofs"]}
    assert by_name["memory"]["low"] == pytest.approx(sheet["bytes_per_s"] * low)
    assert by_name["memory"]["high"] == pytest.approx(sheet["bytes_per_s"] * high)
    assert by_name["bf16"]["high"] == pytest.approx(sheet["peaks"]["bf16"] * high)
    assert "no measurement" in found["notes"][1]
    assert "regimeter calibrate --json > FILE" in found["notes"][1]


def test_a_calibration_gives_measured_roofs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = calibration()
    file = tmp_path / "ceilings.json"
    file.write_text(json.dumps(made.to_dict()))
    found = data_of(BERT, file)
    by_name = {roof["name"]: roof for roof in found["roofs"]}
    assert by_name["memory"]["value"] == made.ceilings["memory_triad"].value
    assert by_name["fp32"]["value"] == made.ceilings["compute_fp32"].value
    for name, roof in by_name.items():
        spread = made.ceilings["memory_triad" if name == "memory" else f"compute_{name}"].spread
        assert spread is not None
        assert (roof["low"], roof["high"]) == pytest.approx(
            (roof["value"] / (1 + spread), roof["value"] * (1 + spread))
        )
    assert found["notes"][1].startswith("Roofs: calibration of ")
    assert main(["report", str(trace_path(BERT)), "-o", str(tmp_path / "r.html"), "--ceilings", str(file), "-q"]) == 0
    assert "calibration of " in (tmp_path / "r.html").read_text()
    file.write_text('{"ceilings": 1}')
    assert main(["report", str(trace_path(BERT)), "-o", str(tmp_path / "no.html"), "--ceilings", str(file)]) != 0
    assert "regimeter calibrate --json > FILE" in capsys.readouterr().err
    assert not (tmp_path / "no.html").exists()
    with pytest.raises(FormatError, match="regimeter calibrate"):
        load_trace(BERT).to_html(ceilings=file)


def test_without_ceilings_there_are_points_and_no_roofs() -> None:
    found = data_of("mi300_bert_small.json.gz")
    assert found["roofs"] == []
    assert found["points"]["count"] == 8
    assert found["notes"][1].startswith("No ceilings: AMD Instinct")
    assert "--ceilings FILE" in found["notes"][1]
    assert "operations a byte" in found["headline"]


def test_kernels_without_known_work_are_said() -> None:
    found = data_of("v100_ddp_large.json.gz")
    assert (found["points"]["count"], found["headline"]) == (0, "")
    assert found["notes"][0].startswith(
        "The work of 0 of 48 kernels is known, 0.0 % of their time. Work is known where"
    )


def test_operators_have_a_place_under_the_roofs_of_a_processor() -> None:
    run = load_trace("cpu_only_no_schema.json.gz")
    assert roofline_of(run, Names(run), choose(run)) is None, "a device may have done their work unseen"
    found = data_of("cpu_only_no_schema.json.gz", calibration())
    flops: Any = run.analyse("operator_flops")
    known = np.flatnonzero((flops.intensity > 0) & (flops.flops > 0) & (flops.host_ns > 0))
    assert found["noun"] == "operator"
    assert "no formula are not counted" in found["notes"][1]
    assert found["points"]["count"] == len(known) > 0
    assert points(found, "total_ns").tolist() == sorted(flops.host_ns[known].tolist(), reverse=True)
    assert sorted(points(found, "rate")) == pytest.approx(sorted(flops.flops[known] / flops.host_ns[known] * 1e9))


def test_a_recording_of_scopes_has_no_roofline() -> None:
    with regimeter.GPUProfiler() as profiler, profiler.profile("step"):
        pass
    run = profiler.run()
    assert roofline_of(run, Names(run), choose(run)) is None


def test_a_ceiling_without_a_spread_is_a_line() -> None:
    vector = np.full((len(_core.CEILINGS), 2), math.nan)
    vector[_core.CEILINGS.index("compute_fp32"), 0] = 1e12
    (band,) = bands(vector)
    assert (band.name, band.of, band.value, band.low, band.high) == ("fp32", "compute", 1e12, None, None)
