# SPDX-License-Identifier: Apache-2.0
"""The clock of a device's multiprocessors while it worked: by telemetry, or by samples of hardware counters."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import _core

if TYPE_CHECKING:
    from ..public.run import Run

TELEMETRY = "clock_sm_mhz"
ROLE = "sm_clock"  # of hardware counters, in Hz
LEAST_COVERED = 0.5  # of the time of the work, below which its clock is not known


@dataclass(frozen=True)
class DeviceClock:
    """Samples of one device's clock: times in ns in order, MHz; each holds until the next, the last until end_ns.

    Telemetry writes a value when it changes, so one sample may hold for a whole run.
    """

    times_ns: NDArray[np.int64]
    mhz: NDArray[np.float64]
    end_ns: int

    @classmethod
    def of(cls, run: "Run", device: int) -> Self | None:
        """Return the samples of a device, those of hardware counters where there are any; None without one."""
        counters = run.tables.counters
        of_device = counters.device == device
        for names, factor in ((_metrics(), 1e-6), ((TELEMETRY,), 1.0)):
            for series in np.unique(counters.series[of_device]).tolist():
                if run.string(series) not in names:
                    continue
                rows = np.flatnonzero(of_device & (counters.series == series) & (counters.span < 0))
                rows = rows[np.argsort(counters.time_ns[rows], kind="stable")]
                if len(rows):
                    times = counters.time_ns[rows]
                    return cls(times, counters.value[rows] * factor, max(int(times[-1]), run.end_ns))
        return None

    def mean_mhz(self, starts_ns: NDArray[Any], durations_ns: NDArray[Any]) -> float | None:
        """Return the mean clock over pieces of work, weighted by their time; None where it covers too little of it."""
        knots = np.append(self.times_ns, self.end_ns).astype(np.float64)
        spun = np.concatenate(([0.0], np.cumsum(self.mhz * np.diff(knots))))
        first = np.maximum(starts_ns, knots[0])
        last = np.minimum(starts_ns + durations_ns, knots[-1])
        inside = last > first
        covered, whole = float((last - first)[inside].sum()), float(np.asarray(durations_ns).sum())
        if not whole or covered < LEAST_COVERED * whole:
            return None
        cycles = np.interp(last[inside], knots, spun) - np.interp(first[inside], knots, spun)
        return float(cycles.sum()) / covered


def _metrics() -> tuple[str, ...]:
    role = _core.counter_roles()[ROLE]
    return tuple({*role["range"], *role["pm_sampling"], *role["gpm"]})


def clocks_of(
    run: "Run", names: list[str], keys: NDArray[Any], devices: NDArray[Any], starts: NDArray[Any], lengths: NDArray[Any]
) -> dict[str, float]:
    """Return the mean clock in MHz during the device work of each name, of those of which it is known.

    names: by key. The others have a cell for each piece of work: its key, device, start and duration in ns. Work of a
    name on several devices counts with the clock of each.
    """
    sums: dict[str, list[float]] = {}
    for device in np.unique(devices[devices >= 0]).tolist():
        clock = DeviceClock.of(run, device)
        here = devices == device
        for key in np.unique(keys[here]).tolist():
            chosen = here & (keys == key)
            mhz = None if clock is None else clock.mean_mhz(starts[chosen], lengths[chosen])
            if mhz is not None:
                weight = float(lengths[chosen].sum())
                total = sums.setdefault(names[int(key)], [0.0, 0.0])
                total[0] += mhz * weight
                total[1] += weight
    return {name: total / weight for name, (total, weight) in sums.items() if weight}
