# SPDX-License-Identifier: Apache-2.0
"""What limits a call of the host beside its roofs: parts of its time, each by something that was measured.

interpreter: how long Python stayed at its instructions, looked at in the call. file, system, first_touch: the part of
the processor time that was the system's, by what moved meanwhile: bytes of files, or pages touched for the first
time. arithmetic and dependent: what the same function takes on a part of its data that a cache holds (`replay`).
Where nothing is known but the memory that a call touches, and the second cache holds it, arithmetic is what is left.
placement, random_access and strided: what a call takes beyond all of these, which is the price of where its data lies.
"""

import functools
import itertools
import mmap
import resource
import statistics
import sys
import time
from typing import Any

from . import parts, plain_data, replay
from .arguments import Array, arrays_in
from .caches import LINE_BYTES, cache_sizes
from .policy import VALUE
from .stopwatch import PAGE_BYTES, Measurement

HUGE_BYTES = 2 * 2**20
SMALL_BLOCK, LARGE_BLOCK = 256 * PAGE_BYTES, 8 * HUGE_BYTES
INDEX_SAMPLE = 4096
USUAL_SECOND_CACHE = 512 * 2**10

NEW = ("first_touch", "new_memory")

Limits = dict[str, tuple[float, float]]


def of_measurement(measured: Measurement, fill_rate: float | None) -> Limits:
    """Return what the measurement alone tells: interpreter, and what the system did.

    fill_rate: bytes a second at which memory is filled, which bounds what a page fault may have cost; None: not known.
    """
    found: Limits = {}
    if measured.seen_ns >= VALUE["pace_least_ns"]:
        found["interpreter"] = (measured.quick_ns / measured.seen_ns, VALUE["pace_spread"])
    system, spread = system_part(measured)
    part = system * min(1.0, measured.process_cpu_ns / measured.own_ns)  # of the time, some of which was waiting
    if part <= 0:
        return found
    pages = measured.faults * PAGE_BYTES
    if measured.file_bytes > max(pages / 2, PAGE_BYTES):
        return found | {"file": (part, spread)}
    filled = measured.faults * max(HUGE_BYTES / (fill_rate or float("inf")) * 1e9, page_ns(LARGE_BLOCK))
    new = measured.faults >= 1 and max(pages_ns(measured), filled) > 0.5 * system * measured.process_cpu_ns
    if new and system < VALUE["mostly"]:
        return found | {"new_memory": (part, spread)}
    return found | {"first_touch" if new else "system": (part, spread)}


def system_part(measured: Measurement) -> tuple[float, float]:
    """Return the part of the processor time that the system worked, and its relative half-width.

    By the system's own account where it saw enough of the call, else by the page faults, which are counted exactly.
    """
    ticks = measured.system_cpu_ns / VALUE["tick_ns"]
    share = measured.system_share
    by_pages = min(1.0, pages_ns(measured) / max(1.0, measured.process_cpu_ns))
    if ticks < VALUE["least_ticks"]:
        return by_pages, 1.0
    if share <= 0:
        return by_pages, 1.0
    sampled: float = 2 * (max(0.0, 1 - share) / (share * ticks)) ** 0.5  # two deviations of a share of so many samples
    return share, max(0.05, min(1.0, sampled))


def pages_ns(measured: Measurement) -> float:
    """Return the processor time of the page faults, were all pages small."""
    return measured.faults * page_ns() if measured.faults > 0 else 0.0


@functools.cache
def page_ns(size: int = SMALL_BLOCK) -> float:
    """Return ns of a page fault in a block of so many bytes, measured once; in a large one pages may be large."""
    times = []
    for _ in range(5):
        with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as block:
            if size > HUGE_BYTES and hasattr(mmap, "MADV_HUGEPAGE"):
                block.madvise(mmap.MADV_HUGEPAGE)  # as NumPy asks for
            faults, begin = _faults(), time.thread_time_ns()
            for at in range(0, len(block), PAGE_BYTES):
                block[at] = 1
            first, faults = time.thread_time_ns(), _faults() - faults
            for at in range(0, len(block), PAGE_BYTES):
                block[at] = 1
            again = time.thread_time_ns()
        times.append((first - begin - (again - first)) / max(1, faults))
    return max(0.0, statistics.median(times))


def _faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def of_function(
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    result: Any,
    measured: Measurement,
    rest: Limits,
    moves: bool = False,
    most: float | None = None,
) -> Limits:
    """Return how a call of a known library function divides into what it takes in a cache and where its data lies.

    Data that fits the second-level cache is in a cache already: what such a call takes beyond is not its place. moves:
    the function does next to no arithmetic, so that all of its time beyond the caches is that of moving data. most:
    what its arithmetic takes by another measurement; what disturbs one only makes it slower, so the faster one stands.
    """
    taken = sum(rest[name][0] for name in ("file", "system", *NEW) if name in rest)
    found = replay.of_call(function, args, kwargs, result)
    if measured.process_cpu_ns <= 0:
        return {}
    if found is None:
        new = max((rest[name][0] for name in NEW if name in rest), default=0.0)
        others = sum(rest[name][0] for name in ("file", "system", "interpreter") if name in rest)
        # Without arithmetic what new memory does not take is the data's way to it.
        return {"first_touch": (max(0.0, 1 - others), 0.0)} if moves and new > VALUE["rarely"] else {}
    moves = moves and not found.chain
    whole = measured.own_ns if found.threaded else measured.process_cpu_ns
    inside = min(found.ns / max(whole, 1.0), max(0.0, 1 - taken))
    if most is not None and replay.is_in_proportion(function):
        inside = min(inside, most)
    beyond = max(0.0, 1 - taken - inside)
    touched = max((rest[name][0] for name in NEW if name in rest), default=0.0)
    limits: Limits = {} if moves else {"dependent" if found.chain else "arithmetic": (inside, found.spread)}
    if found.threaded or _is_near(*args, *kwargs.values(), result):
        beyond = 0.0  # factorizations do many operations for each element, in blocks, wherever it lies
    elif moves:
        name = "first_touch" if touched > beyond else pattern(args, kwargs, result)
        return {name: (max(0.0, 1 - taken) + touched, min(found.spread, VALUE["replay_spread"]))}
    if beyond + touched <= 0:
        return limits
    # Both are the price of memory; the larger one gives its name.
    name = "first_touch" if touched > beyond else pattern(args, kwargs, result)
    if name == "first_touch" and beyond < inside and touched < VALUE["mostly"]:
        name = "new_memory"  # into memory that exists, arithmetic would be most of it
    spread = min(1.0, (inside * found.spread) / (beyond + touched))
    return limits | {name: (beyond + touched, spread)}


def of_plain_data(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, measured: Measurement, rest: Limits
) -> Limits:
    """Return the arithmetic of a function of the interpreter's library (a parser, a matcher, long numbers).

    Where the thread worked all the time, neither in steps of Python nor in the system, and what the data occupies
    stays in the caches, nothing else is left.
    """
    owner = plain_data.owner_of(function)
    if not plain_data.is_of_library(function) or measured.own_ns < VALUE["plain_least_ns"]:
        return {}
    if not _is_plain_and_near(owner, *args, *kwargs.values(), result):
        return {}
    if "interpreter" not in rest and hasattr(function, "__code__"):
        return {}
    return {"arithmetic": (_left(measured, rest), VALUE["replay_spread"])}


def of_touched(measured: Measurement, rest: Limits) -> Limits:
    """Return the arithmetic of a call of which nothing is known but the memory that it touches.

    Where a thread worked all the time, neither in steps of Python nor in the system, and the second cache holds all
    that its longest stay outside of Python touched, nothing else is left for that.
    """
    touched = measured.touched
    if touched is None or touched.inside is None or touched.inside > (cache_sizes()[1] or 0):
        return {}
    if measured.own_ns < VALUE["plain_least_ns"] or "interpreter" not in rest:
        return {}
    return {"arithmetic": (min(touched.share, _left(measured, rest)), VALUE["replay_spread"])}


def _left(measured: Measurement, rest: Limits) -> float:
    """Return the part of the time that the thread worked at what is not among the limits that are known."""
    worked = min(1.0, measured.thread_cpu_ns / max(1.0, measured.own_ns))
    return max(0.0, worked - sum(share for share, _ in rest.values()))


def _is_near(*values: Any) -> bool:
    """Say whether data is where the processor has it at hand: in the second cache, objects of Python in the last."""
    in_second = parts.occupied(*values) <= (cache_sizes()[1] or USUAL_SECOND_CACHE)
    return in_second or _is_plain_and_near(*values)


def _is_plain_and_near(*values: Any) -> bool:
    size = plain_data.occupied(*values)
    most = cache_sizes()[2] or cache_sizes()[1] or USUAL_SECOND_CACHE
    return size is not None and size <= most / 2


def pattern(args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> str:
    """Return how a call goes through memory, by the indices and the strides of its arrays."""
    found = arrays_in(args, kwargs)
    found = [array for array in found if array.library in ("numpy", "torch")]
    arrays = [array for array in found if array.bytes > (cache_sizes()[1] or USUAL_SECOND_CACHE)]
    listed = any(_is_scattered(value) for value in (*args, *kwargs.values()))
    if listed or any(_jumps(array, arrays) for array in found):
        return "random_access"
    if any(_is_strided(array) for array in [*arrays, *arrays_in(result)]):
        return "strided"
    return "placement"


def _jumps(index: Array, others: list[Array]) -> bool:
    """Say whether whole numbers lead to places far from one another in another, larger array."""
    tables = [array for array in others if array.start != index.start and "int" not in array.dtype]
    if "int" not in index.dtype or not tables or index.count < INDEX_SAMPLE // 4:
        return False
    numpy: Any = sys.modules.get("numpy") or __import__("numpy")
    values = index.value.reshape(-1)[:INDEX_SAMPLE]
    sample = numpy.asarray(values).astype("int64")
    size = max(array.bytes // max(1, array.count) for array in tables)
    far = numpy.abs(numpy.diff(sample)) * size > VALUE["far_apart_bytes"]
    return bool(far.mean() > 0.5)


def _is_scattered(value: Any) -> bool:
    """Say whether what a list points to lies in places far from one another, in its order."""
    if type(value) is not list or len(value) < INDEX_SAMPLE // 4:
        return False
    places = [id(item) for item in value[:INDEX_SAMPLE]]
    far = sum(abs(one - two) > VALUE["far_apart_bytes"] for one, two in itertools.pairwise(places))
    return far > len(places) / 2


def _is_strided(array: Array) -> bool:
    """Say whether the last axis, in which elements are used, jumps from line to line while another one does not."""
    if array.library not in ("numpy", "torch"):
        return False
    value = array.value
    numpy = array.library == "numpy"
    steps = value.strides if numpy else tuple(step * value.element_size() for step in value.stride())
    shape = tuple(value.shape)
    if len(shape) == 1:
        return bool(shape[0] > 1 and abs(steps[0]) >= LINE_BYTES)
    return len(shape) > 1 and shape[-1] > 1 and abs(steps[-1]) >= LINE_BYTES > min(abs(step) for step in steps)
