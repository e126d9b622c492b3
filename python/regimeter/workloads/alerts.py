# SPDX-License-Identifier: Apache-2.0
"""What stands out in measured kernels: slow, variable, with outliers, throttled, beside a target."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .. import _core
from ..system import gpus, telemetry
from .statistics import KernelStats

SLOW, VARIANCE, OUTLIER, THROTTLING, TARGET = "SLOW", "HIGH VARIANCE", "OUTLIER", "THROTTLING", "TARGET MISSED"
# What the user chose for the device is no throttling.
CHOSEN = ("application_clocks",)


@dataclass(frozen=True, slots=True)
class Alert:
    """One finding: its kind, the kernel, the value and the limit that it crossed, and a sentence."""

    kind: str
    kernel: str
    value: float | None
    limit: float | None
    text: str

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}


def alerts_of(stats: Iterable[KernelStats], policy: Mapping[str, float]) -> list[Alert]:
    """Return the alerts of all kernels, in their order; policy: see `policy.thresholds`."""
    return [alert for one in stats for alert in (*_limits(one, policy), *_targets(one, policy), *_throttled(one))]


def _limits(one: KernelStats, policy: Mapping[str, float]) -> Iterable[Alert]:
    what = one.basis.replace("_", " ")
    if one.mean_us > policy["slow_us"]:
        text = f"mean {what} {one.mean_us:,.1f} us, above {policy['slow_us']:g} us"
        yield Alert(SLOW, one.name, one.mean_us, policy["slow_us"], text)
    if one.cv is not None and one.cv > policy["variance_cv"]:
        text = f"{what} varies by {100 * one.cv:.1f} %, above {100 * policy['variance_cv']:g} %"
        yield Alert(VARIANCE, one.name, one.cv, policy["variance_cv"], text)
    limit = policy["outlier_factor"] * one.mean_us
    if one.max_us > limit:
        text = f"longest {what} {one.max_us:,.1f} us, above {policy['outlier_factor']:g} means ({limit:,.1f} us)"
        yield Alert(OUTLIER, one.name, one.max_us, limit, text)


def _targets(one: KernelStats, policy: Mapping[str, float]) -> Iterable[Alert]:
    mean, rate = policy["target_mean_us"], policy["target_throughput"]
    if one.mean_us >= mean:
        text = f"mean {one.mean_us:,.1f} us, target below {mean:g} us"
        yield Alert(TARGET, one.name, one.mean_us, mean, text)
    if one.cv is not None and one.cv >= policy["target_cv"]:
        text = f"variation {100 * one.cv:.1f} %, target below {100 * policy['target_cv']:g} %"
        yield Alert(TARGET, one.name, one.cv, policy["target_cv"], text)
    if one.throughput_ops_sec is not None and one.throughput_ops_sec <= rate:
        text = f"{one.throughput_ops_sec:,.1f} calls a second, target above {rate:g}"
        yield Alert(TARGET, one.name, one.throughput_ops_sec, rate, text)


def _throttled(one: KernelStats) -> Iterable[Alert]:
    reasons = one.facts.get("slowed_by")
    if reasons:
        yield Alert(THROTTLING, one.name, None, None, f"the device was slowed down: {', '.join(reasons)}")


def slowed_by(device: int | str) -> tuple[list[str], str]:
    """Return why a CUDA device is below its full clocks now, and '' or the reason why that is not known."""
    if not gpus.nvml_possible():
        return [], gpus.reason()
    try:
        reading = telemetry.read(device)["clock_reasons"]
    except (_core.Error, OSError) as error:
        return [], str(error)
    if reading.value is None:
        return [], reading.reason
    return [name for name in telemetry.slowed_by(reading.value) if name not in CHOSEN], ""
