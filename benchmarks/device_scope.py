# SPDX-License-Identifier: Apache-2.0
"""What device time costs a scope.

    python benchmarks/device_scope.py             # with the double of the driver, or with a GPU where torch finds one

With the double (tests/fakes) the driver's own work is next to nothing, so the difference between a scope with events
and the driver's calls alone is this project's share. With a GPU it is compared with two bare cuEventRecord calls on
the same stream. Minimum of several bursts, warm caches; figures are printed, nothing is asserted.
"""

import ctypes
import os
import sys
from pathlib import Path
from time import perf_counter_ns

BURST, BURSTS = 2000, 15


def best(function) -> float:
    """Return the least nanoseconds per call over the bursts."""
    times = []
    for _ in range(BURSTS):
        begin = perf_counter_ns()
        function(BURST)
        times.append((perf_counter_ns() - begin) / BURST)
    return min(times)


def scopes(profiler, device: str):
    def run(count: int) -> None:
        for _ in range(count):
            with profiler.profile("a", device=device):
                pass

    return run


def c_burst(library: ctypes.CDLL) -> ctypes.CDLL:
    """Compile a loop of two bare records, so that no interpreter is in it."""
    import subprocess
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="regimeter-bench-"))
    source = folder / "burst.c"
    source.write_text(
        "typedef int (*record)(void *, void *);\n"
        "void burst(record f, void *a, void *b, void *s, long n) { while (n--) { f(a, s); f(b, s); } }\n"
    )
    target = folder / "burst.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", str(source), "-o", str(target)], check=True)
    return ctypes.CDLL(str(target))


def two_records(library: ctypes.CDLL, wait) -> float:
    burst = c_burst(library)
    events = [ctypes.c_void_p(), ctypes.c_void_p()]
    for event in events:
        library.cuEventCreate(ctypes.byref(event), 0)
    address = ctypes.cast(library.cuEventRecord, ctypes.c_void_p)

    def run(count: int) -> None:
        burst.burst(address, events[0], events[1], None, ctypes.c_long(count))

    times = []
    for _ in range(BURSTS):
        begin = perf_counter_ns()
        run(BURST)
        times.append((perf_counter_ns() - begin) / BURST)
        wait()
    return min(times)


def use_double() -> ctypes.CDLL:
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "python"))
    import fakes

    os.environ.update(fakes.environment(cuda="ready=1"))
    library = ctypes.CDLL(os.environ["REGIMETER_LIBCUDA"])
    library.cuInit(0)
    return library


def main() -> None:
    try:
        import torch

        real = torch.cuda.is_available()
    except ImportError:
        real = False
    if real:
        torch.ones(1, device="cuda")
        torch.cuda.synchronize()
        library, wait = ctypes.CDLL("libcuda.so.1"), torch.cuda.synchronize
        print(f"device: {torch.cuda.get_device_name()}")
    else:
        library, wait = use_double(), lambda: None
        print("device: none; the double of the driver")
    from regimeter import GPUProfiler

    bare = two_records(library, wait)
    with GPUProfiler(enable_detailed_metrics=False) as profiler:
        host = best(scopes(profiler, "cpu"))

        def burst(count: int) -> None:
            scopes(profiler, "gpu")(count)

        times = []
        for _ in range(BURSTS):
            begin = perf_counter_ns()
            burst(BURST)
            times.append((perf_counter_ns() - begin) / BURST)
            wait()
            profiler._device_drain()
        timed = min(times)
        stated = profiler._device_state()["scope_ns"]
    with GPUProfiler(enable_detailed_metrics=False, device_timing=False) as profiler:
        off = best(scopes(profiler, "gpu"))
    print(f"scope without device time          {off:8.0f} ns")
    print(f"scope on the processor             {host:8.0f} ns")
    print(f"scope with device time             {timed:8.0f} ns   (stated by the profiler: {stated:.0f} ns of events)")
    print(f"two bare cuEventRecord             {bare:8.0f} ns")
    print(f"device time over two bare records  {(timed - host) / bare:8.2f}")
    print(f"scope over two bare records        {timed / bare:8.2f}")


if __name__ == "__main__":
    main()
