# SPDX-License-Identifier: Apache-2.0
"""Run every measurement in a process of its own and write what was found after each.

    python tests/gpu/evidence --out DIR [--only NAME ...] [--seconds 570]

A measurement that crashes or hangs loses its own row and nothing else. Writes evidence.json (all figures) and
evidence.txt (to read). Exit status: 0 all claims hold, 2 some do not or a row was lost, 1 nothing was measured.
"""

import argparse
import datetime
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from . import doubles, report
from .bounded import keep_device, read_answer, run_bounded, write_answer
from .claims import NOT_JUDGED, Claim
from .common import RESULT, UnavailableHere, in_process

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
PROBE_S = 120


class Measurement(NamedTuple):
    """A module of this package, the seconds that it may take, those that it is expected to take, and its doubles."""

    name: str
    limit_s: float
    expected_s: float = 0.0
    doubles: str = "tracing"  # those that it is rehearsed on


# What matters most comes first: when the time is over, the rest is left out and said to be. Expected is what an H200
# took where it has been measured, else a process with torch at 5 s and what the measurement then waits for; all of it
# with START_S fits into SECONDS.
MEASUREMENTS = (
    Measurement("event_times", 60, 12),
    Measurement("device_clock", 60, 6),
    Measurement("attribution", 90, 18),
    Measurement("decoding", 60, 15),
    Measurement("recorded", 180, 45),
    Measurement("calibration", 155, 55),
    Measurement("regimes", 125, 45, "counters"),
    Measurement("scope_cost", 60, 7),
    Measurement("workloads", 60, 30, "kernels"),
    Measurement("hardware_counters", 80, 25, "counters"),
    Measurement("overhead", 165, 80),
    Measurement("kernel_sums", 90, 26),
    Measurement("graphs", 85, 14),
    Measurement("comparison", 80, 40),
    Measurement("device_telemetry", 40, 12, "telemetry"),
    Measurement("stream_lanes", 40, 5),
    Measurement("serving", 40, 5),
    Measurement("torch_memory", 40, 5),
    Measurement("driver_records", 40, 6),
    Measurement("forked_workers", 60, 5),
    Measurement("million_kernels", 90, 33),
    Measurement("coexistence", 60, 12),
    Measurement("stalls", 60, 12),
    Measurement("compiled", 60, 28),
    Measurement("frameworks", 80, 17),
)
START_S = 10  # for the look for a device with a torch that no process has read yet, and for the facts of the machine
SECONDS = 570

PROBE = """
import json
try:
    import torch
except ImportError as error:
    print(json.dumps({"missing": f"torch is not installed ({error})"}))
    raise SystemExit
if not torch.cuda.is_available():
    print(json.dumps({"missing": "torch finds no CUDA device"}))
    raise SystemExit
facts = torch.cuda.get_device_properties(0)
print(json.dumps({
    "name": facts.name, "capability": f"{facts.major}.{facts.minor}", "memory_bytes": facts.total_memory,
    "multiprocessors": facts.multi_processor_count, "cuda": torch.version.cuda, "torch": torch.__version__,
    "devices": torch.cuda.device_count(),
}))
"""


def text_of(*command: str) -> str:
    """Return what a command prints, or why it does not."""
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"not known: {error}"
    return done.stdout.strip() if done.returncode == 0 else f"not known: {done.stderr.strip() or done.returncode}"


def probe(limit_s: float = PROBE_S) -> dict[str, Any]:
    """Return what torch tells of device 0, or `missing` with the reason; in a process, because a driver can hang."""
    ended = run_bounded([sys.executable, "-c", PROBE], limit_s)
    lines = ended.output.strip().splitlines()
    try:
        found: dict[str, Any] = json.loads(lines[-1])
    except (IndexError, ValueError):
        why = "did not answer" if ended.status is None else f"ended with {ended.status}"
        found = {"missing": f"the look for a device {why}: {lines[-1] if lines else 'no output'}"}
    return found


def judge(name: str, found: Any) -> list[Claim]:
    """Return the claims of a measurement; what cannot be judged is a claim that does not hold."""
    try:
        return [Claim(*row) for row in importlib.import_module(f"evidence.{name}").judge(found)]
    except Exception as error:
        return [Claim("the result can be judged", f"{type(error).__name__}: {error}", "no error", False)]


def measure_one(measurement: Measurement, limit_s: float) -> dict[str, Any]:
    """Run one measurement; return its row, whatever happened."""
    with tempfile.TemporaryDirectory(prefix="regimeter-evidence-") as folder:
        result = Path(folder) / "result.json"
        command = [sys.executable, str(HERE), "--call", f"{measurement.name}:measure", "--result", str(result)]
        ended = run_bounded(command, limit_s, doubles.variables(measurement.doubles) if doubles.ON else None)
        answer = read_answer(result)
    row: dict[str, Any] = {"name": measurement.name, "seconds": round(ended.seconds, 1)}
    if "found" in answer:
        claims = judge(measurement.name, answer["found"])
        row |= {"state": "measured", "claims": [claim._asdict() for claim in claims], "found": answer["found"]}
        if ended.status is None:
            row |= {"state": "ended for its time", "reason": f"no end after {limit_s:g} s", "output": ended.output}
        elif ended.status != 0:  # the figures are there, but the process did not end well
            row |= {"state": "crashed after measuring", "status": ended.status, "output": ended.output}
    elif "unavailable" in answer:
        row |= {"state": "unavailable", "reason": answer["unavailable"]}
    elif ended.status is None:
        row |= {"state": "hung", "reason": f"no end after {limit_s:g} s", "output": ended.output}
    else:
        row |= {"state": "failed", "reason": f"ended with {ended.status}", "output": ended.output}
    return row


def measure_all(
    chosen: Sequence[Measurement],
    seconds: float,
    keep: Callable[[list[dict[str, Any]]], None],
    clock: Callable[[], float] = time.monotonic,
) -> list[dict[str, Any]]:
    """Run measurements one after the other within the time; `keep` gets the rows after each."""
    end = clock() + seconds
    rows: list[dict[str, Any]] = []
    for measurement in chosen:
        left = end - clock()
        if left < 5:
            rows.append({"name": measurement.name, "seconds": 0.0, "state": "left out", "reason": "no time left"})
        else:
            rows.append(measure_one(measurement, min(measurement.limit_s, left)))
        keep(rows)
        print(report.line_of(rows[-1]), flush=True)
    return rows


def process_facts() -> dict[str, Any]:
    """Return what regimeter tells of this process and machine; it loads NVML."""
    from regimeter import __version__
    from regimeter.system.description import describe

    return {"regimeter": __version__, **describe()}


def describe(device: dict[str, Any]) -> dict[str, Any]:
    """Return what the figures belong to. The runner itself loads no driver: what may hang is asked in processes."""
    try:
        about: Any = in_process("runner", "process_facts", limit_s=60)
    except Exception as error:
        about = {"reason": str(error)}
    return {
        "on": "doubles" if doubles.ON else "hardware",
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": sys.orig_argv,
        "commit": os.environ.get("EVIDENCE_COMMIT") or text_of("git", "rev-parse", "HEAD"),
        "changed": changed_files(),
        "device": device,
        "nvidia_smi": text_of("nvidia-smi"),
        "nvidia_smi_query": text_of("nvidia-smi", "-q", "-d", "CLOCK,POWER,PERFORMANCE,ECC"),
        "environment": about,
    }


def changed_files() -> list[str] | None:
    """Return the files that differ from the commit, None where that is not known: a copy without its repository.

    A copy may have the repository as it was before the commit that EVIDENCE_COMMIT names.
    """
    commit = os.environ.get("EVIDENCE_COMMIT") or "HEAD"
    try:
        told = subprocess.run(
            ["git", "diff", "--name-only", commit, "--"], cwd=ROOT,
            capture_output=True, text=True, timeout=30, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return told.stdout.splitlines()


def call(target: str, arguments: list[Any], result: Path) -> int:
    """Run a function of this package and write its result: the other side of `measure_one` and `in_process`."""
    module, _, function = target.partition(":")
    os.environ[RESULT] = str(result)
    try:
        answer = {"found": getattr(importlib.import_module(f"evidence.{module}"), function)(*arguments)}
    except UnavailableHere as error:
        answer = {"unavailable": str(error)}
    except Exception:
        traceback.print_exc()
        return 1
    write_answer(result, answer)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write."""
    parser = argparse.ArgumentParser(
        prog="evidence", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="folder for evidence.json and evidence.txt")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=[row.name for row in MEASUREMENTS])
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help="for everything together, the look for a device included"
    )
    parser.add_argument(
        "--patience", type=float, default=4 if doubles.ON else 1, help="times the limits, for doubles on a busy machine"
    )
    parser.add_argument("--call", help=argparse.SUPPRESS)
    parser.add_argument("--arguments", default="[]", help=argparse.SUPPRESS)
    parser.add_argument("--result", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.call:
        return call(asked.call, json.loads(asked.arguments), asked.result)
    if asked.out is None:
        parser.error("--out is needed")
    if doubles.ON:
        if asked.out.resolve().is_relative_to(ROOT / "evidence"):
            parser.error(f"{asked.out}: what doubles say is no evidence; name a folder outside of {ROOT / 'evidence'}")
        os.environ.update(doubles.variables("tracing"))
    # Ended from outside, it still ends the measurement that runs; what was found before is written.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    begin = time.monotonic()
    held = keep_device()
    try:
        device = probe(min(PROBE_S, asked.seconds))
        if "missing" in device:
            print(f"{device['missing']}; nothing measured", file=sys.stderr)
            return 1
        about = describe(device)
        chosen = [row for row in MEASUREMENTS if not asked.only or row.name in asked.only]
        asked.out.mkdir(parents=True, exist_ok=True)
        chosen = [row._replace(limit_s=row.limit_s * asked.patience) for row in chosen]
        left = asked.seconds * asked.patience - (time.monotonic() - begin)
        rows = measure_all(chosen, left, lambda rows: report.write(asked.out, about, rows))
    finally:
        held.kill()
        held.wait()
    lost = [row["name"] for row in rows if row["state"] not in ("measured", "unavailable")]
    failed = [claim for row in rows for claim in row.get("claims", ()) if claim["holds"] is False]
    print(f"{len(rows)} measurements, {len(lost)} lost, {len(failed)} claims do not hold: {asked.out / 'evidence.txt'}")
    if doubles.ON:
        claims = [claim for row in rows for claim in row.get("claims", ())]
        left = sum(NOT_JUDGED in claim["limit"] for claim in claims)
        print(f"{left} claims were not judged, {len(claims) - left} lines are of doubles: none of this is evidence")
    return 2 if lost or failed else 0
