# SPDX-License-Identifier: Apache-2.0

"""Recording to a file: what is read back, what is refused, what a failing disk costs."""

import json
import os
import warnings

import pytest
from journals import MAGIC, codes, fill, record_in_blocks

import regimeter
from regimeter import BusyError, FormatError, GPUProfiler, load


@pytest.fixture
def recording(tmp_path):
    return record_in_blocks(tmp_path / "run.rgm")


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


def test_a_second_session_on_one_file_is_refused_in_any_process(tmp_path, make_profiler, run_python):
    path = tmp_path / "run.rgm"
    first = make_profiler(path=path, enable_detailed_metrics=False)
    fill(first, 10)
    with pytest.raises(BusyError, match=r"run\.rgm is being written by another session"):
        GPUProfiler(path=path)
    done = run_python("import regimeter, sys; regimeter.GPUProfiler(path=sys.argv[1])", path, check=False)
    assert done.returncode == 1
    assert "regimeter.BusyError" in done.stderr
    fill(first, 10)
    first.close()
    assert len(load(path).spans) == 40


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
