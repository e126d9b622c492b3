// SPDX-License-Identifier: Apache-2.0
// Results from hardware counters.
#ifndef RGM_MODEL_RESULTS_COUNTERS_H
#define RGM_MODEL_RESULTS_COUNTERS_H

// Result of the counter_values analysis: one row is one series of a kernel name, of an operator or of one
// kernel. By source; then by kernel where each has a row; then by name and by series.
#define RGM_COUNTER_VALUES(X)                                                                                \
    X(name, name, "", 0, "Kernel name, or operator; empty where no operator is known.")                      \
    X(name, series, "", 0, "Counter.")                                                                       \
    X(u8, source, "", 0, "An index of COUNTER_SOURCES: profiler ranges, or samples of the device.")          \
    X(u32, span, "", 0, "Row in `spans` of the first range or kernel.")                                      \
    X(i32, target, "", -1, "Row of the kernel or call that it is paired with, -1 for none.")                 \
    X(i64, count, "", 0, "Ranges, or kernels that samples cover.")                                           \
    X(i64, unpaired, "", 0, "Ranges of them that could not be paired with a kernel or a call.")              \
    X(i64, time_ns, "ns", 0, "Time of the kernels that samples cover; 0 for ranges.")                        \
    X(f64, total, "", NAN, "Sum of the values of ranges; NaN for samples.")                                  \
    X(f64, mean, "", NAN, "Mean; of samples weighted by time.")                                              \
    X(f64, min, "", NAN, "Smallest value of one kernel.")                                                    \
    X(f64, max, "", NAN, "Largest value of one kernel.")

// Result of the counter_flops analysis: one row is one kernel name, one operator or one kernel; most first.
#define RGM_COUNTER_FLOPS(X)                                                                                 \
    X(name, name, "", 0, "Kernel name, or operator; empty where no operator is known.")                      \
    X(u32, span, "", 0, "Row in `spans` of the first range.")                                                \
    X(i64, count, "", 0, "Ranges.")                                                                          \
    X(f64, flops, "FLOP", 0, "Operations of all precisions; one fused multiply-add is two.")                 \
    X(f64, half_flops, "FLOP", 0, "Operations on half precision.")                                           \
    X(f64, single_flops, "FLOP", 0, "Operations on single precision.")                                       \
    X(f64, double_flops, "FLOP", 0, "Operations on double precision.")

// Result of the stall_shares analysis: one row is one reason of one name. The name with the most samples
// first; of a name the reason, or the instruction, with the most.
#define RGM_STALL_SHARES(X)                                                                                  \
    X(name, name, "", 0,                                                                                     \
      "Kernel function; the scope, where that is asked for: empty where launches of the kernel are in "      \
      "several, in none, or not in the recording. Empty by reason.")                                         \
    X(name, reason, "", 0, "Why the warp did not go on, in NVIDIA's words.")                                 \
    X(i64, offset, "bytes", -1, "Of the instruction in the function, where instructions are told apart.")    \
    X(i64, cubin, "", 0, "Number by which CUPTI tells binaries apart, where instructions are.")              \
    X(name, file, "", 0, "Of the source, where lines or instructions are told apart and it is known.")       \
    X(i64, line, "", 0, "Of the source, 0 where it is not known.")                                           \
    X(i64, samples, "", 0, "Samples that found a warp there.")                                               \
    X(f64, share, "", NAN, "Of all samples with a record, 0 to 1.")                                          \
    X(f64, name_share, "", NAN, "Of the samples of the same name, 0 to 1.")                                  \
    X(i64, not_issued, "", 0, "Of the samples those in which the scheduler issued nothing at all.")          \
    X(f64, not_issued_share, "", NAN, "Of the samples of the row, 0 to 1.")                                  \
    X(i64, launches, "", -1, "Kernels of that name in the recording, -1 where kernels were not recorded.")   \
    X(name, scope, "", 0, "The one scope, by name, whose launches all of them are; empty elsewhere.")        \
    X(i32, scopes, "", -1, "In how many scopes, by name, it was launched, none counted as one; -1 not known.")

#define RGM_COUNTERS_RESULTS(X)                                                                              \
    X(counter_values, RGM_COUNTER_VALUES, "A hardware counter of a kernel or an operator.")                  \
    X(counter_flops, RGM_COUNTER_FLOPS, "Floating-point operations that the hardware counted.")              \
    X(stall_shares, RGM_STALL_SHARES, "Samples of warps of a kernel, by why they did not go on.")

#endif
