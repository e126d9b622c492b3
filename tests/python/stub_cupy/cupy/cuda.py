# SPDX-License-Identifier: Apache-2.0
"""Devices, streams and events on the double of the driver."""

import ctypes
import os
from types import SimpleNamespace
from typing import Any

_library = ctypes.CDLL(os.environ["REGIMETER_LIBCUDA"])
_state: dict[str, Any] = {"device": 0, "contexts": {}, "functions": {}}


def _call(name: str, *arguments: Any) -> None:
    result = getattr(_library, name)(*arguments)
    if result != 0:
        raise RuntimeError(f"{name} answers {result}")


def _made(name: str, *arguments: Any) -> ctypes.c_void_p:
    handle = ctypes.c_void_p()
    _call(name, ctypes.byref(handle), *arguments)
    return handle


def _use(number: int) -> None:
    _call("cuInit", 0)
    if number not in _state["contexts"]:
        _state["contexts"][number] = _made("cuDevicePrimaryCtxRetain", number)
    _call("cuCtxSetCurrent", _state["contexts"][number])
    _state["device"] = number


class Device:
    def __init__(self, number: int | None = None) -> None:
        self.id = _state["device"] if number is None else number
        self.before: list[int] = []

    def __enter__(self) -> "Device":
        self.before.append(_state["device"])
        _use(self.id)
        return self

    def __exit__(self, *about: Any) -> None:
        _use(self.before.pop())

    def use(self) -> None:
        _use(self.id)

    def synchronize(self) -> None:
        with self:
            _call("cuCtxSynchronize")

    @property
    def mem_info(self) -> tuple[int, int]:
        left, total = ctypes.c_size_t(), ctypes.c_size_t()
        with self:
            _call("cuMemGetInfo_v2", ctypes.byref(left), ctypes.byref(total))
        return left.value, total.value


def get_current_stream() -> Any:
    return SimpleNamespace(ptr=0, device_id=_state["device"])


class Event:
    def __init__(self) -> None:
        self.device = _state["device"]
        self.handle = _made("cuEventCreate", 0)

    def record(self, stream: Any = None) -> None:
        stream = stream or get_current_stream()
        assert stream.device_id == self.device, "an event and its stream are of one device"
        _call("cuEventRecord", self.handle, ctypes.c_void_p(stream.ptr))

    def synchronize(self) -> None:
        _call("cuEventSynchronize", self.handle)


def get_elapsed_time(first: Event, last: Event) -> float:
    milliseconds = ctypes.c_float()
    _call("cuEventElapsedTime", ctypes.byref(milliseconds), first.handle, last.handle)
    return milliseconds.value


def launch(name: str) -> None:
    device = _state["device"]
    if device not in _state["functions"]:
        _use(device)
        _state["functions"][device] = {None: _made("cuModuleLoadData", b"")}
    functions = _state["functions"][device]
    if name not in functions:
        functions[name] = _made("cuModuleGetFunction", functions[None], name.encode())
    _call("cuLaunchKernel", functions[name], 4, 1, 1, 128, 1, 1, 0, None, None, None)
