# SPDX-License-Identifier: Apache-2.0
"""What a suggestion can save ends where the device's own work, or what there is to hide behind, begins."""

import pytest
from programs import TUNED, Program

from regimeter import ProfilerOptimizer, Run
from regimeter.suggest import OptimizationSuggestion, Priority


def saved(run: Run) -> dict[str, OptimizationSuggestion]:
    return {one.rule: one for one in ProfilerOptimizer(run).get_suggestions()}


def host_beside_a_device(busy: float) -> Run:
    """20 times 1,000 us of the host, in which the device works `busy` us."""
    p = Program()
    for i in range(20):
        p.launch(f"k{i}", busy)
        p.op("aten::work", 1000 - p.host % 1000)
    return p.run()


@pytest.mark.parametrize("busy", [100, 400, 800])
def test_work_of_the_host_saves_at_most_what_the_device_idles(busy: float) -> None:
    run = host_beside_a_device(busy)
    idle = sum(row["idle_ns"] for row in run.breakdown()) / 1e6
    whole = sum(segment["duration_ns"] for segment in run.critical_path_segments()) / 1e6
    found = ProfilerOptimizer(run).get_suggestions()
    host = next(one for one in found if one.rule in ("host_bound", "launch_bound"))
    assert host.current_time_ms > 0.9 * whole
    assert sum(one.saved_high_ms for one in found) <= whole - 20 * busy / 1e3 + 1e-6
    assert host.saved_high_ms >= 0.9 * idle
    assert "all that the device idles" in host.expected_improvement


@pytest.mark.parametrize(("kernels", "most"), [(0, 0.0), (1, 1.0), (5, 2.0)])
def test_copies_hide_behind_what_else_there_is(kernels: int, most: float) -> None:
    p = Program()
    for _ in range(2):
        p.copy("Memcpy HtoD (Pinned -> Device)", 1000, 50_000_000)
    p.kernels(kernels)
    one = saved(p.run()).get("exposed_copies")
    assert (one.saved_high_ms if one else 0) == pytest.approx(most, abs=0.05)


def test_a_wait_costs_what_the_device_idles_because_of_it() -> None:
    """A wait of 50 ms for kernels, after which the device idles 2 ms."""
    p = Program().kernels(50)
    p.sync()
    p.op("aten::prepare", 2000)
    one = saved(p.kernels(5).run())["explicit_sync"]
    assert one.saved_high_ms == pytest.approx(2.0, rel=0.05)


def looked_at(prepare: float, *, wait: bool) -> Run:
    """20 steps: 300 us of the device, at whose end the host looks or does not, and then prepares the next."""
    p = Program()
    for _ in range(20):
        p.launch(TUNED, 300)
        if wait:
            p.sync()
        p.op("aten::prepare", prepare)
    return p.run()


@pytest.mark.parametrize("prepare", [50, 250, 400, 5000])
def test_a_wait_costs_no_more_than_it_lasts(prepare: float) -> None:
    """However long the host works after it: the same program without the wait says what that saves."""
    run, without = looked_at(prepare, wait=True), looked_at(prepare, wait=False)
    truth = (run.duration_ns - without.duration_ns) / 1e6
    waits = [run.string(name) == "cudaStreamSynchronize" for name in run.spans.name]
    waited = run.spans.duration_ns[waits].sum() / 1e6
    one = saved(run)["explicit_sync"]
    last = prepare / 1e3  # no work follows it, so no gap is there for it
    assert truth - last - 0.01 <= one.saved_high_ms <= waited + 0.01
    told = run.verdict()
    assert told.shares["synchronisation"] * told.window_ms <= waited + 0.01
    assert sum(told.shares.values()) == pytest.approx(1)


def test_many_avoided_waits_are_worth_saying() -> None:
    p = Program()
    for _ in range(150):
        p.launch(TUNED, 5000)
        p.sync()
        p.op("aten::prepare", 30)
    run = p.run()
    one = saved(run)["explicit_sync"]
    assert one.priority is Priority.LOW
    assert one.saved_high_ms < 0.02 * sum(s["duration_ns"] for s in run.critical_path_segments()) / 1e6
    assert "explicit_sync" not in {s.rule for s in run.suggestions(policy={"suggest_waits": 151})}
