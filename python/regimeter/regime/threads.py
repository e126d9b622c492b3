# SPDX-License-Identifier: Apache-2.0
"""One profiler for many threads. GPUProfiler is already that; this keeps a history of what each call gave."""

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from ..system.joints import joint

HISTORY = 1000


class ThreadSafeProfiler:
    """Profiles calls from any thread and keeps the last profiles.

    Calls run side by side, not one after the other: a lock round them would change what is measured. What other threads
    of the process do at the same time is in a call's `busy_threads`. Names that are not here are those of GPUProfiler.
    """

    def __init__(self, device_id: int = 0, *, profiler: Any = None, history: int = HISTORY) -> None:
        if profiler is None:
            profiler = joint("profiler")()
        self.device_id = device_id
        self._profiler = profiler
        self._lock = threading.Lock()
        self._history: deque[tuple[str, dict[str, Any]]] = deque(maxlen=history)

    def profile_with_result(
        self, function: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> tuple[Any, dict[str, Any]]:
        """As `GPUProfiler.profile_with_result`."""
        result, profile = self._profiler.profile_with_result(function, *args, **kwargs)
        with self._lock:
            self._history.append((threading.current_thread().name, profile))
        return result, profile

    def profile_operation(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """As `GPUProfiler.profile_operation`."""
        return self.profile_with_result(function, *args, **kwargs)[1]

    def history(self) -> list[tuple[str, dict[str, Any]]]:
        """Return the last profiles with the name of the thread of each, oldest first."""
        with self._lock:
            return list(self._history)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._profiler, name)


def create_thread_safe_profiler(device_id: int = 0, **options: Any) -> ThreadSafeProfiler:
    """Return a `ThreadSafeProfiler`."""
    return ThreadSafeProfiler(device_id, **options)
