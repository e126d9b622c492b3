# SPDX-License-Identifier: Apache-2.0
"""All analyses of a trace: processor time of each and of all together, how they grow, and HTA's beside them.

``python benchmarks/analyses.py [--json] [--traces FOLDER] [--scale 100K ...]``. The trace is v100_ddp_large (216 k
events), imported anew for each round, so that nothing is left over from the round before. `--scale` gives numbers
of spans: runs that repeat the trace (benchmarks/generate_trace.py). HTA runs with the interpreter that
REGIMETER_HTA_PYTHON names, and its analyses with their plots off.
"""

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time
from typing import Any

import bursts
import generate_trace

ROOT = Path(__file__).resolve().parents[1]
TRACE = "v100_ddp_large.json.gz"
# Their cost is set by what they search for, not by reading the trace once; they are listed, but not in the sum.
APART = ("critical", "sequence", "trace_diff")
TARGET_MS = 60.0


def milliseconds(run: Any, name: str) -> float:
    """Return the processor time of one analysis of a run."""
    begin = process_time()
    run.analyse(name, other=run) if name.startswith("trace_diff") else run.analyse(name)
    return (process_time() - begin) * 1e3


def round_of(path: str) -> tuple[int, dict[str, float]]:
    """Import a trace and run every analysis once; return its spans and the times."""
    from regimeter import Run, _core

    run = Run._import(path, path, False, 1, 0)
    names = sorted(_core.analyses(), key=lambda name: name.startswith(APART))
    return len(run.spans), {name: milliseconds(run, name) for name in names}


def measure(path: str, rounds: int) -> dict[str, Any]:
    """Return the least time of each analysis, and of a whole round of them."""
    best: dict[str, float] = {}
    total = float("inf")
    spans = 0
    for _ in range(rounds):
        spans, found = round_of(path)
        total = min(total, sum(ms for name, ms in found.items() if not name.startswith(APART)))
        best = {name: min(ms, best.get(name, ms)) for name, ms in found.items()}
    return {"spans": spans, "total_ms": total, "analyses": best}


def measure_hta(path: str) -> dict[str, Any]:
    """Return the processor time of HTA's analyses, in milliseconds."""
    import logging

    from hta.trace_analysis import TraceAnalysis

    logging.disable(logging.CRITICAL)
    analysis = TraceAnalysis(trace_files={0: path})
    calls = {
        "get_temporal_breakdown": {"visualize": False},
        "get_gpu_kernel_breakdown": {"visualize": False},
        "get_idle_time_breakdown": {"visualize": False},
        "get_comm_comp_overlap": {"visualize": False},
        "get_queue_length_summary": {},
        "get_queue_length_time_series": {},
        "get_memory_bw_summary": {},
        "get_memory_bw_time_series": {},
        "get_cuda_kernel_launch_stats": {"visualize": False},
    }
    found: dict[str, Any] = {}
    for name, options in calls.items():
        begin = process_time()
        try:
            getattr(analysis, name)(**options)
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"[:60]
        else:
            found[name] = (process_time() - begin) * 1e3
    return {"analyses": found, "total_ms": sum(ms for ms in found.values() if isinstance(ms, float))}


def in_child(kind: str, path: str, rounds: int = 1) -> dict[str, Any]:
    """Measure in a process of its own."""
    python = os.environ.get("REGIMETER_HTA_PYTHON", sys.executable) if kind == "hta" else sys.executable
    command = [python, str(Path(__file__)), "--measure", kind, path, str(rounds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {"error": "absent" if "ModuleNotFoundError" in last else last}
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def print_report(report: dict[str, Any]) -> None:
    """Print the tables."""
    own, hta = report["regimeter"], report["hta"]
    print(f"{report['machine']}\n\n{TRACE}: {own['spans']:,} spans")
    rows = [(name, f"{ms:.2f}") for name, ms in sorted(own["analyses"].items(), key=lambda item: -item[1])]
    verdict = "met" if own["total_ms"] <= TARGET_MS else "missed"
    print(bursts.table(rows, ("regimeter", "CPU ms")))
    print(f"together, without {', '.join(APART)}: {own['total_ms']:.1f} ms, target {TARGET_MS:.0f} ms: {verdict}\n")
    if "error" in hta:
        print(f"HTA: {hta['error']}")
    else:
        rows = [(name, f"{ms:.1f}" if isinstance(ms, float) else ms) for name, ms in hta["analyses"].items()]
        print(bursts.table(rows, ("HTA", "CPU ms")))
        print(f"together: {hta['total_ms']:.0f} ms, {hta['total_ms'] / own['total_ms']:.0f} times as long")
    if not report["scale"]:
        return
    names = list(own["analyses"])
    for one in report["scale"]:
        one["analyses"]["together"] = one["total_ms"]
    header = ("ns a span", *(f"{one['spans']:,} spans" for one in report["scale"]))
    rows = [
        (name, *(f"{one['analyses'][name] * 1e6 / one['spans']:.1f}" for one in report["scale"]))
        for name in ("together", *names)
    ]
    print("\n" + bursts.table(rows, header))


def main() -> int:
    """Measure and print."""
    if len(sys.argv) == 5 and sys.argv[1] == "--measure":
        kind, path, rounds = sys.argv[2:]
        print(json.dumps(measure_hta(path) if kind == "hta" else measure(path, int(rounds))))
        return 0
    parser = argparse.ArgumentParser(description="analyses of a trace")
    parser.add_argument("--json", action="store_true")
    parser.add_argument(
        "--traces", type=Path, default=os.environ.get("REGIMETER_TRACES", ROOT.parent / "shared" / "traces")
    )
    parser.add_argument("--scale", action="append", help="spans of a generated run: 100K, 1M, 10M")
    options = parser.parse_args()
    source = options.traces / TRACE
    if not source.exists():
        print(f"absent: {source} (set REGIMETER_TRACES)")
        return 0
    report: dict[str, Any] = {"machine": bursts.machine(), "scale": []}
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/trace.json"
        Path(path).write_bytes(gzip.decompress(source.read_bytes()))
        report["regimeter"] = in_child("regimeter", path, 10)
        report["hta"] = in_child("hta", path)
        for spans in options.scale or ["100K", "1M"]:
            generate_trace.generate(source, Path(path), spans=generate_trace.amount(spans))
            report["scale"].append(in_child("regimeter", path, 2))
    if options.json:
        print(json.dumps(report))
    else:
        print_report(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
