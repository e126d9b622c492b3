// SPDX-License-Identifier: Apache-2.0
#include "compare/pseudo_median.h"

#include <math.h>

#include "base/doubles.h"
#include "base/memory.h"

static size_t averages_of(size_t count) { return count * (count + 1) / 2; }

static rgm_status check(size_t count, rgm_error *err) {
    if (count <= RGM_PSEUDO_MEDIAN_MOST) return RGM_OK;
    return rgm_error_set(err, RGM_INVALID, "a pseudo-median is of at most %d values, not %zu",
                         RGM_PSEUDO_MEDIAN_MOST, count);
}

// The sum of the ranks 1..count, each with probability one half, has the distribution that is built here rank
// by rank. Only the lower half of it is kept, which is all that a level below one half needs.
rgm_status rgm_signed_rank_critical(size_t count, double level, int64_t *critical, rgm_error *err) {
    double *chance;
    *critical = -1;
    RGM_TRY(check(count, err));
    if (!(level > 0.0) || level >= 0.5)
        return rgm_error_set(err, RGM_INVALID, "a one-sided level lies between 0 and 0.5, not at %g", level);
    size_t half = averages_of(count) / 2 + 1;
    RGM_TRY(RGM_ROWS(chance, half, err));
    for (size_t w = 0; w <= half; w++) chance[w] = 0.0;
    chance[0] = 1.0;
    for (size_t rank = 1; rank <= count; rank++)
        for (size_t w = half + 1; w-- > 0;)
            chance[w] = 0.5 * (chance[w] + (w >= rank ? chance[w - rank] : 0.0));
    double below = 0.0;
    for (size_t w = 0; w < half; w++) {
        below += chance[w];
        if (below > level) break;
        *critical = (int64_t)w;
    }
    rgm_free(chance);
    return RGM_OK;
}

// For each value, from the least up, its partners from it on: the last that fits moves down as the value goes
// up.
int64_t rgm_averages_at_most(const double *sorted, size_t count, double limit) {
    int64_t found = 0;
    size_t end = count; // partners are below
    for (size_t i = 0; i < count; i++) {
        while (end > i && 0.5 * (sorted[i] + sorted[end - 1]) > limit) end--;
        if (end <= i) break;
        found += (int64_t)(end - i);
    }
    return found;
}

rgm_status rgm_pseudo_median_of(const double *values, size_t count, int64_t critical, rgm_pseudo_median *out,
                                rgm_error *err) {
    double *averages;
    *out = (rgm_pseudo_median){.estimate = NAN, .low = -INFINITY, .high = INFINITY};
    RGM_TRY(check(count, err));
    if (count == 0) return RGM_OK;
    size_t n = averages_of(count), at = 0;
    RGM_TRY(RGM_ROWS(averages, n, err));
    for (size_t i = 0; i < count; i++)
        for (size_t j = i; j < count; j++) averages[at++] = 0.5 * (values[i] + values[j]);
    rgm_sort_doubles(averages, n);
    out->estimate = rgm_median_sorted(averages, n);
    if (critical >= 0 && (size_t)critical < n) {
        out->low = averages[critical];
        out->high = averages[n - 1 - (size_t)critical];
    }
    rgm_free(averages);
    return RGM_OK;
}
