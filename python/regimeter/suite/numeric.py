# SPDX-License-Identifier: Apache-2.0
"""How far two results of a function differ: tensors by value, all else by equality."""

import math
from typing import Any


def difference(torch: Any, expected: Any, found: Any) -> tuple[float, float, str]:
    """Return the largest absolute difference, the largest by the size of its tensor, and what does not fit at all.

    The second is by the largest value of the expected tensor. nan where there is no tensor to compare.
    """
    tree = torch.utils._pytree
    old, shape = tree.tree_flatten(expected)
    new, other = tree.tree_flatten(found)
    if shape != other:
        return math.nan, math.nan, "the results have different structures"
    largest, relative, mismatch = math.nan, math.nan, ""
    for place, (a, b) in enumerate(zip(old, new, strict=True)):
        if not isinstance(a, torch.Tensor):
            mismatch = mismatch or ("" if bool(a == b) else f"value {place} is {b!r} in place of {a!r}")
            continue
        if a.shape != b.shape or a.dtype != b.dtype:
            is_now, was = (f"{one.dtype} {tuple(one.shape)}" for one in (b, a))
            mismatch = mismatch or f"tensor {place} is {is_now} in place of {was}"
            continue
        absolute, size = _of(torch, a.detach(), b.detach())
        largest = absolute if math.isnan(largest) else max(largest, absolute)
        part = absolute / size if size > 0 else (0.0 if absolute == 0 else math.inf)
        relative = part if math.isnan(relative) else max(relative, part)
    return largest, relative, mismatch


def _of(torch: Any, a: Any, b: Any) -> tuple[float, float]:
    if not a.numel():
        return 0.0, 0.0
    wide = torch.complex128 if a.is_complex() else torch.float64
    one, two = a.to("cpu", wide), b.to("cpu", wide)
    gap = (one - two).abs()
    gap[(one == two) | (one.isnan() & two.isnan())] = 0.0
    size = one.abs()
    size = size[size.isfinite()]
    worst = float(gap.max())
    return (math.inf if math.isnan(worst) else worst), float(size.max()) if size.numel() else 0.0
