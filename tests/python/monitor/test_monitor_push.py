# SPDX-License-Identifier: Apache-2.0
"""Metrics that the monitor pushes to a collector: those that Prometheus would have fetched."""

import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from collecting import Collector, attributes, collecting
from watching import SCOPES, Watched

pytest.importorskip("prometheus_client")
pytest.importorskip("opentelemetry.exporter.otlp.proto.http")

PATH = "/v1/metrics"


def points(request: Any) -> dict[tuple[str, tuple[tuple[str, Any], ...]], tuple[str, Any, Any]]:
    """Return kind, metric and point of a request by name and attributes."""
    return {
        (metric.name, tuple(sorted(attributes(point).items()))): (metric.WhichOneof("data"), metric, point)
        for resource in request.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        for point in getattr(metric, metric.WhichOneof("data")).data_points
    }


def watch(folder: Path, collector: Collector) -> tuple[dict[tuple[str, Any], float], str]:
    """Run a program whose metrics go there; return what Prometheus was told of it, and what was said at the end."""
    watched = Watched(folder, "--otlp", collector.address.removesuffix(PATH))
    told = watched.until(SCOPES)
    while not collector.taken and watched.process.poll() is None:
        time.sleep(0.05)
    code, said = watched.end()
    assert code == 7
    return told, said


def test_a_collector_is_told_what_prometheus_is_told(tmp_path: Path) -> None:
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

    with collecting(ExportMetricsServiceRequest, PATH) as collector:
        told, said = watch(tmp_path, collector)
    assert "did not take" not in said
    last = collector.taken[-1]
    found = points(last)
    changes = {"regimeter_scopes_per_second"}  # from look to look, as do quantiles of the last minute and the process
    for (name, labels), value in told.items():
        key = (name.removesuffix("_total"), labels)
        if name.endswith("_created") or name in changes or "program_process" in name or "quantile" in dict(labels):
            continue
        if name in ("regimeter_own_cost_seconds_total", "python_info"):
            continue
        assert found[key][2].as_double == value, name
    kind, metric, point = found["regimeter_scopes", ()]
    assert kind == "sum"
    assert metric.sum.is_monotonic
    assert metric.sum.aggregation_temporality == 2, "cumulative"
    assert point.as_double == SCOPES
    assert point.start_time_unix_nano < point.time_unix_nano
    begun = {one.start_time_unix_nano for request in collector.taken for _, _, one in points(request).values()}
    assert len(begun - {0}) <= 2, "totals begin once, and anew with the program's own recording"
    work = (("operation", "work 3"),)
    assert found["regimeter_scope_duration_seconds_count", work][0] == "sum"
    kind, metric, _ = found["regimeter_scope_duration_seconds", (*work, ("quantile", "0.5"))]
    assert (kind, metric.unit) == ("gauge", "s")
    while_it_ran = {key: value for request in collector.taken for key, value in points(request).items()}
    assert while_it_ran["regimeter_program_process_resident_memory_bytes", ()][1].unit == "By"
    resource = attributes(last.resource_metrics[0].resource)
    assert resource["service.name"] == "program.py"
    assert resource["process.pid"] > 0


def test_a_collector_that_does_not_take_them_disturbs_nothing(tmp_path: Path) -> None:
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

    with collecting(ExportMetricsServiceRequest, PATH) as collector:
        collector.answers += [400] * 10_000
        _, said = watch(tmp_path, collector)
    assert "the collector did not take the metrics" in said
    assert "400" in said
    assert said.count("the collector") == 1


@pytest.mark.parametrize("address", ["collector:4318", "ftp://collector", "http://"])
def test_an_address_that_is_none(address: str, refused: Callable[..., str]) -> None:
    refused(
        ["monitor", "--otlp", address, "-c", "pass"],
        f"--otlp: expected http://HOST... or https://HOST..., got {address!r}",
    )


def test_nobody_there_is_said_at_the_end(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        watched = Watched(tmp_path, "--otlp", f"http://127.0.0.1:{closed.getsockname()[1]}", "--interval", "60")
        watched.until(0)
        code, said = watched.end()
    assert code == 7
    assert "did not take the metrics 1 of 1 times" in said
