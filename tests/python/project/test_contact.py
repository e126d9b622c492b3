# SPDX-License-Identifier: Apache-2.0
"""The contact script (tests/gpu/contact.py) on doubles: it comes to its end and leaves a line for each step."""

import json
import os
import subprocess
import sys

from places import TESTS

SCRIPT = TESTS / "gpu" / "contact.py"


def run(out, *words):
    """Run steps; return their lines, and how the script ended."""
    command = [sys.executable, str(SCRIPT), "--out", str(out), "--only", *words]
    done = subprocess.run(
        command, env={**os.environ, "REGIMETER_DOUBLES": "1"}, capture_output=True, text=True, timeout=300, check=False
    )
    return [json.loads(line) for line in (out / "contact.jsonl").read_text(encoding="utf-8").splitlines()], done


def contact(out, *steps):
    """Run steps to their end; return what each found by its name."""
    lines, done = run(out, *steps)
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
        assert found[step]["program"]["copy_of_nothing"] == 0
    assert not found["tracing"]["several_subscribers"]["several"]  # the double is of 13.0
    for name in ("all_callbacks", "drivers_alone"):
        assert found["tracing"][name]["without_launch"] == found["tracing"][name]["without_scope"] == {}


def test_several_tools_answer_and_each_step_keeps_its_raw_buffers(tmp_path):
    found = contact(tmp_path, "several", "memory", "queue_times")["several"]
    assert found["library"]["several"]
    assert found["torch_profiler_beside"]["ours"] == {"beside": 100}
    kept = [path.name.split("-")[0] for path in tmp_path.glob("*.raw")]
    assert {name: kept.count(name) for name in kept} == {"memory": 2, "queue_times": 2}
    assert {path.name for path in tmp_path.iterdir() if path.suffix != ".raw"} == {"contact.jsonl"}


def test_steps_without_time_are_named(tmp_path):
    lines, done = run(tmp_path, "facts", "build", "--seconds", "1")
    assert [line["state"] for line in lines] == ["no time was left"] * 2
    assert done.returncode == 2


def test_counters_and_events_answer(tmp_path):
    found = contact(tmp_path, "events", "ranges", "samples")
    assert set(found["events"]["driver_calls"]) >= {"cuCtxGetCurrent", "cuEventRecord"}
    assert "spin 1000000" in found["events"]["with_tracing"]
    assert found["ranges"]["drain"]["pop_ns"] > 0
    assert len(found["ranges"]["counts"]["fp"]) == 9
    assert {"rgm_mma_fp16", "rgm_mma_fp8"} < found["ranges"]["calibration_kernels"].keys()
    told = found["samples"]["pm"]["clocks"]
    assert told["cupti_ns"] > 0
    assert told["globaltimer_ns"] > 0
    assert told["monotonic_ns"] < told["monotonic_after_ns"]
    assert found["ranges"]["beside_tracing"]["operations"].keys() == {"add"}
    times, values = found["samples"]["pm"]["times_ns_and_values"]["dram_throughput"]
    assert len(times) == len(values) > 0


def test_samples_of_stalls_answer(tmp_path):
    found = contact(tmp_path, "stalls")["stalls"]
    lines = found.pop("lines")
    assert lines["status"] == [0]
    assert {(file, line) for name, file, line, _, _ in lines["lines"] if name == "add" and line} == {
        ("/tmp/kernels/add.cu", 4), ("/tmp/kernels/add.cu", 5), ("/tmp/kernels/add.cu", 6),
    }  # fmt: skip
    assert lines["state"]["binaries_with_lines"] == 1
    for row in found.values():
        assert row["reason"] == ""
        assert row["state"]["samples"] == row["state"]["total"] > 0
        assert row["devices_at_once"] == 1
        assert sum(samples for samples, _ in row["shares"].values()) == row["state"]["samples"]


def test_processes_end(tmp_path):
    found = contact(tmp_path, "endings")
    assert {name: row["status"] for name, row in found["endings"].items()} == dict.fromkeys(found["endings"], 0)
