# SPDX-License-Identifier: Apache-2.0
"""Theoretical occupancy of the launches of a trace, against the estimates that Kineto took from NVIDIA's calculator."""

import json

import numpy as np
import pytest
from traces import fast_import, load_trace

from regimeter import _core

# Kineto: est. achieved occupancy % = threads of a block * min(blocks per SM, resident blocks) over the threads that an
# SM holds, where the resident blocks come from cuda_occupancy.h; a whole number of percent,
# and 0 where that refuses a block with more shared memory than the default.
TRACES = [
    "a100_nccl_2024.json.gz",
    "a100_simple_add.json.gz",
    "diff_a100_control.json.gz",
    "v100_2024_04_absolute_ns.json.gz",
]


@pytest.mark.parametrize("name", TRACES)
def test_kineto_agrees_where_the_grid_fills_the_device(name):
    run = load_trace(name)
    launches, spans = run.tables.launches, run.spans
    devices = run.environment["trace"]["deviceProperties"]
    most = {device["id"]: device["maxThreadsPerMultiprocessor"] for device in devices}
    known = ~np.isnan(launches.occupancy) & (launches.estimated_occupancy > 0)
    threads = launches.block_x.astype(np.int64) * launches.block_y * launches.block_z
    device = run.lanes.device[spans.lane[launches.span]]
    threads_of_sm = np.array([most.get(number, 0) for number in device.tolist()])
    full = known & (launches.blocks_per_sm * threads >= launches.occupancy * threads_of_sm)
    full &= threads % 32 == 0  # Kineto counts threads, an SM holds warps
    assert full.sum() > 50
    percent = 100 * launches.occupancy[full]
    different = np.abs(percent - 100 * launches.estimated_occupancy[full]) > 1
    assert not different.any(), list(
        zip(percent[different], launches.estimated_occupancy[full][different], strict=True)
    )
    assert (launches.occupancy_limit[known] > 0).all()


def trace(**device):
    properties = {
        "id": 0,
        "computeMajor": 9,
        "computeMinor": 0,
        "warpSize": 32,
        "maxThreadsPerMultiprocessor": 2048,
        "regsPerMultiprocessor": 65536,
        "sharedMemPerMultiprocessor": 233472,
    }
    rows = [(256, 32, 0), (128, 255, 0), (128, 16, 49152), (32, 16, 0), (100, 16, 0)]
    events = [
        {
            "ph": "X", "cat": "kernel", "name": f"k{i}", "pid": 0, "tid": 7, "ts": 10 * i, "dur": 1 + i,
            "args": {"device": 0, "stream": 7, "correlation": i + 1, "grid": [1, 1, 1], "block": [threads, 1, 1],
                     "registers per thread": registers, "shared memory": shared},
        }
        for i, (threads, registers, shared) in enumerate(rows)
    ]  # fmt: skip
    text = json.dumps({"schemaVersion": 1, "deviceProperties": [properties | device], "traceEvents": events})
    return fast_import(text.encode())


def test_by_hand():
    """H100: 64 warps, 32 blocks, 65536 registers in four partitions, 228 KiB of shared memory, 1 KiB more a block."""
    run = trace()
    # 255 registers a thread are 8160 a warp, 8192 with their unit: 2 warps a partition, 8 in all, 2 blocks of 4.
    # 49 KiB go 4 times into 228 KiB. 32 blocks of one warp. 100 threads are 4 warps.
    expected = [1, 8 / 64, 4 * 4 / 64, 32 / 64, 1]
    assert run.tables.launches.occupancy.tolist() == expected
    limits = [_core.OCCUPANCY_LIMITS[code] for code in run.tables.launches.occupancy_limit.tolist()]
    assert limits == ["warps", "registers", "shared memory", "blocks", "warps"]


def test_kernels_show_it():
    run = trace()
    (row,) = run.result("kernels", by="type").rows()
    durations, occupancy = np.arange(1, 6), run.tables.launches.occupancy
    assert row["theoretical_occupancy"] == pytest.approx((durations * occupancy).sum() / durations.sum())
    assert row["occupancy_limit"] == "warps"  # for 1 + 5 of 15
    assert row["occupancy"] is None
    shown = run.result("kernels").text(200)
    assert "limited by" in shown
    assert "shared memory" in shown


@pytest.mark.parametrize(
    "device",
    [
        {"warpSize": 64},
        {"computeMajor": 99},
        {"regsPerMultiprocessor": None},
        {"sharedMemPerMultiprocessor": 0},
        {"id": 1},
        {"id": 10**9},
        {"maxThreadsPerMultiprocessor": "many"},
    ],
)
def test_a_device_that_is_not_described_says_nothing(device):
    run = trace(**device)
    assert np.isnan(run.tables.launches.occupancy).all()
    assert not run.tables.launches.occupancy_limit.any()
    assert all(row["theoretical_occupancy"] is None for row in run.result("kernels").rows())
    assert {row["occupancy_limit"] for row in run.result("kernels").rows()} == {"unknown"}
