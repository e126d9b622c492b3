# SPDX-License-Identifier: Apache-2.0
"""What calls of the C core leave behind: blocks of the interpreter, bytes of malloc, references to what they touch."""

import gc
import sys
from collections.abc import Callable, Iterable

from regimeter import _core

WARM = 12
CALLS = 60
# A leak is there each time; what a cache, a table of names or a thread's share of malloc gained in one is not in all.
TURNS = 10
# The least that a leak costs a call: a block of the interpreter's allocator in two calls, or this much of malloc.
BYTES = 16


def left_by(call: Callable[[], object], settle: Callable[[], object], held: list[object]) -> tuple[int, int, int]:
    """Return the blocks, the bytes of malloc and the references to `held` that are there after CALLS calls and were
    not before."""
    before = _amounts(settle, held)
    for _ in range(CALLS):
        call()
    blocks, size, references = (now - old for now, old in zip(_amounts(settle, held), before, strict=True))
    return blocks, size, references


def _amounts(settle: Callable[[], object], held: list[object]) -> tuple[int, int, int]:
    settle()
    gc.collect()
    # The interpreter's cache of attribute look-ups keeps some thousands of the names asked for.
    (getattr(sys, "_clear_internal_caches", None) or sys._clear_type_cache)()
    malloc = _core.host_memory()
    size = malloc["malloc_in_use"] if malloc["malloc_known"] else 0
    return sys.getallocatedblocks(), size, sum(map(sys.getrefcount, held))


def leak_of(
    call: Callable[[], object], settle: Callable[[], object] = lambda: None, held: Iterable[object] = ()
) -> str:
    """Return what each call leaks, in words, "" for nothing.

    settle: lets go of what the calls may keep. held: objects that they may keep no reference to.
    """
    kept = list(held)
    # The collections below pass over what is there already, as they do since the tests were collected (conftest.py).
    gc.collect()
    gc.freeze()
    for _ in range(WARM):
        call()
    last = call()  # its strings stay interned, so that the interpreter's table of them does not grow and shrink
    least: tuple[int, ...] = ()
    for _ in range(TURNS):
        now = left_by(call, settle, kept)
        least = tuple(map(min, least, now)) if least else now
        blocks, size, references = least
        if blocks < CALLS // 2 and size < CALLS * BYTES and references < CALLS // 2:
            del last
            return ""
    return f"{blocks} blocks, {size} bytes, {references} references in {CALLS} calls"
