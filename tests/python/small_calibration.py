# SPDX-License-Identifier: Apache-2.0
"""Calibrations that take a moment; their figures are good for nothing but to be there."""

import time
from dataclasses import replace
from typing import Any

from regimeter import Calibration, _core
from regimeter.calibration import Ceiling

SMALL = {
    "batches_quick": 1,
    "batch_quick": 1,
    "sample_seconds_quick": 1e-5,
    "buffer_caches_quick": 0,
    "buffer_bytes_quick": 1 << 20,
    "cache_ratio": 0,
    "chase_steps_quick": 100,
    "product_size_quick": 16,
    "dispatch_calls_quick": 50_000,
}

# What a program begins with whose calibrations are to be such ones.
PROGRAM = f"""
from regimeter.calibration import store
_policy = store.policy
store.policy = lambda given=None: _policy({SMALL!r} | dict(given or {{}}))
"""


def ceilings_of(**values: float) -> dict[str, Ceiling]:
    """Return all ceilings, those that are given as measured."""
    units = _core.ceilings()
    return {
        token: Ceiling(values[token], 0.02, units[token]["unit"], 9, "test")
        if token in values
        else Ceiling(None, None, units[token]["unit"], reason="not in this test")
        for token in _core.CEILINGS
    }


def made(**changes: Any) -> Calibration:
    """Return a calibration that was measured just now, in no time."""
    found = ceilings_of(memory_copy=1e10, compute_fp32=2e11)
    base = Calibration("cpu", "a processor", 2, found, found, {"device": "cpu", "cpu": "x"}, time.time(), True, 1.0)
    return replace(base, **changes)
