# SPDX-License-Identifier: Apache-2.0
"""What limits kernels and regions."""

from regimeter.analysis.verb import LISTED, Column, Verb

JUDGED = (
    Column("regime", "regime", "code:REGIMES"),
    Column("detail", "detail", "code:REGIME_DETAILS"),
    Column("confidence", "confidence", "share"),
    Column("leans_to", "leans to", "code:REGIMES"),
    Column("reason", "reason", "code:REGIME_REASONS"),
)

KERNELS = Verb(
    "kernel-regimes",
    "kernel_regimes",
    "what limits each kernel: overhead, memory or arithmetic",
    (
        Column("name", "kernel"),
        Column("count", "count", adds=True),
        Column("total_ns", "total", "ns", adds=True),
        Column("share", "of kernel time", "share", adds=True),
        *JUDGED,
        Column("source", "work from", "code:WORK_SOURCES"),
        Column("known_share", "work known", "share"),
        Column("sol_compute", "of compute roof", "share"),
        Column("sol_memory", "of memory roof", "share"),
        Column("floor_share", "of floor", "share"),
        Column("intensity", "op/byte"),
        Column("ridge", "ridge"),
        Column("model_ns", "roofs allow", "ns"),
        Column("blocks_per_sm", "blocks/SM"),
    ),
    by={"name": 0, "kernel": 1},
    empty="no compute kernel is in the trace",
    ceilings=True,
    top=LISTED,
)
REGIONS = Verb(
    "region-regimes",
    "region_regimes",
    "what limits a device in the run, in its steps or in the scopes: all shares of the time",
    (
        Column("rank", "rank"),
        Column("device", "device"),
        Column("step", "step"),
        Column("name", "scope"),
        Column("regions", "regions"),
        Column("wall_ns", "wall", "ns"),
        *JUDGED,
        Column("kernels_ns", "kernels", "ns"),
        Column("communication_ns", "communication", "ns"),
        Column("transfer_ns", "transfer", "ns"),
        Column("host_wait_ns", "host wait", "ns"),
        Column("launch_gap_ns", "launch gap", "ns"),
        Column("wait_ns", "wait", "ns"),
        Column("unknown_ns", "unknown", "ns"),
        Column("host_input_ns", "input", "ns"),
        Column("host_sync_ns", "sync", "ns"),
        Column("host_allocation_ns", "allocation", "ns"),
        Column("host_compile_ns", "compile", "ns"),
        Column("host_optimizer_ns", "optimizer", "ns"),
        Column("host_other_ns", "other host", "ns"),
        Column("overhead_share", "not in kernels", "share"),
        Column("overhead_kernels_share", "overhead kernels", "share"),
        Column("memory_kernels_share", "memory kernels", "share"),
        Column("compute_kernels_share", "compute kernels", "share"),
        Column("unjudged_kernels_share", "unjudged kernels", "share"),
        Column("queue_delay_ns", "queue delay", "ns"),
    ),
    by={"run": 0, "step": 1, "scope": 2},
    empty="nothing of that kind is in the trace",
    ceilings=True,
)
VERBS = (KERNELS, REGIONS)
