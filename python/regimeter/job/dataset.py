# SPDX-License-Identifier: Apache-2.0
"""The tables of a job as Parquet files, partitioned by run and rank, for DuckDB, Polars, Dask and `regimeter query`.

DIR/TABLE/run=RUN/rank=N/part.parquet for what a rank has of its own, DIR/TABLE/run=RUN/part.parquet for the job's.
A run that is written again replaces what was there of it.
"""

import os
import re
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from .lateness import CAUSES

if TYPE_CHECKING:
    from .analysis import RankAnalysis

TEXTS = ("group_name", "group_ranks", "group_description", "element_type")


def run_name(source: str | list[str]) -> str:
    """Return what a run is called: its folder or its file, without what would not fit into a partition."""
    first = source if isinstance(source, str) else os.path.dirname(os.path.abspath(source[0]))
    parts = [part for part in re.split(r"[/\\]", first) if part and not any(mark in part for mark in "*?[:")]
    return re.sub(r"[^\w.-]+", "_", parts[-1] if parts else "job")


def write_dataset(job: "RankAnalysis", folder: str, name: str | None = None) -> dict[str, int]:
    """Write the tables under `folder`; return the rows of each.

    name: of the run (default: run_name). UnavailableError without pyarrow, OSError where it cannot be written.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise _core.UnavailableError("--dataset needs pyarrow: pip install 'regimeter[arrow]'") from None
    run = f"run={name or run_name(job.file)}"
    written = {}
    for table, rows in _by_rank(job).items():
        place = _fresh(folder, table, run)
        ranks = np.asarray(rows.pop("rank"), np.int64)
        whole = pyarrow.table(rows)
        for rank in np.unique(ranks).tolist():
            os.makedirs(os.path.join(place, f"rank={rank}"))
            part = whole.take(np.flatnonzero(ranks == rank))
            parquet.write_table(part, os.path.join(place, f"rank={rank}", "part.parquet"))
        written[table] = len(ranks)
    for table, rows in _of_job(job).items():
        whole = pyarrow.table(rows)
        parquet.write_table(whole, os.path.join(_fresh(folder, table, run), "part.parquet"))
        written[table] = whole.num_rows
    return written


def _fresh(folder: str, table: str, run: str) -> str:
    place = os.path.join(folder, table, run)
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place)
    return place


def _texts(job: "RankAnalysis", ids: Any) -> list[str]:
    known = {number: job.joined.run.string(number) for number in np.unique(ids).tolist()}
    return [known[number] for number in ids.tolist()]


def _by_rank(job: "RankAnalysis") -> dict[str, dict[str, Any]]:
    calls: dict[str, Any] = dict(job.joined.calls)
    calls["collective"] = [_core.COLLECTIVES[kind] for kind in calls["collective"].tolist()]
    calls |= {name: _texts(job, calls[name]) for name in TEXTS}
    kept = ("rank", "device", "step", "collective", "bytes", "group_size", *TEXTS, "sequence", "instance", "start_ns",
            "total_ns", "exposed_ns", "since_ns", "since_compute_ns", "since_mem_ns", "since_idle_ns")  # fmt: skip
    tables = {
        "communication_calls": {name: calls[name] for name in kept},
        "rank_times": _columns([*job.joined.whole, *(row for row in job.joined.by_step if row["step"] >= 0)]),
        "step_times": _columns(job.joined.steps),
    }
    return {name: columns for name, columns in tables.items() if columns}


def _of_job(job: "RankAnalysis") -> dict[str, dict[str, Any]]:
    instances = job.joined.run.analyse("collective_instances", thresholds=job.policy, rules=job.rules)
    arrivals = job.arrivals
    charged = zip(arrivals.cause.tolist(), arrivals.caused_ns.tolist(), strict=True)
    causes = [CAUSES[cause] if caused else None for cause, caused in charged]
    left_out = ("first_span", "last_span", "overlaps")
    columns: dict[str, Any] = {name: getattr(instances, name) for name in instances.columns if name not in left_out}
    columns["collective"] = [_core.COLLECTIVES[kind] for kind in instances.collective.tolist()]
    columns["group_name"] = _texts(job, instances.group_name)
    columns |= {"caused_ns": arrivals.caused_ns, "late_ns": arrivals.late_ns, "cause": causes}
    columns |= {f"late_{CAUSES[i]}_ns": arrivals.parts[:, i] for i in range(arrivals.parts.shape[1])}
    columns["slow_ns"] = arrivals.slow_ns
    found = job.document()
    tables = {
        "collective_instances": columns,
        "stragglers": _columns(_flat(found["stragglers"])),
        "steps": _columns(_flat(found["steps"])),
    }
    return {name: rows for name, rows in tables.items() if rows and len(next(iter(rows.values())))}


def _flat(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Turn the waits by cause into columns."""
    return [
        {name: cell for name, cell in row.items() if name != "by_cause_ns"}
        | {f"caused_{cause}_ns": row["by_cause_ns"].get(cause, 0) for cause in CAUSES}
        for row in rows
    ]


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}
