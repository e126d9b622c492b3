# SPDX-License-Identifier: Apache-2.0
"""Memory that CUDA gives out: records of the double become rows, levels by kind, scopes and pools."""

import json

import numpy as np
import pytest
from kernel_programs import run_program
from shared import once

from regimeter import _core, load
from regimeter.report.memory_run import memory_document
from regimeter.report.memory_run_page import memory_run_data

MB = 1 << 20
RECORD = ["-m", "regimeter", "record", "-o", "run.rgm"]
# Sizes that no two blocks share, so that each row is known by its own.
PROGRAM = """
import regimeter
def block(name, *arguments):
    address = ctypes.c_uint64()
    call(name, ctypes.byref(address), *arguments)
    return address
def size(bytes):
    return ctypes.c_size_t(bytes)
with regimeter.profile("weights"):
    kept = block("cuMemAlloc_v2", size(8 << 20))
    unified = block("cuMemAllocManaged", size(3 << 20), 1)
with regimeter.profile("staging"):
    pinned = ctypes.c_void_p()
    call("cuMemHostAlloc", ctypes.byref(pinned), size(5 << 20), 0)
    call("cuMemFreeHost", pinned)
with regimeter.profile("activations"):
    pool = made("cuMemPoolCreate", None)
    first = block("cuMemAllocFromPoolAsync", size(1 << 20), pool, None)
    second = block("cuMemAllocFromPoolAsync", size(2 << 20), pool, None)
    call("cuMemFreeAsync", first, None)
    call("cuMemFreeAsync", second, None)
    call("cuMemPoolTrimTo", pool, size(0))
    call("cuMemPoolDestroy", pool)
call("cuMemFree_v2", unified)
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = once(
        tmp_path_factory,
        "device-memory",
        lambda folder: run_program(folder, PROGRAM, arguments=[*RECORD, "--device-memory"]),
    )
    return load(folder / "run.rgm")


BEFORE = 64 << 10  # what the program has before it has a profiler


def rows_of(run, action):
    memory = run.memory
    at = np.flatnonzero((memory.action == _core.MEMORY_ACTIONS.index(action)) & (memory.category > 0))
    return {int(memory.bytes[row]) // MB: row for row in at.tolist()}


def test_each_block_has_its_kind_and_scope(recorded):
    """The record of what is freed names neither: they come from the block's own beginning."""
    memory, given, freed = recorded.memory, rows_of(recorded, "alloc"), rows_of(recorded, "free")
    assert int(memory.bytes[given.pop(0)]) == BEFORE
    assert set(given) == {8, 3, 5, 1, 2}
    assert set(freed) == {3, 5, 1, 2}
    kinds = {size: recorded.string(int(memory.category[row])) for size, row in given.items()}
    assert kinds == {8: "Device", 3: "Managed", 5: "Pinned", 1: "Device", 2: "Device"}
    assert all(memory.category[freed[size]] == memory.category[given[size]] for size in freed)
    assert all(memory.device[freed[size]] == memory.device[given[size]] for size in freed)
    assert {size: int(memory.device[row]) for size, row in given.items()} == {8: 0, 3: 0, 5: -1, 1: 0, 2: 0}
    scopes = {size: recorded.string(int(recorded.spans.name[memory.span[row]])) for size, row in given.items()}
    assert scopes == {8: "weights", 3: "weights", 5: "staging", 1: "activations", 2: "activations"}
    # What was freed outside of any scope belongs to the scope of the program.
    outside = recorded.string(int(recorded.spans.name[memory.span[freed[3]]]))
    assert outside not in ("weights", "staging", "activations")


def test_the_calls_are_in_the_run(recorded):
    """Each block's call stands under its scope, with a time, and is no launch of work."""
    names = [recorded.strings[name] for name in recorded.spans.name]
    assert {"cuMemAlloc", "cuMemAllocManaged", "cuMemHostAlloc", "cuMemPoolCreate", "cuMemFreeAsync"} <= set(names)
    assert recorded.environment["device"]["kernels"]["memory"]
    assert not any(row["code"] in ("orphan_kernels", "invalid_activity") for row in recorded.anomaly_list())


def test_levels_by_kind(recorded):
    document = memory_document(recorded, "run.rgm")
    kinds = {(row["device"], row["category"]): row for row in document["kinds"]}
    assert set(kinds) == {(0, "Device"), (0, "Managed"), (-1, "Pinned")}
    assert kinds[0, "Device"]["peak_bytes"] == 11 * MB + BEFORE
    assert kinds[0, "Device"]["end_bytes"] == 8 * MB + BEFORE
    assert kinds[0, "Managed"]["peak_bytes"] == 3 * MB
    assert kinds[0, "Managed"]["end_bytes"] == 0
    levels = [size * MB + BEFORE for size in (0, 8, 9, 11, 10, 8)]
    assert [point["live"] for point in kinds[0, "Device"]["timeline"]] == levels
    device = next(row for row in document["devices"] if row["device"] == 0)
    assert (device["peak_bytes"], device["end_bytes"]) == (14 * MB + BEFORE, 8 * MB + BEFORE)


def test_by_scope(recorded):
    rows = {(row["device"], row["scope"]): row for row in recorded.result("allocations", by="scope")}
    assert rows[0, "weights"]["peak_bytes"] == 11 * MB
    assert rows[0, "weights"]["end_bytes"] == 8 * MB
    assert rows[0, "activations"]["peak_bytes"] == 3 * MB
    assert rows[0, "activations"]["allocations"] == 2
    assert rows[-1, "staging"]["end_bytes"] == 0


def test_pools_of_cuda(recorded):
    """A pool holds whole steps of 2 MiB of the double, also of what has been freed, until it is trimmed."""
    actions = [_core.MEMORY_ACTIONS[action] for action in recorded.memory.action]
    assert [action for action in actions if action.startswith("pool_")] == ["pool_create", "pool_trim", "pool_destroy"]
    (pool,) = memory_document(recorded, "run.rgm")["cuda_pools"]
    assert pool["pool"] != 0
    assert (pool["peak_bytes"], pool["peak_used_bytes"]) == (4 * MB, 3 * MB)
    assert (pool["end_bytes"], pool["end_used_bytes"], pool["allocations"]) == (0, 0, 2)
    trim = actions.index("pool_trim")
    assert (int(recorded.memory.reserved[trim]), int(recorded.memory.allocated[trim])) == (0, 0)


def test_command_page_and_document(recorded, tmp_path, command):
    recorded.save(tmp_path / "run.rgm")
    text = command("memory", "run.rgm").stdout
    assert "device 0: peak 14" in text
    assert "pool of CUDA on device 0: held at most 4" in text
    assert "weights" in text.split("By scope")[1]
    document = json.loads(command("memory", "--json", "run.rgm").stdout)
    assert document["cuda_pools"][0]["peak_bytes"] == 4 * MB
    sections = {one["id"]: one for one in memory_run_data(recorded, "run.rgm")["sections"]}
    assert "Device 0, Managed" in [series["name"] for series in sections["kinds"]["series"]]
    assert sections["cuda-pools"]["columns"][1]["values"] == [4 * MB]


def test_without_the_option_nothing_is_recorded(tmp_path):
    run_program(tmp_path, PROGRAM, arguments=[*RECORD, "--kernels"])
    run = load(tmp_path / "run.rgm")
    assert not rows_of(run, "alloc")
    assert "cuMemAlloc" not in {run.strings[name] for name in run.spans.name}
    assert not run.environment["device"]["kernels"]["memory"]


def test_kept_in_a_saved_run(recorded, tmp_path):
    recorded.save(tmp_path / "saved.rgm")
    again = load(tmp_path / "saved.rgm")
    assert memory_document(again, "x")["kinds"] == memory_document(recorded, "x")["kinds"]
    assert memory_document(again, "x")["cuda_pools"] == memory_document(recorded, "x")["cuda_pools"]
