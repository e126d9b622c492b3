# SPDX-License-Identifier: Apache-2.0
"""Errors of profiling single operations, and a call that returns them instead of raising."""

from collections.abc import Callable
from typing import Any

from .._core import Error, UnavailableError


class ProfilingError(Error):
    """An operation could not be profiled; what the operation itself raised is raised as it is."""


class CUDANotAvailableError(ProfilingError, UnavailableError):
    """A CUDA device was asked for and there is none that can be used; the text has the reason."""


class OperationTooFastError(ProfilingError):
    """An operation is below what the clock resolves, and repetitions were not allowed.

    Never raised by `profile_operation`, which classifies short calls; `overhead_test` raises it.
    """


class OOMError(ProfilingError, MemoryError):
    """The operation ran out of memory of the device or of the host."""


class MultiGPUError(ProfilingError):
    """Several devices were asked for and they are not there; the text has the reason."""


def out_of_memory(error: BaseException) -> bool:
    """Say whether an exception means that memory ran out, without importing a library."""
    return isinstance(error, MemoryError) or type(error).__name__ in ("OutOfMemoryError", "CUDAOutOfMemoryError")


def safe_profile(profiler: Any, function: Callable[..., Any], *args: Any, **kwargs: Any) -> dict[str, Any] | None:
    """Return ``profiler.profile_operation(function, ...)``, or a dictionary ``{"error": text, "regime": "UNKNOWN"}``.

    For loops over many operations where one that fails must not end the loop. The function runs once, also when it
    fails. KeyboardInterrupt and SystemExit are raised.
    """
    try:
        found: dict[str, Any] = profiler.profile_operation(function, *args, **kwargs)
        return found
    except Exception as error:
        name = "OOMError" if out_of_memory(error) else type(error).__name__
        return {"error": f"{name}: {error}", "regime": "UNKNOWN", "runtime_ms": None}
