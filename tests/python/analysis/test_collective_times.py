# SPDX-License-Identifier: Apache-2.0
"""Collectives: names, message sizes, bandwidths, and the ways from a kernel to its arguments."""

import math
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from runs import build_run, named_kernel
from traces import load_trace

from regimeter import Run, _core

KINDS, SOURCES = _core.COLLECTIVES, _core.COLLECTIVE_SOURCES


def args(span: int, collective: str, **more: Any) -> dict[str, Any]:
    """Return a row of `collectives`."""
    row = {"element_type": "Float", "in_elements": 1000, "out_elements": 1000, "group_size": 4, "group_name": "0"}
    return {"span": span, "collective": collective, **row, **more}


def one(collective: str, **more: Any) -> Any:
    """Return the single row of a kernel of 1000 ns with such arguments."""
    run = build_run([named_kernel("ncclDevKernel_Generic", 0, 1000)], collectives=[args(0, collective, **more)])
    return run.analyse("collective_times", group_by=1)


# collective, recorded input and output elements of a rank, message elements, bus factor; four ranks.
# Message and factor as nccl-tests defines them.
CONVENTIONS = [
    ("allreduce", 1000, 1000, 1000, 2 * 3 / 4), ("allreduce_coalesced", 1000, 1000, 1000, 2 * 3 / 4),
    ("_allgather_base", 1000, 4000, 4000, 3 / 4), ("all_gather_into_tensor_coalesced", 1000, 4000, 4000, 3 / 4),
    ("allgather", 1000, -1, 4000, 3 / 4), ("_reduce_scatter_base", 4000, 1000, 4000, 3 / 4),
    ("reduce_scatter_tensor_coalesced", -1, 1000, 4000, 3 / 4), ("all_to_allv", 4000, 3900, 4000, 3 / 4),
    ("alltoall_base", 4000, 4000, 4000, 3 / 4), ("broadcast", 1000, 1000, 1000, 1.0),
    ("_broadcast_oop", 1000, 1000, 1000, 1.0), ("reduce", 1000, 1000, 1000, 1.0), ("send", 1000, -1, 1000, 1.0),
    ("recv", -1, 1000, 1000, 1.0), ("gather", 1000, 4000, 4000, 3 / 4), ("scatter", 4000, 1000, 4000, 3 / 4),
]  # fmt: skip


@pytest.mark.parametrize(("collective", "given_in", "given_out", "elements", "factor"), CONVENTIONS)
def test_message_and_factor_follow_nccl_tests(
    collective: str, given_in: int, given_out: int, elements: int, factor: float
) -> None:
    table = one(collective, in_elements=given_in, out_elements=given_out)
    assert table.bytes.tolist() == [4 * elements]
    assert table.algorithm_bandwidth[0] == pytest.approx(4 * elements / 1e-6)
    assert table.bus_bandwidth[0] == pytest.approx(4 * elements / 1e-6 * factor)


@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        ("Float", 4), ("BFloat16", 2), ("c10::Half", 2), ("Long", 8), ("Float8_e4m3fn", 1), ("torch.float64", 8),
        ("Byte", 1),
    ],
)  # fmt: skip
def test_sizes_of_element_types(dtype: str, size: int) -> None:
    assert one("allreduce", element_type=dtype).bytes.tolist() == [1000 * size]


@pytest.mark.parametrize(
    "more",
    [
        {"element_type": "Tensor"},
        {"element_type": ""},
        {"in_elements": -1, "out_elements": -1},
        {"in_elements": 0, "out_elements": 0},
        {"in_elements": 2**62, "out_elements": 0},
    ],
)
def test_what_is_not_known_is_not_guessed(more: dict[str, Any]) -> None:
    table = one("allreduce", **more)
    assert (table.bytes.tolist(), table.sized.tolist(), table.total_bytes.tolist()) == ([-1], [0], [-1])
    assert math.isnan(table.algorithm_bandwidth[0])
    assert math.isnan(table.bus_bandwidth[0])


def test_the_factor_needs_the_size_of_the_group() -> None:
    table = one("allreduce", group_size=-1)
    assert table.algorithm_bandwidth[0] == pytest.approx(4e9)
    assert math.isnan(table.bus_bandwidth[0])
    assert one("broadcast", group_size=-1).bus_bandwidth[0] == pytest.approx(4e9)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "all_reduce"),
        ("ncclKernel_ReduceScatter_RING_LL_Sum_half(ncclWorkElem)", "reduce_scatter"),
        ("ncclDevKernel_AllGather_RING_LL()", "all_gather"),
        ("ncclKernel_Broadcast_RING_LL_Sum_int8_t()", "broadcast"),
        ("ncclKernel_Reduce_RING_LL_Sum_float()", "reduce"),
        ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "send_recv"),
        ("ncclDevKernel_AllToAll", "all_to_all"),
        ("void vllm::cross_device_reduce_2stage<float, 8>()", "all_reduce"),
        ("void deep_ep::intranode::dispatch<8>(int*)", "dispatch"),
        ("void deep_ep::internode_ll::combine<8>(int*)", "combine"),
        ("void rcclGenericKernel<1, false>(ncclDevComm*)", "unknown"),
        ("ncclDevKernel_Generic(AllReduceArguments)", "unknown"),
    ],
)
def test_without_arguments_the_kernel_name_tells(name: str, kind: str) -> None:
    table = build_run([named_kernel(name, 0, 10)]).analyse("collective_times")
    assert KINDS[table.collective[0]] == kind
    assert SOURCES[table.source[0]] == ("nothing" if kind == "unknown" else "kernel name")
    assert (table.count.tolist(), table.sized.tolist()) == ([1], [0])


def launched(*, above: list[tuple[str, str]], arguments_on: int | None, collective: str = "allreduce") -> Any:
    """Return the row of a kernel whose launch lies below spans of those kinds and names, outermost first."""
    spans = [
        {"kind": kind, "name": name, "start_ns": i, "duration_ns": 100, "lane": 1, "parent": i - 1, "correlation": -1}
        for i, (kind, name) in enumerate([*above, ("runtime", "cudaLaunchKernel")])
    ]
    spans[-1]["correlation"] = 7
    spans.append({**spans[-1], "kind": "kernel", "name": "ncclDevKernel_Generic", "parent": -1, "lane": 0})
    rows = [] if arguments_on is None else [args(arguments_on, collective)]
    lanes = [{"process": 0, "device": 0}, {"process": 1, "device": -1}]
    return build_run(spans, lanes, collectives=rows).analyse("collective_times", group_by=1)


def test_arguments_are_found_above_the_launch() -> None:
    above = [("cpu_op", "c10d::allreduce_"), ("cpu_op", "record_param_comms"), ("annotation", "nccl:all_reduce")]
    table = launched(above=above, arguments_on=1)
    assert (SOURCES[table.source[0]], table.bytes[0]) == ("operator arguments", 4000)
    table = launched(above=above, arguments_on=None)
    assert (SOURCES[table.source[0]], table.bytes[0], KINDS[table.collective[0]]) == ("annotation", -1, "all_reduce")
    table = launched(above=above[:1], arguments_on=None)
    assert (SOURCES[table.source[0]], KINDS[table.collective[0]]) == ("operator name", "all_reduce")
    table = launched(above=[("cpu_op", "aten::all_reduce_lookalike")], arguments_on=None)
    assert SOURCES[table.source[0]] == "nothing"
    table = launched(above=above, arguments_on=1, collective="wait")
    assert SOURCES[table.source[0]] == "annotation"


def test_arguments_are_found_by_external_id() -> None:
    spans = [
        {**named_kernel("ncclDevKernel_Generic", 50, 10), "external_id": 99, "parent": -1},
        {**named_kernel("record_param_comms", 0, 10), "kind": "cpu_op", "lane": 1, "external_id": 99, "parent": -1},
    ]
    run = build_run(spans, [{"device": 0}, {"device": -1}], collectives=[args(1, "_allgather_base", out_elements=4000)])
    table = run.analyse("collective_times")
    assert (KINDS[table.collective[0]], SOURCES[table.source[0]]) == ("all_gather", "operator arguments")
    assert table.total_bytes.tolist() == [16000]


def naive(run: Run) -> dict[tuple[str, str, int], list[int]]:
    """Return durations of the kernels that carry arguments, by collective, type and elements."""
    table, spans, found = run.table("collectives"), run.spans, defaultdict(list)
    for row, name, dtype, elements in zip(
        table.span, table.collective, table.element_type, table.in_elements, strict=True
    ):
        if _core.SPAN_KINDS[spans.kind[row]] == "kernel":
            found[run.string(name), run.string(dtype), int(elements)].append(int(spans.duration_ns[row]))
    return found


def test_a_real_trace_with_arguments() -> None:
    run = load_trace("a100_nccl_2024.json.gz")
    table, expected = run.analyse("collective_times", group_by=1), naive(load_trace("a100_nccl_2024.json.gz"))
    sizes = {"Float": 4, "Long": 8, "Byte": 1, "Char": 1, "Int": 4}
    names = {"all_reduce": "allreduce", "broadcast": "broadcast"}
    found = {}
    for i in range(len(table)):
        dtype = run.string(table.element_type[i])
        key = (names[KINDS[table.collective[i]]], dtype, int(table.bytes[i]) // sizes[dtype])
        durations = sorted(expected[key])
        found[key] = durations
        total, bytes_ = sum(durations), key[2] * sizes[dtype] * len(durations)
        assert (table.count[i], table.total_ns[i], table.total_bytes[i]) == (len(durations), total, bytes_)
        assert (table.min_ns[i], table.max_ns[i]) == (durations[0], durations[-1])
        assert table.median_ns[i] == np.median(durations)
        assert table.algorithm_bandwidth[i] == pytest.approx(bytes_ / total * 1e9)
        assert table.bus_bandwidth[i] == pytest.approx(bytes_ / total * 1e9)  # both factors are 1 with two ranks
    assert found.keys() == expected.keys()
    assert table.total_ns.tolist() == sorted(table.total_ns.tolist(), reverse=True)
    calls = run.analyse("collective_times", group_by=2)
    assert len(calls) == 21
    assert (np.diff(calls.start_ns) >= 0).all()
    assert calls.total_ns.sum() == run.analyse("communication").sum_ns[0]


def test_older_traces_name_their_collectives_by_annotations() -> None:
    run = load_trace("dlrm8/rank-0.json.gz")
    table = run.analyse("collective_times")
    assert {KINDS[k]: int(n) for k, n in zip(table.collective, table.count, strict=True)} == {
        "all_to_all": 5,
        "all_reduce": 3,
    }
    assert {SOURCES[s] for s in table.source} == {"annotation"}


def test_absurdly_deep_nesting_costs_a_bounded_walk() -> None:
    depth = 20_000
    spans = [
        {"kind": "cpu_op", "name": "x", "start_ns": 0, "duration_ns": 9, "lane": 1, "parent": i - 1, "correlation": -1}
        for i in range(depth)
    ]
    spans += [{**spans[0], "kind": "runtime", "parent": depth - 1, "correlation": i + 1} for i in range(2000)]
    spans += [{**spans[0], **named_kernel("ncclDevKernel_Generic", 0, 9), "correlation": i + 1} for i in range(2000)]
    table = build_run(spans, [{"device": 0}, {"device": -1}]).analyse("collective_times")
    assert table.count.tolist() == [2000]
