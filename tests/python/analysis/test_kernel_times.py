# SPDX-License-Identifier: Apache-2.0
"""Device work by name, type, operator and module: against NumPy, and against what peers print."""

import csv
import re
from collections import Counter, defaultdict
from itertools import accumulate
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import Table, build_run, span
from traces import all_traces, load_trace, trace_path

from regimeter import Run, _core

NAME, TYPE, OPERATOR, MODULE = range(4)
KINDS = _core.SPAN_KINDS
WORK = [KINDS.index(kind) for kind in ("kernel", "memcpy", "memset", "accelerator")]
FIGURES = ("count", "total_ns", "min_ns", "max_ns", "mean_ns", "std_dev_ns", "median_ns", "p95_ns")


def figures(values: list[int]) -> list[float]:
    """Return the figures of durations, by NumPy."""
    v = np.array(values, dtype=np.int64)
    return [len(v), v.sum(), v.min(), v.max(), v.mean(), v.std(), np.median(v), np.quantile(v, 0.95)]


def row(table: Any, i: int) -> list[float]:
    return [float(getattr(table, key)[i]) for key in FIGURES]


def durations(run: Run) -> dict[str, list[int]]:
    """Return the durations of device work by name."""
    found = defaultdict(list)
    spans = run.spans
    for kind, name, duration in zip(spans.kind, spans.name, spans.duration_ns, strict=True):
        if kind in WORK:
            found[run.strings[name]].append(int(duration))
    return found


@pytest.mark.parametrize("name", ["v100_ddp_large.json.gz", "mtia_inference.json.gz"])
def test_every_name_has_the_figures_that_numpy_finds(name: str) -> None:
    run = load_trace(name)
    expected, table = durations(run), run.analyse("kernel_times")
    assert {run.strings[i] for i in table.name} == set(expected)
    for i in range(len(table)):
        assert row(table, i) == pytest.approx(figures(expected[run.strings[table.name[i]]]), rel=1e-12)
    order = [(-int(t), run.strings[n]) for t, n in zip(table.total_ns, table.name, strict=True)]
    assert order == sorted(order)
    assert table.share.sum() == pytest.approx(1)
    assert not table.others.any()


def test_each_division_holds_all_work_once() -> None:
    run = load_trace("h100_owlv2_with_stack.json.gz")
    whole = durations(run)
    for group_by in (NAME, TYPE, OPERATOR, MODULE):
        table = run.analyse("kernel_times", group_by=group_by)
        assert table.count.sum() == sum(map(len, whole.values())), group_by
        assert table.total_ns.sum() == sum(map(sum, whole.values())), group_by


@pytest.mark.parametrize("top", [1, 3, 10, 10_000])
def test_others_has_the_figures_of_its_calls(top: int) -> None:
    run = load_trace("v100_ddp_large.json.gz")
    whole, all_rows = durations(run), run.analyse("kernel_times")
    table = run.analyse("kernel_times", thresholds={"kernels_top": top})
    kept = min(top, len(all_rows))
    for key in FIGURES:
        assert getattr(table, key)[:kept].tolist() == getattr(all_rows, key)[:kept].tolist()
    if top >= len(all_rows):
        assert not table.others.any()
        return
    rest = [d for name in all_rows.name[top:] for d in whole[run.strings[name]]]
    assert len(table) == top + 1
    assert table.others.tolist() == [0] * top + [1]
    assert table.groups[-1] == len(all_rows) - top
    assert row(table, top) == pytest.approx(figures(rest), rel=1e-12)


def before_last_step(run: Run) -> Run:
    """Return the device work without what the last step launched: HTA leaves that step out."""
    spans = run.spans
    kept = np.isin(spans.kind, WORK) & (spans.step != spans.step.max())
    columns = {key: np.array(getattr(spans, key))[kept] for key in ("start_ns", "duration_ns", "name", "kind", "lane")}
    lanes = {key: np.array(getattr(run.lanes, key)) for key in ("process", "device")}
    built: Run = Run._build(list(run.strings), {"spans": columns, "lanes": lanes}, "{}", "kineto", 0, 0, -1, True)
    return built


def test_hta_takes_the_figures_of_others_over_sums_per_name() -> None:
    """HTA sums each name first and then takes min, max, mean and standard deviation over these sums.

    The "shortest kernel" of its "others" is the name with the least time in total, and of a name that it groups
    again, minimum, maximum and mean are all the sum. Sums agree, and so do the figures of what it groups once.
    """
    run = before_last_step(load_trace("v100_ddp_large.json.gz"))
    with trace_path("hta_reference/v100_ddp_large/kernel_breakdown.csv").open() as file:
        hta = list(csv.DictReader(file))
    named = {r["name"] for r in hta} - {"others"}
    table = run.analyse("kernel_times")
    ours = {run.strings[name]: i for i, name in enumerate(table.name)}
    compute = _core.ACTIVITIES.index("compute")
    rest = [i for name, i in ours.items() if name not in named and table.activity[i] == compute]
    for line in hta:
        figures_ns = [float(line[f"{key} (us)"]) * 1000 for key in ("sum", "min", "max", "mean")]
        if line["name"] == "others":
            sums = table.total_ns[rest]
            assert figures_ns == pytest.approx([sums.sum(), sums.min(), sums.max(), sums.mean()])
            assert table.min_ns[rest].min() < sums.min()
        elif line["kernel_type"] == "COMPUTATION":
            i = ours[line["name"]]
            assert figures_ns == [table.total_ns[i]] * 4
            assert table.max_ns[i] < table.total_ns[i]
        else:
            i = ours[line["name"]]
            mine = [table.total_ns[i], table.min_ns[i], table.max_ns[i], table.mean_ns[i]]
            assert figures_ns == pytest.approx(mine)
            sample = (table.count[i] / (table.count[i] - 1)) ** 0.5  # its deviation has the divisor n - 1
            assert float(line["stddev"]) * 1000 == pytest.approx(table.std_dev_ns[i] * sample)


TYPES = {
    "volta_sgemm_128x64_nn": "gemm",
    "Cijk_Alik_Bljk_BBS_BH_Bias": "gemm",
    "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x64_tn_align4>": "gemm",
    "nvjet_hsh_128x256_64x4": "gemm",
    "void split_embedding_backward_codegen_adagrad_kernel(at::PhiloxCudaState, fbgemm_gpu::FixedDivisor)": "indexing",
    "void fbgemm_gpu::permute_2D_data_kernel<false, int, int>(int, int)": "indexing",
    "void fbgemm_gpu::(anonymous namespace)::_get_FP8_qparam_cuda_kernel<float>(int)": "quantization",
    "void at::native::vectorized_elementwise_kernel<4, fbgemm_gpu::_float_to_hfp8>(int)": "elementwise",
    "void splitKreduce_kernel<32, 16, int, float>(cublasSplitKParams<float>)": "gemm",
    "sm80_xmma_fprop_implicit_gemm_indexed_tf32f32": "convolution",
    "void cutlass_cudnn_infer::Kernel<cutlass_tensorop_s1688dgrad_optimized_tf32>": "convolution",
    "void implicit_convolve_sgemm<float, float, 1024>": "convolution",
    "volta_scudnn_128x64_relu_interior_nn_v1": "convolution",
    "igemm_bwd_gtcx3_nhwc_bf16": "convolution",
    "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<cutlass::bfloat16_t> >": "attention",
    "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention)": "attention",
    "kernel_unified_attention_2d": "attention",
    "triton_red_fused__unsafe_view_add_mean_mul_pow_rsqrt_1": "triton",
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>": "normalization",
    "void (anonymous namespace)::softmax_warp_forward<float, float, float, 7, true, false>": "normalization",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >": "reduction",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >": "elementwise",
    "void at::native::_scatter_gather_elementwise_kernel<128, 4>": "indexing",
    "void at::native::(anonymous namespace)::indexSelectLargeIndex<float, int>": "indexing",
    "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>": "sort",
    "void cub::DeviceRadixSortOnesweepKernel<int>": "sort",
    "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float> >": "optimizer",
    "void vllm::rotary_embedding_kernel<c10::BFloat16, true>": "elementwise",
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)": "communication",
    "Memcpy HtoD (Pinned -> Device)": "memcpy_htod",
    "Memcpy DtoH (Device -> Pageable)": "memcpy_dtoh",
    "Memcpy DtoD (Device -> Device)": "memcpy_dtod",
    "Memset (Device)": "memset",
    "at::cuda::(anonymous namespace)::spin_kernel(long)": "wait",
    "my_kernel": "other",
    # Products of a mixture of experts, as TensorRT-LLM's generated kernels and Triton's are called.
    "bmm_E4m3_E4m3E4m3_Fp32_t128x8x128u2_s8_et64x8_m64x8x32_c1x1x1_rM_TN_transOut_noShfl_dsFp8_schPd4x2x2x3_bN": "gemm",
    "bmm_Bfloat16_MxE2m1MxE4m3_Fp32_bA32_bB32_t128x16x256u2_s4_et128x16_m128x16x32_c1x1x1_rM_TN_transOut_bN": "gemm",
    "fused_moe_kernel": "gemm",
    # What such a layer does beside them: choosing experts, sorting tokens by them, adding up what comes back.
    "void moe::dev::routing::routingCustom::routingIndicesClusterKernel<moe::dev::routing::KernelParams>": "routing",
    "void moe::dev::finalize::finalizeKernelVecLoad<moe::dev::finalize::KernelParams<__nv_bfloat16> >": "routing",
    "void tensorrt_llm::kernels::cutlass_kernels::finalizeMoeRoutingKernel<__nv_bfloat16, float>": "routing",
    "void vllm::moe::moe_align_block_size_kernel<int>": "routing",
    "void vllm::moe::topkGatingSoftmax<4, 128, 4, 16, 32, int, float>": "routing",
    "_combined_routing_compute": "routing",
    "_sum_bitmatrix_rows": "routing",
    "reduce_segments": "routing",
    "void moe::dev::activation::activationDeepSeekKernel<moe::dev::activation::KernelParams>": "elementwise",
    # Between formats of numbers.
    "void tensorrt_llm::kernels::quantize_with_block_size<(tensorrt_llm::BlockScaleQuantizationType)2>": "quantization",
    "void per_token_group_quant_8bit_kernel<c10::BFloat16, c10::Float8_e4m3fn>": "quantization",
    "void cvt_fp16_to_fp4<__nv_bfloat16, false>": "quantization",
    "void kDequantizeBlockwise<__nv_bfloat16, 512, 64, 8, 2>": "quantization",
    "void fbgemm_gpu::(anonymous namespace)::_FP8rowwise_to_float_cuda_kernel<float>": "quantization",
    # One whose norm is fused counts as what it is for.
    "void vllm::rms_norm_static_fp8_quant_kernel<c10::BFloat16>": "normalization",
    # Between orders of elements.
    "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>(cudnn::ops::nchw2nhwc_params_t)": "layout",
    "batched_transpose_16x64_pack_1x4_ediv_1x2_half": "layout",
    # Convolutions by transform, and transforms of their own.
    "void fft2d_r2c_32x32<float, false, 5u, true>(float2*, float const*)": "convolution",
    "void regular_fft<256u, EPT<4u>, 16u, 4u>": "fft",
    # Caches of keys are written by them; the part of the name that attention has too does not decide.
    "void vllm::concat_and_cache_mla_kernel<__nv_bfloat16>": "indexing",
    "void flashinfer::trtllm_mnnvl_allreduce::rmsNormLamport<__nv_bfloat16>": "communication",
    "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<1>": "communication",
    "void some::multicast_all_reduce_kernel<float>": "communication",
    "void LayerNormWithBlockAllReduce<float>": "normalization",
}


def work_run(work: list[tuple[str, int]], device: list[int] | None = None, **tables: Table) -> Run:
    """Return a run of device work, (name, duration) one after another."""

    def kind(name: str) -> str:
        return "memcpy" if name.startswith("Memcpy") else "memset" if name.startswith("Memset") else "kernel"

    lanes = sorted(set(device or [0]))
    starts = accumulate((duration for _, duration in work[:-1]), initial=0)
    spans = [
        span(kind(name), name, lanes.index(of), start, duration)
        for (name, duration), start, of in zip(work, starts, device or [0] * len(work), strict=True)
    ]
    return build_run(spans, {"process": lanes, "device": lanes}, **tables)


def test_types_are_told_by_names() -> None:
    run = work_run([(name, 10) for name in TYPES])
    table = run.analyse("kernel_times")
    found = {run.strings[n]: _core.KERNEL_TYPES[t] for n, t in zip(table.name, table.type, strict=True)}
    assert found == TYPES
    by_type = run.analyse("kernel_times", group_by=TYPE)
    assert {_core.KERNEL_TYPES[t]: c for t, c in zip(by_type.type, by_type.count, strict=True)} == Counter(
        TYPES.values()
    )


# Of one the writer was fed by hand: its only kernel is called Kernel.
@pytest.mark.parametrize("name", [name for name in all_traces() if name != "h100_2026_04_writer_mock.json"])
def test_most_kernel_time_of_every_trace_has_a_type(name: str) -> None:
    table = load_trace(name).analyse("kernel_times", group_by=TYPE)
    kernels = ~np.isin(table.type, [i for i, one in enumerate(_core.KERNEL_TYPES) if one.startswith("mem")])
    other = table.total_ns[table.type == _core.KERNEL_TYPES.index("other")].sum()
    assert other <= 0.1 * table.total_ns[kernels].sum()


def test_a_users_rule_makes_a_kernel_communication() -> None:
    run = work_run([("my_exchange", 5), ("gemm", 5)])
    table = run.analyse("kernel_times", group_by=TYPE, rules=[("my_exchange", "communication")])
    assert {_core.KERNEL_TYPES[t] for t in table.type} == {"communication", "gemm"}


def test_devices_are_counted() -> None:
    table = work_run([("a", 5), ("a", 5), ("b", 1)], [0, 1, 1]).analyse("kernel_times")
    assert table.devices.tolist() == [2, 1]


def test_the_module_is_the_innermost_frame_around_the_launch() -> None:
    """A naive walk up the parents finds the same module for each piece of work."""
    run = load_trace("h100_bert_small.json.gz")
    spans = run.spans
    launch = {
        int(c): i
        for i, (k, c) in enumerate(zip(spans.kind, spans.correlation, strict=True))
        if KINDS[k] in ("runtime", "driver") and c > 0
    }
    expected: Counter[str] = Counter()
    for i, kind in enumerate(spans.kind):
        if kind not in WORK:
            continue
        at = launch.get(int(spans.correlation[i]), -1)
        while at >= 0 and not re.match(r"nn\.Module: .", run.strings[spans.name[at]]):
            at = int(spans.parent[at])
        expected[run.strings[spans.name[at]] if at >= 0 else ""] += 1
    table = run.analyse("kernel_times", group_by=MODULE)
    assert {run.strings[n]: int(c) for n, c in zip(table.name, table.count, strict=True)} == expected
    assert len(expected) > 5


@pytest.mark.parametrize("name", ["h100_bert_small", "mi300_bert_small", "h100_owlv2_with_stack"])
def test_tracelens_kernel_summary(name: str) -> None:
    """TraceLens lists kernels by operator, name and stream; its figures pass through doubles of microseconds."""
    column = "Kernel duration (\N{MICRO SIGN}s)_"
    with trace_path(f"tracelens_reference/{name}/kernel_summary.csv").open(encoding="utf-8") as file:
        rows = [{k.replace("\N{GREEK SMALL LETTER MU}", "\N{MICRO SIGN}"): v for k, v in r.items()}
                for r in csv.DictReader(file)]  # fmt: skip
    run = load_trace(f"{name}.json.gz")
    for group_by, key in ((NAME, "Kernel name"), (OPERATOR, "Parent cpu_op")):
        table = run.analyse("kernel_times", group_by=group_by)
        ours = {run.strings[n]: i for i, n in enumerate(table.name)}
        theirs: dict[str, list[dict[str, str]]] = defaultdict(list)
        for r in rows:
            theirs[r[key]].append(r)
        assert theirs
        for label, group in theirs.items():
            i = ours[label]
            if table.bytes[i] >= 0:  # its list holds kernels only; ours also the sets and copies of an operator
                continue
            assert table.count[i] == sum(float(r[column + "count"]) for r in group)
            assert table.total_ns[i] == pytest.approx(1000 * sum(float(r[column + "sum"]) for r in group), abs=1)
            assert table.min_ns[i] == pytest.approx(1000 * min(float(r[column + "min"]) for r in group), abs=1)
            assert table.max_ns[i] == pytest.approx(1000 * max(float(r[column + "max"]) for r in group), abs=1)


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 50)), min_size=1, max_size=40), st.integers(0, 7))
def test_any_work_and_any_top(work: list[tuple[str, int]], top: int) -> None:
    run = work_run(work)
    whole = defaultdict(list)
    for name, duration in work:
        whole[name].append(duration)
    order = sorted(whole, key=lambda n: (-sum(whole[n]), n))
    cut = len(order) if top == 0 else min(top, len(order))
    table = run.analyse("kernel_times", thresholds={"kernels_top": top})
    assert [run.strings[n] for n in table.name[:cut]] == order[:cut]
    expected = [whole[n] for n in order[:cut]]
    if order[cut:]:
        expected.append([d for n, d in work if n in order[cut:]])
    for i, values in enumerate(expected):
        assert row(table, i) == pytest.approx(figures(values))
    assert len(table) == len(expected)


def test_occupancy_and_few_blocks_are_weighted_by_duration() -> None:
    work = [("a", 10), ("a", 30), ("a", 60)]
    launches = {"span": [0, 1], "estimated_occupancy": [1.0, 0.5], "blocks_per_sm": [0.5, 4.0]}
    table = work_run(work, launches=launches).analyse("kernel_times")
    assert table.occupancy[0] == pytest.approx((10 * 1.0 + 30 * 0.5) / 40)
    assert table.few_blocks_share[0] == pytest.approx(10 / 40)
    bare = work_run(work).analyse("kernel_times")
    assert np.isnan(bare.occupancy[0])
    assert np.isnan(bare.few_blocks_share[0])
    assert bare.bytes[0] == -1


def test_bad_division_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot group by 9"):
        work_run([("a", 1)]).analyse("kernel_times", group_by=9)
