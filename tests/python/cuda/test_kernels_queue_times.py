# SPDX-License-Identifier: Apache-2.0
"""When launches were queued and submitted: kernels of the double, and what `launches` makes of them."""

import kernel_programs
import pytest

from regimeter import load

RECORD = ["-m", "regimeter", "record", "-o", "run.rgm"]
# The second kernel waits for the first.
PROGRAM = """
import regimeter
with regimeter.profile("step"):
    launch(b"first")
    launch(b"second")
"""
KERNEL_NS, SUBMIT_NS = 400_000_000, 500
CLOCK_NS = 10_000  # by which the double's stamps of two kernels may miss one another


@pytest.fixture(scope="module", params=["late", "early"])
def when(request):
    """A launch counts as submitted when the device takes it, as on hardware, or when the host hands it over."""
    return request.param


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, when):
    """With a CUPTI that takes a clock of ours, so that no time is converted."""
    folder = tmp_path_factory.mktemp(when)
    kernel_programs.run_program(
        folder,
        PROGRAM,
        arguments=[*RECORD, "--queue-times"],
        cuda=f"kernel_ns={KERNEL_NS}",
        cupti=f"version=130100,submit_ns={SUBMIT_NS},submit_early={int(when == 'early')}",
    )
    return load(folder / "run.rgm")


def test_each_kernel_has_both(recorded, when):
    """The wait behind another kernel is in their sum, whatever CUPTI takes for the submission."""
    launches, spans = recorded.tables.launches, recorded.spans
    by_name = {recorded.strings[spans.name[row]]: at for at, row in enumerate(launches.span.tolist())}
    first, second = by_name["first"], by_name["second"]
    short, long = (launches.waiting_ns, launches.buffered_ns)[:: 1 if when == "late" else -1]
    assert short[second] == SUBMIT_NS
    assert 0 <= short[first] <= SUBMIT_NS
    assert long[second] >= KERNEL_NS / 2
    # It began when the first had ended, and had been queued while its own call was on.
    start = int(spans.start_ns[launches.span[second]])
    assert start >= int(spans.start_ns[launches.span[first]]) + KERNEL_NS - CLOCK_NS
    queued = start - int(launches.buffered_ns[second]) - int(launches.waiting_ns[second])
    call = spans.launch[launches.span[second]]
    assert spans.start_ns[spans.parent[call]] - CLOCK_NS <= queued
    assert queued <= spans.start_ns[call] + spans.duration_ns[call] + CLOCK_NS


def test_launches_has_the_wait_and_its_parts(recorded):
    rows = {row["name"]: row for row in recorded.result("launches", by="kernel")}
    launches = recorded.tables.launches
    at = launches.span.tolist().index(
        next(row for row in launches.span.tolist() if recorded.strings[recorded.spans.name[row]] == "second")
    )
    row = rows["second"]
    assert row["queued_work"] == 1
    for part in ("median", "mean", "p95"):
        assert row[f"buffered_{part}_ns"] == launches.buffered_ns[at]
        assert row[f"waiting_{part}_ns"] == launches.waiting_ns[at]
        assert row[f"queued_{part}_ns"] == launches.buffered_ns[at] + launches.waiting_ns[at]
    assert row["on_device_mean_ns"] == row["device_mean_ns"]


def test_without_the_option(run_program, tmp_path):
    run_program(PROGRAM, arguments=[*RECORD, "--kernels"])
    run = load(tmp_path / "run.rgm")
    assert (run.tables.launches.buffered_ns == -1).all()
    rows = list(run.result("launches"))
    assert all(row["queued_work"] == 0 and row["queued_median_ns"] is None for row in rows)
    assert run.environment["device"]["kernels"]["queue_times_reason"] == ""


@pytest.mark.parametrize(
    ("cupti", "reason"),
    [
        ("used_before=1", "wants it asked before"),
        ("refuse_ActivityEnableLatencyTimestamps=1", "cuptiActivityEnableLatencyTimestamps failed"),
    ],
)
def test_a_reason_where_there_are_none(run_program, tmp_path, cupti, reason):
    """The kernels are there all the same."""
    run_program(PROGRAM, arguments=[*RECORD, "--queue-times"], cupti=cupti)
    run = load(tmp_path / "run.rgm")
    assert len(run.tables.launches) == 2
    assert (run.tables.launches.waiting_ns == -1).all()
    assert reason in run.environment["device"]["kernels"]["queue_times_reason"]
