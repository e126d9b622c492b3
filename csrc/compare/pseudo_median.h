// SPDX-License-Identifier: Apache-2.0
// Where differences lie, by signs and ranks only: Hodges and Lehmann's estimate (the median of all means of
// two, the Walsh averages) with the interval that inverts Wilcoxon's signed-rank test. Whatever the noise,
// the interval holds when the differences are symmetric about their center, which differences of two
// measurements with the same noise are; a few wild values do not move it.
#ifndef RGM_COMPARE_PSEUDO_MEDIAN_H
#define RGM_COMPARE_PSEUDO_MEDIAN_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { RGM_PSEUDO_MEDIAN_MOST = 1024 }; // values; half a million averages

typedef struct {
    double estimate;
    double low,
        high; // each end is missed with at most the probability asked for; infinite for too few values
} rgm_pseudo_median;

// How many Walsh averages of `count` values may lie on the wrong side of zero for a one-sided test at
// `level`, by the exact distribution; -1 when even none would not do.
rgm_status rgm_signed_rank_critical(size_t count, double level, int64_t *critical,
                                    rgm_error *err) RGM_NODISCARD;
// How many Walsh averages of `sorted` values are at most `limit`, in linear time: the center is above `limit`
// at the level of `critical` when there are at most so many.
int64_t rgm_averages_at_most(const double *sorted, size_t count, double limit);
// Values in any order. `critical` is that of their number. Averages of exactly zero count against a
// difference, so ties make the interval wider, never too narrow.
rgm_status rgm_pseudo_median_of(const double *values, size_t count, int64_t critical, rgm_pseudo_median *out,
                                rgm_error *err) RGM_NODISCARD;

#endif
