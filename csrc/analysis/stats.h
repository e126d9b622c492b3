// SPDX-License-Identifier: Apache-2.0
// One-pass moments and order statistics.
#ifndef RGM_ANALYSIS_STATS_H
#define RGM_ANALYSIS_STATS_H

#include <stddef.h>
#include <stdint.h>

// Count, mean and sum of squared deviations by Welford's recurrence: stable where the textbook formula
// cancels (durations of a second that differ by nanoseconds).
typedef struct {
    int64_t count;
    double mean;
    double squares;
} rgm_moments;

static inline void rgm_moments_add(rgm_moments *m, double value) {
    m->count++;
    double delta = value - m->mean;
    m->mean += delta / (double)m->count;
    m->squares += delta * (value - m->mean);
}
// Sum that stops at INT64_MAX: the durations of a damaged file may be anything.
static inline int64_t rgm_add_bounded(int64_t a, int64_t b) {
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}
// Distance from `from` to `to`, likewise; the extremes of a damaged file lie further apart than INT64_MAX.
static inline int64_t rgm_subtract_bounded(int64_t to, int64_t from) {
    int64_t distance;
    return !__builtin_sub_overflow(to, from, &distance) ? distance : to > from ? INT64_MAX : INT64_MIN;
}
// Population standard deviation (divisor n), as NumPy's default; NaN for no values.
double rgm_moments_std_dev(const rgm_moments *m);
// Quantile of ascending values by linear interpolation (Hyndman-Fan type 7, NumPy's default); NaN for none.
double rgm_quantile_sorted(const int64_t *values, size_t count, double q);

// Order statistics of values; quantiles by the rule above, 0 and NaN for no values.
typedef struct {
    int64_t total, min, max; // total stops at the ends of int64
    double mean, median, tail;
} rgm_spread;
// Sorts the values; scratch has room for count values. `tail` is the quantile wanted beside the median.
rgm_spread rgm_spread_of(int64_t *values, size_t count, int64_t *scratch, double tail);

#endif
