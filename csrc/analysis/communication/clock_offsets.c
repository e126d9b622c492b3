// SPDX-License-Identifier: Apache-2.0
// How far the clocks of the ranks of a job are apart, told by its collectives: all ranks leave an all-reduce
// at nearly the same time. The offset of a rank is the median, over the collectives it shares with a rank
// whose offset is known, of the difference of their ends; it starts from the lowest rank that shares any and
// goes from group to group. Collectives that synchronise all their ranks count; all-reduces alone where a
// rank shares any.
//
// The spread tells how good that is: the median distance of the differences from their median.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analyses.h"
#include "analysis/communication/instance.h"
#include "analysis/stats.h"
#include "base/memory.h"
#include "base/sort.h"

typedef struct {
    int32_t rank;
    bool known;
    int64_t offset_ns, shared;
    double spread_ns;
} rank_clock;

typedef struct {
    size_t clock;
    int64_t difference_ns;
} sample;

typedef struct {
    const rgm_view *view;
    rgm_instances all;
    rank_clock *clocks;
    size_t n_clocks;
    uint32_t *clock_of;          // [n_devices]
    uint32_t *first, *instances; // instances of each clock
    bool *used;                  // [instances]
    uint32_t *frontier;          // clocks in the order in which they became known
    size_t n_frontier;
    sample *samples;
    size_t n_samples;
    int64_t *values, *scratch;
} work;

static void release(work *w) {
    rgm_instances_release(&w->all);
    rgm_free(w->clocks);
    rgm_free(w->clock_of);
    rgm_free(w->first);
    rgm_free(w->instances);
    rgm_free(w->used);
    rgm_free(w->frontier);
    rgm_free(w->samples);
    rgm_free(w->values);
    rgm_free(w->scratch);
}

static rgm_status allocate(work *w, rgm_error *err) {
    size_t devices = w->view->n_devices + 1, calls = w->all.calls.count + 1;
    w->clocks = rgm_calloc(devices, sizeof *w->clocks);
    w->clock_of = rgm_calloc(devices, sizeof *w->clock_of);
    w->first = rgm_calloc(devices + 1, sizeof *w->first);
    w->instances = rgm_calloc(calls, sizeof *w->instances);
    w->used = rgm_calloc(calls, sizeof *w->used);
    w->frontier = rgm_calloc(devices, sizeof *w->frontier);
    w->samples = rgm_calloc(calls, sizeof *w->samples);
    w->values = rgm_calloc(calls, sizeof *w->values);
    w->scratch = rgm_calloc(calls, sizeof *w->scratch);
    bool ok = w->clocks && w->clock_of && w->first && w->instances && w->used && w->frontier && w->samples &&
              w->values && w->scratch;
    return ok ? RGM_OK : rgm_error_no_memory(err);
}

static rgm_status find_clocks(work *w, rgm_error *err) {
    size_t n = w->view->n_devices;
    uint64_t *keys = rgm_malloc((n + 1) * sizeof *keys);
    uint32_t *order = rgm_malloc((n + 1) * sizeof *order);
    rgm_status status = keys && order ? RGM_OK : rgm_error_no_memory(err);
    for (size_t d = 0; status == RGM_OK && d < n; d++) keys[d] = rgm_sort_key_i64(w->view->devices[d].rank);
    if (status == RGM_OK) status = rgm_sort_order(keys, n, order, err);
    for (size_t i = 0; status == RGM_OK && i < n; i++) {
        int32_t rank = w->view->devices[order[i]].rank;
        if (!i || w->clocks[w->n_clocks - 1].rank != rank)
            w->clocks[w->n_clocks++] = (rank_clock){.rank = rank, .spread_ns = NAN};
        w->clock_of[order[i]] = (uint32_t)w->n_clocks - 1;
    }
    rgm_free(keys);
    rgm_free(order);
    return status;
}

static uint32_t clock_at(const work *w, size_t at) {
    return w->clock_of[rgm_instance_call(&w->all, at)->device];
}

static bool counts(const work *w, const rgm_instance *instance, bool only_all_reduce) {
    uint8_t kind = rgm_instance_call(&w->all, instance->from)->kind;
    return only_all_reduce ? kind == RGM_COLLECTIVE_ALL_REDUCE : rgm_collective_synchronises(kind);
}

static void index_instances(work *w) {
    for (size_t i = 0; i < w->all.count; i++)
        for (size_t at = w->all.instances[i].from; at < w->all.instances[i].to; at++)
            w->first[clock_at(w, at) + 1]++;
    for (size_t c = 0; c < w->n_clocks; c++) w->first[c + 1] += w->first[c];
    for (size_t i = 0; i < w->all.count; i++)
        for (size_t at = w->all.instances[i].from; at < w->all.instances[i].to; at++)
            w->instances[w->first[clock_at(w, at)]++] = (uint32_t)i;
    for (size_t c = w->n_clocks; c > 0; c--) w->first[c] = w->first[c - 1];
    w->first[0] = 0;
}

// Each instance is looked at once, when the first of its clocks has become known.
static void take_samples(work *w, const rgm_instance *instance, uint32_t known) {
    size_t reference = instance->from;
    while (clock_at(w, reference) != known) reference++;
    int64_t end = rgm_view_end(w->view, rgm_instance_call(&w->all, reference)->row), difference;
    if (__builtin_add_overflow(end, w->clocks[known].offset_ns, &end)) return;
    for (size_t at = instance->from; at < instance->to; at++) {
        if (w->clocks[clock_at(w, at)].known) continue;
        int64_t other = rgm_view_end(w->view, rgm_instance_call(&w->all, at)->row);
        if (!__builtin_sub_overflow(end, other, &difference) && difference > INT64_MIN / 2 &&
            difference < INT64_MAX / 2)
            w->samples[w->n_samples++] = (sample){clock_at(w, at), difference};
    }
}

static int by_clock(const void *a, const void *b) {
    const sample *x = a, *y = b;
    if (x->clock != y->clock) return x->clock < y->clock ? -1 : 1;
    return x->difference_ns < y->difference_ns ? -1 : x->difference_ns > y->difference_ns;
}

static void settle(work *w, size_t from, size_t to) {
    rank_clock *clock = &w->clocks[w->samples[from].clock];
    size_t n = to - from;
    int64_t median = w->samples[from + (n - 1) / 2].difference_ns; // in order already
    for (size_t i = 0; i < n; i++) w->values[i] = llabs(w->samples[from + i].difference_ns - median);
    rgm_sort_i64(w->values, n, w->scratch);
    clock->known = true;
    clock->offset_ns = median;
    clock->shared = (int64_t)n;
    clock->spread_ns = rgm_quantile_sorted(w->values, n, 0.5);
    w->frontier[w->n_frontier++] = (uint32_t)w->samples[from].clock;
}

static void settle_samples(work *w) {
    qsort(w->samples, w->n_samples, sizeof *w->samples, by_clock);
    for (size_t from = 0, to; from < w->n_samples; from = to) {
        for (to = from + 1; to < w->n_samples && w->samples[to].clock == w->samples[from].clock;) to++;
        settle(w, from, to);
    }
    w->n_samples = 0;
}

// From the clocks that are known to those that share a collective with them, round by round.
static void spread_out(work *w, bool only_all_reduce) {
    memset(w->used, 0, w->all.count * sizeof *w->used);
    for (size_t at = 0, round_end; at < w->n_frontier;) {
        round_end = w->n_frontier;
        for (; at < round_end; at++) {
            uint32_t clock = w->frontier[at];
            for (uint32_t i = w->first[clock]; i < w->first[clock + 1]; i++) {
                uint32_t index = w->instances[i];
                if (w->used[index] || !counts(w, &w->all.instances[index], only_all_reduce)) continue;
                w->used[index] = true;
                take_samples(w, &w->all.instances[index], clock);
            }
        }
        settle_samples(w);
    }
}

static rgm_status append(const work *w, rgm_clock_offsets *out, rgm_error *err) {
    for (size_t c = 0; c < w->n_clocks; c++) {
        size_t row;
        RGM_TRY(rgm_table_append(&rgm_clock_offsets_desc, out, RGM_ALL_COLUMNS, &row, err));
        out->rank[row] = w->clocks[c].rank;
        if (w->clocks[c].known) out->reference_rank[row] = w->clocks[w->frontier[0]].rank;
        out->known[row] = w->clocks[c].known;
        out->offset_ns[row] = w->clocks[c].offset_ns;
        out->shared[row] = w->clocks[c].shared;
        out->spread_ns[row] = w->clocks[c].spread_ns;
    }
    return RGM_OK;
}

rgm_status rgm_clock_offsets_compute(const rgm_view *view, const rgm_policy *policy,
                                     const rgm_question *question, rgm_clock_offsets *out, rgm_error *err) {
    (void)policy;
    (void)question;
    RGM_RELEASED(release) work w = {.view = view};
    RGM_TRY(rgm_instances_find(&w.all, view, err));
    RGM_TRY(allocate(&w, err));
    RGM_TRY(find_clocks(&w, err));
    index_instances(&w);
    for (uint32_t c = 0; c < w.n_clocks && !w.n_frontier; c++)
        if (w.first[c + 1] > w.first[c]) w.frontier[w.n_frontier++] = c;
    if (w.n_frontier) {
        w.clocks[w.frontier[0]].known = true;
        spread_out(&w, true);
        spread_out(&w, false);
    }
    return append(&w, out, err);
}
