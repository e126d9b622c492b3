# SPDX-License-Identifier: Apache-2.0
"""Device memory of a scope, from torch's caching allocator.

The allocator keeps one peak per device, which can be reset but not set. To know the peak inside each of
several nested scopes, the peak is reset when a scope begins, after what it was has been added to the scopes
around it, whichever profiler, benchmark or analysis opened them; nothing else of regimeter resets it. The peak of the
whole process is kept here (:meth:`TorchMemoryProbe.process_peak`), because torch's own figure starts anew each time.
"""

import os
import sys
import threading
import weakref
from dataclasses import dataclass
from typing import Any


def reason() -> str | None:
    """Say why device memory is not measured, None when it is."""
    torch = sys.modules.get("torch")
    if torch is None:
        return "torch is not loaded"
    try:
        if not torch.cuda.is_available():
            return "torch finds no CUDA device"
        if not torch.cuda.is_initialized():
            return "torch has not initialised CUDA"
    except Exception as error:
        return f"torch.cuda failed: {error}"
    return None


def _allocator() -> Any:
    """Return torch.cuda when its allocator is in use, None otherwise; never initialises CUDA."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is None:
        return None
    return cuda if cuda.is_initialized() else None


@dataclass(slots=True)
class _Open:
    device: int
    begin: int
    peak: int
    allocator: "_Allocator"


class _Allocator:
    """What is known of the peaks of one allocator: whoever resets them does it here, so that nobody loses one."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.open: dict[int, list[_Open]] = {}
        self.process_peak: dict[int, int] = {}

    def fold(self, cuda: Any, device: int) -> None:
        """Add the allocator's peak since the last reset to every open scope, and reset it; with the lock held."""
        peak = int(cuda.max_memory_allocated(device))
        for scope in self.open.get(device, ()):
            scope.peak = max(scope.peak, peak)
        self.process_peak[device] = max(self.process_peak.get(device, 0), peak)
        cuda.reset_peak_memory_stats(device)


_known: "weakref.WeakKeyDictionary[Any, _Allocator]" = weakref.WeakKeyDictionary()
_making = threading.Lock()


def _forget() -> None:
    """In a forked child: scopes of the parent are not open here, and its threads do not give locks back."""
    global _making
    _making = threading.Lock()
    _known.clear()


os.register_at_fork(after_in_child=_forget)


def _allocator_of(cuda: Any) -> _Allocator:
    with _making:
        return _known.setdefault(cuda, _Allocator())


class TorchMemoryProbe:
    """Begin and end values and the true peak of scopes, nested or overlapping, on any thread and of any probe.

    All scopes of a device that are open together share the allocator's peak, so each is told of every
    reset. `begin` returns a token for `end`, None while torch does not use CUDA.
    """

    def begin(self, device: int) -> _Open | None:
        cuda = _allocator()
        if cuda is None:
            return None
        found = _allocator_of(cuda)
        with found.lock:
            found.fold(cuda, device)
            allocated = int(cuda.memory_allocated(device))
            scope = _Open(device, allocated, allocated, found)
            found.open.setdefault(device, []).append(scope)
            return scope

    def end(self, token: _Open) -> tuple[int, int, int, int, int] | None:
        """Return (device, allocated at begin, allocated at end, peak inside, reserved), in bytes."""
        cuda, found = _allocator(), token.allocator
        with found.lock:
            if cuda is not None:
                found.fold(cuda, token.device)
            scopes = found.open[token.device]
            scopes[:] = [scope for scope in scopes if scope is not token]
            if cuda is None:
                return None
            allocated = int(cuda.memory_allocated(token.device))
            reserved = int(cuda.memory_reserved(token.device))
            return token.device, token.begin, allocated, max(token.peak, allocated), reserved

    def process_peak(self, device: int = 0) -> int | None:
        """Return the largest allocated bytes of the process so far, None while torch does not use CUDA."""
        cuda = _allocator()
        if cuda is None:
            return None
        found = _allocator_of(cuda)
        with found.lock:
            return max(found.process_peak.get(device, 0), int(cuda.max_memory_allocated(device)))
