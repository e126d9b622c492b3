# SPDX-License-Identifier: Apache-2.0
"""What a profiler records of devices beside its scopes: kernels, collectives, series of values, stalls."""

from typing import Any

from .. import _core
from . import collectives, kernels, series, stalls
from .asked import Asked


class Devices:
    """What was started of that with a profiler, which each method is given: it holds this."""

    def __init__(self, profiler: _core.Profiler, asked: Asked, device_id: int) -> None:
        traced = kernels.beside_stalls(asked.profile_kernels) if asked.stalls else asked.profile_kernels
        self.kernels = kernels.Tracing(profiler, traced)  # before stalls, for which it tells of contexts
        self._collectives_told = collectives.begin() if self.kernels.may_run else collectives.Told()
        self._series = series.start(profiler, asked.telemetry, asked.counters, device_id, self.kernels.may_run)
        self._stalls_reason = stalls.start(profiler, asked.stalls)

    def collect(self, profiler: _core.Profiler) -> None:
        """Record what has come in so far."""
        profiler._kernels_flush()
        profiler._stalls_collect()
        self._take_collectives(profiler)

    def stop(self, profiler: _core.Profiler) -> None:
        """End all of it; what is still on its way is collected."""
        stalls.stop(profiler)
        self.kernels.stop(profiler)
        self._take_collectives(profiler)
        series.stop(profiler, self._series)

    def _take_collectives(self, profiler: _core.Profiler) -> None:
        """Record what collectives were queued; without kernels there is nothing that they would be told of."""
        if self.kernels.has_run:
            rows, self._collectives_told = collectives.read(self._collectives_told)
            profiler._collectives(rows)

    def service_cpu_ns(self, profiler: _core.Profiler) -> int:
        """Return the processor time of all threads that serve it, by their own clocks."""
        used = self.kernels.service_cpu_ns() + series.service_cpu_ns(profiler, self._series)
        return used + stalls.service_cpu_ns(profiler)

    def describe(self, profiler: _core.Profiler) -> dict[str, Any]:
        """Return what a run's environment says of it."""
        return {
            **self.kernels.describe(),
            **(collectives.describe(self._collectives_told) if self.kernels.has_run else {}),
            **series.describe(profiler, self._series),
            **stalls.describe(profiler, self._stalls_reason),
        }
