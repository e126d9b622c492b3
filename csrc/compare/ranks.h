// SPDX-License-Identifier: Apache-2.0
// Tests and estimates that need only the order of values. Two-sided p-values throughout.
#ifndef RGM_COMPARE_RANKS_H
#define RGM_COMPARE_RANKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

// Mid-ranks (1-based) of the values, in their order; *ties is the sum of t^3 - t over groups of equal values.
rgm_status rgm_mid_ranks(const double *values, size_t count, double *ranks, double *ties,
                         rgm_error *err) RGM_NODISCARD;

typedef struct {
    double statistic; // U of the first sample, or W: the smaller sum of signed ranks
    double p;         // NaN when nothing can be said
    bool exact;
} rgm_rank_test;

// Mann-Whitney: exact without ties while one side has at most 8 values (as SciPy's "auto"), else the normal
// approximation with corrections for ties and continuity. Both sides sorted.
rgm_status rgm_mann_whitney(const double *a, size_t n_a, const double *b, size_t n_b, rgm_rank_test *out,
                            rgm_error *err) RGM_NODISCARD;
// Wilcoxon's signed-rank test of differences; zeros are left out. Exact without ties up to 50 differences.
rgm_status rgm_signed_rank(const double *differences, size_t count, rgm_rank_test *out,
                           rgm_error *err) RGM_NODISCARD;

typedef struct {
    double estimate; // Hodges-Lehmann: median of all differences b - a
    double low, high;
} rgm_shift;

// Shift from a to b, both sorted, with the interval that inverts the Mann-Whitney test at `alpha`, its
// standard error multiplied by `inflation` (1 for independent values). Selection in the implicit matrix of
// differences, in (n_a + n_b) log steps.
rgm_status rgm_shift_of(const double *a, size_t n_a, const double *b, size_t n_b, double alpha,
                        double inflation, rgm_shift *out, rgm_error *err) RGM_NODISCARD;

#endif
