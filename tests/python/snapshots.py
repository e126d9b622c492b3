# SPDX-License-Identifier: Apache-2.0
"""Memory snapshots with the keys that torch writes, for tests on machines without a device.

The keys are those of torch/csrc/cuda/memory_snapshot.cpp (`_memory_snapshot_pickled`) and torch/csrc/cuda/Module.cpp
(`THCPModule_memorySnapshot`) of torch 2.13; `old=True` writes those of torch 2.0, where blocks have a `history`. One
caching allocator is simulated: segments are split, blocks are rounded to 512 bytes, the history is a ring.
"""

import pickle
from typing import Any

ROUND = 512


class PlainUnpickler(pickle.Unpickler):
    """Reads what holds no object of a program."""

    def find_class(self, module: str, name: str) -> Any:
        """Refuse."""
        raise AssertionError(f"{module}.{name} in a pickle of plain objects")


def frame(number: int) -> dict[str, Any]:
    """Return a frame as torch writes it."""
    return {"filename": f"model_{number % 3}.py", "line": 10 + number, "name": f"forward_{number}"}


class Allocator:
    """A caching allocator of one device that keeps a history as torch's does; a segment is reserved for each size."""

    def __init__(self, device: int = 0, stream: int = 0) -> None:
        self.device, self.stream = device, stream
        self.clock_us = 1_700_000_000_000_000
        self.history: list[dict[str, Any]] = []
        self.segments: list[dict[str, Any]] = []

    def entry(self, action: str, addr: int, size: int, frames: list[Any], **more: Any) -> None:
        """Note an event."""
        self.clock_us += 10
        one = {"action": action, "size": size, "stream": self.stream, "time_us": self.clock_us}
        one |= {"device_free": addr} if action == "oom" else {"addr": addr}
        self.history.append(one | {"frames": frames, "compile_context": "N/A", "user_metadata": ""} | more)

    def reserve(self, size: int, frames: list[Any]) -> dict[str, Any]:
        """Reserve a segment of a size."""
        address = 0x7F0000000000 + (self.device << 40) + sum(one["total_size"] for one in self.segments) + (1 << 21)
        block = {"address": address, "size": size, "requested_size": 0, "state": "inactive", "frames": []}
        segment = {"device": self.device, "address": address, "total_size": size, "stream": self.stream,
                   "segment_type": "large" if size > 1 << 20 else "small", "segment_pool_id": (0, 0),
                   "is_expandable": False, "frames": frames, "blocks": [block]}  # fmt: skip
        self.segments.append(segment)
        self.entry("segment_alloc", address, size, frames)
        return segment

    def alloc(self, size: int, frames: list[Any]) -> int:
        """Return the address of a new block: the first free one that is large enough, split where more is left."""
        rounded = -(-size // ROUND) * ROUND
        for segment in self.segments:
            for at, block in enumerate(segment["blocks"]):
                if block["state"] == "inactive" and block["size"] >= rounded:
                    if block["size"] > rounded:
                        rest = block | {"address": block["address"] + rounded, "size": block["size"] - rounded}
                        segment["blocks"].insert(at + 1, rest)
                    block |= {"size": rounded, "requested_size": size, "state": "active_allocated", "frames": frames}
                    self.entry("alloc", block["address"], size, frames)
                    return int(block["address"])
        self.reserve(max(rounded, 1 << 21), frames)
        return self.alloc(size, frames)

    def free(self, address: int, frames: list[Any], *, completed: bool = True) -> None:
        """Free a block, at once or when its stream has come so far."""
        block = next(one for segment in self.segments for one in segment["blocks"] if one["address"] == address)
        self.entry("free_requested", address, block["requested_size"], frames)
        block["state"] = "active_pending_free"
        if completed:
            self.entry("free_completed", address, block["requested_size"], frames)
            block |= {"state": "inactive", "frames": []}


def snapshot(*allocators: Allocator, ring: int | None = None) -> dict[str, Any]:
    """Return what torch.cuda.memory._snapshot() would; ring: entries of each history that are left."""
    segments = [segment | _sums(segment["blocks"]) for one in allocators for segment in one.segments]
    traces: list[list[Any]] = [[] for _ in range(1 + max(one.device for one in allocators))]
    for one in allocators:
        traces[one.device] = one.history[-ring if ring else 0 :]
    settings = {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "expandable_segments": False}
    return {"segments": segments, "device_traces": traces, "allocator_settings": settings, "external_annotations": []}


def as_old(found: dict[str, Any]) -> dict[str, Any]:
    """Return a snapshot with the keys of torch 2.0: history instead of frames, neither addresses nor times."""
    segments = []
    for segment in found["segments"]:
        kept = ("device", "address", "total_size", "allocated_size", "active_size", "stream", "segment_type")
        blocks = []
        for block in segment["blocks"]:
            one = {"size": block["size"], "state": block["state"]}
            if block["state"] != "inactive":
                past = {"addr": block["address"], "real_size": block["requested_size"], "frames": block["frames"]}
                one["history"] = [past]
            blocks.append(one)
        segments.append({name: segment[name] for name in kept} | {"blocks": blocks})
    drop = ("time_us", "compile_context", "user_metadata")
    traces = [[{k: v for k, v in one.items() if k not in drop} for one in trace] for trace in found["device_traces"]]
    return {"segments": segments, "device_traces": traces}


def _sums(blocks: list[dict[str, Any]]) -> dict[str, int]:
    allocated = sum(one["size"] for one in blocks if one["state"] == "active_allocated")
    active = sum(one["size"] for one in blocks if one["state"] != "inactive")
    requested = sum(one["requested_size"] for one in blocks if one["state"] != "inactive")
    return {"allocated_size": allocated, "active_size": active, "requested_size": requested}
