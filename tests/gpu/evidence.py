# SPDX-License-Identifier: Apache-2.0
"""Measure on a CUDA device and write what was seen: ``make evidence-gpu EVIDENCE=DIR``.

Writes evidence.json (figures, environment, command) and evidence.txt (the same to read). Exits with 1, writing
nothing, when torch finds no CUDA device.
"""

import argparse
import json
import sys
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import regimeter
from regimeter import cost, environment

MB = 1_000_000


def device_facts(torch: Any) -> dict[str, Any]:
    """Return what torch tells of device 0."""
    facts = torch.cuda.get_device_properties(0)
    return {
        "name": facts.name,
        "capability": f"{facts.major}.{facts.minor}",
        "memory_bytes": facts.total_memory,
        "multiprocessors": facts.multi_processor_count,
        "cuda": torch.version.cuda,
        "torch": torch.__version__,
    }


def nested_peaks(torch: Any) -> list[dict[str, Any]]:
    """Return peaks of nested scopes beside what the sizes of the allocations make them."""
    torch.cuda.init()
    torch.cuda.empty_cache()
    base = torch.cuda.memory_allocated()
    with regimeter.GPUProfiler(track_memory=True) as profiler:
        with profiler.profile("outer"):
            first = torch.empty(64 * MB // 512 * 512, dtype=torch.uint8, device="cuda")
            with profiler.profile("inner"):
                torch.empty(256 * MB // 512 * 512, dtype=torch.uint8, device="cuda")
        del first
        entries = profiler.get_entries()
    expected = base + 64 * MB // 512 * 512 + 256 * MB // 512 * 512
    return [
        {"scope": e.operation, "peak_bytes": round((e.memory_peak_mb or 0) * MB), "expected_bytes": expected}
        for e in entries
    ]


def tracking_cost(torch: Any) -> dict[str, float]:
    """Return the cost of a scope that reads torch's allocator at both ends, least of many."""
    torch.cuda.init()
    with regimeter.GPUProfiler(track_memory=True) as profiler:
        best = float("inf")
        for _ in range(200):
            begin = perf_counter_ns()
            for _ in range(10):
                with profiler.profile("op"):
                    pass
            best = min(best, (perf_counter_ns() - begin) / 10)
    return {"plain_ns": cost.scope_cost_ns(), "host_memory_ns": cost.scope_cost_ns(True), "device_memory_ns": best}


def main() -> int:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    folder = parser.parse_args().out
    try:
        import torch
    except ImportError:
        print("torch is not installed; nothing measured", file=sys.stderr)
        return 1
    if not torch.cuda.is_available():
        print("torch finds no CUDA device; nothing measured", file=sys.stderr)
        return 1
    seen = {
        "command": sys.orig_argv,
        "environment": environment.describe(),
        "device": device_facts(torch),
        "nested_peaks": nested_peaks(torch),
        "scope_cost": tracking_cost(torch),
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "evidence.json").write_text(json.dumps(seen, indent=1, default=str) + "\n", encoding="utf-8")
    lines = [f"device: {seen['device']}", *(str(row) for row in seen["nested_peaks"]), f"cost: {seen['scope_cost']}"]
    (folder / "evidence.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
