# SPDX-License-Identifier: Apache-2.0
"""For each rule on traces a program that has the fault, and one like it that has not; and what was found in a run."""

from collections.abc import Callable
from typing import Any

from programs import TUNED, Program

from regimeter import ProfilerOptimizer, Run
from regimeter.suggest import OptimizationSuggestion

GEMM = "ampere_sgemm_128x64_nn"
POINTWISE = "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor>"
FOREACH = "void at::native::multi_tensor_apply_kernel<AdamFunctor>"
REDUCE = "void at::native::reduce_kernel<512>"


def found(run: Run, **more: Any) -> dict[str, OptimizationSuggestion]:
    """Return what was found by rule, those that others count included."""
    optimizer = ProfilerOptimizer(run, **more)
    return {one.rule: one for one in reversed(optimizer.get_suggestions() + optimizer.get_merged_suggestions())}


def host_work(kernel: float, work: float, *, cost: float = 5, count: int = 20, unlike: bool = False) -> Run:
    """Kernels with an operator of the host between them."""
    p = Program()
    for i in range(count):
        p.op("aten::work", work)
        p.launch(f"k{i}" if unlike else "abc"[i % 3], kernel, cost=cost)
    return p.run()


def outliers(cost: float) -> Run:
    p = Program()
    for i in range(12):
        p.launch(f"k{i}", 200, cost=cost)
    return p.run()


def with_call(name: str, duration: float) -> Run:
    p = Program().kernels(3)
    p.sync()
    p.call(name, duration)
    return p.kernels(3).run()


def with_op(name: str, duration: float, category: str = "cpu_op") -> Run:
    p = Program().kernels(3)
    p.sync()
    p.op(name, duration, category)
    return p.kernels(3).run()


def with_gap(gap: float) -> Run:
    p = Program().kernels(3)
    p.sync()
    p.host += gap
    return p.kernels(3).run()


def shaped(name: str = TUNED, **args: object) -> Run:
    p = Program()
    for _ in range(10):
        p.launch(name, 1000, **args)
    return p.run()


def copied(
    name: str, size: int = 50_000_000, *, call: str = "cudaMemcpyAsync", wait: bool = False, count: int = 2
) -> Run:
    p = Program().kernels(2)
    for _ in range(count):
        p.copy(name, 1000, size, call=call, wait=wait)
    return p.kernels(2).run()


def memset(call: str) -> Run:
    p = Program().kernels(2)
    p.launch("Memset (Device)", 1000, call=call, category="gpu_memset", wait="Async" not in call, bytes=1 << 20)
    return p.kernels(2).run()


def small_copies(count: int) -> Run:
    p = Program()
    for _ in range(count):
        p.copy("Memcpy HtoD (Pinned -> Device)", 5, 1000)
    return p.kernels(1).run()


def hidden_copy() -> Run:
    p = Program().kernels(2)
    p.copy("Memcpy HtoD (Pinned -> Device)", 1000, 50_000_000, stream=20)
    return p.kernels(2).run()


def under(*ops: str, kernel: str = POINTWISE) -> Run:
    """A kernel below nested operators."""
    p = Program().kernels(2)
    contexts = [p.op(name) for name in ops]
    p.launch(kernel, 1000)
    for context in reversed(contexts):
        context.__exit__()
    return p.kernels(2).run()


def moved(maker: str) -> Run:
    p = Program().kernels(2)
    p.sync()
    p.op(maker, 100)
    with p.op("aten::to"):
        p.copy("Memcpy HtoD (Pageable -> Device)", 500, 1_000_000, wait=True)
    return p.kernels(2).run()


def reads(op: str | None, *, wait: bool = True) -> Run:
    """Kernels, after each of which the host looks at a result and then prepares the next."""
    p = Program()
    for _ in range(10):
        p.launch(TUNED, 300)
        context = p.op(op) if op else None
        if op:
            p.copy("Memcpy DtoH (Device -> Pinned)", 2, 4)
        if wait:
            p.sync()
        if context:
            context.__exit__()
        p.op("aten::prepare", 100)
    return p.run()


def needless(busy: bool) -> Run:
    p = Program().kernels(2)
    p.sync()
    if busy:
        p.kernels(2)
    p.event("cuda_runtime", "cudaStreamSynchronize", p.host, 2000)
    p.host += 2000
    return p.kernels(2).run()


def streams(delay: float) -> Run:
    """Work of one stream that waits for another's, and starts long after that has ended."""
    p = Program()
    end = p.launch(TUNED, 1000, stream=20)
    p.call("cudaStreamWaitEvent", 2)
    p.device = end
    p.launch(TUNED + "_1", 1000, delay=delay)
    return p.run()


def allocated(reserved: int, allocated_bytes: int, steps: int = 0, growth: int = 0) -> Run:
    p = Program()
    for step in range(max(steps, 1)):
        with p.op(f"ProfilerStep#{step}", category="user_annotation"):
            with p.op("aten::empty", 5):
                p.events.append(
                    {
                        "ph": "i",
                        "name": "[memory]",
                        "cat": "cpu_instant_event",
                        "pid": 100,
                        "tid": 1,
                        "ts": p.host - 1,
                        "args": {
                            "Bytes": 64,
                            "Device Type": 1,
                            "Device Id": 0,
                            "Addr": 9,
                            "Total Allocated": allocated_bytes + step * growth,
                            "Total Reserved": reserved,
                        },
                    }
                )
            p.kernels(1)
    return p.run()


def zeroed(around: str) -> Run:
    p = Program().kernels(2)
    with p.op(around, category="user_annotation"), p.op("aten::zero_"):
        p.launch(POINTWISE, 500)
    return p.kernels(2).run()


def loading(name: str, duration: float) -> Run:
    return with_op(name, duration, "user_annotation")


def steps(lengths: list[float]) -> Run:
    p = Program()
    for i, length in enumerate(lengths):
        p.op(f"ProfilerStep#{i}", length, "user_annotation")
    p.kernels(1)
    return p.run()


def collectives(count: int, elements: int, *, hidden: bool = False, duration: float = 100) -> Run:
    p = Program().kernels(1)
    args = {"Collective name": "allreduce", "dtype": "Float", "In msg nelems": elements, "Out msg nelems": elements}
    for _ in range(count):
        stream = 20 if hidden else 7
        p.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", duration, stream=stream, **args, **{"Group size": 2})
    return p.kernels(2).run()


def data_parallel(name: str) -> Run:
    p = Program()
    with p.op(name, category="user_annotation"):
        p.kernels(2)
        p.launch("other", 100, device=1, stream=8)
    return p.run()


def product(kernel: str, element: str, op: str = "aten::mm", shapes: object = ((128, 64), (64, 128))) -> Run:
    p = Program().kernels(2)
    with p.op(op, **{"Input Dims": shapes, "Input type": [element, element]}):
        p.launch(kernel, 1000)
    return p.kernels(2).run()


def optimizer(kernels: int, *names: str) -> Run:
    """Launch so many kernels in a step of an optimizer, of the names in turn."""
    p = Program().kernels(1)
    with p.op("Optimizer.step#Adam.step", category="user_annotation"):
        for number in range(kernels):
            p.launch((names or (POINTWISE,))[number % max(1, len(names))], 20)
    return p.run()


def selects(count: int) -> Run:
    p = Program().kernels(1)
    p.sync()
    with p.op("model"):
        for _ in range(count):
            p.op("aten::select", 50)
    return p.kernels(1).run()


def convolution(bias: list[int]) -> Run:
    p = Program().kernels(1)
    with p.op("aten::conv2d", **{"Input Dims": [[1, 3, 8, 8], [8, 3, 3, 3], bias], "Input type": ["float"] * 3}):
        p.launch("cudnn_conv", 100)
        with p.op("aten::add_"):
            p.launch(POINTWISE, 500)
    with p.op("aten::batch_norm"):
        p.launch("bn_fw", 100)
    return p.run()


def attention(*ops: str) -> Run:
    p = Program().kernels(1)
    for name in ops:
        with p.op(name):
            p.launch(TUNED if "mm" in name else "softmax_warp_forward", 300)
    return p.run()


def chain(*kernels: str) -> Run:
    p = Program()
    for _ in range(5):
        for name in kernels:
            p.launch(name, 100)
    return p.run()


Case = tuple[Callable[[], Run], Callable[[], Run]]
NORMAL, LOADER = [100.0] * 120, "enumerate(DataLoader)#{}DataLoaderIter.__next__"
CASES: dict[str, Case] = {
    "launch_bound": (lambda: host_work(5, 10, cost=50), lambda: host_work(500, 10)),
    "repeated_sequence": (lambda: host_work(20, 30), lambda: host_work(20, 30, unlike=True)),
    "launch_outliers": (lambda: outliers(250), lambda: outliers(10)),
    "setup_calls": (lambda: with_call("cudaStreamCreateWithFlags", 5000), lambda: with_call("cudaMalloc", 5000)),
    "few_blocks": (lambda: shaped(**{"blocks per SM": 0.2}), lambda: shaped(**{"blocks per SM": 4})),
    "odd_block": (lambda: shaped(block=[33, 1, 1]), lambda: shaped(block=[64, 1, 1])),
    "low_occupancy": (
        lambda: shaped(POINTWISE, **{"blocks per SM": 4, "est. achieved occupancy %": 10}),
        lambda: shaped(POINTWISE, **{"blocks per SM": 4, "est. achieved occupancy %": 60}),
    ),
    "host_bound": (lambda: host_work(100, 500), lambda: host_work(500, 10)),
    "python_overhead": (
        lambda: with_op("train.py(3): loss", 9000, "python_function"),
        lambda: with_op("aten::loss", 9000),
    ),
    "gc_pause": (
        lambda: with_op("<built-in function collect>", 2000, "python_function"),
        lambda: with_op("train.py(3): collected", 2000, "python_function"),
    ),
    "compile_in_window": (
        lambda: with_op("TorchDynamo Cache Miss", 3000),
        lambda: with_op("Torch-Compiled Region", 3000),
    ),
    "unrecorded_host": (lambda: with_gap(10_000), lambda: with_gap(100)),
    "device_idle": (lambda: host_work(100, 500), lambda: host_work(500, 10)),
    "long_gaps": (lambda: with_op("evaluate", 600_000), lambda: with_op("evaluate", 400_000)),
    "pageable_copies": (
        lambda: copied("Memcpy HtoD (Pageable -> Device)"),
        lambda: copied("Memcpy HtoD (Pinned -> Device)"),
    ),
    "sync_copies": (
        lambda: copied("Memcpy HtoD (Pinned -> Device)", call="cudaMemcpy", wait=True),
        lambda: copied("Memcpy HtoD (Pinned -> Device)"),
    ),
    "sync_memset": (lambda: memset("cudaMemset"), lambda: memset("cudaMemsetAsync")),
    "small_copies": (lambda: small_copies(150), lambda: small_copies(60)),
    "exposed_copies": (lambda: copied("Memcpy HtoD (Pinned -> Device)"), hidden_copy),
    "layout_conversions": (
        lambda: under("aten::conv2d", kernel="void nchwToNhwcKernel<float>"),
        lambda: under("aten::conv2d", kernel="void implicit_gemm"),
    ),
    "contiguous_copies": (lambda: under("aten::contiguous", "aten::copy_"), lambda: under("aten::relu", "aten::copy_")),
    "casts": (lambda: under("aten::to", "aten::_to_copy"), lambda: under("aten::clone", "aten::_to_copy")),
    "device_copies": (
        lambda: copied("Memcpy DtoD (Device -> Device)"),
        lambda: copied("Memcpy DtoH (Device -> Pinned)"),
    ),
    "created_on_host": (lambda: moved("aten::zeros"), lambda: moved("aten::stack")),
    "item_sync": (lambda: reads("aten::item"), lambda: reads("aten::item", wait=False)),
    "shape_sync": (lambda: reads("aten::nonzero"), lambda: reads("aten::add")),
    "to_host_sync": (lambda: reads("aten::to"), lambda: reads("aten::add")),
    "explicit_sync": (lambda: reads(None), lambda: reads("aten::item")),
    "needless_sync": (lambda: needless(False), lambda: needless(True)),
    "allocator_calls": (lambda: with_call("cudaMalloc", 2000), lambda: with_call("cudaEventCreate", 2000)),
    "stream_waits": (lambda: streams(1000), lambda: streams(0)),
    "memory_near_limit": (lambda: allocated(38_000_000_000, 1), lambda: allocated(20_000_000_000, 1)),
    "memory_fragmentation": (
        lambda: allocated(20_000_000_000, 5_000_000_000),
        lambda: allocated(20_000_000_000, 15_000_000_000),
    ),
    "memory_growth": (
        lambda: allocated(20_000_000_000, 1_000_000_000, 12, 50_000_000),
        lambda: allocated(20_000_000_000, 1_000_000_000, 12),
    ),
    "zero_grad": (lambda: zeroed("Optimizer.zero_grad#SGD.zero_grad"), lambda: zeroed("Optimizer.step#SGD.step")),
    "data_loader": (
        lambda: loading(LOADER.format("_MultiProcessing"), 3000),
        lambda: loading(LOADER.format("_MultiProcessing"), 50),
    ),
    "loader_without_workers": (
        lambda: loading(LOADER.format("_SingleProcess"), 3000),
        lambda: loading(LOADER.format("_MultiProcessing"), 3000),
    ),
    "step_outliers": (lambda: steps(([1000.0] + [100.0] * 14) * 11), lambda: steps(NORMAL)),
    "slow_first_step": (lambda: steps([5000.0, *NORMAL[:5]]), lambda: steps(NORMAL[:6])),
    "exposed_communication": (lambda: collectives(10, 1 << 24), lambda: collectives(1, 1 << 24, hidden=True)),
    "small_collectives": (lambda: collectives(25, 1000), lambda: collectives(10, 1000)),
    "data_parallel": (
        lambda: data_parallel("DataParallel.forward"),
        lambda: data_parallel("DistributedDataParallel.forward"),
    ),
    "gloo_collectives": (lambda: loading("gloo:all_reduce", 2000), lambda: loading("nccl:all_reduce", 2000)),
    "fp32_matmul": (lambda: product(GEMM, "float"), lambda: product("sm80_xmma_gemm_f32f32_tf32f32_f32", "float")),
    "tensor_cores_unused": (lambda: product("gemv2T_kernel_val", "c10::Half"), lambda: product(TUNED, "c10::Half")),
    "half_dims": (
        lambda: product(TUNED, "c10::BFloat16", shapes=[[127, 64], [64, 128]]),
        lambda: product(TUNED, "c10::BFloat16"),
    ),
    "single_tensor_optimizer": (
        lambda: optimizer(60, POINTWISE, FOREACH),
        lambda: optimizer(60, POINTWISE, FOREACH, FOREACH),
    ),
    "loop_indexing": (lambda: selects(12), lambda: selects(6)),
    "conv_bias_norm": (lambda: convolution([8]), lambda: convolution([])),
    "attention_math": (
        lambda: attention("aten::bmm", "aten::softmax", "aten::bmm"),
        lambda: attention("aten::bmm", "aten::relu", "aten::bmm"),
    ),
    "pointwise_chain": (lambda: chain(*[POINTWISE] * 4, TUNED), lambda: chain(POINTWISE, TUNED, POINTWISE, REDUCE)),
    "double_precision": (
        lambda: under("aten::mm", kernel="volta_dgemm_64x64_nn"),
        lambda: under("aten::mm", kernel=GEMM),
    ),
    "top_kernel": (lambda: chain(TUNED), lambda: chain(TUNED, REDUCE, POINTWISE)),
}
