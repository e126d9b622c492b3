# SPDX-License-Identifier: Apache-2.0
"""The engine of regimeter on arrays of samples, without the cost of Python lists."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regimeter import _core

Floats = NDArray[np.float64]
VERDICT = {name: number for number, name in enumerate(_core.VERDICTS)}


@dataclass(frozen=True, slots=True)
class Report:
    """What the engine says of each operation; changes, low, high and detectable as logarithms' exponentials less 1."""

    verdict: NDArray[np.uint8]
    change: Floats
    low: Floats
    high: Floats
    p: Floats
    q: Floats
    detectable: Floats
    tier: NDArray[np.uint8]
    conclusive: NDArray[np.bool_]
    facts: dict[str, Any]

    @property
    def slower(self) -> NDArray[np.bool_]:
        """Which operations are called regressions."""
        return self.verdict == VERDICT["regression"]

    @property
    def changed(self) -> NDArray[np.bool_]:
        """Which operations are called regressions or improvements."""
        return self.slower | (self.verdict == VERDICT["improvement"])


def pack(values: Floats) -> tuple[NDArray[np.uint32], NDArray[np.uint64], Floats, None]:
    """Return one side for the core; values has the shape (operations, launches, samples)."""
    operations, launches, samples = values.shape
    return (
        (np.arange(operations + 1) * launches).astype(np.uint32),
        (np.arange(operations * launches + 1) * samples).astype(np.uint64),
        np.ascontiguousarray(values).reshape(-1),
        None,
    )


def compare(
    base: Floats, current: Floats, *, paired: bool, fdr: str = "bh", decision: str = "catch", **policy: float
) -> Report:
    """Compare times of the shape (operations, launches, samples)."""
    table, facts = _core.compare(len(base), pack(base), pack(current), paired, policy, fdr, decision, None, None)
    column = {name: np.array(getattr(table, name)) for name in table.columns}
    return Report(
        column["verdict"], column["change"], column["low"], column["high"], column["p"], column["q"],
        column["detectable"], column["tier"], column["conclusive"].astype(bool), facts,
    )  # fmt: skip
