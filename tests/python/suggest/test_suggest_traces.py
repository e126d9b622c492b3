# SPDX-License-Identifier: Apache-2.0
"""What is said of each trace of the collection, in order, with the reason: each list was read against the trace.

A rule that others count is not listed. Figures are those of the rules' own tests; here it is who speaks.
"""

import pytest
from traces import all_traces, load_trace

CONTEXT = (
    ["setup_calls", "allocator_calls"],
    "43 s, of which making the context takes 28 s and cudaMalloc and the like 8 s; the device works 0.07 s",
)
STEP = (["unrecorded_host", "host_bound"], "0.7 s, nearly all of it inside an annotation or nothing; 1.7 ms of work")
BERT = (
    ["repeated_sequence", "python_overhead"],
    "some 60 kernels of microseconds launched singly from Python: a graph or torch.compile; a read waits 8 or 25 us",
)
DLRM = "ten steps of microseconds: the host launches slower than the device works, input and optimizer are parts of it"
LATE = ["exposed_communication", "launch_bound", "loader_without_workers", "single_tensor_optimizer"]
EXPECTED: dict[str, tuple[list[str], str]] = {
    "a100_alexnet_cuda_sync.json.gz": CONTEXT,
    "a100_simple_add.json.gz": CONTEXT,
    "a100_cupti_counters.json.gz": (["setup_calls", "allocator_calls"], "streams, handles and memory are made in it"),
    "a100_event_sync.json.gz": (["host_bound"], "four launches in 3 ms of aten::empty; a value is read, for 6 us"),
    "a100_event_sync_multi_stream.json.gz": (
        ["unrecorded_host", "allocator_calls"],
        "18.7 of 20 ms are no span; three allocations take 0.7 ms",
    ),
    "a100_memcpy_2023.json": ([], "a benchmark of copies: there is nothing that they could hide behind"),
    "a100_nccl_2024.json.gz": (["host_bound", "repeated_sequence"], "the device works 157 of 661 ms"),
    "a100_triton.json.gz": (["host_bound"], "one kernel of 2 us in 13 s of a step: too few launches for a statement"),
    "cpu_only_no_schema.json.gz": (["single_tensor_optimizer"], "259 operators a step, 4 % of the time"),
    "cpu_only_rank34.json.gz": ([], "30 events, none of which takes a part worth saving"),
    "diff_a100_control.json.gz": (
        ["exposed_communication", "host_bound", "repeated_sequence"],
        "20 % of the path are NCCL alone; the device idles 77 of 465 ms, which bounds what the host can save",
    ),
    "diff_small_base.json.gz": STEP,
    "diff_small_test.json.gz": STEP,
    "diff_v100_test.json.gz": (
        ["exposed_communication", "contiguous_copies", "device_copies", "few_blocks", "queue_full"],
        "the device is busy 96 %: communication alone 16 %, copies within the device 12 %, half of them contiguous()",
    ),
    **{f"dlrm8/rank-{rank}.json.gz": ([*LATE, "repeated_sequence"], DLRM) for rank in (0, 1, 3, 4, 5)},
    # These arrive late at the collectives, so they do not wait in them.
    **{f"dlrm8/rank-{rank}.json.gz": ([*LATE[1:], "repeated_sequence"], DLRM) for rank in (2, 6, 7)},
    "gp100_steps_2022.json.gz": (
        ["repeated_sequence", "device_idle", "zero_grad"],
        "five equal steps of 26 kernels, the device idles between them; gradients are zeroed; ten waits are 44 us",
    ),
    "h100_2026_04_writer_mock.json": ([], "130 ns in all: nothing that small is worth saying"),
    "h100_bert_small.json.gz": BERT,
    "mi300_bert_small.json.gz": BERT,
    "h100_owlv2_with_stack.json.gz": (
        ["loader_without_workers", "attention_math", "half_dims"],
        "half of the time in _SingleProcessDataLoaderIter; a softmax kernel is half of the kernel time",
    ),
    "h100_qwen_orphans.json.gz": (
        ["pointwise_chain", "contiguous_copies", "casts", "repeated_sequence"],
        "the device is busy 92 %: elementwise kernels, casts and copies between the products, not fused",
    ),
    "mi210_gpu_only.json.gz": (
        ["layout_conversions", "unrecorded_host"],
        "batched_transpose around the convolutions of MIOpen; no activity of the host was recorded",
    ),
    "mi250_rocm62.json.gz": (
        ["setup_calls", "created_on_host"],
        "the first hipLaunchKernel loads a module for 6.5 of 9.5 ms",
    ),
    "mi300_torch_compile_triton.json.gz": ([], "busy all the time, with kernels of their own names"),
    "mi300_vllm_decode_graph.json.gz": ([], "one graph keeps the device busy 99.8 %; the launches cost it nothing"),
    "mtia_inference.json.gz": (["unrecorded_host"], "busy 95 %; the rest of the path is no span"),
    "ranks128/rank-0.json.gz": (["host_bound"], "the device idles 55 %, the host is in operators"),
    "ranks128/rank-1.json.gz": (["host_bound", "repeated_sequence"], "the same, with kernels launched in turn"),
    "v100_2021_01_bare_array.json.gz": (
        ["loader_without_workers", "single_tensor_optimizer", "zero_grad", "repeated_sequence"],
        "resnet50 with num_workers=0, an SGD of 483 kernels a step, gradients zeroed",
    ),
    "v100_2021_gpu_metrics.json": (
        ["launch_bound", "loader_without_workers", "zero_grad"],
        "30 kernels of 2 us in 14 ms; two waits are 15 us",
    ),
    "v100_2024_04_absolute_ns.json.gz": (["queue_full"], "busy 98 %: the host is ahead, only the kernels matter"),
    "v100_ddp_large.json.gz": (
        ["host_bound", "zero_grad", "small_collectives", "repeated_sequence", "single_tensor_optimizer"],
        "the device idles 42 %; 404 all-reduces a step of 11 us (median), each issued for 150 us; zeroed gradients",
    ),
}


@pytest.mark.parametrize("name", all_traces())
def test_what_is_said_of_a_trace(name: str) -> None:
    rules, why = EXPECTED[name]
    assert [one.rule for one in load_trace(name).suggestions()] == rules, why
