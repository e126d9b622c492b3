# SPDX-License-Identifier: Apache-2.0
"""What `record` keeps of a program's memory: what has changed, and less often the longer the program runs."""

from regimeter.cli.supervise import HEARTBEAT_NS, MAX_SAMPLES, SELDOM_NS, MemorySamples, beside_a_profiler

MS = 1_000_000


def kept(values: list[int], interval_ns: int) -> MemorySamples:
    """Return what is kept of values that lie an interval apart."""
    samples = MemorySamples(interval_ns)
    for at, value in enumerate(values):
        samples.add(at * interval_ns, value)
    return samples


def test_a_value_that_stays_is_kept_once_a_heartbeat() -> None:
    samples = kept([7] * 31, HEARTBEAT_NS // 10)
    assert list(samples.time_ns) == [0, HEARTBEAT_NS, 2 * HEARTBEAT_NS, 3 * HEARTBEAT_NS]


def test_a_value_that_changes_is_kept_at_once() -> None:
    samples = kept([7, 7, 8, 8, 7], MS)
    assert list(zip(samples.time_ns, samples.bytes, strict=True)) == [(0, 7), (2 * MS, 8), (4 * MS, 7)]


def test_a_long_run_keeps_every_second_value_and_samples_half_as_often() -> None:
    samples = kept(list(range(MAX_SAMPLES)), MS)
    assert list(samples.bytes) == list(range(0, MAX_SAMPLES, 2))
    assert samples.interval_ns == 2 * MS
    assert samples.pause_s() == 0.002


def test_beside_a_profiler_the_looks_become_rarer_up_to_a_limit() -> None:
    samples = beside_a_profiler()
    pauses = []
    for seconds in (0, 3, 60):
        samples.add(seconds * 1_000_000_000, seconds)
        pauses.append(samples.pause_s())
    assert pauses == [HEARTBEAT_NS / 1e9, 0.3, SELDOM_NS / 1e9]
