# SPDX-License-Identifier: Apache-2.0
"""A labelled operation: what is called, what limits it by construction, and why."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

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


Parts = tuple[Any, ...]  # a function, then its arguments


def library(name: str) -> Any:
    """Import a module when it is needed; what it holds has no types here."""
    return importlib.import_module(name)


def of_parts(name: str, labels: str | tuple[str, ...], reason: str, make: Callable[[], Parts]) -> Case:
    """Return a case of a function and arguments that are made when it is measured."""

    def made() -> Made:
        function, *arguments = make()
        return function, tuple(arguments), {}

    return Case(name, (labels,) if isinstance(labels, str) else labels, reason, made)


def ramp(count: int, dtype: Any = np.float64) -> Any:
    """Return count numbers that were written, made faster than random ones."""
    return np.arange(count, dtype=dtype)
