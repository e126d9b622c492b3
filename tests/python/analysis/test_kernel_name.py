# SPDX-License-Identifier: Apache-2.0
"""Short forms of kernels' names: of every trace each is another, and known ones say what the kernel does."""

import pytest
from traces import all_traces, load_trace

from regimeter.system.kernel_name import short_name, short_names

NAMES = {
    "volta_sgemm_128x32_nt": "volta_sgemm_128x32_nt",
    "Memcpy DtoD (Device -> Device)": "Memcpy DtoD (Device -> Device)",
    "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)": "ncclKernel_AllReduce_RING_LL_Sum_float",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3>"
    " >(int, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3>)": "add<float> - vectorized_elementwise",
    "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::BUnaryFunctor<float, float, "
    "float, at::native::binary_internal::MulFunctor<float> > >(at::TensorIteratorBase&, at::native::BUnaryFunctor<float"
    ", float, float, at::native::binary_internal::MulFunctor<float> > const&)::{lambda(int)#1}>(int, at::native::"
    "gpu_kernel_impl<int>(int)::{lambda(int)#1})": "Mul<float> - elementwise",
    "void at::native::vectorized_elementwise_kernel<4, at::native::tanh_backward_kernel_cuda(at::TensorIteratorBase&)"
    "::{lambda()#2}::operator()() const::{lambda()#4}::operator()() const::{lambda(float, float)#1}, at::detail::Array"
    "<char*, 3> >(int, at::detail::Array<char*, 3>)": "tanh_backward<float> - vectorized_elementwise",
    "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true, false>(float*, float const*)": (
        "softmax_warp_forward<float>"
    ),
    "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x128_32x6_nt_align4>(cutlass_80_tensorop_s1688gemm_64x128_32x"
    "6_nt_align4::Params)": "cutlass_80_tensorop_s1688gemm_64x128_32x6_nt_align4",
    "_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOnePassEEEEEvDpT1_": "Rmsnorm2dFwd - kentry",
    "": "",
    "<": "<",
    "a > b": "a > b",
    "f(": "f(",
}


@pytest.mark.parametrize("name", NAMES)
def test_what_a_kernel_does_is_said_first(name: str) -> None:
    assert short_name(name) == NAMES[name]


@pytest.mark.parametrize("file", all_traces())
def test_no_two_kernels_of_a_trace_have_the_same_short_name(file: str) -> None:
    run = load_trace(file)
    names = [run.string(name) for name in run.analyse("kernel_times").name.tolist()]
    made = short_names(names)
    assert all(len(short) < len(name) or "(" in short or "[" in short for name, short in made.items())
    shown = [made.get(name, name) for name in dict.fromkeys(names)]
    assert len(set(shown)) == len(shown)
