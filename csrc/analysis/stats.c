// SPDX-License-Identifier: Apache-2.0
#include "analysis/stats.h"

#include <math.h>

double rgm_moments_std_dev(const rgm_moments *m) {
    return m->count ? sqrt(m->squares / (double)m->count) : NAN;
}

double rgm_quantile_sorted(const int64_t *values, size_t count, double q) {
    if (!count) return NAN;
    double place = q * (double)(count - 1);
    size_t low = (size_t)place;
    if (low + 1 >= count) return (double)values[count - 1];
    double part = place - (double)low;
    return (double)values[low] + part * (double)(values[low + 1] - values[low]);
}
