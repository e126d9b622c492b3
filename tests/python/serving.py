# SPDX-License-Identifier: Apache-2.0
"""A server in a process of its own for tests, and plain requests to it."""

import contextlib
import gzip
import http.client
import json
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from needed import package
from page_data import page_of
from warm import Command
from warm import record as recorded

for _name in ("fastapi", "uvicorn", "python_multipart", "httpx"):
    package(_name)

PROGRAM = """
import threading
from regimeter import GPUProfiler

profiler = GPUProfiler()

def work(count):
    for _ in range(count):
        with profiler.profile("step"):
            with profiler.profile("forward"):
                with profiler.profile("layer"):
                    pass
            with profiler.profile("backward"):
                pass

threads = [threading.Thread(target=work, args=({count},)) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
SPANS_A_COUNT = 8  # of the program: four scopes in each of two threads


def record(folder: Path, name: str, count: int) -> Path:
    """Record a program with count * SPANS_A_COUNT scopes by the command, and return the recording."""
    elsewhere = Path(tempfile.mkdtemp(prefix="programs-"))  # a recording says where its program was
    path = folder / f"{name}.rgm"
    recorded(elsewhere, PROGRAM.replace("{count}", str(count)), name=f"{name}.py").rename(path)
    shutil.rmtree(elsewhere)
    return path


@dataclass
class Answer:
    """What a server sent."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def problem(self) -> str:
        """The sentence of a failure."""
        assert self.headers["content-type"] == "application/problem+json", self.headers
        found = self.json()
        assert found["status"] == self.status
        assert "Traceback" not in found["detail"]
        assert "\n" not in found["detail"]
        return str(found["detail"])


@dataclass
class Server:
    """A running server."""

    port: int
    token: str
    process: Any = field(repr=False)
    host: str = "127.0.0.1"

    @property
    def address(self) -> str:
        """Where a browser finds it."""
        return f"http://127.0.0.1:{self.port}"

    def ask(self, path: str, method: str = "GET", body: Any = None, packed: bool = False, **headers: str) -> Answer:
        """Send one request; headers with _ for -. packed: let the answer come as gzip."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        with contextlib.closing(connection):
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            given = {"Host": f"127.0.0.1:{self.port}", **{key.replace("_", "-"): text for key, text in headers.items()}}
            given |= {"Accept-Encoding": "gzip"} if packed else {}
            chunked = body is not None and not isinstance(body, bytes)
            if isinstance(body, bytes):
                given.setdefault("Content-Length", str(len(body)))
            elif chunked:
                given["Transfer-Encoding"] = "chunked"
            for key, text in given.items():
                connection.putheader(key, text)
            # A server that refuses a body may stop reading it.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.endheaders(body, encode_chunked=chunked)
            response = connection.getresponse()
            found = Answer(response.status, {key.lower(): text for key, text in response.getheaders()}, response.read())
        if found.headers.get("content-encoding") == "gzip":
            found.body = gzip.decompress(found.body)
        return found

    def home(self) -> Any:
        """Return the first page as it is when all runs have been read: until then it changes."""
        until = time.monotonic() + 120
        while True:
            page = page_of(self.ask("/").body.decode())
            if not any(section.get("pending") for section in page["sections"]):
                return page
            assert time.monotonic() < until, "the runs are not read in two minutes"
            time.sleep(0.05)

    def id_of(self, name: str) -> str:
        """Return the id of a run."""
        return next(str(run["id"]) for run in self.ask("/api/runs").json()["runs"] if run["name"] == name)


@contextlib.contextmanager
def serving(*words: str) -> Iterator[Server]:
    """Start `regimeter serve` with these words on a free port, and end it."""
    before = set(Path(tempfile.gettempdir()).glob("regimeter-serve-*"))
    with tempfile.TemporaryDirectory() as folder:
        process = Command(Path(folder), "serve", "--json", "--port", "0", *words)
        out, err = Path(folder, "out"), Path(folder, "err")
        try:
            deadline = time.monotonic() + 60
            while not (out.exists() and out.read_text().endswith("\n")):
                assert time.monotonic() < deadline, err.read_text()
                time.sleep(0.01)
            told = json.loads(out.read_text())
            yield Server(told["port"], told["token"] or "", process)
        finally:
            own = [path for path in Path(tempfile.gettempdir()).glob("regimeter-serve-*") if path not in before]
            process.send_signal(signal.SIGTERM)
            status, complaints = process.wait(), err.read_text()
            assert status == 0, complaints
    assert "--keep" in words or len([path for path in own if not path.exists()]) >= 1
    assert complaints == "", complaints
