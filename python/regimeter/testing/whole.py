# SPDX-License-Identifier: Apache-2.0
"""Budgets of a test that has markers and no fixture: they hold for the whole test, which runs once."""

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from ..compare.ab.memory import PeakMemory
from .budgets import Figures, check, needs_trace
from .gate import Budget


@contextmanager
def checking(budgets: Sequence[Budget]) -> Iterator[None]:
    """Measure what runs inside and fail the test for a budget that it exceeds, unless it failed by itself."""
    if not budgets:
        yield
        return
    figures = Figures(basis="the test")
    figures.unavailable["device_time"] = "the test has no gpu_benchmark, which times the device"
    if needs_trace(budgets):
        reason = "the test has no gpu_benchmark, which traces one call"
        figures.unavailable |= {"launches": reason, "syncs": reason}
    memory = PeakMemory()
    begin = time.perf_counter_ns()
    yield
    figures.values["time"] = (time.perf_counter_ns() - begin) * 1e-9
    peak, reason = memory.read()
    figures.memory_source = memory.source
    if peak is None:
        figures.unavailable["memory"] = reason
    else:
        figures.values["memory"] = peak
    failures, notes = check(budgets, figures)
    if failures:
        pytest.fail("; ".join(failures), pytrace=False)
    if notes:
        warnings.warn("; ".join(notes), RuntimeWarning, stacklevel=2)
