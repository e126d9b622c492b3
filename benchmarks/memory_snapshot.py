# SPDX-License-Identifier: Apache-2.0
"""What reading a large memory snapshot of torch takes: seconds, the peak of memory, and what the run then holds.

``python benchmarks/memory_snapshot.py [--size 1G] [--folder DIR] [--json]``. The snapshot is written first, with the
keys and the form that torch writes: a history of `alloc`, `free_requested` and `free_completed` over segments of
20 blocks, each entry with a list of 40 frames of its own, 5,000 distinct stacks. It is read in a process of its own;
its peak above what the process had before is the figure, and `beside` is what reading took beside the columns.
"""

import argparse
import contextlib
import json
import os
import pickle
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import bursts
from generate_trace import amount

FRAMES, DEPTH, STACKS = 3_000, 40, 5_000
BLOCK, BLOCKS, SEGMENTS = 2 << 20, 20, 200
BYTES_AN_ENTRY = 290  # what the writer below makes, some
READ = """
import json, sys, time
import numpy
import regimeter
from regimeter.compare.ab.memory import resident
before = resident()
begin = time.perf_counter()
run = regimeter.load(sys.argv[1])
seconds = time.perf_counter() - begin
held, peak = resident()
print(json.dumps({"seconds": seconds, "peak": peak - before[0], "held": held - before[0], "rows": len(run.memory)}))
"""


def write(path: Path, size: int) -> None:
    """Write a snapshot of some `size` bytes."""
    chance = random.Random(1)
    frames = [{"filename": f"/model/part_{i % 90}.py", "line": i, "name": f"forward_{i}"} for i in range(FRAMES)]
    stacks = [[frames[chance.randrange(FRAMES)] for _ in range(DEPTH)] for _ in range(STACKS)]
    free = [(1 << 46) + number * BLOCK for number in range(SEGMENTS * BLOCKS)]
    used: dict[int, tuple[int, list[Any]]] = {}
    history: list[dict[str, Any]] = []

    def note(action: str, address: int, bytes_: int, stack: list[Any]) -> None:
        time_us = 1_700_000_000_000_000 + 7 * len(history)
        entry = {"action": action, "addr": address, "size": bytes_, "stream": 0, "time_us": time_us, "frames": [*stack]}
        history.append(entry | {"compile_context": "N/A", "user_metadata": ""})

    while len(history) < size // BYTES_AN_ENTRY:
        stack = stacks[chance.randrange(STACKS)]
        if free and (not used or chance.random() < 0.5):
            address = free.pop(chance.randrange(len(free)))
            used[address] = (chance.randrange(1, BLOCK), stack)
            note("alloc", address, used[address][0], stack)
        else:
            address = next(iter(used))
            bytes_, _ = used.pop(address)
            note("free_requested", address, bytes_, stack)
            note("free_completed", address, bytes_, stack)
            free.append(address)
    found = {"segments": segments(used), "device_traces": [history], "allocator_settings": {}}
    with open(path, "wb") as file:
        pickle.dump(found, file)


def segments(used: dict[int, tuple[int, list[Any]]]) -> list[dict[str, Any]]:
    """Return the segments with their blocks."""
    rows = []
    for number in range(SEGMENTS):
        begin, blocks = (1 << 46) + number * BLOCKS * BLOCK, []
        for address in range(begin, begin + BLOCKS * BLOCK, BLOCK):
            bytes_, stack = used.get(address, (0, []))
            state = "active_allocated" if bytes_ else "inactive"
            blocks.append(
                {"address": address, "size": BLOCK, "requested_size": bytes_, "state": state, "frames": stack}
            )
        held = [block for block in blocks if block["requested_size"]]
        sums = {"allocated_size": len(held) * BLOCK, "active_size": len(held) * BLOCK}
        asked = sum(block["requested_size"] for block in held)
        place = {"device": 0, "address": begin, "total_size": BLOCKS * BLOCK, "stream": 0, "segment_type": "large"}
        rows.append(place | sums | {"requested_size": asked, "frames": [], "blocks": blocks})
    return rows


def main() -> int:
    """Write, read in a process of its own, print."""
    parser = argparse.ArgumentParser(description="reading a large memory snapshot")
    parser.add_argument("--size", default="100M", metavar="BYTES", help="such as 100M or 1G")
    parser.add_argument("--folder", metavar="DIR", help="for the snapshot; by default a temporary one")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = Path(options.folder or stack.enter_context(tempfile.TemporaryDirectory(prefix="regimeter-")))
        path = folder / f"snapshot-{os.getpid()}.pickle"
        stack.callback(path.unlink, missing_ok=True)
        begin = perf_counter()
        # In a process of its own: what the writer takes would be that of the reader, too, where memory is shared.
        subprocess.run([sys.executable, __file__, "--write", str(path), options.size], check=True)
        print(f"written in {perf_counter() - begin:.0f} s", file=sys.stderr)
        size = path.stat().st_size
        read = subprocess.run([sys.executable, "-c", READ, str(path)], check=True, capture_output=True, text=True)
    found = {"machine": bursts.machine(), "bytes": size} | json.loads(read.stdout)
    if options.json:
        print(json.dumps(found))
        return 0
    print(found["machine"])
    peak, held, rows = found["peak"], found["held"], found["rows"]
    cells = (f"{size / 1e6:,.0f}", f"{rows:,}", f"{found['seconds']:.1f}", f"{peak / 1e6:,.0f}", f"{held / 1e6:,.0f}")
    print(
        bursts.table(
            [(*cells, f"{(peak - held) / 1e6:,.0f}", f"{peak / rows:.0f}")],
            ("snapshot MB", "entries", "s", "peak MB", "held MB", "beside MB", "B/entry"),
        )
    )
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write(Path(sys.argv[2]), amount(sys.argv[3]))
        raise SystemExit(0)
    raise SystemExit(main())
