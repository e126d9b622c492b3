# SPDX-License-Identifier: Apache-2.0
"""The fixture gpu_profile: a profiler for the test, whose scopes are judged like benchmarks."""

from typing import Any

from .. import _core
from ..compare.ab import device
from ..compare.sources import side_of
from ..profiler import GPUProfiler
from . import counts
from .benchmark import Setting
from .gate import Gate
from .records import Record


class GPUProfile:
    """A GPUProfiler that lives as long as the test; its attributes and methods are the profiler's.

    ::

        def test_step(gpu_profile):
            for batch in batches:
                with gpu_profile.profile("forward", device="gpu"):
                    model(batch)
            assert gpu_profile.get_summary()["forward"].call_count == len(batches)
    """

    def __init__(self, test: str, gate: Gate, setting: Setting) -> None:
        wanted = setting.timed and (not setting.counts or setting.log is not None)
        self.profiler = GPUProfiler(enabled=wanted, enable_detailed_metrics=False)
        if wanted and setting.log is not None:
            _core.count_open(setting.log)
            self.profiler._count()
        self._test, self._gate, self._setting = test, gate, setting

    def __getattr__(self, name: str) -> Any:
        return getattr(self.profiler, name)

    def records(self) -> list[Record]:
        """Return a record for each operation of the test."""
        if not self._setting.timed:
            return []
        if not self.profiler.enabled and self._setting.counts:  # its operations are known when they are counted
            return [self._record("")]
        side = side_of(self.profiler.run(), self._test)
        refused = self._setting.refused if device.present() and not self._setting.counts else ""
        found: dict[str, Record] = {}
        for metric, samples in side.metrics.items():
            for operation, launches in samples.launches.items():
                record = found.setdefault(operation, self._record(operation))
                values = [float(value) for launch in launches for value in launch]
                if metric == counts.METRIC:
                    record.clock = counts.CLOCK
                if metric in ("time", "device_time", "memory_peak", counts.METRIC) and values and not refused:
                    record.metrics[metric] = [values]
                    record.rounds = max(record.rounds, len(values))
        for record in found.values():
            if refused:
                record.unavailable = {"time": refused}
        return list(found.values())

    def close(self) -> None:
        """End the recording."""
        self.profiler.close()

    def _record(self, operation: str) -> Record:
        return Record(
            operation=f"{self._test} [{operation}]",
            test=self._test,
            kind="profile",
            gate=self._gate.to_dict(),
            group=self._gate.group,
            workers=self._setting.workers,
            disturbed=list(self._setting.tracked),
        )
