# SPDX-License-Identifier: Apache-2.0
"""Does a long recording stay what it was? ``python benchmarks/soak.py [--minutes 60] [--json]``.

A program with 20,000 scopes a second, stacks at 100 Hz and memory on, under `regimeter monitor` with the last minutes
kept. Once a second a tick has the number of it and the time that the program's own clock read as metadata; all other
scopes have a name only. `--each-tick`: all ticks, one in 2 ms (`--tick-ms`), have metadata, so that each is a text
that was never there before. Shown is

- what was lost: scopes that the program had and Prometheus was not told of, ticks that are missing in what was kept;
- memory: resident set of the program and of the monitor after a quarter of the time and at its end, and the slope
  between (least squares over all looks);
- drift: how far the recorded time of a tick and the program's own move apart from the first kept tick to the last;
- what recording states that it cost, in the first quarter and in the last;
- the disk that the recording took at most.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np

RATE = 20_000
MB = 1 << 20
# Prints how many scopes it had, once the monitor was told to look for the last time.
PROGRAM = """
import sys, time
import regimeter
rate, seconds, pause, every = map(float, sys.argv[1:])
clock, profile = time.monotonic_ns, regimeter.profile
begun, scopes, ticks = clock(), 0, 0
while (now := (clock() - begun) / 1e9) < seconds:
    if now >= ticks * every:
        with profile("tick", device="cpu", number=ticks, at=clock()):
            ticks += 1
        scopes += 1
    while scopes < now * rate:
        with profile("work", device="cpu"):
            scopes += 1
    time.sleep(pause)
regimeter.get_profiler().flush()
print(scopes, ticks, flush=True)
sys.stdin.readline()
"""


class Watched:
    """The program under the monitor, and what was read of both while they ran."""

    def __init__(self, folder: Path, seconds: float, keep_s: float, pause_s: float, every_s: float) -> None:
        self.run = folder / "run.rgm"
        (folder / "program.py").write_text(PROGRAM)
        options = ["--port", "0", "--keep", f"{keep_s:g}s", "--interval", "1", "-o", str(self.run)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "regimeter", "monitor", *options, "--", str(folder / "program.py"),
             str(RATE), str(seconds), str(pause_s), str(every_s)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stderr
        self.url = self.process.stderr.readline().removeprefix("regimeter: ").strip()
        self.looks: list[dict[str, float]] = []

    def figures(self) -> dict[str, float]:
        """Return what Prometheus is told, without labels."""
        with urllib.request.urlopen(self.url, timeout=30) as answer:
            lines = answer.read().decode().splitlines()
        pairs = (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#") and "{" not in line)
        return {name: float(value) for name, value in pairs}

    def look(self, at: float) -> None:
        """Note memory, cost, disk and scopes now."""
        told = self.figures()
        disk = sum(path.stat().st_blocks * 512 for path in self.run.parent.glob("run.rgm*"))
        resident = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        self.looks.append({
            "at": at,
            "program": told["regimeter_program_process_resident_memory_bytes"],
            "monitor": float(resident),
            "cost": told["regimeter_own_cost_seconds_total"],
            "scopes": told["regimeter_scopes_total"],
            "disk": float(disk),
        })  # fmt: skip


def told_in_the_end(watched: Watched, scopes: int) -> int:
    """Return how many scopes Prometheus was told of, once that no longer grows or is what there were."""
    before = -1
    while (now := int(watched.figures()["regimeter_scopes_total"])) not in (before, scopes):
        before = now
        time.sleep(3)
    return now


def kept(path: Path) -> dict[str, Any]:
    """Return what the ticks in a recording say: how many, which are missing, how far the clocks moved apart."""
    import regimeter

    run = regimeter.load(path)
    spans = run.spans
    rows = np.flatnonzero(spans.name == run.strings.index("tick"))
    said = [json.loads(run.string(int(number))) for number in spans.metadata[rows]]
    numbers = np.array([one["number"] for one in said])
    apart = spans.start_ns[rows] - np.array([one["at"] for one in said])
    eighth = max(1, len(rows) // 8)
    return {
        "ticks": len(rows),
        "missing": int(numbers[-1] - numbers[0] + 1 - len(np.unique(numbers))),
        "spans": len(spans),
        "anomalies": [one.code for one in run.anomaly_list()],
        "drift_ns": float(np.median(apart[-eighth:]) - np.median(apart[:eighth])),
    }


def run_case(folder: Path, seconds: float, keep_s: float, pause_s: float, every_s: float) -> dict[str, Any]:
    """Run the program for so long and return what was found."""
    watched = Watched(folder, seconds, keep_s, pause_s, every_s)
    assert watched.process.stdout
    begun = time.monotonic()
    every = max(0.5, seconds / 240)
    while (at := time.monotonic() - begun) < seconds:
        time.sleep(min(every, seconds - at + 0.01))
        watched.look(time.monotonic() - begun)
    scopes, ticks = map(int, watched.process.stdout.readline().split())
    told = told_in_the_end(watched, scopes)
    _, said = watched.process.communicate("\n", timeout=600)
    if watched.process.returncode:
        raise SystemExit(f"soak: the monitor ended with {watched.process.returncode}: {said}")
    columns = {name: np.array([look[name] for look in watched.looks]) for name in watched.looks[0]}
    at, quarter = columns["at"], columns["at"] >= seconds / 4

    def memory(name: str) -> dict[str, float]:
        late = columns[name][quarter]
        return {
            "quarter_mb": float(late[0] / MB),
            "end_mb": float(late[-1] / MB),
            "mb_an_hour": float(np.polyfit(at[quarter], late, 1)[0] * 3600 / MB),
        }

    def share(part: Any) -> float:
        return float(np.ptp(columns["cost"][part]) / np.ptp(at[part]))

    return {
        "minutes": seconds / 60,
        "scopes": scopes,
        "a_second": scopes / seconds,
        "not_told": scopes - told,
        "ticks": ticks,
        "kept": kept(watched.run),
        "program": memory("program"),
        "monitor": memory("monitor"),
        "cost_first_quarter": share(~quarter),
        "cost_last_quarter": share(at >= seconds * 3 / 4),
        "disk_mb": float(columns["disk"].max() / MB),
    }


def main() -> None:
    """Print what a long recording did, as a table or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--each-tick", action="store_true")
    parser.add_argument("--tick-ms", type=float, default=2)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        every_s = 0.0 if asked.each_tick else 1.0
        keep_s, pause_s = max(60.0, asked.minutes * 10), asked.tick_ms / 1e3
        found = run_case(Path(folder), asked.minutes * 60, keep_s, pause_s, every_s)
    if asked.json:
        print(json.dumps(found, indent=2))
        return
    print(f"{found['scopes']:,} scopes in {found['minutes']:g} min, {found['a_second']:,.0f} a second")
    print(
        f"not told: {found['not_told']}; of {found['kept']['ticks']:,} kept ticks missing: {found['kept']['missing']}"
    )
    for name in ("program", "monitor"):
        held = found[name]
        print(
            f"resident, {name}: {held['quarter_mb']:.1f} MB after a quarter, {held['end_mb']:.1f} MB at the end, "
            f"{held['mb_an_hour']:+.2f} MB an hour"
        )
    print(f"drift of the clock: {found['kept']['drift_ns']:.0f} ns")
    print(f"stated cost: {found['cost_first_quarter']:.2%} first, {found['cost_last_quarter']:.2%} in the last quarter")
    print(f"disk: {found['disk_mb']:.1f} MB at most; anomalies: {found['kept']['anomalies'] or 'none'}")


if __name__ == "__main__":
    main()
