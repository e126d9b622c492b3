# SPDX-License-Identifier: Apache-2.0
"""Which stream a block works in: the libraries that know a current stream, and what a stream object is.

Nothing is imported, and no library is asked before the program itself has it use the device: the first question
would initialise it. The callables that are found here are called by the hot path.
"""

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from ..system import gpus

Source = Callable[..., int]
Found = tuple[Source | None, Callable[[], int] | None]
NOTHING: Found = (None, None)
# With one of these Numba calls functions of the driver to which stream 0 is the default stream of the thread; to its
# ordinary functions, with which events are recorded, that stream is 2.
PER_THREAD = ("NUMBA_CUDA_PER_THREAD_DEFAULT_STREAM", "CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM")
OF_THREAD = 2
NOT_IN_USE = "the device was not in use in this thread when the scope began"


def describe(state: Mapping[str, Any] | None, *, asked: bool) -> dict[str, Any]:
    """Describe device timing from the counters of a profiler; None where it is off, asked for or not."""
    if state is None:
        return {"available": False, "reason": gpus.reason() if asked else "device_timing is off"}
    counts = {name: value for name, value in state.items() if name != "reason"}
    why = state["reason"]
    return {
        "available": bool(state["begun"]) and not why,
        "reason": f"{why}; {gpus.reason()}" if why else NOT_IN_USE,
        **counts,
    }


def find() -> tuple[object, ...]:
    """Return, for torch, CuPy and Numba in turn, a callable that tells the current stream and one for its argument."""
    return (*_torch(), *_cupy(), *_numba())


def _torch() -> Found:
    torch = sys.modules.get("torch")
    try:
        if torch is None or not torch.cuda.is_initialized():
            return NOTHING
        return torch._C._cuda_getCurrentRawStream, torch._C._cuda_getDevice
    except Exception:  # half imported, or built without CUDA
        return NOTHING


def _cupy() -> Found:
    if sys.modules.get("cupy") is None:
        return NOTHING
    direct = getattr(sys.modules.get("cupy_backends.cuda.stream"), "get_current_stream_ptr", None)
    if direct is not None:
        return direct, None
    try:
        current = sys.modules["cupy"].cuda.get_current_stream
    except Exception:  # half imported
        return NOTHING
    return lambda: int(current().ptr), None


def _numba() -> Found:
    """Return Numba's default stream; it has no current one, and what names none works there."""
    cuda = sys.modules.get("numba.cuda")
    try:
        if cuda is None or not cuda.cudadrv.driver.driver.is_initialized:
            return NOTHING
        stream = handle(cuda.default_stream())
    except Exception:
        return NOTHING
    if stream == 0 and any(os.environ.get(name, "0") not in ("", "0") for name in PER_THREAD):
        stream = OF_THREAD
    return (lambda: stream, None) if stream is not None else NOTHING


def handle(stream: Any) -> int | None:
    """Return the handle of a stream of torch, CuPy, Numba or the CUDA stream protocol, None for anything else."""
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        version_and_handle = protocol() if callable(protocol) else protocol
        return int(version_and_handle[1])
    for name in ("cuda_stream", "ptr", "handle"):
        value = getattr(stream, name, None)
        value = getattr(value, "value", value)  # Numba's is a ctypes pointer, which is None for 0
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if name == "handle" and value is None and hasattr(stream, name):
            return 0
    return None
