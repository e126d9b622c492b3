// SPDX-License-Identifier: Apache-2.0
// Every threshold of a comparison: X(name, default, unit, source). A user can set each by its name.
#ifndef RGM_COMPARE_POLICY_H
#define RGM_COMPARE_POLICY_H

#define RGM_COMPARE_POLICY(X)                                                                                \
    X(threshold, 0.05, "", "a change that matters; 5 % is what two single processes can honestly tell")      \
    X(alpha, 0.05, "", "level of q below which a difference is taken for real")                              \
    X(interval, 0.95, "", "level of the intervals")                                                          \
    X(power, 0.8, "", "probability with which the smallest detectable effect is detected")                   \
    X(run_floor, 0.05, "", "what two processes are taken to differ by where a file says nothing of its own") \
    X(floor_df, 0, "", "degrees of freedom of run_floor; 0: it is as given, and nothing widens it")          \
    X(speed_floor, 0, "", "what machines differ by as a whole where too few operations tell")                \
    X(lone_floor, 0, "", "what one sample differs by from another process's, where floor_df is not 0")       \
    X(least_others, 3, "operations", "fewer other operations cannot tell what the machine did to all")       \
    X(inferred_df, 8, "", "floor_df of what is inferred: tails of shared machines (gate/field.py)")          \
    X(virtual_floor, 0.06, "", "run_floor of a virtual machine: what its neighbours do to one operation")    \
    X(virtual_speed, 0.4, "", "speed_floor of a virtual machine: sharing a processor takes 2 to 5 x")        \
    X(virtual_lone, 0.4, "", "lone_floor of a virtual machine: single calls differ by up to 5 x there")      \
    X(bare_floor, 0.03, "", "run_floor of a machine of its own: layout of memory, clocks")                   \
    X(bare_speed, 0.08, "", "speed_floor of a machine of its own: clocks, heat, other processes")            \
    X(bare_lone, 0.2, "", "lone_floor of a machine of its own: a first call finds cold caches")              \
    X(least_pairs, 5, "pairs", "fewer pairs are compared as launches that are not paired")                   \
    X(least_launches, 3, "launches", "fewer launches a side cannot tell their own spread")                   \
    X(min_share, 0.005, "", "an operation gates from this share of the whole time")                          \
    X(min_change_seconds, 1e-6, "s", "or where its time per call changes by this much")                      \
    X(moderation_operations, 50, "operations", "of 12 to 30 too many reports erred (gate/five_pairs.py)")    \
    X(shared_noise, 0.84, "", "level to which the part that pairs share is bounded: one standard error")     \
    X(common_mode_operations, 10, "operations", "fewer cannot tell a common shift from their own changes")   \
    X(common_mode_limit, 3, "", "standard errors beyond which an operation is no part of the common shift")  \
    X(peak_tolerance, 0.01, "", "an exact peak of memory that differs by less differs by rounding")          \
    X(count_tolerance, 0.003, "",                                                                            \
      "counts of one program repeat within 0.1 % (gate/counts.py); three times that")                        \
    X(modes_distance, 3, "", "Ashman's D from which two modes are told apart (2 is clean separation)")       \
    X(modes_share, 0.05, "", "share of the samples that a mode needs")

typedef struct {
#define RGM_COMPARE_POLICY_FIELD(name, initial, unit, source) double name;
    RGM_COMPARE_POLICY(RGM_COMPARE_POLICY_FIELD)
#undef RGM_COMPARE_POLICY_FIELD
} rgm_compare_policy;

#define RGM_COMPARE_POLICY_DEFAULT(name, initial, unit, source) .name = (initial),
#define RGM_COMPARE_POLICY_DEFAULTS                                                                          \
    (rgm_compare_policy) { RGM_COMPARE_POLICY(RGM_COMPARE_POLICY_DEFAULT) }

#endif
