# SPDX-License-Identifier: Apache-2.0
"""Verdicts of recordings that an H200 has made of unchanged programs with a cause that was made for them."""

import lzma
import re
import sys
from pathlib import Path

import pytest
from places import TESTS

sys.path.insert(0, str(TESTS / "gpu"))

from evidence.recorded import cause_of

from regimeter import Run, load

RECORDINGS = sorted((TESTS / "data/recordings/h200").glob("*.rgm.xz"))
PROGRAMS = {path.stem: path for path in (TESTS / "gpu/programs").rglob("*.py")}


def name_of(packed: Path) -> str:
    return packed.name.partition(".")[0]


def recorded(packed: Path, folder: Path) -> Run:
    file = folder / "run.rgm"
    file.write_bytes(lzma.decompress(packed.read_bytes()))
    return load(file)


@pytest.mark.parametrize("packed", RECORDINGS, ids=name_of)
def test_the_verdict_is_the_cause_that_the_program_states(packed: Path, tmp_path: Path) -> None:
    found = recorded(packed, tmp_path).verdict()
    assert found is not None
    assert found.cause == cause_of(PROGRAMS[name_of(packed)]), found.sentence
    assert found.confidence == "high"
    assert sum(found.shares.values()) == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("packed", RECORDINGS, ids=name_of)
def test_the_line_is_the_programs_and_never_a_hook_of_the_recorder(packed: Path, tmp_path: Path) -> None:
    found = recorded(packed, tmp_path).verdict()
    assert found is not None
    places = [one.place for one in found.causes if re.search(r"\(\w+\.py:\d+\)$", one.place or "")]
    assert not [place for place in places if re.search(r"(arrival|wrapping|loaders|modules|optimizers)\.py", place)]
    if found.cause in ("device_idle", "checkpoint", "input", "network", "lock"):
        assert packed.name.partition(".")[0] in str(found.causes[0].place), found.why


def test_what_is_loaded_before_the_steps_is_no_part_of_them(tmp_path: Path) -> None:
    """The weights go to the device before the optimizer is imported, which takes seconds."""
    packed = next(path for path in RECORDINGS if name_of(path) == "products")
    run = recorded(packed, tmp_path)
    found = run.verdict()
    assert found is not None
    assert found.steps == 150
    assert found.window_ms < 0.5 * run.duration_ns / 1e6
    assert "imports" not in found.shares
    assert found.shares["device"] > 0.8


def test_without_samples_it_is_said_that_the_host_was_late_and_no_more(tmp_path: Path) -> None:
    packed = next(path for path in RECORDINGS if name_of(path) == "words_in_python")
    run = recorded(packed, tmp_path)
    columns = {
        name: {column: getattr(run.table(name), column) for column in run.table(name).columns}
        for name in ("spans", "lanes", "launches", "syncs")
    }
    bare: Run = Run._build(list(run.strings), columns, "{}", "record", run.start_ns, run.end_ns, -1, True)
    found = bare.verdict()
    assert found is not None
    assert found.samples == 0
    assert found.shares.get("device_idle", 0) + found.shares.get("synchronisation", 0) > 0.8
    assert "launches" not in found.shares or found.shares["launches"] < 0.2
