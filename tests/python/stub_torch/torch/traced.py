# SPDX-License-Identifier: Apache-2.0
"""torch.profiler on doubles: it has CUPTI's one subscription while it runs, and knows what was launched and how long
each kernel was meant to take, from the stub itself and not from CUPTI's records.
"""

import contextlib
import ctypes
import os
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from . import cuda


def _event(name: str, ns: int) -> Any:
    return SimpleNamespace(name=lambda: name, duration_ns=lambda: ns, device_type=lambda: 1)


@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p)
def _heard(user: Any, domain: int, call: int, data: Any) -> None:
    pass


@contextlib.contextmanager
def profile(activities: Any = None) -> Iterator[Any]:
    path = os.environ.get("REGIMETER_LIBCUPTI", "off")
    cupti = ctypes.CDLL(path) if path != "off" else None
    subscriber = ctypes.c_void_p()
    ours = hasattr(cupti, "cuptiSubscribe") and cupti.cuptiSubscribe(ctypes.byref(subscriber), _heard, None) == 0
    cuda.traced = launched = []
    found: list[Any] = []
    try:
        yield SimpleNamespace(profiler=SimpleNamespace(kineto_results=SimpleNamespace(events=lambda: list(found))))
    finally:
        found += [_event(name, ns) for name, ns in launched]
        cuda.traced = None
        if ours:
            cupti.cuptiUnsubscribe(subscriber)
