# SPDX-License-Identifier: Apache-2.0
"""What recorded kernels and copies tell of entries and summaries, with the doubles of the CUDA driver and of CUPTI."""

import json

import pytest
from shared import once

PROGRAM = """
import json
from regimeter import GPUProfiler
from regimeter.report.scopes import scopes_of
NAMES = ("duration_ms", "gpu_time_ms", "cpu_time_ms", "transfer_time_ms", "overhead_ms", "gpu_utilization",
    "memory_bandwidth_gb_s")
TOTALS = ("total_time_ms", "total_gpu_time_ms", "total_cpu_time_ms", "total_transfer_time_ms", "total_overhead_ms",
    "avg_gpu_utilization", "gpu_calls")
def told(profiler, path):
    assert profiler.kernels_reason == "", profiler.kernels_reason
    with profiler.profile("warm", device="gpu"):
        launch()
        call("cuCtxSynchronize")
    with profiler.profile("outer", device="gpu"):
        for _ in range(2):
            with profiler.profile("step", device="gpu"):
                copy()
                launch()
                call("cuCtxSynchronize")
    with profiler.profile("ahead", device="gpu"):
        for _ in range(200):
            launch()
    call("cuCtxSynchronize")
    with profiler.profile("nothing", device="gpu"):
        pass
    with profiler.profile("host", device="cpu"):
        pass
    with profiler.profile("launches", device="cpu"):
        launch()
        call("cuCtxSynchronize")
    profiler.export_json(path)
    run = profiler.run()
    entries = [
        {name: getattr(entry, name) for name in ("operation", *NAMES)} | {"unavailable": dict(entry.unavailable)}
        for entry in profiler.get_entries()
    ]
    summary = {
        name: {field: getattr(one, field) for field in TOTALS} | {"unavailable": dict(one.unavailable)}
        for name, one in profiler.get_summary().items()
    }
    table = run.analyse("scope_device", group_by=1)
    scopes = [
        {"operation": run.strings[row["operation"]], "busy_ns": row["busy_ns"], "window_ns": row["window_ns"]}
        for row in map(table.row, range(len(table)))
    ]
    reasons = json.load(open(path))["unavailable"]
    return {"entries": entries, "summary": summary, "scopes": scopes, "reasons": reasons, "page": scopes_of(run)}
profiler = GPUProfiler(profile_kernels=True, enable_detailed_metrics=False, device_timing=TIMING)
found = told(profiler, "profile.json")
profiler.print_summary()
profiler.print_bottlenecks()
with open("found.json", "w") as out:
    json.dump(found, out)
"""
FIELDS = ("gpu_time_ms", "transfer_time_ms", "overhead_ms", "gpu_utilization", "memory_bandwidth_gb_s", "cpu_time_ms")
OF_ENTRY = {
    "total_gpu_time_ms": "gpu_time_ms",
    "total_cpu_time_ms": "cpu_time_ms",
    "total_transfer_time_ms": "transfer_time_ms",
    "total_overhead_ms": "overhead_ms",
    "avg_gpu_utilization": "gpu_utilization",
}


@pytest.fixture(scope="module", params=[True, False], ids=["events", "kernels alone"])
def recorded(request, tmp_path_factory):
    def make(folder):
        import kernel_programs

        done = kernel_programs.run_program(folder, f"TIMING = {request.param}\n" + PROGRAM)
        (folder / "output.txt").write_text(done.stdout)

    folder = once(tmp_path_factory, f"entries_of_work_{request.param}", make)
    found = json.loads((folder / "found.json").read_text())
    return found | {"timing": request.param, "output": (folder / "output.txt").read_text()}


def entries(recorded, operation):
    return [entry for entry in recorded["entries"] if entry["operation"] == operation]


def test_entries_have_what_was_launched_in_them(recorded):
    of_scopes = [row for row in recorded["scopes"] if row["operation"] == "step"]
    for entry, row in zip(entries(recorded, "step"), of_scopes, strict=True):
        assert entry["transfer_time_ms"] == pytest.approx(0.004276, abs=1e-5)  # 64 KiB by the double's copy
        assert entry["memory_bandwidth_gb_s"] == pytest.approx(65536 / (entry["transfer_time_ms"] * 1e6))
        busy_ms = row["busy_ns"] / 1e6
        assert busy_ms == pytest.approx(0.044276, abs=1e-5)
        assert row["window_ns"] >= entry["duration_ms"] * 1e6 - 1
        assert entry["gpu_utilization"] == pytest.approx(100 * row["busy_ns"] / row["window_ns"])
        if not recorded["timing"]:
            assert entry["gpu_time_ms"] == pytest.approx(busy_ms)
            assert entry["overhead_ms"] == pytest.approx(entry["duration_ms"] - busy_ms)
    (outer,) = entries(recorded, "outer")
    assert outer["transfer_time_ms"] == pytest.approx(sum(e["transfer_time_ms"] for e in entries(recorded, "step")))


def test_a_scope_lasts_until_its_work_has_ended(recorded):
    (ahead,) = entries(recorded, "ahead")
    assert 0 < ahead["gpu_utilization"] <= 100
    assert (ahead["transfer_time_ms"], ahead["memory_bandwidth_gb_s"]) == (0, None)
    assert "no copy" in ahead["unavailable"]["memory_bandwidth_gb_s"]
    if not recorded["timing"]:
        assert ahead["gpu_time_ms"] == pytest.approx(200 * 0.04, abs=0.01)
        assert ahead["overhead_ms"] is None or ahead["overhead_ms"] >= 0


def test_summaries_add_up(recorded):
    step, (outer,) = recorded["summary"]["step"], entries(recorded, "outer")
    calls = entries(recorded, "step")
    assert step["gpu_calls"] == 2
    assert step["total_transfer_time_ms"] == pytest.approx(outer["transfer_time_ms"])
    assert step["total_gpu_time_ms"] == pytest.approx(sum(call["gpu_time_ms"] for call in calls))
    assert step["avg_gpu_utilization"] == pytest.approx(sum(call["gpu_utilization"] for call in calls) / 2)
    if not recorded["timing"]:
        assert step["total_overhead_ms"] == pytest.approx(step["total_time_ms"] - step["total_gpu_time_ms"])


def test_scopes_of_the_processor_have_what_they_launched(recorded):
    (host,), (launches,) = entries(recorded, "host"), entries(recorded, "launches")
    assert host["cpu_time_ms"] == host["duration_ms"]
    assert "no device work" in host["unavailable"]["gpu_time_ms"]
    assert launches["gpu_time_ms"] == pytest.approx(0.04, abs=1e-5)
    assert launches["cpu_time_ms"] == launches["duration_ms"]


def test_missing_figures_have_a_reason_and_others_have_none(recorded):
    for entry in recorded["entries"]:
        for name in FIELDS:
            assert (entry[name] is None) == (name in entry["unavailable"]), (entry["operation"], name)
    for operation, one in recorded["summary"].items():
        for name in OF_ENTRY:
            assert (one[name] is None) == (name in one["unavailable"]), (operation, name)
    (nothing,) = entries(recorded, "nothing")
    for name in ("transfer_time_ms", "gpu_utilization", "memory_bandwidth_gb_s"):
        assert nothing["unavailable"][name] == "no device work that was launched inside is in the recording"
    if not recorded["timing"]:
        assert nothing["unavailable"]["gpu_time_ms"].startswith("device_timing is off, and no device work")


def test_an_exported_profile_has_the_reasons_of_its_entries(recorded):
    missing = {"gpu": {}, "cpu": {}}
    for entry in recorded["entries"]:
        group = missing["cpu" if entry["operation"] in ("host", "launches") else "gpu"]
        for name, reason in entry["unavailable"].items():
            group.setdefault(name, reason)
    assert recorded["reasons"] == missing
    assert ("gpu_time_ms" in recorded["reasons"]["gpu"]) == (not recorded["timing"])  # that of "nothing"


def test_the_page_has_them_too(recorded):
    (step,) = (row for row in recorded["page"]["summary"] if row["operation"] == "step")
    assert step["transfer_ns"] == pytest.approx(recorded["summary"]["step"]["total_transfer_time_ms"] * 1e6)
    assert step["gpu_utilization"] == recorded["summary"]["step"]["avg_gpu_utilization"]
    assert recorded["page"]["transfer_within"] is True  # so the split shows a transfer once


def test_the_text_says_what_device_times_are(recorded):
    if recorded["timing"]:
        assert "upper bound: time between two events" in recorded["output"]
    else:
        assert "upper bound" not in recorded["output"]
        assert "time of the recorded device work that the scope launched" in recorded["output"]
