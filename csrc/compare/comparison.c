// SPDX-License-Identifier: Apache-2.0
#include "compare/comparison.h"

#include <math.h>
#include <stdlib.h>

#include "base/doubles.h"
#include "base/memory.h"
#include "compare/differences.h"
#include "compare/distributions.h"

// A smaller part of its expectation than this is not made of the variance that operations share.
#define SMALLEST_DRAW 0.01
// Of a median of normal values, beside that of their mean: pi / 2.
#define MEDIAN_VARIANCE 1.5708

// --- families ---------------------------------------------------------------------------------------------

// The variances of one tier borrow from one another.
static rgm_variance_prior prior_of(const rgm_difference *all, size_t count, rgm_tier tier, double *scratch) {
    double *variances = scratch, *df = scratch + 2 * count;
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        for (int part = 0; all[i].tier == tier && part < 2; part++) {
            if (!(all[i].spread[part].df > 0)) continue;
            variances[n] = all[i].spread[part].variance;
            df[n++] = all[i].spread[part].df;
        }
    return rgm_variance_prior_of(variances, df, n);
}

// Standard error of the difference, with as many degrees of freedom as its variances have together
// (Satterthwaite), and no more than all operations have between them.
static void moderate(rgm_difference *d, rgm_variance_prior prior, double most_df) {
    double sum = 0, below = 0;
    for (int part = 0; part < 2; part++) {
        const rgm_spread_part *s = &d->spread[part];
        if (!(s->df > 0)) continue;
        double df, variance = rgm_moderated(prior, s->variance, s->df, &df) / s->count;
        sum += variance;
        below += variance * variance / fmin(df, most_df);
    }
    d->error = sqrt(sum);
    d->df = below > 0 ? sum * sum / below : most_df;
}

// The variance that operations share is one draw for all of them, known from the pairs of one operation only:
// a variance pooled from operations whose variances agree has not more freedom than (pairs - 1) / part^2,
// because that of a sum of variances is the square of the sum over the sum of the squares, each over its
// freedom. Where that draw came out small, so did both the variance and its share, and the freedom would be
// largest where it is least deserved: the share counts as what it is when the draw was a small one, the lower
// bound of chi-squared at that level (Wilson & Hilferty 1931).
static double freedom_of(const rgm_common_noise *common, double level) {
    double part = rgm_common_part(common), df = (double)common->pairs - 1;
    if (!(part > 0)) return INFINITY;
    double step = 2 / (9 * df), root = 1 - step - rgm_normal_quantile(level) * sqrt(step);
    double shared = part / fmax(root * root * root, SMALLEST_DRAW);
    part = shared / (shared + 1 - part);
    return df / (part * part);
}

static void moderate_tier(rgm_difference *all, size_t count, rgm_tier tier, double most_shared,
                          double *scratch, const rgm_compare_policy *policy, rgm_comparison_facts *facts) {
    size_t n = 0;
    double most_df = 0;
    for (size_t i = 0; i < count; i++) n += all[i].tier == tier;
    rgm_variance_prior prior = {0, 0};
    if ((double)n >= policy->moderation_operations) prior = prior_of(all, count, tier, scratch);
    for (size_t i = 0; i < count; i++)
        for (int part = 0; all[i].tier == tier && part < 2; part++)
            if (all[i].spread[part].df > 0) most_df += all[i].spread[part].df;
    most_df = fmin(most_df, most_shared);
    for (size_t i = 0; i < count; i++)
        if (all[i].tier == tier) moderate(&all[i], prior, most_df);
    if (most_df > 0) {
        facts->prior_df = prior.df;
        facts->prior_variance = prior.variance;
    }
}

// Sides that did not run together may differ as a whole: another clock rate, another machine state.
static rgm_status common_shift(const rgm_comparison_input *input, const rgm_compare_policy *policy,
                               rgm_difference *all, double *scratch, rgm_comparison_facts *facts,
                               rgm_error *err) {
    size_t n = 0, count = input->operations;
    double *shifts = scratch, *errors = scratch + count, mode = NAN, spread = 0;
    for (size_t i = 0; i < count; i++) {
        if (all[i].tier == RGM_TIER_NONE || !(all[i].error > 0)) continue;
        shifts[n] = all[i].shift;
        errors[n++] = all[i].error;
    }
    if ((double)n < policy->common_mode_operations) return RGM_OK;
    RGM_TRY(rgm_common_mode(shifts, errors, n, policy->common_mode_limit, &mode, err));
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (fabs(shifts[i] - mode) > policy->common_mode_limit * errors[i]) continue;
        spread += (shifts[i] - mode) * (shifts[i] - mode);
        kept++;
    }
    // The standard error of a median of normal values is sqrt(pi / 2) times that of their mean.
    double half = kept > 1 ? 1.2533 * sqrt(spread / (double)(kept - 1) / (double)kept) *
                                 rgm_t_quantile(0.5 + policy->interval / 2, (double)(kept - 1))
                           : INFINITY;
    facts->common_mode = expm1(mode);
    facts->common_low = expm1(mode - half);
    facts->common_high = expm1(mode + half);
    // Pairs have it in both sides, and what one process a side has of its own is what the floor allows for.
    for (size_t i = 0; i < count; i++) {
        if (all[i].tier != RGM_TIER_LAUNCHES) continue;
        all[i].shift -= mode;
        facts->common_removed = true;
    }
    return RGM_OK;
}

// --- one process a side -----------------------------------------------------------------------------------

typedef struct {
    double shift;
    uint32_t row;
} ranked_shift;

static int by_shift(const void *left, const void *right) {
    const ranked_shift *a = left, *b = right;
    if (a->shift != b->shift) return a->shift < b->shift ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

// What the machine did to a process it did to all operations: each is held against the others, by as much as
// these agree. Where too few are there to tell, a machine may be slower by as much as the policy's
// speed_floor.
static void hold_against_others(ranked_shift *ranked, size_t count, const rgm_compare_policy *policy,
                                rgm_difference *all) {
    double mean = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        double delta = ranked[i].shift - mean;
        mean += delta / (double)(i + 1);
        squares += delta * (ranked[i].shift - mean);
    }
    for (size_t i = 0; i < count; i++) {
        rgm_difference *d = &all[ranked[i].row];
        double others = (double)count - 1;
        if (others < policy->least_others || others < 2) {
            d->error = hypot(d->error, M_SQRT2 * policy->speed_floor);
            continue;
        }
        size_t middle = (count - 1) / 2, before = (count - 2) / 2;
        double high = ranked[middle < i ? middle : middle + 1].shift,
               low = ranked[before < i ? before : before + 1].shift;
        // Without one of `count` values, the sum of squares loses count / (count - 1) of its squared
        // deviation.
        double own = ranked[i].shift - mean;
        double variance = fmax(0, squares - own * own * (double)count / others) / (others - 1);
        d->moved = (low + high) / 2;
        // Few others know their variance badly: what the floor says of it counts, too, as scaled inverse
        // chi-squared.
        double prior = policy->floor_df;
        d->doubt_df = others - 1 + prior;
        variance = ((others - 1) * variance + prior * d->error * d->error) / d->doubt_df;
        d->doubt = sqrt(variance * (1 + MEDIAN_VARIANCE / others));
    }
}

static rgm_status against_others(const rgm_comparison_input *input, const rgm_compare_policy *policy,
                                 rgm_difference *all, rgm_error *err) {
    if (!(policy->floor_df > 0)) return RGM_OK;
    ranked_shift *ranked = rgm_malloc((input->operations + 1) * sizeof *ranked);
    if (!ranked) return rgm_error_no_memory(err);
    for (unsigned metric = 0; metric < 256; metric++) {
        size_t n = 0;
        for (size_t i = 0; i < input->operations; i++)
            if (all[i].tier == RGM_TIER_SINGLE && (input->metrics ? input->metrics[i] : 0) == metric)
                ranked[n++] = (ranked_shift){all[i].shift, (uint32_t)i};
        if (n > 1) qsort(ranked, n, sizeof *ranked, by_shift);
        hold_against_others(ranked, n, policy, all);
        if (!input->metrics) break;
    }
    rgm_free(ranked);
    return RGM_OK;
}

// --- verdicts ---------------------------------------------------------------------------------------------

static bool reaches(double nearer, double estimate, double farther, double threshold, rgm_decision decision) {
    switch (decision) {
    case RGM_DECIDE_PROVE: return nearer > threshold;
    case RGM_DECIDE_ESTIMATE: return estimate >= threshold;
    default: return farther >= threshold;
    }
}

typedef struct {
    rgm_verdict verdict;
    rgm_verdict_reason reason;
    bool conclusive;
} judgement;

static judgement judge(const rgm_comparison *out, size_t row, const rgm_compare_policy *policy,
                       rgm_decision decision) {
    double change = out->change[row], low = out->low[row], high = out->high[row], t = policy->threshold;
    bool real = out->q[row] < policy->alpha;
    bool slower = real && change > 0 && reaches(low, change, high, t, decision);
    // A slowdown by the factor 1 + t and a speed-up by the same factor count alike.
    bool faster = real && change < 0 &&
                  reaches(1 / (1 + high) - 1, 1 / (1 + change) - 1, 1 / (1 + low) - 1, t, decision);
    if (slower) return (judgement){RGM_VERDICT_REGRESSION, RGM_VERDICT_REASON_SIGNIFICANT, true};
    if (faster) return (judgement){RGM_VERDICT_IMPROVEMENT, RGM_VERDICT_REASON_SIGNIFICANT, true};
    bool inside = high < t && 1 / (1 + low) - 1 < t;
    if (inside)
        return (judgement){RGM_VERDICT_NO_CHANGE,
                           real ? RGM_VERDICT_REASON_BELOW_THRESHOLD : RGM_VERDICT_REASON_CONCLUSIVE, true};
    return (judgement){RGM_VERDICT_NO_CHANGE, RGM_VERDICT_REASON_TOO_FEW, false};
}

// How many launches or pairs would bring the interval inside the threshold, or off zero, whichever is nearer.
static int32_t needed(const rgm_difference *d, double half, double threshold) {
    double limit = log1p(threshold), distance = fabs(d->shift);
    double room = fmax(distance < limit ? limit - distance : 0, distance);
    int32_t have = d->pairs ? d->pairs : d->launches[0] < d->launches[1] ? d->launches[0] : d->launches[1];
    if (!(room > 0) || !(half > 0) || d->tier == RGM_TIER_SINGLE) return -1;
    double factor = half / room;
    double count = ceil((double)have * factor * factor);
    return count < 1e6 ? (int32_t)fmax(count, (double)have + 1) : -1;
}

static void fill_row(rgm_comparison *out, size_t row, const rgm_difference *d) {
    out->operation[row] = (rgm_u32)row;
    out->tier[row] = (rgm_u8)d->tier;
    out->reason[row] = (rgm_u8)d->reason;
    out->verdict[row] = (rgm_u8)(d->reason == RGM_VERDICT_REASON_ONE_SIDE
                                     ? (d->launches[0] ? RGM_VERDICT_REMOVED : RGM_VERDICT_NEW)
                                     : RGM_VERDICT_INVALID);
    out->conclusive[row] = d->reason == RGM_VERDICT_REASON_ONE_SIDE;
    out->pairs[row] = d->pairs;
    out->baseline_launches[row] = d->launches[0];
    out->current_launches[row] = d->launches[1];
    out->baseline_samples[row] = d->samples[0];
    out->current_samples[row] = d->samples[1];
    out->baseline[row] = d->level[0];
    out->current[row] = d->level[1];
    out->baseline_least[row] = d->least[0];
    out->current_least[row] = d->least[1];
    out->rank_p[row] = d->rank_p;
    out->baseline_slow[row] = d->slow[0];
    out->current_slow[row] = d->slow[1];
    out->autocorrelation[row] = d->autocorrelation;
}

// Quantiles of Student's distribution that were asked for last: rows of one tier mostly share their freedom.
typedef struct {
    double p, df, value;
} known_quantile;

static double quantile_of(known_quantile *known, double p, double df) {
    if (known->p != p || known->df != df) *known = (known_quantile){p, df, rgm_t_quantile(p, df)};
    return known->value;
}

typedef struct {
    known_quantile interval, alpha, power;
} quantiles;

// The part of the other operations is all the machine's, or none of it: what is said has to hold for both.
static double widest_error(const rgm_difference *d, double *df) {
    *df = d->df;
    if (isnan(d->doubt)) return d->error;
    double own = d->error * d->error, theirs = d->doubt * d->doubt, sum = own + theirs;
    if (theirs > 0) *df = sum * sum / (own * own / d->df + theirs * theirs / d->doubt_df);
    return sqrt(sum);
}

static double two_sided(double shift, double error, double df) {
    if (!(error > 0)) return shift == 0 ? 1.0 : 0.0; // no spread at all: equal, or different beyond doubt
    return fmin(1.0, 2 * rgm_t_upper(fabs(shift) / error, df));
}

static void fill_difference(rgm_comparison *out, size_t row, const rgm_difference *d,
                            const rgm_compare_policy *policy, quantiles *known) {
    double df, error = widest_error(d, &df), level = 0.5 + policy->interval / 2;
    double half = d->error * (d->error > 0 ? quantile_of(&known->interval, level, d->df) : 0);
    double low = d->shift - half, high = d->shift + half, p = two_sided(d->shift, d->error, d->df);
    if (!isnan(d->moved)) {
        double beyond = d->shift - d->moved, p_beyond = two_sided(beyond, error, df);
        half = error * quantile_of(&known->interval, level, df);
        low = fmin(low, beyond - half);
        high = fmax(high, beyond + half);
        // How much is told beside the others, which way by itself, too: where these got faster, what did not
        // has not got slower. For that a one-sided test is enough.
        p = !(beyond * d->shift > 0) ? 1.0 : p < 2 * policy->alpha ? p_beyond : fmax(p, p_beyond);
    }
    out->standard_error[row] = error;
    out->df[row] = df;
    out->change[row] = expm1(d->shift);
    out->low[row] = expm1(low);
    out->high[row] = expm1(high);
    out->p[row] = p;
    out->needed[row] = needed(d, half, policy->threshold);
}

// The p-value that one more difference needs among those that were found: with many operations that is far
// less than alpha, and what is detectable is what reaches it.
static double level_needed(const rgm_comparison *out, rgm_fdr fdr, double alpha) {
    double compared = 0, found = 0, harmonic = 0;
    for (size_t i = 0; i < out->rows; i++) {
        if (isnan(out->p[i])) continue;
        compared++;
        found += out->q[i] < alpha;
        harmonic += 1 / compared;
    }
    if (fdr == RGM_FDR_NONE || compared < 1) return alpha;
    return alpha * fmin(found + 1, compared) / (compared * (fdr == RGM_FDR_BY ? harmonic : 1));
}

static double detectable_shift(const rgm_difference *d, double level, double power, quantiles *known) {
    double df, error = widest_error(d, &df);
    if (!(error > 0)) return 0;
    return error * (quantile_of(&known->alpha, 1 - level / 2, df) + quantile_of(&known->power, power, df));
}

static double detectable_at(const rgm_difference *d, double level, double power, quantiles *known) {
    return expm1(detectable_shift(d, level, power, known));
}

// One process a side that is not held against other operations is called changed only where that was
// detectable by itself: below, what was seen is likelier an exaggeration of what is there, and the interval
// is as wide as that.
static void hold_single(rgm_comparison *out, size_t row, const rgm_difference *d,
                        const rgm_compare_policy *policy, judgement *verdict, quantiles *known) {
    bool called = verdict->reason == RGM_VERDICT_REASON_SIGNIFICANT && d->tier == RGM_TIER_SINGLE;
    double least = called && isnan(d->moved) ? detectable_shift(d, policy->alpha, policy->power, known) : 0;
    if (fabs(d->shift) < least) {
        out->low[row] = expm1(d->shift - least);
        out->high[row] = expm1(d->shift + least);
        *verdict = (judgement){RGM_VERDICT_NO_CHANGE, RGM_VERDICT_REASON_TOO_FEW, false};
    }
    bool open = d->tier == RGM_TIER_SINGLE && verdict->reason == RGM_VERDICT_REASON_TOO_FEW;
    if (open && fabs(d->shift) >= log1p(policy->threshold)) verdict->reason = RGM_VERDICT_REASON_MACHINE;
}

static double whole(const rgm_side *side, size_t operation) {
    if (side->totals) return side->totals[operation];
    double sum = 0;
    for (uint64_t i = side->samples[side->launches[operation]];
         i < side->samples[side->launches[operation + 1]]; i++)
        sum += side->values[i];
    return sum;
}

// Shares of the whole, and which operations are large enough to fail a gate.
static void set_shares(const rgm_comparison_input *input, const rgm_compare_policy *policy,
                       rgm_comparison *out, double *totals) {
    double sums[2][256] = {{0}};
    size_t n = input->operations;
    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; i < n; i++) {
            uint8_t metric = input->metrics ? input->metrics[i] : 0;
            totals[side * n + i] = whole(&input->sides[side], i);
            if (totals[side * n + i] > 0) sums[side][metric] += totals[side * n + i];
        }
    for (size_t i = 0; i < n; i++) {
        size_t side = out->verdict[i] == RGM_VERDICT_NEW;
        uint8_t metric = input->metrics ? input->metrics[i] : 0;
        if (sums[side][metric] > 0) out->share[i] = totals[side * n + i] / sums[side][metric];
        bool large = metric == 0 && fabs(out->current[i] - out->baseline[i]) >= policy->min_change_seconds;
        out->gates[i] = large || !(out->share[i] < policy->min_share);
    }
}

static rgm_status set_detectable(const rgm_comparison *out, rgm_comparison_facts *facts, double *scratch) {
    size_t n = 0;
    facts->worst = UINT32_MAX;
    facts->detectable_median = facts->detectable_worst = NAN;
    for (size_t i = 0; i < out->rows; i++) {
        if (isnan(out->detectable[i])) continue;
        scratch[n++] = out->detectable[i];
        if (facts->worst != UINT32_MAX && !(out->detectable[i] > facts->detectable_worst)) continue;
        facts->worst = (uint32_t)i;
        facts->detectable_worst = out->detectable[i];
    }
    rgm_sort_doubles(scratch, n);
    facts->detectable_median = rgm_median_sorted(scratch, n);
    return RGM_OK;
}

rgm_status rgm_compare(const rgm_comparison_input *input, const rgm_compare_policy *policy,
                       rgm_comparison *out, rgm_comparison_facts *facts, rgm_error *err) {
    size_t n = input->operations;
    *facts = (rgm_comparison_facts){
        .common_mode = NAN, .common_low = NAN, .common_high = NAN, .worst = UINT32_MAX};
    rgm_status status;
    rgm_difference *all = rgm_calloc(n + 1, sizeof *all);
    double *scratch = rgm_malloc((4 * n + 4) * sizeof *scratch);
    rgm_difference_scratch room = {0};
    if (!all || !scratch) {
        status = rgm_error_no_memory(err);
        goto done;
    }
    RGM_GOTO(rgm_table_reserve(&rgm_comparison_desc, out, RGM_ALL_COLUMNS, n ? n : 1, err));
    for (size_t c = 0; c < rgm_comparison_desc.n_columns; c++)
        rgm_table_fill(&rgm_comparison_desc, out, c, 0, n);
    out->rows = n;
    for (size_t i = 0; i < n; i++) RGM_GOTO(rgm_difference_of(input, i, policy, &room, &all[i], err));
    moderate_tier(all, n, RGM_TIER_LAUNCHES, INFINITY, scratch, policy, facts);
    moderate_tier(all, n, RGM_TIER_PAIRED, freedom_of(&room.common, policy->shared_noise), scratch, policy,
                  facts);
    RGM_GOTO(common_shift(input, policy, all, scratch, facts, err));
    RGM_GOTO(against_others(input, policy, all, err));
    quantiles known = {0};
    for (size_t i = 0; i < n; i++) {
        fill_row(out, i, &all[i]);
        if (all[i].tier != RGM_TIER_NONE) fill_difference(out, i, &all[i], policy, &known);
    }
    RGM_GOTO(rgm_adjust(out->p, n, input->fdr, out->q, err));
    double level = level_needed(out, input->fdr, policy->alpha);
    for (size_t i = 0; i < n; i++) {
        if (all[i].tier == RGM_TIER_NONE) continue;
        out->detectable[i] = detectable_at(&all[i], level, policy->power, &known);
        judgement verdict = judge(out, i, policy, input->decision);
        hold_single(out, i, &all[i], policy, &verdict, &known);
        out->verdict[i] = (rgm_u8)verdict.verdict;
        out->reason[i] =
            (rgm_u8)(all[i].reason == RGM_VERDICT_REASON_EQUAL ? RGM_VERDICT_REASON_EQUAL : verdict.reason);
        out->conclusive[i] = verdict.conclusive;
        if (verdict.conclusive) out->needed[i] = -1;
    }
    set_shares(input, policy, out, scratch);
    RGM_GOTO(set_detectable(out, facts, scratch));
done:
    rgm_difference_scratch_release(&room);
    rgm_free(all);
    rgm_free(scratch);
    return status;
}
