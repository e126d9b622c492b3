# SPDX-License-Identifier: Apache-2.0
"""Memory of a benchmark: torch's device allocator where the program uses it, else growth of the resident set.

The kernel keeps the peak of the resident set and resets it on request, so watching it costs the timed code
nothing. It sees every allocator of the process, in pages: what fits into memory that the process already holds is
no growth.
"""

import gc
import sys
import tracemalloc
from array import array
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from ...capture.device_memory import TorchMemoryProbe
from ...system import peak

PROBE = TorchMemoryProbe()
DEVICE, RESIDENT = "torch's device allocator", "growth of the resident set"
# Growth of the resident set below this in a block of calls is not taken for a leak: allocators round up.
RESIDENT_STEP = 1 << 20
# Growth in bytes a call below which Python's own free lists and caches explain it.
TRACED_STEP = 16
BLOCKS = 3
CALLS = 10


def torch_cuda() -> Any:
    """Return torch.cuda where the program uses it, else None; nothing is imported or initialised."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    try:
        return cuda if cuda is not None and cuda.is_initialized() else None
    except Exception:  # half imported
        return None


class PeakMemory:
    """The peak of memory between making and :meth:`read`, above what was in use at the beginning; read once."""

    def __init__(self) -> None:
        cuda = torch_cuda()
        self._before: int | None = None
        self._scope = None if cuda is None else PROBE.begin(int(cuda.current_device()))
        if self._scope is not None:
            self.source = DEVICE
            return
        self.source = RESIDENT
        if not peak.begin():
            return
        now = peak.resident()
        self._before = None if now is None else now[0]

    def read(self) -> tuple[float | None, str]:
        """Return the peak in bytes, or None with the reason why it is not known."""
        if self._scope is not None:
            found = PROBE.end(self._scope)
            return (None, "torch.cuda is gone") if found is None else (float(found[3] - found[1]), "")
        if self._before is None:
            return None, f"the peak of the resident set cannot be reset on this system ({peak.RESET})"
        most = peak.since()
        if most is None:
            return None, f"the system does not tell the resident set ({peak.STATUS})"
        return float(max(0, most - self._before)), ""


def find_leak(call: Callable[[], object], calls: int = CALLS) -> str:
    """Call the code in three blocks and return what grew in each of them, '' when nothing did.

    Looked at: memory that Python and NumPy allocated (tracemalloc), torch's device memory, the resident set.
    """
    # Numbers in place, so that looking does not itself hold more and more.
    levels = [array("q", [0] * (BLOCKS + 1)) for _ in KINDS]
    started = not tracemalloc.is_tracing()
    if started:
        tracemalloc.start()
    try:
        for _ in range(2):
            call()
        _look(levels, 0)
        for block in range(BLOCKS):
            for _ in range(calls):
                call()
            _look(levels, block + 1)
    finally:
        if started:
            tracemalloc.stop()
    for (what, least), values in zip(KINDS.items(), levels, strict=True):
        steps = [after - before for before, after in pairwise(values)]
        if min(steps) >= least * (calls if what == TRACED else 1):
            return f"{what} grows by {sum(steps) / BLOCKS / calls:,.0f} bytes a call over {BLOCKS * calls} calls"
    return ""


TRACED = "memory of Python and NumPy"
# What is looked at, and the growth in a block of calls (of what is traced, in a call) that is taken for a leak.
KINDS = {"device memory": 1, TRACED: TRACED_STEP, "the resident set": RESIDENT_STEP}


def _look(levels: list["array[int]"], at: int) -> None:
    gc.collect()
    cuda, now = torch_cuda(), peak.resident()
    levels[0][at] = 0 if cuda is None else int(cuda.memory_allocated())
    levels[1][at] = tracemalloc.get_traced_memory()[0]
    levels[2][at] = 0 if now is None else now[0]
