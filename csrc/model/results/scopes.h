// SPDX-License-Identifier: Apache-2.0
// Results about the scopes that a program recorded itself.
#ifndef RGM_MODEL_RESULTS_SCOPES_H
#define RGM_MODEL_RESULTS_SCOPES_H

// Result of the summary analysis: one row is one operation on one declared device.
#define RGM_SUMMARY(X)                                                                                       \
    X(name, operation, "", 0, "Name given to the scope.")                                                    \
    X(u8, device, "", 0, "Declared device: an index of DEVICES.")                                            \
    X(u8, backend, "", 0, "What ran in the block: an index of BACKENDS.")                                    \
    X(i64, call_count, "", 0, "Recorded calls, recursive ones included.")                                    \
    X(i64, failed_count, "", 0, "Calls that ended with an exception.")                                       \
    X(i64, recursive_count, "", 0, "Calls inside another call of the same operation.")                       \
    X(i64, total_ns, "ns", 0, "Sum over calls not inside another call of the same operation.")               \
    X(i64, exclusive_ns, "ns", 0, "Time in the operation itself, without the scopes nested in it.")          \
    X(f64, share, "", NAN, "exclusive_ns over the sum of all operations' exclusive_ns.")                     \
    X(f64, mean_ns, "ns", NAN, "Mean duration over calls.")                                                  \
    X(i64, min_ns, "ns", 0, "Shortest call.")                                                                \
    X(i64, max_ns, "ns", 0, "Longest call.")                                                                 \
    X(f64, std_dev_ns, "ns", NAN, "Population standard deviation (divisor n), by Welford's recurrence.")     \
    X(f64, median_ns, "ns", NAN, "50th percentile, linear interpolation (Hyndman-Fan type 7).")              \
    X(f64, p95_ns, "ns", NAN, "95th percentile, same rule.")                                                 \
    X(f64, p99_ns, "ns", NAN, "99th percentile, same rule.")                                                 \
    X(f64, cv, "", NAN, "Coefficient of variation: std_dev_ns / mean_ns.")                                   \
    X(f64, memory_allocated_bytes, "bytes", NAN, "Mean change of allocated memory over measured calls.")     \
    X(f64, memory_peak_bytes, "bytes", NAN, "Largest memory seen inside any call.")                          \
    X(i64, memory_count, "", 0, "Calls with a memory measurement.")                                          \
    X(i64, first_ns, "ns", 0, "Start of the first call.")                                                    \
    X(i64, last_ns, "ns", 0, "End of the last call.")

// Result of the entries analysis: one row is one scope, beside the columns of its span.
#define RGM_ENTRIES(X)                                                                                       \
    X(u32, span, "", 0, "Row in `spans`.")                                                                   \
    X(i32, depth, "", 0, "Number of enclosing scopes on its lane.")                                          \
    X(i64, exclusive_ns, "ns", 0, "Duration without the scopes nested in it.")                               \
    X(f64, memory_allocated_bytes, "bytes", NAN, "Allocated memory at the end minus at the start.")          \
    X(f64, memory_peak_bytes, "bytes", NAN, "Largest memory seen inside the scope.")                         \
    X(u8, memory_source, "", 0, "An index of MEMORY_SOURCES.")

#define RGM_SCOPES_RESULTS(X)                                                                                \
    X(summary, RGM_SUMMARY, "Statistics of one operation.")                                                  \
    X(entries, RGM_ENTRIES, "Derived values of one scope.")

#endif
