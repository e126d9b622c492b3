# SPDX-License-Identifier: Apache-2.0
"""What TORCH_TRACE and TORCH_LOGS wrote, read: against what torch itself counted, of two ranks; damaged and hostile."""

import html.parser
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from needed import package
from places import TESTS
from shared import once

from regimeter import FormatError, TorchCompileAnalyzer
from regimeter.report.compile_page import compile_data
from regimeter.report.html import as_json
from regimeter.suite import compile_log
from regimeter.suite.compile_breaks import failed_guards

PROGRAM = Path(__file__).with_name("compile_programs.py")
INDUCTOR = TESTS / "data" / "compile_logs"
read = TorchCompileAnalyzer.from_trace


def write_logs(folder):
    variables = os.environ | {"TORCH_TRACE": str(folder / "trace"), "TORCH_LOGS": "graph_breaks,recompiles,dynamo"}
    with open(folder / "text.log", "w") as text:
        command = [sys.executable, str(PROGRAM), str(folder / "counted.json")]
        subprocess.run(command, env=variables, stderr=text, stdout=subprocess.DEVNULL, check=True, timeout=300)


@pytest.fixture(scope="module")
def logged(tmp_path_factory):
    """A program of two ranks that compiles: its trace, its text and what torch counted in rank 0."""
    package("torch")
    folder = once(tmp_path_factory, "compile-logs", write_logs)
    counted = json.loads((folder / "counted.json").read_text())
    return SimpleNamespace(trace=folder / "trace", text=folder / "text.log", counted=counted)


@pytest.fixture(scope="module")
def traced(logged):
    return read(logged.trace)


@pytest.fixture(scope="module")
def told(logged):
    return read(str(logged.text))


def line_of(text):
    lines = PROGRAM.read_text().splitlines()
    return 1 + next(at for at, line in enumerate(lines) if text in line)


# --- against what torch counted -----------------------------------------------------------------------------------


def test_breaks_are_those_that_dynamo_keeps(logged, traced, told):
    """The function is that of the source, where dynamo names the rest of one that it went on with."""
    known = {(one["line_number"], one["reason"]): one for one in logged.counted["breaks"]}
    for report in (traced, told):
        assert report.total_graph_breaks == len(report.graph_breaks) == len(known) == 3
        for one in report.graph_breaks:
            theirs = known[one.line_number, one.reason]
            names = ("reason", "location", "line_number", "suggestion", "code", "explanation")
            assert [getattr(one, name) for name in names] == [theirs[name] for name in names]
            assert one.count == theirs["count"] + (one.function == "broken"), "rank 1 breaks there too"
        assert {one.function: one.line_number for one in report.graph_breaks} == {
            "broken": line_of("# two"), "inner": line_of("# three"),
        }  # fmt: skip


def test_frames_and_graphs_are_those_that_torch_measured(logged, traced):
    forward = [row for row in logged.counted["rows"] if row["co_name"]]
    ours = [one for one in traced.frames if traced.processes[one.process].rank == 0]
    assert [
        (one.compile_id, one.function, one.location, one.line_number, one.operators, one.guards) for one in ours
    ] == [
        tuple(row[name] for name in ("compile_id", "co_name", "co_filename", "co_firstlineno", "graph_op_count",
                                     "guard_count"))
        for row in forward
    ]  # fmt: skip
    for frame, row in zip(ours, forward, strict=True):
        assert frame.time_ms == pytest.approx(1e3 * row["entire_frame_compile_time_s"])
        backend = row["backend_compile_time_s"]
        assert frame.backend_ms == (None if backend is None else pytest.approx(1e3 * backend))
    counters = logged.counted["counters"]
    first, second = sorted(traced.processes, key=lambda one: one.rank)
    assert (first.rank, second.rank) == (0, 1)
    assert first.graphs == counters["unique_graphs"] + 1, "torch counts none that its backend refused"
    assert traced.captured_ops == sum(one.operators or 0 for one in traced.frames)
    assert traced.graphs == first.graphs + second.graphs
    assert first.torch_version == second.torch_version == package("torch").__version__


def test_compile_time_is_by_phase_and_of_the_slowest_process(logged, traced):
    rows = logged.counted["rows"]
    frames = 1e3 * sum(row["entire_frame_compile_time_s"] or 0 for row in rows)
    backward = sum(row["duration_us"] or 0 for row in rows if not row["co_name"]) / 1e3
    assert backward > 0
    assert traced.phases_ms["frame"] == pytest.approx(frames)
    assert traced.phases_ms["backward"] == pytest.approx(backward)
    assert traced.compile_time_ms == pytest.approx(frames + backward)
    assert traced.compile_time_ms == max(one.compile_time_ms for one in traced.processes)
    events = traced.events_ms
    assert events["entire_frame_compile"] == pytest.approx(traced.phases_ms["frame"], rel=0.05)
    assert events["entire_frame_compile"] > events["backend_compile"] > events["create_aot_dispatcher_function"] > 0
    assert "inductor" not in traced.phases_ms, "nothing was measured, which is no 0"


def test_recompiles_have_the_guards_that_failed(logged, traced, told):
    known = [
        (row["co_name"], row["co_firstlineno"], failed_guards(row["recompile_reason"]).split("; ")[0])
        for row in logged.counted["rows"]
        if row["recompile_reason"]
    ]
    assert [guard for *_, guard in known][:2] == [
        "tensor 'x' size mismatch at index 0. expected 8, actual 9",
        "tensor 'x' dtype mismatch. expected Float, actual Double",
    ]
    for report in (traced, told):
        found = [(one.function, one.line_number, one.guard.split("; ")[0]) for one in report.recompiles]
        assert found == known
        assert all(one.location == str(PROGRAM) for one in report.recompiles)
        assert "n == 1" in report.recompiles[2].guard
        assert "User stack trace" not in report.recompiles[2].guard


def test_what_was_not_compiled_says_why(traced):
    (failed,) = [one for one in traced.frames if one.error]
    assert failed.function == "refused"
    assert failed.error == "BackendCompilerFailed: backend='refuses' raised: ValueError: no room"
    assert any("refused was not compiled" in line for line in traced.recommendations)
    assert traced.error == "", "other frames were compiled"


def test_a_text_tells_of_frames_and_of_no_times_of_them(traced, told):
    key = lambda one: (one.function, one.compile_id, one.line_number)  # noqa: E731
    assert sorted(map(key, told.frames)) == sorted(map(key, traced.frames))
    assert told.graphs == traced.graphs
    assert all(one.time_ms is None and one.operators is None for one in told.frames)
    assert told.phases_ms["frame"] == pytest.approx(traced.phases_ms["frame"], rel=0.01)
    assert {one.rank: one.frames for one in told.processes} == {one.rank: one.frames for one in traced.processes}
    assert "refuses" in told.backend
    assert told.captured_ops is None
    assert "TORCH_TRACE" in told.unavailable["captured_ops"]
    assert "TORCH_TRACE" in told.unavailable["caches"]


def test_what_a_log_does_not_tell_is_absent_with_a_reason(logged, traced, tmp_path):
    lines = logged.text.read_text().splitlines(keepends=True)
    some = tmp_path / "some.log"
    some.write_text("".join(line for line in lines if "[__recompiles]" in line))
    report = read(some)
    assert len(report.recompiles) == 3
    for name in ("total_graph_breaks", "graphs", "captured_ops", "ops_after_fusion"):
        assert getattr(report, name) is None
        assert report.unavailable[name]
    assert "graph_breaks" in report.unavailable["total_graph_breaks"]
    assert math.isnan(report.compile_time_ms)
    document = traced.to_dict()
    assert document["speedup"] is None
    assert "measures it" in document["unavailable"]["speedup"]
    assert document["ops_after_fusion"] is None


# --- inductor: cut from real traces, one cold and one with its caches ---------------------------------------------


def test_caches_and_kernels_of_inductor():
    report = read(INDUCTOR)
    assert report.caches == {
        "aotautograd": {"hit": 1, "miss": 1, "bypass": 0},
        "fx_graph": {"hit": 2, "miss": 2, "bypass": 0},
    }
    assert report.backend == "inductor"
    assert [one.fused_ops for one in report.fused_kernels] == [["add", "mul", "sin"], ["cos", "mul"]]
    assert report.ops_after_fusion == 2
    cold, warm = sorted(report.processes, key=lambda one: -one.compile_time_ms)
    assert "cold" in cold.file
    assert "warm" in warm.file
    frames = {report.processes[one.process].file: one for one in report.frames}
    assert frames[cold.file].inductor_ms > 0
    assert frames[cold.file].backward_ms > 0
    assert frames[warm.file].inductor_ms is None, "its code came out of a cache"
    assert all(one.lost == 0 for one in report.processes)


# --- doors --------------------------------------------------------------------------------------------------------


def test_the_command_reads_a_folder_and_a_text(logged, traced, command, tmp_path):
    done = command("compile", logged.trace, "-o", tmp_path / "report.html")
    assert done.returncode == 0
    assert "15 graphs, 3 breaks, 3 recompiles" in done.stdout
    assert "in the slowest of 2 processes" in done.stdout
    assert "expected 8, actual 9" in done.stdout
    page = (tmp_path / "report.html").read_text()
    html.parser.HTMLParser().feed(page)
    for said in (
        "BackendCompilerFailed",
        "dedicated_log_torch_trace_rank_1",
        "bytecode_tracing",
        "expected 8, actual 9",
    ):
        assert said in page
    assert json.loads(command("compile", logged.trace, "--json").stdout) == traced.to_dict()
    done = command("compile", logged.text, "-o", tmp_path / "report.json")
    assert "15 graphs, 3 breaks, 3 recompiles" in done.stdout
    assert json.loads((tmp_path / "report.json").read_text())["graphs"] == 15


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere.log"], "nowhere.log: No such file"),
        (["nowhere"], "FILE.py:NAME, MODULE:NAME, or a folder or file of logs is expected"),
        (["empty"], "no dedicated_log_torch_trace_*.log in this folder; no line"),
        (["other.log"], "other.log: no line of torch.compile's logs; TORCH_TRACE=FOLDER"),
        (["bad.log"], "line 1: no record of a trace"),
        (["other.log", "--shape", "8"], "leave out --shape"),
    ],
)
def test_what_is_no_log_is_one_error(command, tmp_path, words, said):
    (tmp_path / "empty").mkdir()
    (tmp_path / "other.log").write_text("INFO: something else\n")
    (tmp_path / "bad.log").write_text('V0102 03:04:05.000000 7 torch/x.py:1] {"str": [\n')
    done = command("compile", *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_reading_needs_no_torch(logged, run_python):
    done = run_python(
        """
        import sys
        sys.modules["torch"] = None
        import regimeter
        print(regimeter.TorchCompileAnalyzer.from_trace(sys.argv[1]).graphs)
        """,
        logged.trace,
    )
    assert done.stdout == "15\n"


# --- damage -------------------------------------------------------------------------------------------------------

COLD = sorted(INDUCTOR.glob("*.log"))[0].read_bytes()
TEXT = b"".join(
    b"V0102 03:04:05.000000 7 torch/_dynamo/x.py:1] [0/0] [__graph_breaks] " + line
    for line in (
        b"Graph break in user code at m.py:3\n", b"Graph Break Reason: why\n", b"\n", b"User code traceback:\n",
        b'  File "m.py", line 3, in f\n',
    )
)  # fmt: skip


def outcome(path, content):
    """Read the content: a report that can be written, or one error that names the file."""
    path.write_bytes(content)
    try:
        report = read(path)
    except FormatError as error:
        assert str(path) in str(error)
        return None
    json.dumps(report.to_dict(), allow_nan=False)
    as_json(compile_data(report.to_dict())).encode()
    return report


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("damaged") / "one.log"


@given(st.integers(0, len(COLD)), st.binary(max_size=30), st.integers(0, 400), st.booleans())
def test_damage_is_lost_and_counted_or_one_error(place, at, noise, gap, is_text):
    content = TEXT * 3 if is_text else COLD
    at %= len(content)
    outcome(place, content[:at] + noise + content[at + gap :])


def test_a_log_that_was_cut_keeps_what_came_before(place):
    whole = outcome(place, COLD)
    lines = COLD.splitlines(keepends=True)
    code = next(at for at, line in enumerate(lines) if b'"inductor_output_code"' in line)
    cut = outcome(place, b"".join(lines[: code + 5]))
    assert cut.graphs == whole.graphs == 1
    assert cut.processes[0].lost == 1
    assert cut.processes[0].damage == f"line {code + 1}: the payload is not what was written"
    assert cut.fused_kernels == [], "half a code says nothing of its kernels"
    assert [one.error for one in cut.frames] == ["the log ends before it was compiled"]
    assert math.isnan(cut.compile_time_ms)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = ("stack", "name", "filename", "line", "co_name", "entire_frame_compile_time_s", "duration_us", "graph_op_count",
         "fail_type", "fail_reason", "ts", "ph", "tid")  # fmt: skip
WITHIN = JSON | st.dictionaries(st.sampled_from(NAMES), JSON | st.sampled_from(["B", "E"]), max_size=6)
KINDS = ("str", "dynamo_start", "compilation_metrics", "bwd_compilation_metrics", "chromium_event",
         "inductor_output_code", "dynamo_output_graph", "artifact")  # fmt: skip
NUMBERS = ("rank", "frame_id", "frame_compile_id", "compiled_autograd_id")
ARTIFACTS = ("recompile_reasons", "dynamo_graph_break_reason", "torch_version", "fx_graph_cache_hit", "str")
HEADERS = st.builds(
    lambda kind, within, artifact, more: {kind: {"name": artifact} if kind == "artifact" else within} | more,
    st.sampled_from(KINDS), WITHIN, st.sampled_from(ARTIFACTS),
    st.dictionaries(st.sampled_from(NUMBERS), JSON, max_size=4),
)  # fmt: skip


@settings(max_examples=40)
@given(st.lists(st.tuples(HEADERS, st.none() | WITHIN | st.text(max_size=20)), min_size=1, max_size=6))
def test_records_of_any_form_are_taken_or_counted(place, records):
    lines = []
    for header, payload in records:
        lines.append("V0102 03:04:05.000000 7 torch/x.py:1] " + json.dumps(header))
        text = payload if isinstance(payload, str) else json.dumps(payload)
        lines += [] if payload is None else ["\t" + line for line in text.split("\n")]
    report = outcome(place, "\n".join(lines).encode("utf-8", "replace"))
    assert report is not None
    assert report.processes[0].lost <= len(records)


def test_lines_and_payloads_without_end_are_lost(place, monkeypatch):
    monkeypatch.setattr(compile_log, "MOST_BYTES", 2000)
    version = b'V0102 03:04:05.000000 7 torch/x.py:1] {"artifact": {"name": "torch_version"}}\n'
    report = outcome(place, version + b"\t" + b"x" * 9000 + b"\n" + version + b"\txx\n" * 900 + version)
    assert report.processes[0].lost == 2
    assert report.processes[0].damage == "line 2: longer than 2,000 bytes"


def test_processes_that_write_in_turn_are_told_apart(place):
    """Each message is put together, whoever writes between its lines, more processes than are kept open too."""
    lines = TEXT.splitlines(keepends=True)
    seven, eight = lines, [line.replace(b" 7 torch", b" 8 torch").replace(b"m.py", b"n.py") for line in lines]
    report = outcome(place, b"".join(line for pair in zip(seven, eight, strict=True) for line in pair))
    assert [(one.location, one.function) for one in report.graph_breaks] == [("m.py", "f"), ("n.py", "f")]
    many = [TEXT.replace(b" 7 torch", b" %d torch" % pid) for pid in range(100)]
    assert outcome(place, b"".join(many)).graph_breaks[0].count == 100


def test_other_lines_of_a_text_are_passed_over(place):
    prefixed = TEXT.replace(b"V0102", b"[default0]:[rank3]:V0102")
    warned = b"W0102 03:04:05.000000 7 torch/_dynamo/y.py:1] [0/8] limit reached\n" * 2
    report = outcome(
        place, warned + b"Traceback (most recent call last):\n\tindented\n" + TEXT + b"bye \xff\n" + prefixed
    )
    assert report.graph_breaks[0].count == 2
    assert report.logs == ["limit reached"]
    assert (report.processes[0].rank, report.processes[0].lost) == (3, 0)
