# SPDX-License-Identifier: Apache-2.0
"""How fast the devices of a run were, by the telemetry that was recorded with it (docs/gpu/telemetry.md)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import _core
from ..system.arrays import np

if TYPE_CHECKING:
    from ..public.run import Run


CLOCKS, REASONS, PROCESSES = ("clock_sm_mhz", "clock_memory_mhz"), "clock_reasons", "compute_processes"
SERIES = {*CLOCKS, REASONS, PROCESSES}


@dataclass(frozen=True, slots=True)
class DeviceWitness:
    """A device: medians over time of its clocks in MHz, None where telemetry has none.

    held_back: what kept the clocks below what the program could use, with the part of the time, most first. processes:
    most that computed on the device at once, this one included.
    """

    device: int
    sm_clock_mhz: float | None
    memory_clock_mhz: float | None
    held_back: tuple[tuple[str, float], ...]
    processes: int | None

    def told(self, least: float) -> str:
        """Return what a sentence about the machine adds, '' where it is nothing that takes `least` of the time."""
        texts = {token: text for token, (_, text, _) in _core.clock_reasons().items()}
        said = [f"GPU {self.device} was held back for {share * 100:.0f} % of the time ({texts[token]})"
                for token, share in self.held_back[:1] if share >= least]  # fmt: skip
        if self.processes is not None and self.processes > 1:
            said.append(f"up to {self.processes} processes computed on GPU {self.device}")
        return "".join(f"; {text}" for text in said)


def devices_of(run: "Run") -> tuple[DeviceWitness, ...]:
    """Return the devices that telemetry tells of, by ordinal; a value holds until the next one of its series."""
    counters = run.tables.counters
    if SERIES.isdisjoint(run.strings):
        return ()
    names = {run.string(series): series for series in np.unique(counters.series).tolist()}

    def held(name: str, device: int) -> tuple[Any, Any]:
        """Return the values of a series and how long each held."""
        rows = np.flatnonzero((counters.series == names.get(name, -1)) & (counters.device == device))
        rows = rows[np.argsort(counters.time_ns[rows], kind="stable")]
        times = counters.time_ns[rows]
        ends = np.append(times[1:], max(run.end_ns, int(times[-1]))) if len(rows) else times
        return counters.value[rows], ends - times

    found = []
    for device in np.unique(counters.device[counters.device >= 0]).tolist():
        clocks = [_median(*held(name, device)) for name in CLOCKS]
        bits, weights = held(REASONS, device)
        processes, _ = held(PROCESSES, device)
        if clocks != [None, None] or len(bits) or len(processes):
            most = int(processes.max()) if len(processes) else None
            found.append(DeviceWitness(device, clocks[0], clocks[1], _held_back(bits, weights), most))
    return tuple(found)


def _median(values: Any, weights: Any) -> float | None:
    """Return the value that holds, with those below it, for half of the time."""
    if not len(values):
        return None
    order = np.argsort(values, kind="stable")
    half = np.searchsorted(np.cumsum(weights[order]), weights.sum() / 2)
    return float(values[order][min(int(half), len(order) - 1)])


def _held_back(bits: Any, weights: Any) -> tuple[tuple[str, float], ...]:
    total, flags = int(weights.sum()), bits.astype(np.int64)
    if not total:
        return ()
    shares = [
        (token, float(weights[(flags >> bit) & 1 == 1].sum()) / total)
        for token, (bit, _, slows) in _core.clock_reasons().items()
        if slows
    ]
    return tuple(sorted(((token, share) for token, share in shares if share > 0), key=lambda pair: -pair[1]))
