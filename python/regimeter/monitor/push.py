# SPDX-License-Identifier: Apache-2.0
"""What Prometheus would fetch, pushed to a collector as metrics of OpenTelemetry, by OTLP over HTTP."""

import logging
import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..run import otlp

if TYPE_CHECKING:
    from .figures import Figures

PATH = "/v1/metrics"  # where a collector takes them, for an address without a path
UNITS = {"seconds": "s", "bytes": "By", "watts": "W", "joules": "J", "celsius": "Cel", "hertz": "Hz", "ratio": "1"}
LOGGER = "opentelemetry.exporter"


class Push:
    """Sends what a registry has, each so many seconds and at the end, from a thread of its own; what a collector does
    not take is counted and disturbs nothing."""

    def __init__(self, url: str, interval_s: float, program: str) -> None:
        """url: of the collector, http or https; program: its name. UnavailableError without OpenTelemetry's SDK."""
        otlp.need_sdk()
        self.sent = self.failures = 0
        self.reason = ""
        self._url = url if urlsplit(url).path.strip("/") else url.rstrip("/") + PATH
        self._interval_s = interval_s
        self._program = program
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, registry: Any, figures: "Figures", pid: int) -> None:
        """Begin to send."""
        work = (registry, figures, {"program": self._program, "pid": pid})
        self._thread = threading.Thread(target=self._run, args=work, name="regimeter-otlp", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Send once more and end."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self, registry: Any, figures: "Figures", environment: dict[str, Any]) -> None:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

        with _Said() as said:
            exporter = OTLPMetricExporter(self._url, timeout=otlp.TIMEOUT_S)
            try:
                ended = False
                while not ended:
                    ended = self._ended.wait(self._interval_s)
                    self._send(exporter, metrics_of(registry.collect(), figures.began_unix_ns, environment), said)
            finally:
                exporter.shutdown()

    def _send(self, exporter: Any, metrics: Any, said: "_Said") -> None:
        from opentelemetry.sdk.metrics.export import MetricExportResult

        try:
            taken = exporter.export(metrics) is MetricExportResult.SUCCESS
            reason = said.last
        except Exception as error:  # the exporter's requests may raise what they like
            taken, reason = False, f"{type(error).__name__}: {error}"
        self.sent += 1
        if not taken:
            self.failures += 1
            self.reason = reason


class _Said(logging.Handler):
    """Keeps the last thing that the exporter says, which is why it failed, from the program's terminal."""

    def __init__(self) -> None:
        super().__init__()
        self.last = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message."""
        self.last = record.getMessage()

    def __enter__(self) -> "_Said":
        logger = logging.getLogger(LOGGER)
        self._propagated, logger.propagate = logger.propagate, False
        logger.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logger = logging.getLogger(LOGGER)
        logger.removeHandler(self)
        logger.propagate = self._propagated


def metrics_of(families: Iterable[Any], began_unix_ns: int, environment: dict[str, Any]) -> Any:
    """Return metrics of Prometheus as the SDK's data: counters are cumulative sums, all else gauges, and a summary is
    the gauge of its quantiles with a sum each for its count and its sum."""
    from opentelemetry.sdk.metrics import export as data
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

    now = time.time_ns()
    metrics = []
    for family in families:
        points: dict[str, list[Any]] = {}
        for sample in family.samples:
            name = sample.name.removesuffix("_total")
            if name.endswith("_created"):
                continue
            points.setdefault(name, []).append(
                data.NumberDataPoint(dict(sample.labels), began_unix_ns, now, float(sample.value))
            )
        for name, found in points.items():
            counts = family.type == "counter" or name != family.name
            held = data.Sum(found, data.AggregationTemporality.CUMULATIVE, True) if counts else data.Gauge(found)
            unit = UNITS.get(name.removesuffix("_sum").rpartition("_")[2], "")
            metrics.append(data.Metric(name, family.documentation, unit, held))
    scope = data.ScopeMetrics(InstrumentationScope("regimeter", otlp.version()), metrics, "")
    return data.MetricsData([data.ResourceMetrics(Resource(otlp.resource_of(environment)), [scope], "")])
