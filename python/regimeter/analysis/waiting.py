# SPDX-License-Identifier: Apache-2.0
"""Idle time, launches, queues, copies and synchronisation."""

from collections.abc import Sequence
from typing import Any

from regimeter.analysis.verb import LISTED, Column, Verb
from regimeter.system.text import duration, percent

DEVICE = (Column("rank", "rank"), Column("device", "device"))
STREAM = (*DEVICE, Column("stream", "stream"))
DEVICE_OR_STREAM = {"device": 0, "stream": 1}
CAUSE = Column("cause", "cause", "code:IDLE_CAUSES", whole=True)
DIRECTION = Column("direction", "direction", "code:COPY_DIRECTIONS")
BEFORE = Column("before_launch_ns", "before launch", "ns")
PARTS = (
    Column("in_launch_ns", "in launch", "ns"),
    Column("after_launch_ns", "after launch", "ns"),
    Column("sync_ns", "host in sync", "ns"),
)
# Causes of IDLE_CAUSES by what a device waits for then; the parts of a region in `regime` are these sums.
IDLE_GROUPS = {
    "waiting for the host": ("host_sync", "after_sync", "host_late"),
    "from launch calls to their work (launch gaps)": ("launch_gap", "launch_call"),
    "waiting for other streams or for no recorded reason": ("communication", "memory", "wait_stream", "queue"),
    "of unknown cause": ("unknown",),
}
MOST_DEVICES = 8


def idle_headline(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return for each device how long it was idle, of what, and what it waited for; nothing for streams."""
    devices: dict[tuple[int, int, int, str], list[dict[str, Any]]] = {}
    for row in rows:
        if row["lane"] >= 0:
            return []
        devices.setdefault((row["rank"], row["device"], row["process"], row["process_name"]), []).append(row)
    lines = []
    for (rank, device, _, process), causes in devices.items():
        place = f"device {device}" if device >= 0 else f"device of {process}"
        place = f"{place} of rank {rank}" if rank >= 0 else place
        idle, span = sum(row["total_ns"] for row in causes), causes[0]["span_ns"]
        parts = []
        for words, group in IDLE_GROUPS.items():
            part = sum(row["total_ns"] for row in causes if row["cause"] in group)
            if part:
                parts.append(f"{duration(part / 1e6)} {words}")
        whole = f"{duration(idle / 1e6)} ({percent(idle / span)}) of its span of {duration(span / 1e6)}"
        lines.append(f"{place.replace('d', 'D', 1)} was idle for {whole}: {', '.join(parts)}.")
    return lines if len(lines) <= MOST_DEVICES else []


IDLE = (
    Verb(
        "idle",
        "idle_times",
        "idle time of each device or stream by cause",
        (
            *STREAM,
            CAUSE,
            Column("count", "gaps"),
            Column("total_ns", "total", "ns"),
            Column("share", "of idle", "share"),
            Column("span_share", "of span", "share"),
            Column("longest_ns", "longest", "ns"),
            Column("median_ns", "median", "ns"),
            *PARTS,
            Column("busy_ns", "others busy", "ns"),
        ),
        by=DEVICE_OR_STREAM,
        options={"launch-gap-ns": "launch_gap_ns"},
        empty="no device was idle",
        headline=idle_headline,
    ),
    Verb(
        "idle-gaps",
        "idle_gaps",
        "each time a device or stream had nothing to do, with its cause",
        (
            *STREAM,
            Column("start_ns", "start", "at"),
            Column("duration_ns", "duration", "ns"),
            CAUSE,
            Column("function", "host function"),
            Column("line", "line"),
            BEFORE,
            *PARTS,
            Column("busy_ns", "others busy", "ns"),
            Column("next_name", "next work"),
            Column("activity_name", "host activity"),
            Column("activity_share", "of gap", "share"),
            Column("file", "file"),
            Column("samples", "samples"),
            Column("samples_share", "at it", "share"),
            Column("step", "step"),
        ),
        by=DEVICE_OR_STREAM,
        options={"min-ns": "idle_min_ns", "launch-gap-ns": "launch_gap_ns"},
        empty="no device was idle",
        top=LISTED,
    ),
)
LAUNCHES = (
    Verb(
        "launches",
        "launch_times",
        "what launching cost the host, and how long work waited",
        (
            Column("name", "name"),
            Column("calls", "calls"),
            Column("work", "work"),
            Column("host_total_ns", "host total", "ns"),
            Column("host_mean_ns", "mean", "ns"),
            Column("host_median_ns", "median", "ns"),
            Column("host_p95_ns", "p95", "ns"),
            Column("host_max_ns", "max", "ns"),
            Column("delay_mean_ns", "mean delay", "ns"),
            Column("delay_median_ns", "median delay", "ns"),
            Column("delay_p95_ns", "p95 delay", "ns"),
            Column("early_calls", "early"),
            Column("device_total_ns", "device total", "ns"),
            Column("device_mean_ns", "mean work", "ns"),
            Column("short_work", "short"),
            Column("launch_bound_calls", "launch bound"),
            Column("queued_work", "queue known"),
            Column("queued_median_ns", "waited", "ns"),
            Column("buffered_median_ns", "before submitted", "ns"),
            Column("waiting_median_ns", "after submitted", "ns"),
            Column("on_device_mean_ns", "on device", "ns"),
            Column("queued_mean_ns", "mean waited", "ns", hidden=True),
            Column("queued_p95_ns", "p95 waited", "ns", hidden=True),
            Column("buffered_mean_ns", "mean before submitted", "ns", hidden=True),
            Column("buffered_p95_ns", "p95 before submitted", "ns", hidden=True),
            Column("waiting_mean_ns", "mean after submitted", "ns", hidden=True),
            Column("waiting_p95_ns", "p95 after submitted", "ns", hidden=True),
        ),
        by={"call": 0, "kernel": 1, "operator": 2},
        options={"short-ns": "short_kernel_ns"},
        empty="no launch of device work is in the trace",
    ),
    Verb(
        "short-kernels",
        "short_kernels",
        "histogram of kernel durations, and how many are shorter than their launch",
        (
            *DEVICE,
            Column("low_ns", "from", "ns"),
            Column("high_ns", "to", "ns"),
            Column("count", "kernels"),
            Column("count_share", "of kernels", "share"),
            Column("total_ns", "total", "ns"),
            Column("time_share", "of kernel time", "share"),
            Column("launch_bound", "launch bound"),
            Column("launch_bound_share", "of launched", "share"),
        ),
        empty="no kernel is in the trace",
    ),
    Verb(
        "queues",
        "queue_lengths",
        "how much work each stream had before it, weighted by time",
        (
            *STREAM,
            Column("work", "work"),
            Column("launched", "launched"),
            Column("span_ns", "span", "ns"),
            Column("queued_mean", "mean queue"),
            Column("queued_max", "max queue"),
            Column("empty_share", "empty", "share"),
            Column("full_share", "full", "share"),
            Column("full_calls", "calls when full"),
            Column("full_calls_ns", "in these", "ns"),
            Column("outstanding_mean", "mean outstanding"),
            Column("outstanding_max", "max outstanding"),
            Column("starved_ns", "nothing to do", "ns"),
        ),
        options={"full": "queue_full"},
        empty="no device work is in the trace",
    ),
    Verb(
        "queue-series",
        "queue_series",
        "work queued and running on each stream, change by change",
        (*STREAM, Column("time_ns", "time", "at"), Column("queued", "queued"), Column("running", "running")),
        empty="no device work is in the trace",
        top=LISTED,
    ),
)
COPIES = (
    Verb(
        "memcpy",
        "copy_times",
        "copies and sets by direction and memory, with their bandwidth",
        (
            *DEVICE,
            DIRECTION,
            Column("source", "from", "code:COPY_MEMORIES"),
            Column("target", "to", "code:COPY_MEMORIES"),
            Column("count", "count"),
            Column("bytes", "size", "bytes"),
            Column("unknown_bytes", "of unknown size"),
            Column("total_ns", "total", "ns"),
            Column("union_ns", "union", "ns"),
            Column("bandwidth", "bandwidth", "rate"),
            Column("peak_bandwidth", "peak", "rate"),
            Column("median_bytes", "median size", "bytes"),
            Column("small", "small"),
            Column("synchronous", "synchronous"),
            Column("blocking", "blocking"),
        ),
        options={"small-bytes": "small_copy_bytes"},
        empty="no copy is in the trace",
    ),
    Verb(
        "memory-bandwidth",
        "copy_rates",
        "bandwidth of copies by direction, weighted by time",
        (
            *DEVICE,
            DIRECTION,
            Column("active_ns", "active", "ns"),
            Column("mean", "mean", "rate"),
            Column("median", "median", "rate"),
            Column("p95", "p95", "rate"),
            Column("max", "max", "rate"),
            Column("left_out", "left out"),
        ),
        empty="no copy is in the trace",
    ),
    Verb(
        "bandwidth-series",
        "copy_bandwidth",
        "bandwidth of copies by direction, change by change",
        (
            *DEVICE,
            DIRECTION,
            Column("time_ns", "time", "at"),
            Column("bandwidth", "bandwidth", "rate"),
            Column("active", "copies"),
        ),
        empty="no copy of known size is in the trace",
        top=LISTED,
    ),
)
SYNC = Verb(
    "sync",
    "sync_times",
    "what synchronisation cost the host, and what the device did meanwhile",
    (
        Column("name", "name"),
        Column("op", "operator"),
        Column("sync_class", "kind", "code:SYNC_CLASSES"),
        Column("count", "count"),
        Column("total_ns", "total", "ns"),
        Column("mean_ns", "mean", "ns"),
        Column("max_ns", "max", "ns"),
        Column("device_compute_ns", "device computes", "ns"),
        Column("device_comm_ns", "communicates", "ns"),
        Column("device_mem_ns", "copies", "ns"),
        Column("device_idle_ns", "idles", "ns"),
        Column("unplaced_ns", "device unknown", "ns"),
        Column("needless", "needless"),
        Column("awaited", "waited for"),
    ),
    by={"name": 0, "operator": 1},
    empty="no synchronisation is in the trace",
)
VERBS = (*IDLE, *LAUNCHES, *COPIES, SYNC)
