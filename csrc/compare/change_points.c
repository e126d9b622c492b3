// SPDX-License-Identifier: Apache-2.0
#include "compare/change_points.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "compare/ranks.h"

enum { PERMUTATIONS = 1999 };

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

// Part of the permutations whose statistic reaches this one, itself counted.
static double p_of(double *ranks, size_t count, double ties, double statistic) {
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

// By how much the values of the two sides count as fewer than they are; levels are taken out first.
static rgm_status dependence(search *s, size_t first, size_t at, size_t past, double *time, rgm_error *err) {
    double *rest = s->scratch;
    size_t bounds[] = {first, at, past};
    for (int side = 0; side < 2; side++) {
        size_t from = bounds[side], n = bounds[side + 1] - from;
        memcpy(rest + from, s->values + from, n * sizeof *rest);
        rgm_sort_doubles(rest + from, n);
        double median = rgm_median_sorted(rest + from, n);
        for (size_t i = 0; i < n; i++) rest[from + i] = s->values[from + i] - median;
    }
    return rgm_autocorrelation_time(rest + first, past - first, time, err);
}

static rgm_status look(search *s, size_t first, size_t past, rgm_error *err) {
    size_t count = past - first;
    if (count < 2 * RGM_SEGMENT_LEAST) return RGM_OK;
    double *ranks = rgm_malloc(count * sizeof *ranks), ties, time = 1.0;
    if (!ranks) return rgm_error_no_memory(err);
    rgm_status status;
    RGM_GOTO(rgm_mid_ranks(s->values + first, count, ranks, &ties, err));
    split best = best_split(ranks, count, ties);
    if (!best.at) goto done;
    size_t at = first + best.at;
    if (s->autocorrelated) RGM_GOTO(dependence(s, first, at, past, &time, err));
    double p = p_of(ranks, count, ties, best.statistic / sqrt(time));
    if (p > s->alpha) goto done;
    rgm_free(ranks);
    RGM_TRY(look(s, first, at, err));
    s->points[s->n_points++] = (rgm_change_point){.at = at, .p = p};
    return look(s, at, past, err);
done:
    rgm_free(ranks);
    return status;
}

static double level(search *s, size_t first, size_t past) {
    memcpy(s->scratch, s->values + first, (past - first) * sizeof *s->scratch);
    rgm_sort_doubles(s->scratch, past - first);
    return rgm_median_sorted(s->scratch, past - first);
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
