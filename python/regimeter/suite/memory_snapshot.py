# SPDX-License-Identifier: Apache-2.0
"""Memory at one moment: what tensors hold, what the device's pool holds, what the process has."""

import math
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._core import UnavailableError
from ..run.memory_snapshot import snapshot_of, write_snapshot
from ..system.files import atomic_path
from ..system.quantities import known

if TYPE_CHECKING:
    from ..public.run import Run


@dataclass(frozen=True, slots=True)
class MemorySnapshot:
    """Sizes in 10**6 bytes; nan where `unavailable` says why.

    time_ms: since tracking began. allocated_mb, reserved_mb, peak_mb: of torch's allocator of the device; without a
    device `allocated_mb` is bytes of tensors that Python knows. resident_mb: of the process. by_category: bytes
    by what they are: of these tensors, or of the allocator's blocks as they were asked for. run: what the device's
    allocator held and its history, as `load` reads a snapshot; None without a device.
    """

    time_ms: float
    allocated_mb: float = math.nan
    reserved_mb: float = math.nan
    peak_mb: float = math.nan
    resident_mb: float = math.nan
    by_category: dict[str, int] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)
    run: "Run | None" = field(default=None, repr=False, compare=False)

    @property
    def segments(self) -> list[dict[str, Any]]:
        """What the device's allocator has reserved, with its blocks, as torch gives them; [] without a device."""
        return [] if self.run is None else list(snapshot_of(self.run)["segments"])

    @property
    def device_traces(self) -> list[list[dict[str, Any]]]:
        """The allocator's history, one list a device, as torch gives them; [] without a device."""
        return [] if self.run is None else list(snapshot_of(self.run)["device_traces"])

    def to_dict(self) -> dict[str, Any]:
        """Return the figures ready for JSON, without segments and traces."""
        names = ("time_ms", "allocated_mb", "reserved_mb", "peak_mb", "resident_mb")
        found: dict[str, Any] = {name: known(getattr(self, name)) for name in names}
        return found | {"by_category": self.by_category, "unavailable": self.unavailable}

    def dump(self, path: str | os.PathLike[str]) -> None:
        """Write segments and traces as pytorch.org/memory_viz loads them: one plain pickle, atomically.

        UnavailableError where no device's allocator was in use.
        """
        if self.run is None:
            raise UnavailableError("no device's allocator was in use: there are no segments to write")
        with atomic_path(path) as temporary:
            write_snapshot(self.run, temporary)
