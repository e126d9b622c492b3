# SPDX-License-Identifier: Apache-2.0
"""What a file states and nobody measured: constants, times of a run without start times. And what a file keeps."""

import json
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from places import ROOT

from regimeter import ProfilerOptimizer, load
from regimeter.cli import main
from regimeter.report.scopes import SUMMARY_FIELDS
from regimeter.report.trace_data import trace_data
from regimeter.run import fixed_shares, records

WEB = ROOT / "python" / "regimeter" / "web"  # as written; a wheel has it stripped


def origin_profile() -> dict:
    """Return what the program behind the specification exports: its shares are constants, and it has no times."""
    entries = []
    for operation, device, durations in (
        ("matmul", "gpu", (100.0, 140.0, 160.0)),
        ("small", "gpu", (0.5,) * 12),
        ("search", "cpu", (90.0,)),
    ):
        for ms in durations:
            on_gpu = device == "gpu"
            entries.append(
                {
                    "operation": operation,
                    "duration_ms": ms,
                    "device": device,
                    "backend": "pytorch" if on_gpu else "cpu",
                    "gpu_time_ms": 0.85 * ms if on_gpu else 0.0,
                    "cpu_time_ms": 0.0 if on_gpu else ms,
                    "transfer_time_ms": 0.10 * ms if on_gpu else 0.0,
                    "overhead_ms": 0.05 * ms if on_gpu else 0.0,
                    "memory_allocated_mb": 2.0,
                    "memory_peak_mb": 8.0,
                    "gpu_utilization": (85.0 if ms > 1 else 30.0) if on_gpu else 0.0,
                    "metadata": {},
                }
            )
    summary = {}
    for operation in ("matmul", "small", "search"):
        own = [row for row in entries if row["operation"] == operation]
        times = [row["duration_ms"] for row in own]
        summary[operation] = {
            "call_count": len(own),
            "total_time_ms": sum(times),
            "avg_time_ms": sum(times) / len(own),
            "min_time_ms": min(times),
            "max_time_ms": max(times),
            "total_gpu_time_ms": sum(row["gpu_time_ms"] for row in own),
            "avg_memory_mb": 2.0,
            "avg_gpu_utilization": own[0]["gpu_utilization"],
        }
    return {"entries": entries, "summary": summary}


@pytest.fixture
def origin(tmp_path):
    path = tmp_path / "origin.json"
    path.write_text(json.dumps(origin_profile()))
    return path


# --- constants ------------------------------------------------------------------------------------------------


def test_constants_are_no_figures_of_a_run(origin):
    run = load(origin)
    for entry in run.get_entries():
        for name in (*fixed_shares.KNOWN, "gpu_utilization"):
            assert getattr(entry, name) is None, name
    matmul = run.get_summary()["matmul"]
    assert matmul.total_gpu_time_ms is None
    assert matmul.avg_gpu_utilization is None
    assert matmul.unavailable["total_gpu_time_ms"] == fixed_shares.REASON
    assert (matmul.avg_memory_mb, matmul.peak_memory_mb, matmul.total_time_ms) == (2.0, 8.0, 400.0)
    assert {row["code"]: row["count"] for row in run.anomaly_list()} == {"no_start_times": 16, "stated_constants": 64}


def test_a_measured_figure_beside_them_stays(tmp_path):
    document = origin_profile()
    choice = random.Random(1)
    for row in document["entries"]:
        if row["device"] == "gpu":
            row["gpu_time_ms"] *= choice.uniform(0.5, 0.9)
    path = tmp_path / "a.json"
    path.write_text(json.dumps(document))
    matmul = load(path).get_summary()["matmul"]
    assert matmul.total_gpu_time_ms == pytest.approx(
        sum(row["gpu_time_ms"] for row in document["entries"] if row["operation"] == "matmul")
    )
    assert matmul.total_overhead_ms is None


@pytest.mark.parametrize("verb", ["show", "report"])
def test_no_door_shows_them_as_measured(origin, tmp_path, capsys, verb):
    if verb == "show":
        assert main(["show", str(origin)]) == 0
        out = capsys.readouterr().out
        assert "device time 340" not in out
        assert "upper bound" not in out
        assert "constant" in out
    else:
        page = tmp_path / "page.html"
        assert main(["report", str(origin), "-o", str(page)]) == 0
        data = trace_data(load(origin))
        for row in data["summary"]:
            for name in ("gpu_ns", "transfer_ns", "overhead_ns", "gpu_utilization"):
                assert row[name] in (None, 0.0)
        assert any("constants" in text for text in data["cautions"])
        assert "constants, not measurements" in page.read_text()


def test_nothing_is_invented_where_there_are_no_start_times(origin, capsys):
    run = load(origin)
    assert not run.has_start_times
    assert all(entry.exclusive_time_ms is None for entry in run.get_entries())
    assert all(row.exclusive_time_ms is None for row in run.get_summary().values())
    assert main(["show", str(origin)]) == 0
    out = capsys.readouterr().out
    assert "Operations by total time" in out
    assert "exclusive," not in out
    assert "no start times" in out
    data = trace_data(run)
    assert data["run"]["duration_ns"] is None
    assert data["share_basis"] == "total"
    assert all(row["exclusive_ns"] is None for row in data["summary"])
    assert {row["code"] for row in data["anomalies"]} >= {"no_start_times"}
    assert json.loads(_json_of(capsys, origin))["run"]["duration_ns"] is None


def _json_of(capsys, path):
    assert main(["show", "--json", str(path)]) == 0
    return capsys.readouterr().out


def test_an_export_of_it_invents_nothing_either(origin, tmp_path):
    run = load(origin)
    run.export_json(tmp_path / "again.json")
    document = json.loads((tmp_path / "again.json").read_text())
    assert all(row["start_time"] is None and row["exclusive_time_ms"] is None for row in document["entries"])
    again = load(tmp_path / "again.json")
    assert not again.has_start_times
    assert again.get_summary() == run.get_summary()
    assert again.anomaly_list() == run.anomaly_list()


def test_what_is_said_of_a_constant_is_said_of_the_file_and_of_no_run(origin):
    found = {one.rule: one for one in ProfilerOptimizer(json.loads(origin.read_text())).get_suggestions()}
    assert found.keys() == {one.rule for one in ProfilerOptimizer(origin).get_suggestions()}
    # A run leaves the constant out, so nothing can be said of the device's utilisation.
    assert {one.rule for one in load(origin).suggestions()} == found.keys() - {"idle_scope"}


def documents():
    """Yield lists of entries, with constants of every kind and with measurements."""
    choice = random.Random(7)
    yield origin_profile()["entries"]
    for _ in range(60):
        split = choice.choice([(0.85, 0.1, 0.05), (0.85, 0.1, 0.0), (0.6, 0.2, 0.2), None])
        rows = []
        for _ in range(choice.randrange(1, 5)):
            ms = choice.choice([0.5, 2.0, 7.25, choice.uniform(0.1, 50)])
            parts = split or [choice.random() for _ in range(3)]
            row = {"operation": "a", "duration_ms": ms, "gpu_utilization": choice.choice([85, 30.0, 0, None, 77])}
            for name, part in zip(fixed_shares.KNOWN, parts, strict=True):
                if choice.random() < 0.9:
                    row[name] = ms * part * choice.choice([1, 1, 1, 1.0005])
            rows.append(choice.choice([row, row, row, row | {"gpu_time_ms": "x"}, row | {"duration_ms": None}]))
        yield rows


def test_the_pages_rule_is_the_same(tmp_path):
    node = shutil.which("node")
    if node is None:
        pytest.skip("node: the page's rule cannot be run without it")
    given = list(documents())
    (tmp_path / "given.json").write_text(json.dumps(given))
    rule = Path(WEB) / "js" / "fixed_shares.js"
    program = (
        f"require({json.dumps(str(rule))});"
        f"const given = JSON.parse(require('fs').readFileSync({json.dumps(str(tmp_path / 'given.json'))}));"
        "console.log(JSON.stringify(given.map((rows) => globalThis.regimeter.fixedShares.fixedFigures(rows))));"
    )
    done = subprocess.run([node, "-e", program], capture_output=True, text=True, check=True)
    found = [list(fixed_shares.fixed_figures(rows)) for rows in given]
    assert json.loads(done.stdout) == found
    assert len({tuple(one) for one in found}) > 3
    assert f'"{fixed_shares.REASON}"' in rule.read_text()


# --- one list of fields ---------------------------------------------------------------------------------------


def test_the_page_names_the_fields_of_a_summary_as_python_does():
    text = (Path(WEB) / "js" / "fields.js").read_text()
    scales = {"MS": 1e6, "MB": 1e6}
    seen = set()
    for line in re.findall(r"\{ key: .*?\},", text):
        report = re.search(r'report: "(\w+)"', line)
        profile = re.search(r'profile: "(\w+)"', line)
        scale = re.search(r"scale: (\w+)", line)
        source, factor = SUMMARY_FIELDS[report.group(1)]
        seen.add(report.group(1))
        if profile:
            assert (profile.group(1), scales[scale.group(1)] if scale else None) == (source, factor), line
            assert profile.group(1) in records.SUMMARY_FIELDS
    assert seen == set(SUMMARY_FIELDS)


# --- what an export keeps -------------------------------------------------------------------------------------


@pytest.fixture
def with_memory(make_profiler):
    profiler = make_profiler(track_memory=True, memory_interval_ms=1)
    for number in range(4):
        with profiler.profile("outer", device="cpu", number=number):
            kept = bytearray(30_000_000)
            with profiler.profile("inner"):
                kept += bytes(1_000_000)
            del kept
    with profiler.profile("outer", device="cpu", number=4):
        while profiler.stats()["samples"] < 3:
            pass
    profiler.close()
    return profiler


def without_source(path):
    document = json.loads(path.read_text())
    document["run"].pop("source")
    return document


def test_a_second_export_is_the_first(with_memory, tmp_path):
    run = with_memory.run()
    assert run.get_summary()["outer"].peak_memory_mb > 30
    run.export_json(tmp_path / "1.json")
    again = load(tmp_path / "1.json")
    again.export_json(tmp_path / "2.json")
    assert without_source(tmp_path / "1.json") == without_source(tmp_path / "2.json")
    assert again.get_summary() == run.get_summary()
    assert [entry.memory_source for entry in again.get_entries()] == [e.memory_source for e in run.get_entries()]
    assert again.cost == run.cost
    assert again.anomaly_list() == run.anomaly_list()


def test_the_page_of_an_export_is_the_page_of_the_run(with_memory, tmp_path):
    run = with_memory.run()
    run.export_json(tmp_path / "1.json")
    live, kept = trace_data(run), trace_data(load(tmp_path / "1.json"))
    assert kept["memory"] == live["memory"]
    assert any(series["name"] == "host resident set" for series in kept["memory"]["series"])
    assert kept["summary"] == live["summary"]


def test_samples_of_the_sampler_are_kept(make_profiler, tmp_path):
    profiler = make_profiler(memory_interval_ms=1)
    with profiler.profile("a"):
        while profiler.stats()["samples"] < 3:
            pass
    profiler.close()
    profiler.export_json(tmp_path / "1.json")
    entry, again = profiler.get_entries()[0], load(tmp_path / "1.json").get_entries()[0]
    assert entry.memory_source == again.memory_source == "sampler"
    assert again.memory_peak_mb == entry.memory_peak_mb


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m.pop("bytes"), "bytes"),
        (lambda m: m["bytes"].append(1), "one length"),
        (lambda m: m["bytes"].__setitem__(0, "x"), "whole numbers"),
        (lambda m: m["span"].__setitem__(0, 10**6), "number of an entry"),
        (lambda m: m["action"].__setitem__(0, 99), "action"),
        (lambda m: m["device"].__setitem__(0, 10**6), "device"),
        (lambda m: m.__setitem__("bytes", 3), ""),
    ],
)
def test_damaged_memory_is_one_error_that_names_it(with_memory, tmp_path, change, words):
    with_memory.export_json(tmp_path / "1.json")
    document = json.loads((tmp_path / "1.json").read_text())
    change(document["memory"])
    (tmp_path / "1.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match=rf"1\.json: memory: .*{words}"):
        load(tmp_path / "1.json")


def test_suggestions_of_an_export_are_those_of_its_run_and_the_documented_ones(with_memory, tmp_path):
    with_memory.export_json(tmp_path / "1.json")
    document = json.loads((tmp_path / "1.json").read_text())
    found = [ProfilerOptimizer(data).get_suggestions() for data in (with_memory.run(), tmp_path / "1.json", document)]
    rules = [[(one.rule, one.operation, one.saved_high_ms) for one in each] for each in found]
    assert rules[1] == rules[2]
    assert rules[1][: len(rules[0])] == rules[0]
    assert {saved for _, _, saved in rules[1][len(rules[0]) :]} <= {0.0}


def test_a_suggestion_without_a_bound_prints_as_words(origin):
    found = ProfilerOptimizer(origin).get_suggestions()
    texts = [f"{one.potential_speedup:.1f}x {one.estimated_time_ms:.2f} {one.potential_speedup}" for one in found]
    assert not any(word in text for text in texts for word in ("nan", "inf"))
    assert any("not bounded" in text for text in texts)
