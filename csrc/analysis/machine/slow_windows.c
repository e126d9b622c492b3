// SPDX-License-Identifier: Apache-2.0
// Stretches in which the machine was slower than usual.
#include <math.h>
#include <stdlib.h>

#include "analysis/analyses.h"
#include "analysis/machine/looks.h"
#include "base/doubles.h"
#include "base/list.h"
#include "base/memory.h"

// Of a normal distribution: its deviation over the median of absolute deviations, and the standard error of a
// median over that of a mean. Hampel, The influence curve and its role in robust estimation, JASA 69 (1974).
#define NORMAL_DEVIATION 1.4826
#define MEDIAN_ERROR 1.2533

typedef struct {
    size_t first, end;
} stretch;

typedef struct {
    int64_t start_ns, end_ns;
    double factor;
    rgm_machine_sign sign;
} window;

typedef struct {
    const rgm_run *run;
    const rgm_policy *policy;
    window *rows;
    size_t count, capacity;
    rgm_error *err;
} windows;

// --- of one series ----------------------------------------------------------------------------------------

// The lower levels are the usual one: what is slower than its looks is slow.
static double usual_level(const rgm_machine_series *series, const rgm_policy *policy, double *scratch) {
    for (size_t i = 0; i < series->count; i++) scratch[i] = series->level[i];
    rgm_sort_doubles(scratch, series->count);
    double share = fmax(0, fmin(1, policy->machine_usual_share));
    return rgm_quantile_of_sorted(scratch, series->count, share);
}

// Where levels are slow, so many in a row that it is no chance.
static size_t find_stretches(const rgm_machine_series *series, const rgm_policy *policy, double usual,
                             stretch *found) {
    size_t n = 0;
    for (size_t from = 0, to; from < series->count; from = to + 1) {
        for (to = from; to < series->count && series->level[to] >= policy->machine_slower * usual;) to++;
        if (to > from && to - from >= rgm_looks_least(policy)) found[n++] = (stretch){from, to};
    }
    return n;
}

// The looks in no stretch; all where there are none outside.
static size_t outside(const rgm_machine_series *series, const stretch *found, size_t count, double *rest) {
    size_t n = 0;
    for (size_t i = 0, s = 0; i < series->count; i++) {
        while (s < count && found[s].end <= i) s++;
        if (s == count || i < found[s].first) rest[n++] = series->ratio[i];
    }
    return n;
}

// Standard error of the median of one logarithm, by the median deviation from the level around.
static double noise_of(const rgm_machine_series *series, double *scratch) {
    for (size_t i = 0; i < series->count; i++) scratch[i] = fabs(log(series->ratio[i] / series->level[i]));
    rgm_sort_doubles(scratch, series->count);
    return NORMAL_DEVIATION * rgm_median_sorted(scratch, series->count) * MEDIAN_ERROR;
}

static window window_of(const windows *all, const rgm_machine_series *series, stretch at, double factor) {
    int64_t start = series->time_ns[at.first], last = series->time_ns[series->count - 1];
    if (!at.first && all->run->start_ns < start) start = all->run->start_ns;
    int64_t end = at.end < series->count ? series->time_ns[at.end] : last;
    if (at.end == series->count && all->run->end_ns > end) end = all->run->end_ns;
    return (window){start, end, factor, series->sign};
}

static rgm_status look_through(windows *all, const rgm_machine_series *series, stretch *found,
                               double *scratch) {
    const rgm_policy *policy = all->policy;
    size_t count = find_stretches(series, policy, usual_level(series, policy, scratch), found);
    size_t rest = outside(series, found, count, scratch);
    if (!rest) return RGM_OK;
    rgm_sort_doubles(scratch, rest);
    double level = rgm_median_sorted(scratch, rest), noise = noise_of(series, scratch);
    for (size_t i = 0; i < count; i++) {
        size_t looks = found[i].end - found[i].first;
        double factor = rgm_looks_median(series->ratio + found[i].first, looks, scratch) / level;
        double error = noise * sqrt(1 / (double)looks + 1 / (double)rest);
        bool told = factor >= policy->machine_slower && log(factor) >= policy->machine_errors * error;
        if (!told) continue;
        RGM_TRY(RGM_LIST_ROOM(all->rows, all->count, all->capacity, 16, all->err));
        all->rows[all->count++] = window_of(all, series, found[i], factor);
    }
    return RGM_OK;
}

static rgm_status look_through_all(windows *all, const rgm_looks *looks) {
    size_t most = 0;
    for (size_t s = 0; s < looks->count; s++)
        if (looks->series[s].count > most) most = looks->series[s].count;
    stretch *found = rgm_malloc((most + 1) * sizeof *found);
    double *scratch = rgm_malloc((most + 1) * sizeof *scratch);
    rgm_status status = found && scratch ? RGM_OK : rgm_error_no_memory(all->err);
    for (size_t s = 0; s < looks->count && status == RGM_OK; s++)
        status = look_through(all, &looks->series[s], found, scratch);
    rgm_free(found);
    rgm_free(scratch);
    return status;
}

// --- of all -----------------------------------------------------------------------------------------------

static int slowest_first(const void *a, const void *b) {
    const window *x = a, *y = b;
    if (x->factor != y->factor) return x->factor > y->factor ? -1 : 1;
    if (x->sign != y->sign) return x->sign < y->sign ? -1 : 1;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static int by_start(const void *a, const void *b) {
    const window *x = a, *y = b;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

// Of windows that overlap the slowest is told.
static void keep_apart(windows *all) {
    size_t n = 0;
    qsort(all->rows, all->count, sizeof *all->rows, slowest_first);
    for (size_t i = 0; i < all->count; i++) {
        bool apart = true;
        for (size_t k = 0; k < n && apart; k++)
            apart =
                all->rows[i].end_ns <= all->rows[k].start_ns || all->rows[i].start_ns >= all->rows[k].end_ns;
        if (apart) all->rows[n++] = all->rows[i];
    }
    all->count = n;
    qsort(all->rows, n, sizeof *all->rows, by_start);
}

static rgm_status write(const windows *all, rgm_slow_windows *out) {
    for (size_t i = 0, row; i < all->count; i++) {
        RGM_TRY(rgm_table_append(&rgm_slow_windows_desc, out, RGM_ALL_COLUMNS, &row, all->err));
        out->start_ns[row] = all->rows[i].start_ns;
        out->end_ns[row] = all->rows[i].end_ns;
        out->factor[row] = all->rows[i].factor;
        out->sign[row] = (uint8_t)all->rows[i].sign;
    }
    return RGM_OK;
}

rgm_status rgm_slow_windows_compute(const rgm_view *view, const rgm_policy *policy,
                                    const rgm_question *question, rgm_slow_windows *out, rgm_error *err) {
    (void)question;
    windows all = {.run = view->run, .policy = policy, .err = err};
    rgm_looks looks = {0};
    rgm_status status;
    RGM_GOTO(rgm_looks_init(&looks, view->run, policy, err));
    RGM_GOTO(look_through_all(&all, &looks));
    if (all.count) keep_apart(&all);
    status = write(&all, out);
done:
    rgm_looks_release(&looks);
    rgm_free(all.rows);
    return status;
}
