// SPDX-License-Identifier: Apache-2.0
#include "analysis/stats.h"

#include <math.h>

#include "base/sort.h"

double rgm_moments_std_dev(const rgm_moments *m) {
    return m->count ? sqrt(m->squares / (double)m->count) : NAN;
}

double rgm_quantile_sorted(const int64_t *values, size_t count, double q) {
    if (!count) return NAN;
    double place = q * (double)(count - 1);
    size_t low = (size_t)place;
    if (low + 1 >= count) return (double)values[count - 1];
    double part = place - (double)low;
    // Unsigned, for values that lie further apart than INT64_MAX.
    return (double)values[low] + part * (double)((uint64_t)values[low + 1] - (uint64_t)values[low]);
}

rgm_spread rgm_spread_of(int64_t *values, size_t count, int64_t *scratch, double tail) {
    rgm_spread spread = {.mean = NAN, .median = NAN, .tail = NAN};
    if (!count) return spread;
    rgm_sort_i64(values, count, scratch);
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (__builtin_add_overflow(spread.total, values[i], &spread.total))
            spread.total = values[i] < 0 ? INT64_MIN : INT64_MAX;
        sum += (double)values[i];
    }
    spread.min = values[0];
    spread.max = values[count - 1];
    spread.mean = sum / (double)count;
    spread.median = rgm_quantile_sorted(values, count, 0.5);
    spread.tail = rgm_quantile_sorted(values, count, tail);
    return spread;
}
