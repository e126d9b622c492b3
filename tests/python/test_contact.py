# SPDX-License-Identifier: Apache-2.0
"""The contact script (tests/gpu/contact.py) on doubles: it comes to its end and leaves a line for each step."""

import json
import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent.parent / "gpu" / "contact.py"


def contact(out, *steps):
    """Run steps; return their lines by name."""
    command = [sys.executable, str(SCRIPT), "--out", str(out), "--only", *steps]
    done = subprocess.run(
        command, env={**os.environ, "REGIMETER_DOUBLES": "1"}, capture_output=True, text=True, timeout=300, check=False
    )
    lines = [json.loads(line) for line in (out / "contact.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["step"] for line in lines] == list(steps), done.stdout + done.stderr
    assert {line["state"] for line in lines} == {"done"}, lines
    assert {line["on"] for line in lines} == {"doubles"}
    assert done.returncode == 0
    # The double of NVML has no performance monitoring; all else has an answer.
    errors = {name for line in lines for name, row in line["found"].items() if isinstance(row, dict) and "error" in row}
    assert errors <= {"gpm"}, lines
    return {line["step"]: line["found"] for line in lines}


def test_tracing_answers_who_launched_what(tmp_path):
    found = contact(tmp_path, "libraries", "tracing", "tracing_nodes")
    assert "GH100" in found["libraries"]["chips"]
    for step in ("tracing", "tracing_nodes"):
        joined = found[step]["joined"]
        assert "error" not in joined
        assert joined["without_launch"] == {}
        assert joined["by_scope"]["thread"] == 1
        assert joined["inferred"] >= 1
        assert joined["by_scope"]["conv backward"] == 6
    for name in ("all_callbacks", "drivers_alone"):
        assert found["tracing"][name]["without_launch"] == found["tracing"][name]["without_scope"] == {}


def test_counters_and_events_answer(tmp_path):
    found = contact(tmp_path, "events", "ranges", "samples")
    assert set(found["events"]["driver_calls"]) >= {"cuCtxGetCurrent", "cuEventRecord"}
    assert "spin 1000000" in found["events"]["with_tracing"]
    assert found["ranges"]["drain"]["pop_ns"] > 0
    assert len(found["ranges"]["counts"]["fp"]) == 9
    assert found["ranges"]["beside_tracing"]["operations"].keys() == {"add"}
    times, values = found["samples"]["pm"]["times_ns_and_values"]["dram_throughput"]
    assert len(times) == len(values) > 0


def test_processes_end(tmp_path):
    found = contact(tmp_path, "endings")
    assert {name: row["status"] for name, row in found["endings"].items()} == dict.fromkeys(found["endings"], 0)
