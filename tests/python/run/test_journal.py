# SPDX-License-Identifier: Apache-2.0

"""Recording to a file: what is read back, what is refused, what a failing disk costs."""

import bisect
import dataclasses
import itertools
import json
import os
import random
import struct
import warnings

import pytest
from places import TESTS

import regimeter
from regimeter import BusyError, FormatError, GPUProfiler, load
from regimeter.cli import main

MAGIC = b"\x89RGM\r\n\x1a\n"
RECORDS = 5  # type of a block
SCOPE = 0  # kind of a record
# The drainer wakes up by itself never, so what a file holds depends on the calls of flush alone.
ON_FLUSH = {"enable_detailed_metrics": False, "drain_interval_ns": 3_600_000_000_000}


def fill(profiler, count, start=0):
    for number in range(start, start + count):
        with profiler.profile("outer", device="cpu", number=number % 10):
            with profiler.profile("inner"):
                pass


def codes(run):
    return {row["code"]: row["count"] for row in run.anomaly_list()}


@pytest.fixture
def recording(tmp_path):
    """A complete recording of 1000 scopes in several blocks."""
    path = tmp_path / "run.rgm"
    with GPUProfiler(path=path, **ON_FLUSH) as profiler:
        for part in range(10):
            fill(profiler, 50, part * 50)
            profiler.flush()
    return path


@pytest.fixture
def interrupted(tmp_path):
    """A thousand scopes, written now and then while an "outer" is open, as the drainer does at any time."""
    path = tmp_path / "run.rgm"
    with GPUProfiler(path=path, **ON_FLUSH) as profiler:
        for number in range(500):
            with profiler.profile("outer", device="cpu", number=number):
                with profiler.profile("inner", number=number):
                    pass
                if number % 50 == 20:
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


# --- reading back ---------------------------------------------------------------------------------------------


def test_a_recording_is_read_back(tmp_path, make_profiler):
    path = tmp_path / "run.rgm"
    profiler = make_profiler(path=path)
    assert profiler.path == str(path)
    fill(profiler, 5000)
    profiler.close()
    live, run = profiler.run(), load(path)
    assert len(run.spans) == 10_000
    assert run.complete
    assert run.source == "journal"
    assert codes(run) == {}
    assert run.get_entries() == live.get_entries()
    assert run.get_summary() == live.get_summary()
    assert run.environment["pid"] == os.getpid()
    assert path.stat().st_size / 10_000 < 40 + 10


def test_blocks_that_were_written_one_after_another_are_one_run(recording):
    run = load(recording)
    assert len(run.spans) == 1000
    summary = run.get_summary()
    assert (summary["outer"].call_count, summary["inner"].call_count) == (500, 500)
    entries = run.get_entries()
    outer = [entry for entry in entries if entry.operation == "outer"]
    assert [entry.metadata["number"] for entry in outer] == [number % 10 for number in range(500)]
    assert all(entries[e.parent].operation == "outer" for e in entries if e.operation == "inner")


def test_results_while_recording_to_a_file(tmp_path, make_profiler):
    profiler = make_profiler(path=tmp_path / "run.rgm")
    for turn in range(1, 4):
        fill(profiler, 100)
        if turn == 2:
            profiler.flush()
        assert len(profiler.run().spans) == turn * 200
    profiler.reset()
    assert len(profiler.run().spans) == 0
    fill(profiler, 10)
    profiler.close()
    assert len(load(tmp_path / "run.rgm").spans) == 20


def test_a_file_that_is_still_being_written_can_be_recovered(tmp_path, make_profiler):
    path = tmp_path / "run.rgm"
    profiler = make_profiler(path=path)
    with profiler.profile("open"):
        fill(profiler, 100)
        assert profiler.flush()
        run = load(path, recover=True)
    assert not run.complete
    assert len(run.spans) == 201
    assert codes(run)["unfinished"] == 1
    assert codes(run)["open_scopes"] == 1
    assert [entry.operation for entry in run.get_entries() if entry.open] == ["open"]


def test_a_path_may_be_of_any_kind(tmp_path):
    for path in (tmp_path / "a b ü.rgm", str(tmp_path / "text.rgm"), os.fsencode(tmp_path / "bytes.rgm")):
        with GPUProfiler(path=path, enable_detailed_metrics=False) as profiler:
            fill(profiler, 1)
        assert len(load(os.fsdecode(path)).spans) == 2  # bytes given to load are content


def test_loading_does_not_change_the_file(recording):
    before, times = recording.read_bytes(), recording.stat().st_mtime_ns
    load(recording)
    load(recording, recover=True)
    assert recording.read_bytes() == before
    assert recording.stat().st_mtime_ns == times


def test_a_finished_file_is_replaced_by_the_next_recording(recording):
    with GPUProfiler(path=recording, enable_detailed_metrics=False) as profiler:
        fill(profiler, 3)
    assert len(load(recording).spans) == 6


def test_a_closed_profiler_lets_go_of_its_file(tmp_path):
    for _ in range(2):
        profiler = GPUProfiler(path=tmp_path / "run.rgm", enable_detailed_metrics=False)
        fill(profiler, 3)
        profiler.close()
    assert len(load(tmp_path / "run.rgm").spans) == 6


def test_an_unfinished_file_is_kept(tmp_path, recording):
    damaged = recording.read_bytes()[:-40]
    recording.write_bytes(damaged)
    with pytest.warns(RuntimeWarning, match="unfinished recording stood in the way"):
        profiler = GPUProfiler(path=recording, enable_detailed_metrics=False)
    with profiler:
        fill(profiler, 3)
    assert len(load(recording).spans) == 6
    kept = [file for file in tmp_path.iterdir() if "unfinished" in file.name]
    assert [file.read_bytes() for file in kept] == [damaged]


def test_the_environment_is_that_of_the_end(tmp_path):
    with GPUProfiler(path=tmp_path / "run.rgm", sample_rate=0.5, seed=1) as profiler:
        for _ in range(100):
            with profiler.profile("a"):
                pass
    run = load(tmp_path / "run.rgm")
    summary = run.get_summary()["a"]
    assert summary.call_count + summary.skipped_count == 100
    assert codes(run)["sampled_out"] == summary.skipped_count
    assert run.cost["scopes"] == summary.call_count


# --- refusing -------------------------------------------------------------------------------------------------


def test_a_second_session_on_one_file_is_refused(tmp_path, make_profiler):
    path = tmp_path / "run.rgm"
    first = make_profiler(path=path, enable_detailed_metrics=False)
    fill(first, 10)
    with pytest.raises(BusyError, match=r"run\.rgm is being written by another session"):
        GPUProfiler(path=path)
    fill(first, 10)
    first.close()
    assert len(load(path).spans) == 40


def test_a_second_process_on_one_file_is_refused(tmp_path, make_profiler, run_python):
    path = tmp_path / "run.rgm"
    first = make_profiler(path=path, enable_detailed_metrics=False)
    fill(first, 10)
    done = run_python("import regimeter, sys; regimeter.GPUProfiler(path=sys.argv[1])", path, check=False)
    assert done.returncode == 1
    assert "regimeter.BusyError" in done.stderr
    first.close()
    assert len(load(path).spans) == 20


@pytest.mark.parametrize("content", [b"precious", b"{}", MAGIC[:4], b"\0" * 100])
def test_a_foreign_file_is_not_overwritten(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is not a regimeter recording"):
        GPUProfiler(path=path)
    assert path.read_bytes() == content


def test_a_directory_is_refused_or_warned_about(tmp_path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            GPUProfiler(path=tmp_path).close()
        except (ValueError, OSError) as error:
            assert str(tmp_path) in str(error)
        else:
            assert len(caught) == 1


@pytest.mark.parametrize("content", [b"", b"text", b"\x89PNG\r\n\x1a\n" + b"\0" * 50, b"\x7fELF" * 20, b"\x00" * 64])
@pytest.mark.parametrize("recover", [False, True])
def test_loading_a_foreign_file(tmp_path, content, recover):
    path = tmp_path / "foreign.bin"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"foreign\.bin") as caught:
        load(path, recover=recover)
    assert caught.value.offset is not None


def test_loading_what_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "absent.rgm")
    with pytest.raises(FormatError, match="an empty directory; expected trace files"):
        load(tmp_path)


@pytest.mark.parametrize("at", range(8, 24))
def test_a_changed_head_is_noticed(recording, at):
    data = bytearray(recording.read_bytes())
    data[at] ^= 0x40
    recording.write_bytes(data)
    try:
        run = load(recording)
    except FormatError as error:
        assert error.offset is not None
        assert "run.rgm" in str(error)
    else:
        assert len(run.spans) == 1000  # a reserved byte


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


# --- damage ---------------------------------------------------------------------------------------------------


def test_a_cut_inside_a_block_is_refused_with_offset_and_remedy(recording):
    data = recording.read_bytes()
    refused = 0
    for length in random.Random(1).sample(range(len(MAGIC), len(data)), 80):
        recording.write_bytes(data[:length])
        try:
            run = load(recording)
        except FormatError as error:
            refused += 1
            assert 0 <= error.offset <= length
            assert "run.rgm" in str(error)
            if length > 64:
                assert "recover" in str(error)
        else:  # between two blocks: what a program leaves that was killed
            assert not run.complete
            assert codes(run)["unfinished"] == 1
    assert refused > 70


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
    assert counts[-1] == len(whole) == 1000
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


def test_a_file_that_is_all_there_but_for_the_end(recording):
    recording.write_bytes(recording.read_bytes()[:-1])
    run = load(recording, recover=True)
    assert len(run.spans) == 1000
    assert not run.complete


def test_every_flipped_bit_is_noticed_or_harmless(recording):
    data = recording.read_bytes()
    choice = random.Random(3)
    refused = 0
    for _ in range(60):
        changed = bytearray(data)
        changed[choice.randrange(len(data))] ^= 1 << choice.randrange(8)
        recording.write_bytes(changed)
        try:
            run = load(recording)
        except FormatError as error:
            refused += 1
            assert error.offset is not None
        else:
            assert len(run.spans) == 1000
        run = load(recording, recover=True)
        assert len(run.spans) <= 1000
        run.get_summary()
        run.get_entries()
    assert refused > 45


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


def without(data, taken):
    """The recording without the blocks of one kind."""
    kept, start = data[:32], 32
    for kind, end, _ in blocks(data):
        kept += b"" if kind == taken else data[start:end]
        start = end
    return kept


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


# --- disks that fail ------------------------------------------------------------------------------------------


def warned(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    return result, [str(warning.message) for warning in caught if warning.category is RuntimeWarning]


@pytest.mark.parametrize("where", ["no/such/folder/run.rgm", "file/run.rgm", "/proc/run.rgm", "/dev/null/run.rgm"])
def test_a_place_that_cannot_be_written_costs_one_warning(tmp_path, make_profiler, where):
    (tmp_path / "file").write_text("a regular file")

    def record():
        profiler = make_profiler(path=tmp_path / where)
        fill(profiler, 100)
        profiler.flush()
        profiler.get_summary()
        profiler.close()
        return profiler

    profiler, messages = warned(record)
    assert len(messages) == 1
    assert "run.rgm" in messages[0]
    assert "recording continues in memory" in messages[0]
    assert len(profiler.run().spans) == 200
    assert profiler.path is None
    assert codes(profiler.run())["journal_failed"] == 1


def test_the_warning_names_the_line_that_opened_the_profiler(tmp_path):
    with pytest.warns(RuntimeWarning) as caught:
        GPUProfiler(path=tmp_path / "no/run.rgm").close()
    assert caught[0].filename == __file__


DISK_FULL = """
    import resource, signal, sys, warnings
    import regimeter
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        profiler = regimeter.GPUProfiler(path=sys.argv[1], enable_detailed_metrics=False, witness=False)
        for number in range(20_000):
            with profiler.profile("a"):
                pass
            if number % 1000 == 0:
                profiler.flush()
        run = profiler.run()
        assert len(run.spans) == 20_000, len(run.spans)
        profiler.close()
        assert len(profiler.run().spans) == 20_000, len(profiler.run().spans)
    messages = [str(w.message) for w in caught]
    assert len(messages) == 1, messages
    assert "recording continues in memory" in messages[0], messages
    assert sys.argv[1] in messages[0], messages
    assert any(row["code"] == "journal_failed" for row in profiler.run().anomaly_list())
"""


def test_a_full_disk_costs_one_warning_and_no_record(tmp_path, run_python):
    run_python(DISK_FULL, tmp_path / "run.rgm")
    run = load(tmp_path / "run.rgm")
    assert 0 < len(run.spans) < 20_000
    assert run.complete
    begun = codes(run).get("open_scopes", 0)  # the file has that one began, and lacks how it ended
    assert len(run.spans) - begun + codes(run)["unwritten_rows"] == 20_000
    assert (tmp_path / "run.rgm").stat().st_size <= 100_000


def test_the_file_removed_while_recording(tmp_path, make_profiler):
    profiler = make_profiler(path=tmp_path / "run.rgm", enable_detailed_metrics=False)
    fill(profiler, 100)
    profiler.flush()
    (tmp_path / "run.rgm").unlink()
    fill(profiler, 100)
    try:
        count = len(profiler.run().spans)
    except (OSError, regimeter.Error) as error:
        assert "run.rgm" in str(error)
    else:
        assert count == 400
    with profiler.profile("goes on"):
        pass
    profiler.close()


# --- saved runs -----------------------------------------------------------------------------------------------


def test_a_recording_as_a_saved_run_and_back(tmp_path, recording):
    run = load(recording)
    run.save(tmp_path / "saved.rgm")
    again = load(tmp_path / "saved.rgm")
    assert again.get_entries() == run.get_entries()
    assert again.environment == run.environment
    assert json.loads(again.environment_json)["pid"] == os.getpid()
    assert again.complete
