// SPDX-License-Identifier: Apache-2.0
// Communication of each device: the union of its kernels' time, how much of that a compute kernel hides, and
// how much is exposed. By device, by library or by kernel name; the unions of two libraries may overlap, so
// the rows of one device need not add up to the device's own.
#include <stdlib.h>
#include <string.h>

#include "analysis/analyses.h"
#include "analysis/stats.h"
#include "analysis/waiting/coverage.h"
#include "base/memory.h"
#include "base/sort.h"

enum { BY_DEVICE, BY_LIBRARY, BY_KERNEL };

typedef struct {
    uint8_t library;
    rgm_name name;
    rgm_string text;
    int64_t union_ns, hidden_ns, sum_ns, count;
} group;

typedef struct {
    const rgm_view *view;
    int32_t by;
    uint32_t *rows; // communication of the device, in order of start
    uint64_t *keys;
    uint32_t *order; // the same by key, and by start within one
    size_t count;
    rgm_coverage compute;
    group *groups;
    size_t n_groups;
} device_work;

static void device_work_release(device_work *work) {
    rgm_free(work->rows);
    rgm_free(work->keys);
    rgm_free(work->order);
    rgm_free(work->groups);
    rgm_coverage_release(&work->compute);
}

static uint64_t key_of(const rgm_view *view, int32_t by, uint32_t row) {
    rgm_name name = rgm_view_name(view, row);
    rgm_string text = rgm_view_text(view, name);
    if (by == BY_LIBRARY) return rgm_rules_library(text.data, text.length);
    return by == BY_KERNEL ? name : 0;
}

static rgm_status collect(device_work *work, const uint32_t *rows, size_t count, rgm_error *err) {
    const rgm_view *view = work->view;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) n += rgm_view_activity(view, rows[i]) == RGM_ACTIVITY_COMMUNICATION;
    work->rows = rgm_malloc((n + 1) * sizeof *work->rows);
    work->keys = rgm_malloc((n + 1) * sizeof *work->keys);
    work->order = rgm_malloc((n + 1) * sizeof *work->order);
    work->groups = rgm_calloc(n + 1, sizeof *work->groups);
    if (!work->rows || !work->keys || !work->order || !work->groups) return rgm_error_no_memory(err);
    for (size_t i = 0; i < count; i++)
        if (rgm_view_activity(view, rows[i]) == RGM_ACTIVITY_COMMUNICATION)
            work->rows[work->count++] = rows[i];
    for (size_t i = 0; i < n; i++) {
        bool same = i && rgm_view_name(view, work->rows[i]) == rgm_view_name(view, work->rows[i - 1]);
        work->keys[i] = same ? work->keys[i - 1] : key_of(view, work->by, work->rows[i]);
    }
    RGM_TRY(rgm_sort_order(work->keys, n, work->order, err));
    for (size_t i = 0; i < count; i++)
        if (rgm_view_activity(view, rows[i]) == RGM_ACTIVITY_COMPUTE)
            RGM_TRY(rgm_coverage_add(&work->compute, rgm_view_start(view, rows[i]),
                                     rgm_view_end(view, rows[i]), err));
    return RGM_OK;
}

static void add_interval(const device_work *work, group *into, int64_t start, int64_t end) {
    into->union_ns += end - start;
    into->hidden_ns += rgm_coverage_within(&work->compute, start, end);
}

static group measure(const device_work *work, size_t from, size_t to) {
    const rgm_view *view = work->view;
    uint32_t first = work->rows[work->order[from]];
    rgm_string text = rgm_view_text(view, rgm_view_name(view, first));
    group g = {.count = (int64_t)(to - from)};
    if (work->by != BY_DEVICE) g.library = (uint8_t)rgm_rules_library(text.data, text.length);
    if (work->by == BY_KERNEL) g.name = rgm_view_name(view, first), g.text = text;
    int64_t start = rgm_view_start(view, first), end = start;
    for (size_t i = from; i < to; i++) {
        uint32_t row = work->rows[work->order[i]];
        g.sum_ns = rgm_add_bounded(g.sum_ns, view->run->spans.duration_ns[row]);
        if (rgm_view_start(view, row) > end) {
            add_interval(work, &g, start, end);
            start = rgm_view_start(view, row);
        }
        if (rgm_view_end(view, row) > end) end = rgm_view_end(view, row);
    }
    add_interval(work, &g, start, end);
    return g;
}

static int longer_first(const void *a, const void *b) {
    const group *x = a, *y = b;
    if (x->union_ns != y->union_ns) return x->union_ns > y->union_ns ? -1 : 1;
    if (x->library != y->library) return x->library < y->library ? -1 : 1;
    uint32_t shorter = x->text.length < y->text.length ? x->text.length : y->text.length;
    int order = shorter ? memcmp(x->text.data, y->text.data, shorter) : 0;
    return order ? order : (x->text.length > y->text.length) - (x->text.length < y->text.length);
}

static void measure_groups(device_work *work) {
    for (size_t from = 0, to; from < work->count; from = to) {
        for (to = from + 1; to < work->count;) {
            if (work->keys[work->order[to]] != work->keys[work->order[from]]) break;
            to++;
        }
        work->groups[work->n_groups++] = measure(work, from, to);
    }
    if (!work->n_groups && work->by == BY_DEVICE) work->n_groups = 1; // a device that does not communicate
    qsort(work->groups, work->n_groups, sizeof *work->groups, longer_first);
}

static rgm_status append(const device_work *work, size_t device, rgm_communication *out, rgm_error *err) {
    const rgm_device_key *key = &work->view->devices[device];
    for (size_t i = 0; i < work->n_groups; i++) {
        const group *g = &work->groups[i];
        size_t row;
        RGM_TRY(rgm_table_append(&rgm_communication_desc, out, RGM_ALL_COLUMNS, &row, err));
        out->rank[row] = key->rank;
        out->process[row] = key->process;
        out->process_name[row] = key->process_name;
        out->device[row] = key->device;
        out->library[row] = g->library;
        out->name[row] = g->name;
        out->count[row] = g->count;
        out->comm_ns[row] = g->union_ns;
        out->hidden_ns[row] = g->hidden_ns;
        out->exposed_ns[row] = g->union_ns - g->hidden_ns;
        out->sum_ns[row] = g->sum_ns;
        if (g->union_ns > 0) out->overlap_share[row] = (double)g->hidden_ns / (double)g->union_ns;
    }
    return RGM_OK;
}

rgm_status rgm_communication_compute(const rgm_view *view, const rgm_policy *policy,
                                     const rgm_question *question, rgm_communication *out, rgm_error *err) {
    (void)policy;
    for (size_t d = 0; d < view->n_devices; d++) {
        device_work work = {.view = view, .by = question->group_by};
        size_t first = view->device_first[d];
        rgm_status status = collect(&work, view->work + first, view->device_first[d + 1] - first, err);
        if (status == RGM_OK) {
            measure_groups(&work);
            status = append(&work, d, out, err);
        }
        device_work_release(&work);
        RGM_TRY(status);
    }
    return RGM_OK;
}
