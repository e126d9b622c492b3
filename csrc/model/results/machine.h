// SPDX-License-Identifier: Apache-2.0
// Results about the machine that a run was recorded on.
#ifndef RGM_MODEL_RESULTS_MACHINE_H
#define RGM_MODEL_RESULTS_MACHINE_H

// What tells of the machine's speed: the time of fixed arithmetic or of fixed reads from memory, and what
// threads that were ready waited for a processor. X(NAME, token)
#define RGM_MACHINE_SIGNS(X)                                                                                 \
    X(THROUGHPUT, "throughput")                                                                              \
    X(MEMORY, "memory")                                                                                      \
    X(WAITING, "waiting")

// Result of the machine analysis: one row, none where nothing was recorded of it.
#define RGM_MACHINE(X)                                                                                       \
    X(i64, looks, "", 0, "Looks at how fast the machine was.")                                               \
    X(f64, throughput_ns, "ns", NAN, "Median time of the arithmetic, NaN without looks.")                    \
    X(f64, memory_ns, "ns", NAN, "Median time of the reads from memory, NaN without any.")                   \
    X(f64, spread, "", NAN,                                                                                  \
      "How far the level moved around its median, as a part of it: half the distance of the first and the "  \
      "ninth decile of the medians of consecutive pieces of the run, of the sign in which it is larger. "    \
      "NaN with too few looks.")                                                                             \
    X(u8, spread_sign, "", 0, "An index of MACHINE_SIGNS: which that is.")                                   \
    X(f64, waiting_share, "", NAN,                                                                           \
      "Of the time in which recording threads were ready to run, the part in which others had the "          \
      "processor. NaN, here and below, where the system does not tell.")                                     \
    X(f64, steal_share, "", NAN, "Part of the time that a hypervisor took from a processor.")                \
    X(f64, throttled_share, "", NAN,                                                                         \
      "Part of the time that a limit of the control group held the process back; for several processors "    \
      "it may be above 1.")                                                                                  \
    X(f64, involuntary_per_s, "1/s", NAN, "Context switches that nobody asked for.")                         \
    X(i64, migrations, "", -1,                                                                               \
      "How often a thread was on another processor than at its look before, at least; -1 without looks.")

// Result of the slow_windows analysis: stretches in which the machine was slower than usual, by time; they do
// not overlap.
#define RGM_SLOW_WINDOWS(X)                                                                                  \
    X(i64, start_ns, "ns", 0, "Begin, on the clock of the spans.")                                           \
    X(i64, end_ns, "ns", 0, "End.")                                                                          \
    X(f64, factor, "", NAN, "How many times its usual time a fixed piece of work took.")                     \
    X(u8, sign, "", 0, "An index of MACHINE_SIGNS: what tells so.")

// Result of the machine_levels analysis: by sign, and by time.
#define RGM_MACHINE_LEVELS(X)                                                                                \
    X(u8, sign, "", 0, "An index of MACHINE_SIGNS.")                                                         \
    X(i64, time_ns, "ns", 0, "When, on the clock of the spans; of waiting the begin of an interval.")        \
    X(f64, level, "", NAN,                                                                                   \
      "How many times its median of the process a fixed piece of work took: the median of the looks "        \
      "around.")

#define RGM_MACHINE_RESULTS(X)                                                                               \
    X(machine, RGM_MACHINE, "How fast and how steady the machine was while the run was recorded.")           \
    X(slow_windows, RGM_SLOW_WINDOWS, "A stretch in which the machine was slower than usual.")               \
    X(machine_levels, RGM_MACHINE_LEVELS, "How fast the machine was, look by look.")

#define RGM_MACHINE_SIGN_ENUM(name, token) RGM_SIGN_##name,
typedef enum { RGM_MACHINE_SIGNS(RGM_MACHINE_SIGN_ENUM) RGM_SIGN_COUNT } rgm_machine_sign;
#undef RGM_MACHINE_SIGN_ENUM

#endif
