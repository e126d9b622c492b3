# SPDX-License-Identifier: Apache-2.0
"""HTAAnalyzer: every field against the trace's own text, the rules, the exports, live profilers."""

import collections
import functools
import gc
import gzip
import json
import math
from dataclasses import asdict, fields

import pytest
from needed import package
from page_data import page_of
from runs import covered
from traces import trace_path

import regimeter
from regimeter import (
    FlameGraphGenerator,
    FormatError,
    HTAAnalyzer,
    HTAReport,
    TimelineGenerator,
    UnavailableError,
    _core,
)
from regimeter.cli import main
from regimeter.report.trace_data import trace_data
from regimeter.suite.hta import RULES, Evidence

NAMES = ["ranks128/rank-0.json.gz", "a100_nccl_2024.json.gz"]
PARTS = ("gpu_idle_time_pct", "compute_time_pct", "communication_time_pct", "memory_time_pct")


@pytest.fixture(scope="module", params=NAMES)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def report(name):
    return HTAAnalyzer().analyze_trace(trace_path(name))


@functools.lru_cache(1)
def document_of(name):
    return json.loads(gzip.decompress(trace_path(name).read_bytes()))


def events(name, *categories):
    return [e for e in document_of(name)["traceEvents"] if e.get("cat") in categories and e["ph"] == "X"]


def test_the_specified_fields_are_there():
    names = {field.name for field in fields(HTAReport)}
    assert names >= {
        "gpu_idle_time_pct", "compute_time_pct", "communication_time_pct", "memory_time_pct", "top_kernels",
        "recommendations", "bottlenecks", "kernel_launch_stats", "comm_breakdown", "collective_ops",
        "memory_bandwidth_gbps", "memory_efficiency_pct", "raw_analysis",
    }  # fmt: skip


def test_shares_are_the_exact_ones_and_add_up(name, report):
    exact = json.loads(trace_path("exact_gpu_time.json").read_text())[name]["0"]
    assert report.gpu_idle_time_pct == pytest.approx(100 * exact["idle_ns"] / exact["span_ns"], abs=1e-9)
    assert report.compute_time_pct == pytest.approx(100 * exact["compute_ns"] / exact["span_ns"], abs=1e-9)
    exposed = exact["comm_ns"] - exact["comm_overlapped_by_compute_ns"]
    assert report.communication_time_pct == pytest.approx(100 * exposed / exact["span_ns"], abs=1e-9)
    assert sum(getattr(report, part) for part in PARTS) == pytest.approx(100, abs=1e-9)
    assert report.comm_breakdown["total_us"] == pytest.approx(exact["comm_ns"] / 1e3)
    assert report.comm_breakdown["kernels"] == exact["n_comm"]


def test_kernels_are_kernels_only(name, report):
    """Names and times of the trace's kernel events, summed here; no operator and no runtime call among them."""
    expected = collections.Counter()
    counts = collections.Counter()
    for event in events(name, "kernel"):
        expected[event["name"]] += event["dur"]
        counts[event["name"]] += 1
    longest = expected.most_common(len(report.top_kernels))
    assert [k["time_us"] for k in report.top_kernels] == pytest.approx([time for _, time in longest])
    for kernel in report.top_kernels:
        assert kernel["time_us"] == pytest.approx(expected[kernel["name"]])
        assert kernel["count"] == counts[kernel["name"]]
        assert kernel["pct"] == pytest.approx(100 * expected[kernel["name"]] / sum(expected.values()))
    assert report.kernel_launch_stats["kernel_count"] == sum(counts.values())


def test_launches_collectives_and_memory(name, report):
    launching = {e["args"]["correlation"] for e in events(name, "kernel", "gpu_memcpy", "gpu_memset")}
    calls = [e for e in events(name, "cuda_runtime", "cuda_driver") if e["args"].get("correlation") in launching]
    assert report.kernel_launch_stats["launch_count"] == len(calls)
    assert report.kernel_launch_stats["avg_launch_us"] == pytest.approx(sum(e["dur"] for e in calls) / len(calls))
    nccl = [e for e in events(name, "kernel") if e["name"].startswith("nccl")]
    assert sum(row["count"] for row in report.collective_ops) == len(nccl)
    assert sum(row["total_us"] for row in report.collective_ops) == pytest.approx(sum(e["dur"] for e in nccl))
    copies = events(name, "gpu_memcpy")
    moved, spent = (sum(e["args"]["bytes"] for e in copies), covered([(e["ts"], e["ts"] + e["dur"]) for e in copies]))
    assert report.memory_bandwidth_gbps == pytest.approx(moved / spent / 1e3, rel=1e-4), "sets are no copies"
    assert math.isnan(report.memory_efficiency_pct)
    assert "peak" in report.unavailable["memory_efficiency_pct"]


def test_memory_efficiency_is_of_the_datasheet():
    """Bytes of copies within the device, read and written, of 900 GB/s; none where no such copy or sheet is."""
    name = "v100_ddp_large.json.gz"
    report = HTAAnalyzer().analyze_trace(trace_path(name), ["memory"])
    within = [e for e in events(name, "gpu_memcpy") if "DtoD" in e["name"]]
    spent = covered([(e["ts"], e["ts"] + e["dur"]) for e in within])
    peak = _core.datasheets()["Tesla V100-SXM2-16GB"]["bytes_per_s"]
    expected = 100 * 2 * sum(e["args"]["bytes"] for e in within) / (spent * 1e-6) / peak
    assert 0 < report.memory_efficiency_pct == pytest.approx(expected, rel=1e-6)
    none = HTAAnalyzer().analyze_trace(trace_path("h100_bert_small.json.gz"), ["memory"])
    assert "no copy within a device" in none.unavailable["memory_efficiency_pct"]


def test_an_unknown_threshold_is_refused():
    with pytest.raises(ValueError, match="'hta_idle'; similar: hta_idle_share"):
        HTAAnalyzer(thresholds={"hta_idle": 0.99})


def test_neighbours_are_not_mixed_in(tmp_path):
    path = tmp_path / "rank-0.json.gz"
    path.write_bytes(trace_path("a100_alexnet_cuda_sync.json.gz").read_bytes())
    alone = HTAAnalyzer().analyze_trace(path).to_dict()
    (tmp_path / "rank-1.json.gz").write_bytes(trace_path(NAMES[0]).read_bytes())
    (tmp_path / "rank-2.json").write_text("garbage")
    assert HTAAnalyzer().analyze_trace(path).to_dict() == alone


def test_without_device_work_nothing_is_zero(tmp_path):
    report = HTAAnalyzer().analyze_trace(trace_path("cpu_only_rank34.json.gz"))
    plain = report.to_dict()
    for name in (*PARTS, "memory_bandwidth_gbps", "memory_efficiency_pct"):
        assert math.isnan(getattr(report, name))
        assert plain[name] is None
        assert report.unavailable[name]
    assert report.top_kernels == []
    assert report.bottlenecks == []
    # As the specification prints it.
    assert f"GPU idle: {report.gpu_idle_time_pct:.1f}%" == "GPU idle: nan%"
    path = HTAAnalyzer().export_report(report, tmp_path / "report.json", format="json")
    assert json.loads(path.read_text())["gpu_idle_time_pct"] is None
    page = page_of(HTAAnalyzer().export_report(report, tmp_path / "report.html").read_text())
    assert page["limit"]["sentence"].startswith("No GPU work in this trace")


def test_parts_can_be_chosen():
    path = trace_path("a100_alexnet_cuda_sync.json.gz")
    report = HTAAnalyzer().analyze_trace(path, ["idle_time", "breakdown"])
    assert set(report.raw_analysis) == {"breakdown"}
    assert "analysis_types" in report.unavailable["memory_bandwidth_gbps"]
    assert report.top_kernels == []
    with pytest.raises(ValueError, match="valid are: breakdown"):
        HTAAnalyzer().analyze_trace(path, ["nonsense"])
    with pytest.raises(FileNotFoundError):
        HTAAnalyzer().analyze_trace("no.json")


def test_unreadable_traces_are_errors(tmp_path):
    (tmp_path / "bad.json").write_text("hello")
    with pytest.raises(FormatError):
        HTAAnalyzer().analyze_trace(tmp_path / "bad.json")


# --- rules ----------------------------------------------------------------------------------------------------------

CALM = {"idle_share": 0.3, "communication_share": 0.2, "kernels": 10_001, "mean_kernel_us": 10.0, "top_kernel": "gemm",
        "top_kernel_share": 0.5}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "name", "text"),
    [
        ({}, None, ""),
        ({"idle_share": 0.301}, "idle", "30.1%"),
        ({"communication_share": 0.21}, "communication", "21.0%"),
        ({"mean_kernel_us": 9.9}, "short kernels", "10,001 kernels of 9.9 µs"),
        ({"mean_kernel_us": 9.9, "kernels": 10_000}, None, ""),
        ({"top_kernel_share": 0.51}, "one kernel", "gemm takes 51.0%"),
        ({"idle_share": None, "communication_share": None, "mean_kernel_us": None, "top_kernel_share": None}, None, ""),
    ],
)
def test_rules_hold_beyond_their_thresholds_only(change, name, text):
    limits = {key: row["default"] for key, row in _core.policy().items()}
    evidence = Evidence(**(CALM | change))
    held = [rule for rule in RULES if rule.holds(evidence, limits)]
    assert [rule.name for rule in held] == ([name] if name else [])
    for rule in held:
        words = asdict(evidence) | limits
        assert text in rule.bottleneck.format(**words)


def test_rules_speak_with_evidence_and_take_thresholds():
    path = trace_path("a100_alexnet_cuda_sync.json.gz")
    report = HTAAnalyzer().analyze_trace(path)
    assert any(f"{report.gpu_idle_time_pct:.1f}%" in line for line in report.bottlenecks)
    calm = HTAAnalyzer(thresholds={"hta_idle_share": 1, "hta_top_kernel_share": 1}).analyze_trace(path)
    assert calm.bottlenecks == []


@pytest.mark.parametrize("name", ["h100_bert_small.json.gz", "a100_nccl_2024.json.gz", "dlrm8/rank-0.json.gz"])
def test_what_to_try_is_what_every_view_says(name):
    run = regimeter.load(trace_path(name))
    report = HTAAnalyzer().analyze_trace(trace_path(name))
    said = run.suggestions(5)
    assert 0 < len(report.recommendations) == len(said) <= 5
    for line, one in zip(report.recommendations, said, strict=True):
        assert one.description in line
        assert one.expected_improvement in line


# --- export ---------------------------------------------------------------------------------------------------------


def test_the_page_is_that_of_the_trace_with_what_the_rules_found(report, tmp_path):
    path = HTAAnalyzer().export_report(report, tmp_path / "new folder" / "report.html")
    found = page_of(path.read_text())
    plain = trace_data(report.run)
    assert found["findings"] == report.bottlenecks != []
    assert set(found) == {*plain, "findings"}
    assert found["limit"] == plain["limit"]
    with pytest.raises(ValueError, match="holds no run"):
        HTAAnalyzer().export_report(HTAReport(), tmp_path / "none.html")


def test_json_has_every_field(report, tmp_path):
    path = HTAAnalyzer().export_report(report, tmp_path / "report.json", format="json")
    found = json.loads(path.read_text())
    for field in fields(HTAReport):
        if field.name not in ("result", "run"):
            value = getattr(report, field.name)
            if isinstance(value, float) and math.isnan(value):
                value = None
            assert found[field.name] == json.loads(json.dumps(value))
    with pytest.raises(ValueError, match="html, json"):
        HTAAnalyzer().export_report(report, tmp_path / "x", format="pdf")


def test_the_verb(name, tmp_path, capsys):
    path = str(trace_path(name))
    assert main(["hta", path]) == 0
    out = capsys.readouterr().out
    exact = json.loads(trace_path("exact_gpu_time.json").read_text())[name]["0"]
    assert f"idle {100 * exact['idle_ns'] / exact['span_ns']:.1f} %" in out
    assert "What to try" in out
    assert main(["hta", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["format"] == "regimeter.hta"
    for file, start in (("a.html", "<!doctype html>"), ("b.json", "{"), ("c", "<!doctype html>")):
        assert main(["hta", path, "-o", str(tmp_path / file)]) == 0
        assert capsys.readouterr().out.startswith(f"{tmp_path / file}: ")
        assert (tmp_path / file).read_text().startswith(start)
        (tmp_path / file).unlink()
        assert main(["hta", path, "-o", str(tmp_path / file), "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert (told["file"], told["bytes"]) == (str(tmp_path / file), (tmp_path / file).stat().st_size)
        assert (tmp_path / file).read_text().startswith(start)
    assert main(["hta", path, "-o", path]) == 2


# --- live profilers -------------------------------------------------------------------------------------------------


@pytest.fixture
def profiler():
    torch = package("torch")
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as made:
        for _ in range(5):
            torch.ones(4) + 1
    return made


def test_a_live_profiler(profiler):
    report = HTAAnalyzer().from_profiler(profiler)
    assert report.unavailable["gpu_idle_time_pct"]


def test_operators_of_a_live_profiler_are_those_of_torch(profiler):
    from regimeter.suite.imported import run_of_profiler

    run = run_of_profiler(profiler)
    found = collections.Counter(
        run.string(i) for i in run.spans.name[run.spans.kind == _core.SPAN_KINDS.index("cpu_op")]
    )
    assert found["aten::ones"] == found["aten::add"] == 5
    expected = {average.key: average.count for average in profiler.key_averages()}
    assert found == {name: count for name, count in expected.items() if name in found}


def test_a_live_profiler_serves_several_generators_and_runs(profiler):
    from regimeter.suite.imported import exported

    flame, timeline = FlameGraphGenerator().from_profiler(profiler), TimelineGenerator().from_profiler(profiler)
    assert FlameGraphGenerator().from_profiler(profiler) == flame
    assert timeline.events
    first = exported(profiler)
    with profiler:
        with pytest.raises(UnavailableError, match="stopped"):
            exported(profiler)
    second = exported(profiler)
    assert (first.exists(), second.exists()) == (False, True)


def test_the_file_of_a_profiler_goes_with_it():
    from regimeter.suite.imported import exported

    class Profiler:
        def export_chrome_trace(self, path):
            with open(path, "w") as file:
                file.write("[]")

    made = Profiler()
    path = exported(made)
    assert exported(made) == path
    assert path.exists()
    del made
    gc.collect()
    assert not path.exists()


def test_a_profiler_that_has_saved_its_trace_says_so(profiler, tmp_path):
    profiler.export_chrome_trace(str(tmp_path / "trace.json"))
    with pytest.raises(UnavailableError, match="written its trace already"):
        HTAAnalyzer().from_profiler(profiler)
    with pytest.raises(TypeError, match=r"torch\.profiler\.profile"):
        HTAAnalyzer().from_profiler(object())
    torch = package("torch")
    with pytest.raises(UnavailableError, match="stopped"):
        HTAAnalyzer().from_profiler(torch.profiler.profile())


def test_the_function_runs_exactly_as_often_as_asked(tmp_path):
    package("torch")
    calls = []

    def work(a, b=0):
        calls.append((a, b))
        return len(calls)

    analyzer = HTAAnalyzer(tmp_path / "out")
    assert not (tmp_path / "out").exists()
    report = analyzer.profile_and_analyze(work, 1, b=2, warmup=2, iterations=3)
    assert calls == [(1, 2)] * 5
    assert report.result == 5
    assert report.trace_path.startswith(str(tmp_path / "out"))
    assert len(regimeter.load(report.trace_path).spans) >= 0
    with pytest.raises(ValueError, match="iterations"):
        analyzer.profile_and_analyze(work, iterations=0)
    with pytest.raises(ZeroDivisionError):
        analyzer.profile_and_analyze(lambda: 1 / 0)
