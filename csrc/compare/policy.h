// SPDX-License-Identifier: Apache-2.0
// Every threshold of a comparison: X(name, default, unit, source). A user can set each by its name.
#ifndef RGM_COMPARE_POLICY_H
#define RGM_COMPARE_POLICY_H

#define RGM_COMPARE_POLICY(X)                                                                                \
    X(threshold, 0.05, "", "a change that matters; 5 % is what two single processes can honestly tell")      \
    X(alpha, 0.05, "", "level of q below which a difference is taken for real")                              \
    X(interval, 0.95, "", "level of the intervals")                                                          \
    X(power, 0.8, "", "probability with which the smallest detectable effect is detected")                   \
    X(run_floor, 0.01, "", "how much two processes of one program differ where it was not calibrated")       \
    X(sample_spread, 0.05, "", "how much one sample differs from the next where a side has only one")        \
    X(least_pairs, 5, "pairs", "fewer pairs are compared as launches that are not paired")                   \
    X(least_launches, 3, "launches", "fewer launches a side cannot tell their own spread")                   \
    X(min_share, 0.005, "", "an operation gates from this share of the whole time")                          \
    X(min_change_seconds, 1e-6, "s", "or where its time per call changes by this much")                      \
    X(moderation_operations, 50, "operations", "of 12 to 30 too many reports erred (gate/five_pairs.py)")    \
    X(shared_noise, 0.84, "", "level to which the part that pairs share is bounded: one standard error")     \
    X(common_mode_operations, 10, "operations", "fewer cannot tell a common shift from their own changes")   \
    X(common_mode_limit, 3, "", "standard errors beyond which an operation is no part of the common shift")  \
    X(peak_tolerance, 0.01, "", "an exact peak of memory that differs by less differs by rounding")          \
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
