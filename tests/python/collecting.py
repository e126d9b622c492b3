# SPDX-License-Identifier: Apache-2.0
"""A double of a collector of OpenTelemetry: an address that takes requests of OTLP over HTTP."""

import contextlib
import gzip
import http.server
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Collector:
    """What it took, by its message, and the statuses that it answers with, else 200."""

    address: str
    taken: list[Any] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)


@contextlib.contextmanager
def collecting(request: Any, path: str) -> Iterator[Collector]:
    """Take requests of a message at a path."""

    class Taker(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            body = gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body
            assert self.headers["Content-Type"] == "application/x-protobuf"
            assert self.path == path
            found.taken.append(request.FromString(body))
            self.send_response(found.answers.pop(0) if found.answers else 200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Taker)
    found = Collector(f"http://127.0.0.1:{server.server_address[1]}{path}")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def attributes(point: Any) -> dict[str, Any]:
    """Return the attributes of a span or a point."""
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in point.attributes}
