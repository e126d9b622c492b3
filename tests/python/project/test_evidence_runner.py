# SPDX-License-Identifier: Apache-2.0
"""The collection of evidence on hardware, run without hardware: what it does when things go wrong, and its
measurements on doubles of the driver, CUPTI, NVML and torch. No figure from here means anything."""

import json
import os
import re
import shutil
import subprocess
import sys

import fakes
import pytest
from places import HELPERS, TESTS

sys.path.insert(0, str(TESTS / "gpu"))

from evidence import calibration, comparison, regimes, report, runner, workloads

STUB = str(HELPERS / "stub_torch")


def with_stub(**variables):
    path = os.pathsep.join(filter(None, (STUB, os.environ.get("PYTHONPATH"))))
    doubles = fakes.environment(cuda="kernel_ns=20000", cupti="", nvml="")
    return {**os.environ, **doubles, "PYTHONPATH": path, "REGIMETER_LIBHIP": "off", **variables}


def run(folder, *words, environment=None, package=TESTS / "gpu" / "evidence", timeout=500, patience=6):
    command = [sys.executable, str(package), "--out", str(folder), "--patience", str(patience), *words]
    return subprocess.run(
        command, env=environment or with_stub(), capture_output=True, text=True, timeout=timeout, check=False
    )


# --- the runner -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("torch", "said"),
    [
        ("raise ImportError('none here')", r"torch is not installed \(none here\); nothing measured\n"),
        ("import os; os.abort()", "(?s).*the look for a device ended with -6.*"),
    ],
    ids=["absent", "crashes"],
)
def test_a_torch_that_cannot_be_used_is_told(torch, said, tmp_path):
    (tmp_path / "torch.py").write_text(torch)
    path = os.pathsep.join((str(tmp_path), os.environ.get("PYTHONPATH", "")))
    done = run(tmp_path / "out", environment={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 1
    assert re.fullmatch(said, done.stderr)
    assert not (tmp_path / "out").exists()


def test_without_a_device_there_is_one_line(tmp_path):
    environment = with_stub()
    del environment["REGIMETER_LIBCUDA"]
    done = run(tmp_path / "out", environment=environment)
    assert (done.returncode, done.stderr) == (1, "torch finds no CUDA device; nothing measured\n")
    assert not (tmp_path / "out").exists()


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
        "event_times": "failed", "attribution": "hung", "scope_cost": "failed", "overhead": "unavailable",
        "kernel_sums": "measured", "graphs": "measured",
    }  # fmt: skip
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
        "__init__", "__main__", "bounded", "claims", "common", "doubles", "llama", "loops", "operations", "report",
        "runner", "triton_add",
    }  # fmt: skip
    assert {row.name for row in runner.MEASUREMENTS} == modules - helpers - {"runner"}


def test_everything_is_expected_to_end_in_time():
    assert runner.START_S + sum(row.expected_s for row in runner.MEASUREMENTS) <= runner.SECONDS
    assert all(0 < row.expected_s <= row.limit_s for row in runner.MEASUREMENTS)
    assert runner.SECONDS < 600  # what one command on a borrowed machine may take


# --- measurements on doubles ----------------------------------------------------------------------------------------


def measured(folder, *names, **variables):
    """Run measurements to their end; return their rows by name."""
    done = run(folder, "--only", *names, environment=with_stub(**variables))
    document = json.loads((folder / "evidence.json").read_text())
    rows = {row["name"]: row for row in document["measurements"]}
    assert {name: row["state"] for name, row in rows.items()} == dict.fromkeys(names, "measured"), done.stdout
    return rows


def part(folder, target, *arguments, **variables):
    """Run one function of a measurement in a process of its own; return what it found."""
    command = [sys.executable, str(TESTS / "gpu" / "evidence"), "--call", target, "--arguments", json.dumps(arguments)]
    done = subprocess.run(
        [*command, "--result", str(folder / "result.json")],
        env=with_stub(**variables), capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "result.json").read_text())["found"]


def test_measurements_run_to_their_end_on_doubles(tmp_path):
    """Those that need of torch no more than streams, events and launches."""
    rows = measured(tmp_path, "event_times", "scope_cost", "stream_lanes", "device_telemetry", "hardware_counters")
    lanes = {claim["claim"]: claim for claim in rows["stream_lanes"]["claims"]}
    assert lanes["kernels on each lane"]["holds"] is True
    assert lanes["events were recorded in the streams of the work"]["holds"] is True
    # Two events cost the double 1.5 us, as they may hardware: that is in each length, and not in the slope.
    times = {claim["claim"]: claim for claim in rows["event_times"]["claims"]}
    assert times["median difference over 1 us + 1 %, 10000 cycles"]["holds"] is False
    assert times["slope of events against records, 1000000 to 10000000 cycles"]["holds"] is True


@pytest.mark.parametrize(("target", "arguments"), [
    ("attribution:traced", ["decode"]), ("kernel_sums:ours", []), ("comparison:launch", [1, 5]),
    ("overhead:trial", ["tier0", "training", 1, 1]), ("overhead:trial", ["tier1", "products", 1, 1]),
    ("overhead:trial", ["torch_profiler", "training", 1, 1]),
    ("overhead:trial", ["torch_profiler_cuda", "products", 1, 1]), ("overhead:trial", ["proton", "training", 1, 1]),
    ("million_kernels:measure", [12_000, 1_200]),
])  # fmt: skip
def test_parts_run_to_their_end_on_doubles(tmp_path, target, arguments):
    found = part(tmp_path, target, *arguments)
    if target.startswith("attribution"):
        assert found["kernels"] > 50
        assert found["without_launch"] == found["without_scope"] == 0
        if "clock_step" not in found["anomalies"]:  # a machine that stands still for a moment moves its clocks apart
            assert found["before_launch"] == 0
    elif target.startswith("comparison"):
        assert {side: len(times) for side, times in found["sides"].items()} == dict.fromkeys(comparison.SIDES, 5)
        assert found["clocks_mhz"]
    elif target.startswith("overhead"):
        assert {kind: len(times) for kind, times in found.items()} == dict.fromkeys(found, 1)
    elif target.startswith("million"):
        assert found["records"] + found["dropped"] >= 12_000
        assert len(found["resident_bytes"]) == 10


def test_graphs_compilation_and_memory_run_to_their_end_on_doubles(tmp_path):
    rows = measured(tmp_path, "graphs", "torch_memory", "stalls", "compiled")
    graph = {claim["claim"]: claim["holds"] for claim in rows["graphs"]["claims"]}
    assert graph["by node: scopes of the captures, by replay"]
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
    few = {"dispatch_calls": 500, "batches": 1, "batch": 1, "launches": 100, "transfer_bytes": 1 << 20}
    row = part(tmp_path, "calibration:calibrated", few, **doubles, REGIMETER_CACHE="off")
    assert (row["name"], row["peaks"]["source"]) == ("NVIDIA H100 80GB HBM3", "datasheet")
    claims = {claim.claim: claim.holds for claim in calibration.judge({"calibrations": [row, row]})}
    assert claims["memory_copy: difference of the two"] is True
    assert claims["memory_copy: share of the peak"] is False
    assert claims["duration"] is True


@pytest.mark.slow
def test_regimes_run_to_their_end_on_doubles(tmp_path):
    """Neither verdicts nor counters of a double mean anything; every operation has both."""
    doubles = fakes.environment(cuda="follow=0,paper=0,memory_bytes=85899345920", cupti_profiler="", nvrtc="")
    found = measured(tmp_path, "regimes", **doubles, REGIMETER_CACHE="off")["regimes"]["found"]
    told = found["profiled"]
    assert [name for name, profile in told.items() if "failed" in profile] == []
    assert len(told) >= regimes.LEAST
    assert found["counted"].get("reason") is None
    assert found["counted"]["rows"].keys() == told.keys()


@pytest.mark.slow
def test_workloads_run_on_a_device_that_is_this_processor(tmp_path):
    doubles = fakes.environment(cuda_host="", nvrtc="")
    few = {"warmup": 0, "iterations": 1}
    found = part(tmp_path, "workloads:measure", few, **doubles, REGIMETER_CACHE="off")
    errors = [claim for claim in workloads.judge(found) if "error" in claim.claim]
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
