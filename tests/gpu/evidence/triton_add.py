# SPDX-License-Identifier: Apache-2.0
"""A kernel that Triton compiles; in a file of its own, because Triton reads its source. ImportError without Triton."""

import triton
import triton.language as tl


@triton.jit
def add_one(pointer, count, BLOCK: tl.constexpr):
    """Add one to each element."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tl.store(pointer + at, tl.load(pointer + at, mask=inside) + 1, mask=inside)
