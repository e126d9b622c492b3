# SPDX-License-Identifier: Apache-2.0
"""Recordings of other versions, cut, changed and spliced: what is refused, and what is recovered of them.

Every cut, every flipped byte and every block that is missing, doubled or displaced: tests/core/io/test_run_file.c.
"""

import bisect
import dataclasses
import itertools
import random
import struct

import pytest
from journals import MAGIC, ON_FLUSH, codes, record_in_blocks
from places import TESTS

from regimeter import FormatError, GPUProfiler, load
from regimeter.cli import main

RECORDS = 5  # type of a block
SCOPE = 0  # kind of a record


@pytest.fixture
def recording(tmp_path):
    return record_in_blocks(tmp_path / "run.rgm")


@pytest.fixture
def interrupted(tmp_path):
    """Scopes that are written now and then while an "outer" is open, as the drainer does at any time."""
    path = tmp_path / "run.rgm"
    with GPUProfiler(path=path, **ON_FLUSH) as profiler:
        for number in range(200):
            with profiler.profile("outer", device="cpu", number=number):
                with profiler.profile("inner", number=number):
                    pass
                if number % 20 == 8:
                    profiler.flush()
    return path


def blocks(data):
    """(type, offset of the end, number of scopes) of every block of a recording (csrc/io/journal/frame.h)."""
    found, at = [], 32
    while at < len(data):
        _, kind, _, _, _, length, _, _ = struct.unpack_from("=IHHIIQII", data, at)
        infos = struct.iter_unpack("=28xI", data[at + 40 : at + 32 + length]) if kind == RECORDS else ()
        at += 32 + (length + 7) // 8 * 8
        found.append((kind, at, sum(info >> 5 & 7 == SCOPE for (info,) in infos)))
    return found


# --- other versions ------------------------------------------------------------------------------------------


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def with_head(data, at, value):
    """The recording with a word of its head changed, and the head's sum made right."""
    head = bytearray(data[:28])
    struct.pack_into("=I", head, at, value)
    return bytes(head) + struct.pack("=I", crc32c(head)) + data[32:]


@pytest.mark.parametrize("recover", [False, True])
def test_a_newer_version_says_what_to_do(recording, recover):
    recording.write_bytes(with_head(recording.read_bytes(), 8, 3))
    with pytest.raises(FormatError, match="format version 3, this regimeter reads up to 2; upgrade regimeter"):
        load(recording, recover=recover)


# Made by the recorder of format version 1 (commit 60098bc): two threads, a hundred scopes, memory samples.
VERSION_1 = TESTS / "data" / "recordings" / "version1.rgm"


@pytest.mark.parametrize("recover", [False, True])
def test_a_recording_of_version_1_is_read(recover):
    run = load(VERSION_1, recover=recover)
    assert (len(run.spans), len(run.lanes), len(run.memory)) == (100, 2, 205)
    assert int(run.spans.duration_ns.sum()) == 1770057
    assert run.complete
    assert not codes(run)
    assert main(["doctor", str(VERSION_1)]) == 0


def test_a_damaged_recording_of_version_1_is_recovered(tmp_path):
    data, path = bytearray(VERSION_1.read_bytes()), tmp_path / "old.rgm"
    path.write_bytes(data[:-100])
    assert codes(load(path, recover=True))["unfinished"] == 1
    for at in (0, 9, 20, 29):
        changed = bytearray(data)
        changed[at] ^= 1
        path.write_bytes(changed)
        with pytest.raises(FormatError):
            load(path)
        assert len(load(path, recover=True).spans) == 100


# --- damage -------------------------------------------------------------------------------------------------


def mark(entry):
    return entry.operation, entry.metadata["number"]


def rows_by_end(run):
    """Every finished scope as it is told, its parent and depth, by end: the order in which they are written."""
    entries = run.get_entries()
    told = []
    for entry in sorted(entries, key=lambda entry: entry.end_time):
        parent = None if entry.parent is None else mark(entries[entry.parent])
        if not entry.open:
            told.append((dataclasses.replace(entry, parent=None, depth=0), parent, entry.depth))
    return told


def test_every_truncation_is_recovered_to_whole_blocks(interrupted):
    """What intact blocks hold is told as it was, and nothing else; what had not ended yet may be told as open."""
    data = interrupted.read_bytes()
    whole = rows_by_end(load(interrupted))
    counts = list(itertools.accumulate(scopes for _, _, scopes in blocks(data)))
    ends = [end for _, end, _ in blocks(data)]
    assert counts[-1] == len(whole) == 400
    orphans = 0
    cuts = {cut for end in ends[:-1] for cut in (end, end + 12)}
    cuts |= set(random.Random(2).sample(range(64, len(data)), 15))
    for length in sorted(cuts):
        interrupted.write_bytes(data[:length])
        run = load(interrupted, recover=True)
        assert not run.complete
        assert codes(run)["unfinished"] == 1
        found = rows_by_end(run)
        intact = bisect.bisect_right(ends, length)
        assert len(found) == (counts[intact - 1] if intact else 0)
        left_open = {mark(entry) for entry in run.get_entries() if entry.open}
        finished = {mark(row) for row, _, _ in found}
        assert left_open <= {mark(row) for row, _, _ in whole} - finished
        for (row, parent, depth), (expected, above, below) in zip(found, whole, strict=False):
            assert row == expected
            if above is None or above in left_open | finished:
                assert (parent, depth) == (above, below)
            else:  # the scope around it had not ended, and the block that says it was open is lost
                assert (parent, depth) == (None, 0)
                orphans += 1
    assert orphans


def test_a_lost_block_is_counted_and_the_rest_is_kept(recording):
    data = bytearray(recording.read_bytes())
    ends = [end for kind, end, scopes in blocks(data) if kind == RECORDS and scopes > 1]
    end = ends[len(ends) // 2]
    data[end - 50 : end] = b"\xff" * 50
    recording.write_bytes(data)
    with pytest.raises(FormatError, match="recover"):
        load(recording)
    run = load(recording, recover=True)
    assert codes(run)["corrupt_bytes"] >= 50
    assert 0 < len(run.spans) < 1000


def test_random_bytes_never_crash(tmp_path):
    choice = random.Random(4)
    path = tmp_path / "noise.rgm"
    for _ in range(200):
        path.write_bytes(MAGIC + choice.randbytes(choice.randrange(0, 400)))
        for recover in (False, True):
            try:
                load(path, recover=recover)
            except FormatError as error:
                assert error.offset is not None


def test_spliced_files_never_crash(tmp_path, recording):
    """Sound blocks in the wrong order or twice: refused or repaired, never believed blindly."""
    data = recording.read_bytes()
    choice = random.Random(5)
    path = tmp_path / "spliced.rgm"
    for _ in range(200):
        a, b = sorted(choice.sample(range(24, len(data)), 2))
        a, b = a // 8 * 8, b // 8 * 8
        path.write_bytes(data[:b] + data[a:] if choice.random() < 0.5 else data[:a] + data[b:])
        for recover in (False, True):
            try:
                run = load(path, recover=recover)
            except FormatError:
                continue
            run.get_summary()
            run.get_entries()
            assert (run.spans.duration_ns >= 0).all()


@pytest.mark.parametrize("at", [0, 9, 20, 29])
def test_a_damaged_head_costs_nothing_but_itself(recording, tmp_path, at, capsys):
    data = bytearray(recording.read_bytes())
    data[at] ^= 1
    recording.write_bytes(data)
    assert main(["doctor", str(recording)]) == 1
    assert "regimeter recover" in capsys.readouterr().out
    assert main(["recover", str(recording), "-o", str(tmp_path / "out.rgm")]) == 0
    run = load(tmp_path / "out.rgm")
    assert len(run.spans) == 1000
    assert codes(run) == {"corrupt_bytes": 32}


def test_text_over_the_first_blocks(recording, tmp_path, capsys):
    """What a C library printed into descriptor 1, before recordings kept away from it."""
    data = recording.read_bytes()
    recording.write_bytes(b"hello from a C library\n" * 3 + data[69:])
    assert main(["doctor", str(recording)]) in (1, 2)
    assert "regimeter recover" in str(capsys.readouterr())
    assert main(["recover", str(recording), "-o", str(tmp_path / "out.rgm")]) == 0
    assert codes(load(tmp_path / "out.rgm"))["corrupt_bytes"] >= 69


@pytest.mark.parametrize("change", ["missing", "doubled", "displaced"])
def test_doctor_sees_blocks_that_are_missing_doubled_or_displaced(recording, change, capsys):
    data = recording.read_bytes()
    ends = [32] + [end for _, end, _ in blocks(data)]
    a, b, c = ends[5:8]
    recording.write_bytes({
        "missing": data[:a] + data[b:],
        "doubled": data[:b] + data[a:],
        "displaced": data[:a] + data[b:c] + data[a:b] + data[c:],
    }[change])  # fmt: skip
    assert main(["doctor", str(recording)]) == 1
    out = capsys.readouterr().out
    assert "damaged" in out
    assert f"1 {change}_blocks" in out
    with pytest.raises(FormatError, match="recover"):
        load(recording)
