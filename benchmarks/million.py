# SPDX-License-Identifier: Apache-2.0
"""A million scopes: memory per scope, bytes on disk, and the processor time to stop, sort and summarise.

``python benchmarks/million.py [--json]``. Each candidate runs in a process of its own.
"""

import json
import os
import sys
import tempfile
from time import process_time

import bursts

COUNT = 1_000_000
INNER = 999


def resident() -> int:
    """Return the resident set of this process in bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def run_regimeter(path: str | None) -> dict[str, float]:
    """Record nested scopes with regimeter, in memory or to a file."""
    import numpy  # noqa: F401  loaded by the result tables; not a cost of recording

    import regimeter

    profiler = regimeter.GPUProfiler(enable_detailed_metrics=False, path=path)
    with profiler.profile("warm"):
        pass
    before = resident()
    for _ in range(COUNT // (INNER + 1)):
        with profiler.profile("outer"):
            for _ in range(INNER):
                with profiler.profile("inner"):
                    pass
    memory = resident() - before
    begin = process_time()
    profiler.close()
    summary = profiler.get_summary()
    stop = process_time() - begin
    recorded = sum(row.call_count for row in summary.values()) - 1
    stats = profiler.stats()
    return {
        "scopes": recorded,
        "dropped": stats["dropped"],
        "memory_bytes": memory / COUNT,
        "disk_bytes": os.path.getsize(path) / COUNT if path else 0.0,
        "stop_seconds": stop,
        "resident_with_run_bytes": (resident() - before) / COUNT,
    }


def run_viztracer(path: str) -> dict[str, float]:
    """Record the same with viztracer's events and let it write its file."""
    from viztracer import VizTracer

    tracer = VizTracer(verbose=0, tracer_entries=COUNT + 10, log_sparse=True, output_file=path)
    tracer.start()
    before = resident()
    for _ in range(COUNT):
        with tracer.log_event("inner"):
            pass
    memory = resident() - before
    begin = process_time()
    tracer.stop()
    tracer.save()
    return {
        "scopes": COUNT,
        "memory_bytes": memory / COUNT,
        "disk_bytes": os.path.getsize(path) / COUNT,
        "stop_seconds": process_time() - begin,
    }


def run_torch(path: str) -> dict[str, float]:
    """Record the same with torch.profiler and let it export its trace."""
    from torch.profiler import ProfilerActivity, profile, record_function

    before = resident()
    profiler = profile(activities=[ProfilerActivity.CPU])
    profiler.start()
    for _ in range(COUNT):
        with record_function("inner"):
            pass
    memory = resident() - before
    begin = process_time()
    profiler.stop()
    profiler.export_chrome_trace(path)
    return {
        "scopes": COUNT,
        "memory_bytes": memory / COUNT,
        "disk_bytes": os.path.getsize(path) / COUNT,
        "stop_seconds": process_time() - begin,
    }


def main() -> int:
    """Run every candidate and print the table."""
    with tempfile.TemporaryDirectory() as folder:
        if len(sys.argv) > 2 and sys.argv[1] == "--candidate":
            candidates = {
                "memory": lambda: run_regimeter(None),
                "journal": lambda: run_regimeter(f"{folder}/run.rgm"),
                "viztracer": lambda: run_viztracer(f"{folder}/viz.json"),
                "torch": lambda: run_torch(f"{folder}/torch.json"),
            }
            print(json.dumps(candidates[sys.argv[2]]()))
            return 0
    names = {
        "memory": "regimeter, in memory",
        "journal": "regimeter, journal",
        "viztracer": "viztracer log_event",
        "torch": "torch.profiler record_function",
    }
    results = {names[key]: bursts.child("million.py", "--candidate", key) for key in names}
    if "--json" in sys.argv:
        print(json.dumps({"machine": bursts.machine(), "scopes": COUNT, "results": results}))
        return 0
    print(f"{bursts.machine()}; {COUNT:,} scopes; targets: 40 bytes a scope, 0.3 s to stop and summarise")
    rows = []
    for name, row in results.items():
        if "error" in row:
            rows.append((name, row["error"][:60], "", "", ""))
        else:
            rows.append(
                (
                    name,
                    f"{row['scopes']:,}",
                    f"{row['memory_bytes']:.1f}",
                    f"{row['disk_bytes']:.1f}",
                    f"{row['stop_seconds']:.3f}",
                )
            )
    print(bursts.table(rows, ("recorder", "scopes", "memory B/scope", "disk B/scope", "stop + summary, CPU s")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
