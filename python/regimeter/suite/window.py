# SPDX-License-Identifier: Apache-2.0
"""The part of a trace that belongs to one marked block, as a run of its own.

A profiler that was recording already keeps its trace; the block is a range in it. Host events of all threads between
the range's ends belong to it, and the device work that their calls launched, whenever that ran.
"""

import gzip
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from ..public.run import Run, load

CALLS = ("cuda_runtime", "cuda_driver", "hip_runtime", "hip_driver", "xpu_runtime")
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation", "xpu_kernel", "overhead_device")
GZIP = b"\x1f\x8b"


def cut(trace: str | os.PathLike[str], mark: str) -> Run:
    """Return the run of the block called `mark` in a Chrome trace of torch. ValueError where it is not in there."""
    text = Path(trace).read_bytes()
    document = json.loads(gzip.decompress(text) if text.startswith(GZIP) else text)
    events = document["traceEvents"] if isinstance(document, dict) else document
    ranges = [e for e in events if e.get("ph") == "X" and e.get("name") == mark and e.get("cat") == "user_annotation"]
    if not mark or not ranges:
        raise ValueError(f"{os.fspath(trace)}: no block {mark!r} is in this trace")
    begin = float(ranges[-1]["ts"])
    kept = _within(events, begin, begin + float(ranges[-1]["dur"]))
    whole = {**document, "traceEvents": kept} if isinstance(document, dict) else kept
    with tempfile.TemporaryDirectory(prefix="regimeter-") as folder:
        path = Path(folder) / "window.json"
        path.write_text(json.dumps(whole), encoding="utf-8", errors="replace")
        return load(path)


def _within(events: list[dict[str, Any]], begin: float, end: float) -> list[dict[str, Any]]:
    launched: set[Any] = set()
    for event in events:
        if event.get("cat") in CALLS and begin <= float(event["ts"]) <= end:
            launched.add(event.get("args", {}).get("correlation"))
    launched.discard(None)
    return [event for event in events if _belongs(event, begin, end, launched)]


def _belongs(event: dict[str, Any], begin: float, end: float, launched: set[Any]) -> bool:
    if event.get("ph") == "M":
        return True
    if event.get("cat") in DEVICE:
        return event.get("args", {}).get("correlation") in launched
    if event.get("cat") == "ac2g":
        return event.get("id") in launched
    # What stands around the block (steps, functions) is not of it.
    at = float(event.get("ts", -1))
    return begin <= at and at + float(event.get("dur", 0)) <= end
