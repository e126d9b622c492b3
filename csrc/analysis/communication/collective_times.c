// SPDX-License-Identifier: Apache-2.0
// Time and bandwidth of communication: by collective, by collective and message (type, size, process group),
// or call by call. A kernel's time includes its wait for the last rank to arrive, so a bandwidth is a
// lower bound of what the links did; `stragglers` tells the two apart where several ranks were recorded.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analyses.h"
#include "analysis/communication/call_times.h"
#include "analysis/communication/instance.h"
#include "analysis/stats.h"
#include "base/memory.h"
#include "base/sort.h"

enum { BY_COLLECTIVE, BY_MESSAGE, BY_CALL };

typedef struct {
    const rgm_view *view;
    const rgm_collective_call *call;
    int32_t by;
} item;

typedef struct {
    size_t from, to; // items
    int64_t total_ns;
    uint32_t row; // of the first call
} group;

typedef struct {
    const rgm_view *view;
    rgm_instances instances;
    const rgm_collective_calls *calls; // of `instances`
    rgm_call_times *times;             // of each call
    int64_t *instance_of;              // each call, -1 for none
    item *items;
    group *groups;
    size_t n_groups;
    int64_t *durations, *scratch;
} work;

// What tells two messages apart, in the order of comparison.
enum { KIND, DTYPE, BYTES, GROUP_SIZE, GROUP_NAME, GROUP_RANKS, PARTS };

static void parts_of(const item *it, int64_t parts[PARTS]) {
    const rgm_collectives *args = &it->view->run->collectives;
    int32_t row = it->call->args;
    bool told = row >= 0 && it->by == BY_MESSAGE;
    parts[KIND] = it->call->kind;
    parts[DTYPE] = told ? RGM_CELL(args, element_type, row, 0) : 0;
    parts[BYTES] = told ? it->call->bytes : -1;
    parts[GROUP_SIZE] = told ? RGM_CELL(args, group_size, row, -1) : -1;
    parts[GROUP_NAME] = told ? RGM_CELL(args, group_name, row, 0) : 0;
    parts[GROUP_RANKS] = told ? RGM_CELL(args, group_ranks, row, 0) : 0;
}

static int compare_parts(const item *a, const item *b) {
    int64_t x[PARTS], y[PARTS];
    if (a->by == BY_CALL) return a->call < b->call ? -1 : a->call > b->call;
    parts_of(a, x);
    parts_of(b, y);
    for (int p = 0; p < PARTS; p++)
        if (x[p] != y[p]) return x[p] < y[p] ? -1 : 1;
    return 0;
}

static int by_parts(const void *a, const void *b) {
    const item *x = a, *y = b;
    int order = compare_parts(x, y);
    return order ? order : (x->call > y->call) - (x->call < y->call);
}

static int longest_first(const void *a, const void *b) {
    const group *x = a, *y = b;
    if (x->total_ns != y->total_ns) return x->total_ns > y->total_ns ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static int64_t duration(const work *w, const item *it) {
    return w->view->run->spans.duration_ns[it->call->row];
}

static rgm_status form_groups(work *w, int32_t by, rgm_error *err) {
    size_t count = w->calls->count;
    w->items = rgm_malloc((count + 1) * sizeof *w->items);
    w->groups = rgm_malloc((count + 1) * sizeof *w->groups);
    w->durations = rgm_malloc((count + 1) * sizeof *w->durations);
    w->scratch = rgm_malloc((count + 1) * sizeof *w->scratch);
    if (!w->items || !w->groups || !w->durations || !w->scratch) return rgm_error_no_memory(err);
    for (size_t i = 0; i < count; i++) w->items[i] = (item){w->view, &w->calls->calls[i], by};
    if (by != BY_CALL) qsort(w->items, count, sizeof *w->items, by_parts);
    for (size_t from = 0, to; from < count; from = to) {
        group g = {.from = from, .row = w->items[from].call->row};
        for (to = from; to < count && compare_parts(&w->items[from], &w->items[to]) == 0; to++)
            g.total_ns = rgm_add_bounded(g.total_ns, duration(w, &w->items[to]));
        g.to = to;
        w->groups[w->n_groups++] = g;
    }
    if (by != BY_CALL) qsort(w->groups, w->n_groups, sizeof *w->groups, longest_first);
    return RGM_OK;
}

static void set_statistics(work *w, const group *g, rgm_collective_times *out, size_t row) {
    size_t n = g->to - g->from;
    for (size_t i = 0; i < n; i++) w->durations[i] = duration(w, &w->items[g->from + i]);
    rgm_sort_i64(w->durations, n, w->scratch);
    out->count[row] = (int64_t)n;
    out->total_ns[row] = g->total_ns;
    out->mean_ns[row] = (double)g->total_ns / (double)n;
    out->min_ns[row] = w->durations[0];
    out->median_ns[row] = rgm_quantile_sorted(w->durations, n, 0.5);
    out->max_ns[row] = w->durations[n - 1];
}

// Bytes per second over the calls whose size is known; the sums are doubles, as sizes of a damaged file may
// be anything.
static void set_bandwidth(work *w, const group *g, rgm_collective_times *out, size_t row) {
    double bytes = 0, bus_bytes = 0, seconds = 0, bus_seconds = 0;
    int64_t total = 0;
    for (size_t i = g->from; i < g->to; i++) {
        const rgm_collective_call *call = w->items[i].call;
        double time = (double)duration(w, &w->items[i]) * 1e-9, size = (double)call->bytes;
        if (call->bytes < 0) continue;
        out->sized[row]++;
        total = rgm_add_bounded(total, call->bytes);
        bytes += size;
        seconds += time;
        if (isnan(call->bus)) continue;
        bus_bytes += size * call->bus;
        bus_seconds += time;
    }
    if (out->sized[row]) out->total_bytes[row] = total;
    if (seconds > 0) out->algorithm_bandwidth[row] = bytes / seconds;
    if (bus_seconds > 0) out->bus_bandwidth[row] = bus_bytes / bus_seconds;
}

static void set_message(const work *w, const rgm_collective_call *call, rgm_collective_times *out,
                        size_t row) {
    const rgm_collectives *args = &w->view->run->collectives;
    out->bytes[row] = call->bytes;
    if (call->args < 0) return;
    out->element_type[row] = RGM_CELL(args, element_type, call->args, 0);
    out->group_size[row] = RGM_CELL(args, group_size, call->args, -1);
    out->group_name[row] = RGM_CELL(args, group_name, call->args, 0);
    out->group_description[row] = RGM_CELL(args, group_description, call->args, 0);
    out->group_ranks[row] = RGM_CELL(args, group_ranks, call->args, 0);
}

static rgm_status find_calls(work *w, rgm_error *err) {
    RGM_TRY(rgm_instances_find(&w->instances, w->view, err));
    w->calls = &w->instances.calls;
    w->times = rgm_calloc(w->calls->count + 1, sizeof *w->times);
    w->instance_of = rgm_malloc((w->calls->count + 1) * sizeof *w->instance_of);
    if (!w->times || !w->instance_of) return rgm_error_no_memory(err);
    RGM_TRY(rgm_call_times_find(w->view, w->calls, w->times, err));
    memset(w->instance_of, 0xFF, (w->calls->count + 1) * sizeof *w->instance_of);
    for (size_t i = 0; i < w->instances.count; i++)
        for (size_t at = w->instances.instances[i].from; at < w->instances.instances[i].to; at++)
            w->instance_of[w->instances.order[at]] = (int64_t)i;
    return RGM_OK;
}

static void set_call(const work *w, const rgm_collective_call *call, rgm_collective_times *out, size_t row) {
    const rgm_device_key *device = &w->view->devices[call->device];
    out->rank[row] = device->rank;
    out->device[row] = device->device;
    out->step[row] = rgm_view_step(w->view, call->row);
    out->start_ns[row] = rgm_view_start(w->view, call->row);
    size_t index = (size_t)(call - w->calls->calls);
    const rgm_call_times *times = &w->times[index];
    out->instance[row] = w->instance_of[index];
    out->arguments[row] = call->args;
    out->since_ns[row] = times->since_ns;
    out->since_compute_ns[row] = times->compute_ns;
    out->since_mem_ns[row] = times->memory_ns;
    out->since_idle_ns[row] = times->idle_ns;
    if (call->args >= 0) out->sequence[row] = RGM_CELL(&w->view->run->collectives, sequence, call->args, -1);
}

static rgm_status append(work *w, const group *g, int32_t by, rgm_collective_times *out, rgm_error *err) {
    size_t row;
    const rgm_collective_call *first = w->items[g->from].call;
    RGM_TRY(rgm_table_append(&rgm_collective_times_desc, out, RGM_ALL_COLUMNS, &row, err));
    out->collective[row] = first->kind;
    out->span[row] = g->row;
    for (size_t i = g->from; i < g->to; i++) {
        const rgm_collective_call *call = w->items[i].call;
        if (call->source > out->source[row]) out->source[row] = call->source;
        out->exposed_ns[row] =
            rgm_add_bounded(out->exposed_ns[row], w->times[call - w->calls->calls].exposed_ns);
    }
    if (by != BY_COLLECTIVE) set_message(w, first, out, row);
    if (by == BY_CALL) set_call(w, first, out, row);
    set_statistics(w, g, out, row);
    set_bandwidth(w, g, out, row);
    return RGM_OK;
}

rgm_status rgm_collective_times_compute(const rgm_view *view, const rgm_policy *policy,
                                        const rgm_question *question, rgm_collective_times *out,
                                        rgm_error *err) {
    (void)policy;
    work w = {.view = view};
    rgm_status status;
    RGM_GOTO(find_calls(&w, err));
    RGM_GOTO(form_groups(&w, question->group_by, err));
    for (size_t g = 0; g < w.n_groups; g++) RGM_GOTO(append(&w, &w.groups[g], question->group_by, out, err));
done:
    rgm_instances_release(&w.instances);
    rgm_free(w.times);
    rgm_free(w.instance_of);
    rgm_free(w.items);
    rgm_free(w.groups);
    rgm_free(w.durations);
    rgm_free(w.scratch);
    return status;
}
