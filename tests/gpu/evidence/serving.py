# SPDX-License-Identifier: Apache-2.0
"""A server's loop: threads that launch, each in a stream of its own, with one scope around all or one a request."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .attribution import LOST
from .claims import Claim, equal
from .common import anomalies, finished, kernel_rows, name_of, ready, scope_of, tracing

WORKERS = 4
REQUESTS = 48  # of each way
WIDTH = 1024
WAYS = {"one": "serve", "requests": "request", "none": "None"}  # who has a scope, and to which kernels belong


class Server:
    """Workers that each answer requests in a stream of their own."""

    def __init__(self, torch: Any) -> None:
        self.torch, self.here = torch, threading.local()
        self.weights = torch.ones(WIDTH, WIDTH, device="cuda")
        self.pool = ThreadPoolExecutor(WORKERS, "worker", initializer=self.begin)
        self.present = threading.Barrier(WORKERS)
        self.serve()  # what threads and libraries do at their first call

    def begin(self) -> None:
        """Give this worker its stream and its input."""
        self.here.stream = self.torch.cuda.Stream()
        self.here.x = self.torch.ones(WIDTH, WIDTH, device="cuda")

    def answer(self, profile: Any) -> None:
        """Launch the two kernels of a request, in a scope of its own where there is a profiler, and wait for them."""
        with self.torch.cuda.stream(self.here.stream):
            if profile is None:
                self.torch.mm(self.here.x, self.weights).relu_()
            else:
                with profile("request"):
                    self.torch.mm(self.here.x, self.weights).relu_()
        self.here.stream.synchronize()

    def work(self, profile: Any) -> None:
        """Answer a worker's share, once all workers are there."""
        self.present.wait(20)
        for _ in range(REQUESTS // WORKERS):
            self.answer(profile)

    def serve(self, profile: Any = None) -> None:
        """Have all requests answered, and wait for it as the thread that accepts them does."""
        for share in [self.pool.submit(self.work, profile) for _ in range(WORKERS)]:
            share.result()


def traced(server: Server, way: str) -> dict[str, Any]:
    """Serve with a scope in the thread that accepts, with one in each request too, or with none that is open."""
    profiler = tracing()
    if way == "none":
        with profiler.profile("before"):
            pass
        server.serve()
    else:
        with profiler.profile("serve"):
            server.serve(profiler.profile if way == "requests" else None)
    return facts(finished(profiler, server.torch))


def facts(run: Any) -> dict[str, Any]:
    """Return where the kernels of a run belong, who launched them, and in how many streams they ran."""
    from regimeter import _core

    rows = kernel_rows(run)
    launches = [int(run.spans.launch[row]) for row in rows]
    known = [launch for launch in launches if launch >= 0]
    scopes = Counter(str(name_of(run, scope_of(run, launch))) for launch in known)
    summary = run.get_summary()
    return {
        "kernels": len(rows),
        "without_launch": len(rows) - len(known),
        "scopes": dict(scopes),
        "inferred": sum(bool(run.spans.flags[launch] & _core.FLAG_INFERRED) for launch in known),
        "kernels_of_request": sorted(set(Counter(scope_of(run, launch) for launch in known).values())),
        "threads": len({int(run.spans.lane[launch]) for launch in known}),
        "streams": len({int(run.spans.lane[row]) for row in rows}),
        "timed": summary["request"].gpu_calls if "request" in summary else 0,
        "before_launch": sum(
            launch >= 0 and int(run.spans.start_ns[row]) < int(run.spans.start_ns[launch])
            for row, launch in zip(rows, launches, strict=True)
        ),
        "anomalies": anomalies(run),
    }


def measure() -> dict[str, Any]:
    """Serve in each way, with the same threads."""
    server = Server(ready())
    found = {way: traced(server, way) for way in WAYS}
    server.pool.shutdown()
    return found


def judge(found: dict[str, Any]) -> list[Claim]:
    """Kernels of workers without scopes belong to the one that is open, as inferred, and to none where none is."""
    claims = []
    for way, row in found.items():
        lost = {code: count for code, count in row["anomalies"].items() if code in LOST}
        per_request = row["kernels"] / REQUESTS
        claims += [
            equal(f"{way}: as many kernels for every request", per_request >= 2 and per_request.is_integer(), True),
            equal(f"{way}: kernels without their launch", row["without_launch"], 0),
            equal(f"{way}: scopes of kernels", row["scopes"], {WAYS[way]: row["kernels"]}),
            equal(f"{way}: kernels whose scope is inferred", row["inferred"], row["kernels"] if way == "one" else 0),
            equal(f"{way}: kernels that begin before their launch", row["before_launch"], 0),
            equal(f"{way}: threads that launched", row["threads"], WORKERS),
            equal(f"{way}: streams with kernels", row["streams"], WORKERS),
            equal(f"{way}: lost or wrong records", lost, {}),
        ]
    row = found["requests"]
    claims.append(equal("requests with a device time", row["timed"], REQUESTS))
    claims.append(equal("different numbers of kernels in a request", len(row["kernels_of_request"]), 1))
    return claims
