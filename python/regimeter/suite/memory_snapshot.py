# SPDX-License-Identifier: Apache-2.0
"""Memory at one moment: what tensors hold, what the device's pool holds, what the process has."""

import math
import os
import pickle
from dataclasses import dataclass, field
from typing import Any

from .._core import UnavailableError
from ..system.files import atomic_path


@dataclass(frozen=True, slots=True)
class MemorySnapshot:
    """Sizes in 10**6 bytes; nan where `unavailable` says why.

    time_ms: since tracking began. allocated_mb, reserved_mb, peak_mb: of torch's allocator of the device; without a
    device `allocated_mb` is bytes of tensors that Python knows. resident_mb: of the process. by_category: bytes
    of these tensors by what they are. segments, device_traces: of the device's allocator, as torch gives them.
    """

    time_ms: float
    allocated_mb: float = math.nan
    reserved_mb: float = math.nan
    peak_mb: float = math.nan
    resident_mb: float = math.nan
    by_category: dict[str, int] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)
    segments: list[dict[str, Any]] = field(default_factory=list, repr=False)
    device_traces: list[list[dict[str, Any]]] = field(default_factory=list, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures ready for JSON, without segments and traces."""
        names = ("time_ms", "allocated_mb", "reserved_mb", "peak_mb", "resident_mb")
        found: dict[str, Any] = {name: number(getattr(self, name)) for name in names}
        return found | {"by_category": self.by_category, "unavailable": self.unavailable}

    def dump(self, path: str | os.PathLike[str]) -> None:
        """Write segments and traces as pytorch.org/memory_viz loads them: one plain pickle, atomically.

        UnavailableError where no device's allocator was in use.
        """
        if not self.segments and not self.device_traces:
            raise UnavailableError("no device's allocator was in use: there are no segments to write")
        with atomic_path(path) as temporary, open(temporary, "wb") as file:
            pickle.dump({"segments": self.segments, "device_traces": self.device_traces}, file)


def number(value: float) -> float | None:
    """Return a figure for JSON."""
    return None if math.isnan(value) else value
