# SPDX-License-Identifier: Apache-2.0
"""Input, steps, communication, ranks, operators and kernels."""

from .message import AMDAHL, NOT_BOUNDED, OPERATORS, Message

_KERNELS = "these kernels on the critical path; with ceilings of both pipes, 1 minus their ratio of it"

MESSAGES = {
    "data_loader": Message(
        "The data loader takes {path_share} of the critical path",
        "time inside the loader's iterator ≥ {suggest_loader_share} of the path",
        "Use more workers, persistent_workers=True and a larger prefetch_factor; move decoding off the training"
        " process.",
        AMDAHL,
        "The share stays when the same batch is used again and again.",
        "regimeter critical-path {trace}",
    ),
    "loader_without_workers": Message(
        "The data loader has no workers: it does its work in the training thread for {path_share} of the path",
        "spans of _SingleProcessDataLoaderIter ≥ {suggest_loader_share} of the path",
        "Set num_workers of the DataLoader, pin_memory=True and persistent_workers=True.",
        "the time of the loader on the critical path",
        "The host has one core, or the data set cannot be sent to another process.",
        "regimeter annotations {trace}",
    ),
    "step_outliers": Message(
        "{count} of {steps} steps take longer than mean + {suggest_outlier_deviations} standard deviations",
        "> {suggest_outlier_steps} outliers in ≥ {suggest_outlier_steps_least} steps",
        "Look at what these steps have in common: checkpoints, logging, garbage collection, longer inputs.",
        "what they take beyond the median step",
        "The long steps do more work.",
        "regimeter steps {trace}",
    ),
    "slow_first_step": Message(
        "The first step takes {ratio} times the median of the others",
        "first step ≥ {suggest_first_step_ratio} times the median of the others",
        "Leave it out of the measurement; in production, warm up before traffic or cache compiled code.",
        "what it takes beyond the median step",
        "The first step has other inputs.",
        "regimeter steps {trace}",
    ),
    "exposed_communication": Message(
        "Communication that nothing hides takes {path_share} of the critical path",
        "communication on the path ≥ {suggest_communication_share}",
        "Overlap it with computation (DDP buckets, prefetching of FSDP), accumulate gradients, or send less"
        " (compression, lower precision).",
        AMDAHL,
        "The time is a wait for another rank: look at stragglers first.",
        "regimeter communication {trace}",
    ),
    "small_collectives": Message(
        "{count} collectives are small: each carries less than {suggest_small_message_bytes} or takes less time than"
        " issuing it",
        "≥ {suggest_small_collectives} collectives of < {suggest_small_message_bytes}, or, where no sizes are recorded,"
        " shorter than the operator that issues them",
        "Join them: larger buckets (bucket_cap_mb), coalesced collectives.",
        "their time and that of issuing them on the critical path, beyond what their bytes need at the best rate of"
        " larger ones in this run, or beyond one of them",
        "Each must arrive before the next can be sent.",
        "regimeter collectives {trace} --by message",
    ),
    "data_parallel": Message(
        "torch.nn.DataParallel drives several devices from one process",
        "spans of DataParallel with more than one device",
        "Use DistributedDataParallel, one process per device.",
        NOT_BOUNDED,
        "The devices are busy all the time as it is.",
        "regimeter breakdown {trace}",
    ),
    "gloo_collectives": Message(
        "{count} collectives run through Gloo on the host",
        "operators gloo:* beside device work",
        "Use the NCCL (or RCCL) backend for tensors on devices.",
        AMDAHL,
        "The tensors are on the host and belong there.",
        "regimeter annotations {trace}",
    ),
    "straggler": Message(
        "Rank {rank} causes {share} of the others' waits in collectives, {total_ns} in all",
        "one rank causes ≥ {suggest_straggler_share} of the waits",
        "Look at what that rank does more or later: data, host, clocks, topology.",
        "waits for it on the critical path; not bounded where the path is its own",
        "Another rank is late in the next recording: then it is chance.",
        "regimeter stragglers {trace}",
    ),
    "rank_imbalance": Message(
        "The busiest of {count} ranks computes {share} longer than their mean",
        "largest compute time by the mean - 1 ≥ {suggest_imbalance}",
        "Divide the work anew: lengths of samples, experts, pipeline stages.",
        NOT_BOUNDED,
        "The ranks have different work by design (pipeline stages).",
        "regimeter ranks {trace}",
    ),
    "fp32_matmul": Message(
        "{count} products in single precision run without tensor cores",
        "float operands, a kernel whose name says plain arithmetic, compute capability ≥ 8",
        "torch.set_float32_matmul_precision('high') allows TF32; autocast to bfloat16 saves more.",
        _KERNELS,
        "The accuracy of TF32 (10 bits of mantissa) does not suffice.",
        "regimeter kernels {trace} --by type",
    ),
    "tensor_cores_unused": Message(
        "{count} products in half precision run without tensor cores",
        "half operands, a kernel whose name says plain arithmetic, compute capability ≥ 7",
        "Look at shapes and strides: sizes in multiples of 8, contiguous operands, a newer cuBLAS.",
        _KERNELS,
        "Counters show that the tensor pipe is busy in these kernels.",
        "regimeter flops {trace}",
    ),
    "half_dims": Message(
        "{count} products in half precision have sizes that are no multiple of {suggest_dims_multiple}",
        "a size of mm, addmm, bmm or baddbmm in half precision not a multiple of {suggest_dims_multiple}",
        "Pad vocabulary, hidden and batch sizes to the next multiple.",
        _KERNELS,
        "The same product with padded sizes is no faster.",
        "regimeter flops {trace}",
    ),
    "single_tensor_optimizer": Message(
        "The optimizer works on one tensor at a time, {ratio} kernels or operators a step",
        "≥ {suggest_optimizer_kernels} kernels (in a run without a device, operators) a step, most of them no foreach"
        " or fused ones",
        "Construct it with foreach=True or fused=True.",
        "its host work, kernels and launch latency on the critical path",
        "The optimizer has no such implementation, or the tensors are of many types.",
        "regimeter annotations {trace}",
    ),
    "loop_indexing": Message(
        "A loop takes tensors apart element by element, {count} selects in all",
        "≥ {suggest_loop_count} selects with one parent and few operators between them",
        "Replace the loop by one operation on the whole tensor (vectorise, unbind, gather).",
        "the host within the loops, Python between operators included, on the critical path",
        "Each turn depends on the result of the one before.",
        "regimeter operators {trace}",
    ),
    "conv_bias_norm": Message(
        "Convolutions before a normalisation add a bias that it removes again ({count} kernels)",
        "conv with bias, followed by batch_norm or instance_norm, with a kernel under aten::add_",
        "Construct the convolution with bias=False.",
        "the kernels that add the bias, on the critical path",
        "The normalisation does not subtract a mean (evaluation with folded weights).",
        "regimeter kernels {trace} --by operator",
    ),
    "attention_math": Message(
        "Attention is computed in parts: products around a softmax, {count} pieces of work",
        "work under _scaled_dot_product_attention_math, or bmm, softmax, bmm in a row, forward or backward",
        "Use torch.nn.functional.scaled_dot_product_attention with a fused backend (attn_implementation='sdpa').",
        "this work, and what waits for it, on the critical path",
        "The mask or the head size rules out every fused backend, or the attention weights are returned.",
        "regimeter kernels {trace} --by operator",
        OPERATORS,
    ),
    "pointwise_chain": Message(
        "Pointwise kernels or operators follow each other in chains of {ratio} on average",
        "≥ {suggest_chain_length} pointwise kernels with one grid in a row on a stream; without a device, operators"
        " over equally many elements",
        "Let torch.compile fuse them, or use a fused operator.",
        "a chain less the shortest of its parts, on the critical path",
        "The kernels use the result of another stream between them, or are as fast as one copy of their data.",
        "regimeter sequences {trace}",
        OPERATORS,
    ),
    "double_precision": Message(
        "{count} kernels or operators compute in double precision",
        "kernels whose names say double, dgemm or f64; without a device, operators on tensors of double",
        "Look for a tensor made from NumPy or Python floats; convert to float32 where the accuracy suffices.",
        _KERNELS,
        "The algorithm needs double precision.",
        "regimeter kernels {trace}",
        OPERATORS,
    ),
    "top_kernel": Message(
        "{subject} takes {share} of the compute time and {path_share} of the critical path",
        "kernel time of one name > {suggest_top_kernel_share} of all and ≥ {suggest_top_kernel_path} of the path",
        "What makes it faster decides: data type, layout, shapes, another library. Give ceilings for a bound.",
        NOT_BOUNDED,
        "The kernel runs near the ceiling of its pipe or of memory.",
        "regimeter kernels {trace}",
    ),
    "far_from_roof": Message(
        "{subject} takes {ratio} times what its work needs at the ceilings given",
        "device time of a call ≥ {suggest_roof_ratio} times the time at the ceilings",
        "Look at shapes, strides and the kernel that was chosen.",
        "device time minus time at the ceilings, of its time on the critical path",
        "The ceilings are of another device, or the operator moves more than its inputs and outputs.",
        "regimeter flops {trace}",
    ),
}
