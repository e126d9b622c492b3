# SPDX-License-Identifier: Apache-2.0
"""What limits a server: what it does when it is asked, and not that nobody asks."""

import http.server
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from verdicts import leading, verdict

import regimeter
from regimeter.suggest.verdict import Verdict

# Each ends after so many requests, and says on which port it can be asked.
LOOP = """
import asyncio, sys, time
async def answer(reader, writer):
    global left
    await reader.readline()
    pause()
    writer.write(b"done\\n")
    writer.close()
    left -= 1
    if not left:
        ended.set()
def pause():
    time.sleep(0.1)
async def main():
    global ended
    ended = asyncio.Event()
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await ended.wait()
left = int(sys.argv[1])
asyncio.run(main())
"""
THREADS = """
import socketserver, sys, threading, time
class Answer(socketserver.StreamRequestHandler):
    def handle(self):
        global left
        self.rfile.readline()
        pause()
        self.wfile.write(b"done\\n")
        left -= 1
        if not left:
            threading.Thread(target=server.shutdown).start()
def pause():
    time.sleep(0.1)
class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    pass
left = int(sys.argv[1])
server = Server(("127.0.0.1", 0), Answer)
print(server.server_address[1], flush=True)
server.serve_forever(poll_interval=0.1)
"""
ACCEPT = """
import socket, sys, time
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
def pause():
    time.sleep(0.1)
for _ in range(int(sys.argv[1])):
    with server.accept()[0] as asked:
        asked.recv(100)
        pause()
        asked.sendall(b"done\\n")
"""


def served(folder: Path, program: str, requests: int, rest_s: float, *, known: bool = False) -> Verdict:
    """Record a server that is asked so often, with a rest before each request.

    known: not before the recording says that it is one, which on a busy machine may take longer.
    """
    (folder / "program.py").write_text(program)
    words = ["record", "-q", "-o", str(folder / "run.rgm"), str(folder / "program.py"), str(requests)]
    process = subprocess.Popen(
        [sys.executable, "-m", "regimeter", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    port = int(process.stdout.readline())
    while known and b"process/listening" not in (folder / "run.rgm").read_bytes():
        assert process.poll() is None
        time.sleep(0.05)
    for _ in range(requests):
        time.sleep(rest_s)
        with socket.create_connection(("127.0.0.1", port)) as asking:
            asking.sendall(b"do\n")
            assert asking.recv(100) == b"done\n"
    assert process.wait(60) == 0, process.communicate()[1]
    process.communicate()
    return verdict(regimeter.load(folder / "run.rgm"))


@pytest.mark.parametrize("program", [LOOP, THREADS, ACCEPT], ids=["loop", "threads", "accept"])
def test_what_a_server_does_limits_it_although_it_mostly_waits_to_be_asked(tmp_path: Path, program: str) -> None:
    found = served(tmp_path, program, 8, 0.3)
    first = leading(found, "sleep")
    assert first.place.startswith("pause (program.py:"), found.why
    waits = next(one for one in found.causes if one.cause == "event_loop")
    assert waits.serving
    assert waits.share is not None
    assert waits.share > (first.share or 0.0), "it waited three times as long as it worked"
    assert waits.saved_ms is None, "nobody saves that nobody asks"
    assert "waiting for requests or what they wait for" in found.why


def test_a_server_that_is_killed_was_one(tmp_path: Path) -> None:
    path = tmp_path / "run.rgm"
    (tmp_path / "program.py").write_text(LOOP)
    words = ["record", "-q", "-o", str(path), str(tmp_path / "program.py"), "1"]
    process = subprocess.Popen([sys.executable, "-m", "regimeter", *words], start_new_session=True)
    while not path.exists() or b"process/listening" not in path.read_bytes():
        assert process.poll() is None
        time.sleep(0.05)
    while len(regimeter.load(path).samples) < 300:  # it does nothing for most of the time
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    found = verdict(regimeter.load(path))
    assert (found.cause, found.causes[0].serving) == ("event_loop", True), found.why


def test_a_server_that_is_not_asked_says_so(tmp_path: Path) -> None:
    found = served(tmp_path, LOOP.replace("pause()\n    writer", "writer"), 1, 2.5, known=True)
    assert (found.cause, found.causes[0].serving) == ("event_loop", True), found.why
    assert found.sentence.startswith("The server waits for requests, or for what they wait for, in ")
    assert "saves" not in found.next


# Server and client in one program: for so many seconds each request waits for what the handler does.
BOTH_THREADS = """
import http.server, sys, threading, time, urllib.request
def work():
    end = time.thread_time() + 0.05
    while time.thread_time() < end:
        pass
def pause():
    time.sleep(0.05)
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        {handler}()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"done")
    def log_message(self, *words):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
threading.Thread(target=server.serve_forever, daemon=True).start()
port = int(sys.argv[1]) or server.server_address[1]
def ask():
    urllib.request.urlopen(f"http://127.0.0.1:{port}/").read()
end = time.monotonic() + 3
while time.monotonic() < end:
    ask()
"""
BOTH_TASKS = """
import asyncio, time
async def answer(reader, writer):
    await reader.readline()
    await asyncio.sleep(0.05)
    writer.write(b"done\\n")
    writer.close()
async def main():
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    end = time.monotonic() + 3
    while time.monotonic() < end:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"do\\n")
        await reader.readline()
        writer.close()
asyncio.run(main())
"""


def of_both(folder: Path, program: str, port: int = 0) -> Verdict:
    """Record a program that asks a server: its own, or the one at this port."""
    (folder / "program.py").write_text(program)
    words = ["record", "-q", "-o", str(folder / "run.rgm"), str(folder / "program.py"), str(port)]
    subprocess.run([sys.executable, "-m", "regimeter", *words], check=True, timeout=120)
    return verdict(regimeter.load(folder / "run.rgm"))


@pytest.mark.parametrize(("handler", "cause"), [("pause", "sleep"), ("work", "python")])
def test_who_asks_a_server_of_its_own_waits_for_what_that_does(tmp_path: Path, handler: str, cause: str) -> None:
    found = of_both(tmp_path, BOTH_THREADS.replace("{handler}", handler))
    of_server = leading(found, cause)
    assert of_server.place.startswith(f"{handler} (program.py:"), found.why
    assert of_server.elsewhere


def test_tasks_that_wait_for_each_other_are_no_server_without_requests(tmp_path: Path) -> None:
    found = of_both(tmp_path, BOTH_TASKS)
    assert (found.cause, found.causes[0].serving) == ("event_loop", False), found.why
    assert "its tasks wait" in found.sentence


def test_who_asks_another_program_waits_for_the_network_although_it_serves_too(tmp_path: Path) -> None:
    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            time.sleep(0.05)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"done")

        def log_message(self, format: str, *words: object) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        found = of_both(tmp_path, BOTH_THREADS.replace("{handler}", "pause"), other.server_address[1])
        other.shutdown()
    first = leading(found, "network")
    assert first.place.startswith("ask (program.py:"), found.why
