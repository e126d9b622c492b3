# SPDX-License-Identifier: Apache-2.0
"""What device time costs a scope, on the host and on the device, beside two bare event records."""

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns
from typing import Any

from .claims import Claim, at_most, equal, physical, shown
from .common import ready, spread

# Few enough that no burst fills the queue of the stream, where a call would wait for the device.
BURST, BURSTS = 200, 60
LOOP = """
typedef int (*record)(void *, void *);
void burst(record f, void *a, void *b, void *s, long n) { while (n--) { f(a, s); f(b, s); } }
"""


def timed(burst: Callable[[], None], torch: Any, between: Callable[[], object] = lambda: None) -> dict[str, Any]:
    """Return nanoseconds per turn over bursts; the device is empty before each."""
    times = []
    for _ in range(BURSTS):
        torch.cuda.synchronize()
        between()
        begin = perf_counter_ns()
        burst()
        times.append((perf_counter_ns() - begin) / BURST)
    return spread(times)


def scopes(profiler: Any, device: str) -> Callable[[], None]:
    """Return a burst of empty scopes."""

    def burst() -> None:
        for _ in range(BURST):
            with profiler.profile("a", device=device):
                pass

    return burst


def torch_records(torch: Any) -> Callable[[], None]:
    """Return a burst of two records through torch's events."""
    first, second = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def burst() -> None:
        for _ in range(BURST):
            first.record()
            second.record()

    return burst


def driver_records(torch: Any) -> tuple[Callable[[], None], Callable[[], None] | None]:
    """Return bursts of two cuEventRecord calls: called by ctypes, and, where there is a compiler, by a loop in C."""
    import os

    library = ctypes.CDLL(os.environ.get("REGIMETER_LIBCUDA") or "libcuda.so.1")
    events = [ctypes.c_void_p(), ctypes.c_void_p()]
    for event in events:
        if library.cuEventCreate(ctypes.byref(event), 0) != 0:
            raise RuntimeError("cuEventCreate fails")
    record, stream = library.cuEventRecord, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    first, second = events

    def burst() -> None:
        for _ in range(BURST):
            record(first, stream)
            record(second, stream)

    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return burst, None
    folder = Path(tempfile.mkdtemp(prefix="regimeter-evidence-"))
    (folder / "burst.c").write_text(LOOP)
    subprocess.run(
        [compiler, "-O2", "-shared", "-fPIC", str(folder / "burst.c"), "-o", str(folder / "burst.so")], check=True
    )
    loop = ctypes.CDLL(str(folder / "burst.so")).burst
    shutil.rmtree(folder)
    address = ctypes.cast(record, ctypes.c_void_p)
    return burst, lambda: loop(address, first, second, stream, ctypes.c_long(BURST))


def device_time(torch: Any, around: Callable[[], Any] | None) -> list[float]:
    """Return device nanoseconds per small kernel of a burst that is queued as a whole, with or without scopes."""
    x = torch.zeros(256, device="cuda")
    times = []
    for _ in range(20):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda._sleep(20_000_000)
        begin.record()
        for _ in range(BURST):
            if around is None:
                x.add_(1)
            else:
                with around():
                    x.add_(1)
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e6 / BURST)
    return times


def measure() -> dict[str, Any]:
    """Time scopes and records."""
    from regimeter import GPUProfiler

    torch = ready()
    by_ctypes, by_loop = driver_records(torch)
    found: dict[str, Any] = {
        "two_torch_records_ns": timed(torch_records(torch), torch),
        "two_ctypes_records_ns": timed(by_ctypes, torch),
        "two_bare_records_ns": timed(by_loop, torch) if by_loop else None,
    }
    with GPUProfiler(enable_detailed_metrics=False) as profiler:
        scopes(profiler, "gpu")()  # makes the pool
        found["scope_cpu_ns"] = timed(scopes(profiler, "cpu"), torch)
        found["scope_gpu_ns"] = timed(scopes(profiler, "gpu"), torch, profiler._device_drain)
        found["stated_ns"] = profiler._device_state()["scope_ns"]
        device_time(torch, None)
        bare, with_scopes = [], []
        for _ in range(3):
            bare += device_time(torch, None)
            with_scopes += device_time(torch, lambda: profiler.profile("b"))
        found["kernel_device_ns"], found["kernel_in_scope_device_ns"] = spread(bare), spread(with_scopes)
        torch.cuda.synchronize()
        profiler._device_drain()
        state = profiler._device_state()
        found["counts"] = {name: state[name] for name in ("begun", "ended", "resolved", "refused") if name in state}
    with GPUProfiler(enable_detailed_metrics=False, device_timing=False) as profiler:
        found["scope_untimed_ns"] = timed(scopes(profiler, "gpu"), torch)
    return found


def judge(found: dict[str, Any]) -> list[Claim]:
    """Below 3 µs; the ratio to the records is a figure."""
    scope = found["scope_gpu_ns"]["median"]
    claims = [
        physical(at_most("scope with device time, on the host", scope, 3000, "ns")),
        shown("the same, least", found["scope_gpu_ns"]["least"], "ns"),
        shown("scope declared as cpu", found["scope_cpu_ns"]["median"], "ns"),
        shown("scope without device timing", found["scope_untimed_ns"]["median"], "ns"),
    ]
    for name in ("two_torch_records_ns", "two_ctypes_records_ns", "two_bare_records_ns"):
        if found[name]:
            claims.append(shown(name.replace("_", " ").removesuffix(" ns"), found[name]["median"], "ns"))
            claims.append(
                shown(f"scope over {name.replace('_', ' ').removesuffix(' ns')}", scope / found[name]["median"])
            )
    added = found["kernel_in_scope_device_ns"]["median"] - found["kernel_device_ns"]["median"]
    claims.append(shown("device time that a scope adds to a stream of small kernels", added, "ns"))
    counts = found["counts"]
    claims.append(equal("scopes whose end was recorded", counts["ended"], counts["begun"]))
    claims.append(equal("scopes with a time, or refused", counts["resolved"] + counts["refused"], counts["ended"]))
    claims.append(shown("events", counts))
    return claims
