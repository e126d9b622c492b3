# SPDX-License-Identifier: Apache-2.0
"""The port of a monitor, and the thread that looks at the recording."""

import contextlib
import io
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from .. import _core
from ..system.admission import Admission, address_of, token_for
from ..system.memory import Resident
from . import policy
from .alerts import Alerts
from .answers import METRICS, Sources, application
from .exposition import prometheus, registry_of
from .figures import Figures
from .live import LivePage
from .look import Look, Looks
from .page import Seen
from .policy import Rule
from .push import Push
from .rings import Rings
from .tail import Tail
from .trail import Point, Trail
from .triggers import Trigger
from .watchers import Watchers

if TYPE_CHECKING:
    from ..public.run import Run


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a client that went away."""


class _Silent(WSGIRequestHandler):
    timeout = 10  # a client that says nothing does not hold a thread for ever

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing; the terminal is the program's."""

    def get_stderr(self) -> Any:
        """Return where failures of a connection are written: nowhere."""
        return io.StringIO()


@dataclass(frozen=True, slots=True)
class Watch:
    """What is watched beside the figures. baseline_ns: a step of the run to compare with. keep_s: 0 keeps all. budget:
    the part of the time that recording may take, 0 for any."""

    rules: Sequence[Rule] = ()
    baseline_ns: float | None = None
    tell: Sequence[Callable[[dict[str, Any]], None]] = ()
    keep_s: float = 0.0
    disk_bytes: int = 0
    triggers: Sequence[Trigger] = ()
    budget: float = 0.0


class Monitor:
    """Serves the figures of one recording. Make it before the program starts, so that a taken port is told in time."""

    def __init__(
        self,
        host: str,
        port: int,
        interval_s: float,
        watch: Watch | None = None,
        names: tuple[str, ...] = (),
        push: Push | None = None,
    ) -> None:
        """Take the port. names: Host names that the live page may be opened by beside those of this machine. OSError
        where the port is taken; UnavailableError without prometheus_client."""
        prometheus()
        self.figures = Figures()
        self.rings: Rings | None = None
        self.push = push
        self._watch = watch or Watch()
        self.alerts = Alerts(self._watch.rules, self._watch.tell)
        self._looks = Looks([rule.name for rule in self._watch.rules], self._watch.baseline_ns)
        self._tail: Tail | None = None
        self._resident: Resident | None = None
        self._about: dict[str, Any] = {}
        self._trail = Trail()
        self._look: Look | None = None
        self._part: Run | None = None  # the last one, of which the live page has the verdict
        self._began = time.monotonic()
        self._watchers = Watchers()
        self._live = LivePage(self._seen, self._watchers)
        self._asked = ""
        self._lock = threading.Lock()
        self._interval_s = interval_s
        self._ended = threading.Event()
        self._wake = threading.Event()
        self._server = _Server((host, port), _Silent)
        self._host, self._token = host, token_for(host)
        self._admission = Admission(host, self._server.server_address[1], self._token, names)
        self._threads: list[threading.Thread] = []

    @property
    def url(self) -> str:
        """Where the metrics are."""
        host, port = self._server.server_address[:2]
        return f"http://{host if isinstance(host, str) else host.decode()}:{port}{METRICS}"

    @property
    def page_url(self) -> str:
        """Where the live page is, with the token that it needs where others than this machine can connect."""
        return address_of(self._host, self._server.server_address[1], self._token)

    @property
    def waits_for_steps(self) -> bool:
        """Whether something asked for looks at steps, and none has been seen."""
        wanted = {trigger.name for trigger in self._watch.triggers} | {rule.name for rule in self._watch.rules}
        return bool(wanted & {"slow-step", "step-time"}) and not self.figures.steps.count

    def start(self, pid: int, recording: str) -> None:
        """Serve, and look at the recording of that process, on threads of their own."""
        self._tail, self._resident, self._began = Tail(recording), Resident(pid), time.monotonic()
        self._about = {"recording": recording, "pid": pid}
        if self._watch.keep_s:
            self.rings = Rings(recording, self._watch.keep_s, self._watch.disk_bytes, self._watch.triggers)
        registry = registry_of(self.figures, pid, self.alerts.alarms)
        metrics = prometheus().make_wsgi_app(registry)
        copy = self.copy if self.rings else None
        sources = Sources(metrics, self._live.page, self._live.data, self._watchers.events, copy)
        self._server.set_app(application(self._admission, sources))
        for name, target in (("regimeter-metrics", self._server.serve_forever), ("regimeter-monitor", self._run)):
            self._threads.append(threading.Thread(target=target, name=name, daemon=True))
            self._threads[-1].start()
        if self.push is not None:
            self.push.start(registry, self.figures, pid)

    def _run(self) -> None:
        while not self._ended.is_set():
            self._wait()
            self._wake.clear()
            if not self._ended.is_set():
                asked, self._asked = self._asked, ""
                self.look()
                if asked and self.rings is not None:
                    with self._lock:
                        self.rings.try_copy(time.monotonic(), asked)

    def _wait(self) -> None:
        """Wait for the next look, due or asked for; look when files need room, more rarely where that gives none."""
        until, pause = time.monotonic() + self._interval_s, policy.ROOM_S
        while (left := until - time.monotonic()) > 0:
            if self._wake.wait(left if self.rings is None else min(left, pause)):
                return
            if self.rings is not None and self.rings.crowded():
                self.look()
                pause = 2 * pause if self.rings.crowded() else policy.ROOM_S

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
        self._watchers.tell()

    def _take(self, now: float) -> None:
        assert self._tail is not None
        assert self._resident is not None
        with contextlib.suppress(OSError, _core.Error):  # what is wrong with the file is told at its end
            while True:
                part = self._tail.read()
                if self._tail.anew:
                    self.figures.begin_anew()
                self.figures.add(part, self._tail.anomalies, self._tail.steps)
                self._looks.see(part, self._tail.steps)
                self._part = self._part if part is None else part
                if not self._tail.behind:
                    break
            self.figures.end_look()
            self._judge(now)
        if self.rings is not None:
            self.rings.look(now)
        self._note(now)

    def _note(self, now: float) -> None:
        """Keep what the charts of the live page show of a look."""
        if self._look is None:
            return
        step = self.figures.read(lambda figures, when: figures.steps.quantiles(when).get(0.5))
        look, own_cost = self._look, self._look.rules["own-cost"]
        step_ns = None if step is None else step * 1e9
        point = Point(now - self._began, self.figures.rate, own_cost, look.resident_bytes, look.busy, step_ns)
        self._trail.points.append(point)

    def _seen(self) -> Seen:
        """Return what the live page shows."""
        with self._lock:
            part = self._part
        verdict = part.verdict() if part is not None else None  # of a part that nobody changes
        with self._lock:
            now = time.monotonic()
            recording = str(self._about.get("recording", ""))
            return Seen(
                name=os.path.basename(recording),
                pid=int(self._about.get("pid", 0)),
                now=now,
                elapsed_s=now - self._began,
                recorded_bytes=_bytes_of(recording),
                verdict=verdict,
                figures=self.figures,
                look=self._look,
                trail=self._trail,
                alarms=self.alerts.alarms,
                changes=list(self.alerts.changes),
                rings=self.rings,
                triggers=self._watch.triggers,
                budget=self._watch.budget,
                ended=self._ended.is_set(),
            )

    def _judge(self, now: float) -> None:
        assert self._resident is not None
        look = self._looks.take(self.figures, self._resident.read(), now)
        self._look = look
        time_of = datetime.now(UTC).isoformat(timespec="milliseconds")
        changes = self.alerts.look(look.rules, {**self._about, "time": time_of})
        if self.rings is not None:
            self.rings.judge(now, look, changes)

    def _last(self) -> dict[str, Any]:
        """Return what those who watch are told at the end, with the page of it: this server goes with the program."""
        return {"complete": True, "spans": self.figures.scopes, "page": self._live.last()}

    def close(self) -> None:
        """Look at what is left of the recording, tell those who watch, give the port back and end the threads."""
        self._ended.set()
        self._wake.set()
        if self._tail is not None:
            self.look()
            self._watchers.end(self._last)
        if self.push is not None:
            self.push.close()
        if self._threads:
            self._server.shutdown()
        self._server.server_close()
        for thread in self._threads:
            thread.join()
        if self.rings is not None:
            self.rings.finish(time.monotonic())


def _bytes_of(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
