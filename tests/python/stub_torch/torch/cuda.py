# SPDX-License-Identifier: Apache-2.0
"""Streams, events and launches on the double of the driver."""

import contextlib
import ctypes
import os
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

_state: dict[str, Any] = {"library": None, "module": None, "functions": {}, "stream": None}


def _call(name: str, *arguments: Any) -> None:
    result = getattr(_state["library"], name)(*arguments)
    if result != 0:
        raise RuntimeError(f"{name} answers {result}")


def _made(name: str, *arguments: Any) -> ctypes.c_void_p:
    handle = ctypes.c_void_p()
    _call(name, ctypes.byref(handle), *arguments)
    return handle


def is_available() -> bool:
    return "REGIMETER_LIBCUDA" in os.environ


def is_initialized() -> bool:
    return _state["library"] is not None


def init() -> None:
    if _state["library"] is None:
        _state["library"] = ctypes.CDLL(os.environ["REGIMETER_LIBCUDA"])
        _call("cuInit", 0)
        _call("cuCtxSetCurrent", _made("cuDevicePrimaryCtxRetain", 0))
        _state["module"] = _made("cuModuleLoadData", b"")
        _state["stream"] = SimpleNamespace(cuda_stream=0)


def launch(name: str) -> None:
    init()
    functions = _state["functions"]
    if name not in functions:
        functions[name] = _made("cuModuleGetFunction", _state["module"], name.encode())
    stream = ctypes.c_void_p(_state["stream"].cuda_stream)
    _call("cuLaunchKernel", functions[name], 4, 1, 1, 128, 1, 1, 0, stream, None, None)


def _sleep(cycles: int) -> None:
    launch("spin")


def synchronize() -> None:
    _call("cuCtxSynchronize")


def current_stream() -> Any:
    init()
    return _state["stream"]


def memory_allocated() -> int:
    return 0


def device_count() -> int:
    return 1


def get_device_properties(number: int) -> Any:
    return SimpleNamespace(name="double", major=9, minor=0, total_memory=1 << 33, multi_processor_count=132)


class Stream:
    def __init__(self) -> None:
        init()
        self.cuda_stream = _made("cuStreamCreate", 1).value


@contextlib.contextmanager
def stream(given: Stream) -> Iterator[None]:
    before, _state["stream"] = _state["stream"], given
    try:
        yield
    finally:
        _state["stream"] = before


class Event:
    def __init__(self, enable_timing: bool = False) -> None:
        self.handle = _made("cuEventCreate", 0)

    def record(self) -> None:
        _call("cuEventRecord", self.handle, ctypes.c_void_p(_state["stream"].cuda_stream))

    def elapsed_time(self, end: "Event") -> float:
        milliseconds = ctypes.c_float()
        _call("cuEventElapsedTime", ctypes.byref(milliseconds), self.handle, end.handle)
        return milliseconds.value
