# SPDX-License-Identifier: Apache-2.0
"""Communication: against the breakdown, a count of every nanosecond, and HolisticTraceAnalysis."""

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import build_run, named_kernel
from traces import exact_traces, load_trace, trace_path

from regimeter import Run, _core

# Kernel names as the libraries of the field have them, and the library that each must be filed under.
KERNELS = {
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)": "NCCL",
    "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)": "NCCL",
    "void rcclGenericKernel<1, false>(ncclDevComm*)": "RCCL",
    "void deep_ep::internode::dispatch<false, 4, false, 8192>(int4*, float*, nvshmem_team_t)": "DeepEP",
    "void internode_ll::combine<false, 7168, 9>(void*)": "DeepEP",
    "void intranode::notify_dispatch<8>(int const*)": "DeepEP",
    "nvshmemi_barrier_kernel": "NVSHMEM",
    "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)": "custom all-reduce",
    "void c10d::symmetric_memory::(anonymous namespace)::two_shot_all_reduce_kernel<float>()": "symmetric memory",
    "multimem_all_reduce_kernel": "symmetric memory",
    "void tensorrt_llm::kernels::oneShotAllReduceKernel<__half, 8>()": "TensorRT-LLM",
    "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<2>()": "TensorRT-LLM",
    "mscclpp::allreduce7": "MSCCL++",
    "my_own_ring": "other",
}


@pytest.mark.parametrize("name", KERNELS)
def test_every_library_is_recognised(name: str) -> None:
    run = build_run([named_kernel(name, 0, 10), named_kernel("gemm", 5, 10)])
    rules = [("my_own", "communication")]
    table = run.analyse("communication", group_by=1, rules=rules)
    assert [_core.LIBRARIES[code] for code in table.library] == [KERNELS[name]]
    assert (table.comm_ns[0], table.hidden_ns[0], table.exposed_ns[0]) == (10, 5, 5)


@pytest.mark.parametrize("name", ["void gemm_kernel<float>()", "void cub::DeviceReduceKernel<int>()", "reduce_scatter"])
def test_compute_is_no_communication(name: str) -> None:
    table = build_run([named_kernel(name, 0, 10)]).analyse("communication")
    assert (table.count.tolist(), table.comm_ns.tolist()) == ([0], [0])
    assert table.overlap_share[0] != table.overlap_share[0]
    assert len(build_run([named_kernel(name, 0, 10)]).analyse("communication", group_by=1)) == 0


@pytest.mark.parametrize("name", exact_traces())
def test_totals_are_those_of_the_breakdown(name: str) -> None:
    run = load_trace(name)
    parts, table = run.analyse("breakdown"), run.analyse("communication")
    assert table.comm_ns.tolist() == parts.comm_ns.tolist()
    assert table.hidden_ns.tolist() == parts.comm_overlapped_by_compute_ns.tolist()
    assert table.exposed_ns.tolist() == parts.exposed_comm_ns.tolist()
    assert table.count.tolist() == parts.n_comm.tolist()
    by_library, by_name = (run.analyse("communication", group_by=by) for by in (1, 2))
    assert by_library.count.sum() == by_name.count.sum() == table.count.sum()
    assert by_library.sum_ns.sum() == by_name.sum_ns.sum() == table.sum_ns.sum()


NAMES = ("gemm", "ncclKernel_AllReduce", "ncclKernel_Broadcast", "deep_ep::intranode::dispatch")
lists = st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 60), st.integers(0, 20)), min_size=1, max_size=25)


@given(lists)
def test_unions_match_a_count_of_every_nanosecond(work: list[tuple[str, int, int]]) -> None:
    run = build_run([named_kernel(*row) for row in work])
    compute = {t for name, s, d in work if name == "gemm" for t in range(s, s + d)}
    groups = {
        0: lambda _: "all",
        1: lambda name: "NCCL" if name.startswith("nccl") else "DeepEP",
        2: lambda name: name,
    }
    for by, group_of in groups.items():
        active: dict[str, set[int]] = {"all": set()} if by == 0 else {}
        counts: dict[str, int] = dict.fromkeys(active, 0)
        for name, start, duration in work:
            if name != "gemm":
                active.setdefault(group_of(name), set()).update(range(start, start + duration))
                counts[group_of(name)] = counts.get(group_of(name), 0) + 1
        table = run.analyse("communication", group_by=by)
        keys = [
            run.string(n) if by == 2 else _core.LIBRARIES[c] for n, c in zip(table.name, table.library, strict=True)
        ]
        found = {
            key: (int(table.comm_ns[i]), int(table.hidden_ns[i]), int(table.exposed_ns[i]), int(table.count[i]))
            for i, key in enumerate(keys)
        }
        assert found == {k: (len(t), len(t & compute), len(t - compute), counts[k]) for k, t in active.items()}
        assert table.comm_ns.tolist() == sorted(table.comm_ns.tolist(), reverse=True)


def hta_shares(name: str) -> list[float]:
    """Return the percentages that HTA printed for a trace, by rank."""
    with trace_path(f"hta_reference/{name}/comm_comp_overlap.csv").open() as file:
        return [float(row["comp_comm_overlap_pctg"]) for row in csv.DictReader(file)]


def without_last_step(run: Run) -> Run:
    """Return the device work that HTA looks at.

    With two steps or more it drops what was launched at or after the beginning of the last, and what has no launch;
    times of the newer traces are rounded to microseconds.
    """
    spans, names = run.spans, run.strings
    kinds = [_core.SPAN_KINDS[k] for k in spans.kind]
    steps = {names[n]: int(t) for n, t, k in zip(spans.name, spans.start_ns, kinds, strict=True)
             if k == "annotation" and names[n].startswith("ProfilerStep")}  # fmt: skip
    last = max(steps.values()) if len(steps) > 1 else 1 << 62
    kept = {int(c) for c, t, k in zip(spans.correlation, spans.start_ns, kinds, strict=True)
            if k in ("runtime", "driver") and t < last}  # fmt: skip
    starts = [-(-int(t) // 1000) * 1000 for t in spans.start_ns]  # rounded inwards to microseconds, as HTA does
    ends = [(int(t) + int(d)) // 1000 * 1000 for t, d in zip(spans.start_ns, spans.duration_ns, strict=True)]
    work = [
        {**named_kernel(names[spans.name[i]], starts[i], max(0, ends[i] - starts[i])), "kind": kinds[i]}
        for i in range(len(spans))
        if kinds[i] in ("kernel", "memcpy", "memset") and (len(steps) < 2 or int(spans.correlation[i]) in kept)
    ]
    return build_run(work)


HTA = {
    name: [f"{name}.json.gz"] for name in ("v100_ddp_large", "a100_nccl_2024", "diff_a100_control", "diff_v100_test")
}
HTA |= {
    "dlrm8": [f"dlrm8/rank-{i}.json.gz" for i in range(8)],
    "ranks128": [f"ranks128/rank-{i}.json.gz" for i in (0, 1)],
}


@pytest.mark.parametrize("name", HTA)
def test_hta_agrees_on_the_work_that_it_keeps(name: str) -> None:
    """HTA leaves out the last step and rounds to microseconds; on what is left the figures are equal."""
    for file, expected in zip(HTA[name], hta_shares(name), strict=True):
        found = without_last_step(load_trace(file)).analyse("communication").overlap_share[0]
        assert 100 * found == pytest.approx(expected, abs=0.00501)
