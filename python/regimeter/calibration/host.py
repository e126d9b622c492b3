# SPDX-License-Identifier: Apache-2.0
"""Measuring the host: loops of the core, the BLAS, and the cost of dispatch; with all threads and with one."""

import os
import resource
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .. import _core
from ..system.memory import memory_limits
from ..system.processors import usable_processors
from .ceiling import Ceiling, missing
from .dispatch import dispatch_costs
from .products import numpy_products, torch_products
from .sampling import Effort, better, read

MOST_THREADS = 1024  # of a team in the core
# Part -> its weight in the time of a calibration.
PRODUCTS = "matrix products"
LEAST_SECONDS = 0.001  # of a part: one sample of each figure
WEIGHTS = {"memory": 5, "caches": 1, "latency": 2, "compute": 1, "products": 3, "dispatch": 1}


def measure_host(effort: Effort) -> tuple[dict[str, Ceiling], dict[str, Ceiling], list[str], dict[str, Any]]:
    """Return the ceilings of all threads and of one, what to doubt, and the state of the machine."""
    count = min(usable_processors(), MOST_THREADS)
    before = _state()
    widths = [count, 1] if count > 1 else [1]
    total = len(widths) * sum(WEIGHTS.values()) - (len(widths) - 1) * WEIGHTS["dispatch"]
    done = 0.0
    end = time.monotonic() + effort.value("seconds")

    def begin(part: str, who: str) -> float:
        """Say what is measured now; return the seconds that it may take: its part of those that are left."""
        effort.tell(part if not who else f"{part}, {who}", done / total)
        key = "products" if part == PRODUCTS else part
        seconds = max(LEAST_SECONDS, (end - time.monotonic()) * WEIGHTS[key] / (total - done))
        effort.deadline = time.monotonic() + seconds
        return seconds

    sets: dict[int, dict[str, Ceiling]] = {}
    for width in widths:
        found: dict[str, Ceiling] = {}
        who = f"{width} thread{'s' if width > 1 else ''}"
        for part in _core.HOST_PARTS:
            seconds = begin(part, who)
            found |= read(_core.measure_host(part, width, _free_memory(), effort.quick, dict(effort.policy), seconds))
            done += WEIGHTS[part]
        begin(PRODUCTS, who)
        for token, other in _products(effort, width, count).items():
            found[token] = better(found.get(token), other) or other
        done += WEIGHTS["products"]
        sets[width] = found
    begin("dispatch", "")
    costs = dispatch_costs(effort)
    single = _whole(sets[1] | costs)
    whole = single if count == 1 else _raised(_whole(sets[count] | costs), single)
    after = _state()
    return whole, single, _doubts(before, after, count, effort.policy), _difference(before, after)


def memory_taken(effort: Effort) -> int:
    """Return the bytes that the buffers of `measure_host` take at most."""
    count = min(usable_processors(), MOST_THREADS)
    return _core.host_takes(count, _free_memory(), effort.quick, dict(effort.policy))


def _free_memory() -> int:
    return memory_limits()[1] or 0


def measure_rates(effort: Effort, part: str) -> tuple[dict[str, Ceiling], dict[str, Ceiling]]:
    """Return the rates of one part ("memory", "caches", "compute") with all threads and with one."""
    count = min(usable_processors(), MOST_THREADS)
    sets = []
    for width in [count, 1] if count > 1 else [1]:
        seconds = effort.value("seconds") * WEIGHTS[part] / sum(WEIGHTS.values())
        effort.deadline = time.monotonic() + seconds
        found = read(_core.measure_host(part, width, _free_memory(), effort.quick, dict(effort.policy), seconds))
        for token, other in _products(effort, width, count).items() if part == "compute" else ():
            found[token] = better(found.get(token), other) or other
        sets.append({token: row for token, row in found.items() if row.unit.endswith("/s")})
    return sets[0], sets[-1]


def _products(effort: Effort, width: int, count: int) -> dict[str, Ceiling]:
    """Products with so many threads; all of them is what NumPy's BLAS takes by itself."""
    found = numpy_products(effort, None if width == count else width)
    for token, other in torch_products(effort, width).items():
        found[token] = better(found.get(token), other) or other
    return found


def _whole(found: Mapping[str, Ceiling]) -> dict[str, Ceiling]:
    return {token: found.get(token) or missing(token, "a host has none") for token in _core.CEILINGS}


def _raised(whole: Mapping[str, Ceiling], single: Mapping[str, Ceiling]) -> dict[str, Ceiling]:
    """Return the ceilings of all threads, where one thread reached more with what it reached: all may let one run."""
    found = dict(whole)
    for token, row in _core.ceilings().items():
        own, other = whole[token].value, single[token].value
        if row["unit"].endswith("/s") and own is not None and other is not None and other > own:
            found[token] = replace(single[token], source=f"{single[token].source}, one thread")
    return found


# --- what disturbs --------------------------------------------------------------------------------------------


def _state() -> dict[str, float]:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    steal, all_time = _stolen()
    return {
        "time_s": time.monotonic(),
        "load": os.getloadavg()[0],
        "switches": float(usage.ru_nivcsw),
        "steal": steal,
        "all_time": all_time,
    }


def _stolen() -> tuple[float, float]:
    """Return ticks that the hypervisor took, and all ticks, of /proc/stat; zeros where it is not readable."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            fields = [float(text) for text in file.readline().split()[1:9]]
    except (OSError, ValueError):
        return 0.0, 0.0
    return (fields[7] if len(fields) > 7 else 0.0), sum(fields)


def _difference(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, Any]:
    seconds = max(after["time_s"] - before["time_s"], 1e-9)
    ticks = after["all_time"] - before["all_time"]
    return {
        "load_before": before["load"],
        "involuntary_switches_per_s": (after["switches"] - before["switches"]) / seconds,
        "steal": (after["steal"] - before["steal"]) / ticks if ticks > 0 else None,
    }


def _doubts(
    before: Mapping[str, float], after: Mapping[str, float], count: int, policy: Mapping[str, float]
) -> list[str]:
    found = _difference(before, after)
    texts = []
    if found["load_before"] > policy["busy_load"] * count:
        texts.append(
            f"the machine was busy (load {found['load_before']:.1f} on {count} processors): "
            "ceilings may be low; calibrate again when it is quiet"
        )
    if found["involuntary_switches_per_s"] > policy["busy_switches"]:
        texts.append(
            f"{found['involuntary_switches_per_s']:.0f} involuntary context switches a second while it was measured"
        )
    if found["steal"] is not None and found["steal"] > policy["steal"]:
        texts.append(f"the hypervisor took {100 * found['steal']:.0f} % of the processors while it was measured")
    return texts
