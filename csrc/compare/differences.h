// SPDX-License-Identifier: Apache-2.0
// The difference of one operation between two sides, before the operations are looked at together.
#ifndef RGM_COMPARE_DIFFERENCES_H
#define RGM_COMPARE_DIFFERENCES_H

#include "compare/comparison.h"

// Variance of `count` independent values; df is 0 where there is none.
typedef struct {
    double variance, df, count;
} rgm_spread_part;

typedef struct {
    rgm_tier tier;
    rgm_verdict_reason reason; // EQUAL, or why there is no tier
    int32_t pairs;
    int32_t launches[2];
    int64_t samples[2];
    double level[2], least[2];     // in the unit of the values
    double slow[2];                // share in the slow mode, NaN for one mode
    double shift;                  // of the logarithms
    rgm_spread_part spread[2];     // of the launches; the first alone for pairs
    double error, df;              // final for the tier of single launches, else filled by moderation
    double moved, doubt, doubt_df; // of the other operations: their median and what it is worth; NaN for none
    double rank_p;
    double autocorrelation;
} rgm_difference;

// What the pairs of all operations deviate by together: what the machine did to a pair is in every operation.
// Sums over operations of their deviations, each in units of its own standard deviation.
typedef struct {
    double *sums;
    size_t pairs, operations;
} rgm_common_noise;

// Part of the variance of the pairs that operations share, 0 to 1.
double rgm_common_part(const rgm_common_noise *common);

// Memory that is used again from operation to operation. Zero-initialise.
typedef struct {
    double *logs[2];    // of the samples, sorted within each launch afterwards
    double *medians[2]; // of the launches
    double *pooled;
    size_t samples, launches;
    rgm_common_noise common; // grows with each operation that is compared by pairs
} rgm_difference_scratch;

void rgm_difference_scratch_release(rgm_difference_scratch *scratch);
rgm_status rgm_difference_of(const rgm_comparison_input *input, size_t operation,
                             const rgm_compare_policy *policy, rgm_difference_scratch *scratch,
                             rgm_difference *out, rgm_error *err) RGM_NODISCARD;

#endif
