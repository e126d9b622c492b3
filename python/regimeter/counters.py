# SPDX-License-Identifier: Apache-2.0
"""Hardware counters of NVIDIA devices: what a chip can measure in one pass, planned without a device.

A *role* says what a counter is for (``dram_throughput``); which metric fills it depends on the chip and is found at
run time through CUPTI's Profiler Host. A *set* is a list of roles that are measured together. Only what fits one pass
is ever measured, because a second pass would run the program again.
"""

from dataclasses import dataclass
from typing import Any

from . import _core

ABSENT, TOO_MANY = -1, -2


@dataclass(frozen=True, slots=True)
class PlannedCounter:
    """A role of a set on one chip.

    `metric` is None when the chip has none for the role. `group` is the single-pass group that holds it, counted from 1,
    of which the first is measured; None when there is no metric, or when the metric needs several passes by itself.
    `passes` is how many it needs alone, None without a metric.
    """

    role: str
    metric: str | None
    unit: str
    doc: str
    group: int | None
    passes: int | None

    @property
    def measured(self) -> bool:
        """Whether a measurement with this set holds it."""
        return self.group == 1

    @property
    def reason(self) -> str:
        """Why it is not measured; empty when it is."""
        if self.metric is None:
            return "the chip has no metric for this"
        if self.group is None:
            return f"needs {self.passes} passes by itself"
        return "" if self.group == 1 else "does not fit the first pass"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a set holds on a chip. `passes` is what all of it together would need; 0 when the chip has none of it."""

    chip: str
    set: str
    profiler: str
    passes: int
    groups: int
    counters: tuple[PlannedCounter, ...]
    library: dict[str, Any]

    @property
    def measured(self) -> tuple[PlannedCounter, ...]:
        """The counters that one pass gives."""
        return tuple(counter for counter in self.counters if counter.measured)

    @property
    def dropped(self) -> tuple[PlannedCounter, ...]:
        """The counters that a measurement leaves out."""
        return tuple(counter for counter in self.counters if not counter.measured)


def sets() -> dict[str, dict[str, Any]]:
    """Return the sets: what each is for, its profiler and its roles."""
    return _core.counter_sets()


def roles() -> dict[str, dict[str, Any]]:
    """Return the roles: unit, meaning, and the metrics that can fill each, the preferred one first."""
    return _core.counter_roles()


def chips() -> tuple[str, ...]:
    """Return the chips that CUPTI can plan for, as ``GH100`` (H100, H200). Raises UnavailableError without CUPTI."""
    names: tuple[str, ...] = _core.counter_chips()["chips"]
    return names


def plan(chip: str, set: str = "pm") -> Plan:
    """Return which metrics of `chip` fill the roles of `set`, and in how many passes.

    Needs no device, only CUPTI 12.6 to 13.1 (later ones also need a driver). Raises ValueError for an unknown chip or
    set, UnavailableError where CUPTI cannot be used or the chip has no such profiler.
    """
    if set not in sets():
        raise ValueError(f"unknown set of counters {set!r}; valid are: {', '.join(sets())}")
    found = _core.counter_plan(chip, set)
    rows = tuple(
        PlannedCounter(
            role=row["role"],
            metric=row["metric"] or None,
            unit=row["unit"],
            doc=row["doc"],
            group=row["group"] + 1 if row["group"] >= 0 else None,
            passes=row["passes"] or None,
        )
        for row in found.pop("rows")
    )
    return Plan(counters=rows, **found)
