# SPDX-License-Identifier: Apache-2.0
"""Why figures of a scope, or of all calls of an operation, are missing."""

from typing import TYPE_CHECKING, NoReturn

from .._core import INTERVAL_STATES
from . import fixed_shares

if TYPE_CHECKING:
    from ..public.run import Run

WORK_FIELDS = ("transfer_time_ms", "gpu_utilization", "memory_bandwidth_gb_s")
# Why a scope with events has no device time.
STATE_REASONS = {
    "captured": "the stream was being captured into a graph; an event there cannot be timed",
    "stream_changed": "the scope ended on another stream or device than it began on",
    "pending": "the device had not finished the scope when this was read",
    "lost": "the device context went away before the events were read",
    "failed": "the driver refused to record or read an event",
}
BEYOND_HOST = "the time between the events is longer than the host's; two events cannot tell work from waiting"
WORK_BEYOND_HOST = "the device worked longer on what the scope launched than the scope lasted on the host"
NEEDS_KERNELS = (
    "two events do not tell what the device did between them; it needs the kernels and copies, which"
    " profile_kernels=True records"
)
NO_WORK = "no device work that was launched inside is in the recording"
NO_COPY = "no copy of which size and time are recorded was launched inside"
DECLARED_CPU = "the scope was declared as device='cpu'; no device was measured"
NO_EVENTS_CPU = "a scope that was declared as device='cpu' has no events"
HOST_PART = "only a scope that was declared as device='cpu' has it; duration_ms is the host's time of every scope"
TIMING_OFF = "device_timing is off"
NO_SAMPLE = "no memory sample fell inside; track_memory=True measures every scope"
NO_START_TIMES = "the file has no start times, so it is not known what is nested in what"
NO_CHANGE = "needs begin and end values; track_memory=True measures them"


class Reasons(dict[str, str]):
    """Why figures are missing, by the name of the field: a dictionary that many entries share, so it does not change.

    It can be pickled, and ``dataclasses.asdict`` and JSON take it as the dictionary that it is.
    """

    __slots__ = ()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("the reasons of an entry are shared with others; change a copy: dict(entry.unavailable)")

    __setitem__ = __delitem__ = __ior__ = update = setdefault = pop = popitem = clear = _refuse

    def __reduce__(self) -> tuple[type, tuple[dict[str, str]]]:
        return type(self), (dict(self),)

    def __copy__(self) -> "Reasons":
        return self

    def __deepcopy__(self, memo: object) -> "Reasons":
        return self


class Why:
    """Why figures of a run's scopes can be missing; what all of them share is looked at once."""

    def __init__(self, run: "Run") -> None:
        self._has_work = run._has_work
        self._no_device = run.device_reason
        self._no_kernels = _why_no_kernels(run)
        codes = {row["code"] for row in run.anomaly_list()}
        self._every = {"memory_allocated_mb": NO_CHANGE, "memory_peak_mb": NO_SAMPLE}
        if "no_start_times" in codes:
            self._every["exclusive_time_ms"] = NO_START_TIMES
        if "stated_constants" in codes:
            self._every |= dict.fromkeys((*fixed_shares.KNOWN, "gpu_utilization"), fixed_shares.REASON)

    def reasons(self, *, on_cpu: bool, state: str | None, timed: bool, events: bool, work: bool) -> dict[str, str]:
        """Return a reason for each figure that can be missing, also for those that are not.

        on_cpu: declared so. state: of its events, None without. timed, events: whether it has a device time, and from
        events. work: whether device work that was launched inside is recorded.
        """
        no_time = self._no_time(on_cpu, state)
        beyond = BEYOND_HOST if events else WORK_BEYOND_HOST
        found = {"gpu_time_ms": no_time, "overhead_ms": beyond if timed else no_time}
        found |= dict.fromkeys(WORK_FIELDS, self._no_work(on_cpu))
        if work:
            found["memory_bandwidth_gb_s"] = NO_COPY
        if not on_cpu:
            found["cpu_time_ms"] = HOST_PART
        return found | self._every

    def _no_time(self, on_cpu: bool, state: str | None) -> str:
        if on_cpu:
            return f"{NO_EVENTS_CPU}, and {NO_WORK}" if self._has_work else DECLARED_CPU
        reason = STATE_REASONS.get(state or "", self._no_device)
        return f"{reason}, and {NO_WORK}" if self._has_work else reason

    def _no_work(self, on_cpu: bool) -> str:
        if self._has_work:
            return NO_WORK
        return DECLARED_CPU if on_cpu else self._no_kernels


def _why_no_kernels(run: "Run") -> str:
    """Say why a run without device work has none: there was no device, or its work was not asked for or refused."""
    device = run.environment.get("device")
    device = device if isinstance(device, dict) else {}
    refused = device.get("kernels_reason")
    if refused and isinstance(refused, str):
        return f"the kernels are not recorded: {refused}"
    return NEEDS_KERNELS if device.get("available") or run.device_reason == TIMING_OFF else run.device_reason


def state_name(number: int) -> str | None:
    """Return the name of a state of events, None for that of a scope without."""
    return INTERVAL_STATES[number] if number < len(INTERVAL_STATES) else None
