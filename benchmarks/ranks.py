# SPDX-License-Identifier: Apache-2.0
"""Ranks per minute with 1, 2 and 4 workers, and what a worker and the join need of memory.

Usage: benchmarks/ranks.py [--ranks 1024] [--events 20000] [--workers 1,2,4] [--folder DIR]
A simulated job (tests/python/job_traces.py) is written first and removed at the end, unless a folder is given. Each
figure is of a process of its own. The documents of all are compared.
"""

import argparse
import hashlib
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "python"))
REPLICAS = 16
STEPS, MICRO_BATCHES = 10, 8


def write(folder: Path, ranks: int, events: int) -> None:
    """Write a job of that many ranks and some `events` events each."""
    from job_traces import Job, write_job

    # A kernel is two events; a step of a middle stage passes twice a micro-batch and reduces twice.
    kernels = max(1, round((events / STEPS / 2 - 2) / MICRO_BATCHES - 2))
    stages = max(1, math.ceil(ranks / REPLICAS))
    trouble = {2: (1, "compute"), 4: (REPLICAS // 2, "host"), 6: (0, "network")}
    job = Job(REPLICAS, stages, STEPS, MICRO_BATCHES, kernels, trouble, slow_stage=stages // 2)
    for number, path in enumerate(write_job(folder, job, packed=True)):
        if number >= ranks:
            path.unlink()


def peak_mb() -> float:
    """Return the peak of this process alone; ru_maxrss would be at least that of the one that started it."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024 / 1e6


def measure(folder: str, workers: int) -> None:
    """Analyse and print what it took; in a process of its own."""
    import regimeter

    begin = time.perf_counter()
    found = regimeter.analyze_ranks(folder, workers=workers)
    document = json.dumps(found.document(), sort_keys=True)
    lasted = time.perf_counter() - begin
    print(
        json.dumps(
            {
                "seconds": lasted,
                "ranks": len(found.ranks),
                "own_mb": peak_mb(),
                "worker_mb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3,
                "calls": len(found.joined.calls["rank"]),
                "document": hashlib.sha256(document.encode()).hexdigest()[:16],
                "headline": found.headline(),
            }
        )
    )


def main() -> None:
    """Write the job, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=1024)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--workers", default="1,2,4")
    parser.add_argument("--folder", help="of a job that is there, or is written there and kept")
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(given.folder, given.measure)
        return
    with tempfile.TemporaryDirectory(prefix="regimeter-") as temporary:
        folder = Path(given.folder or temporary)
        if not any(folder.glob("rank-*")):
            write(folder, given.ranks, given.events)
        print("workers  seconds ranks/min joining MB worker MB     calls  document")
        for workers in given.workers.split(","):
            words = [sys.executable, __file__, "--folder", str(folder), "--measure", workers]
            run = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
            found = json.loads(run.stdout)
            rate = found["ranks"] / found["seconds"] * 60
            print(
                f"{workers:>7} {found['seconds']:8.1f} {rate:9.0f} {found['own_mb']:10.0f} "
                f"{found['worker_mb']:9.0f} {found['calls']:9,}  {found['document']}"
            )
        print(*found["headline"], sep="\n")


if __name__ == "__main__":
    main()
