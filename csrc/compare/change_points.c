// SPDX-License-Identifier: Apache-2.0
#include "compare/change_points.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/doubles.h"
#include "base/memory.h"
#include "compare/ranks.h"

enum { PERMUTATIONS = 1999 };
// Beyond this a series is a walk, whose autocorrelation says nothing about levels.
#define MOST_DEPENDENT 0.95

typedef struct {
    double statistic;
    size_t at;
} split;

// Largest standardised rank sum of the values before a split, over all splits that leave both sides enough.
static split best_split(const double *ranks, size_t count, double ties) {
    double n = (double)count, spread = (n + 1 - ties / (n * (n - 1))) / 12, sum = 0;
    split best = {0, 0};
    if (!(spread > 0)) return best;
    for (size_t k = 1; k + RGM_SEGMENT_LEAST <= count; k++) {
        sum += ranks[k - 1];
        if (k < RGM_SEGMENT_LEAST) continue;
        double left = (double)k;
        double z = fabs(sum - left * (n + 1) / 2) / sqrt(left * (n - left) * spread);
        if (z > best.statistic) best = (split){z, k};
    }
    return best;
}

// Permutations differ from segment to segment, but not from call to call.
static uint64_t next_random(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

// Part of the permutations whose statistic reaches this one, itself counted; 1 as soon as it exceeds `alpha`.
static double p_of(double *ranks, size_t count, double ties, double statistic, double alpha) {
    uint64_t state = count;
    int reached = 1;
    for (int turn = 0; turn < PERMUTATIONS; turn++) {
        for (size_t i = count; i > 1; i--) {
            size_t j = (size_t)((next_random(&state) >> 32) * i >> 32);
            double swapped = ranks[i - 1];
            ranks[i - 1] = ranks[j];
            ranks[j] = swapped;
        }
        reached += best_split(ranks, count, ties).statistic >= statistic;
        if (reached > alpha * (PERMUTATIONS + 1)) return 1;
    }
    return (double)reached / (PERMUTATIONS + 1);
}

typedef struct {
    const double *values;
    double *scratch; // as many as values
    double alpha;
    bool autocorrelated;
    rgm_change_point *points;
    size_t n_points;
} search;

// Correlation of neighbours within the two sides. Levels of the sides are taken out first, or the step would
// look like dependence; the split was chosen, and the levels estimated, so that it comes out too small by
// about (1 + 3 r) / n (Kendall 1954, Marriott & Pope 1954), which is added. Ranks, because outliers are no
// dependence.
static rgm_status dependence(search *s, size_t first, size_t at, size_t past, double *correlation,
                             rgm_error *err) {
    double *rest = s->scratch + first, ties, variance = 0, product = 0;
    size_t bounds[] = {first, at, past}, count = past - first;
    *correlation = 0;
    for (int side = 0; side < 2; side++) {
        size_t from = bounds[side], n = bounds[side + 1] - from;
        double *part = s->scratch + from;
        memcpy(part, s->values + from, n * sizeof *part);
        rgm_sort_doubles(part, n);
        double median = rgm_median_sorted(part, n);
        for (size_t i = 0; i < n; i++) part[i] = s->values[from + i] - median;
    }
    double *ranks = rgm_malloc(count * sizeof *ranks), mean = (double)(count + 1) / 2;
    if (!ranks) return rgm_error_no_memory(err);
    rgm_status status;
    RGM_GOTO(rgm_mid_ranks(rest, count, ranks, &ties, err));
    for (size_t i = 0; i < count; i++) {
        variance += (ranks[i] - mean) * (ranks[i] - mean);
        if (i) product += (ranks[i] - mean) * (ranks[i - 1] - mean);
    }
    if (variance > 0) {
        double n = (double)count, r = (n * product / variance + 1) / (n - 3);
        // Too little whitening makes change points of dependence, too much hides young ones: where there is
        // dependence beyond doubt, its estimate plus one standard error counts, below one the estimate.
        double error = sqrt((1 - fmin(r * r, 1)) / n);
        r += fmin(fmax(r - error, 0), error);
        *correlation = fmin(fmax(r, 0), MOST_DEPENDENT);
    }
done:
    rgm_free(ranks);
    return status;
}

// Ranks of what each value has beyond its neighbour before it: values that depend on each other as a
// first-order autoregression does are independent then, and a step of d is one of d (1 - r) in values that
// spread less. Dividing the statistic of the plain ranks by the square root of the autocorrelation time
// instead would hide young steps: the largest rank sum there can be, all new values above all old ones, would
// not reach the critical value.
static rgm_status whitened(search *s, size_t first, size_t past, double r, double *ranks, double *ties,
                           rgm_error *err) {
    double *rest = s->scratch + first;
    rest[0] = s->values[first] * (1 - r);
    for (size_t i = first + 1; i < past; i++) rest[i - first] = s->values[i] - r * s->values[i - 1];
    return rgm_mid_ranks(rest, past - first, ranks, ties, err);
}

static double level(search *s, size_t first, size_t past) {
    memcpy(s->scratch, s->values + first, (past - first) * sizeof *s->scratch);
    rgm_sort_doubles(s->scratch, past - first);
    return rgm_median_sorted(s->scratch, past - first);
}

// Where the values leave the level of the one side for that of the other: least sum of absolute distances to
// the medians. The rank sum tells best that there is a step, but when the values beside it happen to be
// extreme, its maximum lies some places off. A single outlier counts for no more than the step itself.
static size_t place(search *s, size_t first, size_t at, size_t past) {
    for (int round = 0; round < 2; round++) {
        double before = level(s, first, at), after = level(s, at, past), sum = 0, least = INFINITY;
        for (size_t k = first; k + RGM_SEGMENT_LEAST <= past; k++) {
            if (k >= first + RGM_SEGMENT_LEAST && sum < least) {
                least = sum;
                at = k;
            }
            sum += fabs(s->values[k] - before) - fabs(s->values[k] - after);
        }
    }
    return at;
}

static rgm_status look(search *s, size_t first, size_t past, rgm_error *err) {
    size_t count = past - first;
    if (count < 2 * RGM_SEGMENT_LEAST) return RGM_OK;
    double *ranks = rgm_malloc(count * sizeof *ranks), ties, r = 0;
    if (!ranks) return rgm_error_no_memory(err);
    rgm_status status;
    RGM_GOTO(rgm_mid_ranks(s->values + first, count, ranks, &ties, err));
    split best = best_split(ranks, count, ties);
    if (!best.at) goto done;
    size_t at = first + best.at;
    // The split of the whitened values says better where the sides are, and so how much they depend.
    for (int round = 0; s->autocorrelated && round < 2; round++) {
        RGM_GOTO(dependence(s, first, at, past, &r, err));
        RGM_GOTO(whitened(s, first, past, r, ranks, &ties, err));
        best = best_split(ranks, count, ties);
        if (!best.at) goto done;
        at = first + best.at;
    }
    double p = p_of(ranks, count, ties, best.statistic, s->alpha);
    if (p > s->alpha) goto done;
    at = place(s, first, at, past);
    rgm_free(ranks);
    RGM_TRY(look(s, first, at, err));
    s->points[s->n_points++] = (rgm_change_point){.at = at, .p = p};
    return look(s, at, past, err);
done:
    rgm_free(ranks);
    return status;
}

rgm_status rgm_change_points_of(const double *values, size_t count, double alpha, bool autocorrelated,
                                rgm_change_point **out, size_t *n_out, rgm_error *err) {
    search s = {.values = values, .alpha = alpha, .autocorrelated = autocorrelated};
    rgm_status status = RGM_OK;
    *out = NULL;
    *n_out = 0;
    s.scratch = rgm_malloc((count + 1) * sizeof *s.scratch);
    s.points = rgm_malloc((count / RGM_SEGMENT_LEAST + 1) * sizeof *s.points);
    if (!s.scratch || !s.points) {
        status = rgm_error_no_memory(err);
        goto done;
    }
    RGM_GOTO(look(&s, 0, count, err));
    for (size_t i = 0; i < s.n_points; i++) {
        size_t before = i ? s.points[i - 1].at : 0;
        size_t after = i + 1 < s.n_points ? s.points[i + 1].at : count;
        s.points[i].before = level(&s, before, s.points[i].at);
        s.points[i].after = level(&s, s.points[i].at, after);
    }
    *out = s.points;
    *n_out = s.n_points;
    s.points = NULL;
done:
    rgm_free(s.points);
    rgm_free(s.scratch);
    return status;
}
