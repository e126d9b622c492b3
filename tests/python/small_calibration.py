# SPDX-License-Identifier: Apache-2.0
"""Calibrations that take a moment; their figures are good for nothing but to be there."""

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
