// SPDX-License-Identifier: Apache-2.0
// Results about samples of host stacks.
#ifndef RGM_MODEL_RESULTS_SAMPLES_H
#define RGM_MODEL_RESULTS_SAMPLES_H

// Result of the lines analysis: one row is a line of a function, or a function.
#define RGM_LINES(X)                                                                                         \
    X(name, function, "", 0, "Qualified name of the function.")                                              \
    X(name, file, "", 0, "Its file.")                                                                        \
    X(i32, line, "", -1, "The line; of a function its first one; -1 when not known.")                        \
    X(i64, self, "", 0, "Samples in which a thread was there.")                                              \
    X(i64, total, "", 0, "Samples in which a thread was there or in what was called from there.")            \
    X(f64, self_share, "", NAN, "self over all samples of the run.")                                         \
    X(f64, total_share, "", NAN, "total over all samples of the run.")                                       \
    X(f64, running_share, "", NAN, "Part of total in which the thread was on a processor.")                  \
    X(f64, lock_share, "", NAN, "Part of total in which it waited for the interpreter's lock.")              \
    X(f64, processor_share, "", NAN, "Part of total in which it waited for a processor.")                    \
    X(f64, waiting_share, "", NAN, "Part of total in which it waited for anything else.")

#define RGM_SAMPLES_RESULTS(X) X(lines, RGM_LINES, "How often threads were found at a line or in a function.")

#endif
