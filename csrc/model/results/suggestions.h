// SPDX-License-Identifier: Apache-2.0
// Results about what to try next: the rules, the suggestions that they gave, and the figures behind each.
#ifndef RGM_MODEL_RESULTS_SUGGESTIONS_H
#define RGM_MODEL_RESULTS_SUGGESTIONS_H

// X(NAME, token): what a suggestion changes.
#define RGM_SUGGESTION_TYPES(X)                                                                              \
    X(ROUTING, "routing")                                                                                    \
    X(BATCHING, "batching")                                                                                  \
    X(MEMORY, "memory")                                                                                      \
    X(CACHING, "caching")                                                                                    \
    X(ALGORITHM, "algorithm")                                                                                \
    X(PARALLELIZATION, "parallelization")

// X(NAME, token), most urgent first.
#define RGM_PRIORITIES(X)                                                                                    \
    X(CRITICAL, "critical")                                                                                  \
    X(HIGH, "high")                                                                                          \
    X(MEDIUM, "medium")                                                                                      \
    X(LOW, "low")

// X(NAME, token): of an effort what it costs to try, of a confidence how directly the evidence shows it.
#define RGM_DEGREES(X)                                                                                       \
    X(LOW, "low")                                                                                            \
    X(MEDIUM, "medium")                                                                                      \
    X(HIGH, "high")

// Every rule: X(NAME, token, TYPE, EFFORT, tier, reference). Where claims overlap, a lower tier counts first:
// 0 names a cause by the spans that are it, 1 by gaps that follow from it, 2 a sort of cause, 3 and 4 only
// where the time goes. The reference is the number of the rule in docs/suggestions.md's list of rules that
// other tools have, 0 for one of our own.
#define RGM_LAUNCH_RULES(X)                                                                                  \
    X(LAUNCH_BOUND, "launch_bound", BATCHING, MEDIUM, 2, 27)                                                 \
    X(REPEATED_SEQUENCE, "repeated_sequence", BATCHING, MEDIUM, 1, 29)                                       \
    X(LAUNCH_OUTLIERS, "launch_outliers", CACHING, LOW, 0, 27)                                               \
    X(SETUP_CALLS, "setup_calls", CACHING, LOW, 0, 37)                                                       \
    X(QUEUE_FULL, "queue_full", ALGORITHM, HIGH, 2, 28)                                                      \
    X(FEW_BLOCKS, "few_blocks", PARALLELIZATION, MEDIUM, 0, 22)                                              \
    X(ODD_BLOCK, "odd_block", ALGORITHM, MEDIUM, 0, 23)                                                      \
    X(LOW_OCCUPANCY, "low_occupancy", ALGORITHM, HIGH, 2, 23)

#define RGM_HOST_RULES(X)                                                                                    \
    X(HOST_BOUND, "host_bound", ALGORITHM, MEDIUM, 3, 26)                                                    \
    X(PYTHON_OVERHEAD, "python_overhead", ALGORITHM, MEDIUM, 2, 40)                                          \
    X(GC_PAUSE, "gc_pause", MEMORY, LOW, 0, 0)                                                               \
    X(COMPILE_IN_WINDOW, "compile_in_window", CACHING, LOW, 0, 0)                                            \
    X(UNRECORDED_HOST, "unrecorded_host", ALGORITHM, LOW, 3, 40)                                             \
    X(DEVICE_IDLE, "device_idle", PARALLELIZATION, MEDIUM, 4, 2)                                             \
    X(LONG_GAPS, "long_gaps", PARALLELIZATION, MEDIUM, 3, 20)

#define RGM_COPY_RULES(X)                                                                                    \
    X(PAGEABLE_COPIES, "pageable_copies", MEMORY, LOW, 0, 16)                                                \
    X(SYNC_COPIES, "sync_copies", MEMORY, LOW, 0, 17)                                                        \
    X(SYNC_MEMSET, "sync_memset", MEMORY, LOW, 0, 18)                                                        \
    X(SMALL_COPIES, "small_copies", BATCHING, MEDIUM, 0, 0)                                                  \
    X(EXPOSED_COPIES, "exposed_copies", PARALLELIZATION, MEDIUM, 2, 0)                                       \
    X(LAYOUT_CONVERSIONS, "layout_conversions", MEMORY, LOW, 0, 45)                                          \
    X(CONTIGUOUS_COPIES, "contiguous_copies", MEMORY, MEDIUM, 0, 45)                                         \
    X(CASTS, "casts", ALGORITHM, MEDIUM, 0, 0)                                                               \
    X(DEVICE_COPIES, "device_copies", MEMORY, MEDIUM, 2, 0)                                                  \
    X(CREATED_ON_HOST, "created_on_host", MEMORY, LOW, 0, 8)

#define RGM_SYNC_RULES(X)                                                                                    \
    X(ITEM_SYNC, "item_sync", ALGORITHM, LOW, 1, 19)                                                         \
    X(SHAPE_SYNC, "shape_sync", ALGORITHM, MEDIUM, 1, 19)                                                    \
    X(TO_HOST_SYNC, "to_host_sync", ALGORITHM, LOW, 1, 19)                                                   \
    X(EXPLICIT_SYNC, "explicit_sync", ALGORITHM, LOW, 1, 19)                                                 \
    X(NEEDLESS_SYNC, "needless_sync", ALGORITHM, LOW, 0, 19)                                                 \
    X(ALLOCATOR_CALLS, "allocator_calls", MEMORY, LOW, 0, 0)                                                 \
    X(STREAM_WAITS, "stream_waits", PARALLELIZATION, MEDIUM, 0, 26)

#define RGM_MEMORY_RULES(X)                                                                                  \
    X(MEMORY_NEAR_LIMIT, "memory_near_limit", MEMORY, MEDIUM, 0, 4)                                          \
    X(MEMORY_FRAGMENTATION, "memory_fragmentation", MEMORY, LOW, 0, 41)                                      \
    X(MEMORY_GROWTH, "memory_growth", MEMORY, MEDIUM, 0, 41)                                                 \
    X(ZERO_GRAD, "zero_grad", MEMORY, LOW, 0, 13)

#define RGM_INPUT_RULES(X)                                                                                   \
    X(DATA_LOADER, "data_loader", PARALLELIZATION, LOW, 2, 1)                                                \
    X(LOADER_WITHOUT_WORKERS, "loader_without_workers", PARALLELIZATION, LOW, 0, 12)                         \
    X(STEP_OUTLIERS, "step_outliers", ALGORITHM, MEDIUM, 4, 36)                                              \
    X(SLOW_FIRST_STEP, "slow_first_step", CACHING, LOW, 3, 0)

#define RGM_COMMUNICATION_RULES(X)                                                                           \
    X(EXPOSED_COMMUNICATION, "exposed_communication", PARALLELIZATION, MEDIUM, 2, 7)                         \
    X(SMALL_COLLECTIVES, "small_collectives", BATCHING, LOW, 0, 0)                                           \
    X(DATA_PARALLEL, "data_parallel", PARALLELIZATION, MEDIUM, 0, 5)                                         \
    X(GLOO_COLLECTIVES, "gloo_collectives", PARALLELIZATION, LOW, 0, 6)                                      \
    X(STRAGGLER, "straggler", PARALLELIZATION, HIGH, 0, 39)                                                  \
    X(RANK_IMBALANCE, "rank_imbalance", PARALLELIZATION, HIGH, 0, 29)

#define RGM_OPERATOR_RULES(X)                                                                                \
    X(FP32_MATMUL, "fp32_matmul", ALGORITHM, LOW, 0, 10)                                                     \
    X(TENSOR_CORES_UNUSED, "tensor_cores_unused", ALGORITHM, LOW, 0, 3)                                      \
    X(HALF_DIMS, "half_dims", ALGORITHM, LOW, 0, 15)                                                         \
    X(SINGLE_TENSOR_OPTIMIZER, "single_tensor_optimizer", BATCHING, LOW, 0, 11)                              \
    X(LOOP_INDEXING, "loop_indexing", ALGORITHM, MEDIUM, 0, 9)                                               \
    X(CONV_BIAS_NORM, "conv_bias_norm", ALGORITHM, LOW, 0, 14)                                               \
    X(ATTENTION_MATH, "attention_math", ALGORITHM, LOW, 0, 0)                                                \
    X(POINTWISE_CHAIN, "pointwise_chain", BATCHING, MEDIUM, 2, 0)                                            \
    X(DOUBLE_PRECISION, "double_precision", ALGORITHM, LOW, 0, 0)                                            \
    X(TOP_KERNEL, "top_kernel", ALGORITHM, HIGH, 4, 44)                                                      \
    X(FAR_FROM_ROOF, "far_from_roof", ALGORITHM, HIGH, 3, 46)

#define RGM_SCOPE_RULES(X)                                                                                   \
    X(SMALL_GPU_SCOPE, "small_gpu_scope", ROUTING, LOW, 2, 44)                                               \
    X(LARGE_CPU_SCOPE, "large_cpu_scope", ROUTING, HIGH, 3, 44)                                              \
    X(REPEATED_SCOPE, "repeated_scope", BATCHING, MEDIUM, 2, 44)                                             \
    X(MEMORY_HEAVY_SCOPE, "memory_heavy_scope", MEMORY, MEDIUM, 2, 44)                                       \
    X(CACHEABLE_SCOPE, "cacheable_scope", CACHING, LOW, 3, 44)                                               \
    X(IDLE_SCOPE, "idle_scope", PARALLELIZATION, MEDIUM, 3, 44)                                              \
    X(VARIABLE_SCOPE, "variable_scope", ALGORITHM, MEDIUM, 3, 44)

#define RGM_TELEMETRY_RULES(X)                                                                               \
    X(LOW_UTILIZATION, "low_utilization", PARALLELIZATION, MEDIUM, 4, 33)                                    \
    X(FLUCTUATING_UTILIZATION, "fluctuating_utilization", PARALLELIZATION, MEDIUM, 4, 33)                    \
    X(BATCH_SIZE, "batch_size", BATCHING, LOW, 4, 30)                                                        \
    X(DEVICE_MEMORY_GROWTH, "device_memory_growth", MEMORY, MEDIUM, 0, 34)                                   \
    X(DEVICE_MEMORY_FULL, "device_memory_full", MEMORY, MEDIUM, 0, 41)                                       \
    X(HOT_DEVICE, "hot_device", ALGORITHM, HIGH, 0, 42)                                                      \
    X(POWER_LIMITED, "power_limited", ALGORITHM, HIGH, 0, 42)                                                \
    X(THERMAL_SLOWDOWN, "thermal_slowdown", ALGORITHM, HIGH, 0, 0)                                           \
    X(CLOCK_DROP, "clock_drop", ALGORITHM, LOW, 0, 0)

#define RGM_COUNTER_RULES(X)                                                                                 \
    X(LATENCY_BOUND_KERNEL, "latency_bound_kernel", ALGORITHM, HIGH, 2, 22)                                  \
    X(MEMORY_BOUND_KERNEL, "memory_bound_kernel", BATCHING, MEDIUM, 2, 22)                                   \
    X(UNFUSED_ARITHMETIC, "unfused_arithmetic", ALGORITHM, MEDIUM, 2, 25)

#define RGM_SUGGESTION_RULES(X)                                                                              \
    RGM_LAUNCH_RULES(X)                                                                                      \
    RGM_HOST_RULES(X)                                                                                        \
    RGM_COPY_RULES(X)                                                                                        \
    RGM_SYNC_RULES(X)                                                                                        \
    RGM_MEMORY_RULES(X)                                                                                      \
    RGM_INPUT_RULES(X)                                                                                       \
    RGM_COMMUNICATION_RULES(X)                                                                               \
    RGM_OPERATOR_RULES(X)                                                                                    \
    RGM_SCOPE_RULES(X)                                                                                       \
    RGM_TELEMETRY_RULES(X)                                                                                   \
    RGM_COUNTER_RULES(X)

// What a figure of the evidence is: X(NAME, token, unit, doc).
#define RGM_QUANTITIES(X)                                                                                    \
    X(COUNT, "count", "", "how many of them there are")                                                      \
    X(PATH_NS, "path_ns", "ns", "time of them on the critical path")                                         \
    X(PATH_SHARE, "path_share", "share", "path_ns of the whole path")                                        \
    X(SAVED_SHARE, "saved_share", "share", "of the path that it saves at most, if nothing else is changed")  \
    X(TOTAL_NS, "total_ns", "ns", "sum of their durations")                                                  \
    X(MEAN_NS, "mean_ns", "ns", "mean duration")                                                             \
    X(LONGEST_NS, "longest_ns", "ns", "longest of them")                                                     \
    X(IDLE_NS, "idle_ns", "ns", "time in which the device had nothing to do")                                \
    X(BUSY_SHARE, "busy_share", "share", "time in which the device worked")                                  \
    X(SHARE, "share", "share", "share of those that the rule speaks of")                                     \
    X(BYTES, "bytes", "bytes", "bytes that they move or occupy")                                             \
    X(LIMIT_BYTES, "limit_bytes", "bytes", "memory of the device")                                           \
    X(RATE, "rate", "bytes/s", "their bandwidth")                                                            \
    X(BEST_RATE, "best_rate", "bytes/s", "the best bandwidth for the same, measured in this run or given")   \
    X(RATIO, "ratio", "", "ratio of the two figures that the rule compares")                                 \
    X(PERCENT, "percent", "percent", "reading of the device")                                                \
    X(CELSIUS, "celsius", "celsius", "temperature")                                                          \
    X(MEGAHERTZ, "megahertz", "MHz", "clock")                                                                \
    X(FLOP_RATE, "flop_rate", "FLOP/s", "arithmetic that was done a second")                                 \
    X(ROOF_NS, "roof_ns", "ns", "time that the work would need at the ceilings given")                       \
    X(STEPS, "steps", "", "steps of the training loop that were looked at")                                  \
    X(RANK, "rank", "", "rank of the job")                                                                   \
    X(OVERHEAD_NS, "overhead_ns", "ns", "host time beyond device time, measured")

// Result of the suggestion engine: one row is one suggestion, the most valuable first; those that others
// cover are last. Saved times of all rows never add up to more than the path.
#define RGM_SUGGESTIONS(X)                                                                                   \
    X(u8, rule, "", 0, "An index of SUGGESTION_RULES.")                                                      \
    X(u8, type, "", 0, "An index of SUGGESTION_TYPES.")                                                      \
    X(u8, priority, "", 0, "An index of PRIORITIES, by saved_high_ns and confidence.")                       \
    X(name, subject, "", 0, "Operation, kernel, call or series that it is about, \"\" for the run.")         \
    X(i64, span, "", -1, "Row in `spans` of an example, -1 for none.")                                       \
    X(i64, current_ns, "ns", 0, "What it takes now: sum of durations, overlaps counted more than once.")     \
    X(i64, path_ns, "ns", 0, "Part of the critical path that it is about.")                                  \
    X(f64, path_share, "", NAN, "path_ns of the whole path.")                                                \
    X(u8, bounded, "", 0, "1 where the run allows a bound of what it saves.")                                \
    X(i64, saved_low_ns, "ns", 0,                                                                            \
      "At least this is saved, as far as the model of the path goes; 0 where not bounded.")                  \
    X(i64, saved_high_ns, "ns", 0, "At most this is saved, without what suggestions before it save.")        \
    X(i64, idle_ns, "ns", -1,                                                                                \
      "Time of the path in which the device has nothing to do, where that bounds saved_high_ns; else -1.")   \
    X(f64, speedup_low, "", NAN, "Path over path without saved_low_ns.")                                     \
    X(f64, speedup_high, "", NAN, "Path over path without saved_high_ns; infinite where all of it goes.")    \
    X(u8, confidence, "", 0, "An index of DEGREES: how directly the evidence shows it.")                     \
    X(u8, effort, "", 0, "An index of DEGREES: what it costs to try.")                                       \
    X(i32, merged_into, "", -1, "Row of the suggestion that already counts its time, -1 for none.")          \
    X(i64, whole_ns, "ns", 0, "Length of the critical path, the same in all rows.")

#define RGM_SUGGESTION_EVIDENCE(X)                                                                           \
    X(i32, suggestion, "", 0, "Row in `suggestions`.")                                                       \
    X(u8, quantity, "", 0, "An index of QUANTITIES, whose units are those of QUANTITY_UNITS.")               \
    X(f64, value, "", NAN, "What the run shows.")                                                            \
    X(f64, threshold, "", NAN, "What the rule compares it with, NaN for a figure that is only shown.")       \
    X(i64, span, "", -1, "Row in `spans` that shows it, -1 for none.")

#define RGM_SUGGESTIONS_RESULTS(X)                                                                           \
    X(suggestions, RGM_SUGGESTIONS, "Something to try, and what it can save.")                               \
    X(suggestion_evidence, RGM_SUGGESTION_EVIDENCE, "A figure behind a suggestion.")

#define RGM_SUGGESTION_TYPE_ENUM(name, token) RGM_SUGGESTION_##name,
#define RGM_PRIORITY_ENUM(name, token) RGM_PRIORITY_##name,
#define RGM_DEGREE_ENUM(name, token) RGM_DEGREE_##name,
#define RGM_RULE_ENUM(name, token, type, effort, tier, reference) RGM_RULE_##name,
#define RGM_QUANTITY_ENUM(name, token, unit, doc) RGM_QUANTITY_##name,
typedef enum { RGM_SUGGESTION_TYPES(RGM_SUGGESTION_TYPE_ENUM) RGM_SUGGESTION_TYPE_COUNT } rgm_suggestion_type;
typedef enum { RGM_PRIORITIES(RGM_PRIORITY_ENUM) RGM_PRIORITY_COUNT } rgm_priority;
typedef enum { RGM_DEGREES(RGM_DEGREE_ENUM) RGM_DEGREE_COUNT } rgm_degree;
typedef enum { RGM_SUGGESTION_RULES(RGM_RULE_ENUM) RGM_RULE_COUNT } rgm_suggestion_rule;
typedef enum { RGM_QUANTITIES(RGM_QUANTITY_ENUM) RGM_QUANTITY_END } rgm_quantity;

#endif
