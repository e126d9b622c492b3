// SPDX-License-Identifier: Apache-2.0
// Where the time of each rank of a job went, and of each step of it, with what the ranks differ in: when they
// began, and how unevenly the computing is shared out. The four of compute, exposed communication, exposed
// memory and idle add up to the span, as in the breakdown.
#include <math.h>
#include <stdlib.h>

#include "analysis/analyses.h"
#include "analysis/stats.h"
#include "analysis/times/activity_time.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/sort.h"

enum { WHOLE, BY_STEP };

typedef struct {
    int32_t step, rank;
    size_t device;
    int64_t first_ns, span_ns, kernels;
    int64_t in_state[RGM_ACTIVITY_STATES];
} part;

typedef struct {
    const rgm_view *view;
    part *parts;
    size_t count, capacity;
    uint64_t *keys;
    uint32_t *order, *rows;
} work;

static rgm_status add_part(work *w, size_t device, int32_t step, const uint32_t *rows, size_t count,
                           rgm_error *err) {
    RGM_TRY(RGM_LIST_ROOM(w->parts, w->count, w->capacity, 16, err));
    part *p = &w->parts[w->count++];
    int64_t last = INT64_MIN;
    *p = (part){.step = step, .rank = w->view->devices[device].rank, .device = device};
    p->first_ns = rgm_view_start(w->view, rows[0]);
    for (size_t i = 0; i < count; i++) {
        rgm_kind kind = rgm_view_kind(w->view, rows[i]);
        p->kernels += kind == RGM_KIND_KERNEL || kind == RGM_KIND_ACCELERATOR;
        if (rgm_view_end(w->view, rows[i]) > last) last = rgm_view_end(w->view, rows[i]);
    }
    if (__builtin_sub_overflow(last, p->first_ns, &p->span_ns)) p->span_ns = INT64_MAX;
    rgm_activity_time(w->view, rows, count, p->in_state);
    return RGM_OK;
}

static rgm_status split_by_step(work *w, size_t device, const uint32_t *rows, size_t count, rgm_error *err) {
    for (size_t i = 0; i < count; i++) w->keys[i] = rgm_sort_key_i64(rgm_view_step(w->view, rows[i]));
    RGM_TRY(rgm_sort_order(w->keys, count, w->order, err)); // stable: the order of starts stays
    for (size_t i = 0; i < count; i++) w->rows[i] = rows[w->order[i]];
    for (size_t from = 0, to; from < count; from = to) {
        int32_t step = rgm_view_step(w->view, w->rows[from]);
        for (to = from + 1; to < count && rgm_view_step(w->view, w->rows[to]) == step;) to++;
        RGM_TRY(add_part(w, device, step, w->rows + from, to - from, err));
    }
    return RGM_OK;
}

static int by_step_and_rank(const void *a, const void *b) {
    const part *x = a, *y = b;
    if (x->step != y->step) return x->step < y->step ? -1 : 1;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return x->device < y->device ? -1 : x->device > y->device;
}

static int64_t compute_of(const part *p) { return rgm_activity_sum(p->in_state, RGM_DOES_COMPUTE, 0); }

static rgm_status append(const work *w, const part *p, int64_t earliest, double mean, double most,
                         rgm_rank_times *out, rgm_error *err) {
    size_t row;
    const rgm_device_key *key = &w->view->devices[p->device];
    RGM_TRY(rgm_table_append(&rgm_rank_times_desc, out, RGM_ALL_COLUMNS, &row, err));
    out->rank[row] = key->rank;
    out->process[row] = key->process;
    out->process_name[row] = key->process_name;
    out->device[row] = key->device;
    out->step[row] = p->step;
    out->first_ns[row] = p->first_ns;
    out->behind_ns[row] = p->first_ns - earliest;
    out->span_ns[row] = p->span_ns;
    out->busy_ns[row] = rgm_activity_sum(p->in_state, 0, 0);
    out->compute_ns[row] = compute_of(p);
    out->exposed_comm_ns[row] = rgm_activity_sum(p->in_state, RGM_DOES_COMMUNICATION, RGM_DOES_COMPUTE);
    out->exposed_mem_ns[row] =
        rgm_activity_sum(p->in_state, RGM_DOES_MEMORY, RGM_DOES_COMPUTE | RGM_DOES_COMMUNICATION);
    out->idle_ns[row] = out->span_ns[row] - out->busy_ns[row];
    out->kernels[row] = p->kernels;
    if (!(mean > 0)) return RGM_OK;
    out->compute_deviation[row] = (double)out->compute_ns[row] / mean - 1.0;
    out->imbalance[row] = most / mean - 1.0;
    return RGM_OK;
}

// Parts from..to are one step on several devices.
static rgm_status append_step(const work *w, size_t from, size_t to, rgm_rank_times *out, rgm_error *err) {
    int64_t earliest = INT64_MAX;
    double sum = 0, most = 0;
    for (size_t i = from; i < to; i++) {
        double compute = (double)compute_of(&w->parts[i]);
        if (w->parts[i].first_ns < earliest) earliest = w->parts[i].first_ns;
        if (compute > most) most = compute;
        sum += compute;
    }
    for (size_t i = from; i < to; i++)
        RGM_TRY(append(w, &w->parts[i], earliest, sum / (double)(to - from), most, out, err));
    return RGM_OK;
}

static rgm_status measure(work *w, int32_t by, rgm_error *err) {
    const rgm_view *view = w->view;
    w->keys = rgm_malloc((view->n_work + 1) * sizeof *w->keys);
    w->order = rgm_malloc((view->n_work + 1) * sizeof *w->order);
    w->rows = rgm_malloc((view->n_work + 1) * sizeof *w->rows);
    if (!w->keys || !w->order || !w->rows) return rgm_error_no_memory(err);
    for (size_t d = 0; d < view->n_devices; d++) {
        const uint32_t *rows = view->work + view->device_first[d];
        size_t count = view->device_first[d + 1] - view->device_first[d];
        RGM_TRY(by == BY_STEP ? split_by_step(w, d, rows, count, err) : add_part(w, d, -1, rows, count, err));
    }
    return RGM_OK;
}

rgm_status rgm_rank_times_compute(const rgm_view *view, const rgm_policy *policy,
                                  const rgm_question *question, rgm_rank_times *out, rgm_error *err) {
    (void)policy;
    work w = {.view = view};
    rgm_status status;
    RGM_GOTO(measure(&w, question->group_by, err));
    if (w.count) qsort(w.parts, w.count, sizeof *w.parts, by_step_and_rank);
    for (size_t from = 0, to; from < w.count; from = to) {
        for (to = from + 1; to < w.count && w.parts[to].step == w.parts[from].step;) to++;
        RGM_GOTO(append_step(&w, from, to, out, err));
    }
done:
    rgm_free(w.parts);
    rgm_free(w.keys);
    rgm_free(w.order);
    rgm_free(w.rows);
    return status;
}
