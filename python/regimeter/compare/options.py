# SPDX-License-Identifier: Apache-2.0
"""What a comparison is asked to do: the rule, what fails a gate, and what may be compared at all."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .side import UNITS
from .side import WHOLE_METRICS as WHOLES

FDR = ("bh", "by", "none")
DECISIONS = ("catch", "estimate", "prove")
FAIL_ON = ("regression", "any", "never")
# (threshold in percent, least share of the whole that gates) of a row, by its operation and metric.
RowRule = Callable[[str, str], tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a decision; every door has these and no others.

    significance_threshold: the change in percent that must not be missed. What becomes of it is said by `decision`: a
    real difference is a regression when its interval reaches the threshold ('catch': an estimate below it can be one),
    when its estimate does ('estimate'), or when it lies beyond it as a whole ('prove'). alpha: false-discovery rate of
    all rows together. fdr: 'bh' (Benjamini-Hochberg), 'by' (Benjamini-Yekutieli) or 'none'. paired: process i of both
    sides ran together, in random order. metrics: of time, device_time, memory_peak, memory_allocated, launches, bytes,
    calls. min_share: an operation gates from this part of the whole time. run_floor: how far two processes of one
    program differ, as a part of 1, for all operations or by operation; None takes what is known (`floors`). wholes: the
    single tests to make, of 'total_time' and 'total_memory'. policy: further thresholds by name, see
    ``regimeter._core.compare_policy()``.

    fail_on: what fails: 'regression', 'any' change, 'never'. strict: a row that gates and is undecided ends with 3.
    force: compare although the environments forbid it. row_rule: threshold and least share of single rows.
    steadied: what the machine did to all operations of a pair is taken out where that helps; it needs operations of a
    pair to have run together.

    ValueError for a value that cannot be, which it names.
    """

    significance_threshold: float = 5.0
    alpha: float = 0.05
    fdr: str = "bh"
    decision: str = "catch"
    paired: bool = False
    metrics: Sequence[str] = ("time",)
    min_share: float | None = None
    run_floor: float | Mapping[str, float] | None = None
    wholes: Sequence[str] = tuple(WHOLES)
    policy: Mapping[str, float] | None = None
    fail_on: str = "regression"
    strict: bool = False
    force: bool = False
    row_rule: RowRule | None = None
    steadied: bool = True

    def __post_init__(self) -> None:
        threshold = float(self.significance_threshold)
        if not math.isfinite(threshold) or threshold < 0:
            raise ValueError(
                f"significance_threshold is a percentage of at least 0, got {self.significance_threshold!r}"
            )
        if not 0 < float(self.alpha) < 1:
            raise ValueError(f"alpha is a rate between 0 and 1, got {self.alpha!r}")
        _one_of("correction", self.fdr, FDR)
        _one_of("decision", self.decision, DECISIONS)
        _one_of("value of fail_on", self.fail_on, FAIL_ON)
        if not self.metrics:
            _one_of("metric", "", tuple(UNITS))
        for name in self.metrics:
            _one_of("metric", name, tuple(UNITS))
        for name in self.wholes:
            _one_of("whole", name, tuple(WHOLES))
        object.__setattr__(self, "significance_threshold", threshold)
        object.__setattr__(self, "alpha", float(self.alpha))
        object.__setattr__(self, "paired", bool(self.paired))
        object.__setattr__(self, "metrics", tuple(dict.fromkeys(self.metrics)))

    def thresholds(self) -> dict[str, float]:
        """Return the policy of the core that these options stand for, without the run floor."""
        found = {"threshold": self.significance_threshold / 100, "alpha": self.alpha, **(self.policy or {})}
        return found if self.min_share is None else {**found, "min_share": float(self.min_share)}


def _one_of(what: str, value: Any, valid: Sequence[str]) -> None:
    if value not in valid:
        raise ValueError(f"unknown {what} {value!r}; valid are: {', '.join(valid)}")
