# SPDX-License-Identifier: Apache-2.0
"""The memory of the process stays flat while a million kernels are recorded to a file."""

import os
import tempfile
import time
from pathlib import Path
from typing import Any

from . import doubles
from .claims import Claim, at_least, at_most, shown
from .common import anomalies, ready, tracing

KERNELS, WARM = (100_000, 10_000) if doubles.ON else (1_000_000, 100_000)


def resident_bytes() -> int:
    """Return the resident set of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


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
    return {
        "resident_bytes": sizes,
        "seconds": seconds,
        "file_bytes": written,
        "records": state["records"],
        "dropped": state["dropped"],
        "anomalies": counted,
    }


def judge(found: dict[str, Any]) -> list[Claim]:
    """Less than 64 MB between a tenth and the end, and every kernel recorded or counted."""
    sizes = found["resident_bytes"]
    return [
        at_most("growth from a tenth to the end", (sizes[-1] - sizes[0]) / 1e6, 64, "MB"),
        at_least("kernels recorded or counted", found["records"] + found["dropped"], KERNELS),
        shown("dropped", found["dropped"]),
        shown("launch and record, each kernel", found["seconds"] * 1e9 / (KERNELS - WARM), "ns"),
        shown("file", found["file_bytes"], "bytes"),
        shown("anomalies", found["anomalies"]),
    ]
