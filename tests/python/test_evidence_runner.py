# SPDX-License-Identifier: Apache-2.0
"""The collection of evidence on hardware, run without hardware: what it does when things go wrong, what it judges, and
its measurements on doubles of the driver, CUPTI, NVML and torch. No figure from here means anything."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import fakes
import pytest

TESTS = Path(__file__).parent.parent
sys.path.insert(0, str(TESTS / "gpu"))

from evidence import (  # noqa: E402
    attribution,
    calibration,
    claims,
    comparison,
    event_times,
    graphs,
    kernel_sums,
    million_kernels,
    operations,
    overhead,
    regimes,
    report,
    runner,
    workloads,
)

STUB = str(Path(__file__).parent / "stub_torch")


def with_stub(**variables):
    path = os.pathsep.join(filter(None, (STUB, os.environ.get("PYTHONPATH"))))
    doubles = fakes.environment(cuda="kernel_ns=20000", cupti="", nvml="")
    return {**os.environ, **doubles, "PYTHONPATH": path, "REGIMETER_LIBHIP": "off", **variables}


def run(folder, *words, environment=None, package=TESTS / "gpu" / "evidence", timeout=500, patience=6):
    command = [sys.executable, str(package), "--out", str(folder), "--patience", str(patience), *words]
    return subprocess.run(
        command, env=environment or with_stub(), capture_output=True, text=True, timeout=timeout, check=False
    )


def judged(rows):
    return {claim.claim: claim.holds for claim in rows}


# --- the runner -----------------------------------------------------------------------------------------------------


def test_without_torch_there_is_one_line(tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('none here')")
    done = run(
        tmp_path / "out",
        environment={**os.environ, "PYTHONPATH": str(tmp_path) + ":" + os.environ.get("PYTHONPATH", "")},
    )
    assert done.returncode == 1
    assert done.stderr == "torch is not installed (none here); nothing measured\n"
    assert not (tmp_path / "out").exists()


def test_without_a_device_there_is_one_line(tmp_path):
    environment = with_stub()
    del environment["REGIMETER_LIBCUDA"]
    done = run(tmp_path / "out", environment=environment)
    assert (done.returncode, done.stderr) == (1, "torch finds no CUDA device; nothing measured\n")
    assert not (tmp_path / "out").exists()


def test_a_torch_that_crashes_is_told(tmp_path):
    (tmp_path / "torch.py").write_text("import os; os.abort()")
    done = run(
        tmp_path / "out",
        environment={**os.environ, "PYTHONPATH": str(tmp_path) + ":" + os.environ.get("PYTHONPATH", "")},
    )
    assert done.returncode == 1
    assert "the look for a device ended with -6" in done.stderr


BROKEN = {
    "event_times": """
def measure():
    import os
    print("last words", flush=True)
    os.abort()
""",
    "attribution": """
def measure():
    import os, time
    os.fork()
    time.sleep(600)
""",
    "scope_cost": """
def measure():
    raise ValueError("no such thing")
""",
    "overhead": """
from .common import UnavailableHere
def measure():
    raise UnavailableHere("not on this one")
""",
    "kernel_sums": """
def measure():
    return {"value": 3}
def judge(found):
    return [("three", found["missing"], "", True)]
""",
    "graphs": """
from .claims import equal
from .common import in_process
def inner(x):
    return x + 1
def measure():
    return in_process("graphs", "inner", 3)
def judge(found):
    return [equal("four", found, 4)]
""",
}


def test_a_crash_or_a_hang_loses_one_row(tmp_path):
    package = tmp_path / "evidence"
    shutil.copytree(TESTS / "gpu" / "evidence", package, ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in BROKEN.items():
        (package / f"{name}.py").write_text(text)
    text = (package / "runner.py").read_text()
    (package / "runner.py").write_text(text.replace('Measurement("attribution", 90,', 'Measurement("attribution", 2,'))
    done = run(tmp_path / "out", "--only", *BROKEN, package=package, patience=1)
    assert done.returncode == 2, done.stderr
    document = json.loads((tmp_path / "out" / "evidence.json").read_text())
    rows = {row["name"]: row for row in document["measurements"]}
    assert {name: row["state"] for name, row in rows.items()} == {
        "event_times": "failed",
        "attribution": "hung",
        "scope_cost": "failed",
        "overhead": "unavailable",
        "kernel_sums": "measured",
        "graphs": "measured",
    }
    assert "last words" in rows["event_times"]["output"]
    assert rows["event_times"]["reason"] == "ended with -6"
    assert "no such thing" in rows["scope_cost"]["output"]
    assert rows["overhead"]["reason"] == "not on this one"
    assert rows["kernel_sums"]["claims"][0]["holds"] is False
    assert rows["graphs"]["claims"] == [{"claim": "four", "value": 4, "limit": "== 4", "holds": True}]
    assert document["device"]["name"] == "double"
    assert document["commit"]
    assert document["nvidia_smi"]
    assert "DOES NOT HOLD" in (tmp_path / "out" / "evidence.txt").read_text()


def test_rows_are_kept_one_by_one_and_the_time_is_bounded(monkeypatch):
    times = iter([0.0, 0.0, 50.0, 98.0])
    asked = []
    monkeypatch.setattr(
        runner,
        "measure_one",
        lambda m, limit: asked.append((m.name, limit)) or {"name": m.name, "state": "measured", "seconds": 0.0},
    )
    kept = []
    chosen = [runner.Measurement(name, 60) for name in "abc"]
    rows = runner.measure_all(chosen, 100, lambda rows: kept.append(len(rows)), lambda: next(times))
    assert asked == [("a", 60), ("b", 50)]
    assert kept == [1, 2, 3]
    assert rows[2]["state"] == "left out"


def test_every_measurement_has_its_module():
    modules = {path.stem for path in (TESTS / "gpu" / "evidence").glob("*.py")}
    helpers = {
        "__init__",
        "__main__",
        "bounded",
        "claims",
        "common",
        "doubles",
        "loops",
        "operations",
        "report",
        "runner",
        "triton_add",
    }
    assert {row.name for row in runner.MEASUREMENTS} == modules - helpers - {"runner"}


# --- what is judged -------------------------------------------------------------------------------------------------


def test_claims_about_nothing_show_nothing():
    assert claims.at_most("a", None, 1).holds is None
    assert claims.at_least("a", float("nan"), 1).holds is None
    assert claims.between("a", 5, 1, 5).holds is True
    assert claims.equal("a", [], []).holds is True


def test_event_times_are_judged_by_their_distance():
    spins = {
        str(cycles): [[kernel + 900, kernel]] * 40
        for cycles, kernel in zip(event_times.CYCLES, (9000, 60000, 600000, 6000000), strict=True)
    }
    good = event_times.judge({"spins": spins, "nothing_ns": [500] * 40, "scopes": 200})
    assert all(claim.holds is not False for claim in good)
    spins["10000"] = [[9000 + 1200, 9000]] * 40
    bad = judged(event_times.judge({"spins": spins, "nothing_ns": [500], "scopes": 200}))
    assert bad["median difference over 1 us + 1 %, 10000 cycles"] is False
    assert bad["median difference over 1 us + 1 %, 100000 cycles"] is True
    assert (
        judged(event_times.judge({"spins": {}, "nothing_ns": [], "scopes": 0}))[
            "scopes of 10000 cycles with a device time and one kernel"
        ]
        is False
    )


def test_kernel_sums_are_judged_within_half_a_percent():
    ours = [{"gemm": [200, 1_000_000]}] * 3
    theirs = [{"gemm": [200, 1_004_000], "Memcpy": [1, 5]}] * 3
    assert all(claim.holds is not False for claim in kernel_sums.judge({"ours": ours, "theirs": theirs}))
    for wrong in (
        [{"gemm": [200, 1_006_000]}] * 3,
        [{"gemm": [199, 1_000_000]}] * 3,
        [{"other": [200, 1_000_000]}] * 3,
    ):
        assert False in judged(kernel_sums.judge({"ours": ours, "theirs": wrong})).values()


def test_kernels_without_a_scope_are_judged():
    row = {"kernels": 1000, "without_launch": 0, "without_scope": 0, "before_launch": 0, "negative": 0,
           "registers": 1000, "occupied": 1000, "configurations": 1000, "anomalies": {}, "state": {}}  # fmt: skip
    assert False not in judged(attribution.judge({"decode": row})).values()
    for change in (
        {"without_scope": 1},
        {"before_launch": 2},
        {"anomalies": {"dropped_activity": 4}},
        {"occupied": 999},
    ):
        assert False in judged(attribution.judge({"decode": row | change})).values()


def trial(bare, traced, before=None, after=None):
    return {"bare": [bare] * 5, "traced": [traced] * 5, "before": [before or bare] * 5, "after": [after or bare] * 5}


def test_overhead_is_judged_where_the_peer_is_expensive():
    loop = {"tier0": trial(100, 101), "tier1": trial(100, 108), "torch_profiler": trial(100, 190),
            "torch_profiler_cuda": trial(100, 130), "proton": {"reason": "no module"}}  # fmt: skip
    good = judged(overhead.judge({"loops": {"decode": loop}}))
    assert False not in good.values()
    assert good["decode: tier 1 costs"] is True
    assert good["decode: proton runs"] is None
    cheap = judged(overhead.judge({"loops": {"decode": loop | {"torch_profiler": trial(100, 120)}}}))
    assert cheap["decode: tier 1 costs"] is None
    # Rounds that the tracer has slowed for good are no excuse: those from before count too.
    slowed = judged(overhead.judge({"loops": {"decode": loop | {"tier1": trial(119, 120, before=100, after=119)}}}))
    assert slowed["decode: tier 1 costs"] is False
    assert slowed["decode: what tier 1 leaves behind"] is False
    assert (
        judged(overhead.judge({"loops": {"decode": loop | {"tier0": {"reason": "it died"}}}}))["decode: tier0 runs"]
        is False
    )


def test_graphs_are_judged():
    row = {"right": True, "rows": 40, "replayed": {"replay": 40}, "captured": {"product": 20, "bend": 20},
           "captured_scope": "captured", "replay_ms": 1.0, "beside_ms": 1.0, "anomalies": {}}  # fmt: skip
    assert False not in judged(graphs.judge({"1": row})).values()
    for change in ({"right": False}, {"replayed": {"None": 40}}, {"captured": {"None": 40}}, {"captured_scope": None}):
        assert False in judged(graphs.judge({"1": row | change})).values()


def calibration_of(**values):
    """A row of an H200: the datasheet of the core has 4.8 TB/s and 67 TFLOP/s in single precision."""
    from regimeter import _core

    sheet = _core.datasheets()["NVIDIA H200"]
    units = _core.ceilings()
    ceilings = {name: {"value": value, "unit": units[name]["unit"], "reason": "none"} for name, value in values.items()}
    peaks = {"source": "datasheet", "bytes_per_s": sheet["bytes_per_s"], "operations": sheet["peaks"]}
    return {"seconds": 25.0, "window": [0.4, 1.05], "name": "NVIDIA H200", "ceilings": ceilings, "peaks": peaks,
            "warnings": [], "state": {}}  # fmt: skip


def test_calibration_is_judged_against_the_datasheet():
    good = {"memory_copy": 4.2e12, "compute_fp32": 60e12, "launch": 2000.0, "compute_fp8": None, "h2d_pinned": 5e10}
    again = good | {"memory_copy": 4.25e12, "launch": 2900.0, "h2d_pinned": 6e10}
    row = calibration_of(**good)
    assert False not in judged(calibration.judge({"calibrations": [row, calibration_of(**again)]})).values()
    claims = judged(calibration.judge({"calibrations": [row, calibration_of(**again)]}))
    assert claims["memory_copy: share of the peak"] is True
    assert claims["compute_fp8: not measured"] is None
    for change in ({"memory_copy": 8.4e12}, {"compute_fp32": 20e12}):
        wrong = calibration_of(**good | change)
        assert False in judged(calibration.judge({"calibrations": [wrong, wrong]})).values()
    apart = calibration_of(**good | {"memory_copy": 4.4e12})
    assert judged(calibration.judge({"calibrations": [row, apart]}))["memory_copy: difference of the two"] is False
    late = row | {"seconds": 61.0}
    assert judged(calibration.judge({"calibrations": [row, late]}))["duration"] is False
    assert False in judged(calibration.judge({"calibrations": [row]})).values()


def regimes_found(verdict=lambda label: label, shares=None):
    """Verdicts and counters of every operation: those of its construction, unless a test has others."""
    shares = shares or {
        "OVERHEAD_BOUND": (2, 0, 0.1), "MEMORY_BOUND": (90, 0, 0.8), "COMPUTE_BOUND": (30, 85, 1.0), "": (50, 10, 0.5),
    }  # fmt: skip
    rows, told = {}, {}
    for operation in operations.operations():
        rows[operation.name] = dict(
            zip(("dram_throughput", "tensor_active", "ipc"), shares[operation.label], strict=True)
        )
        told[operation.name] = {"regime": verdict(operation.label) or "AMBIGUOUS"}
    return {"profiled": told, "counted": {"rows": rows, "counts": {}, "asked": len(rows)}}


def test_operations_have_names_of_their_own_and_are_enough():
    rows = list(operations.operations())
    assert len({row.name for row in rows}) == len(rows) >= regimes.LEAST
    assert {row.label for row in rows} == {*regimes.LABELS, ""}


def test_regimes_are_judged_by_hardware_counters():
    assert regimes.truth_of({"dram_throughput": 90, "tensor_active": 0, "ipc": 0.5}) == "MEMORY_BOUND"
    assert regimes.truth_of({"dram_throughput": 30, "tensor_active": 0, "ipc": 3.2}) == "COMPUTE_BOUND"
    assert regimes.truth_of({"dram_throughput": 65, "tensor_active": 70, "ipc": 1}) == ""  # near both
    assert regimes.truth_of({"dram_throughput": 40, "tensor_active": 40, "ipc": 1}) == ""  # near none
    assert regimes.truth_of({"dram_throughput": 3, "tensor_active": 0, "ipc": 0.1}) == "OVERHEAD_BOUND"
    assert regimes.truth_of({"sm_active": 3}) == ""
    good = judged(regimes.judge(regimes_found()))
    assert False not in good.values()
    assert good["hardware: verdicts that agree"] is True
    assert judged(regimes.judge(regimes_found(lambda label: "MEMORY_BOUND")))["hardware: verdicts that agree"] is False
    silent = judged(regimes.judge(regimes_found(lambda label: "AMBIGUOUS")))
    assert silent["hardware: verdicts that agree"] is None
    assert silent["hardware: without a verdict"] is False
    denied = regimes_found() | {"counted": {"reason": "no privileges"}}
    assert judged(regimes.judge(denied))["hardware: not available"] is None
    few = regimes_found()
    few["profiled"] = dict(list(few["profiled"].items())[:99])
    assert judged(regimes.judge(few))["operations with a profile"] is False


def test_everything_is_expected_to_end_in_time():
    assert sum(row.expected_s for row in runner.MEASUREMENTS[:-1]) <= runner.SECONDS  # the last has what is left
    assert all(0 < row.expected_s <= row.limit_s for row in runner.MEASUREMENTS)
    assert runner.SECONDS < 600  # what one command on a borrowed machine may take


def test_memory_is_judged():
    found = {"resident_bytes": [10**9, 10**9 + 10**7], "seconds": 9.0, "file_bytes": 1, "records": 1_000_001,
             "dropped": 0, "anomalies": {}}  # fmt: skip
    assert False not in judged(million_kernels.judge(found)).values()
    assert False in judged(million_kernels.judge(found | {"resident_bytes": [10**9, 2 * 10**9]})).values()
    assert False in judged(million_kernels.judge(found | {"records": 10})).values()


def test_comparison_is_judged_by_the_projects_own_rule():
    import random

    chance = random.Random(1)

    def launch(slower):
        place = chance.gauss(1e-3, 2e-6)

        def draw(scale):
            return [scale * chance.gauss(place, 3e-6) for _ in range(30)]

        return {"baseline": draw(1), "again": draw(1), "slower": draw(slower)}

    found = {"launches": [launch(1.1) for _ in range(comparison.LAUNCHES)]}
    assert False not in judged(comparison.judge(found)).values()
    found = {"launches": [launch(1.0) for _ in range(comparison.LAUNCHES)]}
    assert judged(comparison.judge(found))["duet: a tenth more work"] is False


# --- measurements on doubles ----------------------------------------------------------------------------------------


def test_measurements_run_to_their_end_on_doubles(tmp_path):
    """Those that need of torch no more than streams, events and launches."""
    names = ["event_times", "scope_cost", "stream_lanes", "device_telemetry", "hardware_counters"]
    done = run(tmp_path, "--only", *names)
    document = json.loads((tmp_path / "evidence.json").read_text())
    rows = {row["name"]: row for row in document["measurements"]}
    assert set(rows) == set(names)
    assert {name: row["state"] for name, row in rows.items()} == dict.fromkeys(names, "measured"), done.stdout
    lanes = {claim["claim"]: claim for claim in rows["stream_lanes"]["claims"]}
    assert lanes["kernels on each lane"]["holds"] is True
    assert lanes["events were recorded in the streams of the work"]["holds"] is True
    # Two events cost the double 1.5 us, as they may hardware: that is in each length, and not in the slope.
    times = {claim["claim"]: claim for claim in rows["event_times"]["claims"]}
    assert times["median difference over 1 us + 1 %, 10000 cycles"]["holds"] is False
    assert times["slope of events against records, 1000000 to 10000000 cycles"]["holds"] is True


@pytest.mark.parametrize(("target", "arguments"), [
    ("attribution:traced", ["decode"]),
    ("kernel_sums:ours", []),
    ("comparison:launch", [1, 5]),
    ("overhead:trial", ["tier0", "decode", 1, 2]),
    ("overhead:trial", ["tier1", "decode", 1, 2]),
    ("overhead:trial", ["torch_profiler", "decode", 1, 2]),
    ("overhead:trial", ["torch_profiler_cuda", "decode", 1, 2]),
    ("overhead:trial", ["proton", "decode", 1, 2]),
    ("million_kernels:measure", [30_000, 3_000]),
])  # fmt: skip
def test_parts_run_to_their_end_on_doubles(tmp_path, target, arguments):
    result = tmp_path / "result.json"
    command = [sys.executable, str(TESTS / "gpu" / "evidence"), "--call", target, "--arguments", json.dumps(arguments)]
    done = subprocess.run(
        [*command, "--result", str(result)], env=with_stub(), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(result.read_text())["found"]
    if target.startswith("attribution"):
        assert found["kernels"] > 50
        assert found["without_launch"] == found["without_scope"] == 0
        if "clock_step" not in found["anomalies"]:  # a machine that stands still for a moment moves its clocks apart
            assert found["before_launch"] == 0
    elif target.startswith("comparison"):
        assert {side: len(times) for side, times in found.items()} == dict.fromkeys(comparison.SIDES, 5)
    elif target.startswith("overhead"):
        assert {kind: len(times) for kind, times in found.items()} == dict.fromkeys(found, 2)
    elif target.startswith("million"):
        assert found["records"] + found["dropped"] >= 30_000
        assert len(found["resident_bytes"]) == 10


def test_graphs_compilation_and_memory_run_to_their_end_on_doubles(tmp_path):
    names = ["graphs", "torch_memory", "compiled"]
    done = run(tmp_path, "--only", *names)
    document = json.loads((tmp_path / "evidence.json").read_text())
    rows = {row["name"]: row for row in document["measurements"]}
    assert {name: row["state"] for name, row in rows.items()} == dict.fromkeys(names, "measured"), done.stdout
    graph = {claim["claim"]: claim["holds"] for claim in rows["graphs"]["claims"]}
    assert graph["by node: scopes of the capture"]
    assert graph["by node: scopes that replays belong to"]
    assert graph["as a whole: rows"]
    memory = {claim["claim"]: claim["holds"] for claim in rows["torch_memory"]["claims"]}
    assert memory["peak of outer"]
    assert memory["peak of inner"]
    compiled = {claim["claim"]: claim["holds"] for claim in rows["compiled"]["claims"]}
    assert compiled["kernels made by Triton under the scope"]


@pytest.mark.slow
def test_calibration_runs_to_its_end_on_doubles(tmp_path):
    """Rates of a double that takes the same time for everything are nonsense; that they are judged is what is shown."""
    doubles = fakes.environment(cuda="follow=0,paper=0,kernel_ns=2500000", nvrtc="")
    result = tmp_path / "result.json"
    arguments = json.dumps([{"dispatch_calls": 500}])
    command = [sys.executable, str(TESTS / "gpu" / "evidence"), "--call", "calibration:calibrated"]
    done = subprocess.run(
        [*command, "--arguments", arguments, "--result", str(result)],
        env=with_stub(**doubles, REGIMETER_CACHE="off"), capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    row = json.loads(result.read_text())["found"]
    assert (row["name"], row["peaks"]["source"]) == ("NVIDIA H100 80GB HBM3", "datasheet")
    claims = judged(calibration.judge({"calibrations": [row, row]}))
    assert claims["memory_copy: difference of the two"] is True
    assert claims["memory_copy: share of the peak"] is False
    assert claims["duration"] is True


@pytest.mark.slow
def test_regimes_run_to_their_end_on_doubles(tmp_path):
    """Neither verdicts nor counters of a double mean anything; every operation has both."""
    doubles = fakes.environment(cuda="follow=0,paper=0,memory_bytes=85899345920", cupti_profiler="", nvrtc="")
    done = run(tmp_path, "--only", "regimes", environment=with_stub(**doubles, REGIMETER_CACHE="off"))
    document = json.loads((tmp_path / "evidence.json").read_text())
    (row,) = document["measurements"]
    assert row["state"] == "measured", done.stdout
    told = row["found"]["profiled"]
    assert [name for name, profile in told.items() if "failed" in profile] == []
    assert len(told) >= regimes.LEAST
    assert row["found"]["counted"].get("reason") is None
    assert row["found"]["counted"]["rows"].keys() == told.keys()


@pytest.mark.slow
def test_workloads_run_on_a_device_that_is_this_processor(tmp_path):
    result = tmp_path / "result.json"
    command = [sys.executable, str(TESTS / "gpu" / "evidence"), "--call", "workloads:measure"]
    arguments = json.dumps([{"warmup": 0, "iterations": 1}])
    done = subprocess.run(
        [*command, "--arguments", arguments, "--result", str(result)],
        env=with_stub(**fakes.environment(cuda_host="", nvrtc=""), REGIMETER_CACHE="off"),
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    errors = [claim for claim in workloads.judge(json.loads(result.read_text())["found"]) if "error" in claim.claim]
    assert len(errors) == 9
    assert all(claim.holds for claim in errors)


def test_a_copy_without_its_repository_does_not_claim_to_be_unchanged(tmp_path, monkeypatch):
    about = {"device": {}, "date": "", "commit": "abc", "command": ["x"], "nvidia_smi": ""}
    assert "commit abc (whether files were changed is not known)" in report.text(about | {"changed": None}, [])
    assert "commit abc (with changes in 1 files)" in report.text(about | {"changed": ["a.c"]}, [])
    assert "commit abc\n" in report.text(about | {"changed": []}, [])
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert runner.changed_files() is None
