# SPDX-License-Identifier: Apache-2.0
"""Launches, launch configurations, and the host while the device waits."""

from .message import AMDAHL, NOT_BOUNDED, Message

MESSAGES = {
    "launch_bound": Message(
        "{share} of {count} launches take longer than the work they launch, so the device waits for the host",
        "of ≥ {suggest_outlier_launches} launches ≥ {suggest_launch_bound_share} outlast their work, and host work ≥"
        " {suggest_host_share} of the path",
        "Launch less often: torch.compile(mode='reduce-overhead') or CUDA graphs for the part that repeats, larger"
        " batches, fused optimisers.",
        "the host's work and launch latency on the critical path",
        "The launches do not become fewer with a larger batch or a graph, or the host does other work between them.",
        "regimeter launches {trace} --by operator",
    ),
    "repeated_sequence": Message(
        "Sequences of up to {steps} kernels repeat, {count} × in all, with {idle_ns} of gaps between their kernels",
        "the three sequences with most gap time, of ≥ {suggest_outlier_launches} kernels in all; gaps on the critical"
        " path",
        "Capture the repeated part as a CUDA graph, or let torch.compile fuse it.",
        "the gaps between kernels of the sequence that lie on the critical path",
        "The kernels depend on results that the host must see between them.",
        "regimeter sequences {trace}",
    ),
    "launch_outliers": Message(
        "{count} launch calls take {suggest_launch_outlier_ns} or more, up to {longest_ns}",
        "≥ {suggest_outlier_launches} launches of ≥ {suggest_launch_outlier_ns}",
        "Look for lazy loading of modules (CUDA_MODULE_LOADING=EAGER), for a full launch queue, or for another thread"
        " that holds the driver's lock.",
        "the time of these calls on the critical path",
        "The calls are as long after a warm-up and with the host otherwise idle.",
        "regimeter launches {trace}",
    ),
    "setup_calls": Message(
        "Calls of the driver that set something up take {total_ns} ({count} ×), the longest {longest_ns} ({subject})",
        "calls that neither wait, copy nor allocate, of ≥ {suggest_setup_call_ns}",
        "Leave the first iterations out of the measurement, or do the setup (context, handles, modules) before it.",
        "the time of these calls on the critical path",
        "The calls return in later iterations of the same process.",
        "regimeter critical-path-top {trace}",
    ),
    "queue_full": Message(
        "The launch queue is full for {share} of the time: the device is the limit, not the host",
        "queue full for ≥ {suggest_full_share} of the time",
        "Work on the kernels; less host work saves nothing here.",
        NOT_BOUNDED,
        "The queue holds few launches when the host is made faster.",
        "regimeter queues {trace}",
    ),
    "few_blocks": Message(
        "{count} kernels have fewer blocks than the device has multiprocessors",
        "blocks of the grid by multiprocessors < 1",
        "Give each launch more work (larger batch, split-K), or run independent ones on several streams.",
        "the share of multiprocessors without a block, of their time on the critical path",
        "The kernels depend on each other and their work cannot be divided further.",
        "regimeter kernels {trace}",
    ),
    "odd_block": Message(
        "{count} kernels have blocks that are no multiple of 32 threads",
        "threads of a block not a multiple of 32",
        "Choose a multiple of the warp size as block size.",
        "the share of lanes without a thread, of their time on the critical path",
        "The kernel is bound by memory bandwidth, which idle lanes do not use.",
        "regimeter kernels {trace}",
    ),
    "low_occupancy": Message(
        "{count} kernels with enough blocks have an occupancy below {suggest_low_occupancy}",
        "theoretical occupancy < {suggest_low_occupancy} with at least one block a multiprocessor",
        "Look at registers and shared memory per block; __launch_bounds__, smaller tiles or a library kernel may help.",
        "1 minus occupancy, of their time on the critical path",
        "The kernel uses tensor cores or asynchronous copies, which reach their peak at low occupancy.",
        "regimeter kernels {trace}",
    ),
    "host_bound": Message(
        "The host's own work takes {path_share} of the critical path ({path_ns}), most of it in {subject}",
        "host work ≥ {suggest_host_share} of the path while the device waits",
        "Look at what the host does there: operators, Python, logging; move it off the training thread or compile it.",
        AMDAHL,
        "The time is the profiler's own (with_stack, record_shapes): record again without them.",
        "regimeter critical-path-top {trace}",
    ),
    "python_overhead": Message(
        "Python functions take {path_share} of the critical path ({path_ns}), most of it in {subject}",
        "Python on the path ≥ {suggest_python_share}",
        "Compile the model (torch.compile), cache what the function computes, or call it less often.",
        AMDAHL,
        "The share falls when the trace is recorded without with_stack, which makes each call more expensive.",
        "regimeter flame {trace}",
    ),
    "gc_pause": Message(
        "The garbage collector takes {path_ns} on the critical path",
        "spans of the collector (gc.collect, PyTorch's own, those that a recording finds) on the path",
        "Call gc.freeze() after the setup, raise gc.set_threshold, or collect at a chosen moment off the step.",
        AMDAHL,
        "The pauses stay with the collector disabled.",
        "regimeter critical-path-top {trace}",
    ),
    "compile_in_window": Message(
        "Compiling, tuning or loading of code takes {path_ns} within the recorded time ({subject})",
        "spans of Dynamo, Inductor, Triton, NVRTC, cudnnFind or module loading on the path",
        "Warm up before recording; if it returns, look for recompilations (torch._dynamo.config.cache_size_limit).",
        AMDAHL,
        "It happens once per process and the recorded program is that short.",
        "regimeter critical-path-top {trace}",
    ),
    "unrecorded_host": Message(
        "{path_share} of the critical path lies where no span of the host was recorded",
        "time outside any span ≥ {suggest_unrecorded_share} of the path; without device work only where no stacks were"
        " sampled",
        "Record what the host does there: scopes around it, in a trace the host's activity (ProfilerActivity.CPU) and"
        " Python stacks (with_stack=True). It may be input, logging or waiting.",
        AMDAHL,
        "A recording with stacks shows that the thread waits for the device there.",
        "regimeter critical-path {trace}",
    ),
    "device_idle": Message(
        "The device works {busy_share} of the time",
        "device busy < {suggest_busy_share} of the path",
        "Give the device more to do at a time (larger batch), and the host less; the suggestions before this one say"
        " where.",
        "everything on the critical path that is no device work",
        "A larger batch leaves the share as it is.",
        "regimeter idle {trace}",
    ),
    "long_gaps": Message(
        "{count} gaps of {suggest_long_gap_ns} or more stand between pieces of device work",
        "idle gap of the device ≥ {suggest_long_gap_ns}",
        "Look at what the host does in the gaps; record Python stacks if nothing is shown.",
        "host work and waits on the critical path within these gaps",
        "The gaps are pauses of the program that are meant (evaluation, checkpoints).",
        "regimeter idle-gaps {trace} --top 10",
    ),
}
