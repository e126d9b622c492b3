# SPDX-License-Identifier: Apache-2.0
"""A run's scopes as spans of OpenTelemetry, to a file of OTLP's JSON or to a collector.

Each outermost scope is a trace of its own, with the scopes inside it. Ids follow from the run, so that the same run
sent twice gives the same spans. What has no attribute of the semantic conventions is called `regimeter.*`.
"""

import hashlib
import json
import os
from array import array
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from .. import _core
from .records import iterate_entries

if TYPE_CHECKING:
    from ..public.run import Run

AT_ONCE = 2000  # spans of a line of the file, or of a request
TIMEOUT_S = 10.0  # of a request, with what is tried again
IDS = ("traceId", "spanId", "parentSpanId")  # hexadecimal in OTLP's JSON, where other bytes are base64


def need_sdk() -> Any:
    """Return the SDK's module of traces, or say how to get it, before any work is done."""
    try:
        import opentelemetry.exporter.otlp.proto.http
        import opentelemetry.sdk.trace
    except ImportError:
        message = "otlp needs the OpenTelemetry SDK; install it: pip install 'regimeter[otel]'"
        raise _core.UnavailableError(message) from None
    return opentelemetry.sdk.trace


def spans_of(run: "Run") -> Iterator[Any]:
    """Yield a ReadableSpan of the SDK for each scope, in order of start. ValueError where the run has no date."""
    trace = need_sdk()
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import Status, StatusCode

    if run.start_unix_ns is None:
        raise ValueError("the run does not say when it was recorded, and spans of OpenTelemetry have dates")
    resource = Resource(resource_of(run.environment))
    by = InstrumentationScope("regimeter", version())
    rows = run.entries.span
    starts, lengths = run.spans.start_ns[rows].tolist(), run.spans.duration_ns[rows].tolist()
    threads = run.lanes.thread[run.spans.lane[rows]].tolist() if len(run.lanes) else [0] * len(rows)
    identify = _Ids(run)
    outermost = array("q")
    for row, entry in enumerate(iterate_entries(run)):
        outermost.append(row if entry.parent is None else outermost[entry.parent])
        parent = None if entry.parent is None else identify(entry.parent, outermost[row])
        begun = starts[row] - run.start_ns + run.start_unix_ns
        yield trace.ReadableSpan(
            entry.operation,
            identify(row, outermost[row]),
            parent,
            resource,
            {**_attributes(entry), "thread.id": threads[row]},
            status=Status(StatusCode.ERROR) if entry.failed else Status(),
            start_time=begun,
            end_time=begun + lengths[row],
            instrumentation_scope=by,
        )


class _Ids:
    """Makes contexts of spans: a hash of the run, and the row of the outermost scope, of the scope."""

    def __init__(self, run: "Run") -> None:
        facts = f"{run.start_unix_ns} {run.start_ns} {run.end_ns} {run.environment_json}"
        digest = hashlib.blake2b(facts.encode(errors="replace"), digest_size=16).digest()
        self._trace = int.from_bytes(digest, "big") >> 32 << 32
        self._span = self._trace >> 64 >> 32 << 32

    def __call__(self, row: int, outermost: int) -> Any:
        from opentelemetry.trace import SpanContext, TraceFlags

        trace, span = self._trace | (outermost + 1), self._span | (row + 1)
        return SpanContext(trace, span, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def resource_of(environment: dict[str, Any]) -> dict[str, Any]:
    """Return attributes of the resource, by the semantic conventions, of what a run knows of its program."""
    command = environment.get("command")
    words = [str(word) for word in command] if isinstance(command, list) else []
    name = environment.get("program") or next((os.path.basename(word) for word in words[1:] if word[:1] != "-"), "")
    found: dict[str, Any] = {"service.name": str(name) or "unknown_service"}
    if words:
        found["process.command_args"] = words
    if isinstance(environment.get("pid"), int):
        found["process.pid"] = environment["pid"]
    return found


def _attributes(entry: Any) -> dict[str, Any]:
    """Return what is known of a scope; metadata that is no plain value is JSON text."""
    found: dict[str, Any] = {"regimeter.device": entry.device, "regimeter.backend": entry.backend}
    if entry.thread:
        found["thread.name"] = entry.thread
    for name in ("exclusive_time_ms", "gpu_time_ms", "memory_peak_mb"):
        if getattr(entry, name) is not None:
            found[f"regimeter.{name}"] = getattr(entry, name)
    if entry.open:
        found["regimeter.open"] = True
    for key, value in entry.metadata.items():
        plain = isinstance(value, str | bool | int | float)
        found[f"regimeter.metadata.{key}"] = value if plain else json.dumps(value, default=str)
    return found


def version() -> str:
    """Return this package's."""
    from importlib import metadata

    return metadata.version("regimeter")


def _batches(run: "Run") -> Iterator[list[Any]]:
    spans = spans_of(run)
    while batch := list(islice(spans, AT_ONCE)):
        yield batch


def write(run: "Run", path: str) -> None:
    """Write OTLP's JSON: a request of a collector on each line, as its file exporter does and its receiver reads."""
    need_sdk()
    from google.protobuf.json_format import MessageToDict
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    with open(path, "w", encoding="utf-8") as file:
        for batch in _batches(run):
            request = encode_spans(batch)
            document = MessageToDict(request, use_integers_for_enums=True)
            for resource, theirs in zip(document["resourceSpans"], request.resource_spans, strict=True):
                for scope, its in zip(resource["scopeSpans"], theirs.scope_spans, strict=True):
                    for span, one in zip(scope["spans"], its.spans, strict=True):
                        ids = zip(IDS, (one.trace_id, one.span_id, one.parent_span_id), strict=True)
                        span.update({name: value.hex() for name, value in ids if value})
            file.write(json.dumps(document, ensure_ascii=False) + "\n")


def send(run: "Run", address: str) -> None:
    """Post all spans to a collector's address, such as http://127.0.0.1:4318/v1/traces. OSError where it takes them
    not."""
    need_sdk()
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import SpanExportResult

    exporter, sent = OTLPSpanExporter(address, timeout=TIMEOUT_S), 0
    try:
        for batch in _batches(run):
            if exporter.export(batch) is not SpanExportResult.SUCCESS:
                raise OSError(f"{address}: the collector did not take the spans ({sent:,} were sent before)")
            sent += len(batch)
    finally:
        exporter.shutdown()
