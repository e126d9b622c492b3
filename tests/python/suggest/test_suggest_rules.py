# SPDX-License-Identifier: Apache-2.0
"""Each rule of the suggestions: one program that has the fault and one that has not; and what all rules keep to."""

import math
import shlex

import pytest
from programs import Program, tuned
from suggest_cases import CASES, GEMM, POINTWISE, found, product
from suggest_series import SERIES_CASES

from regimeter import ProfilerOptimizer, Run, _core
from regimeter.analysis.catalog import find_verbs
from regimeter.cli import make_parser
from regimeter.suggest import Priority
from regimeter.suggest.messages import MESSAGES

ALL_CASES = CASES | SERIES_CASES
# Rules that need other thresholds, ceilings or files: they are tested below, in test_suggest_ranks.py and in
# test_suggest_documented.py.
ELSEWHERE = {"queue_full", "far_from_roof", "straggler", "rank_imbalance", "cacheable_scope"}


def test_every_rule_has_a_case() -> None:
    assert set(ALL_CASES) | ELSEWHERE == set(_core.SUGGESTION_RULES)


@pytest.mark.parametrize("rule", ALL_CASES)
def test_a_rule_speaks_where_its_fault_is(rule: str) -> None:
    one = found(ALL_CASES[rule][0]())[rule]
    assert one.evidence, "no figure"
    if rule != "data_parallel":  # which either is there or not
        assert any(row.threshold is not None for row in one.evidence), "no figure with a threshold"
    assert one.description
    assert "an unknown value" not in one.description
    assert all((one.implementation_hint, one.refuted_by, one.verify, one.bound))
    if one.bounded:
        assert 0 <= one.saved_low_ms <= one.saved_high_ms
        assert one.merged_into or one.saved_high_ms > 0
        assert one.speedup_low <= one.speedup_high
    else:
        assert one.expected_improvement == "not bounded"
        assert one.priority is Priority.LOW
        assert math.isnan(one.potential_speedup)


@pytest.mark.parametrize("rule", ALL_CASES)
def test_a_rule_is_silent_where_its_fault_is_not(rule: str) -> None:
    assert rule not in found(ALL_CASES[rule][1]())


def test_a_full_queue_is_told_by_the_threshold() -> None:
    run = Program().kernels(30).run()
    assert "queue_full" not in found(run)
    assert found(run, policy={"queue_full": 3})["queue_full"].bounded is False


def test_a_ceiling_bounds_what_a_product_can_save() -> None:
    run = product("some_gemm_kernel", "float", shapes=[[1024, 1024], [1024, 1024]])  # 2.1 GFLOP in 1 ms
    assert "far_from_roof" not in found(run)
    assert "far_from_roof" not in found(run, ceilings={"compute_fp32": 2.2e12, "memory_triad": 1e12})
    one = found(run, ceilings={"compute_fp32": 2.0**33 * 1e3, "memory_triad": 1e12})["far_from_roof"]
    # 2**31 operations at 2**33 a millisecond take a quarter of it.
    assert one.saved_high_ms == pytest.approx(0.75, rel=1e-6)


def test_ceilings_of_two_pipes_bound_a_change_of_precision() -> None:
    run = CASES["fp32_matmul"][0]()
    assert found(run)["fp32_matmul"].saved_high_ms == pytest.approx(1.0)
    one = found(run, ceilings={"compute_fp32": 1e13, "compute_tf32": 4e13})["fp32_matmul"]
    assert one.saved_high_ms == pytest.approx(0.75)


@pytest.mark.parametrize(
    "kernel",
    [
        "nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_NNN",
        "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<wgmma>>",
        "cutlass3x_sm100_tensorop_s128x256x16gemm_f16_tcgen05",
        "sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize64x128x64_warpgroupsize1x1x1_execute_segment_k_off",
        "cutlass_90_tensorop_h64x128x16gemm",
        "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64>>",
        "triton_tem_fused_mm_3",
        "matmul_kernel",
        "Cijk_Alik_Bljk_HHS_BH_MT128x128x32_MI32x32x8x1",
        "ampere_fp16_s16816gemm_fp16_128x64_ldg8_stages_64x4_nn",
    ],
)
def test_tensor_core_kernels_of_new_architectures_raise_no_alarm(kernel: str) -> None:
    for element in ("c10::Half", "float"):
        assert not {"tensor_cores_unused", "fp32_matmul"} & set(found(product(kernel, element)))


def test_an_older_device_is_not_told_to_use_tf32() -> None:
    head = {"deviceProperties": [{"computeMajor": 7}]}
    p = Program(**head).kernels(2)
    with p.op("aten::mm", **{"Input Dims": [[8, 8], [8, 8]], "Input type": ["float", "float"]}):
        p.launch("volta_sgemm_128x64_nn", 1000)
    assert "fp32_matmul" not in found(p.run())


def test_a_pinned_copy_of_the_run_bounds_pageable_ones_from_below() -> None:
    p = Program().kernels(2)
    p.copy("Memcpy HtoD (Pinned -> Device)", 1000, 20_000_000)
    p.copy("Memcpy HtoD (Pageable -> Device)", 1000, 5_000_000)
    one = found(p.kernels(2).run())["pageable_copies"]
    assert one.saved_low_ms / one.saved_high_ms == pytest.approx(0.75)  # 5 against 20 GB/s


def test_a_gradient_that_was_cleared_is_added_to() -> None:
    def run(clear: str) -> Run:
        p = Program().kernels(2)
        with p.op("Optimizer.zero_grad#SGD.zero_grad", category="user_annotation"), p.op(clear):
            p.launch(POINTWISE, 500)
        with p.op("torch::autograd::AccumulateGrad"), p.op("aten::add_"):
            p.launch(POINTWISE, 700)
        return p.kernels(2).run()

    one = found(run("aten::zero_"))["zero_grad"]
    assert one.saved_high_ms == pytest.approx(1.2)
    assert "zero_grad" not in found(run("aten::relu"))  # adding alone is how gradients are accumulated


def test_a_chain_of_kernels_keeps_its_shortest() -> None:
    p = Program().kernels(2)
    for duration in (100, 300, 50, 200):
        p.launch(POINTWISE, duration)
    assert found(p.kernels(2).run())["pointwise_chain"].saved_high_ms == pytest.approx(0.6)


def test_attention_in_parts_has_a_backward_pass() -> None:
    def node(p: Program, name: str, *kernels: tuple[str, str]) -> None:
        with p.op(name):
            for op, kernel in kernels:
                with p.op(op):
                    p.launch(kernel, 100)

    def run(middle: str) -> Run:
        p = Program().kernels(2)
        node(p, "BmmBackward0", ("aten::bmm", GEMM), ("aten::bmm", GEMM))
        node(p, "SoftmaxBackward0", (middle, "softmax_warp_backward"))
        node(p, "BmmBackward0", ("aten::bmm", GEMM), ("aten::bmm", GEMM))
        return p.kernels(2).run()

    one = found(run("aten::_softmax_backward_data"))["attention_math"]
    assert one.saved_high_ms == pytest.approx(0.5)
    assert "attention_math" not in found(run("aten::relu"))


def test_a_tuned_program_hears_nothing_urgent() -> None:
    told = ProfilerOptimizer(tuned()).get_suggestions()
    assert [one.rule for one in told if one.priority in (Priority.CRITICAL, Priority.HIGH)] == []
    assert ProfilerOptimizer(tuned()).get_critical_suggestions() == []


@pytest.mark.parametrize("rule", _core.SUGGESTION_RULES)
def test_every_command_that_verifies_exists(rule: str) -> None:
    for look in filter(None, (MESSAGES[rule].look, MESSAGES[rule].look_host)):
        words = shlex.split(look.format(trace="TRACE"))
        assert words[0] == "regimeter"
        make_parser().parse_args(words[1:])
        assert words[1] in {*find_verbs(), "show", "flame", "telemetry"}


def test_every_rule_has_its_texts_and_knows_its_thresholds() -> None:
    assert set(MESSAGES) == set(_core.SUGGESTION_RULES)
    known = {*_core.policy(), *_core.QUANTITIES, "subject", "trace"}
    for message in MESSAGES.values():
        for text in (message.title, message.when, message.advice, message.look):
            assert {part.split("}")[0] for part in text.split("{")[1:]} <= known
