# SPDX-License-Identifier: Apache-2.0
"""The server under many readers: errors, latency, and the memory of its process from round to round.

``python benchmarks/serve.py [--scopes 1000000] [--clients 100] [--rounds 4] [--requests 10] [--json]`` records a
program with that many scopes, serves the recording in a process of its own, and lets the clients ask at once: windows
of the timeline of every size, the flame graph, the holistic analysis, the page, and again what they have (ETag).
Clients are threads of one other process, so on two processors they take time from the server.
"""

import argparse
import collections
import contextlib
import http.client
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from time import perf_counter
from typing import Any

PROGRAM = """
import threading
from regimeter import GPUProfiler

profiler = GPUProfiler()

def work(count):
    for i in range(count):
        with profiler.profile("step"):
            with profiler.profile("forward"):
                with profiler.profile(f"layer {i % 7}"):
                    pass
            with profiler.profile("backward"):
                pass

threads = [threading.Thread(target=work, args=(COUNT,)) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
SCOPES_A_COUNT = 8
FIXED = ("/api/profiler/flame", "/api/profiler/hta", "/api/profiler/memory", "/api/runs", "/")


def record(folder: Path, scopes: int) -> Path:
    """Record a program with that many scopes."""
    program, path = folder / "program.py", folder / "run.rgm"
    program.write_text(PROGRAM.replace("COUNT", str(scopes // SCOPES_A_COUNT)))
    words = [sys.executable, "-m", "regimeter", "record", "-q", "-o", str(path), str(program)]
    subprocess.run(words, check=True, capture_output=True)
    return path


@contextlib.contextmanager
def serving(path: Path) -> Any:
    """Serve a recording on a free port; gives the port and the process."""
    words = [sys.executable, "-m", "regimeter", "serve", "--json", "--port", "0", str(path)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())["port"], process
    finally:
        process.terminate()
        process.wait()


def resident_mb(process: int) -> float:
    """Return the resident set of a process."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"VmRSS:\s*(\d+)", status)[1]) * 1024 / 1e6  # type: ignore[index]


def processor_s(process: int) -> float:
    """Return the processor time that a process has taken."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Clients:
    """Readers that ask at once; what went wrong and how long each request took."""

    def __init__(self, port: int, duration_ns: int, spans: int) -> None:
        self.port, self.duration_ns, self.spans = port, duration_ns, spans
        self.times: dict[str, list[float]] = collections.defaultdict(list)
        self.errors: list[str] = []
        self.bytes = 0
        self._lock = threading.Lock()

    def round(self, clients: int, requests: int, seed: int) -> None:
        """Let all clients make their requests."""
        threads = [threading.Thread(target=self._client, args=(requests, seed * 1000 + n)) for n in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _client(self, requests: int, seed: int) -> None:
        chance = random.Random(seed)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        tags: dict[str, str] = {}
        for _ in range(requests):
            path = self._path(chance)
            headers = {"Accept-Encoding": "gzip"} | ({"If-None-Match": tags[path]} if path in tags else {})
            start = perf_counter()
            try:
                connection.request("GET", path, headers=headers)
                answer = connection.getresponse()
                body = answer.read()
            except (OSError, http.client.HTTPException) as error:
                with self._lock:
                    self.errors.append(f"{path}: {type(error).__name__}: {error}")
                connection.close()
                continue
            took = perf_counter() - start
            tags[path] = answer.headers.get("ETag") or ""
            with self._lock:
                self.times[path.partition("?")[0]].append(took)
                self.bytes += len(body)
                if answer.status not in (200, 304):
                    self.errors.append(f"{path}: {answer.status}")
        connection.close()

    def _path(self, chance: random.Random) -> str:
        if chance.random() < 0.4:
            return chance.choice(FIXED)
        first = int(chance.random() * self.duration_ns)
        last = first + int(self.duration_ns * 10 ** -chance.uniform(0, 4))
        return f"/api/profiler/timeline?start_ns={first}&end_ns={last}&width={chance.choice((400, 1200, 2400))}"


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the figures."""
    with tempfile.TemporaryDirectory() as folder:
        path = record(Path(folder), arguments.scopes)
        with serving(path) as (port, process):
            first = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
            start = perf_counter()
            first.request("GET", "/api/profiler/timeline")
            whole = json.loads(first.getresponse().read())
            cold = perf_counter() - start
            clients = Clients(port, whole["duration_ns"], whole["spans"])
            resident = [resident_mb(process.pid)]
            took = []
            for number in range(arguments.rounds):
                start = perf_counter()
                clients.round(arguments.clients, arguments.requests, number)
                took.append(perf_counter() - start)
                resident.append(resident_mb(process.pid))
    asked = sum(map(len, clients.times.values()))
    return {
        "spans": whole["spans"],
        "conserved": whole["drawn"] + whole["aggregated"] == whole["spans"],
        "first_answer_s": cold,
        "requests": asked,
        "requests_a_second": asked / sum(took),
        "errors": clients.errors,
        "resident_mb": resident,
        "ms": {
            path: {
                "count": len(times),
                "median": statistics.median(times) * 1e3,
                "p95": statistics.quantiles(times, n=20)[-1] * 1e3 if len(times) > 1 else times[0] * 1e3,
            }
            for path, times in sorted(clients.times.items())
        },
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("scopes", 1_000_000), ("clients", 100), ("rounds", 4), ("requests", 10)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    found = measure(arguments)
    if arguments.json:
        print(json.dumps(found, indent=1))
        return
    print(f"{found['spans']:,} spans, {arguments.clients} clients, {arguments.rounds} rounds")
    print(f"first answer {found['first_answer_s']:.2f} s, then {found['requests_a_second']:.0f} requests a second")
    print(f"errors: {len(found['errors'])}", *found["errors"][:5], sep="\n  ")
    print("resident set, MB: " + " ".join(f"{value:,.0f}" for value in found["resident_mb"]))
    print(f"{'address':<26}{'requests':>9}{'median ms':>11}{'95 % ms':>10}")
    for path, times in found["ms"].items():
        print(f"{path:<26}{times['count']:>9,}{times['median']:>11.1f}{times['p95']:>10.1f}")


if __name__ == "__main__":
    main()
