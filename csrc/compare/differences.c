// SPDX-License-Identifier: Apache-2.0
#include "compare/differences.h"

#include <math.h>
#include <string.h>

#include "base/doubles.h"
#include "base/memory.h"
#include "compare/autocorrelation.h"
#include "compare/distributions.h"
#include "compare/ranks.h"

#define FEWEST_FOR_SPREAD 3
#define IQR 1.349 // of the normal distribution, in standard deviations

static void release_room(rgm_difference_scratch *s) {
    for (int side = 0; side < 2; side++) {
        rgm_free(s->logs[side]);
        rgm_free(s->medians[side]);
        s->logs[side] = s->medians[side] = NULL;
    }
    rgm_free(s->pooled);
    s->pooled = NULL;
    s->samples = s->launches = 0;
}

void rgm_difference_scratch_release(rgm_difference_scratch *s) {
    release_room(s);
    rgm_free(s->common.sums);
    *s = (rgm_difference_scratch){0};
}

static rgm_status room_for(rgm_difference_scratch *s, size_t samples, size_t launches, rgm_error *err) {
    if (samples <= s->samples && launches <= s->launches && s->pooled) return RGM_OK;
    release_room(s);
    samples += samples / 2 + 16;
    launches += launches / 2 + 16;
    for (int side = 0; side < 2; side++) {
        s->logs[side] = rgm_malloc(samples * sizeof(double));
        s->medians[side] = rgm_malloc(launches * sizeof(double));
        if (!s->logs[side] || !s->medians[side]) return rgm_error_no_memory(err);
    }
    s->pooled = rgm_malloc(2 * (samples > launches ? samples : launches) * sizeof(double));
    if (!s->pooled) return rgm_error_no_memory(err);
    s->samples = samples;
    s->launches = launches;
    return RGM_OK;
}

// --- one side ---------------------------------------------------------------------------------------------

typedef struct {
    const double *values;
    const uint64_t *samples; // bounds of the launches
    size_t launches;
    size_t count;
} side_values;

static side_values side_of(const rgm_side *side, size_t operation) {
    uint32_t first = side->launches[operation], past = side->launches[operation + 1];
    return (side_values){side->values + side->samples[first], side->samples + first, past - first,
                         (size_t)(side->samples[past] - side->samples[first])};
}

static bool all_positive(const side_values *v) {
    for (size_t i = 0; i < v->count; i++)
        if (!(v->values[i] > 0) || isinf(v->values[i])) return false;
    return true;
}

// Logarithms in the order of the input.
static void take_logs(const side_values *v, double *logs) {
    for (size_t i = 0; i < v->count; i++) logs[i] = log(v->values[i]);
}

// Sorts each launch and keeps its median; a launch without samples is left out. Returns how many there are.
static size_t launch_medians(const side_values *v, double *logs, double *medians) {
    size_t n = 0;
    for (size_t k = 0; k < v->launches; k++) {
        size_t first = (size_t)(v->samples[k] - v->samples[0]),
               count = (size_t)(v->samples[k + 1] - v->samples[k]);
        rgm_sort_doubles(logs + first, count);
        if (count) medians[n++] = rgm_median_sorted(logs + first, count);
    }
    return n;
}

static rgm_spread_part spread_of(const double *values, size_t count, double *mean) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        double delta = values[i] - sum;
        sum += delta / (double)(i + 1);
        squares += delta * (values[i] - sum);
    }
    *mean = sum;
    if (count < 2) return (rgm_spread_part){0, 0, (double)count};
    return (rgm_spread_part){squares / (double)(count - 1), (double)(count - 1), (double)count};
}

// --- tiers ------------------------------------------------------------------------------------------------

// The ratio of the levels is the change that the row tells. Launches are compared by the means of their
// medians.
static void set_levels(const double *a, size_t n_a, const double *b, size_t n_b, rgm_difference *out) {
    double means[2];
    spread_of(a, n_a, &means[0]);
    spread_of(b, n_b, &means[1]);
    for (int side = 0; side < 2; side++) out->level[side] = exp(means[side]);
}

// Samples are compared by the shift between them, which the levels of both are moved apart by.
static void shift_levels(double shift, rgm_difference *out) {
    double logs[2] = {log(out->level[0]), log(out->level[1])}, middle = (logs[0] + logs[1]) / 2;
    if (logs[1] - logs[0] == shift) return; // as they were measured, to the last digit
    out->level[0] = exp(middle - shift / 2);
    out->level[1] = exp(middle + shift / 2);
}

static rgm_status paired(const double *a, const double *b, size_t pairs, double *differences,
                         rgm_difference *out, rgm_error *err) {
    rgm_rank_test ranks;
    for (size_t i = 0; i < pairs; i++) differences[i] = b[i] - a[i];
    out->tier = RGM_TIER_PAIRED;
    out->pairs = (int32_t)pairs;
    set_levels(a, pairs, b, pairs, out);
    out->spread[0] = spread_of(differences, pairs, &out->shift);
    RGM_TRY(rgm_signed_rank(differences, pairs, &ranks, err));
    out->rank_p = ranks.p;
    return RGM_OK;
}

// Adds what the pairs of one operation deviate by, in its own standard deviations.
static rgm_status add_common(rgm_common_noise *common, const double *differences, size_t pairs,
                             const rgm_spread_part *spread, double mean, rgm_error *err) {
    if (!(spread->variance > 0)) return RGM_OK;
    if (!common->sums) {
        common->sums = rgm_calloc(pairs, sizeof *common->sums);
        if (!common->sums) return rgm_error_no_memory(err);
        common->pairs = pairs;
    }
    if (pairs != common->pairs) return RGM_OK; // another number of pairs is another set of launches
    double scale = 1 / sqrt(spread->variance);
    for (size_t i = 0; i < pairs; i++) common->sums[i] += (differences[i] - mean) * scale;
    common->operations++;
    return RGM_OK;
}

double rgm_common_part(const rgm_common_noise *common) {
    if (common->operations < 2) return 0;
    double count = (double)common->operations, squares = 0;
    for (size_t i = 0; i < common->pairs; i++) squares += common->sums[i] * common->sums[i];
    // Of independent operations the mean has a variance of 1 / count, which is nothing they share.
    double part = squares / (count * count) / (double)(common->pairs - 1) - 1 / count;
    return fmin(1, fmax(0, part * count / (count - 1)));
}

static rgm_status several(double *medians[2], const size_t count[2], rgm_difference *out, rgm_error *err) {
    double means[2];
    rgm_rank_test ranks;
    out->tier = RGM_TIER_LAUNCHES;
    set_levels(medians[0], count[0], medians[1], count[1], out);
    for (int side = 0; side < 2; side++) {
        out->spread[side] = spread_of(medians[side], count[side], &means[side]);
        rgm_sort_doubles(medians[side], count[side]);
    }
    out->shift = means[1] - means[0];
    RGM_TRY(rgm_mann_whitney(medians[0], count[0], medians[1], count[1], &ranks, err));
    out->rank_p = ranks.p;
    return RGM_OK;
}

// Quantile of sorted values, between the two neighbours in proportion.
static double quantile_of(const double *sorted, size_t count, double part) {
    double at = part * (double)(count - 1);
    size_t below = (size_t)at;
    double above = below + 1 < count ? sorted[below + 1] : sorted[below];
    return sorted[below] + (at - (double)below) * (above - sorted[below]);
}

// How much the samples of a process differ, as a variance: a machine that changed while a process ran changes
// between processes too. From the quartiles, so that half of the samples decide.
static double spread_within(const side_values *v, const double *logs, const rgm_compare_policy *policy) {
    double sum = 0, lone = policy->lone_floor * policy->lone_floor;
    size_t n = 0;
    for (size_t k = 0; k < v->launches; k++) {
        size_t count = (size_t)(v->samples[k + 1] - v->samples[k]);
        const double *sorted = logs + (v->samples[k] - v->samples[0]);
        if (!count) continue;
        double width = (quantile_of(sorted, count, 0.75) - quantile_of(sorted, count, 0.25)) / IQR;
        sum += count < FEWEST_FOR_SPREAD ? lone : width * width;
        n++;
    }
    return n ? sum / (double)n : lone;
}

// Too few launches on a side to see what two of them differ in: the floor decides, or what the launches that
// there are differ in where that is more. A floor that is inferred (floor_df) grows with the spread of the
// samples. `logs` are sorted.
static rgm_status single(double *logs[2], const size_t count[2], double *medians[2], const size_t launches[2],
                         const double within[2], double time, double floor, const rgm_compare_policy *policy,
                         rgm_difference *out, rgm_error *err) {
    rgm_shift shift;
    rgm_rank_test ranks;
    double means[2], between = 0, df = 0, inferred = floor * floor, number = 0;
    out->tier = RGM_TIER_SINGLE;
    RGM_TRY(
        rgm_shift_of(logs[0], count[0], logs[1], count[1], 1 - policy->interval, sqrt(time), &shift, err));
    RGM_TRY(rgm_mann_whitney(logs[0], count[0], logs[1], count[1], &ranks, err));
    double own = (shift.high - shift.low) / 2 / rgm_normal_quantile(0.5 + policy->interval / 2);
    if (!isfinite(own)) own = 0; // two samples have no interval; the floor stands for them
    for (int side = 0; side < 2; side++) {
        rgm_spread_part part = spread_of(medians[side], launches[side], &means[side]);
        between += part.variance * part.df;
        df += part.df;
        number += 1 / (double)launches[side];
    }
    if (policy->floor_df > 0) inferred += (within[0] + within[1]) / 2;
    out->df = policy->floor_df > 0 ? policy->floor_df : INFINITY;
    if (df > 0 && between / df > inferred) {
        inferred = between / df;
        out->df = df;
    }
    out->shift = df > 0 ? means[1] - means[0] : shift.estimate;
    shift_levels(out->shift, out);
    out->error = sqrt(own * own + inferred * number);
    out->rank_p = ranks.p;
    out->autocorrelation = time;
    return RGM_OK;
}

// --- modes ------------------------------------------------------------------------------------------------

static void merge(const double *a, size_t n_a, const double *b, size_t n_b, double *out) {
    for (size_t i = 0, j = 0; i < n_a || j < n_b;)
        *out++ = j >= n_b || (i < n_a && a[i] <= b[j]) ? a[i++] : b[j++];
}

// Splits the pooled, sorted logarithms where the variance between the parts is largest (Otsu 1979), and calls
// them two modes when their distance is large beside their widths (Ashman's D).
static void find_modes(double *pooled, size_t count, double *logs[2], const size_t counts[2],
                       const rgm_compare_policy *policy, rgm_difference *out) {
    double all = 0, left = 0, best = -1, edge = NAN;
    size_t at = 0;
    if (count < 20 || !(pooled[count - 1] > pooled[0])) return;
    for (size_t i = 0; i < count; i++) all += pooled[i];
    for (size_t i = 1; i < count; i++) {
        left += pooled[i - 1];
        double n = (double)i, m = (double)(count - i);
        double distance = (all - left) / m - left / n, between = n * m * distance * distance;
        if (between > best) best = between, at = i, edge = pooled[i];
    }
    double share = (double)at / (double)count, means[2];
    if (share < policy->modes_share || share > 1 - policy->modes_share) return;
    rgm_spread_part low = spread_of(pooled, at, &means[0]),
                    high = spread_of(pooled + at, count - at, &means[1]);
    double width = sqrt((low.variance + high.variance) / 2);
    if (!(means[1] - means[0] > policy->modes_distance * width)) return;
    double slow[2];
    bool both = false; // a shift from one side to the other is no second mode
    for (int side = 0; side < 2; side++) {
        size_t above = 0;
        for (size_t i = 0; i < counts[side]; i++) above += logs[side][i] >= edge;
        slow[side] = (double)above / (double)counts[side];
        both = both || (slow[side] >= policy->modes_share && slow[side] <= 1 - policy->modes_share);
    }
    for (int side = 0; both && side < 2; side++) out->slow[side] = slow[side];
}

// --- together ---------------------------------------------------------------------------------------------

static double least_of(const side_values *v) {
    double least = INFINITY;
    for (size_t i = 0; i < v->count; i++) least = fmin(least, v->values[i]);
    return least;
}

static double floor_of(const rgm_comparison_input *input, size_t operation,
                       const rgm_compare_policy *policy) {
    double own = input->run_floors ? input->run_floors[operation] : NAN;
    return isnan(own) ? policy->run_floor : own;
}

// The autocorrelation time of a side is that of its longest launch.
static rgm_status dependence(const side_values *v, const double *logs, double *time, rgm_error *err) {
    size_t longest = 0;
    for (size_t k = 1; k < v->launches; k++)
        if (v->samples[k + 1] - v->samples[k] > v->samples[longest + 1] - v->samples[longest]) longest = k;
    double own;
    RGM_TRY(rgm_autocorrelation_time(logs + (v->samples[longest] - v->samples[0]),
                                     (size_t)(v->samples[longest + 1] - v->samples[longest]), &own, err));
    *time = fmax(*time, own);
    return RGM_OK;
}

static size_t launches_with_samples(const side_values *v) {
    size_t n = 0;
    for (size_t k = 0; k < v->launches; k++) n += v->samples[k + 1] > v->samples[k];
    return n;
}

static rgm_tier tier_of(const rgm_comparison_input *input, const side_values v[2],
                        const rgm_compare_policy *policy) {
    size_t n[2] = {launches_with_samples(&v[0]), launches_with_samples(&v[1])};
    bool whole_pairs = n[0] == v[0].launches && n[1] == v[1].launches && n[0] == n[1];
    if (input->paired && whole_pairs && (double)n[0] >= policy->least_pairs) return RGM_TIER_PAIRED;
    if ((double)n[0] >= policy->least_launches && (double)n[1] >= policy->least_launches)
        return RGM_TIER_LAUNCHES;
    return RGM_TIER_SINGLE;
}

static bool describe(const side_values v[2], rgm_difference *out) {
    for (int side = 0; side < 2; side++) {
        out->launches[side] = (int32_t)v[side].launches;
        out->samples[side] = (int64_t)v[side].count;
        out->level[side] = out->least[side] = out->slow[side] = NAN;
    }
    out->rank_p = out->autocorrelation = NAN;
    if (!v[0].launches && !v[1].launches)
        out->reason = RGM_VERDICT_REASON_NO_SAMPLES;
    else if (!v[0].launches || !v[1].launches)
        out->reason = RGM_VERDICT_REASON_ONE_SIDE;
    else if (!v[0].count || !v[1].count)
        out->reason = RGM_VERDICT_REASON_NO_SAMPLES;
    else if (!all_positive(&v[0]) || !all_positive(&v[1]))
        out->reason = RGM_VERDICT_REASON_NOT_POSITIVE;
    else
        return true;
    return false;
}

static double level_of(double *medians, size_t count, double *scratch) {
    memcpy(scratch, medians, count * sizeof *scratch);
    rgm_sort_doubles(scratch, count);
    return exp(rgm_median_sorted(scratch, count));
}

rgm_status rgm_difference_of(const rgm_comparison_input *input, size_t operation,
                             const rgm_compare_policy *policy, rgm_difference_scratch *s, rgm_difference *out,
                             rgm_error *err) {
    side_values v[2] = {side_of(&input->sides[0], operation), side_of(&input->sides[1], operation)};
    *out = (rgm_difference){.tier = RGM_TIER_NONE, .moved = NAN, .doubt = NAN};
    bool usable = describe(v, out);
    size_t most = v[0].count > v[1].count ? v[0].count : v[1].count;
    size_t launches = v[0].launches > v[1].launches ? v[0].launches : v[1].launches;
    RGM_TRY(room_for(s, most, launches, err));
    size_t counts[2] = {v[0].count, v[1].count}, n[2] = {0, 0};
    double time = 1.0, within[2] = {0, 0};
    rgm_tier tier = tier_of(input, v, policy);
    for (int side = 0; side < 2; side++) {
        if (!v[side].count || !all_positive(&v[side])) continue;
        take_logs(&v[side], s->logs[side]);
        if (usable && tier == RGM_TIER_SINGLE) RGM_TRY(dependence(&v[side], s->logs[side], &time, err));
        n[side] = launch_medians(&v[side], s->logs[side], s->medians[side]);
        within[side] = spread_within(&v[side], s->logs[side], policy);
        out->level[side] = level_of(s->medians[side], n[side], s->pooled);
        out->least[side] = least_of(&v[side]);
    }
    if (!usable) return RGM_OK;
    for (int side = 0; side < 2; side++) rgm_sort_doubles(s->logs[side], counts[side]);
    merge(s->logs[0], counts[0], s->logs[1], counts[1], s->pooled);
    find_modes(s->pooled, counts[0] + counts[1], s->logs, counts, policy, out);
    if (tier == RGM_TIER_PAIRED) {
        RGM_TRY(paired(s->medians[0], s->medians[1], n[0], s->pooled, out, err));
        RGM_TRY(add_common(&s->common, s->pooled, n[0], &out->spread[0], out->shift, err));
    } else if (tier == RGM_TIER_LAUNCHES) {
        RGM_TRY(several(s->medians, n, out, err));
    } else {
        RGM_TRY(single(s->logs, counts, s->medians, n, within, time, floor_of(input, operation, policy),
                       policy, out, err));
    }
    if (out->level[0] == out->level[1] && out->least[0] == out->least[1] &&
        s->logs[0][0] == s->logs[0][counts[0] - 1] && s->logs[1][0] == s->logs[1][counts[1] - 1])
        out->reason = RGM_VERDICT_REASON_EQUAL;
    return RGM_OK;
}
