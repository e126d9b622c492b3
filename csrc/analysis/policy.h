// SPDX-License-Identifier: Apache-2.0
// Every threshold of the analyses: X(name, default, unit, source). A user can set each by its name.
#ifndef RGM_ANALYSIS_POLICY_H
#define RGM_ANALYSIS_POLICY_H

// Statistics of times, and the rules by which the report of HTAAnalyzer judges.
#define RGM_TIMES_POLICY(X)                                                                                  \
    X(timeline_max_spans, 1000000, "spans", "a page of at most 9 MB that is ready within 3 s")               \
    X(timeline_overview_spans, 20000, "spans", "a page that asks its server for more, ready in 1 s")         \
    X(counter_max_points, 4000, "points", "of one series: four for each of 1,000 columns of a screen")       \
    X(percentile_tail, 0.95, "", "p95 of the summary")                                                       \
    X(hta_idle_share, 0.30, "", "HTAAnalyzer of the profiling suite: idle device")                           \
    X(hta_communication_share, 0.20, "", "the same: communication that nothing hides")                       \
    X(hta_kernels, 10000, "kernels", "the same: many kernels, together with the next")                       \
    X(hta_short_kernel_us, 10, "us", "the same: mean duration of a kernel")                                  \
    X(hta_top_kernel_share, 0.50, "", "the same: one kernel with most of the kernel time")                   \
    X(percentile_extreme, 0.99, "", "p99 of the summary")                                                    \
    X(kernels_top, 0, "rows", "0 shows all; beyond that many rows the rest is merged into one")              \
    X(annotation_depth, 64, "levels", "bounds the cost of nested annotations; no known program nests 10")

// Gaps, launches, queues, copies.
#define RGM_WAITING_POLICY(X)                                                                                \
    X(idle_min_ns, 0, "ns", "every gap is listed; a table for the eye may want 1000")                        \
    X(idle_line_reach_ns, 20000000, "ns",                                                                    \
      "a gap between two samples has the line of the nearest: twice the interval at which `record` takes "   \
      "them")                                                                                                \
    X(launch_gap_ns, 30000, "ns",                                                                            \
      "early launches leave at most 21 us (99.9th percentile) in traces of V100 to MI300; HTA's 30 in "      \
      "effect")                                                                                              \
    X(short_kernel_ns, 10000, "ns",                                                                          \
      "TraceLens' limit of a short kernel; some twice what launching one costs")                             \
    X(queue_full, 1022, "launches",                                                                          \
      "a V100's calls that find this many queued, their own included, take 125 us, others 5; HTA: 1024")     \
    X(small_copy_bytes, 65536, "bytes", "takes PCIe 3.0 x16 as long as launching it, some 5 us")

// How fast and how steady the machine was.
#define RGM_MACHINE_POLICY(X)                                                                                \
    X(machine_least_looks, 5, "looks", "fewer say nothing, and so many slow ones in a row are a stretch")    \
    X(machine_around, 9, "looks", "whose median is the level of the one in their midst; at most 99")         \
    X(machine_slower, 1.15, "", "times the usual level, from which on a look is slow; a judgement")          \
    X(machine_usual_share, 0.2, "",                                                                          \
      "quantile of the levels that is the usual one: others only slow it down")                              \
    X(machine_errors, 5, "", "standard errors by which a stretch must lie above the looks in none")          \
    X(machine_pieces, 8, "", "of the run, whose medians say how steady it was; at most 64")                  \
    X(machine_steady, 0.10, "", "spread of these up to which the machine is called so; a judgement")         \
    X(machine_active, 0.1, "",                                                                               \
      "of an interval that threads must have been ready for, to tell how they waited")                       \
    X(machine_waiting, 0.03, "", "of the time that others had the processor, from which on it is told")      \
    X(machine_steal, 0.01, "", "of the processors that other machines took, likewise")                       \
    X(machine_throttled, 0.01, "", "of the time that a limit held back a process or a device, likewise")

// Kernels that repeat.
#define RGM_SEQUENCES_POLICY(X)                                                                              \
    X(sequences_min_length, 2, "kernels", "two kernels are the least that can be fused")                     \
    X(sequences_max_length, 64, "kernels",                                                                   \
      "a transformer layer; a longer repeat is told by its first kernels")                                   \
    X(sequences_min_count, 3, "occurrences", "twice may be chance")                                          \
    X(sequences_top, 50, "sequences", "a page; they are in order of what they can save")

// Dependencies that a trace does not record.
#define RGM_CRITICAL_PATH_POLICY(X)                                                                          \
    X(critical_clock_tolerance_ns, 2000, "ns",                                                               \
      "awaited work may seem to end this much after its wait: host and device clocks are fitted to 1 us")    \
    X(critical_orphan_gap_ns, 1.5e6, "ns",                                                                   \
      "work without a recorded launch follows its predecessor up to this gap (HTA's kernel-kernel limit)")   \
    X(critical_low_quantile, 0.05, "", "least launch latency and kernel gap of a run, without outliers")     \
    X(critical_behind_ns, 1e5, "ns",                                                                         \
      "launched work that began this much later ran behind another stream that was busy; chosen here, five " \
      "times what launching takes")                                                                          \
    X(critical_latency_ns, 1e6, "ns",                                                                        \
      "from a launch call to its work: beyond it that is called no latency; chosen here, as large as calls " \
      "that set something up")                                                                               \
    X(critical_tie_share, 0.05, "", "chains of host and device as long as the path but for this; chosen here")

// What counts as a difference of two runs.
#define RGM_DIFF_POLICY(X)                                                                                   \
    X(diff_least_share, 0.05, "", "difference of two single runs that is called none (5 %: nsys-ai's gate)") \
    X(diff_least_ns, 1000, "ns", "the same in absolute terms: the resolution of traces until 2024")

// What is drawn of a flame graph.
#define RGM_FLAME_POLICY(X)                                                                                  \
    X(flame_min_duration_ns, 10000, "ns", "FlameGraphGenerator's min_duration_us")                           \
    X(flame_max_depth, 50, "rows", "FlameGraphGenerator's max_depth")                                        \
    X(flame_small_share, 0.01, "", "FlameGraphGenerator's small_kernel_threshold_pct")                       \
    X(flame_collapse, 0, "", "1: host code that calls itself directly is one row")

// Clocks of the ranks.
#define RGM_RANKS_POLICY(X)                                                                                  \
    X(stragglers_clock_tolerance_ns, 1e6, "ns",                                                              \
      "hosts that NTP keeps together differ by up to a millisecond")                                         \
    X(ranks_cause_share, 0.5, "", "of a late arrival that one cause explains: more than half; chosen here")  \
    X(ranks_slow_transfer, 1.5, "", "times the median of like transfers: beyond, one is slow; chosen here")  \
    X(ranks_like_transfers, 4, "transfers", "of one kind, size and group size to have a median; chosen here")

// What limits a kernel or a piece of host code.
#define RGM_REGIMES_POLICY(X)                                                                                \
    X(regime_floor_factor, 2, "",                                                                            \
      "up to this many times the shortest kernel or the cost of the calls is overhead; chosen here")         \
    X(regime_near_share, 0.6, "", "of a roof: Nsight Compute calls what is below latency issues")            \
    X(regime_far_share, 0.2, "", "of both roofs: below, neither explains the time; chosen here")             \
    X(regime_balanced_margin, 0.15, "", "roofs that differ by less are equally near; chosen here")           \
    X(regime_error_share, 1.05, "", "of a roof: above, the work or the roof is wrong; chosen here")          \
    X(regime_least_confidence, 0.8, "", "probability below which there is no label; chosen here")            \
    X(regime_wait_share, 0.5, "", "processor time below this share of the time is waiting; chosen here")     \
    X(regime_part_share, 0.5, "",                                                                            \
      "a limit beside the roofs that takes this part of the time explains it: more than all others "         \
      "together")                                                                                            \
    X(regime_cache_margin, 2, "",                                                                            \
      "a working set within this factor of a cache's size may be inside or outside; chosen here")            \
    X(regime_assumed_floor_ns, 2000, "ns",                                                                   \
      "shortest kernel where it was not measured: 1.5 to 3 us is usual, which the next covers")              \
    X(regime_assumed_floor_spread, 0.5, "", "the same, relative half-width")                                 \
    X(regime_counter_spread, 0.05, "", "of what hardware counters say; chosen here")                         \
    X(regime_flops_spread, 0.1, "", "of operations by formula: tiles at the edges do more; chosen here")     \
    X(regime_shape_spread, 1, "",                                                                            \
      "of bytes by shapes, and of operations where a mask may halve them: a factor of two; chosen here")     \
    X(regime_pointwise_operations, 5, "", "per element; 1 for an addition, some 30 for an exponential")      \
    X(regime_pointwise_spread, 5, "", "of that: 0.8 to 30 operations; chosen here")                          \
    X(regime_main_kernel_share, 0.9, "",                                                                     \
      "of an operator's device time: a kernel with that much does its work; chosen here")                    \
    X(regime_known_share, 0.9, "",                                                                           \
      "of the time of kernels of one name: where the work is known for that much, it is judged")             \
    X(regime_host_inflation, 1.25, "",                                                                       \
      "a trace may have slowed the host by this factor; chosen here, to be replaced by a measurement")       \
    X(regime_host_inflation_stacks, 2, "", "the same with Python stacks: twice and more were observed")      \
    X(regime_sheet_low, 0.6, "",                                                                             \
      "of a datasheet's peak: what is reached at least, by published measurements")                          \
    X(regime_sheet_high, 0.95, "", "the same at most")                                                       \
    X(regime_unstated_spread, 0.1, "",                                                                       \
      "of a ceiling that states none: twice what equal GPUs of a node differ")                               \
    X(regime_tiny_grid, 0.05, "",                                                                            \
      "blocks per multiprocessor at which no roof can be near: one draws at most some four times its share " \
      "of the bandwidth")

// What to try next: when a rule speaks, and how its suggestion is ranked.
#define RGM_SUGGEST_POLICY(X)                                                                                \
    X(suggest_least_share, 0.02, "",                                                                         \
      "saving, as a share of the critical path, below which nothing is suggested: not worth a reader's "     \
      "time")                                                                                                \
    X(suggest_least_ns, 10000, "ns",                                                                         \
      "the same in absolute terms: ten ticks of the clock of traces until 2024")                             \
    X(suggest_waits, 100, "waits", "that a rule about waits avoids: it speaks below that share too")         \
    X(suggest_shown, 5, "suggestions", "that are shown at once; the rest is folded")                         \
    X(suggest_critical_share, 0.25, "",                                                                      \
      "possible saving of the path that makes a suggestion critical; a judgement")                           \
    X(suggest_high_share, 0.1, "", "the same for high")                                                      \
    X(suggest_medium_share, 0.03, "", "the same for medium; below it is low")                                \
    X(suggest_medium_weight, 0.5, "",                                                                        \
      "what a saving counts for when ranked with medium confidence; a judgement")                            \
    X(suggest_low_weight, 0.25, "", "the same with low confidence")                                          \
    X(suggest_launch_bound_share, 0.5, "", "kernels whose launch outlasts them, of those launched: most")    \
    X(suggest_host_share, 0.1, "", "the host's share of the path; a judgement")                              \
    X(suggest_python_share, 0.3, "", "Python functions on the path; a judgement")                            \
    X(suggest_unrecorded_share, 0.2, "", "TraceML's residual overhead: 20 % of a step is high")              \
    X(suggest_launch_outlier_ns, 50000, "ns", "HTA's limit of an outlier among runtime calls")               \
    X(suggest_outlier_launches, 10, "launches", "fewer may be chance")                                       \
    X(suggest_setup_call_ns, 1e6, "ns",                                                                      \
      "a call of the driver that is no wait takes microseconds when all is set up")                          \
    X(suggest_full_share, 0.1, "", "share of the time with a full queue; a judgement")                       \
    X(suggest_low_occupancy, 0.25, "", "a quarter of the warps that fit hides little latency; a judgement")  \
    X(suggest_busy_share, 0.5, "", "the TensorBoard plugin's and nsys' limit of GPU utilisation")            \
    X(suggest_long_gap_ns, 5e8, "ns", "nsys' gpu_gaps: 500 ms")                                              \
    X(suggest_small_copies, 100, "copies", "below it launching them costs less than a millisecond")          \
    X(suggest_exposed_copy_share, 0.05, "", "of the path; a judgement")                                      \
    X(suggest_stream_wait_share, 0.05, "", "of the path; a judgement")                                       \
    X(suggest_memory_share, 0.9, "", "the TensorBoard plugin's limit of memory in use")                      \
    X(suggest_fragmentation, 2, "", "TraceML: reserved by allocated")                                        \
    X(suggest_fragmentation_share, 0.3, "", "TraceML: with reserved at least this share of the device")      \
    X(suggest_growth_steps, 10, "steps", "fewer show no trend")                                              \
    X(suggest_growth_share, 0.05, "", "growth from the first third to the last; SageMaker: 5 points")        \
    X(suggest_loader_share, 0.05, "",                                                                        \
      "TensorFlow's profiler and the TensorBoard plugin: input of 5 % of a step")                            \
    X(suggest_outlier_steps_least, 100, "steps", "SageMaker's StepOutlier: steps that are needed")           \
    X(suggest_outlier_steps, 10, "steps", "the same: outliers, of which there must be more")                 \
    X(suggest_outlier_deviations, 3, "", "the same: standard deviations above the mean")                     \
    X(suggest_first_step_ratio, 2, "",                                                                       \
      "first step by the median of the others: compiling and tuning take more")                              \
    X(suggest_communication_share, 0.1, "", "the TensorBoard plugin's limit of exposed communication")       \
    X(suggest_small_message_bytes, 1048576, "bytes",                                                         \
      "first bucket of PyTorch's DDP: below it latency decides")                                             \
    X(suggest_small_collectives, 20, "collectives", "fewer cost little")                                     \
    X(suggest_straggler_share, 0.5, "", "waits of the others that one rank caused: more than half")          \
    X(suggest_imbalance, 0.1, "", "largest compute time of a rank by the mean, less 1")                      \
    X(suggest_dims_multiple, 8, "elements", "tensor cores take 16-bit operands in eights (TorchTidy)")       \
    X(suggest_optimizer_kernels, 50, "kernels",                                                              \
      "of one optimizer step: a foreach implementation launches some ten")                                   \
    X(suggest_loop_count, 10, "calls", "TorchTidy's for-loop indexing: repeated at least ten times")         \
    X(suggest_chain_length, 3, "kernels", "pointwise kernels in a row, as HTA's frequent sequences")         \
    X(suggest_top_kernel_share, 0.5, "", "UnifiedProfiler's rule: one kernel with most of the kernel time")  \
    X(suggest_top_kernel_path, 0.1, "", "of the path that it has at least; a judgement")                     \
    X(suggest_roof_ratio, 2, "", "device time by the time at the ceilings given")                            \
    X(suggest_small_gpu_ns, 1e6, "ns", "documented: GPU operations below 1 ms")                              \
    X(suggest_large_cpu_ns, 1e7, "ns", "documented: CPU operations above 10 ms")                             \
    X(suggest_large_cpu_bytes, 1e6, "bytes", "the program behind the specification: with more than 1 MB")    \
    X(suggest_batch_calls, 10, "calls", "documented: 10 calls or more of one operation")                     \
    X(suggest_batch_ns, 1e8, "ns", "the program behind the specification: of less than 100 ms each")         \
    X(suggest_memory_bytes, 1e8, "bytes", "documented: more than 100 MB")                                    \
    X(suggest_memory_heavy_share, 0.05, "", "of the memory that there is, where a run says so; a judgement") \
    X(suggest_cache_calls, 100, "calls", "documented: 100 calls or more")                                    \
    X(suggest_cache_ns, 1e6, "ns", "documented: of less than 1 ms each")                                     \
    X(suggest_scope_busy_share, 0.5, "", "documented: GPU utilisation below 50 %")                           \
    X(suggest_variation, 0.2, "", "coefficient of variation; the workloads' rule of high variance")          \
    X(suggest_samples, 20, "samples", "of a series, for a statement about it; a judgement")                  \
    X(suggest_utilization_percent, 70, "percent", "SageMaker's LowGPUUtilization: 95th percentile")          \
    X(suggest_fluctuation_percent, 10, "percent", "the same: 5th percentile of one that fluctuates")         \
    X(suggest_batch_memory_share, 0.7, "", "SageMaker's BatchSize: memory in use")                           \
    X(suggest_memory_full_share, 0.92, "", "TraceML's memory pressure")                                      \
    X(suggest_hot_celsius, 85, "celsius", "TraceML's limit of temperature")                                  \
    X(suggest_slowed_share, 0.05, "", "readings with a reason that slows the clocks; a judgement")           \
    X(suggest_clock_share, 0.9, "", "median clock under load by the highest seen; a judgement")              \
    X(suggest_sol_low_percent, 60, "percent",                                                                \
      "Nsight Compute: below it on both sides a kernel is bound by latency")                                 \
    X(suggest_sol_high_percent, 80, "percent", "Nsight Compute: above it a unit is saturated")               \
    X(suggest_unfused_share, 0.3, "", "additions and multiplications not fused, of all; a judgement")

// What limits a program.
#define RGM_VERDICT_POLICY(X)                                                                                \
    X(verdict_steps_least, 3, "steps", "fewer are not the program: the whole run is looked at")              \
    X(verdict_margin, 0.05, "", "shares that differ by less are tied; samples of a short run widen it")      \
    X(verdict_clear_share, 0.4, "", "of the window, from which on the first cause is clear; a judgement")    \
    X(verdict_clear_lead, 0.15, "", "before the second, likewise")                                           \
    X(verdict_device_share, 0.7, "", "of a device's time, from which on its work is the limit; a judgement") \
    X(verdict_wait_share, 0.1, "",                                                                           \
      "of its time that a device waits for one thing, from which on that is told")                           \
    X(verdict_outside, 0.05, "",                                                                             \
      "of a device's time outside of the steps, from which on these are looked at alone")                    \
    X(verdict_when_share, 0.2, "", "of the window that uneven steps or the first take beyond the usual one") \
    X(verdict_when_of_what, 0.6, "", "of the largest cause, from which on that explains it; a judgement")    \
    X(verdict_first_ratio, 3, "", "the first step by the usual one; warm-up of caches is below it")          \
    X(verdict_uneven_ratio, 2, "", "a step by the usual one, from which on it is told; a judgement")         \
    X(verdict_imports_ns, 1e9, "ns", "of anything else, from which on imports come last")                    \
    X(verdict_served, 0.1, "", "of the window that a server works, from which on its waiting comes last")    \
    X(verdict_small_ns, 6e4, "ns", "a module's call: calling an operator of PyTorch takes 5 to 20 us")       \
    X(verdict_small_share, 0.6, "", "of the modules' time in calls that are shorter; a judgement")           \
    X(verdict_small_calls, 10, "calls", "of such modules a step; a model of few layers is no loop of calls") \
    X(verdict_small_lines, 3, "lines", "outside of modules, found calling compiled code and within it")      \
    X(verdict_small_native, 0.33, "", "of a line's samples in compiled code, or it is Python; a judgement")  \
    X(verdict_small_calling, 0.1, "", "of their samples in Python: 1 us of a call of 10 us; a judgement")    \
    X(verdict_small_chance, 0.05, "",                                                                        \
      "that a line of such calls was not found in Python, to be none of them")                               \
    X(verdict_layer_share, 0.6, "", "of the modules' time that one of them has; a judgement")                \
    X(verdict_faults, 500, "faults/s", "of processor time; huge pages make few: 500 of 2 MiB are 1 GB/s")    \
    X(verdict_fault_ns, 1e6, "ns", "of one fault at most: a huge page on a slow machine")                    \
    X(verdict_small_fault_ns, 2e4, "ns", "of one of a small page at most: 0.5 to 5 us, on a slow machine")   \
    X(verdict_own_busy, 0.8, "",                                                                             \
      "of its processors that a program and its children use, from which on they crowd themselves")          \
    X(verdict_own_wanted, 2, "",                                                                             \
      "times its processors that they want, from which on they do whatever else runs")                       \
    X(verdict_own_told, 0.03, "",                                                                            \
      "of what they used, which recorded threads must have run for their waiting to tell of all")            \
    X(verdict_own_least, 0.1, "",                                                                            \
      "of the processors, which they must have used for that; who gets less is put last by the system")      \
    X(verdict_displaced, 0.1, "",                                                                            \
      "of the samples without a processor, from which on helpers of compiled code lack them too")            \
    X(verdict_held_up, 10, "samples",                                                                        \
      "found running, which tell as much of where the sampler held a thread up as all found ready")          \
    X(verdict_inner_share, 0.5, "", "of a line's samples that a function called there has, to be named")     \
    X(verdict_calling, 0.8, "",                                                                              \
      "of a line's samples in calls that keep the lock: without its own steps it saves a fifth")             \
    X(verdict_others_least, 0.05, "", "of the processors that others used: below it they held up nothing")   \
    X(verdict_others_most, 0.4, "", "of the time that others had: then a step tells nothing, a run little")  \
    X(verdict_children, 0.2, "",                                                                             \
      "of a processor that other processes of the program use, from which on it waits for them; less "       \
      "where other programs have the processors")                                                            \
    X(verdict_polls_ns, 5e8, "ns",                                                                           \
      "in which a thread sleeps and does next to nothing else: shorter stretches are pauses; a judgement")   \
    X(verdict_polls_share, 0.75, "",                                                                         \
      "of such a stretch that others work, from which on it polls for them; a judgement")                    \
    X(verdict_together, 0.5, "",                                                                             \
      "of the time from the first step of either to the last, in which processes that step together "        \
      "both have steps; a judgement")                                                                        \
    X(verdict_helpers, 0.2, "",                                                                              \
      "of a processor that threads of libraries use, from which on a call that waits is at work")            \
    X(verdict_helpers_least, 0.05, "",                                                                       \
      "the same within a module or a backward pass, where they are expected to be; a judgement")             \
    X(verdict_blocks, 1000, "blocks/s", "of processor time; of 512 bytes: half a megabyte")                  \
    X(verdict_system_share, 0.2, "",                                                                         \
      "of the time that the program had, spent in the kernel: below it faults are not told")                 \
    X(verdict_system_most, 0.5, "",                                                                          \
      "of the processor time, spent in the kernel, from which on compiled code calls rather than computes")  \
    X(verdict_looked_at, 0.5, "",                                                                            \
      "of the window after its imports, for which the kernel's part has to be known to be told")             \
    X(verdict_unseen_ns, 5e8, "ns",                                                                          \
      "without a sample: left out; at the end of the window, and more than half: none tells; a judgement")   \
    X(verdict_growth_bytes, 5e7, "bytes", "of growth over three fifths of the window; allocators hold less") \
    X(verdict_growth_share, 0.1, "", "the same as a share of what there was")

#define RGM_POLICY(X)                                                                                        \
    RGM_TIMES_POLICY(X)                                                                                      \
    RGM_WAITING_POLICY(X)                                                                                    \
    RGM_MACHINE_POLICY(X)                                                                                    \
    RGM_SEQUENCES_POLICY(X)                                                                                  \
    RGM_CRITICAL_PATH_POLICY(X)                                                                              \
    RGM_DIFF_POLICY(X)                                                                                       \
    RGM_FLAME_POLICY(X)                                                                                      \
    RGM_RANKS_POLICY(X)                                                                                      \
    RGM_REGIMES_POLICY(X)                                                                                    \
    RGM_SUGGEST_POLICY(X)                                                                                    \
    RGM_VERDICT_POLICY(X)

typedef struct {
#define RGM_POLICY_FIELD(name, initial, unit, source) double name;
    RGM_POLICY(RGM_POLICY_FIELD)
#undef RGM_POLICY_FIELD
} rgm_policy;

#define RGM_POLICY_DEFAULT(name, initial, unit, source) .name = (initial),
#define RGM_POLICY_DEFAULTS                                                                                  \
    (rgm_policy) { RGM_POLICY(RGM_POLICY_DEFAULT) }

#endif
