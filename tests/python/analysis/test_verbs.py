# SPDX-License-Identifier: Apache-2.0
"""What the descriptions of the analyses name exists in the core: of every verb."""

import pickle
import time

import pytest
from runs import build_run
from snapshots import Allocator, frame, snapshot
from traces import load_trace, trace_path

from regimeter import GPUProfiler, Run, _core, load
from regimeter.analysis.catalog import find_verbs
from regimeter.analysis.verb import Verb

VERBS = list(find_verbs().values())
NAMES = [
    "gp100_steps_2022.json.gz",
    "a100_nccl_2024.json.gz",
    "a100_cupti_counters.json.gz",
    "a100_event_sync_multi_stream.json.gz",
    "h100_bert_small.json.gz",
]


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_every_name_exists(verb: Verb) -> None:
    table = _core.analyses()[verb.analysis]["table"]
    columns = _core.schema()["results"][table]["columns"]
    known = {column["name"]: column["unit"] for column in columns}
    names = {column["name"] for column in columns if column["type"] == "name"}
    assert {column.name for column in verb.columns} <= set(known)
    assert not {column.name for column in verb.columns if column.adds} & names
    assert {column.name for column in verb.columns if column.unit in ("ns", "at")} == {
        column.name for column in verb.columns if known[column.name] == "ns"
    }
    for column in verb.columns:
        if column.unit.startswith("code:"):
            assert isinstance(getattr(_core, column.unit.removeprefix("code:")), tuple)
    assert set(verb.options.values()) <= set(_core.policy())


@pytest.fixture(scope="module")
def many() -> list[Run]:
    """Runs of different kinds: between them each analysis has something to say."""
    with GPUProfiler(stacks=1000) as profiler, profiler.profile("outer"), profiler.profile("inner"):
        time.sleep(0.1)
    allocator = Allocator()
    allocator.alloc(1000, [frame(1)])
    allocator.entry("oom", 123, 77_000, [frame(2)])
    of_memory = load(pickle.dumps(snapshot(allocator)))
    of_stalls = build_run([], [], stalls=[{"kernel": "gemm", "reason": "wait", "samples": 3, "device": 0}])
    return [profiler.run(), of_memory, of_stalls, *(load_trace(name) for name in NAMES), load(trace_path("dlrm8"))]


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_every_grouping_gives_rows(many: list[Run], verb: Verb) -> None:
    for number in verb.by.values() or (0,):
        tables = (run.analyse(verb.analysis, group_by=number, other=run if verb.other else None) for run in many)
        assert any(len(table) for table in tables), number
