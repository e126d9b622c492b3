# SPDX-License-Identifier: Apache-2.0
"""The memory of the process stays flat while a million kernels are recorded to a file.

Beside it CUPTI alone, with buffers that are thrown away, in a process of its own: what grows there is not ours.
"""

import ctypes
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from . import doubles
from .claims import Claim, at_least, at_most, shown
from .common import anomalies, in_process, keep, ready, tracing

KERNELS, WARM = (100_000, 10_000) if doubles.ON else (1_000_000, 100_000)
BARE = KERNELS // 5
KIND_CONCURRENT_KERNEL, FORCED = 10, 1
REQUESTED = ctypes.CFUNCTYPE(
    None, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(ctypes.c_size_t)
)
COMPLETED = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
CALLED = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p)


def resident_bytes() -> int:
    """Return the resident set of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class BareCupti:
    """CUPTI's records of kernels with nobody who reads them; its buffers serve again."""

    def __init__(self, path: str) -> None:
        self.cupti, self.size = ctypes.CDLL(path), 2 << 20
        self.free, self.made, self.bytes = list[int](), list[Any](), 0
        self.calls = REQUESTED(self._requested), COMPLETED(self._completed), CALLED(lambda *_: None)
        self._check("cuptiSubscribe", ctypes.byref(ctypes.c_void_p()), self.calls[2], None)
        self._check("cuptiActivityRegisterCallbacks", *self.calls[:2])
        self._check("cuptiActivityEnable", KIND_CONCURRENT_KERNEL)

    def _check(self, function: str, *arguments: Any) -> None:
        result = getattr(self.cupti, function)(*arguments)
        if result != 0:
            raise RuntimeError(f"{function} answered {result}")

    def _requested(self, buffer: Any, size: Any, most: Any) -> None:
        if not self.free:
            self.made.append((ctypes.c_uint64 * (self.size // 8))())
            self.free.append(ctypes.addressof(self.made[-1]))
        buffer[0], size[0], most[0] = self.free.pop(), self.size, 0

    def _completed(self, context: Any, stream: int, buffer: int, size: int, valid: int) -> None:
        self.bytes += valid
        self.free.append(buffer)

    def flush(self, flag: int = 0) -> None:
        """Have CUPTI deliver."""
        self._check("cuptiActivityFlushAll", flag)


def bare(path: str, kernels: int, warm: int) -> dict[str, Any]:
    """Launch with CUPTI alone; return the memory after each part, and the bytes of records that came."""
    torch = ready()
    small = torch.zeros(256, device="cuda")
    cupti, sizes = BareCupti(path), []
    for _ in range(kernels // warm):
        for _ in range(warm):
            small.add_(1)
        torch.cuda.synchronize()
        cupti.flush()
        sizes.append(resident_bytes())
    cupti.flush(FORCED)
    cupti.cupti.cuptiActivityDisable(KIND_CONCURRENT_KERNEL)
    return {"resident_bytes": sizes, "record_bytes": cupti.bytes, "buffers": len(cupti.made), "kernels": kernels}


def measure(kernels: int = KERNELS, warm: int = WARM) -> dict[str, Any]:
    """Launch a tenth, look at the memory, launch the rest, look again."""
    torch = ready()
    small = torch.zeros(256, device="cuda")
    with tempfile.TemporaryDirectory(prefix="regimeter-evidence-") as folder:
        file = Path(folder) / "million.rgm"
        profiler = tracing(path=file)
        sizes = []
        begin = time.perf_counter()
        with profiler.profile("many"):
            for part in range(kernels // warm):
                for _ in range(warm):
                    small.add_(1)
                torch.cuda.synchronize()
                sizes.append(resident_bytes())
                if part == 0:
                    begin = time.perf_counter()
        seconds = time.perf_counter() - begin
        profiler.close()
        written = file.stat().st_size
        state = profiler._kernels_state()
        counted = anomalies(profiler.run())
    found = {
        "resident_bytes": sizes,
        "seconds": seconds,
        "file_bytes": written,
        "records": state["records"],
        "dropped": state["dropped"],
        "anomalies": counted,
    }
    keep(found)
    part = min(BARE, kernels)
    try:
        return found | {"bare": in_process("million_kernels", "bare", state["path"], part, part // 5, limit_s=30)}
    except RuntimeError as error:
        return found | {"bare": {"failed": str(error)[-300:]}}


def judge(found: dict[str, Any]) -> list[Claim]:
    """Less than 64 MB between a tenth and the end, and every kernel recorded or counted."""
    sizes, bare = found["resident_bytes"], found.get("bare", {"failed": "not measured"})
    alone = bare.get("resident_bytes")
    return [
        at_most("growth from a tenth to the end", (sizes[-1] - sizes[0]) / 1e6, 64, "MB"),
        at_least("kernels recorded or counted", found["records"] + found["dropped"], KERNELS),
        shown("dropped", found["dropped"]),
        shown("launch and record, each kernel", found["seconds"] * 1e9 / (KERNELS - WARM), "ns"),
        shown("file", found["file_bytes"], "bytes"),
        shown("anomalies", found["anomalies"]),
        shown("growth of each hundred thousand kernels", _growth(sizes, KERNELS), "MB"),
        shown("the same by CUPTI alone", _growth(alone, bare["kernels"]) if alone else bare["failed"], "MB"),
        *(
            [at_least("bytes of records by CUPTI alone, a kernel", bare["record_bytes"] / bare["kernels"], 100)]
            if alone
            else []
        ),
    ]


def _growth(sizes: list[int], kernels: int) -> float:
    """Return megabytes a hundred thousand kernels, from the first part to the last."""
    return (sizes[-1] - sizes[0]) / 1e6 / (kernels * (len(sizes) - 1) / len(sizes)) * 1e5
