# SPDX-License-Identifier: Apache-2.0
"""A double of the CUDA driver that tests of device time drive, and a stand-in of torch."""

import ctypes
import os
import threading
import types

import fakes
from entries import by_name

from regimeter import _core

MS = 1_000_000
# What device timing must never do: wait for the device, or touch events of a context that is gone.
FORBIDDEN = ("calls_cuEventSynchronize", "calls_cuStreamSynchronize", "calls_cuCtxSynchronize", "dead_events")
CAPTURED, STREAM_CHANGED, PENDING = (_core.INTERVAL_STATES.index(n) for n in ("captured", "stream_changed", "pending"))


class Driver:
    """The double's functions, with handles as integers."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(os.environ["REGIMETER_LIBCUDA"])
        self.library.fake_cuda_get.restype = ctypes.c_longlong
        self.library.fake_cuda_now.restype = ctypes.c_longlong

    def call(self, name, *arguments):
        result = getattr(self.library, name)(*arguments)
        assert result == 0, (name, result)

    def made(self, name, *arguments):
        """Call a function that makes something behind its first argument."""
        handle = ctypes.c_void_p()
        self.call(name, ctypes.byref(handle), *arguments)
        return handle.value

    def use(self, device=0):
        self.call("cuInit", 0)
        context = self.made("cuDevicePrimaryCtxRetain", device)
        self.call("cuCtxSetCurrent", ctypes.c_void_p(context))

    def stream(self):
        return self.made("cuStreamCreate", 1)

    def work(self, stream, ns):
        self.call("fake_cuda_work", ctypes.c_void_p(stream), ctypes.c_longlong(ns))

    def advance(self, ns):
        self.library.fake_cuda_advance(ctypes.c_longlong(ns))

    def set(self, name, value):
        self.library.fake_cuda_set(name.encode(), ctypes.c_longlong(value))

    def get(self, name):
        return self.library.fake_cuda_get(name.encode())


def driving(monkeypatch):
    """Yield the double, with a clock that a test moves, in use by this thread: the body of a fixture."""
    for name, value in fakes.environment(cuda="").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("REGIMETER_LIBHIP", "off")
    made = Driver()
    made.library.fake_cuda_restart()
    made.set("follow", 0)
    made.set("devices", 2)
    made.use()
    yield made
    used = {name: made.get(name) for name in FORBIDDEN}
    made.library.fake_cuda_restart()  # not in use any more, for tests that come later in this process
    assert used == dict.fromkeys(FORBIDDEN, 0)


class Torch:
    """A stand-in for torch with a current stream per thread."""

    def __init__(self, initialised=True):
        self.initialised = initialised
        self.current = threading.local()
        self.asked = 0
        self.cuda = types.SimpleNamespace(is_initialized=lambda: self.initialised)
        self._C = types.SimpleNamespace(_cuda_getDevice=lambda: 0, _cuda_getCurrentRawStream=self.stream)

    def stream(self, device):
        assert device == 0
        self.asked += 1
        return getattr(self.current, "value", 0)


def measured(profiler, driver, ns=1000 * MS):
    driver.advance(ns)
    return by_name(profiler)
