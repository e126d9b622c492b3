# SPDX-License-Identifier: Apache-2.0
"""Runs: what was recorded or loaded, with its tables, its results and its renderings."""

import functools
import json
import math
import os
from pathlib import Path
from typing import Any

from . import _core, cost, records
from .records import ProfileEntry, ProfileSummary

MAGIC = b"\x89RGM\r\n\x1a\n"
GZIP_MAGIC = b"\x1f\x8b"


class Run(_core.Run):
    """A recording: an environment plus columnar tables.

    `spans`, `lanes`, `launches`, `memory`, `counters`, `flops` and `anomalies` are tables; a column such as
    ``run.spans.duration_ns`` is a read-only NumPy array without a copy, and a table can be handed to pyarrow or
    polars as it is (``polars.DataFrame(run.spans)``). Results are computed on first use and kept.
    """

    @property
    def spans(self) -> "_core.SpansTable":
        """Scopes and, in imported traces, operators, kernels and copies."""
        found: _core.SpansTable = self.table("spans")
        return found

    @property
    def lanes(self) -> "_core.LanesTable":
        """Threads, task slots and device streams."""
        found: _core.LanesTable = self.table("lanes")
        return found

    @property
    def launches(self) -> "_core.LaunchesTable":
        """Launch configurations of kernels."""
        found: _core.LaunchesTable = self.table("launches")
        return found

    @property
    def memory(self) -> "_core.MemoryTable":
        """Memory samples and events."""
        found: _core.MemoryTable = self.table("memory")
        return found

    @property
    def counters(self) -> "_core.CountersTable":
        """Values of time series."""
        found: _core.CountersTable = self.table("counters")
        return found

    @property
    def flops(self) -> "_core.FlopsTable":
        """Work attributed to spans."""
        found: _core.FlopsTable = self.table("flops")
        return found

    @property
    def anomalies(self) -> "_core.AnomaliesTable":
        """What was repaired, dropped or doubted."""
        found: _core.AnomaliesTable = self.table("anomalies")
        return found

    @functools.cached_property
    def environment(self) -> dict[str, Any]:
        """Machine, process and libraries of the recording."""
        try:
            value = json.loads(self.environment_json)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    @property
    def duration_ns(self) -> int:
        """From the start of the recording to its end."""
        return max(0, self.end_ns - self.start_ns)

    @property
    def device_reason(self) -> str:
        """Why there is no device time."""
        device = self.environment.get("device")
        reason = device.get("reason") if isinstance(device, dict) else None
        return str(reason) if reason else "the recording holds no device measurement"

    @property
    def skipped(self) -> dict[str, int]:
        """Calls that a sample rate left out, by operation and device joined with a zero byte."""
        found = self.environment.get("skipped")
        return {key: int(count) for key, count in found.items() if _is_amount(count)} if isinstance(found, dict) else {}

    @functools.cached_property
    def cost(self) -> dict[str, Any] | None:
        """The profiler's own cost in this run, None when it is not known."""
        stated = self.environment.get("cost")
        if not isinstance(stated, dict) or not _is_amount(stated.get("per_scope_ns")):
            return None
        service = stated.get("service_cpu_ns")
        known = service if _is_amount(service) else None
        return cost.describe(stated["per_scope_ns"], len(self.entries), self.duration_ns, known)

    def anomaly_list(self) -> list[dict[str, Any]]:
        """Return the anomalies as dictionaries of code, count and detail."""
        table, strings = self.anomalies, self.strings
        return [
            {"code": _anomaly(code), "count": count, "detail": strings[detail]}
            for code, count, detail in zip(
                table.code.tolist(), table.count.tolist(), table.detail.tolist(), strict=True
            )
        ]

    def get_entries(self) -> list[ProfileEntry]:
        """Return one entry per scope, in order of start."""
        return records.entries_of(self)

    def get_summary(self) -> dict[str, ProfileSummary]:
        """Return statistics by operation, most exclusive time first."""
        return records.by_operation(records.summaries_of(self))

    def get_bottlenecks(self, top_n: int = 5) -> list[ProfileSummary]:
        """Return the operations with the most exclusive time.

        Exclusive time, because a scope around everything would otherwise always come first. ValueError for
        a negative top_n.
        """
        if top_n < 0:
            raise ValueError(f"top_n must not be negative, got {top_n}")
        return records.summaries_of(self)[:top_n]

    def export_json(self, path: str | os.PathLike[str]) -> None:
        """Write entries, summary and environment as JSON, atomically."""
        from .report.export import export_json

        export_json(self, path)

    def write_html(self, path: str | os.PathLike[str], *, title: str | None = None) -> None:
        """Write the self-contained HTML report, atomically."""
        from .report.data import report_data
        from .report.html import write_html

        write_html(report_data(self, title=title), path)


def _is_amount(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value < math.inf  # type: ignore[operator]


def _anomaly(code: int) -> str:
    return _core.ANOMALY_CODES[code] if code < len(_core.ANOMALY_CODES) else f"anomaly {code}"


def load(path: str | os.PathLike[str], *, recover: bool = False) -> Run:
    """Read a recording, a saved run or an exported JSON file (plain or gzip).

    recover: skip damage and count it in `anomalies` instead of raising. FormatError, with byte offset, for what
    cannot be read; OSError when the file cannot be opened. The file is not changed.
    """
    name = os.fspath(path)
    with open(name, "rb") as file:
        head = file.read(len(MAGIC))
    if head == MAGIC or (recover and head.lstrip()[:1] not in (b"{", b"[") and not head.startswith(GZIP_MAGIC)):
        return Run._load(name, recover)
    from .report.export import read_export

    return read_export(Path(name))
