# SPDX-License-Identifier: Apache-2.0
"""What took nearly as long beside the critical path: on programs where it is obvious, and on real traces."""

from typing import Any

import numpy as np
import pytest
from runs import build_run
from simulated_trace import simulate
from traces import load_trace

from regimeter import Run, _core

SHARE = _core.policy()["critical_tie_share"]["default"]


def two_streams(shorter: int) -> Run:
    """Return a run of two kernels side by side, one of 100 us, and a wait for both."""
    program = [
        ("launch", 0, 100_000, "gemm", "kernel_compute"),
        ("launch", 1, shorter, "ncclDevKernel_AllReduce", "kernel_communication"),
        ("synchronise", None),
    ]
    return simulate(program).trace()


def ties(run: Run, **options: Any) -> list[dict[str, Any]]:
    return list(run.critical_path_ties(**options))


def test_a_stream_that_ends_a_little_earlier_is_a_near_tie() -> None:
    run = two_streams(98_000)
    (row,) = (row for row in ties(run) if row["kind"] == "kernel_communication")
    assert (row["name"], row["duration_ns"], row["tie"]) == ("ncclDevKernel_AllReduce", 98_000, 0)
    ends = run.spans.start_ns + run.spans.duration_ns
    kernels = {run.string(run.spans.name[i]): int(ends[i]) for i in range(len(run.spans))}
    assert row["slack_ns"] == kernels["gemm"] - kernels["ncclDevKernel_AllReduce"]
    # Without the longer kernel the path is shorter by no more than the slack.
    gemm = next(share for share in run.critical_path() if share["kind"] == "kernel_compute")
    assert gemm["saving_ns"] <= row["slack_ns"] + 2_000  # and what the second launch came later


@pytest.mark.parametrize("shorter", [20_000, 60_000, 90_000])
def test_a_stream_that_ends_much_earlier_is_none(shorter: int) -> None:
    assert not any(row["kind"] == "kernel_communication" for row in ties(two_streams(shorter)))


def test_the_share_of_a_tie_is_a_threshold() -> None:
    assert any(
        row["kind"] == "kernel_communication"
        for row in ties(two_streams(60_000), thresholds={"critical_tie_share": 0.5})
    )


@pytest.mark.parametrize("name", ["diff_a100_control.json.gz", "mtia_inference.json.gz", "h100_qwen_orphans.json.gz"])
def test_each_detour_hangs_together_and_is_nearly_as_long(name: str) -> None:
    run = load_trace(name)
    table: Any = run.analyse("critical_ties")
    path: Any = run.analyse("critical_path")
    assert len(table)
    assert (table.slack_ns >= 0).all()
    assert (table.slack_ns <= SHARE * table.beside_ns).all()
    assert (table.beside_ns <= path.duration_ns.sum()).all()
    ends = table.start_ns + table.duration_ns
    same = table.tie[1:] == table.tie[:-1]
    assert (table.start_ns[1:][same] == ends[:-1][same]).all(), "the segments of a detour follow one another"
    assert set(np.diff(table.tie).tolist()) <= {0, 1}
    last = int((path.start_ns + path.duration_ns).max())
    assert int(table.start_ns.min()) >= int(path.start_ns.min())
    assert int((ends + table.slack_ns)[np.r_[~same, True]].max()) <= last
    # What is on the path is in no detour: no segment of the same lane and span at the same time.
    on_path = set(
        zip(path.lane.tolist(), path.span.tolist(), path.start_ns.tolist(), path.duration_ns.tolist(), strict=True)
    )
    beside = set(
        zip(table.lane.tolist(), table.span.tolist(), table.start_ns.tolist(), table.duration_ns.tolist(), strict=True)
    )
    assert not on_path & beside


def test_a_run_without_spans_has_none() -> None:
    assert ties(build_run([], [])) == []
