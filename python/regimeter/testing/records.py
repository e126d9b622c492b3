# SPDX-License-Identifier: Apache-2.0
"""What one test measured, as it travels from a worker to the controller and into files."""

from dataclasses import asdict, dataclass, field, fields
from statistics import median
from typing import Any

# Samples of each process that ran the test: [[value, ...], ...]
Launches = list[list[float]]


@dataclass(slots=True)
class Record:
    """The samples of a test.

    operation: the test's id, with the scope's name behind it for a scope of gpu_profile. metrics: samples by metric and
    launch, in seconds, bytes or counts. old: of a duet, the samples of the other function; each launch is a block of
    pairs then. unavailable: why a metric has no samples. disturbed: what else ran in the timed code.
    """

    operation: str
    test: str
    kind: str = "benchmark"
    metrics: dict[str, Launches] = field(default_factory=dict)
    old: dict[str, Launches] = field(default_factory=dict)
    gate: dict[str, Any] = field(default_factory=dict)
    group: str | None = None
    rounds: int = 0
    iterations: int = 1
    warmup: int = 0
    clock: str = "wall"
    memory_source: str = ""
    workers: int = 1
    unavailable: dict[str, str] = field(default_factory=dict)
    disturbed: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    extra_info: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary of JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Record":
        """Return the record of a dictionary; keys of a newer version are left out."""
        known = {one.name for one in fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in known})

    def typical(self, metric: str = "time") -> float | None:
        """Return the median over launches of the median within each, None when there are no samples."""
        medians = [median(launch) for launch in self.metrics.get(metric, ()) if launch]
        return median(medians) if medians else None
