# SPDX-License-Identifier: Apache-2.0
"""Memory snapshots: what torch's own reader finds in them, what hostile pickles get, the doors to them."""

import gzip
import io
import json
import pickle
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from page_data import page_of, sections_of
from published import check
from snapshots import Allocator, as_old, frame, snapshot
from traces import load_trace, trace_path

import regimeter
from regimeter import _core
from regimeter.cli import main

ACTIONS = {name: _core.MEMORY_ACTIONS.index(name) for name in _core.MEMORY_ACTIONS}
REAL = "memory_snapshot.pickle"
Command = Callable[..., "subprocess.CompletedProcess[str]"]


def load(found: Any, protocol: int = 4) -> regimeter.Run:
    """Read a snapshot through a pickle of CPython's."""
    return regimeter.load(pickle.dumps(found, protocol))


def worked(seed: int = 7, device: int = 0, events: int = 400) -> Allocator:
    """Return an allocator that has been used at random."""
    chance, held = random.Random(seed), []
    allocator = Allocator(device)
    for _ in range(events):
        if held and chance.random() < 0.45:
            allocator.free(held.pop(chance.randrange(len(held))), [frame(9)], completed=chance.random() < 0.95)
        else:
            deep = [frame(chance.randrange(6)) for _ in range(chance.randrange(1, 5))]
            held.append(allocator.alloc(chance.randrange(1, 400_000), deep))
    return allocator


def forward_levels(found: dict[str, Any], device: int) -> list[int]:
    """Return the live bytes after each entry, from the whole history on: what no ring has cut needs no end."""
    level, levels = 0, []
    for entry in found["device_traces"][device]:
        level += {"alloc": entry["size"], "free_completed": -entry["size"]}.get(entry["action"], 0)
        levels.append(level)
    return levels


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_every_protocol_of_pickle_gives_the_same_run(protocol: int) -> None:
    found = snapshot(worked())
    run, other = load(found, protocol), load(found, 4)
    for name in ("memory", "segments", "blocks", "stacks"):
        assert np.array(run.table(name)).tobytes() == np.array(other.table(name)).tobytes()
    assert len(run.memory) == len(found["device_traces"][0])


def test_columns_hold_what_the_snapshot_says() -> None:
    found = snapshot(worked())
    run = load(found)
    entries = found["device_traces"][0]
    names = {"free_completed": "free"}
    assert [_core.MEMORY_ACTIONS[action] for action in run.memory.action] == [
        names.get(one["action"], one["action"]) for one in entries
    ]
    assert run.memory.bytes.tolist() == [one["size"] for one in entries]
    assert run.memory.address.tolist() == [one["addr"] for one in entries]
    assert ((run.memory.time_ns + run.start_unix_ns) // 1000).tolist() == [one["time_us"] for one in entries]
    blocks = [block for segment in found["segments"] for block in segment["blocks"]]
    assert run.tables.blocks.address.tolist() == [one["address"] for one in blocks]
    assert [_core.BLOCK_STATES[state] for state in run.tables.blocks.state] == [one["state"] for one in blocks]
    assert run.tables.segments.bytes.tolist() == [one["total_size"] for one in found["segments"]]
    from regimeter.report.memory_run import stack_text

    for row, entry in enumerate(entries):
        assert stack_text(run, int(run.memory.stack[row])) == [
            f"{one['name']} ({one['filename']}:{one['line']})" for one in entry["frames"]
        ]
    assert json.loads(run.string(run.tables.files.environment[0]))["allocator_settings"]["max_split_size"] == -1


@pytest.mark.parametrize("ring", [None, 300, 50, 1])
def test_levels_are_right_although_the_ring_has_lost_its_beginning(ring: int | None) -> None:
    whole = snapshot(worked(seed=3), worked(seed=4, device=2))
    run = load(snapshot(worked(seed=3), worked(seed=4, device=2), ring=ring))
    levels = run.analyse("memory_levels")
    for device in (0, 2):
        expected = forward_levels(whole, device)[-ring if ring else 0 :]
        assert levels.live[levels.device == device].tolist() == expected


def test_the_figures_of_torchs_own_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    viz = pytest.importorskip("torch.cuda._memory_viz")
    monkeypatch.setattr(viz, "_format_size", str)
    for found in (snapshot(worked()), as_old(snapshot(worked())), _real()):
        if found is None:
            continue
        text = viz.segsum(found)
        said = {line.split(": ")[0]: line.split(": ")[1] for line in text.splitlines() if line.startswith("total_")}
        pools = load(found).result("pools")
        rows = {name: sum(row[name] for row in pools) for name in ("reserved", "active", "requested", "pending")}
        assert rows["reserved"] == int(said["total_reserved"])
        held = load(found).tables.blocks
        allocated = held.state == _core.BLOCK_STATES.index("active_allocated")
        assert int(held.requested[allocated].sum()) == int(said["total_allocated"])


def _real() -> dict[str, Any] | None:
    try:
        return pickle.loads(trace_path(REAL).read_bytes())
    except pytest.skip.Exception:
        return None


def test_a_snapshot_of_hardware() -> None:
    path = trace_path(REAL)
    found = pickle.loads(path.read_bytes())
    run = regimeter.load(path)
    assert len(run.memory) == sum(len(trace) for trace in found["device_traces"])
    level = sum(b["requested_size"] for s in found["segments"] for b in s["blocks"] if b["state"] != "inactive")
    expected = []
    for entry in reversed(found["device_traces"][0]):
        expected.append(level)
        level -= {"alloc": entry["size"], "free_completed": -entry["size"]}.get(entry["action"], 0)
    assert run.analyse("memory_levels").live.tolist() == expected[::-1]
    assert sum(row["peak_bytes"] for row in run.result("allocations")) == max(*expected, level)


@pytest.mark.parametrize("name", ["h100_bert_small.json.gz", "h100_qwen_orphans.json.gz", "mi300_bert_small.json.gz"])
def test_a_trace_of_torch_has_the_levels_that_its_allocator_stated(name: str, command: Command) -> None:
    memory = load_trace(name).memory
    at = np.flatnonzero(memory.device == 0)
    at = at[np.argsort(memory.time_ns[at], kind="stable")]
    document = check(json.loads(command("memory", trace_path(name), "--json").stdout))
    host, device = document["devices"]
    assert host["reserved_bytes"] is None
    assert device["peak_bytes"] == memory.allocated[at].max()
    assert (device["end_bytes"], device["reserved_at_end_bytes"]) == (memory.allocated[at[-1]], memory.reserved[at[-1]])
    assert device["reserved_bytes"] == memory.reserved[at].max()
    assert max(point["live"] for point in device["timeline"]) == device["peak_bytes"]
    before = [row for row in document["allocations"] if row["device"] == 0 and not row["allocations"]]
    assert [row["peak_bytes"] for row in before] == [memory.allocated[at].min()]
    assert "×  there before the recording" in command("memory", trace_path(name)).stdout


def test_who_asked_for_the_peak() -> None:
    allocator = Allocator()
    first = allocator.alloc(1_000_000, [frame(1)])
    allocator.alloc(10_000, [frame(2)])
    allocator.free(first, [frame(3)])
    allocator.alloc(500, [frame(2)])
    rows = {row["function"]: row for row in load(snapshot(allocator)).result("allocations")}
    shown = {name: (row["peak_bytes"], row["end_bytes"], row["kept_blocks"]) for name, row in rows.items()}
    assert shown == {"forward_1": (1_000_000, 0, 0), "forward_2": (10_000, 10_500, 2)}


def test_a_recording_tells_what_was_read_of_its_process(tmp_path: Path, command: Command) -> None:
    (tmp_path / "fills.py").write_text(
        "import time\nfor _ in range(10):\n    time.sleep(0.02)\nheld = bytearray(200_000_000)\n"
        "for _ in range(10):\n    time.sleep(0.02)\ndel held\ntime.sleep(0.2)\n"
    )
    record = [sys.executable, "-m", "regimeter", "record", "-q", "-o"]
    subprocess.run([*record, "a.rgm", "fills.py"], check=True, cwd=tmp_path)
    said = command("memory", "a.rgm", "-o", "a.html").stdout
    document = check(json.loads(command("memory", "a.rgm", "-o", "a.html", "--json").stdout))
    (row,) = document["readings"]
    assert row["device"] == -1
    assert row["peak_bytes"] - row["start_bytes"] == pytest.approx(200e6, rel=0.1)
    assert row["end_bytes"] < row["peak_bytes"] - 150e6
    assert max(point["live"] for point in row["timeline"]) == row["peak_bytes"]
    assert document["devices"] == document["allocations"] == []
    assert said.startswith("the process: peak 2")
    page = page_of((tmp_path / "a.html").read_text())
    assert page["limit"]["sentence"].startswith("The process held at most 2")
    assert [one["id"] for one in page["sections"]] == ["levels-read-host", "readings"]
    assert max(page["sections"][0]["series"][0]["value"]) == row["peak_bytes"]
    subprocess.run([*record, "b.rgm", "--interval", "0", "-c", "pass"], check=True, cwd=tmp_path)
    ended = command("memory", "b.rgm")
    assert ended.returncode != 0
    assert "b.rgm: nothing of memory is in it" in ended.stderr


def test_an_end_of_memory_and_a_retry() -> None:
    allocator = Allocator()
    allocator.alloc(1000, [frame(1)])
    allocator.entry("segment_free", 1, 4096, [])
    allocator.entry("segment_free", 2, 4096, [])
    allocator.entry("segment_alloc", 3, 9000, [frame(4)])
    allocator.entry("oom", 123, 77_000, [frame(5)])
    names = ("shortage", "requested", "device_free", "given_back", "live", "function")
    rows = [tuple(row[name] for name in names) for row in load(snapshot(allocator)).result("shortages")]
    assert rows == [
        ("retry", 9000, -1, 8192, 1000, "forward_4"),
        ("out_of_memory", 77_000, 123, 0, 1000, "forward_5"),
    ]


def test_old_snapshots_have_the_same_levels_and_stacks() -> None:
    found = snapshot(worked())
    new, old = load(found), load(as_old(found))
    assert old.analyse("memory_levels").live.tolist() == new.analyse("memory_levels").live.tolist()
    assert old.tables.blocks.address.tolist() == new.tables.blocks.address.tolist()
    held = new.tables.blocks.state > 0
    assert old.tables.blocks.requested[held].tolist() == new.tables.blocks.requested[held].tolist()
    segments_only = load(found["segments"])  # what torch.cuda.memory_snapshot() returns
    assert segments_only.tables.segments.bytes.tolist() == new.tables.segments.bytes.tolist()


# --- what is refused ----------------------------------------------------------------------------------------------


class Touch:
    """Writes a file when it is unpickled by what executes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("protocol", [2, 4])
def test_nothing_is_executed(tmp_path: Path, protocol: int) -> None:
    target = tmp_path / "touched"
    data = pickle.dumps({"segments": [Touch(target)]}, protocol)
    with pytest.raises(regimeter.FormatError, match="refused: only plain values") as caught:
        regimeter.load(data)
    assert data[caught.value.offset] in (0x63, 0x93)  # GLOBAL, STACK_GLOBAL
    assert not target.exists()


@pytest.mark.parametrize(
    ("data", "offset", "what"),
    [
        (b"\x80\x02cos\nsystem\n(X\x04\x00\x00\x00truetR.", 2, "GLOBAL"),
        (b"\x80\x02}}b.", 4, "BUILD"),
        (b"\x80\x02(ios\nsystem\n.", 3, "INST"),
        (b"\x80\x02" + b"(" * 300, 258, "nested more than 256"),
        (b"\x80\x02]q\x00h\x00a.", 7, "hold itself"),
        (b"\x80\x02]]q\x00ah\x00K\x01a.", 11, "part of another"),
        (b"\x80\x02]r\xff\xff\xff\xff.", 3, "not in order"),
        (b"\x80\x02h\x07.", 2, "memo has no such"),
        (b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7f", 2, "more than 16 MiB"),
        (b"\x80\x02\x8b\xff\xff\xff\xff1", 2, "more than 64 bits"),
        (b"\x80\x02X\xff\xff\x00\x00abc", 2, "is cut"),
        (b"\x80\x02}K\x01s.", 5, "holds too little"),
        (b"\x80\x02K\x01K\x02.", 6, "other than one value"),
        (b"\x80\x02\xff.", 2, "no instruction"),
        (b"\x80\x02}.", 0, "no list of segments"),
        (b"\x80\x02" + b"N" * (1 << 20) + b"N", 2 + (1 << 20), "wait for their container"),
    ],
)  # fmt: skip
def test_hostile_pickles_are_refused_at_their_byte(data: bytes, offset: int, what: str) -> None:
    with pytest.raises(regimeter.FormatError, match=what) as caught:
        regimeter.load(data)
    assert caught.value.offset == offset


def test_a_memo_bomb_takes_no_memory() -> None:
    data = io.BytesIO()
    data.write(b"\x80\x04")
    data.write(b"]\x94K\x01a")  # [1]
    for level in range(200):  # a list of ten times the one before: 10 ** 200 numbers
        data.write(b"]\x94(" + b"j" + level.to_bytes(4, "little") * 1 + (b"j" + level.to_bytes(4, "little")) * 9 + b"e")
    data.write(b".")
    code = (
        "import resource, sys, regimeter\n"
        "resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))\n"
        "try:\n    regimeter.load(sys.stdin.buffer.read())\n"
        "except regimeter.FormatError as error:\n    print('refused', error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], input=data.getvalue(), capture_output=True, timeout=120)
    assert done.stdout.startswith(b"refused"), done.stderr[-500:]


# --- doors --------------------------------------------------------------------------------------------------------


def test_files_streams_and_packed_snapshots(tmp_path: Path) -> None:
    data = pickle.dumps(snapshot(worked()), 4)
    plain, packed = tmp_path / "s.pickle", tmp_path / "s.pickle.gz"
    plain.write_bytes(data)
    packed.write_bytes(gzip.compress(data))
    runs = [regimeter.load(plain), regimeter.load(packed), regimeter.load(data), regimeter.load(io.BytesIO(data))]
    assert {len(run.memory) for run in runs} == {len(runs[0].memory)}
    runs[0].save(tmp_path / "s.rgm")
    again = regimeter.load(tmp_path / "s.rgm")
    assert again.analyse("memory_levels").live.tolist() == runs[0].analyse("memory_levels").live.tolist()


def test_the_command(tmp_path: Path, command: Command) -> None:
    path, page = tmp_path / "s.pickle", tmp_path / "m.html"
    path.write_bytes(pickle.dumps(snapshot(worked()), 4))
    done = command("memory", path, "-o", page, "--json")
    assert done.returncode == 0, done.stderr
    document = check(json.loads(done.stdout))
    assert document["format"] == "regimeter.memory"
    assert document["devices"][0]["peak_bytes"] == max(forward_levels(snapshot(worked()), 0))
    sections = sections_of(page.read_text())
    assert sections["allocations"]["columns"][1]["values"] == [
        row["peak_bytes"] for row in document["allocations"] if row["peak_bytes"]
    ]


def test_the_report_of_a_snapshot_is_the_page_of_its_memory(tmp_path: Path) -> None:
    path, page, memory = tmp_path / "s.pickle", tmp_path / "report.html", tmp_path / "memory.html"
    path.write_bytes(pickle.dumps(snapshot(worked()), 4))
    assert main(["report", str(path), "-q", "-o", str(page)]) == 0
    assert main(["memory", str(path), "-q", "-o", str(memory)]) == 0
    own, other = (page_of(one.read_text()) for one in (page, memory))
    assert own | {"created": ""} == other | {"created": ""}
    assert own["limit"]["sentence"].startswith("Device 0 held at most ")
    assert page_of(regimeter.load(path).to_html(title="named"))["title"] == "named"


# --- torch's own formats ------------------------------------------------------------------------------------------


def test_a_snapshot_written_back_is_the_one_that_was_read(tmp_path: Path) -> None:
    for found in (snapshot(worked(), worked(seed=2, device=1)), _real()):
        if found is not None:
            load(found).export(tmp_path / "back.pickle")
            assert pickle.loads((tmp_path / "back.pickle").read_bytes()) == found


def test_torchs_own_reader_takes_what_is_written(tmp_path: Path) -> None:
    viz = pytest.importorskip("torch.cuda._memory_viz")
    found = as_old(snapshot(worked()))  # what the old version wrote becomes what the new one reads
    load(found).export(tmp_path / "new.pickle")
    written = pickle.loads((tmp_path / "new.pickle").read_bytes())
    assert viz.segsum(written) == viz.segsum(found)
    assert viz.trace(written) == viz.trace(found)
    assert "MemoryViz" in viz.trace_plot(written)


def test_a_run_without_a_device_is_no_snapshot(tmp_path: Path) -> None:
    with regimeter.GPUProfiler() as profiler, profiler.profile("nothing"):
        pass
    with pytest.raises(ValueError, match="no segments"):
        profiler.run().export(tmp_path / "x.pickle")
    assert not (tmp_path / "x.pickle").exists()


def test_raw_timelines_of_the_profiler(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 8))
    optimizer = torch.optim.Adam(net.parameters())
    with torch.profiler.profile(profile_memory=True, record_shapes=True, with_stack=True) as profiler:
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.ones(32, 64)).sum().backward()
            optimizer.step()
    for name in ("m.raw.json.gz", "m.json"):  # both of torch; the second has levels of its own making
        profiler.export_memory_timeline(str(tmp_path / name), device="cpu")
    sizes = json.loads((tmp_path / "m.json").read_text())[1]
    rows = json.loads(gzip.decompress((tmp_path / "m.raw.json.gz").read_bytes()))
    run = regimeter.load(tmp_path / "m.raw.json.gz")
    # Torch adds up in the order of its file, which is not everywhere that of time.
    first = min(row[0] for row in rows if row[0] >= 0)
    by_time = sorted(rows, key=lambda row: max(row[0], first))
    assert run.analyse("memory_levels").live.tolist() == np.cumsum([row[2] for row in by_time]).tolist()
    from torch.profiler._memory_profiler import _CATEGORY_TO_INDEX

    ends = {row["category"]: row["end_bytes"] for row in run.result("allocations", by="category")}
    for category, index in _CATEGORY_TO_INDEX.items():
        name = "unknown" if category is None else category.name.lower()
        assert ends.get(name, 0) == sizes[-1][index + 1]


def test_a_damaged_timeline_names_its_row() -> None:
    with pytest.raises(regimeter.FormatError, match="row 1 "):
        regimeter.load(b"[[1,2,3,4],[1,2,3]]")
    with pytest.raises(regimeter.FormatError, match="out of range"):
        regimeter.load(b"[[1,2,3,4],[1,2,3,9]]")
