# SPDX-License-Identifier: Apache-2.0
"""The machine witness: what a recording says of its machine, its round trips, and the rule for its sentence."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from runs import build_run, looked, waits

import regimeter
from regimeter import GPUProfiler, _core
from regimeter.report.counter_tracks import MOST_POINTS, counters_of
from regimeter.report.trace_data import trace_data
from regimeter.run.trace_facts import facts_of
from regimeter.run.witness import NO_SCOPE, NOT_RECORDED, Witness, threshold, witness_line
from regimeter.run.witness_device import devices_of

OFTEN = {"witness_interval_ns": 1}  # what looks may cost is the only limit


def recorded(profiler, looks=3):
    """Record blocks until so many looks have been taken. What they cost counts questions to the system too."""
    found = None
    while found is None or len(found) < looks:
        with profiler.profile("step", device="cpu"):
            time.sleep(0.001)
        found = Witness.of(profiler.run())
    profiler.close()
    return profiler.run()


def looks_of(run):
    """Return the looks of a run: its rows but the marks at the end of a block, which hold no work."""
    rows = np.asarray(run.tables.witness)
    return rows[rows["throughput_ns"] >= 0]


def test_every_form_of_a_recording_keeps_it(tmp_path):
    run = recorded(GPUProfiler(path=tmp_path / "run.rgm", **OFTEN))
    found, looks = Witness.of(run), looks_of(run)
    assert len(found) == len(looks)
    assert (looks["throughput_ns"] > 0).all()
    assert (np.diff(looks["time_ns"]) > 0).all()
    assert (looks["lane"] == 0).all()
    assert found.migrations >= 0
    assert run.start_ns <= looks["time_ns"][0] <= looks["time_ns"][-1] <= run.end_ns
    run.export_json(tmp_path / "run.json")
    for copy in (regimeter.load(tmp_path / "run.rgm"), regimeter.load(tmp_path / "run.json")):
        assert Witness.of(copy) == found
        assert witness_line(copy) == witness_line(run)
    stated = json.loads((tmp_path / "run.json").read_text())["witness"]
    assert stated["summary"]["looks"] == len(found)
    assert stated["summary"]["sentence"] == found.sentence()
    again = regimeter.load(tmp_path / "run.json")
    again.export_json(tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text())["witness"]["looks"] == stated["looks"]


def test_switched_off_and_older_files_say_that_nothing_is_known(tmp_path):
    with GPUProfiler(witness=False, path=tmp_path / "off.rgm") as profiler, profiler.profile("a", device="cpu"):
        pass
    assert Witness.of(profiler.run()) is None
    assert Witness.of(regimeter.load(tmp_path / "off.rgm")) is None
    assert witness_line(profiler.run()) == f"{NOT_RECORDED[0].upper()}{NOT_RECORDED[1:]}."
    profiler.run().export_json(tmp_path / "off.json")
    document = json.loads((tmp_path / "off.json").read_text())
    assert document.pop("witness") == {}
    (tmp_path / "old.json").write_text(json.dumps(document))
    assert Witness.of(regimeter.load(tmp_path / "old.json")) is None


def test_intervals_of_an_older_document_do_not_tell_what_all_programs_did(tmp_path):
    run = recorded(GPUProfiler(path=tmp_path / "run.rgm", **OFTEN))
    run.export_json(tmp_path / "run.json")
    document = json.loads((tmp_path / "run.json").read_text())
    intervals = document["witness"]["intervals"]
    del intervals["busy_ns"], intervals["huge_pages"]
    (tmp_path / "old.json").write_text(json.dumps(document))
    old, pressure = regimeter.load(tmp_path / "old.json").tables.pressure, run.tables.pressure
    assert len(pressure)
    assert old.interval_ns.tolist() == pressure.interval_ns.tolist()
    assert old.blocks.tolist() == pressure.blocks.tolist()
    assert {*old.busy_ns.tolist(), *old.huge_pages.tolist()} == {-1}


LOOKS = ("time_ns", "lane", "processor", "cpu_ns", "throughput_ns", "memory_ns")


@pytest.mark.parametrize(
    "broken",
    [
        {"looks": {"time_ns": [1]}},
        {"looks": {key: [0] for key in LOOKS} | {"memory_ns": []}, "threads": ["a"]},
        {"looks": {key: [7] for key in LOOKS}, "threads": ["a"]},
        {"looks": {key: ["x"] for key in LOOKS}, "threads": ["a"]},
        {"intervals": {"time_ns": 3}},
    ],
)
def test_a_document_that_is_none_is_one_clear_error(tmp_path, broken):
    file = tmp_path / "broken.json"
    file.write_text(json.dumps({"entries": [], "witness": broken}))
    with pytest.raises(regimeter.FormatError, match="witness: "):
        regimeter.load(file)


def test_the_page_has_the_sentence_and_tracks(tmp_path):
    run = recorded(GPUProfiler(path=tmp_path / "run.rgm", **OFTEN), looks=6)
    data = trace_data(run)
    assert data["machine"] == witness_line(run)
    tracks = {one["name"]: one for one in data["counters"]["series"] if one["name"].startswith("machine, ")}
    assert "machine, arithmetic" in tracks
    assert tracks["machine, arithmetic"]["count"] == len(Witness.of(run))
    assert ["Machine", witness_line(run)] in facts_of(run)


def test_a_long_run_has_as_many_points_as_can_be_seen():
    run = looked(noisy(1500, 3 * MOST_POINTS, 1))
    (track,) = counters_of(run)["series"]
    assert track["name"] == "machine, arithmetic"
    assert MOST_POINTS / 2 < track["count"] <= MOST_POINTS
    levels = run.analyse("machine_levels")
    assert len(levels) == 3 * MOST_POINTS
    assert levels.time_ns.tolist() == run.tables.witness.time_ns.tolist()


def test_a_forked_child_looks_for_itself(tmp_path):
    profiler = GPUProfiler(path=tmp_path / "run.rgm", **OFTEN)
    with profiler.profile("parent", device="cpu"):
        pass
    child = os.fork()
    if child == 0:
        try:
            recorded(profiler, 1)
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    profiler.close()
    of_child = regimeter.load(tmp_path / f"run.rgm.{child}")
    assert len(Witness.of(of_child)) >= 1
    assert set(of_child.lanes.process.tolist()) == {child}
    # The parent's look before the fork is its own alone.
    assert looks_of(of_child)["time_ns"][0] > looks_of(regimeter.load(tmp_path / "run.rgm"))["time_ns"][0]


def test_what_a_started_program_starts_is_time_of_the_processors_too(make_profiler):
    """As of a shell, or of multiprocessing's server of forks; it has not been waited for when it is looked at."""
    profiler = make_profiler()
    shell = subprocess.Popen(["sh", "-c", f'"{sys.executable}" -c "while True: pass"; true'], start_new_session=True)
    try:
        taken, left = 0, 1000
        while taken < 200_000_000 and left:  # what the shell's program takes within seconds, and these blocks never do
            left -= 1
            with profiler.profile("wait", device="cpu"):
                time.sleep(0.02)
            pressure = profiler.run().tables.pressure
            known = pressure.tree_ns >= 0
            taken = int((pressure.tree_ns - pressure.running_ns.clip(0))[known].sum())
            assert shell.poll() is None
        assert left
    finally:
        os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()


def test_tasks_and_generators_have_looks_on_their_lanes():
    profiler = GPUProfiler(**OFTEN)

    async def one():
        for _ in range(20):
            with profiler.profile("await", device="cpu"):
                await asyncio.sleep(0.002)

    async def tasks():
        with profiler.profile("loop", device="cpu"):
            await asyncio.gather(*(one() for _ in range(4)))

    @profiler.profile_function(operation="item", device="cpu")
    def items():
        yield from range(3000)

    asyncio.run(tasks())
    assert sum(items()) == sum(range(3000))
    profiler.close()
    run = profiler.run()
    found = Witness.of(run)
    assert len(found) >= 2
    assert set(looks_of(run)["lane"].tolist()) <= set(range(len(run.lanes)))
    # What looks took inside the scope around the loop is its own time, and within it.
    loop = run.spans.name.tolist().index(run.strings.index("loop"))
    assert 0 <= run.spans.own_ns[loop] <= run.spans.duration_ns[loop]


def test_many_threads_share_one_limit():
    profiler = GPUProfiler()

    def body():
        until = time.monotonic() + 0.2
        while time.monotonic() < until:
            with profiler.profile("step", device="cpu"):
                time.sleep(0.001)

    begin = time.monotonic()
    threads = [threading.Thread(target=body) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lasted = time.monotonic() - begin
    profiler.close()
    assert 1 <= len(Witness.of(profiler.run())) <= lasted / 0.05 + 2


def test_a_short_program_has_a_look_at_its_begin_and_its_end():
    with GPUProfiler() as profiler:
        for _ in range(3):
            with profiler.profile("step", device="cpu"):
                sum(range(200_000))
    found = Witness.of(profiler.run())
    assert len(found) >= 2
    assert "too few to say" in found.sentence()
    assert profiler.run().cost["parts_ns"]["witness"] > 0
    steps = profiler.run().spans
    assert looks_of(profiler.run())["time_ns"][0] >= steps.start_ns[0] + steps.duration_ns[0]


def test_where_no_scope_ends_the_thread_that_samples_stacks_looks(make_profiler):
    """In a program without scopes; looks are then of no lane, and no change of processor of a thread that records."""
    profiler = make_profiler(stacks=100)
    began = time.monotonic()
    with profiler.profile("all of it", device="cpu"):
        while not (seen := len(Witness.of(profiler.run()) or ())) >= threshold("least_looks"):
            time.sleep(0.2)
            assert time.monotonic() - began < 100
    found, looks = Witness.of(profiler.run()), looks_of(profiler.run())
    assert (looks["lane"] == -1).sum() >= seen
    assert found.migrations == 0
    assert (looks["throughput_ns"] > 0).all()
    assert "too few" not in found.sentence()
    assert np.diff(looks["time_ns"]).min() > 0


def test_too_few_looks_say_nothing_of_a_machine_whose_waiting_is_known():
    assert "1 look at the machine: too few to say" in series([1500.0], pressure=waits([0.01] * 40)).sentence()


def test_without_a_scope_there_is_the_reason():
    with GPUProfiler(**OFTEN) as profiler:
        run = profiler.run()
    assert Witness.of(run) is None
    assert witness_line(run) == f"{NO_SCOPE[0].upper()}{NO_SCOPE[1:]}."


# --- the rule, on constructed series --------------------------------------------------------------------------


def series(*args, **known):
    """Return what is said of a machine whose fixed work took so long, look by look."""
    return Witness.of(looked(*args, **known))


def noisy(level, count, seed, spread=0.05):
    """Return times around a level with a tail to the slow side, as looks have."""
    random = np.random.default_rng(seed)
    return level * np.exp(random.normal(0, spread, count)) * np.where(random.random(count) < 0.05, 3.0, 1.0)


def test_a_steady_machine_is_called_steady():
    assert series([1500.0] * 40).sentence() == "the machine was steady within 1 % (40 looks)"
    said = [series(noisy(1500, 200, seed)).sentence() for seed in range(40)]
    assert all(text.startswith("the machine was steady within ") for text in said)


@pytest.mark.parametrize("factor", [1.3, 1.4, 2.0])
def test_a_slow_stretch_is_found_where_it_is(factor):
    for seed in range(10):
        values = noisy(1500, 200, seed)
        values[64:102] *= factor  # 3.2 s to 5.1 s
        (window,) = series(values).slow_windows
        assert window.what == "throughput"
        assert window.factor == pytest.approx(factor, rel=0.08)
        assert abs(window.start_ns - 3.2e9) <= 0.25e9
        assert abs(window.end_ns - 5.1e9) <= 0.25e9
    exact = np.full(200, 1500.0)
    exact[64:102] *= 1.4
    assert series(exact).sentence() == "the machine ran 1.4 x slower between 3.2 s and 5.1 s (arithmetic)"


def test_single_slow_looks_are_no_stretch():
    values = noisy(1500, 200, 1)
    values[::20] *= 50
    assert not series(values).slow_windows
    assert "steady" in series(values).sentence()


def test_the_slower_half_is_the_slow_one():
    values = np.r_[noisy(1500, 60, 1), noisy(3000, 140, 2)]
    (window,) = series(values).slow_windows
    assert window.factor == pytest.approx(2.0, rel=0.1)
    assert window.end_ns == 200 * 50_000_000


def test_memory_alone_may_be_slow():
    memory = noisy(4000, 200, 3)
    memory[100:] *= 2.5
    found = series(noisy(1500, 200, 4), memory)
    assert found.sentence().startswith("the machine ran 2.")
    assert found.sentence().endswith("(reads from memory)")


def test_of_stretches_that_overlap_the_slowest_is_told():
    values, memory = noisy(1500, 200, 7), noisy(4000, 200, 8)
    values[60:100] *= 1.5
    memory[80:120] *= 2.5
    values[150:180] *= 1.4
    found = series(values, memory).slow_windows
    assert [window.what for window in found] == ["memory", "throughput"]
    assert [window.start_ns * 1e-9 for window in found] == pytest.approx([4, 7.5], abs=0.25)


def test_shares_are_of_what_the_system_tells():
    pressure = waits([0.2, 0.4, 0.9], steal_ns=5_000_000)
    pressure["waiting_ns"][2], pressure["steal_ns"][:2] = -1, [-1, -1]
    found = series([], pressure=pressure)
    assert (found.waiting_share, found.steal_share) == (pytest.approx(0.3), pytest.approx(0.05))
    assert found.throttled_share is None
    assert found.involuntary_per_s is None


def test_waiting_is_slow_too():
    waiting = 1 - 1 / np.where(np.arange(80) // 20 == 1, 2.04, 1.02)
    waiting[::9] += 0.02
    found = series(noisy(1500, 160, 5), pressure=waits(waiting))
    assert found.waiting_share == pytest.approx(waiting.mean(), abs=1e-6)
    assert found.sentence() == (
        "the machine ran 2 x slower between 2.0 s and 4.0 s (waiting for a processor)"
        f"; others had the processor for {100 * waiting.mean():.0f} % of the time in which its threads could run"
    )


def test_devices_are_what_telemetry_says_of_them():
    seen = {
        "clock_sm_mhz": [(0, 1980.0), (100, 990.0), (400, 1980.0)],
        "clock_memory_mhz": [(0, 2619.0)],
        "clock_reasons": [(0, 0.0), (100, 4.0), (400, 1.0)],  # the power limit is reached; nothing runs
        "compute_processes": [(0, 1.0), (500, 3.0)],
    }
    rows = [
        {"time_ns": t, "series": name, "value": value, "device": 1, "span": -1}
        for name, values in seen.items()
        for t, value in values
    ]
    run = build_run([{"kind": "scope", "start_ns": 0, "duration_ns": 1000, "name": "a"}], counters=rows)
    (found,) = devices_of(run)
    assert (found.device, found.sm_clock_mhz, found.memory_clock_mhz, found.processes) == (1, 1980.0, 2619.0, 3)
    assert found.held_back == (("sw_power_cap", 0.3),)
    assert series([1500.0] * 40, every_ns=25, counters=rows).sentence() == (
        "the machine was steady within 1 % (40 looks)"
        "; GPU 1 was held back for 30 % of the time (the power limit is reached)"
        "; up to 3 processes computed on GPU 1"
    )
    assert devices_of(build_run([{"kind": "scope", "start_ns": 0, "duration_ns": 9, "name": "a"}])) == ()


def test_processes_of_different_machines_are_compared_with_themselves():
    values = noisy(1500, 200, 6)
    values[1::2] *= 3
    assert series(values, processes=(7, 8)).sentence().startswith("the machine was steady")
    assert not series(values).sentence().startswith("the machine was steady")


def test_a_machine_without_levels_is_not_called_steady():
    drifting = 1500 * np.exp(np.linspace(0, 1.0, 200) * np.sin(np.arange(200) / 6.0))
    found = series(drifting)
    assert "steady" not in found.sentence()
    uncertain = series(noisy(1500 * np.exp(np.linspace(0, 0.4, 40)), 40, 1, spread=0.3))
    assert "throughout (arithmetic; 40 looks)" in uncertain.sentence()


def test_too_few_looks_are_a_reason():
    assert series([1500.0]).sentence() == "the run had 1 look at the machine: too few to say whether it was steady"
    assert "0 looks" in series([], pressure=waits([0.0])).sentence()


NUMBERS = [-(2**60), -1, 0, 1, 5, 1000, 2**40, 2**60]


@pytest.mark.parametrize("seed", range(30))
def test_whatever_the_rows_hold_windows_are_apart_and_in_order(seed):
    random = np.random.default_rng(seed)
    rows = int(random.integers(0, 60))

    def table(names, least=-(2**60)):
        return {name: np.maximum(random.choice(NUMBERS, rows), least) for name in names}

    witness = table(["time_ns", "throughput_ns", "memory_ns"])
    witness |= {"lane": random.integers(-1, 2, rows), "processor": random.integers(-1, 3, rows)}
    pressure = table(["time_ns", "interval_ns", "running_ns", "waiting_ns", "steal_ns", "throttled_ns", "involuntary"])
    spans = [{"kind": "scope", "start_ns": 0, "duration_ns": 9, "name": "a"}]
    run = build_run(spans, [{"process": 1}, {"process": 2}], witness=witness, pressure=pressure)
    odd = {name: float(random.choice([0, 1, 3, 1e300])) for name in _core.policy() if name.startswith("machine_")}
    for thresholds in ({}, odd):
        windows = run.analyse("slow_windows", thresholds=thresholds)
        assert (windows.factor > 0).all()
        assert (windows.start_ns[1:] >= windows.end_ns[:-1]).all()
        levels = run.analyse("machine_levels", thresholds=thresholds)
        assert (levels.level > 0).all()
        assert len(run.analyse("machine", thresholds=thresholds)) == (rows > 0)
    found = Witness.of(run)
    assert (found is None) == (not rows)
    assert found is None or len(found.sentence()) > 20


def test_what_others_took_is_told_beside():
    found = series([1500.0] * 40, pressure=waits([0.31], steal_ns=0, throttled_ns=2_000_000))
    assert found.sentence().endswith(
        "; others had the processor for 31 % of the time in which its threads could run"
        "; a limit of the control group held it back for 2 % of the time"
    )
