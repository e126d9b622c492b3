# SPDX-License-Identifier: Apache-2.0
"""Kernels of a run by name: device work that ran on a device. An operator of the host is none, whatever its name."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..public.run import Run

KERNEL = _core.SPAN_KINDS.index("kernel")
CALLS = tuple(_core.SPAN_KINDS.index(kind) for kind in ("runtime", "driver"))
US = 1e-3  # per ns


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """All launches of one kernel.

    duration_us, cuda_time_us: time on the device, the sum over launches; both are the same figure. cpu_time_us: of the
    calls that launched it, None where they were not recorded. device_index, stream, grid, block,
    registers_per_thread, shared_memory_bytes: of its longest launch, None where they were not recorded.
    """

    name: str
    duration_us: float
    cuda_time_us: float
    cpu_time_us: float | None = None
    device_index: int | None = None
    stream: int | None = None
    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    registers_per_thread: int | None = None
    shared_memory_bytes: int | None = None
    call_count: int = 1

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        return asdict(self)


def kernels_of(run: "Run") -> list[KernelInfo]:
    """Return the kernels of a run, those with most time first."""
    spans = run.spans
    rows = np.flatnonzero(spans.kind == KERNEL)
    if not len(rows):
        return []
    launches = _launches(run)
    calls = _calls(run)
    names, groups = np.unique(spans.name[rows], return_inverse=True)
    found = [_info(run, int(name), rows[groups == at], launches, calls) for at, name in enumerate(names)]
    return sorted(found, key=lambda kernel: (-kernel.cuda_time_us, kernel.name))


def _launches(run: "Run") -> dict[int, int]:
    """Return span -> row of its launch configuration."""
    return {int(span): row for row, span in enumerate(run.tables.launches.span)}


def _calls(run: "Run") -> dict[int, int]:
    """Return correlation -> duration of the call that launched, in ns."""
    spans = run.spans
    rows = np.flatnonzero(np.isin(spans.kind, CALLS) & (spans.correlation > 0))
    return dict(zip(spans.correlation[rows].tolist(), spans.duration_ns[rows].tolist(), strict=True))


def _info(run: "Run", name: int, rows: "NDArray[Any]", launches: dict[int, int], calls: dict[int, int]) -> KernelInfo:
    spans = run.spans
    longest = int(rows[np.argmax(spans.duration_ns[rows])])
    lane = int(spans.lane[longest])
    total = int(spans.duration_ns[rows].sum()) * US
    host = [calls[key] for key in set(spans.correlation[rows].tolist()) if key in calls]  # a graph's call once
    device = int(run.lanes.device[lane]) if len(run.lanes) else -1
    at = launches.get(longest)
    return KernelInfo(
        name=run.string(name),
        duration_us=total,
        cuda_time_us=total,
        cpu_time_us=sum(host) * US if host else None,
        device_index=device if device >= 0 else None,
        stream=int(run.lanes.thread[lane]) if len(run.lanes) else None,
        grid=None if at is None else _triple(run, at, ("grid_x", "grid_y", "grid_z")),
        block=None if at is None else _triple(run, at, ("block_x", "block_y", "block_z")),
        registers_per_thread=None if at is None else _known(run.tables.launches.registers[at]),
        shared_memory_bytes=None if at is None else _known(run.tables.launches.shared_bytes[at]),
        call_count=len(rows),
    )


def _triple(run: "Run", at: int, columns: Sequence[str]) -> tuple[int, int, int] | None:
    x, y, z = (int(getattr(run.tables.launches, column)[at]) for column in columns)
    return (x, y, z) if min(x, y, z) > 0 else None


def _known(value: Any) -> int | None:
    return int(value) if int(value) >= 0 else None
