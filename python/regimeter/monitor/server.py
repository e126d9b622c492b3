# SPDX-License-Identifier: Apache-2.0
"""/metrics and /trigger on a port, and the thread that looks at the recording."""

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from .. import _core
from ..system.memory import Resident
from .alerts import Alerts
from .exposition import prometheus, registry_of
from .figures import Figures
from .look import Looks
from .policy import Rule
from .rings import Rings
from .tail import Tail
from .triggers import Trigger

if TYPE_CHECKING:
    from ..public.run import Run


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Silent(WSGIRequestHandler):
    timeout = 10  # a client that says nothing does not hold a thread for ever

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing; the terminal is the program's."""


@dataclass(frozen=True, slots=True)
class Watch:
    """What is watched beside the figures. baseline_ns: a step of the run to compare with. keep_s: 0 keeps all."""

    rules: Sequence[Rule] = ()
    baseline_ns: float | None = None
    tell: Sequence[Callable[[dict[str, Any]], None]] = ()
    keep_s: float = 0.0
    disk_bytes: int = 0
    triggers: Sequence[Trigger] = ()


class Monitor:
    """Serves the figures of one recording. Make it before the program starts, so that a taken port is told in time."""

    def __init__(self, host: str, port: int, interval_s: float, watch: Watch | None = None) -> None:
        """Take the port. OSError where it is taken; UnavailableError without prometheus_client."""
        prometheus()
        self.figures = Figures()
        self.rings: Rings | None = None
        self._watch = watch or Watch()
        self.alerts = Alerts(self._watch.rules, self._watch.tell)
        self._looks = Looks([rule.name for rule in self._watch.rules], self._watch.baseline_ns)
        self._tail: Tail | None = None
        self._resident: Resident | None = None
        self._about: dict[str, Any] = {}
        self._asked = ""
        self._lock = threading.Lock()
        self._interval_s = interval_s
        self._ended = threading.Event()
        self._wake = threading.Event()
        self._server = _Server((host, port), _Silent)
        self._threads: list[threading.Thread] = []

    @property
    def url(self) -> str:
        """Where the metrics are."""
        host, port = self._server.server_address[:2]
        return f"http://{host if isinstance(host, str) else host.decode()}:{port}/metrics"

    def start(self, pid: int, recording: str) -> None:
        """Serve, and look at the recording of that process, on threads of their own."""
        self._tail, self._resident = Tail(recording), Resident(pid)
        self._about = {"recording": recording, "pid": pid}
        if self._watch.keep_s:
            self.rings = Rings(recording, self._watch.keep_s, self._watch.disk_bytes, self._watch.triggers)
        registry = registry_of(self.figures, pid, self.alerts.alarms)
        self._server.set_app(answers(prometheus().make_wsgi_app(registry), self.copy if self.rings else None))
        for name, target in (("regimeter-metrics", self._server.serve_forever), ("regimeter-monitor", self._run)):
            self._threads.append(threading.Thread(target=target, name=name, daemon=True))
            self._threads[-1].start()

    def _run(self) -> None:
        while not self._ended.is_set():
            self._wake.wait(self._interval_s)
            self._wake.clear()
            if not self._ended.is_set():
                asked, self._asked = self._asked, ""
                self.look()
                if asked and self.rings is not None:
                    with self._lock:
                        self.rings.try_copy(time.monotonic(), asked)

    def ask(self, reason: str) -> None:
        """Have the last minutes written out soon. Does not wait."""
        self._asked = reason
        self._wake.set()

    def copy(self, reason: str) -> list[str]:
        """Write the last minutes out and return the files. OSError where that cannot be."""
        assert self.rings is not None
        with self._lock:
            now = time.monotonic()
            self._take(now)
            return self.rings.copy(now, reason)

    def look(self) -> None:
        """Take in what the program has recorded since the last look, raise alerts, shorten the recording."""
        with self._lock:
            self._take(time.monotonic())

    def _take(self, now: float) -> None:
        assert self._tail is not None
        assert self._resident is not None
        with contextlib.suppress(OSError, _core.Error):  # what is wrong with the file is told at its end
            while True:
                part = self._tail.read()
                if self._tail.anew:
                    self.figures.begin_anew()
                self.figures.add(part, self._tail.anomalies)
                self._judge(part, now)
                if not self._tail.behind:
                    break
        if self.rings is not None:
            self.rings.look(now)

    def _judge(self, part: "Run | None", now: float) -> None:
        assert self._resident is not None
        look = self._looks.take(part, self.figures, self._resident.read(), now)
        time_of = datetime.now(UTC).isoformat(timespec="milliseconds")
        changes = self.alerts.look(look.rules, {**self._about, "time": time_of})
        if self.rings is not None:
            self.rings.judge(now, look, changes)

    def close(self) -> None:
        """Give the port back and end the threads; what is left of the recording is looked at once more."""
        self._ended.set()
        self._wake.set()
        if self._threads:
            self._server.shutdown()
        self._server.server_close()
        for thread in self._threads:
            thread.join()
        if self._tail is not None:
            self.look()
        if self.rings is not None:
            self.rings.finish(time.monotonic())


def answers(metrics: Any, copy: "Callable[[str], list[str]] | None") -> Callable[..., Any]:
    """Answer GET at /metrics, and POST at /trigger where there is a ring; pages of other sites may not ask."""

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        if environ.get("PATH_INFO") == "/metrics":
            return metrics(environ, start_response)
        status, *lines = _answer(environ, copy)
        start_response(status, [("Content-Type", "text/plain; charset=utf-8")])
        return [f"{line}\n".encode(errors="replace") for line in lines]

    return answer


def _answer(environ: dict[str, Any], copy: "Callable[[str], list[str]] | None") -> tuple[str, ...]:
    """Return the status and the lines of an answer."""
    if environ.get("PATH_INFO") != "/trigger" or copy is None:
        return ("404 Not Found", "the metrics are at /metrics")
    if environ.get("REQUEST_METHOD") != "POST":
        return ("405 Method Not Allowed", "POST writes the last minutes out")
    if "HTTP_ORIGIN" in environ:
        return ("403 Forbidden", "a page may not ask for this")
    try:
        return ("200 OK", *copy("HTTP"))
    except OSError as error:
        return ("409 Conflict", f"nothing was written: {error}")
