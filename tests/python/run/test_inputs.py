# SPDX-License-Identifier: Apache-2.0
"""What `load` takes: every kind of source, every packing, damage, and the second thread."""

import bz2
import gzip
import io
import json
import os
import random
import sys
import threading
import zlib
from pathlib import Path

import pytest
from needed import package

import regimeter.run.inflate as inflate_module
import regimeter.run.inputs as inputs_module
from regimeter import FormatError, GPUProfiler, Run, UnavailableError, _core, load
from regimeter.run.inflate import Damage, gunzip
from regimeter.run.inputs import HEAD_BYTES, kind_of


def threads_alive() -> list[str]:
    """Return the names of our threads that are still there."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("regimeter")]


def trace(events: int = 50, **more: object) -> bytes:
    rows = [
        {"ph": "X", "cat": "kernel", "name": f"kernel {i % 7}", "pid": 0, "tid": 7, "ts": i * 10, "dur": 5}
        for i in range(events)
    ]
    return json.dumps({"schemaVersion": 1, **more, "traceEvents": rows}).encode()


TEXT = trace()
zstandard = package("zstandard")


def zstd(text: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(text)


PACKINGS = {
    "plain": TEXT,
    "gzip": gzip.compress(TEXT, mtime=0),
    "members": b"".join(gzip.compress(TEXT[i : i + 100], mtime=0) for i in range(0, len(TEXT), 100)),
    "padded": gzip.compress(TEXT, mtime=0) + bytes(300),
    "zstd": zstd(TEXT),
    "frames": zstd(TEXT[:200]) + b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc" + zstd(TEXT[200:]),
    "marked": b"\xef\xbb\xbf" + TEXT,
}


def check(run: Run, events: int = 50) -> None:
    assert len(run.spans) == events
    assert run.spans.start_ns[-1] == (events - 1) * 10_000
    assert threads_alive() == []


@pytest.fixture(params=PACKINGS)
def data(request):
    return PACKINGS[request.param]


@pytest.fixture
def file(data, tmp_path):
    path = tmp_path / "no suffix that tells.txt"
    path.write_bytes(data)
    return path


# --- sources --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [str, lambda path: path, os.fsdecode])
def test_a_path(kind, file):
    before = file.stat().st_mtime_ns, file.read_bytes()
    check(load(kind(file)))
    assert (file.stat().st_mtime_ns, file.read_bytes()) == before


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_bytes(kind, data):
    check(load(kind(data)))


def test_a_file_object(file, data):
    with open(file, "rb") as opened:
        check(load(opened))
        assert not opened.closed
    check(load(io.BytesIO(data)))


class Dripping(io.RawIOBase):
    """Gives one to seven bytes at a time."""

    def __init__(self, data):
        self.data, self.at, self.random = data, 0, random.Random(1)

    def read(self, size=-1):
        size = min(size, self.random.randint(1, 7))
        self.at += size
        return self.data[self.at - size : self.at]


def test_a_stream_that_drips(data):
    check(load(Dripping(data)))


def test_a_file_object_is_read_from_where_it_stands(data):
    stream = io.BytesIO(b"something else" + data)
    stream.seek(14)
    check(load(stream))


def test_a_named_pipe(data, tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(data,))
    writer.start()
    try:
        check(load(path))
    finally:
        writer.join()


def test_standard_input(data, monkeypatch):
    class Stream:
        buffer = io.BytesIO(data)

    monkeypatch.setattr(sys, "stdin", Stream)
    check(load("-"))


def test_a_recording_in_any_packing(tmp_path):
    path = tmp_path / "run.rgm"
    with GPUProfiler(path=path, enable_detailed_metrics=False) as profiler:
        with profiler.profile("step", device="cpu"):
            pass
    plain = path.read_bytes()
    for data in (plain, gzip.compress(plain, mtime=0), zstd(plain)):
        assert len(load(data).entries) == 1
        assert len(load(io.BytesIO(data)).entries) == 1
    profile = tmp_path / "profile.json"
    load(path).export_json(profile)
    for data in (profile.read_bytes(), gzip.compress(profile.read_bytes()), zstd(profile.read_bytes())):
        run = load(data)
        assert run.source == "export"
        assert [entry.operation for entry in run.get_entries()] == ["step"]


def test_neighbours_are_not_looked_at(tmp_path):
    (tmp_path / "rank-0.json").write_bytes(trace(10, distributedInfo={"rank": 0, "world_size": 2}))
    (tmp_path / "rank-1.json").write_bytes(b"\0 not a trace")
    assert len(load(tmp_path / "rank-0.json").spans) == 10


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "an empty file"), (bz2.compress(TEXT), "bzip2"), (b"\x80\x04\x95", "pickle is cut"),
        (b"PK\x03\x04", "zip"), (os.urandom(0) + b"\x00\x01\x02", "neither JSON nor a recording"),
        (gzip.compress(b"", mtime=0), "gzip data of nothing"),
        (gzip.compress(b"hello", mtime=0), "gzip data of something else"),
        (gzip.compress(TEXT, mtime=0)[:9], "ends in the middle"), (b"{}", "traceEvents"),
        (b'{"foo": [1', "not valid JSON"),
    ],
)  # fmt: skip
def test_what_is_refused_is_named(data, text, tmp_path):
    path = tmp_path / "bad.json"
    path.write_bytes(data)
    for source in (path, data, io.BytesIO(data)):
        with pytest.raises(FormatError, match=text):
            load(source)
    with pytest.raises(FormatError, match=r"bad\.json"):
        load(path)
    assert threads_alive() == []


def test_wrong_kinds_of_source(tmp_path):
    with pytest.raises(TypeError, match="mode 'rb'"):
        load(io.StringIO("{}"))
    for source in (5, None, object()):
        with pytest.raises(TypeError, match="expected a path"):
            load(source)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "no.json")
    with pytest.raises(FileNotFoundError):
        load(str(tmp_path / "*.json"))


def test_zstd_without_a_package(monkeypatch):
    monkeypatch.setattr(inflate_module, "ZSTD_ENGINES", ())
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(UnavailableError, match=r"regimeter\[zstd\]"):
        load(zstd(TEXT))
    assert threads_alive() == []


# --- content --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b'{"traceEvents": [', "trace"), (b' \n{"a": {"entries": 1}, "traceEvents": [', "trace"),
        (b'{"a": "\\"entries\\": {", "traceEvents": [', "trace"),
        (b'{"format": "regimeter.profile", "version"', "export"), (b'{"summary": {"traceEvents": 1}, "x": 1', "export"),
        (b'{"entries": [', "export"), (b"[", "trace"), (b'[{"ph": "X"', "trace"), (b'[\n {"name"', "trace"),
        (b"[]", "trace"), (b'[?, {"ph": "X"', "trace"), (b"[2026-11-02 10:00:00] INFO: started", ""),
        (b"[1, 2, 3]", ""), (b'{"foo": 1}', ""), (b'{"foo": "' + b"a" * (1 << 16), "trace"),
        (b"SQLite format 3\0", "sqlite"), (b"\x1f\x8b\x08", "gzip"), (b"\x50\x2a\x4d\x18", "zstd"), (b"", ""),
        (b"hello", ""),
    ],
)  # fmt: skip
def test_kinds_are_told_by_content(head, kind):
    assert kind_of(head) == kind


# --- gzip -----------------------------------------------------------------------------------------------------------

ENGINES = ["isal.isal_zlib", "zlib_ng.zlib_ng", "zlib"]
NOISE = bytes(random.Random(2).choices(b"abcdefgh", k=3_000_000))


@pytest.fixture(params=ENGINES)
def engine(request, monkeypatch):
    package(request.param)
    monkeypatch.setattr(inflate_module, "GZIP_ENGINES", (request.param,))
    return request.param


def inflated(data, step=1 << 16, again=True):
    damage = Damage()

    def pieces():
        return (data[i : i + step] for i in range(0, len(data), step))

    text = b"".join(gunzip(pieces(), damage, pieces if again else None))
    return text, damage.text


@pytest.mark.parametrize("step", [1, 7, 1 << 16])
def test_members_and_padding(engine, step):
    parts = [b"one", b"", b"two" * 1000, b"three"]
    data = b"".join(gzip.compress(part, mtime=0) + bytes(5) for part in parts)
    assert inflated(data, step) == (b"".join(parts), "")
    assert inflated(data + b"garbage", step) == (b"".join(parts), "bytes after the end of the gzip data were ignored")
    assert inflated(data + b"g", step)[1]


def test_pieces_are_bounded(engine):
    data = gzip.compress(bytes(50_000_000))
    sizes = [len(piece) for piece in gunzip(iter([data]), Damage())]
    assert sum(sizes) == 50_000_000
    assert max(sizes) <= 1 << 20


def test_a_cut_gives_all_that_can_be_inflated(engine):
    data = gzip.compress(NOISE, 6, mtime=0)
    for length in (20, len(data) // 3, len(data) - 9, len(data) - 3):
        expected = zlib.decompressobj(31).decompress(data[:length])
        text, problem = inflated(data[:length])
        assert expected.startswith(text)
        assert len(expected) - len(text) <= 8  # isal keeps the last symbol back
        assert problem == "the gzip data ends in the middle"


def test_damage_gives_what_comes_before_it(engine):
    data = bytearray(gzip.compress(NOISE, 6, mtime=0))
    at = len(data) // 2
    data[at : at + 64] = bytes(64)
    text, problem = inflated(bytes(data))
    assert problem.startswith("the gzip data is damaged")
    sound = zlib.decompressobj(31).decompress(bytes(data[:at]))
    assert len(text) >= len(sound)
    assert text[: len(sound)] == NOISE[: len(sound)]


def test_a_wrong_checksum_gives_the_text(engine):
    data = bytearray(gzip.compress(NOISE, 6, mtime=0))
    data[-6] ^= 1
    text, problem = inflated(bytes(data))
    assert text == NOISE
    assert "damaged" in problem


def test_damage_becomes_an_anomaly(tmp_path):
    path = tmp_path / "cut.json.gz"
    path.write_bytes(gzip.compress(TEXT, mtime=0)[:-4])
    run = load(path)
    check(run)
    assert any("middle" in row["detail"] for row in run.anomaly_list())
    with pytest.raises(FormatError, match=r"cut\.json\.gz: "):
        load(path, strict=True)
    assert threads_alive() == []


# --- the second thread ----------------------------------------------------------------------------------------------


def test_without_a_second_thread_the_text_is_read_first(data, monkeypatch):
    """A container may allow no more threads: then one reads, inflates and parses."""

    def refused(_thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    check(load(io.BytesIO(data)))
    monkeypatch.undo()
    assert threads_alive() == []


class Failing(io.RawIOBase):
    def __init__(self, error):
        self.error, self.first = error, True

    def read(self, size=-1):
        if self.first:
            self.first = False
            return TEXT[:100]
        raise self.error


@pytest.mark.parametrize(
    "error", [OSError(5, "input/output error"), KeyboardInterrupt(), ValueError("odd"), MemoryError()]
)
def test_an_error_of_the_source_is_raised(error):
    for source in (Failing(error), gzip.GzipFile(fileobj=Failing(error))):
        with pytest.raises((type(error), FormatError, EOFError, gzip.BadGzipFile)):
            load(source)
        assert threads_alive() == []


class Late(io.RawIOBase):
    """Fails after enough data for the parser to have started."""

    def __init__(self, error, text):
        self.error, self.text, self.at = error, text, 0

    def read(self, size=-1):
        if self.at > len(self.text) // 2:
            raise self.error
        self.at += size
        return self.text[self.at - size : self.at]


@pytest.mark.parametrize("error", [OSError(5, "input/output error"), KeyboardInterrupt()])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_an_error_in_the_middle_is_raised(error, pack):
    noise = random.Random(3).randbytes(2_000_000) if pack is gzip.compress else b""  # does not become smaller
    text = pack(trace(60_000) + noise)
    with pytest.raises(type(error)):
        load(Late(error, text))
    assert threads_alive() == []


def test_a_parser_that_stops_ends_the_reading():
    taken = []

    class Endless(io.RawIOBase):
        def read(self, size=-1):
            taken.append(size)
            assert len(taken) < 1000, "nobody stopped the reading"
            return b"<html>" * 1000 if len(taken) == 1 else b" " * (1 << 16)

    with pytest.raises(FormatError):
        load(Endless())
    assert threads_alive() == []


def test_a_feed_holds_no_more_than_it_was_made_for():
    """The chunk that is too many waits for the parser, or for its end."""
    feed = _core.Feed(2)
    assert feed.put(b"a")
    assert feed.put(b"b")
    taken = []
    third = threading.Thread(target=lambda: taken.append(feed.put(b"c")))
    third.start()
    third.join(0.1)
    assert third.is_alive()
    feed.stop()
    third.join()
    assert taken == [False]


def test_reading_and_parsing_overlap():
    """A source of many more chunks than a feed holds comes to its end, so the parser takes them meanwhile."""
    text = trace(20_000)
    assert len(text) > 4 * inputs_module.DEPTH * HEAD_BYTES

    class Source(io.RawIOBase):
        at = 0

        def read(self, size=-1):
            self.at += HEAD_BYTES
            return text[self.at - HEAD_BYTES : self.at]

    check(load(Source()), 20_000)


def test_ctrl_c_during_a_slow_source(start_python):
    process = start_python("""
        import sys, time, threading
        from regimeter import load
        class Slow:
            def read(self, size):
                print("reading", flush=True)
                if self.reads:
                    time.sleep(30)
                self.reads += 1
                return b'{"traceEvents": [' + b" " * size
            reads = 0
        try:
            load(Slow())
        except KeyboardInterrupt:
            print("interrupted", [t.name for t in threading.enumerate()], flush=True)
    """)
    for _ in range(2):
        process.stdout.readline()
    process.send_signal(2)
    out, err = process.communicate(timeout=300)
    assert out.splitlines()[-1] == "interrupted ['MainThread']", err


# --- Ctrl-C -----------------------------------------------------------------------------------------------------------

INTERRUPTED = """
    import os, signal, sys, threading
    import regimeter

    def bytes_read():
        with open("/proc/self/io") as file:
            return int(file.readline().split()[1])

    def interrupt_when_open():
        while not any(os.path.realpath(f"/proc/self/fd/{number}") == path for number in os.listdir("/proc/self/fd")):
            pass
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    path = os.path.realpath(sys.argv[1])
    kind = regimeter.Run
    threading.Thread(target=interrupt_when_open, daemon=True).start()
    before = bytes_read()
    try:
        kind._import(path, "big", False, int(sys.argv[2]), 0)
    except KeyboardInterrupt:
        assert bytes_read() - before < os.path.getsize(path), "it went on to the end of the file"
        print("interrupted")
"""


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="needs the count of bytes read")
@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_ends_reading_in_the_middle_of_a_file(tmp_path, run_python, threads):
    event = (
        b'{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":%d.125,"dur":3.5,"args":{"External id":7}},\n'
    )
    piece = b"".join(event % number for number in range(10_000))
    path = tmp_path / "big.json"
    try:
        with path.open("wb") as file:
            file.write(b'{"traceEvents":[\n')
            for _ in range(150):
                file.write(piece)
            file.write(b'{"ph":"X","name":"end","pid":1,"tid":1,"ts":1,"dur":1}]}')
        assert run_python(INTERRUPTED, path, threads).stdout == "interrupted\n"
    finally:
        path.unlink()


def test_blanks_without_end_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("regimeter.run.inputs.MOST_BLANKS", 8 << 20)
    event = b'{"traceEvents": [{"ph": "X", "ts": 1, "dur": 2, "name": "a", "pid": 1, "tid": 1}'
    path = tmp_path / "blanks.json.gz"
    path.write_bytes(gzip.compress(event + b" " * (64 << 20) + b"]}"))
    with pytest.raises(FormatError, match="MiB of blanks and nothing else in a row"):
        load(path)
    path.write_bytes(gzip.compress(event + b" " * (4 << 20) + b"]}"))
    assert len(load(path).spans) == 1
