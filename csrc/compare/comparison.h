// SPDX-License-Identifier: Apache-2.0
// Two sides of many operations, and what can be said of their difference.
//
// The unit is the launch (one process), because samples of one process share what that process happened to
// get: its medians are compared, not its samples. All work is on logarithms, so differences are ratios.
// docs/comparison.md has the rule with its evidence.
#ifndef RGM_COMPARE_COMPARISON_H
#define RGM_COMPARE_COMPARISON_H

#include <stdbool.h>

#include "compare/families.h"
#include "compare/policy.h"
#include "model/table.h"

typedef enum { RGM_DECIDE_CATCH, RGM_DECIDE_ESTIMATE, RGM_DECIDE_PROVE } rgm_decision;

// One side. Launches of operation i are launches[i] .. launches[i + 1] - 1, the samples of launch k are
// samples[k] .. samples[k + 1] - 1 of values. An operation that the side does not have has no launches.
typedef struct {
    const uint32_t *launches;
    const uint64_t *samples;
    const double *values;
    const double *totals; // whole time of each operation; NULL: the sum of its samples
} rgm_side;

typedef struct {
    size_t operations;
    rgm_side sides[2]; // baseline, current
    bool paired;       // launch k of both sides ran together
    rgm_fdr fdr;
    rgm_decision decision;
    const uint8_t *metrics;   // of each operation, NULL: all 0. Shares are those within a metric; 0 is time.
    const double *run_floors; // of each operation, from a calibration; NULL or NaN: the policy's
} rgm_comparison_input;

typedef struct {
    double common_mode; // relative shift that all operations share, NaN when not known
    double common_low, common_high;
    bool common_removed;      // whether it was taken out of the differences
    double detectable_median; // over the operations that could be compared
    double detectable_worst;
    uint32_t worst; // row of it, UINT32_MAX for none
    double prior_df, prior_variance;
} rgm_comparison_facts;

// One row an operation, in the order of the input; deterministic.
rgm_status rgm_compare(const rgm_comparison_input *input, const rgm_compare_policy *policy,
                       rgm_comparison *out, rgm_comparison_facts *facts, rgm_error *err) RGM_NODISCARD;

#endif
