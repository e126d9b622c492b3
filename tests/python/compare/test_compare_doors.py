# SPDX-License-Identifier: Apache-2.0
"""The same two files have the same verdict and the same exit code by every door, and none takes nothing for a pass.

Doors: Python's functions with paths, with loaded runs and with dictionaries, `decide`, the command in each format, the
data of the page. Files are written by the recorder, the exporter and the importer; the documented form by hand.
"""

import gzip
import json
import math
import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import traces
from page_data import page_of

import regimeter
from regimeter import ProfilerComparison, compare_profiling_runs
from regimeter.cli import main
from regimeter.compare import Options, decide, noise_floor
from regimeter.compare.sources import side_of


def document(times: dict[str, list[float]], *, device: str = "gpu", **more: Any) -> dict[str, Any]:
    """A profile of the documented form; times in ms by operation."""
    rows = [
        {"operation": name, "duration_ms": value, "device": device}
        for name, values in times.items()
        for value in values
    ]
    return {"entries": rows, **more}


def around(center: float, count: int = 30) -> list[float]:
    """Times with a spread of a per cent, the same at each call."""
    return [center * (1 + 0.005 * math.sin(7 * i)) for i in range(count)]


def beside(*documents: dict[str, Any]) -> dict[str, Any]:
    return {"entries": [entry for one in documents for entry in one["entries"]]}


def with_memory(peak: float) -> dict[str, Any]:
    return {"entries": [{**entry, "memory_peak_mb": peak} for entry in document({"a": around(10)})["entries"]]}


def on(name: str) -> dict[str, Any]:
    return {"environment": {"gpus": {"devices": [{"name": name}]}}}


PLAIN = document({"a": around(10), "b": around(5)})
SLOWER = document({"a": around(13), "b": around(5)})
SUMMARY = {"summary": {"a": {"call_count": 3, "total_time_ms": 30.0, "avg_time_ms": 10.0}}}
# What is compared, and the exit code that every door must have; None: whatever the command says of these.
BY_HAND: dict[str, tuple[Any, Any, int]] = {
    "equal": (PLAIN, PLAIN, 0),
    "slower": (PLAIN, SLOWER, 1),
    "faster": (SLOWER, PLAIN, 0),
    "a little slower": (PLAIN, document({"a": around(10.1), "b": around(5)}), 0),
    "both empty": ({"entries": []}, {"entries": []}, 4),
    "an empty baseline": ({"entries": []}, PLAIN, 4),
    "an empty current side": (PLAIN, {"entries": []}, 4),
    "nothing in common": (document({"a": around(1)}), document({"b": around(1)}), 4),
    "only zeros": (document({"a": [0.0] * 9}), document({"a": [0.0] * 9}), 4),
    "zeros on one side": (document({"a": around(1)}), document({"a": [0.0] * 9}), 4),
    "some zeros": (PLAIN, document({"a": [0.0, *around(10)], "b": around(5)}), 0),
    "another GPU": (PLAIN | on("A100"), PLAIN | on("H200"), 4),
    "another GPU, and slower": (PLAIN | on("A100"), SLOWER | on("H200"), 4),
    "another batch": (
        PLAIN | {"environment": {"metadata": {"batch_size": 8}}},
        PLAIN | {"environment": {"metadata": {"batch_size": 16}}},
        4,
    ),
    "another unit": (PLAIN, PLAIN | {"units": {"*_ms": "microseconds"}}, 4),
    "another Python": (PLAIN | {"environment": {"python": "3.11.1"}}, PLAIN | {"environment": {"python": "3.12.1"}}, 0),
    "one call a side": (document({"a": [100.0]}), document({"a": [125.0]}), 1),
    "not a number": (PLAIN, document({"a": [math.nan] * 9}), 4),
    "beyond all clocks": (document({"a": [1e300] * 9}), document({"a": [1e300] * 9}), 4),
    "negative": (document({"a": around(10)}), document({"a": [-1.0] * 9}), 4),
    "negative among others": (PLAIN, document({"a": [-1.0, *around(10)], "b": around(5)}), 0),
    "ends before it starts": (
        {"entries": [{"operation": "a", "start_time": 2.0, "end_time": 1.0, "duration_ms": 5.0}] * 9},
        {"entries": [{"operation": "a", "start_time": 1.0, "end_time": 2.0, "duration_ms": 5.0}] * 9},
        4,
    ),
    "summaries only": (SUMMARY, SUMMARY, 0),
    "summaries, slower": (SUMMARY, {"summary": {"a": {"call_count": 3, "avg_time_ms": 20.0}}}, 1),
    "a summary beside entries": (PLAIN | SUMMARY, SLOWER | SUMMARY, 1),
    "a second device": (
        document({"matmul": around(100)}),
        beside(document({"matmul": around(130)}), document({"matmul": [9.0]}, device="cpu")),
        1,
    ),
    "a device less": (
        beside(document({"matmul": around(100)}), document({"matmul": [9.0]}, device="cpu")),
        document({"matmul": around(130)}),
        1,
    ),
    "more calls without a round": (
        document({"setup": [5.0], "step": around(10, 10)}),
        document({"setup": [5.0], "step": around(10, 30)}),
        0,
    ),
    "more calls of one": (document({"step": [10.0]}), document({"step": around(10, 30)}), 0),
    "more memory": (with_memory(20.0), with_memory(4000.0), 1),
    "a rounding of memory": (with_memory(20.0), with_memory(20.1), 0),
    "less memory": (with_memory(4000.0), with_memory(20.0), 0),
    "an operation more": (PLAIN, document({"a": around(10), "b": around(5), "c": around(5)}), 1),  # in each round
    "an operation less": (PLAIN, document({"a": around(10)}), 0),
}  # fmt: skip


@dataclass
class Pair:
    """Two files, what they are as other inputs, and the exit code that is known beforehand."""

    files: tuple[str, str]
    code: int | None = None
    others: dict[str, tuple[Any, Any]] = field(default_factory=dict)


def verdicts(rows: Any) -> list[tuple[str, str, str]]:
    return [(row["operation"], row["metric"], row["change_type"]) for row in rows]


def of_comparison(comparison: Any) -> tuple[int, str, list[tuple[str, str, str]]]:
    rows = [row.to_dict() for row in (*comparison.comparisons, *comparison.wholes)]
    return comparison.exit_code, comparison.outcome, verdicts(rows)


def by_all_doors(pair: Pair, capsys: pytest.CaptureFixture[str]) -> dict[str, tuple[int, str, Any]]:
    """Return (exit code, outcome, verdicts) by door; None for verdicts that a door does not list."""
    base, now = pair.files
    found = {
        "compare_profiling_runs": of_comparison(compare_profiling_runs(base, now)),
        "ProfilerComparison of lists": of_comparison(ProfilerComparison([base], [now])),
        "decide": of_comparison(decide(base, now, Options())),
    }
    for name, (before, after) in pair.others.items():
        found[name] = of_comparison(compare_profiling_runs(before, after))
    stored = ProfilerComparison.from_json(compare_profiling_runs(base, now).to_json())
    found["an exported comparison"] = of_comparison(stored)
    for style in ("text", "json", "markdown", "junit", "html", "csv", "github"):
        capsys.readouterr()
        code = main(["compare", base, now, "--format", style])
        out = capsys.readouterr().out
        outcome, rows = found["decide"][1], None
        if style == "text":
            assert out.startswith(f"PERF {outcome.upper()}  "), out
        elif style in ("json", "html"):
            data = page_of(out) if style == "html" else json.loads(out)
            assert data["exit_code"] == code
            outcome, rows = data["outcome"], sorted(verdicts([*data["comparisons"], *data["wholes"]]))
        elif style == "junit":
            cases = list(ElementTree.fromstring(out).iter("testcase"))
            assert any(case.find("failure") is not None for case in cases) == (code == 1)
            assert code != 4 or any(case.find("error") is not None for case in cases)
        else:
            assert "passed" not in out.lower() or code == 0
        found[style] = (code, outcome, rows)
    return found


def check(pair: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    found = by_all_doors(pair, capsys)
    code, outcome, rows = found["decide"]
    if pair.code is not None:
        assert code == pair.code
    assert {door: one[:2] for door, one in found.items()} == dict.fromkeys(found, (code, outcome))
    listed = {door: sorted(one[2]) for door, one in found.items() if one[2] is not None}
    assert listed == dict.fromkeys(listed, sorted(rows))
    capsys.readouterr()
    assert main(["compare", *pair.files, "--fail-on", "never", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["outcome"] == outcome, "what fails nothing is not called passed"
    comparison = compare_profiling_runs(*pair.files)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        summary = comparison.get_summary()
    assert (summary.decided, summary.exit_code) == (code != 4, code)
    assert (summary.regressions_count is None) == (code == 4), "nothing that was looked for is not 0"
    assert bool(caught) == (code == 4)


def saved(folder: Path, name: str, given: Any) -> str:
    path = folder / name
    path.write_text(json.dumps(given), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", BY_HAND)
def test_files_of_the_documented_form(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after, code = BY_HAND[name]
    files = saved(tmp_path, "base.json", before), saved(tmp_path, "now.json", after)
    check(Pair(files, code, {"dictionaries": (before, after)}), capsys)


# --- recordings, their exports, traces ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Files of real runs, by what they are."""
    folder = tmp_path_factory.mktemp("recorded")
    found = {}
    for name, works in (("one", {"step": 200, "copy": 50}), ("two", {"step": 400, "copy": 50}), ("other", {"else": 9})):
        profiler = regimeter.GPUProfiler(path=str(folder / f"{name}.rgm"), enable_detailed_metrics=False)
        for _ in range(20):
            for operation, size in works.items():
                with profiler.profile(operation, device="cpu"):
                    sum(range(size * 20))
        profiler.close()
        found[name] = str(folder / f"{name}.rgm")
        run = regimeter.load(found[name])
        found[f"{name} exported"] = str(folder / f"{name}.json")
        run.export_json(found[f"{name} exported"])
        found[f"{name} saved"] = str(folder / f"{name}.saved.rgm")
        run.save(found[f"{name} saved"])
        found[f"{name} packed"] = str(folder / f"{name}.json.gz")
        Path(found[f"{name} packed"]).write_bytes(gzip.compress(Path(found[f"{name} exported"]).read_bytes()))
    idle = regimeter.GPUProfiler(path=str(folder / "idle.rgm"), enable_detailed_metrics=False)
    idle.close()
    found["idle"] = str(folder / "idle.rgm")
    return found


RECORDED = (
    ("one", "one", 0), ("one", "two", None), ("two", "one", None), ("one", "other", 4), ("one", "idle", 4),
    ("idle", "one", 4), ("one exported", "two exported", None), ("one exported", "one", None),
    ("one packed", "two packed", None), ("one saved", "two saved", None), ("other exported", "one exported", 4),
)  # fmt: skip


@pytest.mark.parametrize(("base", "now", "code"), RECORDED)
def test_recordings_and_exports(
    recorded: dict[str, str], base: str, now: str, code: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    files = recorded[base], recorded[now]
    runs = tuple(regimeter.load(path) for path in files)
    check(Pair(files, code, {} if "exported" in base or "packed" in base else {"runs": runs}), capsys)


@pytest.mark.parametrize(
    ("base", "now", "code"),
    [
        ("diff_small_base.json.gz", "diff_small_test.json.gz", None),
        ("diff_small_base.json.gz", "diff_small_base.json.gz", 0),
        ("h100_bert_small.json.gz", "diff_small_base.json.gz", None),
    ],
)
def test_traces(base: str, now: str, code: int | None, capsys: pytest.CaptureFixture[str]) -> None:
    files = str(traces.trace_path(base)), str(traces.trace_path(now))
    check(Pair(files, code, {"runs": tuple(regimeter.load(path) for path in files)}), capsys)


# --- what is not in the files ---------------------------------------------------------------------------------


def test_what_was_calibrated_holds_by_every_door(
    recorded: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A floor as large as the change: with it nothing is proved, without it the same files fail, because three other
    operations of theirs stand still."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("REGIMETER_CACHE", str(tmp_path))
    environment = regimeter.load(recorded["one"]).environment
    files = tuple(
        saved(tmp_path, name, document({"a": around(slow), **others}) | {"environment": environment})
        for others in ({"b": around(5), "c": around(4), "d": around(3)},)
        for name, slow in (("base.json", 10), ("now.json", 16))
    )
    check(Pair(files, 1), capsys)
    sides = [side_of(document({"a": around(10 * f), "b": around(5 * f)}), "x") for f in (1.0, 1.5, 0.7, 1.3)]
    noise_floor.keep(noise_floor.learn(sides, environment))
    check(Pair(files, 0), capsys)
    assert "measured here by `regimeter calibrate noise`" in compare_profiling_runs(*files).to_text()
    assert compare_profiling_runs(*files, run_floor=0.01).exit_code == 1, "what is given goes before"


def test_force_compares_what_the_environments_forbid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after, _ = BY_HAND["another GPU, and slower"]
    files = saved(tmp_path, "base.json", before), saved(tmp_path, "now.json", after)
    assert compare_profiling_runs(*files, force=True).exit_code == 1
    assert main(["compare", *files, "--force"]) == 1
    assert "NVIDIA" not in capsys.readouterr().err


def test_the_snippet_of_the_specification_does_not_print_pass(tmp_path: Path) -> None:
    """As it is written there; it sees that there is no count."""
    comparison = compare_profiling_runs({"entries": []}, PLAIN, significance_threshold=10.0)
    with pytest.warns(RuntimeWarning, match="the baseline has no operation"):
        summary = comparison.get_summary()
    with pytest.raises(TypeError):
        summary.regressions_count > 0  # noqa: B015


def test_damaged_files_are_refused_by_every_door(recorded: dict[str, str], tmp_path: Path) -> None:
    whole = Path(recorded["one"]).read_bytes()
    for name, content in (("cut.rgm", whole[:100]), ("text.json", b"{"), ("empty.json", b""), ("list.json", b"[1]")):
        path = tmp_path / name
        path.write_bytes(content)
        code = main(["compare", recorded["one"], str(path)])
        if code == 2:
            for call in (compare_profiling_runs, decide):
                with pytest.raises(regimeter.FormatError, match=re.escape(name)):
                    call(recorded["one"], str(path))
        else:
            assert (code, compare_profiling_runs(recorded["one"], str(path)).exit_code) == (4, 4)


def test_a_stored_comparison_is_read_back_whole(tmp_path: Path) -> None:
    made = compare_profiling_runs(PLAIN, SLOWER)
    made.export_comparison(tmp_path / "c.json")
    stored = ProfilerComparison.load(tmp_path / "c.json")
    assert stored.comparisons == made.comparisons
    assert stored.wholes == made.wholes
    assert stored.get_summary() == made.get_summary()
    for style in ("text", "json", "markdown", "junit", "csv", "github"):
        assert stored.render(style) == made.render(style)
    assert page_of(stored.to_html())["comparisons"] == page_of(made.to_html())["comparisons"]
    for text, error in (
        ("{", "not valid JSON"), ("[]", "a JSON list"), ('{"format": "x"}', "format 'x'"),
        ('{"format": "regimeter.comparison", "version": 9}', "version 9"),
        ('{"format": "regimeter.comparison", "version": 1}', "a damaged comparison"),
    ):  # fmt: skip
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(regimeter.FormatError, match=re.escape(error)) as caught:
            ProfilerComparison.load(tmp_path / "bad.json")
        assert "bad.json" in str(caught.value)


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("facts", "common_low", None),
        ("facts", "detectable_worst", "x"),
        ("facts", "worst_operation", 3),
        ("comparisons", "change_percent", "12"),
        ("comparisons", "q", float("nan")),
        ("comparisons", "baseline_time_ms", 10**400),
        ("comparisons", "operation", None),
    ],
)
def test_a_value_of_another_kind_in_a_stored_comparison_is_refused(part: str, name: str, value: object) -> None:
    document = json.loads(compare_profiling_runs(PLAIN, SLOWER).to_json())
    within = document[part] if part == "facts" else document[part][0]
    within |= {"common_mode": 0.1, "common_low": 0.1, "common_high": 0.2} if name == "common_low" else {}
    within[name] = value
    with pytest.raises(regimeter.FormatError, match="a damaged comparison"):
        ProfilerComparison.from_json(json.dumps(document))


# --- what the files say ---------------------------------------------------------------------------------------


def test_an_operation_that_gains_a_device_is_still_compared() -> None:
    before, after, _ = BY_HAND["a second device"]
    for sides in ((before, after), ([before] * 3, [after] * 3), ([before, after], [after, after])):
        rows = {row.operation: row for row in compare_profiling_runs(*sides).comparisons}
        assert set(rows) == {"matmul [gpu]", "matmul [cpu]"}
        assert rows["matmul [gpu]"].change_percent > 0
    moved = compare_profiling_runs(document({"a": around(1)}), document({"a": around(1)}, device="cpu"))
    assert [row.operation for row in moved.comparisons] == ["a"]
    assert "'a' ran on gpu in the baseline and on cpu now" in moved.warnings


def test_more_calls_are_told_and_gate_where_they_are_asked_for() -> None:
    before, after, _ = BY_HAND["more calls without a round"]
    comparison = compare_profiling_runs(before, after)
    (total,) = comparison.wholes
    assert (total.gates, total.p, total.is_significant) == (False, None, False)
    text = comparison.to_text()
    assert "Total time: not judged, the sides made other calls; " in text
    assert "Calls a process: step 10 → 30" in text
    asked = compare_profiling_runs(before, after, metrics=("time", "calls"))
    assert asked.exit_code == 1
    (calls,) = asked.failures
    assert (calls.operation, calls.metric, calls.baseline, calls.current, calls.tier) == (
        "step",
        "calls",
        10,
        30,
        "exact",
    )


def test_memory_of_entries_is_compared_by_operation(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    before, after, _ = BY_HAND["more memory"]
    comparison = compare_profiling_runs(before, after, metrics=("time", "memory_peak"))
    rows = {row.metric: row for row in comparison.comparisons}
    assert (rows["memory_peak"].baseline, rows["memory_peak"].current) == (20e6, 4e9)
    assert rows["memory_peak"].change_type.value == "regression"
    assert rows["time"].memory_change_mb == pytest.approx(3980.0)
    assert "20 MB → 4 GB" in comparison.to_text()
    files = saved(tmp_path, "base.json", PLAIN), saved(tmp_path, "now.json", PLAIN)
    assert main(["compare", *files, "--metric", "time", "--metric", "memory_peak"]) == 0
    assert "neither side has an operation with memory_peak: that was not compared" in capsys.readouterr().out
    assert main(["compare", *files, "--metric", "memory_peak"]) == 4


def test_a_file_that_is_called_like_a_commit_is_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    saved(tmp_path, "deadbeef", PLAIN)
    assert main(["compare", "deadbeef", saved(tmp_path, "now.json", SLOWER)]) == 1


@pytest.mark.parametrize(("peak", "code"), [(0.0, 4), (1.0, 0)])
def test_a_peak_of_nothing_was_not_measured(peak: float, code: int) -> None:
    profile = {"summary": {"a": SUMMARY["summary"]["a"] | {"peak_memory_mb": peak}}}
    comparison = compare_profiling_runs(profile, profile, metrics=("memory_peak",))
    assert comparison.exit_code == code
    assert comparison.summary.total_time_change_percent is None  # no time was compared


def test_one_estimate_of_the_change_in_both_units() -> None:
    times = [1.0] * 11 + [2.0] * 10, [1.0] * 10 + [2.1] * 11
    for row in compare_profiling_runs(document({"a": times[0]}), document({"a": times[1]})).comparisons:
        assert row.change_ms == pytest.approx(row.baseline_time_ms * row.change_percent / 100)


def test_what_one_sample_rests_on_is_said() -> None:
    text = compare_profiling_runs(document({"a": [100.0]}), document({"a": [0.25]})).to_text()
    assert "Of 1 row a side has one sample, which has no spread of its own" in text
    assert "taken to differ by 5 % (a default for files that do not say what they were measured on)" in text
    assert "  < 0.01  " in text
    assert "e-" not in text.replace("--pairs", "")
