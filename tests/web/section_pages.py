# SPDX-License-Identifier: Apache-2.0
"""Pages that are made of sections, from files and figures that stay the same: what their pictures are taken of."""

import contextlib
import functools
import io
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

from needed import package
from traces import trace_path

DATA = Path(__file__).resolve().parents[1] / "data"
RECORDING = DATA / "recordings" / "version1.rgm"
LOG = DATA / "compile_logs" / "dedicated_log_torch_trace_cold.log"
WHEN = 1_767_225_600  # seconds: 2026-01-01 00:00 UTC
Data = dict[str, Any]


def compiled() -> Data:
    """Return the page of a log of torch.compile."""
    from regimeter import TorchCompileAnalyzer
    from regimeter.report.compile_page import compile_data

    with contextlib.chdir(LOG.parent):  # the page names its source as it was given
        return compile_data(TorchCompileAnalyzer.from_trace(LOG.name).to_dict(), LOG.name)


def memory() -> Data:
    """Return the page of a snapshot of torch's allocator."""
    from regimeter import load
    from regimeter.report.memory_run_page import memory_run_data

    return memory_run_data(load(trace_path("memory_snapshot.pickle")), "memory_snapshot.pickle")


def _report() -> Any:
    from regimeter.workloads.catalog import workloads as known
    from regimeter.workloads.statistics import KernelStats, Times
    from regimeter.workloads.suite import WorkloadReport

    def one(name: str, work: str, calls_us: list[float], kernel_us: list[float]) -> KernelStats:
        calls, kernel = (Times(tuple(round(us * 1000) for us in times * 6)) for times in (calls_us, kernel_us))
        return KernelStats(
            name, work, "c", "EPYC", calls, kernel, known()[name].sizes(), operations=1e6, facts={"set": "avx2"}
        )

    made = (
        one("conv2d", "256x256 image, 3x3 kernel", [105, 112, 103, 130, 110], [57.6, 74.0, 74.6, 83.9, 84.1]),
        one("matrix_multiply", "256x256 x 256x256", [457, 490, 585, 824, 867], [403, 418, 453, 531, 541]),
        one("pixel_entropy", "512x512 image, window=16", [2130, 4090, 6010, 10700, 10800], [2370, 13500, 17300, 23600]),
    )  # fmt: skip
    return WorkloadReport(made, warmup=3, environment={"cpu": "EPYC"})


def _shown(shown: Any) -> Data:
    from regimeter.report import workloads

    return workloads.page_data(shown)


def workloads() -> Data:
    """Return the page of a run of workloads."""
    from regimeter.report.workloads import shown_report

    return _shown(shown_report(_report()))


def budgets() -> Data:
    """Return the page of budgets of which one is over, one holds, and one could not be checked."""
    from regimeter.report.workloads import shown_budgets
    from regimeter.workloads.budgets import Budgets, check_budgets

    limits = {"conv2d": "kernel_us = 500", "matrix_multiply": "host_call_us = 300", "vector_add": "cv = 0.1"}
    text = "\n".join(f"[kernels.{name}]\n{limit}" for name, limit in limits.items())
    held = Budgets.parse(text.encode(), "budgets.toml")
    return _shown(shown_budgets(check_budgets(held, _report()), held))


def history() -> Data:
    """Return the page of a history in which one of two operations became slower."""
    package("sqlalchemy")
    package("alembic")
    from regimeter.cli import main
    from regimeter.history import open_history, schema
    from regimeter.report.history_page import history_data

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        for number in range(20):
            forward = (1.5 if number >= 12 else 1.0) + 0.001 * (7 * number % 5)
            entries = [{"operation": "forward", "duration_ms": forward}, {"operation": "backward", "duration_ms": 3.0}]
            path = Path(f"run{number:02}.json")
            path.write_text(json.dumps({"entries": entries}))
            day = datetime.fromtimestamp(WHEN, UTC) + timedelta(days=number)
            with mock.patch.object(schema, "now", return_value=day):
                assert main(["history", "add", str(path), "--db", "history.db", "--commit", f"{number:07x}", "-q"]) == 0
        return history_data(open_history("history.db"))


def runs() -> Data:
    """Return the list of a server over a folder with two recordings, a report and a file that is none."""
    package("fastapi")
    from regimeter.server.options import Options
    from regimeter.server.pages import Listed, home_data
    from regimeter.server.service import Service
    from regimeter.server.shelf import Shelf

    with tempfile.TemporaryDirectory() as folder:
        for name in ("nightly.rgm", "main.rgm"):
            shutil.copy(RECORDING, Path(folder) / name)
        (Path(folder) / "notes.txt").write_text("no run")
        for path in Path(folder).iterdir():
            os.utime(path, (WHEN, WHEN))
        shelf = Shelf([folder], None)
        service = Service(shelf, Options())
        try:
            found = sorted(shelf.entries(), key=lambda entry: entry.name)
            verdicts = [service.loaded.get(entry).verdict for entry in found]
            listed = [Listed(one, said.sentence if said else None) for one, said in zip(found, verdicts, strict=True)]
            return home_data("Runs in nightly", listed, shelf.left_out)
        finally:
            service.close()
            shelf.close()


def monitor() -> Data:
    """Return the live page of a recording that came in four parts, a second apart by a clock of its own.

    Its sentence is that of a kept recording, so that it stays the same.
    """
    from regimeter import GPUProfiler, load
    from regimeter.monitor.alerts import Alerts
    from regimeter.monitor.figures import Figures
    from regimeter.monitor.look import Looks
    from regimeter.monitor.page import Seen, monitor_data
    from regimeter.monitor.policy import RULES
    from regimeter.monitor.tail import Tail
    from regimeter.monitor.trail import Point, Trail

    now = [0.0]
    figures, looks, trail = Figures(lambda: now[0]), Looks(list(RULES)), Trail()
    alerts, look = Alerts(list(RULES.values())), None
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.rgm")
        tail = Tail(path)
        with GPUProfiler(path=path, enable_detailed_metrics=False, drain_interval_ns=3_600_000_000_000) as profiler:
            for part in range(1, 5):
                for _ in range(20 * part):
                    with profiler.profile("train step"), profiler.profile("forward"):
                        pass
                profiler.flush()
                now[0] += 1.0
                new = tail.read()
                figures.add(new, tail.anomalies, tail.steps)
                figures.end_look()
                looks.see(new, tail.steps)
                look = looks.take(figures, 50_000_000 + part * 1_000_000, now[0])
                alerts.look(look.rules, {"time": "2026-01-01T00:00:00+00:00"})
                trail.points.append(
                    Point(now[0], figures.rate, look.rules["own-cost"], look.resident_bytes, None, None)
                )
    assert figures.scopes == 400
    return monitor_data(
        Seen("run.rgm", 1234, now[0], now[0], 25_000, load(RECORDING).verdict(), figures, look, trail, alerts.alarms,
             [], None, [], 0.005, ended=False)
    )  # fmt: skip


def sweep() -> Data:
    """Return the page of three operations over ten sizes on a machine with roofs of 50 GB/s and 400 GFLOP/s."""
    from made_up_machine import calibration

    from regimeter.regime.roofline import plot_of
    from regimeter.report.sweep_page import sweep_data

    works = {"add": (1.0, 12.0), "cos": (20.0, 8.0), "matmul": (None, 12.0)}  # operations and bytes of an element
    points = [
        _point(name, elements, 2 * elements**0.5 if flops is None else flops, moved)
        for name, (flops, moved) in works.items()
        for elements in (4**power for power in range(3, 13))
    ]
    return sweep_data(plot_of(points, calibration(flops=2e11, bandwidth=5e10), "float32"))


def _point(name: str, elements: int, flops: float, moved: float) -> Any:
    """Return a point of a machine that takes 2 µs for anything, and reaches four fifths of its roofs."""
    from regimeter.regime.sweep import Point

    parts = {
        "OVERHEAD_BOUND": 2e-6,
        "MEMORY_BOUND": elements * moved / 4e10,
        "COMPUTE_BOUND": elements * flops / 3.2e11,
    }
    seconds = sum(parts.values())
    regime, most = max(parts.items(), key=lambda part: part[1])
    if most < 0.6 * seconds:
        regime = "AMBIGUOUS"
    if name == "cos" and elements == 64:
        regime = "UNKNOWN"
    profile = {
        "regime": regime,
        "detail": "none",
        "evidence": {"judged_ms": seconds * 1e3},
        "bandwidth_utilization": elements * moved / seconds / 5e10,
        "compute_intensity": flops / moved,
        "achieved_flops": elements * flops / seconds,
    }
    return Point(name, elements, profile)


PAGES: dict[str, Callable[[], Data]] = {
    made.__name__: made for made in (compiled, memory, workloads, budgets, history, runs, monitor, sweep)
}


@functools.cache
def page_data(name: str) -> Data:
    """Return what a page shows, the same each time; all but the time at which it was made stays the same."""
    from regimeter.report.html import as_json

    data: Data = json.loads(as_json(PAGES[name]()))
    return data
