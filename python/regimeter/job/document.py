# SPDX-License-Identifier: Apache-2.0
"""The document of a job: rows, clocks, stragglers, steps, collectives, stages and files, each with one definition."""

import posixpath
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from .lateness import CAUSES, by_cause
from .stages import stages_of
from .text import headline

if TYPE_CHECKING:
    from .analysis import RankAnalysis

FORMAT, VERSION = "regimeter.ranks", 1
NAMED = 20  # missing ranks that a document names; it counts all


def document(job: "RankAnalysis") -> dict[str, Any]:
    """Return everything as a JSON-ready dictionary."""
    found: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "file": job.file,
        "headline": [],
        "shares": job.joined.run.result("ranks").shares,
        "rows": job.joined.by_step if job.by == "step" else job.joined.whole,
        "ranks": len(job.ranks),
        "world_size": job.world_size,
        "missing": {"count": len(job.missing), "ranks": job.missing[:NAMED]},
        "left_out": [{"file": posixpath.basename(path), "reason": reason} for path, reason in job.left_out],
        "files": [_file(path, tables, rank) for path, tables, rank in job.parts],
        "clocks": _clocks(job),
        "stragglers": _stragglers(job),
        "steps": _steps(job),
        "collectives": _collectives(job),
        "pipeline": stages_of(job.joined),
        "losses": _losses(job),
    }
    found["headline"] = headline(found)
    return found


def _file(path: str, tables: Any, rank: int) -> dict[str, Any]:
    ranks = sorted(set(tables.whole["rank"]))
    return {
        "file": posixpath.basename(path),
        "rank": rank if rank >= 0 else ranks[0] if len(ranks) == 1 else None,
        "events": tables.events,
        "kept": tables.kept,
        "anomalies": tables.damage,
    }


def _clocks(job: "RankAnalysis") -> dict[str, Any]:
    found = job.joined.alignment
    return {
        "rule": found.rule,
        "shifts_ns": [{"rank": rank, "shift_ns": shift} for rank, shift in sorted(job.joined.shifts.items())],
        "unaligned": list(found.unaligned),
        "remaining_ns": found.remaining_ns,
        "spread_ns": found.spread_ns,
    }


def _largest(by_cause: dict[str, int]) -> str | None:
    return max(by_cause, key=lambda cause: by_cause[cause], default=None)


def _stragglers(job: "RankAnalysis") -> list[dict[str, Any]]:
    arrivals = job.arrivals
    result = job.joined.run.result("stragglers", thresholds=job.policy, rules=job.rules)
    rows = list(result)
    for row in rows:
        row["by_cause_ns"] = by_cause(arrivals, np.flatnonzero(arrivals.last_rank == row["rank"]))
        row["cause"] = _largest(row["by_cause_ns"])
    return rows


def _losses(job: "RankAnalysis") -> dict[str, Any]:
    """Return what the ranks waited in all, by cause, and what slow transfers took; sums over the ranks."""
    arrivals = job.arrivals
    participants = job.joined.run.analyse("collective_instances", rules=job.rules).participants
    return {
        "wait_ns": int(arrivals.caused_ns.sum()),
        "caused_ns": by_cause(arrivals, slice(None)),
        "slow_transfers": int(np.count_nonzero(arrivals.slow_ns)),
        "slow_transfer_ns": int((arrivals.slow_ns * participants).sum()),
    }


def _steps(job: "RankAnalysis") -> list[dict[str, Any]]:
    times: dict[int, list[dict[str, Any]]] = {}
    for row in job.joined.by_step:
        times.setdefault(row["step"], []).append(row)
    host: dict[int, dict[int, int]] = {}
    for row in job.joined.steps:  # a row a device; the host's time is the same in all of a rank
        host.setdefault(row["step"], {})[row["rank"]] = row["duration_ns"]
    steps = sorted(step for step in set(times) | set(host) if step >= 0)
    if not steps and -1 in times:
        steps = [-1]  # a job without steps is one
    return [_step(job, step, times.get(step, []), host.get(step, {})) for step in steps]


def _step(job: "RankAnalysis", step: int, rows: list[dict[str, Any]], host: dict[int, int]) -> dict[str, Any]:
    arrivals = job.arrivals
    within = np.flatnonzero(arrivals.step == step)
    ranks, places = np.unique(arrivals.last_rank[within], return_inverse=True)
    sums = np.bincount(places.reshape(-1), arrivals.caused_ns[within].astype(np.float64))
    total = int(sums.sum())
    worst = int(sums.argmax()) if total else -1
    causes = by_cause(arrivals, within[arrivals.last_rank[within] == ranks[worst]]) if worst >= 0 else {}
    longest = max(rows, key=lambda row: row["compute_ns"], default=None)

    def mean(name: str) -> float | None:
        return sum(row[name] for row in rows) / len(rows) if rows else None

    return {
        "step": step,
        "ranks": len({row["rank"] for row in rows} | set(host)),
        "duration_ns": float(np.median(list(host.values()))) if host else None,
        "longest_ns": max(host.values(), default=None),
        "compute_ns": mean("compute_ns"),
        "exposed_comm_ns": mean("exposed_comm_ns"),
        "exposed_mem_ns": mean("exposed_mem_ns"),
        "idle_ns": mean("idle_ns"),
        "most_compute_rank": longest["rank"] if longest else None,
        "imbalance": longest["imbalance"] if longest else None,
        "collectives": len(within),
        "wait_ns": int(arrivals.caused_ns[within].sum()),
        "waited_for": int(ranks[worst]) if worst >= 0 else None,
        "caused_ns": int(sums[worst]) if worst >= 0 else 0,
        "caused_share": float(sums[worst] / total) if worst >= 0 else None,
        "cause": _largest(causes),
        "by_cause_ns": causes,
        "slow_transfer_ns": int(arrivals.slow_ns[within].sum()),
    }


def _collectives(job: "RankAnalysis") -> list[dict[str, Any]]:
    """Return communication by kind, message and group size, most exposed time first."""
    calls, arrivals = job.joined.calls, job.arrivals
    keys = np.stack([calls["collective"], calls["bytes"], calls["group_size"]], 1).astype(np.int64)
    if not len(keys):
        return []
    kinds, place = np.unique(keys, axis=0, return_inverse=True)
    place = place.reshape(-1)
    ranks = max(1, len(job.ranks))
    rows = []
    for number, (kind, size, group) in enumerate(kinds.tolist()):
        of = np.flatnonzero(place == number)
        instances = np.unique(calls["instance"][of])
        instances = instances[instances >= 0]
        exposed = int(calls["exposed_ns"][of].sum())
        rows.append(
            {
                "collective": _core.COLLECTIVES[kind],
                "bytes": size if size >= 0 else None,
                "group_size": group if group >= 0 else None,
                "calls": len(of),
                "matched": len(instances),
                "total_ns": int(calls["total_ns"][of].sum()),
                "exposed_ns": exposed,
                "exposed_per_rank_ns": exposed / ranks,
                "transfer_ns": int(arrivals.transfer_ns[instances].sum()),
                "wait_ns": int(arrivals.caused_ns[instances].sum()),
                "slow": int(np.count_nonzero(arrivals.slow_ns[instances])),
                "slow_ns": int(arrivals.slow_ns[instances].sum()),
                "causes_ns": {
                    cause: int(value)
                    for cause, value in zip(
                        CAUSES,
                        np.bincount(arrivals.cause[instances], arrivals.caused_ns[instances], len(CAUSES)).tolist(),
                        strict=True,
                    )
                    if value
                },
            }
        )
    return sorted(rows, key=lambda row: (-row["exposed_ns"], row["collective"], str(row["bytes"])))
