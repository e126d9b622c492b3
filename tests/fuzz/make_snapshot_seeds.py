# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of fuzz_memory_snapshot: small snapshots with torch's keys, of all protocols, new and old.

``PYTHONPATH=tests/python python tests/fuzz/make_snapshot_seeds.py tests/fuzz/seeds/fuzz_memory_snapshot``. The C tests
read them too.
"""

import pickle
import sys
from pathlib import Path

from snapshots import Allocator, as_old, frame, snapshot


def main(folder: Path) -> None:
    """Write the seeds."""
    folder.mkdir(parents=True, exist_ok=True)
    one, other = Allocator(0), Allocator(1, stream=7)
    for allocator in (one, other):
        first = allocator.alloc(3000, [frame(1), frame(2)])
        second = allocator.alloc(700, [frame(1)])
        allocator.free(first, [], completed=False)
        allocator.free(second, [frame(3)])
        allocator.entry("segment_free", 5, 4096, [])
        allocator.entry("segment_alloc", 6, 9000, [frame(4)])
        allocator.entry("oom", 123, 77_000, [frame(5)])
        allocator.entry("snapshot", 0, 0, [])
    both = snapshot(one, other)
    deep = Allocator()
    deep.alloc(10, [frame(number) for number in range(1100)])
    found = {"new": both, "old": as_old(both), "segments": both["segments"]}
    for name, document in found.items():
        for protocol in (2, 4) if name == "new" else (4,):
            (folder / f"{name}_{protocol}").write_bytes(pickle.dumps(document, protocol))
    (folder / "host").write_bytes(
        pickle.dumps({"segments": [], "device_traces": [], "host_segments": one.segments, "host_traces": one.history})
    )
    (folder / "deep").write_bytes(pickle.dumps(snapshot(deep), 5))
    plain = {"a": [1, 2.5, None, True, -(2**40), b"x", (1, "y"), {}], "segments": []}
    (folder / "plain").write_bytes(pickle.dumps(plain, 3))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
