# SPDX-License-Identifier: Apache-2.0
"""One recording by torch.profiler, in whole or by a schedule; a guest where another profiler records already."""

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..system.torch_extra import wait_for_devices
from .schedule import Schedule

GUEST = (
    "another torch.profiler was recording: its trace has this block, and session.complete(that profiler or its trace)"
    " fills in the rest once it has stopped"
)


def is_recording(torch: Any) -> bool:
    """Whether some profiler of torch records in this process now."""
    return bool(torch.autograd._profiler_enabled())


class Recording:
    """From `begin` to `end`, with `step` between the steps of a schedule.

    taken: called with the file of each trace, which goes when it returns. own_ns, own_cpu_ns: the time
    and the processor time that beginning, ending and stepping took, which are not the block's. guest: another profiler
    records, and the block is only marked in its trace.
    """

    def __init__(
        self,
        torch: Any,
        mark: str,
        options: Mapping[str, Any],
        schedule: Schedule | None,
        taken: Callable[[Path], None],
    ) -> None:
        self.guest = is_recording(torch)
        self.schedule = schedule
        self.steps: list[dict[str, Any]] = []
        self.own_ns = self.own_cpu_ns = 0
        self._torch = torch
        self._taken = taken
        self._mark = torch.profiler.record_function(mark)
        self._profiler: Any = None
        self._step_began = 0
        if not self.guest:
            self._profiler = torch.profiler.profile(
                activities=torch.profiler.supported_activities(),
                schedule=schedule and _of_torch(torch, schedule),
                on_trace_ready=self._hand_over if schedule else None,
                **options,
            )

    def begin(self) -> None:
        """Begin to record; the block starts when this returns."""
        with self._own():
            if self._profiler is not None:
                self._profiler.start()
            if self.schedule is None:
                self._mark.__enter__()
        self._step_began = time.perf_counter_ns()

    def step(self) -> None:
        """Say that a step has ended and the next one begins."""
        self._end_step()
        with self._own():
            if self._profiler is not None:
                self._profiler.step()
        self._step_began = time.perf_counter_ns()

    def end(self) -> None:
        """Stop, and hand the trace over. Devices have been waited for."""
        with self._own():
            if self.schedule is None:
                self._mark.__exit__(None, None, None)
            if self._profiler is not None:
                self._profiler.stop()
                if self.schedule is None:
                    self._hand_over(self._profiler)

    def _end_step(self) -> None:
        wait_for_devices(self._torch)
        phase = self.schedule.phase(len(self.steps)) if self.schedule is not None else "active"
        self.steps.append({"phase": phase, "time_ms": (time.perf_counter_ns() - self._step_began) / 1e6})

    def _hand_over(self, profiler: Any) -> None:
        with tempfile.TemporaryDirectory(prefix="regimeter-") as folder:
            path = Path(folder) / "trace.json"
            profiler.export_chrome_trace(os.fspath(path))
            self._taken(path)

    @contextlib.contextmanager
    def _own(self) -> Iterator[None]:
        cpu_began, began = time.process_time_ns(), time.perf_counter_ns()
        try:
            yield
        finally:
            self.own_ns += time.perf_counter_ns() - began
            self.own_cpu_ns += time.process_time_ns() - cpu_began


def _of_torch(torch: Any, schedule: Schedule) -> Any:
    """Return the schedule as torch wants it."""
    return torch.profiler.schedule(
        wait=schedule.wait, warmup=schedule.warmup, active=schedule.active, repeat=schedule.repeat
    )
