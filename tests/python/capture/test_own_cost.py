# SPDX-License-Identifier: Apache-2.0
"""The profiler's own cost: all of it is stated, and none of it is a scope's exclusive time."""

import dis
import functools
import json
import os
import time
import tokenize
from pathlib import Path

import pytest

from regimeter import load
from regimeter.capture import backend
from regimeter.run import cost
from regimeter.run.summary_text import _of_the_run, cost_line

SLOW_S = 0.002


@pytest.fixture
def slow_looks(monkeypatch):
    """Make every look at a backend take at least two milliseconds."""

    def look(*_):
        time.sleep(SLOW_S)
        return backend.CPU

    monkeypatch.setattr(backend, "detect", look)


def blocks_in_a_step(profiler, steps=2, blocks=6):
    for _ in range(steps):
        with profiler.profile("step"):
            for number in range(blocks):
                with profiler.profile(f"block {number}"):
                    pass


def exclusive_by_hand(run):
    """Return duration less nested scopes and the profiler's own time, by the row of each span."""
    rest = (run.spans.duration_ns - run.spans.own_ns).tolist()
    for duration, parent in zip(run.spans.duration_ns.tolist(), run.spans.parent.tolist(), strict=True):
        if parent >= 0:
            rest[parent] -= duration
    return rest


def test_looks_are_no_exclusive_time_of_the_scope_around(make_profiler, slow_looks):
    profiler = make_profiler(memory_interval_ms=0)
    blocks_in_a_step(profiler)
    run = profiler.run()
    first = run.spans.own_ns.tolist()[0]
    assert first >= 6 * SLOW_S * 1e9  # the looks after the first call of each block
    assert run.entries.exclusive_ns.tolist() == exclusive_by_hand(run)
    assert run.entries.exclusive_ns[0] <= run.spans.duration_ns[0] - first


def test_looks_are_in_the_stated_cost(make_profiler, slow_looks):
    profiler = make_profiler(memory_interval_ms=0)
    blocks_in_a_step(profiler)
    stated = profiler.run().cost
    assert stated["parts_ns"]["looks"] >= 7 * SLOW_S * 1e9  # of each block's first call, and of the step's
    assert stated["total_ns"] >= stated["parts_ns"]["looks"]
    assert "looking at backends" in cost_line(profiler.run())


def test_reading_memory_is_no_exclusive_time_of_the_scope_around(make_profiler, monkeypatch):
    class SlowProbe:
        def begin(self, device):
            time.sleep(SLOW_S)
            return self

        def end(self, token):
            time.sleep(SLOW_S)

    monkeypatch.setattr("regimeter.capture.device_memory.TorchMemoryProbe", SlowProbe)
    profiler = make_profiler(enable_detailed_metrics=False, track_memory=True, memory_interval_ms=0)
    blocks_in_a_step(profiler, steps=1, blocks=3)
    run = profiler.run()
    assert run.spans.own_ns[0] >= 3 * 2 * SLOW_S * 1e9
    assert run.entries.exclusive_ns.tolist() == exclusive_by_hand(run)
    assert run.cost["parts_ns"]["memory"] >= 4 * 2 * SLOW_S * 1e9


def test_a_recording_keeps_it(make_profiler, slow_looks, tmp_path):
    profiler = make_profiler(path=tmp_path / "a.rgm", memory_interval_ms=0)
    blocks_in_a_step(profiler)
    profiler.close()
    live, kept = profiler.run(), load(tmp_path / "a.rgm")
    assert kept.spans.own_ns.tolist() == live.spans.own_ns.tolist()
    assert kept.entries.exclusive_ns.tolist() == live.entries.exclusive_ns.tolist()
    assert kept.cost == live.cost
    kept.export_json(tmp_path / "a.json")
    exported = load(tmp_path / "a.json")
    assert exported.entries.exclusive_ns.tolist() == live.entries.exclusive_ns.tolist()
    assert exported.cost == live.cost


def test_an_open_scope_at_the_end_keeps_it_too(make_profiler, slow_looks):
    profiler = make_profiler(memory_interval_ms=0)
    scope = profiler.profile("outer")
    scope.__enter__()
    with profiler.profile("inner"):
        pass
    del scope
    profiler.close()
    assert profiler.run().spans.own_ns[0] >= SLOW_S * 1e9


def test_a_scope_has_no_own_time_of_the_one_that_used_its_place_before(make_profiler):
    profiler = make_profiler(enable_detailed_metrics=False)
    blocks_in_a_step(profiler, steps=1, blocks=1)
    blocks_in_a_step(profiler, steps=3, blocks=1)
    steps = [row for row, entry in enumerate(profiler.get_entries()) if entry.operation == "step"]
    # "step" is found in the cache of names; "block 0" is made anew in each step.
    run = profiler.run()
    assert all(int(run.spans.own_ns[row]) == 0 for row in range(len(run.spans)) if row not in steps)


def test_reset_forgets_what_it_cost(make_profiler, slow_looks):
    profiler = make_profiler(memory_interval_ms=0)
    blocks_in_a_step(profiler)
    profiler.reset()
    parts = profiler.run().cost["parts_ns"]
    assert parts["looks"] == parts["names"] == 0
    assert parts["starting"] > 0


def test_a_forked_child_states_its_own(make_profiler, monkeypatch, tmp_path):
    """The parent's one look takes a second and the child's no time, so no pause of the machine turns them round."""
    waits = [1.0]
    monkeypatch.setattr(backend, "detect", lambda *_: time.sleep(waits.pop() if waits else 0) or backend.CPU)
    profiler = make_profiler(memory_interval_ms=0)
    with profiler.profile("in the parent"):
        pass
    assert not waits
    out = tmp_path / "child.json"
    child = os.fork()
    if child == 0:
        try:
            with profiler.profile("in the child"):
                pass
            out.write_text(json.dumps(profiler.run().cost))
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    parts = json.loads(out.read_text())["parts_ns"]
    assert 0 < parts["looks"] < profiler.run().cost["parts_ns"]["looks"]
    assert parts["forks"] > 0
    assert profiler.run().cost["parts_ns"]["forks"] > 0


def test_all_parts_have_words():
    profiler_parts = {"collecting", "starting"}
    from regimeter import GPUProfiler

    with GPUProfiler(enabled=False) as profiler:
        assert set(profiler.stats()["own_ns"]) | profiler_parts == set(cost.WORDS)


def test_scopes_that_were_left_out_cost_too(make_profiler):
    profiler = make_profiler(enable_detailed_metrics=False, sample_rate=0.0)
    for _ in range(1000):
        with profiler.profile("a"):
            pass
    stated = profiler.run().cost
    assert stated["scopes"] == 0
    assert stated["scopes_ns"] == pytest.approx(1000 * stated["per_scope_ns"])


# --- the words ------------------------------------------------------------------------------------------------


def test_an_empty_run_states_no_share_above_all_of_it(make_profiler):
    line = cost_line(make_profiler().run())
    assert "0 scopes" in line
    share = cost.describe({"per_scope_ns": 50.0, "parts_ns": {"collecting": 900}}, 0, 0, 100)["share"]
    assert share == 9.0
    assert "%" not in line or float(line.split(" %")[0].rpartition(" ")[2]) <= 100


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (None, ""),
        (0.5, " = 50"),
        (1.0, ", more than what was recorded lasted"),
        (1.5, ", more than what was recorded lasted"),
    ],
)
def test_a_cost_of_more_than_the_run_is_no_share_of_it(share, words):
    assert _of_the_run(share).startswith(words)
    assert bool(_of_the_run(share)) == bool(words)


def test_a_run_that_ended_early_states_at_least(make_profiler, tmp_path):
    profiler = make_profiler(path=tmp_path / "a.rgm")
    with profiler.profile("a"):
        pass
    profiler.flush()
    (tmp_path / "b.rgm").write_bytes((tmp_path / "a.rgm").read_bytes())
    assert "at least" in cost_line(load(tmp_path / "b.rgm", recover=True))


# --- looks ----------------------------------------------------------------------------------------------------


def by_dis(code, first, last):
    """Return the names that a block loads and stores, as the interpreter's own disassembler tells them."""
    found = []
    for instruction in dis.get_instructions(code):
        inside = instruction.offset >= first and (last < 0 or instruction.offset <= last)
        if inside and instruction.opname.startswith((*backend.LOCAL_OPS, *backend.GLOBAL_OPS)):
            values = instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)
            found += values
    return tuple(dict.fromkeys(found))


@pytest.mark.parametrize("module", [backend, json.decoder, tokenize, functools])
def test_names_of_a_block_are_those_that_dis_tells(module):
    todo = [compile(Path(module.__file__).read_text(encoding="utf-8"), module.__file__, "exec")]
    seen = 0
    while todo:
        code = todo.pop()
        todo += [constant for constant in code.co_consts if hasattr(constant, "co_code")]
        offsets = [instruction.offset for instruction in dis.get_instructions(code)]
        for first, last in ((0, -1), (offsets[len(offsets) // 3], offsets[2 * len(offsets) // 3])):
            assert backend._names(code, first, last) == by_dis(code, first, last)
            seen += 1
    assert seen > 20


def test_more_names_than_one_byte_numbers():
    source = "\n".join(f"name_{number} = {number}" for number in range(600)) + "\nprint(name_599, name_300)"
    code = compile(source, "many", "exec")
    assert backend._names(code, 0, -1) == by_dis(code, 0, -1)


def test_what_a_function_uses_later_is_seen_at_a_later_look(make_profiler):
    import numpy as np

    namespace = {"tool": None}
    exec("def step():\n    return tool\n", namespace)
    profiler = make_profiler(memory_interval_ms=0)
    step = namespace["step"]
    for number in range(40):
        if number == 3:
            namespace["tool"] = np.ones(3)
        with profiler.profile("a"):
            step()
    assert profiler.get_summary()["a"].backend == "numpy"
