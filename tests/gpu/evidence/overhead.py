# SPDX-License-Identifier: Apache-2.0
"""What tracing costs a program: bare, tier 0, tier 1, torch.profiler and Proton on the same loops.

CUPTI serves one tool in a process, so each tracer has a process of its own, and the processes run in random order. In
each, rounds with and without the tracer alternate in random order, and their medians are compared: what differs
between processes falls out. Rounds before the tracer was first started show whether it leaves the bare ones slower.
Timed is the loop with the synchronisation at its end; starting, stopping and writing of a tracer are not.
"""

import contextlib
import gc
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter_ns
from typing import Any

from . import doubles, loops
from .bounded import left_s
from .claims import Claim, at_least, at_most, equal, physical, shown
from .common import UnavailableHere, in_process, keep, ready, spread

TRACERS = ("tier0", "tier1", "torch_profiler", "torch_profiler_cuda", "proton")
# Steps a round. The host limits the first two, where a tracer's cost shows; the device limits the last.
LOOPS = {"decode": 10, "training": 20, "products": 40}
# The loop with most launches a second has all tracers, the next the usual ones, that of the device only our own.
OF_LOOP = {"decode": TRACERS, "training": TRACERS[:3], "products": TRACERS[:2]}
ROUNDS = 2 if doubles.ON else 10
TRIAL_S = 35  # what a trial may take; none is begun that could not end in time
Profile = Callable[[str], Any] | None


@contextlib.contextmanager
def tier0(torch: Any) -> Iterator[Profile]:
    """Scopes with device times."""
    from regimeter import GPUProfiler

    with GPUProfiler(enable_detailed_metrics=False) as profiler:
        with profiler.profile("first"):  # makes the pool
            pass
        yield profiler.profile


@contextlib.contextmanager
def tier1(torch: Any) -> Iterator[Profile]:
    """Scopes with device times and every kernel."""
    from .common import tracing

    profiler = tracing()
    try:
        with profiler.profile("first"):
            pass
        yield profiler.profile
    finally:
        profiler.close()


@contextlib.contextmanager
def torch_profiler(torch: Any) -> Iterator[Profile]:
    """torch.profiler as it is usually started, host and device; its scopes are record_function."""
    kinds = torch.profiler.ProfilerActivity
    with torch.profiler.profile(activities=[kinds.CPU, kinds.CUDA]):
        yield torch.profiler.record_function


@contextlib.contextmanager
def torch_profiler_cuda(torch: Any) -> Iterator[Profile]:
    """torch.profiler with the device's activities alone."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]):
        yield torch.profiler.record_function


@contextlib.contextmanager
def proton(torch: Any) -> Iterator[Profile]:
    """Triton's Proton, with its scopes."""
    try:
        import triton.profiler as proton
    except Exception as error:
        raise UnavailableHere(f"Proton cannot be imported: {type(error).__name__}: {error}") from None
    with tempfile.TemporaryDirectory(prefix="regimeter-evidence-") as folder:
        proton.start(str(Path(folder) / "trace"), context="shadow")
        try:
            yield proton.scope
        finally:
            proton.finalize()


def round_of(step: Callable[[Profile], None], steps: int, torch: Any, profile: Profile) -> float:
    """Return nanoseconds per step."""
    torch.cuda.synchronize()
    gc.collect()
    begin = perf_counter_ns()
    for _ in range(steps):
        step(profile)
    torch.cuda.synchronize()
    return (perf_counter_ns() - begin) / steps


def launches_of(step: Callable[[Profile], None], torch: Any) -> float:
    """Return how many launches and copies a step makes, as tracing counts them."""
    from regimeter import GPUProfiler

    with tier1(torch) as profile:
        before = GPUProfiler._kernels_state()["calls"]
        step(profile)
        torch.cuda.synchronize()
        return float(GPUProfiler._kernels_state()["calls"] - before)


def trial(tracer: str, loop: str, seed: int, rounds: int = ROUNDS) -> dict[str, Any]:
    """Alternate rounds of a loop with and without a tracer."""
    torch = ready()
    start = globals()[tracer]
    step, steps = getattr(loops, loop)(torch), LOOPS[loop]
    for _ in range(3):
        round_of(step, steps, torch, None)
    found: dict[str, list[float]] = {"before": [], "bare": [], "traced": [], "after": []}
    found["before"] = [round_of(step, steps, torch, None) for _ in range(rounds)]
    with start(torch) as profile:  # the first start loads what the tracer needs, and is not a round
        round_of(step, steps, torch, profile)
    chance = random.Random(seed)
    for _ in range(rounds):
        for traced in chance.sample([False, True], 2):
            if traced:
                with start(torch) as profile:
                    round_of(step, 1, torch, profile)
                    found["traced"].append(round_of(step, steps, torch, profile))
            else:
                found["bare"].append(round_of(step, steps, torch, None))
    found["after"] = [round_of(step, steps, torch, None) for _ in range(rounds)]
    return found | ({"launches": [launches_of(step, torch)]} if tracer == "tier1" else {})


def measure() -> dict[str, Any]:
    """Run every tracer on every loop, in random order."""
    seed = random.SystemRandom().randrange(1 << 30)
    order = [(tracer, loop) for loop, tracers in OF_LOOP.items() for tracer in tracers]
    random.Random(seed).shuffle(order)
    found: dict[str, Any] = {"seed": seed, "order": order, "loops": {loop: {} for loop in LOOPS}}
    for number, (tracer, loop) in enumerate(order):
        if left_s(TRIAL_S) < TRIAL_S / 3:
            found["loops"][loop][tracer] = {"reason": "no time left"}
            continue
        try:
            found["loops"][loop][tracer] = in_process("overhead", "trial", tracer, loop, seed + number, limit_s=TRIAL_S)
        except (RuntimeError, UnavailableHere) as error:
            found["loops"][loop][tracer] = {"reason": str(error)}
        keep(found)
    return found


def overhead_percent(times: dict[str, list[float]], base: str) -> float:
    """Return by how much the traced median is above the median of another kind of rounds."""
    return 100 * (spread(times["traced"])["median"] / spread(times[base])["median"] - 1)


def judge(found: dict[str, Any]) -> list[Claim]:
    """Tier 0 below 2 %; tier 1 below 10 % where torch.profiler costs 50 % or more, else a figure; nothing stays behind.

    Judged against the bare rounds in between and against those from before, whichever shows more.
    """
    claims = []
    for loop, tracers in found["loops"].items():
        costs: dict[str, float] = {}
        for tracer in OF_LOOP[loop]:
            times = tracers.get(tracer, {"reason": "not run"})
            if "reason" in times:
                last = times["reason"].strip().splitlines()[-1]
                holds = None if tracer == "proton" or "not traced" in last else False
                claims.append(Claim(f"{loop}: {tracer} runs", last, "runs", holds))
                continue
            percent = {base: overhead_percent(times, base) for base in ("bare", "before")}
            costs[tracer] = max(percent.values())
            after = 100 * (spread(times["after"])["median"] / spread(times["before"])["median"] - 1)
            claims.append(equal(f"{loop}: rounds of {tracer}", len(times["traced"]), len(times["bare"])))
            bare = spread(times["bare"])
            claims.append(shown(f"{loop}: bare step beside {tracer}", bare["median"] / 1e3, "us"))
            claims.append(shown(f"{loop}: {tracer} costs, against rounds between and before", percent, "%"))
            claims.append(shown(f"{loop}: bare rounds after {tracer} against those before", after, "%"))
            if tracer == "tier1":
                each = (spread(times["traced"])["median"] - bare["median"]) / times["launches"][0]
                claims.append(shown(f"{loop}: tier 1 costs a launch, against rounds between", each, "ns"))
                claims.append(physical(at_most(f"{loop}: what tier 1 leaves behind", after, 5, "%")))
        claims.append(physical(at_most(f"{loop}: tier 0 costs", costs.get("tier0"), 2, "%")))
        theirs = costs.get("torch_profiler")
        if theirs is not None and theirs >= 50:
            claims.append(physical(at_most(f"{loop}: tier 1 costs", costs.get("tier1"), 10, "%")))
        else:
            claims.append(
                shown(f"{loop}: tier 1 costs", costs.get("tier1"), "%, judged where torch.profiler costs 50 %")
            )
        if theirs is not None and "tier1" in costs:
            claims.append(
                physical(at_least(f"{loop}: torch.profiler costs more than tier 1 by", theirs - costs["tier1"], 0, "%"))
            )
    return claims
