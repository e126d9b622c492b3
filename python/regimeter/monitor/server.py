# SPDX-License-Identifier: Apache-2.0
"""/metrics on a port, and the thread that looks at the recording."""

import contextlib
import threading
from collections.abc import Callable
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from .. import _core
from .exposition import prometheus, registry_of
from .figures import Figures
from .tail import Tail


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Silent(WSGIRequestHandler):
    timeout = 10  # a client that says nothing does not hold a thread for ever

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing; the terminal is the program's."""


class Monitor:
    """Serves the figures of one recording. Make it before the program starts, so that a taken port is told in time."""

    def __init__(self, host: str, port: int, interval_s: float) -> None:
        """Take the port. OSError where it is taken; UnavailableError without prometheus_client."""
        prometheus()
        self.figures = Figures()
        self._tail: Tail | None = None
        self._interval_s = interval_s
        self._ended = threading.Event()
        self._server = _Server((host, port), _Silent)
        self._threads: list[threading.Thread] = []

    @property
    def url(self) -> str:
        """Where the metrics are."""
        host, port = self._server.server_address[:2]
        return f"http://{host if isinstance(host, str) else host.decode()}:{port}/metrics"

    def start(self, pid: int, recording: str) -> None:
        """Serve, and look at the recording of that process, on threads of their own."""
        self._tail = Tail(recording)
        self._server.set_app(_only_metrics(prometheus().make_wsgi_app(registry_of(self.figures, pid))))
        for name, target in (("regimeter-metrics", self._server.serve_forever), ("regimeter-monitor", self._look)):
            self._threads.append(threading.Thread(target=target, name=name, daemon=True))
            self._threads[-1].start()

    def _look(self) -> None:
        while not self._ended.wait(self._interval_s):
            self.look()

    def look(self) -> None:
        """Add what the program has recorded since the last look."""
        if self._tail is None:
            return
        with contextlib.suppress(OSError, _core.Error):  # what is wrong with the file is told at its end
            self.figures.add(self._tail.read(), self._tail.anomalies)

    def close(self) -> None:
        """Give the port back and end the threads."""
        self._ended.set()
        if self._threads:
            self._server.shutdown()
        self._server.server_close()
        for thread in self._threads:
            thread.join()


def _only_metrics(app: Any) -> Callable[..., Any]:
    """Answer at /metrics alone."""

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        if environ.get("PATH_INFO") == "/metrics":
            return app(environ, start_response)
        start_response("404 Not Found", [("Content-Type", "text/plain; charset=utf-8")])
        return [b"the metrics are at /metrics\n"]

    return answer
