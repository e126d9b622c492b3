# SPDX-License-Identifier: Apache-2.0
"""A driver library, called directly: what tests launch single kernels with, on a device or on its double."""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np


class Device:
    """Device 0 of the driver `library`; `image` gives the module that holds an entry."""

    def __init__(self, library: str, image: Callable[[str], bytes]) -> None:
        self.library = ctypes.CDLL(library)
        self.image = image
        self.modules: dict[str, ctypes.c_void_p] = {}
        self.number, self.context, self.stream = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(self.number), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), self.number)
        self.call("cuCtxPushCurrent_v2", self.context)
        self.call("cuStreamCreate", ctypes.byref(self.stream), 1)

    def call(self, name: str, *arguments: Any) -> None:
        result = getattr(self.library, name)(*arguments)
        assert result == 0, f"{name} answers {result}"

    def close(self) -> None:
        for module in self.modules.values():
            self.call("cuModuleUnload", module)
        self.call("cuStreamDestroy_v2", self.stream)
        self.call("cuCtxPopCurrent_v2", ctypes.byref(self.context))
        self.call("cuDevicePrimaryCtxRelease_v2", self.number)

    def attribute(self, number: int) -> int:
        value = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(value), number, self.number)
        return value.value

    def function(self, name: str) -> ctypes.c_void_p:
        if name not in self.modules:
            self.modules[name] = ctypes.c_void_p()
            self.call("cuModuleLoadData", ctypes.byref(self.modules[name]), self.image(name))
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), self.modules[name], name.encode())
        return function

    def allocate(self, size: int) -> ctypes.c_ulonglong:
        address = ctypes.c_ulonglong()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address

    def free(self, address: ctypes.c_ulonglong) -> None:
        self.call("cuMemFree_v2", address)

    def enqueue(self, name: str, *arguments: Any, grid: int, block: int) -> None:
        """Launch on the stream; `arguments` are values of ctypes."""
        pointers = (ctypes.c_void_p * len(arguments))(*[ctypes.addressof(place) for place in arguments])
        self.call("cuLaunchKernel", self.function(name), grid, 1, 1, block, 1, 1, 0, self.stream, pointers, None)

    def synchronize(self) -> None:
        self.call("cuStreamSynchronize", self.stream)

    def launch(self, name: str, *arguments: Any, grid: int = 5, block: int = 64) -> None:
        """Run a kernel to its end; arrays are copied to the device and back."""
        places: list[Any] = []
        arrays: list[tuple[ctypes.c_ulonglong, np.ndarray]] = []
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                address = self.allocate(argument.nbytes)
                source = ctypes.c_void_p(argument.ctypes.data)
                self.call("cuMemcpyHtoDAsync_v2", address, source, ctypes.c_size_t(argument.nbytes), self.stream)
                arrays.append((address, argument))
                places.append(address)
            else:
                places.append(argument)
        self.enqueue(name, *places, grid=grid, block=block)
        for address, array in arrays:
            target = ctypes.c_void_p(array.ctypes.data)
            self.call("cuMemcpyDtoHAsync_v2", target, address, ctypes.c_size_t(array.nbytes), self.stream)
        self.synchronize()
        for address, _ in arrays:
            self.free(address)

    def seconds(self, name: str, *arguments: Any, grid: int, block: int, launches: int = 20) -> list[float]:
        """Durations of launches after one that is not timed, by pairs of events."""
        self.enqueue(name, *arguments, grid=grid, block=block)
        self.synchronize()
        events = [(ctypes.c_void_p(), ctypes.c_void_p()) for _ in range(launches)]
        for pair in events:
            for event in pair:
                self.call("cuEventCreate", ctypes.byref(event), 0)
        for begin, end in events:
            self.call("cuEventRecord", begin, self.stream)
            self.enqueue(name, *arguments, grid=grid, block=block)
            self.call("cuEventRecord", end, self.stream)
        self.synchronize()
        found = []
        for begin, end in events:
            milliseconds = ctypes.c_float()
            self.call("cuEventElapsedTime", ctypes.byref(milliseconds), begin, end)
            found.append(milliseconds.value * 1e-3)
            self.call("cuEventDestroy_v2", begin)
            self.call("cuEventDestroy_v2", end)
        return found
