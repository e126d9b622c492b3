// SPDX-License-Identifier: Apache-2.0
#include "analysis/times/kernel_types.h"

#include <string.h>

// Names as the libraries' sources spell them. The order decides: what is told by a whole name goes before
// what is told by a word that other kernels contain too (a fused optimizer is written as an elementwise
// kernel, an attention kernel is made of CUTLASS parts, an implicit convolution has gemm in its name).
static const rgm_rule types[] = {
    {"^triton_", RGM_KERNEL_TYPE_TRITON, "Inductor"},
    {"spin_kernel", RGM_KERNEL_TYPE_WAIT, "PyTorch"},
    {"concat_and_cache_mla", RGM_KERNEL_TYPE_INDEXING, "vLLM"},
    {"flash_fwd", RGM_KERNEL_TYPE_ATTENTION, "FlashAttention"},
    {"flash_bwd", RGM_KERNEL_TYPE_ATTENTION, "FlashAttention"},
    {"flash::", RGM_KERNEL_TYPE_ATTENTION, "FlashAttention"},
    {"fmha", RGM_KERNEL_TYPE_ATTENTION, "xFormers, cuDNN, CK, TensorRT-LLM"},
    {"attn_fwd", RGM_KERNEL_TYPE_ATTENTION, "AOTriton"},
    {"attn_bwd", RGM_KERNEL_TYPE_ATTENTION, "AOTriton"},
    {"bwd_kernel_dk_dv", RGM_KERNEL_TYPE_ATTENTION, "AOTriton"},
    {"bwd_kernel_dq", RGM_KERNEL_TYPE_ATTENTION, "AOTriton"},
    {"attention", RGM_KERNEL_TYPE_ATTENTION, "vLLM, PyTorch"},
    {"_mla_", RGM_KERNEL_TYPE_ATTENTION, "FlashMLA"},
    {"multi_tensor_apply", RGM_KERNEL_TYPE_OPTIMIZER, "Apex, PyTorch foreach"},
    {"FusedAdam", RGM_KERNEL_TYPE_OPTIMIZER, "PyTorch"},
    {"fused_adam", RGM_KERNEL_TYPE_OPTIMIZER, "PyTorch"},
    {"AdamFunctor", RGM_KERNEL_TYPE_OPTIMIZER, "Apex"},
    // A mixture of experts beside its products: to which expert each token goes, and the sum of what comes
    // back.
    {"dev::routing::", RGM_KERNEL_TYPE_ROUTING, "TensorRT-LLM"},
    {"routingIndices", RGM_KERNEL_TYPE_ROUTING, "TensorRT-LLM"},
    {"routingMainKernel", RGM_KERNEL_TYPE_ROUTING, "TensorRT-LLM"},
    {"routingInitExpertCounts", RGM_KERNEL_TYPE_ROUTING, "TensorRT-LLM"},
    {"dev::finalize", RGM_KERNEL_TYPE_ROUTING, "TensorRT-LLM"},
    {"dev::permute", RGM_KERNEL_TYPE_ROUTING, "TensorRT-LLM"},
    {"^finalizeKernel", RGM_KERNEL_TYPE_ROUTING, "TensorRT-LLM"},
    {"finalizeDeepSeekKernel", RGM_KERNEL_TYPE_ROUTING, "TensorRT-LLM"},
    {"finalizeMoeRouting", RGM_KERNEL_TYPE_ROUTING, "TensorRT-LLM"},
    {"finalizeKernelVecLoad", RGM_KERNEL_TYPE_ROUTING, "TensorRT-LLM"},
    {"expandInputRowsKernel", RGM_KERNEL_TYPE_ROUTING, "TensorRT-LLM"},
    {"ExpertPrefixSum", RGM_KERNEL_TYPE_ROUTING, "TensorRT-LLM"},
    {"ExpertMaps", RGM_KERNEL_TYPE_ROUTING, "TensorRT-LLM"},
    {"omputeStridesTmaWarpSpecialized", RGM_KERNEL_TYPE_ROUTING, "TensorRT-LLM"},
    {"topkGating", RGM_KERNEL_TYPE_ROUTING, "TensorRT-LLM, vLLM"},
    {"moe_align_block", RGM_KERNEL_TYPE_ROUTING, "vLLM, SGLang"},
    {"sort_expert_tokens", RGM_KERNEL_TYPE_ROUTING, "vLLM"},
    {"moe_sum", RGM_KERNEL_TYPE_ROUTING, "vLLM"},
    {"grouped_topk", RGM_KERNEL_TYPE_ROUTING, "vLLM, SGLang"},
    {"moe_fused_gate", RGM_KERNEL_TYPE_ROUTING, "SGLang"},
    {"moe_permute", RGM_KERNEL_TYPE_ROUTING, "vLLM"},
    {"moe_unpermute", RGM_KERNEL_TYPE_ROUTING, "vLLM"},
    {"MoeSorting", RGM_KERNEL_TYPE_ROUTING, "CK"},
    {"_combined_routing_", RGM_KERNEL_TYPE_ROUTING, "Triton kernels"},
    {"_sum_bitmatrix_rows", RGM_KERNEL_TYPE_ROUTING, "Triton kernels"},
    {"^reduce_segments", RGM_KERNEL_TYPE_ROUTING, "Triton kernels"},
    {"conv_depthwise", RGM_KERNEL_TYPE_CONVOLUTION, "PyTorch"},
    {"fft2d_", RGM_KERNEL_TYPE_CONVOLUTION, "cuDNN"},
    {"computeOffsetsKernel", RGM_KERNEL_TYPE_CONVOLUTION, "cuDNN"},
    {"scudnn", RGM_KERNEL_TYPE_CONVOLUTION, "cuDNN"},
    {"hcudnn", RGM_KERNEL_TYPE_CONVOLUTION, "cuDNN"},
    {"fprop", RGM_KERNEL_TYPE_CONVOLUTION, "cuDNN, CUTLASS"},
    {"dgrad", RGM_KERNEL_TYPE_CONVOLUTION, "cuDNN, CUTLASS"},
    {"wgrad", RGM_KERNEL_TYPE_CONVOLUTION, "cuDNN, CUTLASS"},
    {"Dgrad", RGM_KERNEL_TYPE_CONVOLUTION, "CUTLASS"},
    {"Wgrad", RGM_KERNEL_TYPE_CONVOLUTION, "CUTLASS"},
    {"convolve", RGM_KERNEL_TYPE_CONVOLUTION, "cuDNN"},
    {"Convolution", RGM_KERNEL_TYPE_CONVOLUTION, "CUTLASS"},
    {"convolution", RGM_KERNEL_TYPE_CONVOLUTION, "cuDNN"},
    {"winograd", RGM_KERNEL_TYPE_CONVOLUTION, "cuDNN, MIOpen"},
    {"Winograd", RGM_KERNEL_TYPE_CONVOLUTION, "MIOpen"},
    {"^miopenSp3AsmConv", RGM_KERNEL_TYPE_CONVOLUTION, "MIOpen"},
    {"^igemm_", RGM_KERNEL_TYPE_CONVOLUTION, "MIOpen"},
    {"grouped_conv", RGM_KERNEL_TYPE_CONVOLUTION, "CK"},
    {"^cask_cudnn", RGM_KERNEL_TYPE_CONVOLUTION, "cuDNN"},
    {"kernel_conv_params", RGM_KERNEL_TYPE_CONVOLUTION, "cuDNN"},
    // The library's own name has gemm in it; its kernels of embeddings and sparse data are none.
    {"split_embedding", RGM_KERNEL_TYPE_INDEXING, "FBGEMM"},
    {"embedding_codegen", RGM_KERNEL_TYPE_INDEXING, "FBGEMM"},
    {"bounds_check_indices", RGM_KERNEL_TYPE_INDEXING, "FBGEMM"},
    {"linearize_index", RGM_KERNEL_TYPE_INDEXING, "FBGEMM"},
    {"_offsets_range_", RGM_KERNEL_TYPE_INDEXING, "FBGEMM"},
    {"recat_copy_async", RGM_KERNEL_TYPE_INDEXING, "FBGEMM"},
    {"FP8_quantize", RGM_KERNEL_TYPE_QUANTIZATION, "FBGEMM"},
    {"FP8_qparam", RGM_KERNEL_TYPE_QUANTIZATION, "FBGEMM"},
    {"FP8rowwise", RGM_KERNEL_TYPE_QUANTIZATION, "FBGEMM"},
    {"fbgemm_gpu::permute_", RGM_KERNEL_TYPE_INDEXING, "FBGEMM"},
    {"elementwise_kernel<4, fbgemm_gpu::", RGM_KERNEL_TYPE_ELEMENTWISE, "FBGEMM"},
    {"^void fbgemm_gpu::", RGM_KERNEL_TYPE_OTHER, "FBGEMM"},
    {"^bmm_", RGM_KERNEL_TYPE_GEMM, "TensorRT-LLM"},
    {"fused_moe_kernel", RGM_KERNEL_TYPE_GEMM, "vLLM, SGLang"},
    {"^Cijk_", RGM_KERNEL_TYPE_GEMM, "Tensile"},
    {"gemm", RGM_KERNEL_TYPE_GEMM, "cuBLAS, CUTLASS, rocBLAS"},
    {"Gemm", RGM_KERNEL_TYPE_GEMM, "CUTLASS"},
    {"gemv", RGM_KERNEL_TYPE_GEMM, "cuBLAS"},
    {"^nvjet", RGM_KERNEL_TYPE_GEMM, "cuBLAS"},
    {"matmul", RGM_KERNEL_TYPE_GEMM, "Triton kernels"},
    {"ReduceSplitK", RGM_KERNEL_TYPE_GEMM, "CUTLASS"},
    {"splitKreduce", RGM_KERNEL_TYPE_GEMM, "cuBLAS"},
    {"cublasLtEpilogue", RGM_KERNEL_TYPE_GEMM, "cuBLASLt"},
    {"_xmma_", RGM_KERNEL_TYPE_GEMM, "cuBLAS"},
    {"dot_kernel", RGM_KERNEL_TYPE_GEMM, "cuBLAS"},
    {"batch_norm", RGM_KERNEL_TYPE_NORMALIZATION, "PyTorch"},
    {"bn_fw", RGM_KERNEL_TYPE_NORMALIZATION, "cuDNN"},
    {"bn_bw", RGM_KERNEL_TYPE_NORMALIZATION, "cuDNN"},
    {"BatchNorm", RGM_KERNEL_TYPE_NORMALIZATION, "MIOpen"},
    {"layer_norm", RGM_KERNEL_TYPE_NORMALIZATION, "PyTorch"},
    {"LayerNorm", RGM_KERNEL_TYPE_NORMALIZATION, "PyTorch"},
    {"GroupNorm", RGM_KERNEL_TYPE_NORMALIZATION, "PyTorch"},
    {"GammaBetaBackward", RGM_KERNEL_TYPE_NORMALIZATION, "PyTorch"},
    {"RowwiseMoments", RGM_KERNEL_TYPE_NORMALIZATION, "PyTorch"},
    {"rms_norm", RGM_KERNEL_TYPE_NORMALIZATION, "vLLM"},
    {"msnorm", RGM_KERNEL_TYPE_NORMALIZATION, "CK, FlashInfer"},
    {"softmax", RGM_KERNEL_TYPE_NORMALIZATION, "PyTorch"},
    {"SoftMax", RGM_KERNEL_TYPE_NORMALIZATION, "PyTorch"},
    {"Softmax", RGM_KERNEL_TYPE_NORMALIZATION, "PyTorch"},
    {"uantize", RGM_KERNEL_TYPE_QUANTIZATION, "TensorRT-LLM, FlashInfer, bitsandbytes"},
    {"_fp8_quant", RGM_KERNEL_TYPE_QUANTIZATION, "vLLM"},
    {"_quant_8bit", RGM_KERNEL_TYPE_QUANTIZATION, "SGLang"},
    {"_quant_kernel", RGM_KERNEL_TYPE_QUANTIZATION, "vLLM, AITER"},
    {"cvt_fp16_to_fp4", RGM_KERNEL_TYPE_QUANTIZATION, "TensorRT-LLM, vLLM"},
    {"cvt_fp16_to_fp8", RGM_KERNEL_TYPE_QUANTIZATION, "TensorRT-LLM"},
    {"RadixSort", RGM_KERNEL_TYPE_SORT, "CUB"},
    {"MergeSort", RGM_KERNEL_TYPE_SORT, "CUB"},
    {"bitonicSort", RGM_KERNEL_TYPE_SORT, "PyTorch"},
    {"radixSort", RGM_KERNEL_TYPE_SORT, "PyTorch"},
    {"sbtopk", RGM_KERNEL_TYPE_SORT, "PyTorch"},
    {"mbtopk", RGM_KERNEL_TYPE_SORT, "PyTorch"},
    {"topk", RGM_KERNEL_TYPE_SORT, "PyTorch"},
    {"searchsorted", RGM_KERNEL_TYPE_SORT, "PyTorch"},
    {"Rope", RGM_KERNEL_TYPE_ELEMENTWISE, "TensorRT-LLM"},
    {"rotary_embedding", RGM_KERNEL_TYPE_ELEMENTWISE, "vLLM"},
    {"scatter", RGM_KERNEL_TYPE_INDEXING, "PyTorch"},
    {"gather", RGM_KERNEL_TYPE_INDEXING, "PyTorch"},
    {"indexSelect", RGM_KERNEL_TYPE_INDEXING, "PyTorch"},
    {"indexing_backward", RGM_KERNEL_TYPE_INDEXING, "PyTorch"},
    {"index_elementwise", RGM_KERNEL_TYPE_INDEXING, "PyTorch"},
    {"indexFunc", RGM_KERNEL_TYPE_INDEXING, "PyTorch"},
    {"embedding", RGM_KERNEL_TYPE_INDEXING, "PyTorch, FBGEMM"},
    {"Embedding", RGM_KERNEL_TYPE_INDEXING, "PyTorch"},
    {"CatArray", RGM_KERNEL_TYPE_INDEXING, "PyTorch"},
    {"permute_", RGM_KERNEL_TYPE_INDEXING, "FBGEMM"},
    {"reshape_and_cache", RGM_KERNEL_TYPE_INDEXING, "vLLM"},
    {"to_dense_representation", RGM_KERNEL_TYPE_INDEXING, "PyTorch"},
    {"compute_cuda_kernel", RGM_KERNEL_TYPE_INDEXING, "PyTorch"},
    {"reduce_kernel", RGM_KERNEL_TYPE_REDUCTION, "PyTorch"},
    {"reduce_1Block", RGM_KERNEL_TYPE_REDUCTION, "cuBLAS"},
    {"DeviceReduce", RGM_KERNEL_TYPE_REDUCTION, "CUB"},
    {"DeviceScan", RGM_KERNEL_TYPE_REDUCTION, "CUB"},
    {"DeviceCompactInit", RGM_KERNEL_TYPE_REDUCTION, "CUB"},
    {"scan_", RGM_KERNEL_TYPE_REDUCTION, "PyTorch"},
    {"pool", RGM_KERNEL_TYPE_REDUCTION, "PyTorch"},
    {"ClassNLLCriterion", RGM_KERNEL_TYPE_REDUCTION, "PyTorch"},
    {"nll_loss", RGM_KERNEL_TYPE_REDUCTION, "PyTorch"},
    {"chwToNhwc", RGM_KERNEL_TYPE_LAYOUT, "cuDNN"},
    {"hwcToNchw", RGM_KERNEL_TYPE_LAYOUT, "cuDNN"},
    {"batched_transpose", RGM_KERNEL_TYPE_LAYOUT, "MIOpen"},
    {"transpose_readWrite", RGM_KERNEL_TYPE_LAYOUT, "cuBLAS"},
    {"elementwise", RGM_KERNEL_TYPE_ELEMENTWISE, "PyTorch"},
    {"kernelPointwiseApply", RGM_KERNEL_TYPE_ELEMENTWISE, "PyTorch"},
    {"dropout", RGM_KERNEL_TYPE_ELEMENTWISE, "PyTorch"},
    {"SubTensorOp", RGM_KERNEL_TYPE_ELEMENTWISE, "MIOpen"},
    {"op_tensor", RGM_KERNEL_TYPE_ELEMENTWISE, "cuDNN"},
    {"scalePackedTensor", RGM_KERNEL_TYPE_ELEMENTWISE, "cuDNN"},
    {"scal_kernel", RGM_KERNEL_TYPE_ELEMENTWISE, "cuBLAS"},
    {"activationKernel", RGM_KERNEL_TYPE_ELEMENTWISE, "TensorRT-LLM"},
    {"activationDeepSeekKernel", RGM_KERNEL_TYPE_ELEMENTWISE, "TensorRT-LLM"},
    {"doActivationKernel", RGM_KERNEL_TYPE_ELEMENTWISE, "TensorRT-LLM"},
    {"act_and_mul", RGM_KERNEL_TYPE_ELEMENTWISE, "vLLM"},
    {"fft", RGM_KERNEL_TYPE_FFT, "cuFFT, rocFFT"},
};

rgm_kernel_type rgm_kernel_type_of_name(const char *name, size_t length) {
    const rgm_rule *rule = rgm_rules_match(types, sizeof types / sizeof types[0], name, length);
    return rule ? (rgm_kernel_type)rule->activity : RGM_KERNEL_TYPE_OTHER;
}

static rgm_kernel_type direction_of(rgm_string name) {
    static const rgm_rule directions[] = {
        {"HtoD", RGM_KERNEL_TYPE_MEMCPY_HTOD, ""},
        {"DtoH", RGM_KERNEL_TYPE_MEMCPY_DTOH, ""},
        {"DtoD", RGM_KERNEL_TYPE_MEMCPY_DTOD, ""},
        {"PtoP", RGM_KERNEL_TYPE_MEMCPY_PTOP, ""},
        {"HostToDevice", RGM_KERNEL_TYPE_MEMCPY_HTOD, "HIP"},
        {"DeviceToHost", RGM_KERNEL_TYPE_MEMCPY_DTOH, "HIP"},
        {"DeviceToDevice", RGM_KERNEL_TYPE_MEMCPY_DTOD, "HIP"},
    };
    const rgm_rule *rule =
        rgm_rules_match(directions, sizeof directions / sizeof directions[0], name.data, name.length);
    return rule ? (rgm_kernel_type)rule->activity : RGM_KERNEL_TYPE_MEMCPY;
}

rgm_kernel_type rgm_kernel_type_of(const rgm_view *view, size_t row) {
    rgm_string name = rgm_view_text(view, rgm_view_name(view, row));
    switch (rgm_view_kind(view, row)) {
    case RGM_KIND_MEMCPY: return direction_of(name);
    case RGM_KIND_MEMSET: return RGM_KERNEL_TYPE_MEMSET;
    case RGM_KIND_ACCELERATOR: return RGM_KERNEL_TYPE_PROGRAM; // its name says nothing of what is inside
    default: break;
    }
    switch (rgm_view_activity(view, row)) {
    case RGM_ACTIVITY_COMMUNICATION: return RGM_KERNEL_TYPE_COMMUNICATION;
    case RGM_ACTIVITY_MEMORY: return direction_of(name);
    default: return rgm_kernel_type_of_name(name.data, name.length);
    }
}
