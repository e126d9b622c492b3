// SPDX-License-Identifier: Apache-2.0
// How fast and how steady the machine was, and what kept the recorded processes from their processors.
#include <math.h>

#include "analysis/analyses.h"
#include "analysis/machine/looks.h"
#include "analysis/order.h"
#include "analysis/stats.h"
#include "base/doubles.h"
#include "base/memory.h"
#include "base/sort.h"

#define S 1e9
enum { MOST_PIECES = 64 };

// --- steadiness -------------------------------------------------------------------------------------------

// Half the distance of the deciles of the medians of consecutive pieces, as part of the median of all. The
// first pieces have one value more where they do not come out even.
static double spread_of(const rgm_machine_series *series, const rgm_policy *policy, double *scratch) {
    double levels[MOST_PIECES], wanted = fmin(policy->machine_pieces, MOST_PIECES);
    size_t pieces = series->count / rgm_looks_least(policy);
    if ((double)pieces > wanted) pieces = (size_t)fmax(wanted, 1);
    if (!pieces) pieces = 1;
    for (size_t i = 0, from = 0; i < pieces; i++) {
        size_t length = series->count / pieces + (i < series->count % pieces);
        levels[i] = rgm_looks_median(series->ratio + from, length, scratch);
        from += length;
    }
    rgm_sort_doubles(levels, pieces);
    double distance =
        rgm_quantile_of_sorted(levels, pieces, 0.9) - rgm_quantile_of_sorted(levels, pieces, 0.1);
    return distance / 2 / rgm_looks_median(series->ratio, series->count, scratch);
}

static rgm_status find_spread(rgm_machine *out, const rgm_looks *looks, const rgm_policy *policy,
                              rgm_error *err) {
    for (size_t s = 0; s < looks->count; s++) {
        double *scratch = rgm_malloc((looks->series[s].count + 1) * sizeof *scratch);
        if (!scratch) return rgm_error_no_memory(err);
        double spread = spread_of(&looks->series[s], policy, scratch);
        rgm_free(scratch);
        if (s && !(spread > out->spread[0])) continue;
        out->spread[0] = spread;
        out->spread_sign[0] = (uint8_t)looks->series[s].sign;
    }
    return RGM_OK;
}

// --- shares -----------------------------------------------------------------------------------------------

typedef struct {
    double part, whole;
} share;

static void add(share *sum, int64_t part, int64_t whole) {
    if (part < 0 || whole < 0) return;
    sum->part += (double)part;
    sum->whole += (double)whole;
}

static double of(const share *sum) { return sum->whole > 0 ? sum->part / sum->whole : NAN; }

static void find_shares(rgm_machine *out, const rgm_pressure *table) {
    share waiting = {0}, steal = {0}, throttled = {0}, involuntary = {0};
    for (size_t i = 0; i < table->rows; i++) {
        if (rgm_is_of_child(table, i)) continue;
        int64_t interval = RGM_CELL(table, interval_ns, i, 0);
        int64_t running = RGM_CELL(table, running_ns, i, -1), waited = RGM_CELL(table, waiting_ns, i, -1);
        bool known = running >= 0 && waited >= 0;
        add(&waiting, waited, known ? rgm_add_bounded(running, waited) : -1);
        add(&steal, RGM_CELL(table, steal_ns, i, -1), interval);
        add(&throttled, RGM_CELL(table, throttled_ns, i, -1), interval);
        add(&involuntary, RGM_CELL(table, involuntary, i, -1), interval);
    }
    out->waiting_share[0] = of(&waiting);
    out->steal_share[0] = of(&steal);
    out->throttled_share[0] = of(&throttled);
    out->involuntary_per_s[0] = of(&involuntary) * S;
}

// --- migrations -------------------------------------------------------------------------------------------

// Changes of processor between consecutive rows of a lane, marks included.
static rgm_status find_migrations(rgm_machine *out, const rgm_run *run, rgm_error *err) {
    const rgm_witness *table = &run->witness;
    if (!table->rows) return RGM_OK;
    RGM_FREED uint32_t *order = rgm_malloc(table->rows * sizeof *order);
    RGM_FREED int32_t *last = rgm_malloc((run->lanes.rows + 1) * sizeof *last);
    if (!order || !last) return rgm_error_no_memory(err);
    RGM_TRY(rgm_sort_order_i64(table->time_ns, table->rows, order, err));
    for (size_t i = 0; i < run->lanes.rows; i++) last[i] = -1;
    out->migrations[0] = 0;
    for (size_t i = 0; i < table->rows; i++) {
        int32_t lane = RGM_CELL(table, lane, order[i], -1);
        int32_t processor = RGM_CELL(table, processor, order[i], -1);
        if (lane < 0) continue;
        out->migrations[0] += processor >= 0 && last[lane] >= 0 && processor != last[lane];
        last[lane] = processor;
    }
    return RGM_OK;
}

rgm_status rgm_machine_compute(const rgm_view *view, const rgm_policy *policy, const rgm_question *question,
                               rgm_machine *out, rgm_error *err) {
    (void)question;
    const rgm_run *run = view->run;
    RGM_RELEASED(rgm_looks_release) rgm_looks looks = {0};
    if (!run->witness.rows && !run->pressure.rows) return RGM_OK;
    RGM_TRY(rgm_table_rows(&rgm_machine_desc, out, 1, err));
    RGM_TRY(rgm_looks_init(&looks, run, policy, err));
    out->looks[0] = (int64_t)looks.looks;
    out->throughput_ns[0] = looks.throughput_ns;
    out->memory_ns[0] = looks.memory_ns;
    RGM_TRY(find_spread(out, &looks, policy, err));
    find_shares(out, &run->pressure);
    return find_migrations(out, run, err);
}
