# SPDX-License-Identifier: Apache-2.0
"""What a backend is asked, and what it answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from .catalog import Arrays, Workload
from .statistics import Times


@dataclass(frozen=True, slots=True)
class Request:
    """How to measure: runs that are not timed, kernels and host calls that are; device and threads where they apply."""

    warmup: int = 3
    iterations: int = 20
    calls: int = 20
    device: int | str = 0
    threads: int = 0


@dataclass(frozen=True, slots=True)
class Measured:
    """What a backend measured; what it could not measure is None and has its reason."""

    kernel: Times | None = None
    host_call: Times | None = None
    outputs: Arrays = field(default_factory=dict)
    device: str = ""
    unavailable: dict[str, str] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)


class Backend(Protocol):
    """One choice. `measure` raises UnavailableError with the reason where it cannot run the workload here."""

    name: str

    def measure(
        self, workload: Workload, sizes: Mapping[str, float], request: Request, inputs: Arrays | None = None
    ) -> Measured:
        """Run and time a workload, on the documented inputs unless others are given."""
