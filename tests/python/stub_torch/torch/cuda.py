# SPDX-License-Identifier: Apache-2.0
"""Streams, events and launches on the double of the driver."""

import contextlib
import ctypes
import itertools
import os
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from uuid import UUID

_state: dict[str, Any] = {"library": None, "functions": {}, "contexts": {}, "graph": None}
traced: list[tuple[str, int]] | None = None  # name and nanoseconds of what is launched, while torch.profiler runs
CLOCK_GHZ = 1.98
# Of an H100: what memory moves, and the least that a kernel takes.
BYTES_PER_NS, SHORTEST_NS = 2800.0, 2000.0
_blocks: dict[int, tuple[int, int]] = {}  # address: bytes and device
_peaks: dict[int, int] = {}
_addresses = itertools.count(1 << 44, 1 << 32)


class OutOfMemoryError(RuntimeError):
    pass


class _Here(threading.local):
    """What each thread has of its own: a device, a stream on each, and whether it has a current context yet."""

    def __init__(self) -> None:
        self.device, self.began = 0, False
        self.streams: dict[int, Stream] = {}


_here = _Here()


def _call(name: str, *arguments: Any) -> None:
    result = getattr(_state["library"], name)(*arguments)
    if result != 0:
        raise RuntimeError(f"{name} answers {result}")


def _made(name: str, *arguments: Any) -> ctypes.c_void_p:
    handle = ctypes.c_void_p()
    _call(name, ctypes.byref(handle), *arguments)
    return handle


def _number(which: Any) -> int:
    if which is None or isinstance(which, int):
        return _here.device if which is None else which
    _, _, number = str(which).partition(":")
    return int(number) if number else _here.device


def is_available() -> bool:
    return "REGIMETER_LIBCUDA" in os.environ


def is_initialized() -> bool:
    return bool(_state["contexts"])


def _load() -> None:
    if _state["library"] is None:
        _state["library"] = ctypes.CDLL(os.environ["REGIMETER_LIBCUDA"])
        _call("cuInit", 0)
        _state["by_launch"] = "by_launch=1" in os.environ.get("FAKE_CUDA", "")


def init() -> None:
    if not _state["contexts"]:
        _load()
        set_device(0)


def current_device() -> int:
    init()
    return _here.device


def set_device(which: Any) -> None:
    """Make a device current, with its context and a default stream."""
    _load()
    number = _number(which)
    _here.device, _here.began = number, True
    if number not in _state["contexts"]:
        _state["functions"][number] = {}
        _state["contexts"][number] = _made("cuDevicePrimaryCtxRetain", number)
    _call("cuCtxSetCurrent", _state["contexts"][number])


@contextlib.contextmanager
def device(which: Any) -> Iterator[None]:
    before = current_device()
    set_device(which)
    try:
        yield
    finally:
        set_device(before)


def _on(number: int) -> Any:
    init()
    if number != _here.device:
        return device(number)
    if not _here.began:
        set_device(number)
    return contextlib.nullcontext()


def launch(name: str, number: Any = None, ns: float | None = None) -> None:
    """Launch a kernel that takes so long; None, as long as the double of the driver says."""
    number = _number(number)
    with _on(number):
        captured = _state["graph"]
        if captured is not None and current_stream(number).cuda_stream == captured.stream:
            captured.add(name)
            return
        functions = _state["functions"][number]
        if not functions:
            functions[None] = _made("cuModuleLoadData", b"")
        if name not in functions:
            functions[name] = _made("cuModuleGetFunction", functions[None], name.encode())
        stream = ctypes.c_void_p(current_stream(number).cuda_stream)
        if traced is not None:
            traced.append((name, int(ns or 0)))
        if ns is not None:
            _state["library"].fake_cuda_lasts(ctypes.c_longlong(int(ns)))
        _call("cuLaunchKernel", functions[name], 4, 1, 1, 128, 1, 1, 0, stream, None, None)


def _sleep(cycles: int) -> None:
    launch("spin", ns=cycles / CLOCK_GHZ)


def by_size(moved: int, operations: int, rate: float) -> float | None:
    """Return the nanoseconds of a kernel: what memory or the pipes need, where durations are told by launch."""
    if not _state["by_launch"]:
        return None
    return max(SHORTEST_NS, moved / BYTES_PER_NS, operations / rate)


def synchronize(which: Any = None) -> None:
    with _on(_number(which)):
        _call("cuCtxSynchronize")


def current_stream(which: Any = None) -> Any:
    number = _number(which)
    with _on(number):
        return _here.streams.get(number) or default_stream(number)


def allocate(size: int) -> int:
    """Take a block from the driver, and count it as torch's allocator does; free it with :func:`free`."""
    init()
    block = ctypes.c_ulonglong()
    _call("cuMemAlloc_v2", ctypes.byref(block), ctypes.c_size_t(size))
    _count(block.value, size, _here.device)
    return block.value


def free(block: int) -> None:
    _call("cuMemFree_v2", ctypes.c_ulonglong(block))
    del _blocks[block]


def _count(address: int, size: int, number: int) -> None:
    _blocks[address] = size, number
    _peaks[number] = max(_peaks.get(number, 0), memory_allocated(number))


def memory_allocated(which: Any = None) -> int:
    number = _number(which)
    return sum(size for size, on in _blocks.values() if on == number)


def max_memory_allocated(which: Any = None) -> int:
    return _peaks.get(_number(which), 0)


def reset_peak_memory_stats(which: Any = None) -> None:
    _peaks[_number(which)] = memory_allocated(which)


memory_reserved = memory_allocated


def mem_get_info(which: Any = None) -> tuple[int, int]:
    """Return free and all bytes, as if nobody else used the device."""
    with _on(_number(which)):
        left, total = ctypes.c_size_t(), ctypes.c_size_t()
        _call("cuMemGetInfo_v2", ctypes.byref(left), ctypes.byref(total))
    return total.value - memory_allocated(which), total.value


def empty_cache() -> None:
    pass


class Block:
    """Bytes that count as allocated as long as this lives: a piece of what torch's allocator has kept."""

    def __init__(self, size: int, which: Any = None) -> None:
        number = _number(which)
        if size > mem_get_info(number)[0]:
            raise OutOfMemoryError(f"CUDA out of memory. Tried to allocate {size} bytes.")
        self.block = next(_addresses)
        _count(self.block, size, number)

    def __del__(self) -> None:
        _blocks.pop(getattr(self, "block", 0), None)


def device_count() -> int:
    _load()
    count = ctypes.c_int()
    _call("cuDeviceGetCount", ctypes.byref(count))
    return count.value


def get_device_capability(which: Any = None) -> tuple[int, int]:
    return 9, 0


def get_device_name(which: Any = None) -> str:
    return "double"


def get_device_properties(number: int) -> Any:
    facts = {"name": "double", "major": 9, "minor": 0, "total_memory": 1 << 33, "multi_processor_count": 132}
    _load()
    uuid = (ctypes.c_ubyte * 16)()
    _call("cuDeviceGetUuid", uuid, number)
    return SimpleNamespace(**facts, uuid=UUID(bytes=bytes(uuid)))


def set_stream(given: Any) -> None:
    _here.streams[given.device] = given


def default_stream(which: Any = None) -> "Stream":
    made = Stream.__new__(Stream)
    made.device, made.cuda_stream = _number(which), 0
    return made


class Stream:
    def __init__(self, device: Any = None) -> None:
        init()
        self.device = _number(device)
        with _on(self.device):
            self.cuda_stream = _made("cuStreamCreate", 1).value

    def query(self) -> bool:
        with _on(self.device):
            return bool(_state["library"].cuStreamQuery(ctypes.c_void_p(self.cuda_stream)) == 0)

    def synchronize(self) -> None:
        with _on(self.device):
            _call("cuStreamSynchronize", ctypes.c_void_p(self.cuda_stream))

    def wait_stream(self, other: Any) -> None:
        pass


class ExternalStream(Stream):
    def __init__(self, handle: int, device: Any = None) -> None:
        init()
        self.device, self.cuda_stream = _number(device), handle


@contextlib.contextmanager
def stream(given: Any) -> Iterator[None]:
    with _on(given.device):
        before = current_stream(given.device)
        set_stream(given)
        try:
            yield
        finally:
            set_stream(before)


class GreenContext:
    """A part of a device's multiprocessors; torch works in its default stream while it is current."""

    @staticmethod
    def create(*, num_sms: int, device_id: int | None = None) -> "GreenContext":
        init()
        made = GreenContext()
        made.green = _made("cuGreenCtxCreate", None, _number(device_id), 1)
        made.context = _made("cuCtxFromGreenCtx", made.green)
        return made

    def set_context(self) -> None:
        self.before = current_stream()
        _call("cuCtxPushCurrent_v2", self.context)
        set_stream(default_stream())

    def pop_context(self) -> None:
        _call("cuCtxPopCurrent_v2", None)
        set_stream(self.before)


class Event:
    """Made when it is first recorded, on the device of that stream."""

    def __init__(self, enable_timing: bool = False) -> None:
        self.handle: Any = None

    def record(self, on: Any = None) -> None:
        init()
        on = current_stream() if on is None else on
        with _on(on.device):
            if self.handle is None:
                self.handle = _made("cuEventCreate", 0)
            _call("cuEventRecord", self.handle, ctypes.c_void_p(on.cuda_stream))

    def query(self) -> bool:
        return bool(_state["library"].cuEventQuery(self.handle) == 0)

    def synchronize(self) -> None:
        _call("cuEventSynchronize", self.handle)

    def elapsed_time(self, end: "Event") -> float:
        milliseconds = ctypes.c_float()
        _call("cuEventElapsedTime", ctypes.byref(milliseconds), self.handle, end.handle)
        return milliseconds.value


class CUDAGraph:
    """Launches of a capture as nodes of a graph, told to the double of CUPTI where there is one."""

    made = 0

    def __init__(self) -> None:
        CUDAGraph.made += 2
        self.number, self.nodes = CUDAGraph.made, []
        self.cupti = ctypes.CDLL(os.environ["REGIMETER_LIBCUPTI"]) if "REGIMETER_LIBCUPTI" in os.environ else None
        if self.cupti:
            self.cupti.fake_cupti_capture.restype = self.cupti.fake_cupti_clone.restype = ctypes.c_uint64

    def add(self, name: str) -> None:
        if self.cupti:
            self.nodes.append(self.cupti.fake_cupti_capture(name.encode(), ctypes.c_uint64(self.number)))

    def instantiate(self) -> None:
        if self.cupti:
            copy = ctypes.c_uint64(self.number + 1)
            self.nodes = [self.cupti.fake_cupti_clone(ctypes.c_uint64(node), copy) for node in self.nodes]

    def replay(self) -> None:
        if self.cupti:
            nodes = (ctypes.c_uint64 * len(self.nodes))(*self.nodes)
            self.cupti.fake_cupti_graph_launch(self.number + 1, nodes, ctypes.c_size_t(len(self.nodes)))


@contextlib.contextmanager
def graph(made: CUDAGraph, capture_error_mode: str = "global") -> Iterator[None]:
    synchronize()  # as torch does, so that nothing launched before is pending while the capture lasts
    with stream(Stream()):
        handle = ctypes.c_void_p(current_stream().cuda_stream)
        _call("cuStreamBeginCapture_v2", handle, {"global": 0, "thread_local": 1, "relaxed": 2}[capture_error_mode])
        made.stream, _state["graph"] = current_stream().cuda_stream, made
        try:
            yield
        finally:
            _state["graph"] = None
            _made_graph = ctypes.c_void_p()
            _call("cuStreamEndCapture", handle, ctypes.byref(_made_graph))
    made.instantiate()
