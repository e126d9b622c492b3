# SPDX-License-Identifier: Apache-2.0
"""The figures as Prometheus metrics: base units, and labels with few values each.

Devices have the names and units of dcgm-exporter where it has the metric, so that its dashboards fit, and ours in base
units beside them.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from ..system import telemetry
from .devices import read_devices

if TYPE_CHECKING:
    from .alerts import Alarm
    from .figures import Durations, Figures

# metric of NVML -> (name here, factor to the base unit, factor to dcgm-exporter's unit)
DEVICE = {
    "gpu_utilization_percent": ("utilization_ratio", 0.01, 1.0),
    "memory_utilization_percent": ("memory_busy_ratio", 0.01, 1.0),
    "memory_used_bytes": ("memory_used_bytes", 1.0, 1 / 2**20),
    "memory_free_bytes": ("memory_free_bytes", 1.0, 1 / 2**20),
    "memory_total_bytes": ("memory_total_bytes", 1.0, 1 / 2**20),
    "power_average_watts": ("power_watts", 1.0, 1.0),
    "energy_joules": ("energy_joules", 1.0, 1e3),
    "temperature_gpu_celsius": ("temperature_celsius", 1.0, 1.0),
    "clock_sm_mhz": ("clock_sm_hertz", 1e6, 1.0),
    "clock_memory_mhz": ("clock_memory_hertz", 1e6, 1.0),
}


def registry_of(figures: "Figures", pid: int, alarms: "Sequence[Alarm]" = ()) -> Any:
    """Return a registry of what is known of the program, its process, its alerts and the devices. UnavailableError
    without prometheus_client."""
    client = prometheus()
    registry = client.CollectorRegistry()
    registry.register(Collector(figures, alarms))
    client.ProcessCollector(namespace="regimeter_program", pid=lambda: pid, registry=registry)
    return registry


def prometheus() -> Any:
    """Return the package prometheus_client."""
    try:
        import prometheus_client
    except ImportError:
        raise _core.UnavailableError(
            "monitor needs the package prometheus_client; install it: pip install 'regimeter[monitor]'"
        ) from None
    return prometheus_client


class Collector:
    """Gives the figures when they are asked for."""

    def __init__(self, figures: "Figures", alarms: "Sequence[Alarm]") -> None:
        """Give these figures."""
        self._figures = figures
        self._alarms = alarms

    def collect(self) -> Iterable[Any]:
        """Return the metrics."""
        return [*self._figures.read(_of_program), *_of_alarms(self._alarms), *_of_devices()]

    def describe(self) -> Iterable[Any]:
        """Return nothing: names are known without asking devices."""
        return []


def _of_program(figures: "Figures", now: float) -> list[Any]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    anomalies = CounterMetricFamily("regimeter_anomalies", "What the recording lost or doubts", labels=["code"])
    for code, count in sorted(figures.anomalies.items()):
        anomalies.add_metric([code], count)
    scopes = _summary("regimeter_scope_duration_seconds", f"Scopes; the first {len(figures.operations)} names")
    for name, durations in figures.operations.items():
        _fill(scopes, durations, now, {"operation": name})
    steps = _summary("regimeter_step_duration_seconds", "Steps of the training or inference loop; last minute")
    if figures.steps.count:
        _fill(steps, figures.steps, now, {})
    return [
        CounterMetricFamily("regimeter_scopes", "Scopes that have ended", value=figures.scopes),
        CounterMetricFamily("regimeter_scopes_failed", "Scopes that an exception ended", value=figures.failed),
        GaugeMetricFamily("regimeter_scopes_per_second", "Scopes that ended since the last look", value=figures.rate),
        CounterMetricFamily(
            "regimeter_own_cost_seconds", "Time that recording took in the program", value=figures.own_ns / 1e9
        ),
        anomalies,
        scopes,
        steps,
    ]


def _summary(name: str, text: str) -> Any:
    from prometheus_client.metrics_core import Metric

    return Metric(name, text, "summary")


def _fill(summary: Any, durations: "Durations", now: float, labels: dict[str, str]) -> None:
    for quantile, seconds in durations.quantiles(now).items():
        summary.add_sample(summary.name, {**labels, "quantile": str(quantile)}, seconds)
    summary.add_sample(f"{summary.name}_count", labels, durations.count)
    summary.add_sample(f"{summary.name}_sum", labels, durations.total_ns / 1e9)


def _of_alarms(alarms: "Sequence[Alarm]") -> Iterator[Any]:
    """Yield the state of each rule that was asked for; the value where one is known."""
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    if not alarms:
        return
    firing = GaugeMetricFamily("regimeter_alert_firing", "1 while the alert is raised", labels=["alert"])
    values = GaugeMetricFamily("regimeter_alert_value", "Value of the rule in the last look", labels=["alert"])
    raised = CounterMetricFamily("regimeter_alerts", "How often the alert was raised", labels=["alert"])
    for alarm in alarms:
        firing.add_metric([alarm.rule.name], float(alarm.firing))
        raised.add_metric([alarm.rule.name], alarm.raised)
        if alarm.value is not None:
            values.add_metric([alarm.rule.name], alarm.value)
    yield from (firing, values, raised)


def _of_devices() -> Iterator[Any]:
    """Yield what NVML says of each device, nothing where there is none."""
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    read = read_devices()
    if not read:
        return
    about = telemetry.metrics()
    for metric, (name, base, dcgm) in DEVICE.items():
        family = CounterMetricFamily if about[metric].kind == "counter" else GaugeMetricFamily
        ours = family(f"regimeter_gpu_{name}", about[metric].doc, labels=["gpu", "uuid"])
        theirs = GaugeMetricFamily(about[metric].dcgm, about[metric].doc, labels=["gpu", "UUID", "modelName"])
        known = False
        for device, readings in read:
            value = readings[metric].value
            if value is not None:
                known = True
                ours.add_metric([str(device.index), str(device.uuid)], value * base)
                theirs.add_metric([str(device.index), str(device.uuid), str(device.name)], value * dcgm)
        if known:
            yield ours
            yield theirs
