# SPDX-License-Identifier: Apache-2.0
"""Cost of one scope against its peers, in one run: ``python benchmarks/scope.py [--json]``.

Each line is the least of many short interleaved bursts, less the empty loop. The target column gives the
ratio to contextlib.nullcontext that the project has set itself.
"""

import asyncio
import contextlib
import json
import sys
import threading
from collections.abc import Callable, Iterator
from time import perf_counter_ns

import bursts

import regimeter


@contextlib.contextmanager
def generator_manager(name: str) -> Iterator[None]:
    """Do nothing, the way a context manager is usually written."""
    yield


def plain(x: int) -> int:
    """Return its argument."""
    return x


def peers() -> dict[str, Callable[[], int]]:
    """Return the bursts of the peers that are installed."""
    found: dict[str, Callable[[], int]] = {}
    try:
        import nvtx
    except ImportError:
        pass
    else:
        found["nvtx.annotate (no tool attached)"] = bursts.loop('with nvtx.annotate("op"): pass', nvtx=nvtx)
    return found


def torch_off() -> dict[str, Callable[[], int]]:
    """Return torch's scope while no profiler runs."""
    try:
        from torch.profiler import record_function
    except ImportError:
        return {}
    return {
        "record_function (profiler off)": bursts.loop(
            'with record_function("op"): pass', record_function=record_function
        )
    }


def viztracer_event() -> float | None:
    """Return the cost of viztracer's event, None without it; its tracer slows every call while it runs."""
    try:
        from viztracer import VizTracer
    except ImportError:
        return None
    tracer = VizTracer(verbose=0, tracer_entries=200_000, log_sparse=True)
    candidates = {
        "empty loop": bursts.loop("pass"),
        "on": bursts.loop('with tracer.log_event("op"): pass', tracer=tracer),
    }
    tracer.start()
    try:
        return bursts.minima(candidates, rounds=20)["on"]
    finally:
        tracer.stop()
        tracer.clear()


def torch_on() -> float | None:
    """Return the cost of torch's scope while its profiler runs, None without torch."""
    try:
        from torch.profiler import ProfilerActivity, profile, record_function
    except ImportError:
        return None
    candidates = {
        "empty loop": bursts.loop("pass"),
        "on": bursts.loop('with record_function("op"): pass', record_function=record_function),
    }
    with profile(activities=[ProfilerActivity.CPU]):
        return bursts.minima(candidates, rounds=8)["on"]


def own() -> dict[str, Callable[[], int]]:
    """Return the bursts of regimeter."""
    on = regimeter.GPUProfiler(enable_detailed_metrics=False)
    off = regimeter.GPUProfiler(enabled=False, enable_detailed_metrics=False)
    default = regimeter.GPUProfiler()
    sampled = regimeter.GPUProfiler(enable_detailed_metrics=False, sample_rate=0.01)
    tracking = regimeter.GPUProfiler(track_memory=True)
    on._warm(600_000)
    nested = "".join(f'{" " * i}with p.profile("level{i}"):\n' for i in range(10)) + " " * 10 + "pass"
    return {
        "regimeter scope": bursts.loop('with p.profile("op"): pass', p=on),
        "regimeter scope, device=": bursts.loop('with p.profile("op", device="cpu"): pass', p=on),
        "regimeter scope, default settings": bursts.loop('with p.profile("op"): pass', p=default),
        "regimeter scope, disabled": bursts.loop('with p.profile("op"): pass', p=off),
        "regimeter scope, disabled, device=": bursts.loop('with p.profile("op", device="cpu"): pass', p=off),
        "regimeter scope, 1 % sampled": bursts.loop('with p.profile("op"): pass', p=sampled),
        "regimeter scope, metadata step=3": bursts.loop('with p.profile("op", step=3): pass', p=on),
        "regimeter scope, metadata step=n": bursts.loop(
            'n[0] += 1\nwith p.profile("op", step=n[0]): pass', p=on, n=[0]
        ),
        "regimeter scope, made-up name": bursts.loop('with p.profile(f"op{k}"): pass', p=on, k=1),
        "regimeter scope, track_memory": bursts.loop('with p.profile("op"): pass', p=tracking),
        "regimeter scope, per level of 10": bursts.loop(nested, p=on),
        "regimeter decorator (call included)": bursts.loop("f(1)", f=on.profile_function(plain)),
        "regimeter decorator, disabled": bursts.loop("f(1)", f=off.profile_function(plain)),
    }


def in_threads(threads: int) -> float:
    """Return the wall time per scope with that many threads recording at once, least of a few tries."""
    profiler = regimeter.GPUProfiler(enable_detailed_metrics=False)
    profiler._warm(400_000)
    best = float("inf")
    for _ in range(8):
        work = [bursts.loop('with p.profile("op"): pass', p=profiler) for _ in range(threads)]
        gate = threading.Barrier(threads + 1)

        def body(burst: Callable[[], int], gate: threading.Barrier = gate) -> None:
            gate.wait()
            for _ in range(5):
                burst()

        running = [threading.Thread(target=body, args=(burst,)) for burst in work]
        for thread in running:
            thread.start()
        gate.wait()
        begin = perf_counter_ns()
        for thread in running:
            thread.join()
        best = min(best, (perf_counter_ns() - begin) / (5 * bursts.BURST * threads))
    profiler.close()
    return best


def in_asyncio() -> tuple[float, float]:
    """Return (ns per scope inside one task, ns per scope and switch with 100 tasks that interleave)."""
    profiler = regimeter.GPUProfiler(enable_detailed_metrics=False)
    profiler._warm(400_000)
    burst = bursts.loop('with p.profile("op"): pass', p=profiler)

    async def alone() -> float:
        return min(burst() for _ in range(30)) / bursts.BURST

    async def worker(scoped: bool) -> None:
        for _ in range(50):
            if scoped:
                with profiler.profile("op"):
                    await asyncio.sleep(0)
            else:
                await asyncio.sleep(0)

    async def many(scoped: bool) -> float:
        begin = perf_counter_ns()
        await asyncio.gather(*(worker(scoped) for _ in range(100)))
        return (perf_counter_ns() - begin) / 5000

    one = asyncio.run(alone())
    pairs = [(asyncio.run(many(False)), asyncio.run(many(True))) for _ in range(25)]
    profiler.close()
    return one, min(b for _, b in pairs) - min(a for a, _ in pairs)


def after_cold_caches() -> float:
    """Return the median cost of a scope right after 64 MB have been walked through."""
    import statistics

    profiler = regimeter.GPUProfiler(enable_detailed_metrics=False)
    wipe = bytearray(64 << 20)
    times = []
    for _ in range(60):
        wipe[::64] = bytes(len(wipe) // 64)
        begin = perf_counter_ns()
        with profiler.profile("op"):
            pass
        middle = perf_counter_ns()
        times.append(middle - begin - (perf_counter_ns() - middle))
    profiler.close()
    return statistics.median(times)


TARGETS = {
    "regimeter scope": 0.30,
    "regimeter scope, disabled": 0.18,
    "regimeter decorator, above the bare call": 0.15,
}


def measure() -> dict[str, float]:
    """Return nanoseconds by name."""
    idle = regimeter.GPUProfiler(enabled=False).profile("x")
    candidates = {
        "empty loop": bursts.loop("pass"),
        "contextlib.nullcontext": bursts.loop("with nullcontext(): pass", nullcontext=contextlib.nullcontext),
        "generator context manager": bursts.loop('with manager("op"): pass', manager=generator_manager),
        "do-nothing C context manager (floor)": bursts.loop("with idle: pass", idle=idle),
        "bare call": bursts.loop("f(1)", f=plain),
        **own(),
        **peers(),
        **torch_off(),
    }
    result = bursts.minima(candidates)
    result["regimeter scope, per level of 10"] /= 10
    result["regimeter decorator, above the bare call"] = (
        result["regimeter decorator (call included)"] - result["bare call"]
    )
    for threads in (1, 2, 8):
        result[f"regimeter scope, {threads} threads, wall per scope (loop included)"] = in_threads(threads)
    one, switching = in_asyncio()
    result["regimeter scope inside a task (loop included)"] = one
    result["regimeter scope around an await, 100 tasks, above the bare await"] = switching
    result["regimeter scope with cold caches (median)"] = after_cold_caches()
    # Last, because both leave traces in the process that slow every later call.
    for name, function in (("viztracer log_event", viztracer_event), ("record_function (profiler on)", torch_on)):
        value = function()
        if value is not None:
            result[name] = value
    return result


def main() -> int:
    """Print the table."""
    result = measure()
    base = result["contextlib.nullcontext"]
    if "--json" in sys.argv:
        print(json.dumps({"machine": bursts.machine(), "ns": result, "targets": TARGETS}))
        return 0
    print(bursts.machine())
    rows = []
    for name, value in result.items():
        target = TARGETS.get(name)
        verdict = "" if target is None else f"<= {target:.2f} {'met' if value / base <= target else 'MISSED'}"
        rows.append((name, f"{value:,.1f}", f"{value / base:.3f}", verdict))
    print(bursts.table(rows, ("what", "ns", "ratio to nullcontext", "target")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
