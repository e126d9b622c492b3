// SPDX-License-Identifier: Apache-2.0
// Results of comparing two runs.
#ifndef RGM_MODEL_RESULTS_TRACE_DIFF_H
#define RGM_MODEL_RESULTS_TRACE_DIFF_H

// Result of the trace_diff analysis: one row is what belongs together by name (group_by 0: operators, scopes
// and annotations), by kernel (1) or by the kernels below an outermost operator (2). The largest difference
// first.
#define RGM_TRACE_DIFF(X)                                                                                    \
    X(name, name, "", 0, "Name in the current run; \"\" where it has none or no operator is known.")         \
    X(name, baseline_name, "", 0, "Name in the baseline, an id of the baseline's strings.")                  \
    X(u8, change, "", 0, "An index of CHANGES. Replaced: another kernel or sequence in the same place.")     \
    X(i64, baseline_calls, "", 0, "Calls in the baseline.")                                                  \
    X(i64, calls, "", 0, "Calls in the current run.")                                                        \
    X(i64, matched, "", 0, "Calls of both that stand in the same place of the tree.")                        \
    X(i64, baseline_host_ns, "ns", 0, "Host time without nested operators; of sequences, with them.")        \
    X(i64, host_ns, "ns", 0, "The same in the current run.")                                                 \
    X(i64, baseline_device_ns, "ns", 0, "Sum of the device work caused; by operator, caused directly.")      \
    X(i64, device_ns, "ns", 0, "The same in the current run.")                                               \
    X(i64, baseline_kernels, "", 0, "Pieces of device work.")                                                \
    X(i64, kernels, "", 0, "The same in the current run.")                                                   \
    X(i64, difference_ns, "ns", 0, "Host and device time of the current run minus the baseline's.")          \
    X(i64, baseline_matched_ns, "ns", 0, "Host and device time of the matched calls in the baseline.")       \
    X(i64, matched_ns, "ns", 0, "The same in the current run.")                                              \
    X(i32, baseline_span, "", -1, "An example in the baseline.")                                             \
    X(i32, span, "", -1, "An example in the current run.")

// Result of the trace_diff_pairs analysis: one row is two spans in the same place of both trees.
#define RGM_TRACE_DIFF_PAIRS(X)                                                                              \
    X(i32, baseline_span, "", -1, "Row in `spans` of the baseline.")                                         \
    X(i32, span, "", -1, "Row in `spans` of the current run.")                                               \
    X(i32, depth, "", -1, "Number of enclosing spans of the tree, -1 for device work.")

#define RGM_TRACE_DIFF_RESULTS(X)                                                                            \
    X(trace_diff, RGM_TRACE_DIFF, "What changed between two runs.")                                          \
    X(trace_diff_pairs, RGM_TRACE_DIFF_PAIRS, "Two spans in the same place of two runs.")

#endif
