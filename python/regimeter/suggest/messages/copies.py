# SPDX-License-Identifier: Apache-2.0
"""Copies, conversions, waits and memory."""

from .message import AMDAHL, NOT_BOUNDED, OPERATORS, Message

_WORK = "these pieces of work, and what waits for them, on the critical path"
_AFTER_WAITS = (
    "host work on the critical path in the gaps after these waits, no more of it than they waited, and the waits"
    " themselves"
)

MESSAGES = {
    "pageable_copies": Message(
        "{count} copies between host and device use pageable memory ({rate})",
        "copies of ≥ {small_copy_bytes} from or to pageable host memory",
        "Use pinned memory (pin_memory=True in the DataLoader, tensor.pin_memory()) and non_blocking=True.",
        "at least 1 - rate / best rate of pinned copies, measured in this run or given; at most what can hide behind"
        " the rest of the path",
        "Pinned copies of the same size are no faster on this machine, or the data is used at once.",
        "regimeter memcpy {trace}",
    ),
    "sync_copies": Message(
        "{count} copies are made by calls that wait for them ({subject})",
        "copies by a call without Async in its name",
        "Use asynchronous copies from pinned memory on a stream of their own.",
        "these copies and their calls on the critical path",
        "The next line of the program needs the copied data.",
        "regimeter sync {trace} --by operator",
    ),
    "sync_memset": Message(
        "{count} sets of device memory are made by calls that wait",
        "sets by a call without Async in its name",
        "Use cudaMemsetAsync, or allocate without clearing.",
        "these sets and their calls on the critical path",
        "The calls return at once: sets of device memory may not block the host.",
        "regimeter memcpy {trace}",
    ),
    "small_copies": Message(
        "{count} copies move {bytes} in all, each less than {small_copy_bytes}",
        "≥ {suggest_small_copies} copies of < {small_copy_bytes}, and more than half of all",
        "Gather small tensors into one buffer and copy it once; keep scalars on the device.",
        "all but one of these copies and their calls, on the critical path",
        "The copies belong to moments that lie apart and cannot wait for each other.",
        "regimeter memcpy {trace}",
    ),
    "exposed_copies": Message(
        "Copies between host and device with nothing beside them take {path_share} of the critical path",
        "such copies ≥ {suggest_exposed_copy_share} of the path",
        "Copy the next batch on a stream of its own while this one is computed (prefetching).",
        "their time on the critical path, at most as much as the rest of the path, behind which they can hide",
        "The data is only known when it is needed, or computation is shorter than the copies.",
        "regimeter memory-bandwidth {trace}",
    ),
    "layout_conversions": Message(
        "{count} kernels only convert between layouts of images",
        "kernels whose names say nchwToNhwc, nhwcToNchw or transpose",
        "Keep model and input in channels_last (model.to(memory_format=torch.channels_last)).",
        _WORK,
        "The convolutions are slower in the other layout by more than the conversions take.",
        "regimeter kernels {trace} --by type",
    ),
    "contiguous_copies": Message(
        "{count} pieces of work only copy tensors to make them contiguous",
        "work under aten::contiguous or aten::clone, on a device or, in a run without one, of the host",
        "Choose layouts so that views suffice; look for permute and transpose before operators that want contiguous"
        " data.",
        _WORK,
        "The copies let a later kernel run faster by more than they take.",
        "regimeter kernels {trace} --by operator",
        OPERATORS,
    ),
    "casts": Message(
        "{count} pieces of work only convert between types",
        "work under aten::to or aten::_to_copy, copies across the bus and, in a run without a device, those of one type"
        " left out",
        "Keep parameters and activations in one type, or let torch.compile fuse the conversion into its neighbours.",
        _WORK,
        "The conversions are those of autocast, and lower precision saves more than they take.",
        "regimeter kernels {trace} --by operator",
        OPERATORS,
    ),
    "device_copies": Message(
        "Copies within the device take {path_share} of the critical path",
        "copies from device to device ≥ {suggest_exposed_copy_share} of the path",
        "Write results where they are needed (out=, preallocated buffers) instead of concatenating or cloning.",
        AMDAHL,
        "The copies are those of a double buffer that hides something longer.",
        "regimeter memcpy {trace}",
    ),
    "created_on_host": Message(
        "{count} tensors are made on the host and then copied to the device",
        "an operator that makes a tensor, followed by aten::to with a copy to the device",
        "Make them on the device: torch.zeros(..., device=device).",
        "making, moving and copying on the critical path",
        "The values come from the host.",
        "regimeter memcpy {trace}",
    ),
    "item_sync": Message(
        "Reading single values ({subject}) makes the host wait ({count} ×); the device is idle {idle_ns} after it",
        "idle time of the device after a wait inside aten::item or the like",
        "Keep the value on the device, read it every N steps, or read it one step late.",
        _AFTER_WAITS,
        "The program decides by the value what to do next.",
        "regimeter sync {trace} --by operator",
    ),
    "shape_sync": Message(
        "Results whose size depends on data ({subject}) make the host wait ({count} ×)",
        "idle time of the device after a wait inside aten::nonzero, masked_select, unique, where or bincount",
        "Use masks and where with fixed shapes, or bound the size beforehand.",
        _AFTER_WAITS,
        "The size is needed on the host.",
        "regimeter sync {trace} --by operator",
    ),
    "to_host_sync": Message(
        "Copying tensors between host and device ({subject}) makes the host wait ({count} ×)",
        "idle time of the device after a wait inside aten::to or copy_",
        "Use pinned memory and non_blocking=True, and wait with an event where the data is needed.",
        _AFTER_WAITS,
        "The next line of the program needs the data.",
        "regimeter sync {trace} --by operator",
    ),
    "explicit_sync": Message(
        "The program waits for the device itself ({subject}, {count} ×); the device is idle {idle_ns} after it",
        "idle time of the device after a wait outside any operator",
        "Remove torch.cuda.synchronize() from the loop; time with events instead.",
        _AFTER_WAITS,
        "The wait is the profiler's or belongs to the end of the measurement.",
        "regimeter sync {trace}",
    ),
    "needless_sync": Message(
        "{count} waits have nothing to wait for ({subject})",
        "synchronising calls during which no work runs",
        "Remove them.",
        "the time of these calls on the critical path",
        "Work of another process or of an unrecorded stream is waited for.",
        "regimeter sync {trace}",
    ),
    "allocator_calls": Message(
        "Device memory is taken from the driver or given back {count} ×, for {total_ns}",
        "cudaMalloc, cudaFree and the like on the path",
        "Warm up before measuring; if it returns, set PYTORCH_ALLOC_CONF=expandable_segments:True, avoid empty_cache()"
        " and preallocate for the longest input.",
        "the time of these calls on the critical path",
        "The calls stand only in the first iteration.",
        "regimeter sync {trace} --by operator",
    ),
    "stream_waits": Message(
        "Streams wait for each other for {path_share} of the critical path",
        "waits between streams ≥ {suggest_stream_wait_share} of the path",
        "Record the event earlier, or order the work so that what is waited for starts first.",
        AMDAHL,
        "What is waited for cannot start earlier.",
        "regimeter critical-path-segments {trace}",
    ),
    "memory_near_limit": Message(
        "The allocator holds {bytes}, {share} of the device's memory",
        "reserved by total ≥ {suggest_memory_share}",
        "Use activation checkpointing, lower precision or a smaller batch; retries of the allocator cost time.",
        NOT_BOUNDED,
        "The peak is the same with a smaller batch.",
        "regimeter show {trace}",
    ),
    "memory_fragmentation": Message(
        "The allocator holds {ratio} times what is in use at its peak, {bytes} more",
        "reserved by allocated ≥ {suggest_fragmentation} with reserved ≥ {suggest_fragmentation_share} of the device",
        "Set PYTORCH_ALLOC_CONF=expandable_segments:True; avoid sizes that change from step to step.",
        NOT_BOUNDED,
        "The reserve was needed at a moment before the recording.",
        "regimeter show {trace}",
    ),
    "memory_growth": Message(
        "The peak of allocated memory grows by {bytes} ({share}) from the first third of {steps} steps to the last",
        "over ≥ {suggest_growth_steps} steps, smallest peak of the last third ≥ largest of the first +"
        " {suggest_growth_share}",
        "Look for tensors that are kept: losses summed without .item() or detach(), lists of outputs, caches.",
        NOT_BOUNDED,
        "The inputs grow too.",
        "regimeter show {trace}",
    ),
    "zero_grad": Message(
        "zero_grad clears gradients, to which the backward pass then adds: {count} pieces of work",
        "aten::zero_ within zero_grad",
        "Use optimizer.zero_grad(set_to_none=True), the default since PyTorch 2.0.",
        "clearing, and adding to what was cleared (AccumulateGrad), on the critical path",
        "Gradients are accumulated over several steps into buffers that must stay.",
        "regimeter kernels {trace} --by operator",
        OPERATORS,
    ),
}
