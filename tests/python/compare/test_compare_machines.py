# SPDX-License-Identifier: Apache-2.0
"""What recordings saw of their machines decides how far two processes may differ."""

import math
import time

import numpy as np
import pytest
from runs import looked, waits
from test_compare_floors import NAMES, VIRTUAL, called, process, side

from regimeter import ChangeType, GPUProfiler, ProfilerComparison, load
from regimeter.compare.machines import machines_of
from regimeter.compare.sources import side_of
from regimeter.run.witness import Witness


def witness(factor=1.0, memory=1.0, moved=0.0, looks=20, waiting=0.0):
    """What a process saw of a machine that was so many times slower, and moved so far half way."""
    drift = np.where(np.arange(looks) < looks / 2, 1.0, 1 + moved)
    times = 4000.0 * factor * drift, 9000.0 * memory * drift
    return Witness.of(looked(*times, pressure=waits([waiting])))


def compared(base, current, seen):
    sides = [side([one], VIRTUAL) for one in (base, current)]
    for one, saw in zip(sides, seen, strict=True):
        one.witnesses = [saw]
    return ProfilerComparison(*sides)


def test_a_machine_that_stood_still_makes_a_slower_program_one():
    """Everything takes twice as long, and the fixed work does not: that is the program."""
    sides = process(1), process(2, {"*": 2.0})
    assert called(compared(*sides, (None, None))) == {}
    comparison = compared(*sides, (witness(), witness(1.02)))
    assert comparison.floors.source == "inferred"
    text = comparison.to_text()
    assert "inferred from what both sides saw of their machines" in text
    assert "The machine: the same speed on both sides, and steady" in text


def test_a_machine_that_was_slower_by_as_much_takes_the_change():
    names = NAMES[:2]  # too few others to tell
    sides = process(1, names=names), process(2, {"*": 2.0}, names=names)
    still = compared(*sides, (witness(), witness()))
    assert set(called(still).values()) == {ChangeType.REGRESSION}
    slower = compared(*sides, (witness(), witness(1.9, 1.4)))
    assert called(slower) == {}
    assert "arithmetic took 1.90 x the baseline's time; reads from memory took 1.40 x" in slower.to_text()


@pytest.mark.parametrize("seen", [witness(moved=0.8), witness(waiting=0.5)])
def test_a_machine_that_moved_or_made_wait_widens_the_floor(seen):
    names = NAMES[:2]  # too few others to tell
    sides = process(1, names=names), process(2, {"b": 2.0}, names=names)
    assert called(compared(*sides, (witness(), witness()))) == {"b": ChangeType.REGRESSION}
    comparison = compared(*sides, (witness(), seen))
    assert called(comparison) == {}
    assert "moved by" in comparison.to_text() or "waiting for a processor" in comparison.to_text()


def test_too_few_looks_say_nothing():
    comparison = compared(process(1), process(2), (witness(), witness(looks=2)))
    assert comparison.floors.source == "virtual"


def test_what_is_said_survives_the_export():
    comparison = compared(process(1), process(2), (witness(), witness(1.3)))
    stored = ProfilerComparison.from_json(comparison.to_json())
    assert stored.floors.machines == comparison.floors.machines != ""
    assert stored.to_text() == comparison.to_text()


def test_recordings_and_their_exports_carry_their_witness(tmp_path):
    path = str(tmp_path / "a.rgm")
    profiler = GPUProfiler(path=path, enable_detailed_metrics=False)
    end = time.monotonic() + 60  # looks keep to a part of the time, and each takes longer on a crowded machine
    while len(profiler.run().tables.witness) < 8 and time.monotonic() < end:
        for name in NAMES[:4]:
            with profiler.profile(name, device="cpu"):
                sum(range(20_000))
    profiler.close()
    load(path).export_json(str(tmp_path / "a.json"))
    sides = [side_of(source, "x") for source in (path, str(tmp_path / "a.json"))]
    seen = machines_of(*sides)
    assert seen is not None
    assert seen.arithmetic == pytest.approx(0.0, abs=1e-9)
    assert math.isfinite(seen.apart)
