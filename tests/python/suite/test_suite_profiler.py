# SPDX-License-Identifier: Apache-2.0
"""UnifiedProfiler and ProfileSession: every field, the defects of the code behind the specification, bad input."""

import inspect
import json
import math
import subprocess
import sys
import warnings
from dataclasses import fields
from pathlib import Path

import pytest
from needed import package
from published import check
from traces import trace_path

import regimeter
from regimeter import KernelInfo, ProfileSession, UnavailableError, UnifiedProfiler
from regimeter.suite import Schedule
from regimeter.suite.budget import DiskBudget
from regimeter.suite.inflation import cost_of
from regimeter.suite.window import cut

torch = package("torch")
KERNELS = "a100_alexnet_cuda_sync.json.gz"


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))


@pytest.fixture(scope="module")
def batch():
    return torch.ones(8, 16)


@pytest.fixture
def profiler(tmp_path):
    return UnifiedProfiler(tmp_path / "profiles")


def calls(session):
    return {row["name"]: row["calls"] for row in session.operators}


# --- names and signatures -------------------------------------------------------------------------------------------


def test_the_constructor_is_that_of_the_specification():
    found = {p.name: p.default for p in inspect.signature(UnifiedProfiler).parameters.values()}
    assert list(found)[:10] == [
        "output_dir", "enable_trace", "enable_memory", "enable_flame_graph", "warmup_iterations", "profile_iterations",
        "record_shapes", "with_stack", "with_flops", "with_modules",
    ]  # fmt: skip
    assert [found[name] for name in ("warmup_iterations", "profile_iterations", "enable_trace")] == [3, 10, True]
    assert [f.name for f in fields(KernelInfo)] == [
        "name", "duration_us", "cuda_time_us", "cpu_time_us", "device_index", "stream", "grid", "block",
        "registers_per_thread", "shared_memory_bytes", "call_count",
    ]  # fmt: skip
    assert {f.name for f in fields(ProfileSession)} >= {
        "total_time_ms", "cuda_time_ms", "cpu_time_ms", "peak_memory_mb", "allocated_memory_mb", "reserved_memory_mb",
        "kernels", "bottlenecks", "recommendations", "trace_path", "flame_graph_data", "kernel_summary",
        "flame_graph_path", "memory_snapshot_path", "timeline_data", "memory_timeline", "device_name", "timestamp",
    }  # fmt: skip


def test_the_layout_of_the_specification_is_there():
    from regimeter.suite import FlameGraphGenerator, flame_graph, hta_integration, profiler, timeline

    assert profiler.UnifiedProfiler is UnifiedProfiler
    assert profiler.ProfileSession is ProfileSession
    assert flame_graph.FlameGraphGenerator is FlameGraphGenerator is regimeter.FlameGraphGenerator
    assert timeline.TimelineGenerator is regimeter.TimelineGenerator
    assert hta_integration.HTAAnalyzer is regimeter.HTAAnalyzer


def test_importing_the_names_imports_no_torch():
    code = (
        "import sys, regimeter, regimeter.suite\n"
        "for name in regimeter.suite.__all__: getattr(regimeter.suite, name)\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# --- a block on the processor ---------------------------------------------------------------------------------------


def test_a_block_has_every_figure_or_a_reason(profiler, model, batch):
    with profiler.profile("a step") as session:
        model(batch).sum().backward()
    assert session.total_time_ms > 0
    assert session.cpu_time_ms > 0
    assert calls(session)["aten::addmm"] == 2
    for name in ("cuda_time_ms", "reserved_memory_mb"):
        assert math.isnan(getattr(session, name))
        assert session.unavailable[name]
    assert f"{session.cuda_time_ms:.2f}ms" == "nanms", "the line of the specification runs"
    # What lives at the end are the gradients; in between there was more.
    gradients = sum(parameter.grad.nbytes for parameter in model.parameters())
    assert session.peak_memory_mb > session.allocated_memory_mb >= gradients / 1e6
    assert session.flame_graph_data["children"]
    assert session.flame_graph_path.read_text().startswith("<!doctype html>")
    assert json.loads(session.trace_path.read_text())["traceEvents"]
    assert session.timeline_data["summary"]["cpu_active_time_us"] > 0
    assert session.memory_timeline
    assert session.device_name
    assert session.timestamp
    model.zero_grad()


def test_operators_are_no_kernels(profiler, model, batch):
    """S2: without device work there are no kernels, however many operators ran."""
    with profiler.profile() as session:
        model(batch)
    assert session.kernels == []
    assert session.kernel_summary == {"kernels": 0, "launches": 0, "total_us": 0}
    assert session.unavailable["kernels"] == "no device work was recorded"
    assert session.bottlenecks == [] or not any("Error" in line for line in session.bottlenecks)


def test_the_dictionary_is_plain_json(profiler, model, batch, tmp_path):
    with profiler.profile() as session:
        model(batch)
    found = check(json.loads(profiler.export_summary(session, tmp_path / "deep" / "summary.json").read_text()))
    assert found == json.loads(json.dumps(session.to_dict(), allow_nan=False))
    assert set(found) >= {
        "timing", "memory", "kernels", "kernel_summary", "bottlenecks", "recommendations", "device", "timestamp",
    }  # fmt: skip
    assert set(found["timing"]) >= {"total_ms", "cuda_ms", "cpu_ms"}
    assert found["timing"]["cuda_ms"] is None
    assert set(found["memory"]) == {"peak_mb", "allocated_mb", "reserved_mb"}
    page = profiler.export_summary(session, tmp_path / "summary.html").read_text()
    assert "<title>profile - regimeter</title>" in page


def test_a_block_that_raises_passes_it_on_and_is_still_told(profiler, model):
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        with profiler.profile() as session:
            model(torch.ones(8, 3))
    assert session.failed
    assert session.operators
    assert not torch.autograd._profiler_enabled()


def test_results_and_random_numbers_are_those_without_the_profiler(profiler, model):
    def work():
        torch.manual_seed(7)
        return torch.nn.functional.dropout(model(torch.rand(8, 16)), 0.5), torch.rand(2)

    expected = work()
    with profiler.profile():
        found = work()
    again = profiler.profile_function(work, warmup=0, iterations=2).result
    for results in (found, again):
        assert all(torch.equal(a, b) for a, b in zip(results, expected, strict=True))


def test_an_unreadable_trace_is_a_warning_and_a_reason(profiler, model, batch, monkeypatch):
    """S2: what goes wrong is no bottleneck, and does not stop the program."""

    def fails(*_):
        raise regimeter.FormatError("no trace")

    monkeypatch.setattr("regimeter.suite.profiler.load", fails)
    with pytest.warns(RuntimeWarning, match="no trace"):
        with profiler.profile() as session:
            model(batch)
    assert session.unavailable["trace"] == "FormatError: no trace"
    assert session.bottlenecks == []
    assert session.total_time_ms > 0


# --- functions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("iterations", "timed", "traced"), [(1, 0, 1), (2, 1, 1), (10, 8, 2), (20, 17, 3), (100, 97, 3)]
)
def test_a_function_runs_as_often_as_asked(profiler, iterations, timed, traced):
    seen = []

    def work(value, *, plus):
        seen.append(torch.autograd._profiler_enabled())
        return value + plus

    session = profiler.profile_function(work, torch.ones(2), plus=1, name="add", warmup=2, iterations=iterations)
    assert seen == [False] * (2 + timed) + [True] * traced
    assert session.calls == {"warmup": 2, "timed": timed, "traced": traced}
    assert len(session.times_ms) == timed
    assert session.result.tolist() == [2, 2]
    assert session.inflation["method"] == ("measured" if timed else "derived")
    if timed:
        assert session.inflation["unprofiled_ms"] == session.total_time_ms
    assert "profiler" in session.timing


def test_times_are_those_without_the_profiler(profiler):
    """S1: what runs under the profiler is not what is reported as the time."""
    import time

    def work():
        if torch.autograd._profiler_enabled():
            time.sleep(0.2)  # stands for what stacks and shapes cost

    session = profiler.profile_function(work, warmup=0, iterations=4)
    assert session.inflation["profiled_ms"] > 200 > session.total_time_ms
    assert session.inflation["ratio"] > 1


def test_a_function_that_raises_is_not_profiled_further(profiler):
    def work():
        raise KeyError("broken")

    with pytest.raises(KeyError, match="broken"):
        profiler.profile_function(work)
    with pytest.raises(KeyError, match="broken"):
        profiler.profile_function(work, warmup=0, iterations=1)
    assert not torch.autograd._profiler_enabled()


def test_numbers_out_of_bounds_are_refused(profiler, tmp_path):
    with pytest.raises(ValueError, match="iterations"):
        profiler.profile_function(lambda: None, iterations=0)
    with pytest.raises(ValueError, match="warmup"):
        profiler.profile_function(lambda: None, warmup=-1)
    with pytest.raises(ValueError, match="disk_budget_mb"):
        UnifiedProfiler(tmp_path, disk_budget_mb=-1)
    with pytest.raises(ValueError, match="active"):
        Schedule(active=0)


# --- sessions of traces with device work ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def traced():
    return ProfileSession.from_trace(trace_path(KERNELS))


def test_device_time_is_busy_time(traced):
    """S1: idle time between the work is not in it."""
    exact = json.loads(trace_path("exact_gpu_time.json").read_text())[KERNELS]
    assert traced.cuda_time_ms == pytest.approx(sum(one["busy_ns"] for one in exact.values()) / 1e6, rel=1e-6)
    assert traced.cuda_time_ms < traced.total_time_ms


def test_no_rule_takes_processor_time_for_overhead(traced):
    """S1: the share of processor time in processor and device time is no bottleneck."""
    assert not any("CPU overhead" in line for line in traced.bottlenecks)
    assert traced.unavailable["cpu_time_ms"]


def test_kernels_are_the_device_work_of_the_trace(traced):
    """S2: names, times and counts of the kernel events; no operator and no runtime call among them."""
    import collections
    import gzip

    events = json.loads(gzip.decompress(trace_path(KERNELS).read_bytes()))["traceEvents"]
    kernels = [e for e in events if e.get("cat") == "kernel"]
    expected = collections.Counter()
    for event in kernels:
        expected[event["name"]] += event["dur"]
    assert {k.name: k.cuda_time_us for k in traced.kernels} == pytest.approx(dict(expected))
    assert sum(k.call_count for k in traced.kernels) == len(kernels)
    assert [k.cuda_time_us for k in traced.kernels] == sorted((k.cuda_time_us for k in traced.kernels), reverse=True)
    longest = max((e for e in kernels if e["name"] == traced.kernels[0].name), key=lambda e: e["dur"])["args"]
    top = traced.kernels[0]
    assert list(top.grid) == longest["grid"]
    assert list(top.block) == longest["block"]
    assert top.registers_per_thread == longest["registers per thread"]
    assert top.shared_memory_bytes == longest["shared memory"]
    assert (top.device_index, top.stream) == (longest["device"], longest["stream"])
    assert top.cpu_time_us > 0
    assert traced.to_dict()["kernels"][0]["grid"] == longest["grid"]


def test_what_stands_out_is_what_every_view_says(traced):
    report = regimeter.HTAAnalyzer().analyze_trace(trace_path(KERNELS))
    assert traced.bottlenecks[: len(report.bottlenecks)] == report.bottlenecks
    assert traced.recommendations == report.recommendations
    assert traced.timeline_data["summary"]["gpu_active_time_us"] == pytest.approx(traced.cuda_time_ms * 1e3)


# --- schedules ------------------------------------------------------------------------------------------------------


def test_phases_of_a_schedule():
    schedule = Schedule(wait=1, warmup=1, active=2, repeat=2)
    found = [schedule.phase(step) for step in range(10)]
    assert found == ["wait", "warmup", "active", "active"] * 2 + ["wait"] * 2
    assert Schedule(active=1, repeat=0).phase(99) == "active"


def test_neither_time_has_the_profilers_own_work(profiler, monkeypatch):
    clock, step = {"time": 0, "cpu": 0}, torch.profiler.profile.step

    def spend(milliseconds):
        for name in clock:
            clock[name] += milliseconds * 1_000_000

    def costly_step(self):
        spend(500)  # stands for starting and stopping
        step(self)

    monkeypatch.setattr(torch.profiler.profile, "step", costly_step)
    monkeypatch.setattr("time.perf_counter_ns", lambda: clock["time"])
    monkeypatch.setattr("time.process_time_ns", lambda: clock["cpu"])
    with profiler.profile("loop", schedule={"wait": 1, "warmup": 1, "active": 2, "repeat": 1}) as session:
        for _ in range(4):
            spend(3)
            profiler.step()
    assert (session.total_time_ms, session.cpu_time_ms) == (12, 12)


def test_steps_of_a_schedule_are_recorded_by_cycle(profiler, model, batch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with profiler.profile("loop", schedule={"wait": 2, "warmup": 1, "active": 2, "repeat": 2}) as session:
            for _ in range(11):
                model(batch)
                profiler.step()
    assert [step["phase"] for step in session.steps] == [*["wait", "wait", "warmup", "active", "active"] * 2, "wait"]
    assert len(session.trace_paths) == 2
    assert session.trace_path == session.trace_paths[-1]
    assert calls(session)["aten::addmm"] == 4, "two active steps"
    assert session.inflation["method"] == "measured"
    with pytest.raises(RuntimeError, match="step"):
        profiler.step()


# --- other profilers ------------------------------------------------------------------------------------------------


def test_a_block_within_a_block_is_cut_out_of_its_trace(profiler, model, batch):
    with profiler.profile("outer") as outer:
        model(batch)
        with profiler.profile("inner") as inner:
            model(batch)
    assert calls(outer)["aten::addmm"] == 4
    assert calls(inner)["aten::addmm"] == 2
    assert outer.unavailable.keys() == inner.unavailable.keys() - {"inflation"}


def test_a_profiler_that_records_already_is_used(profiler, model, batch):
    with torch.profiler.profile(profile_memory=True) as other:
        model(batch)
        with profiler.profile("guest") as session:
            model(batch)
    assert "another torch.profiler" in session.unavailable["trace"]
    assert session.total_time_ms > 0
    assert session.complete(other) is session
    assert calls(session)["aten::addmm"] == 2
    assert "trace" not in session.unavailable
    assert session.peak_memory_mb > 0
    assert sum(row.count for row in other.key_averages() if row.key == "aten::addmm") == 4, "theirs is whole"


def test_a_trace_without_the_block_is_refused(tmp_path):
    path = tmp_path / "t.json"
    path.write_text('{"traceEvents": []}')
    with pytest.raises(ValueError, match="no block"):
        cut(path, "regimeter: x #1")


def test_device_work_goes_to_the_block_that_launched_it(tmp_path):
    """A kernel that runs after the block's end is the block's; one that runs within and was launched before is not."""

    def event(cat, name, ts, dur, **args):
        return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, "args": args}

    device = {"device": 0, "stream": 7}
    events = [
        event("user_annotation", "mark", 100, 50),
        event("cuda_runtime", "cudaLaunchKernel", 90, 5, correlation=1),
        event("cuda_runtime", "cudaLaunchKernel", 110, 5, correlation=2),
        event("kernel", "before", 120, 10, correlation=1, **device) | {"pid": 0, "tid": 7},
        event("kernel", "mine", 200, 10, correlation=2, **device) | {"pid": 0, "tid": 7},
    ]
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"traceEvents": events}))
    session = ProfileSession("x", mark="mark").complete(path)
    assert [kernel.name for kernel in session.kernels] == ["mine"]
    assert session.cuda_time_ms == pytest.approx(0.01)


# --- what it costs --------------------------------------------------------------------------------------------------


def test_inflation_is_derived_from_the_events_of_the_trace(profiler, model, batch):
    with profiler.profile() as session:
        model(batch)
    found = session.inflation
    kinds = session.run.spans.kind.tolist()
    assert found["operators"] == kinds.count(regimeter._core.SPAN_KINDS.index("cpu_op")) > 0
    assert found["python_calls"] > 0
    added = found["operators"] * found["per_operator_us"] + found["python_calls"] * found["per_python_call_us"]
    assert found["added_ms"] == pytest.approx(added / 1e3)
    assert cost_of(torch, profiler._options) is cost_of(torch, dict(profiler._options)), "measured once"


def test_a_budget_keeps_what_fits_and_analyses_the_rest(tmp_path, model, batch):
    profiler = UnifiedProfiler(tmp_path / "out", disk_budget_mb=0)
    with profiler.profile() as session:
        model(batch)
    assert session.trace_path is None
    assert "disk budget" in session.unavailable["trace_path"]
    assert calls(session)["aten::addmm"] == 2
    assert not (tmp_path / "out").exists()
    profiler = UnifiedProfiler(tmp_path / "out", disk_budget_mb=0.001, enable_trace=False)
    with profiler.profile() as session:
        model(batch)
    assert session.flame_graph_path is None
    assert session.flame_graph_data
    assert "disk budget" in session.unavailable["flame_graph_path"]
    assert not (tmp_path / "out").exists()
    budget, file = DiskBudget(0.001), tmp_path / "file"
    for _ in range(2):  # the second in the place of the first
        file.write_bytes(b"x" * 600)
        assert budget.keep(file, tmp_path / "kept" / "a")
    file.write_bytes(b"x" * 600)
    assert not budget.keep(file, tmp_path / "kept" / "b")
    assert file.exists()


def test_nothing_is_kept_where_nothing_is_wanted(tmp_path, model, batch):
    profiler = UnifiedProfiler(tmp_path / "out", enable_trace=False, enable_memory=False, enable_flame_graph=False)
    with profiler.profile() as session:
        model(batch)
    assert not (tmp_path / "out").exists()
    assert session.flame_graph_data == {}
    assert math.isnan(session.peak_memory_mb)
    assert "enable_memory" in session.unavailable["peak_memory_mb"]
    assert calls(session)["aten::addmm"] == 2


# --- comparison -----------------------------------------------------------------------------------------------------


def test_differences_are_what_was_saved():
    def session(total, cuda, cpu, peak, **kernels):
        found = [KernelInfo(name, time, time) for name, time in kernels.items()]
        return ProfileSession("x", total, cuda, cpu, peak, kernels=found)

    before = session(10.0, 6.0, 3.0, 100.0, gemm=5000.0, copy=900.0, same=300.0)
    after = session(5.0, 4.0, 1.0, 60.0, gemm=3000.0, fused=400.0, same=250.0)
    found = regimeter.suite.profiler.compare_sessions(before, after)
    assert found["speedup"] == 2
    assert found["timing_diff"] == {"total_ms": 5, "cuda_ms": 2, "cpu_ms": 2}
    assert found["memory_diff"] == {"peak_mb": 40}
    assert found["kernel_changes"] == [
        {"name": "gemm", "baseline_us": 5000, "optimized_us": 3000, "diff_us": 2000},
        {"name": "copy", "baseline_us": 900, "optimized_us": None, "diff_us": 900, "status": "removed"},
        {"name": "fused", "baseline_us": None, "optimized_us": 400, "diff_us": -400, "status": "added"},
    ]
    assert "timed without the profiler" in found["verdict"]["unavailable"]


def test_a_comparison_has_the_verdict_of_the_engine(profiler):
    quick = ProfileSession("q", 1.0, times_ms=[1.0, 1.01, 0.99, 1.0, 1.02, 0.98] * 5)
    slow = ProfileSession("s", 2.0, times_ms=[2.0, 2.02, 1.98, 2.0, 2.04, 1.96] * 5)
    verdict = profiler.compare_sessions(slow, quick)["verdict"]
    assert verdict["change"] == "improvement"
    assert verdict["low_percent"] < -50.0 + 5 < verdict["high_percent"] + 10
    assert "one after the other" in verdict["caution"]
    assert profiler.compare_sessions(quick, quick)["verdict"]["change"] == "no_change"


def test_files_of_a_session_lie_in_the_folder_under_their_name(profiler, model, batch):
    with profiler.profile("a/b c") as session:
        model(batch)
    assert session.trace_path.parent == Path(profiler.output_dir)
    assert session.trace_path.name.startswith("a_b_c-")


def test_unavailable_is_the_error_for_a_page_without_a_trace(tmp_path, profiler):
    with pytest.raises(UnavailableError, match="no page"):
        profiler.export_summary(ProfileSession("x"), tmp_path / "x.html")
