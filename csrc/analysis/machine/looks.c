// SPDX-License-Identifier: Apache-2.0
#include "analysis/machine/looks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/stats.h"
#include "base/doubles.h"
#include "base/memory.h"
#include "base/sort.h"

enum { MOST_AROUND = 99 };

// A look that tells of the work: by time, with the process that took it.
typedef struct {
    int64_t time_ns;
    double ns[2]; // throughput, memory; NaN where it has none
    int64_t process;
    int32_t rank;
    size_t at; // in order of time
} look;

size_t rgm_looks_least(const rgm_policy *policy) {
    return policy->machine_least_looks > 1 ? (size_t)fmin(policy->machine_least_looks, 1e9) : 1;
}

double rgm_looks_median(const double *values, size_t count, double *scratch) {
    if (count) memcpy(scratch, values, count * sizeof *scratch);
    rgm_sort_doubles(scratch, count);
    return rgm_median_sorted(scratch, count);
}

// --- looks ------------------------------------------------------------------------------------------------

static double known(int64_t ns) { return ns > 0 ? (double)ns : NAN; }

// Those with a time of the arithmetic; the others are marks at the end of a block.
static size_t read_looks(const rgm_run *run, const uint32_t *order, look *looks) {
    const rgm_witness *table = &run->witness;
    size_t n = 0;
    for (size_t i = 0; i < table->rows; i++) {
        uint32_t row = order[i];
        int64_t throughput = RGM_CELL(table, throughput_ns, row, -1);
        int32_t lane = RGM_CELL(table, lane, row, -1);
        if (throughput < 0) continue;
        looks[n] = (look){.time_ns = RGM_CELL(table, time_ns, row, 0),
                          .ns = {known(throughput), known(RGM_CELL(table, memory_ns, row, -1))},
                          .process = lane < 0 ? -1 : RGM_CELL(&run->lanes, process, lane, 0),
                          .rank = lane < 0 ? INT32_MIN : RGM_CELL(&run->lanes, rank, lane, -1),
                          .at = n};
        n++;
    }
    return n;
}

static int by_process(const void *a, const void *b) {
    const look *x = a, *y = b;
    if (x->process != y->process) return x->process < y->process ? -1 : 1;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static double median_known(const look *looks, size_t count, rgm_machine_sign sign, double *scratch) {
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(looks[i].ns[sign])) scratch[n++] = looks[i].ns[sign];
    rgm_sort_doubles(scratch, n);
    return rgm_median_sorted(scratch, n);
}

static rgm_status new_series(rgm_looks *looks, rgm_machine_sign sign, size_t count, rgm_error *err) {
    rgm_machine_series *series = &looks->series[looks->count++];
    series->sign = sign;
    series->count = count;
    series->time_ns = rgm_malloc((count + 1) * sizeof *series->time_ns);
    series->ratio = rgm_malloc((count + 1) * sizeof *series->ratio);
    series->level = rgm_malloc((count + 1) * sizeof *series->level);
    return series->time_ns && series->ratio && series->level ? RGM_OK : rgm_error_no_memory(err);
}

// A sign that every look has, as ratios: times of different processes may be of different machines.
static rgm_status add_work(rgm_looks *looks, rgm_machine_sign sign, const look *found, double *scratch,
                           rgm_error *err) {
    for (size_t i = 0; i < looks->looks; i++)
        if (isnan(found[i].ns[sign])) return RGM_OK;
    RGM_TRY(new_series(looks, sign, looks->looks, err));
    rgm_machine_series *series = &looks->series[looks->count - 1];
    for (size_t from = 0, to; from < looks->looks; from = to) {
        for (to = from; to < looks->looks && found[to].process == found[from].process &&
                        found[to].rank == found[from].rank;)
            to++;
        double usual = median_known(found + from, to - from, sign, scratch);
        for (size_t i = from; i < to; i++) {
            series->time_ns[found[i].at] = found[i].time_ns;
            series->ratio[found[i].at] = found[i].ns[sign] / usual;
        }
    }
    return RGM_OK;
}

static rgm_status add_looks(rgm_looks *looks, const rgm_run *run, const rgm_policy *policy, rgm_error *err) {
    size_t rows = run->witness.rows;
    RGM_FREED uint32_t *order = rgm_malloc((rows + 1) * sizeof *order);
    RGM_FREED look *found = rgm_malloc((rows + 1) * sizeof *found);
    RGM_FREED double *scratch = rgm_malloc((rows + 1) * sizeof *scratch);
    if (!order || !found || !scratch) return rgm_error_no_memory(err);
    if (!rows) return RGM_OK;
    RGM_TRY(rgm_sort_order_i64(run->witness.time_ns, rows, order, err));
    looks->looks = read_looks(run, order, found);
    looks->throughput_ns = median_known(found, looks->looks, RGM_SIGN_THROUGHPUT, scratch);
    looks->memory_ns = median_known(found, looks->looks, RGM_SIGN_MEMORY, scratch);
    if (looks->looks < rgm_looks_least(policy)) return RGM_OK;
    qsort(found, looks->looks, sizeof *found, by_process);
    RGM_TRY(add_work(looks, RGM_SIGN_THROUGHPUT, found, scratch, err));
    return add_work(looks, RGM_SIGN_MEMORY, found, scratch, err);
}

// --- waiting ----------------------------------------------------------------------------------------------

// How many times as long as without waiting what was ready took; NaN where too little was.
static double stretched(const rgm_pressure *table, size_t row, double active) {
    int64_t running = RGM_CELL(table, running_ns, row, -1), waiting = RGM_CELL(table, waiting_ns, row, -1);
    double ready = (double)running + (double)waiting;
    bool tells = running > 0 && waiting >= 0 && ready > active * (double)RGM_CELL(table, interval_ns, row, 0);
    return tells ? ready / (double)running : NAN;
}

static rgm_status add_waiting(rgm_looks *looks, const rgm_run *run, const rgm_policy *policy,
                              rgm_error *err) {
    const rgm_pressure *table = &run->pressure;
    RGM_FREED uint32_t *order = rgm_malloc((table->rows + 1) * sizeof *order);
    if (!order) return rgm_error_no_memory(err);
    if (!table->rows) return RGM_OK;
    RGM_TRY(rgm_sort_order_i64(table->time_ns, table->rows, order, err));
    RGM_TRY(new_series(looks, RGM_SIGN_WAITING, table->rows, err));
    rgm_machine_series *series = &looks->series[looks->count - 1];
    size_t n = 0;
    for (size_t i = 0; i < table->rows; i++) {
        double ratio = stretched(table, order[i], policy->machine_active);
        if (isnan(ratio) || rgm_is_of_child(table, order[i])) continue;
        series->time_ns[n] =
            rgm_subtract_bounded(table->time_ns[order[i]], RGM_CELL(table, interval_ns, order[i], 0));
        series->ratio[n++] = ratio;
    }
    series->count = n;
    return RGM_OK;
}

// --- levels -----------------------------------------------------------------------------------------------

// The median around each; at the ends that of what is there.
static void find_levels(rgm_machine_series *series, const rgm_policy *policy) {
    size_t side = policy->machine_around > 2 ? (size_t)fmin(policy->machine_around, MOST_AROUND) / 2 : 0;
    double scratch[MOST_AROUND + 1];
    for (size_t i = 0; i < series->count; i++) {
        size_t first = i > side ? i - side : 0;
        size_t end = i + side + 1 < series->count ? i + side + 1 : series->count;
        series->level[i] = rgm_looks_median(series->ratio + first, end - first, scratch);
    }
}

static void release(rgm_machine_series *series) {
    rgm_free(series->time_ns);
    rgm_free(series->ratio);
    rgm_free(series->level);
}

rgm_status rgm_looks_init(rgm_looks *looks, const rgm_run *run, const rgm_policy *policy, rgm_error *err) {
    *looks = (rgm_looks){.throughput_ns = NAN, .memory_ns = NAN};
    RGM_TRY(add_looks(looks, run, policy, err));
    RGM_TRY(add_waiting(looks, run, policy, err));
    size_t n = 0;
    for (size_t i = 0; i < looks->count; i++) {
        if (looks->series[i].count < rgm_looks_least(policy)) {
            release(&looks->series[i]);
            continue;
        }
        looks->series[n] = looks->series[i];
        find_levels(&looks->series[n++], policy);
    }
    looks->count = n;
    return RGM_OK;
}

void rgm_looks_release(rgm_looks *looks) {
    for (size_t i = 0; i < looks->count; i++) release(&looks->series[i]);
}
