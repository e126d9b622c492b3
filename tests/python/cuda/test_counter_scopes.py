# SPDX-License-Identifier: Apache-2.0
"""Hardware counters in ranges of scopes, with the double of CUPTI's profiler, which stands for the driver too.

The double gives range r in metric m the value 1000 r + m.
"""

import json
import os
import subprocess
import sys
import warnings

import fakes
import pytest
import warm

from regimeter import GPUProfiler, _core, load

PRELUDE = """
import ctypes, os, sys, threading, warnings
library = ctypes.CDLL(os.environ["REGIMETER_LIBCUPTI"])
def get(name):
    library.fake_cupti_profiler_get.restype = ctypes.c_longlong
    return library.fake_cupti_profiler_get(name)
from regimeter import GPUProfiler
def make(counters, **more):
    return GPUProfiler(path="run.rgm", counters=counters, enable_detailed_metrics=False, device_timing=False, **more)
"""


@pytest.fixture
def record(tmp_path):
    """Run a program with the double; return its run and its output."""

    def run(code, numbers=""):
        environment = fakes.environment(cupti_profiler=numbers)
        environment["REGIMETER_LIBCUDA"] = environment["REGIMETER_LIBCUPTI"]
        variables = {**os.environ, **environment, "REGIMETER_LIBHIP": "off", "REGIMETER_LIBNVML": "off"}
        done = warm.program(tmp_path, PRELUDE + code, variables)
        assert done.returncode == 0, done.stderr
        return load(tmp_path / "run.rgm"), done

    return run


STEPS = """
profiler = make("regime")
for _ in range(3):
    with profiler.profile("step"):
        with profiler.profile("forward"):
            pass
    with profiler.profile("host work", device="cpu"):
        pass
with profiler.profile("end"):
    pass
assert len(profiler.run().tables.counters) == 0  # they come when the measurement ends
profiler.close()
assert get(b"misuse") == get(b"users") == 0
"""


def ranges_of(run):
    """Name, start, end and values of each range, from the joined columns."""
    spans, counters = run.spans, run.tables.counters
    rows = [i for i, kind in enumerate(spans.kind.tolist()) if _core.SPAN_KINDS[kind] == "counter_range"]
    return {
        row: (
            run.strings[spans.name[row]],
            [v for v, span in zip(counters.value.tolist(), counters.span.tolist(), strict=True) if span == row],
        )
        for row in rows
    }


def test_outermost_scopes_are_ranges(record):
    run, _ = record(STEPS)
    found = ranges_of(run)
    assert [name for name, _ in found.values()] == ["step", "step", "step", "end"]
    for number, (_, values) in enumerate(found.values()):
        assert sorted(values) == [1000 * number + m for m in range(5)]
    assert (run.tables.counters.span >= 0).all()
    # A range encloses its scope.
    spans = run.spans
    scopes = [i for i in range(len(spans)) if run.strings[spans.name[i]] == "step" and i not in found]
    for row, scope in zip(found, scopes, strict=False):
        assert spans.start_ns[row] <= spans.start_ns[scope]
        assert spans.start_ns[row] + spans.duration_ns[row] >= spans.start_ns[scope] + spans.duration_ns[scope]
    device = run.environment["device"]
    assert device["counters_reason"] == ""
    assert device["counters"] == {
        "set": "regime", "source": "ranges", "state": "ended", "ranges": 4, "dropped": 0, "nested": 3, "failures": 0,
    }  # fmt: skip


def test_analyses_read_them(record):
    """By name and by operator a range is its scope; the totals are those of the double."""
    run, _ = record(STEPS)
    for by in ("kernel-name", "operator"):
        rows = {(row["name"], row["series"]): row for row in run.result("counters", by=by).rows()}
        first = rows["step", "gpu__time_duration.sum"]
        assert (first["count"], first["unpaired"], first["total"]) == (3, 0, 0 + 1000 + 2000)
        assert rows["end", "gpu__time_duration.sum"]["total"] == 3000
    per_scope = run.result("counters", by="kernel").rows()
    assert len(per_scope) == 4 * 5
    names = {run.strings[run.spans.name[row["target"]]] for row in per_scope}
    kinds = {_core.SPAN_KINDS[run.spans.kind[row["target"]]] for row in per_scope}
    assert (names, kinds) == ({"step", "end"}, {"scope"})


def test_operations_are_counted(record):
    """The set fp gives floating-point operations of scopes."""
    run, _ = record(
        """
profiler = make({"set": "fp"})
with profiler.profile("first"):
    pass
with profiler.profile("second"):
    pass
profiler.close()
"""
    )
    rows = {row["name"]: row for row in run.result("counter-flops").rows()}
    # hadd hmul hfma, fadd fmul ffma, dadd dmul dfma are metrics 0 to 8; a multiply-add is two operations.
    assert rows["second"]["half_flops"] == 1000 + 1001 + 2 * 1002
    assert rows["second"]["single_flops"] == 1003 + 1004 + 2 * 1005
    assert rows["second"]["double_flops"] == 1006 + 1007 + 2 * 1008
    assert rows["first"]["flops"] == 0 + 1 + 2 * 2 + 3 + 4 + 2 * 5 + 6 + 7 + 2 * 8


def test_named_scopes(record):
    """Only the named operations, wherever they are nested; one inside another belongs to it."""
    run, _ = record(
        """
profiler = make({"set": "regime", "scopes": ["forward", "loss"], "max_ranges": 3})
for _ in range(2):
    with profiler.profile("step"):
        with profiler.profile("forward"):
            with profiler.profile("loss"):
                pass
        with profiler.profile("loss"):
            pass
profiler.close()
assert get(b"max_ranges") == 3
"""
    )
    assert [name for name, _ in ranges_of(run).values()] == ["forward", "loss", "forward"]
    counts = run.environment["device"]["counters"]
    assert (counts["ranges"], counts["nested"], counts["dropped"]) == (3, 2, 1)
    assert [row["count"] for row in run.anomaly_list() if row["code"] == "dropped_counters"] == [1]


def test_it_waits_for_a_context(record):
    """The program may make its context after the profiler; nothing is started before."""
    run, _ = record(
        """
library.fake_cupti_profiler_set(b"no_context", ctypes.c_longlong(1))
profiler = make("regime")
with profiler.profile("before"):
    pass
assert get(b"users") == 0
library.fake_cupti_profiler_set(b"no_context", ctypes.c_longlong(0))
with profiler.profile("after"):
    pass
assert get(b"users") == 1
profiler.close()
"""
    )
    assert [name for name, _ in ranges_of(run).values()] == ["after"]


def test_without_a_context_the_reason_is_told(record):
    run, done = record(
        """
profiler = make("regime")
with profiler.profile("step"):
    pass
profiler.close()
""",
        "no_context=1",
    )
    assert ranges_of(run) == {}
    assert "CUDA context" in run.environment["device"]["counters_reason"]
    assert done.stderr == ""


def test_a_refusal_is_a_reason_and_a_warning(record):
    run, done = record(
        """
profiler = make("regime")
with profiler.profile("step"):
    pass
profiler.close()
""",
        "fail_at=1,fail_with=35",
    )
    device = run.environment["device"]
    assert "NVreg_RestrictProfilingToAdminUsers" in device["counters_reason"]
    assert device["counters"]["state"] == "refused"
    assert "no hardware counters in scopes" in done.stderr
    assert len(run.entries) == 1


def test_other_threads_and_scopes_that_end_elsewhere(record):
    """Scopes of other threads are none; a range whose scope ends on another thread ends with the next one."""
    run, _ = record(
        """
profiler = make("regime")
with profiler.profile("first"):
    def work():
        with profiler.profile("other thread"):
            pass
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
wanders = profiler.profile("wanders")
wanders.__enter__()
thread = threading.Thread(target=lambda: wanders.__exit__(None, None, None))
thread.start()
thread.join()
with profiler.profile("last"):
    pass
open_at_the_end = profiler.profile("open")
open_at_the_end.__enter__()
profiler.close()
assert get(b"misuse") == 0
"""
    )
    assert [name for name, _ in ranges_of(run).values()] == ["first", "wanders", "last", "open"]


def test_a_forked_child_has_none(record):
    run, _ = record(
        """
profiler = make("regime")
with profiler.profile("before"):
    pass
child = os.fork()
if child == 0:
    with profiler.profile("in the child"):
        pass
    profiler.close()
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
with profiler.profile("after"):
    pass
profiler.close()
"""
    )
    assert [name for name, _ in ranges_of(run).values()] == ["before", "after"]


@pytest.mark.parametrize(
    ("counters", "text"),
    [
        ({"colour": 1}, "no option 'colour'"),
        ({"set": "pm"}, "no set of counters for ranges"),
        ({"set": "regime", "max_ranges": 0}, "no set of counters for ranges"),
    ],
)
def test_wrong_options(counters, text):
    with pytest.raises(ValueError, match=text):
        GPUProfiler(counters=counters)


def test_record_hands_the_wish_on(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import os\nprint(os.environ['REGIMETER_RECORD_OPTIONS'])\n")
    command = [sys.executable, "-m", "regimeter", "record", "--counter-ranges", "fp", "-o", str(tmp_path / "run.rgm")]
    done = subprocess.run([*command, str(program)], capture_output=True, text=True, timeout=300, check=True)
    assert json.loads(done.stdout.splitlines()[0])["counters"] == {"set": "fp"}
    wrong = [*command[:5], "pm", str(program)]
    done = subprocess.run(wrong, capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert "regime" in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"program.py", "run.rgm"}  # nothing was begun


def test_nothing_is_asked_for_by_default(make_profiler):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        profiler = make_profiler()
    assert profiler._ranges_state() is None
