# SPDX-License-Identifier: Apache-2.0
"""The tree of operators, calls and device work: against sets of descendants."""

from collections import defaultdict

import pytest
from traces import load_trace

from regimeter import _core

KINDS = _core.SPAN_KINDS
WORK = ("kernel", "memcpy", "memset", "accelerator")
NODES = ("cpu_op", "runtime", "driver", *WORK)


@pytest.mark.parametrize(
    "name", ["h100_qwen_orphans.json.gz", "mi300_vllm_decode_graph.json.gz", "a100_nccl_2024.json.gz"]
)
def test_each_node_has_the_figures_of_its_descendants(name: str) -> None:
    run = load_trace(name)
    spans, table = run.spans, run.analyse("operator_tree")
    kind = [KINDS[spans.kind[s]] for s in table.span]
    assert sorted(table.span) == [i for i, k in enumerate(spans.kind) if KINDS[k] in NODES]
    below, height = defaultdict(list), defaultdict(int)
    for row, span in enumerate(table.span):
        at, up = row, 0
        while at >= 0:
            if kind[row] in WORK:
                below[at].append(int(span))
            height[at] = max(height[at], up)
            parent = int(table.parent[at])
            assert parent < at
            at, up = parent, up + 1
        assert table.depth[row] == up - 1
    start, end = spans.start_ns, spans.start_ns + spans.duration_ns
    for row in range(len(table)):
        work = below[row]
        assert table.height[row] == height[row]
        assert table.work[row] == len(work)
        assert table.device_ns[row] == sum(int(spans.duration_ns[w]) for w in work)
        if not work:
            assert (table.first_work[row], table.last_work[row]) == (-1, -1)
            continue
        assert table.device_start_ns[row] == min(start[work]) == start[table.first_work[row]]
        assert table.device_end_ns[row] == max(end[work]) == end[table.last_work[row]]
        assert {int(table.first_work[row]), int(table.last_work[row])} <= set(work)


def test_a_graph_launch_has_all_its_kernels() -> None:
    """HTA keeps the last kernel of a launch only."""
    run = load_trace("mi300_vllm_decode_graph.json.gz")
    table = run.analyse("operator_tree")
    rows = [i for i, s in enumerate(table.span) if run.string(run.spans.name[s]) == "hipGraphLaunch"]
    assert [int(table.work[i]) for i in rows] == [max(table.work)]
    assert table.work[rows[0]] > 400


def test_the_tree_and_the_table_of_operators_agree() -> None:
    run = load_trace("v100_ddp_large.json.gz")
    tree, table = run.analyse("operator_tree"), run.analyse("operator_times")
    names = run.spans.name[tree.span]
    for i in range(len(table)):
        rows = (names == table.name[i]) & (run.spans.kind[tree.span] == KINDS.index("cpu_op"))
        if not table.recursive_calls[i]:
            assert table.total_device_ns[i] == tree.device_ns[rows].sum()
