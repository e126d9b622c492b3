// SPDX-License-Identifier: Apache-2.0
// Results about kernels that follow one another again and again.
#ifndef RGM_MODEL_RESULTS_SEQUENCES_H
#define RGM_MODEL_RESULTS_SEQUENCES_H

// Result of the sequences analysis: one row is one repeated sequence of compute kernels on a stream, most gap
// time first. Its kernels are told by sequence_kernels, or by the rows of its first occurrence.
#define RGM_SEQUENCES(X)                                                                                     \
    X(i64, hash, "", 0, "Of the kernel names, the same in every run.")                                       \
    X(i32, length, "", 0, "Kernels in the sequence.")                                                        \
    X(u8, cut, "", 0, "1 when the repeat goes on beyond sequences_max_length.")                              \
    X(i64, count, "", 0, "Occurrences that do not overlap, counted from the left.")                          \
    X(i64, occurrences, "", 0, "Occurrences, overlapping ones included.")                                    \
    X(i64, kernel_ns, "ns", 0, "Durations of the kernels of those that do not overlap.")                     \
    X(i64, gap_ns, "ns", 0, "Gaps between them: what fusion, or launching as a graph, could save at most.")  \
    X(name, first_name, "", 0, "Name of the first kernel.")                                                  \
    X(name, last_name, "", 0, "Name of the last kernel.")                                                    \
    X(i64, operators, "", 0, "Operators that launch the kernels of the first occurrence.")                   \
    X(name, first_operator, "", 0, "Name of the operator of the first kernel.")                              \
    X(name, last_operator, "", 0, "Name of the operator of the last kernel.")                                \
    X(u32, first_span, "", 0, "Row in `spans` of the first kernel of the first occurrence.")                 \
    X(u32, last_span, "", 0, "Row in `spans` of the last kernel of the first occurrence.")

// Result of the sequence_kernels analysis: one row is one kernel of a sequence, by sequence and position.
#define RGM_SEQUENCE_KERNELS(X)                                                                              \
    X(i32, sequence, "", 0, "Row of the sequence in the result of `sequences`.")                             \
    X(i32, position, "", 0, "Place in the sequence, from 0.")                                                \
    X(name, name, "", 0, "Kernel name.")                                                                     \
    X(name, op, "", 0, "Name of the operator that launches it in the first occurrence.")                     \
    X(u32, span, "", 0, "Row in `spans` of it in the first occurrence.")                                     \
    X(i64, count, "", 0, "Occurrences of the sequence that do not overlap.")                                 \
    X(i64, total_ns, "ns", 0, "Sum of its durations over those.")                                            \
    X(i64, gap_ns, "ns", 0, "Sum of the gaps in front of it, 0 for the first.")

#define RGM_SEQUENCES_RESULTS(X)                                                                             \
    X(sequences, RGM_SEQUENCES, "A sequence of kernels that repeats.")                                       \
    X(sequence_kernels, RGM_SEQUENCE_KERNELS, "One kernel of a sequence.")

#endif
