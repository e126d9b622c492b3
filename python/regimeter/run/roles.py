# SPDX-License-Identifier: Apache-2.0
"""Which scopes have a role: what the profiler has found by itself, such as steps and collections of garbage."""

from collections.abc import Set
from typing import TYPE_CHECKING

from ..system.arrays import distinct, np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..public.run import Run

GC = "gc"


def with_roles(run: "Run", roles: Set[str]) -> "NDArray[np.bool_]":
    """Return of each span whether its role, one of ``_core.ROLES``, is among these."""
    known = [number for number in distinct(run.spans.category) if run.string(number) in roles]
    return np.isin(run.spans.category, known)
