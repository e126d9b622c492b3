# SPDX-License-Identifier: Apache-2.0
"""One suggestion, with the figures behind it."""

import math
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any

from ..system.quantities import finite

NOT_BOUNDED = "not bounded"


class WordedFloat(float):
    """A number that reads as words wherever it is printed, because its digits would say nothing: nan or infinity."""

    __slots__ = ("words",)
    words: str

    def __new__(cls, value: float, words: str) -> "WordedFloat":
        """Make the number `value`, printed as `words`."""
        made = super().__new__(cls, value)
        made.words = words
        return made

    def __format__(self, spec: str) -> str:
        return self.words

    def __str__(self) -> str:
        return self.words

    __repr__ = __str__

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (float(self), self.words)


# Nothing in the run bounds it: nan.
UNBOUNDED = WordedFloat(math.nan, NOT_BOUNDED)
# All of the operation can go: infinity.
ALL_OF_IT = WordedFloat(math.inf, "unlimited, all of it can go")


def speedup_of(now: float, left: float) -> float:
    """Return how many times as fast something becomes, ALL_OF_IT where nothing of it need be left."""
    return now / left if left > 0 else ALL_OF_IT


class OptimizationType(Enum):
    """What a suggestion changes."""

    ROUTING = "routing"
    BATCHING = "batching"
    MEMORY = "memory"
    CACHING = "caching"
    ALGORITHM = "algorithm"
    PARALLELIZATION = "parallelization"


class Priority(Enum):
    """How much a suggestion may save, weighted by its confidence."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A figure behind a suggestion: value and threshold in `unit`, shares from 0 to 1.

    threshold: what the rule compares the value with, None for a figure that is only shown. span: row in ``run.spans``
    that shows it, None for none.
    """

    quantity: str
    value: float | None
    threshold: float | None
    unit: str
    span: int | None = None


@dataclass(frozen=True, slots=True)
class OptimizationSuggestion:
    """Something to try, and what it can save.

    operation: what it is about; "" for the run as a whole. current_time_ms: what that takes now. estimated_time_ms:
    what it would take at best, without saved_high_ms; nan where nothing bounds it, which prints as "not bounded" in any
    format. potential_speedup: the one by the other, of the operation; inf where all of it can go, which prints as
    "unlimited, all of it can go", nan where nothing bounds it. JSON has null for both.

    saved_low_ms, saved_high_ms: bounds of what the whole run saves, after what suggestions before this one save; both 0
    where not bounded. speedup_low, speedup_high: of the whole run. path_share: part of the critical path that it is
    about. rule: token in docs/suggestions.md. refuted_by: what would show that it is wrong. verify: a command.
    confidence, effort: "low", "medium", "high". merged_into: rule of the suggestion that counts its time already, None
    for none. roadmap: place in the order of saved time by effort, from 1.
    """

    operation: str
    type: OptimizationType
    priority: Priority
    description: str
    expected_improvement: str
    implementation_hint: str
    current_time_ms: float
    estimated_time_ms: float
    potential_speedup: float
    rule: str = ""
    bounded: bool = False
    saved_low_ms: float = 0.0
    saved_high_ms: float = 0.0
    speedup_low: float = math.nan
    speedup_high: float = math.nan
    path_share: float = math.nan
    confidence: str = "medium"
    effort: str = "medium"
    evidence: tuple[Evidence, ...] = ()
    bound: str = ""
    refuted_by: str = ""
    verify: str = ""
    merged_into: str | None = None
    roadmap: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the suggestion as a JSON-ready dictionary; what is nan or infinite is null."""
        found = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}
        found["evidence"] = [{f.name: _plain(getattr(one, f.name)) for f in fields(one)} for one in self.evidence]
        return found


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    return finite(value)
