# SPDX-License-Identifier: Apache-2.0
"""A labelled operation: what is called, what limits it by construction, and why."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

OVERHEAD, MEMORY, COMPUTE, AMBIGUOUS = "OVERHEAD_BOUND", "MEMORY_BOUND", "COMPUTE_BOUND", "AMBIGUOUS"

Made = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Case:
    """make() returns the function, its arguments, and options of `profile_with_result` (its work, where a caller would
    know it and nobody else can). labels: one, or more where the construction itself puts it between two regimes."""

    name: str
    labels: tuple[str, ...]
    reason: str
    make: Callable[[], Made]


BEYOND = 9_000_000  # doubles: 72 MB an array, more than twice the largest cache of the machines this was made on
STREAM = "reads and writes arrays beyond all caches with at most one operation an element"
PRODUCT = "2 n operations for each element that is read or written"
SERIES = "tens of operations an element to evaluate the function, against 16 bytes of traffic"
TINY = "a few bytes and operations: the call itself is the time"
WAITS = "the processor does nothing: the thread sleeps"
BOUNDARY = "operations per byte near the ridge of common processors"
