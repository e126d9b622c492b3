# SPDX-License-Identifier: Apache-2.0
"""Where the system has no room for another thread: no scope is lost, and what could not start is counted."""

import json

import fakes
import pytest
from traces import trace_path

import regimeter

SCRIPT = """
    import sys
    import regimeter
    profiler = regimeter.GPUProfiler(path=sys.argv[1], stacks=100, enable_detailed_metrics=True)
    for number in range(50):
        with profiler.profile("scope", device="cpu"):
            pass
    profiler.flush()
"""
OF_A_TRACE = """
    import json, sys
    import regimeter
    print(json.dumps([len(regimeter.load(sys.argv[1]).spans)]))
"""


def without_threads(room: int) -> dict[str, str]:
    return {"LD_PRELOAD": str(fakes.library("no_threads")), "THREADS": str(room), "OPENBLAS_NUM_THREADS": "1"}


@pytest.mark.parametrize("room", range(3))
def test_nothing_is_lost_and_what_did_not_start_is_counted(room, run_python, tmp_path):
    run_python(SCRIPT, tmp_path / "run.rgm", env=without_threads(room))
    run = regimeter.load(tmp_path / "run.rgm")
    assert [run.string(name) for name in run.spans.name] == ["scope"] * 50
    counted = {row["code"]: row["count"] for row in run.anomaly_list()}
    assert set(counted) == {"internal"}
    assert 1 <= counted["internal"] <= 3  # of those that write, sample memory and sample stacks


def test_a_trace_is_read_on_the_one_thread_that_there_is(run_python):
    path = trace_path("h100_bert_small.json.gz")
    done = run_python(OF_A_TRACE, path, env=without_threads(0))
    assert json.loads(done.stdout) == [len(regimeter.load(path).spans)]
