# SPDX-License-Identifier: Apache-2.0
"""Scopes as spans of OpenTelemetry: read by the SDK's own messages, taken by a collector's double over HTTP."""

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from collecting import Collector, attributes, collecting

from regimeter import GPUProfiler, Run, load
from regimeter.cli import main

pytest.importorskip("opentelemetry.sdk")
pytest.importorskip("opentelemetry.exporter.otlp.proto.http")

STEPS = 3


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Steps with two scopes in each, one of which an exception ended."""
    path = tmp_path_factory.mktemp("otlp") / "run.rgm"
    with GPUProfiler(path=path) as profiler:
        for number in range(STEPS):
            with profiler.profile("step", device="cpu", number=number, shape=[2, 3]):
                with profiler.profile("forward", device="cpu"):
                    pass
                with pytest.raises(KeyError), profiler.profile("backward", device="cpu"):
                    raise KeyError
    return path


def spans_in(requests: list[Any]) -> list[Any]:
    return [span for one in requests for rows in one.resource_spans for part in rows.scope_spans for span in part.spans]


def check(run: Run, requests: list[Any]) -> None:
    """Compare what was written with the run, to the nanosecond."""
    spans = spans_in(requests)
    assert run.start_unix_ns is not None
    shift = run.start_unix_ns - run.start_ns
    rows = run.spans
    assert [span.name for span in spans] == [run.string(name) for name in rows.name.tolist()]
    assert [span.start_time_unix_nano for span in spans] == (rows.start_ns + shift).tolist()
    assert [span.end_time_unix_nano for span in spans] == (rows.start_ns + rows.duration_ns + shift).tolist()
    ids = [span.span_id for span in spans]
    assert [ids.index(span.parent_span_id) if span.parent_span_id else -1 for span in spans] == rows.parent.tolist()
    assert len(set(ids)) == 3 * STEPS
    assert len({span.trace_id for span in spans}) == STEPS
    assert all(span.trace_id == spans[ids.index(span.parent_span_id)].trace_id for span in spans if span.parent_span_id)
    assert [span.status.code for span in spans] == [2 if span.name == "backward" else 0 for span in spans]
    first = attributes(spans[0])
    assert first["regimeter.metadata.number"] == 0
    assert first["regimeter.metadata.shape"] == "[2, 3]"
    assert first["thread.id"] == run.lanes.thread[0]
    assert first["thread.name"] == "MainThread"
    assert first["regimeter.device"] == "cpu"
    resource = {one.key: one.value for one in requests[0].resource_spans[0].resource.attributes}
    assert resource["service.name"].string_value
    assert resource["process.pid"].int_value == run.environment["pid"]


def test_a_file_is_read_by_their_messages(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from google.protobuf.json_format import Parse
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    output = tmp_path / "run.otlp.json"
    assert main(["export", str(recording), "-o", str(output)]) == 0
    assert f"{3 * STEPS} spans" in capsys.readouterr().out.replace("entries", "spans")
    again = tmp_path / "again"
    load(recording).export(again, "otlp")
    assert again.read_bytes() == output.read_bytes()
    requests = []
    for line in output.read_text().splitlines():
        document = json.loads(line)
        for span in document["resourceSpans"][0]["scopeSpans"][0]["spans"]:
            assert len(span["traceId"]) == 32  # hexadecimal, where protobuf's JSON has base64
            for name in {"traceId", "spanId", "parentSpanId"} & set(span):
                span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
        requests.append(Parse(json.dumps(document), ExportTraceServiceRequest()))
    check(load(recording), requests)


@pytest.fixture
def collector() -> Iterator[Collector]:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    with collecting(ExportTraceServiceRequest, "/v1/traces") as found:
        yield found


def test_a_collector_takes_them(recording: Path, collector: Collector, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(recording), "-o", collector.address]) == 0
    assert collector.address in capsys.readouterr().out
    check(load(recording), collector.taken)


def test_a_collector_that_refuses_is_one_error(
    recording: Path, collector: Collector, capsys: pytest.CaptureFixture[str], refused: Callable[..., str]
) -> None:
    address, answers = collector.address, collector.answers
    answers.append(400)
    with pytest.raises(OSError, match="did not take the spans"):
        load(recording).export(address)
    answers.append(400)
    assert main(["export", str(recording), "-o", address, "--format", "otlp"]) in (1, 2)
    assert "did not take the spans" in capsys.readouterr().err
    refused(
        ["export", str(recording), "-o", address, "--format", "csv"], "an address takes spans of OpenTelemetry only"
    )


def test_a_run_without_a_date(recording: Path, tmp_path: Path) -> None:
    whole = load(recording)
    tables = {name: {column: getattr(whole.table(name), column) for column in whole.table(name).columns}
              for name in ("spans", "lanes")}  # fmt: skip
    undated = Run._build(whole.strings, tables, "{}", "record", whole.start_ns, whole.end_ns, -1, True)
    with pytest.raises(ValueError, match="does not say when"):
        undated.export(tmp_path / "run.otlp.json")
    assert not list(tmp_path.iterdir())
