// SPDX-License-Identifier: Apache-2.0
// What launching cost the host and how long the work waited, by call, kernel or operator.
#include "analysis/analyses.h"
#include "analysis/keyed.h"
#include "analysis/waiting/launched.h"
#include "base/memory.h"

typedef enum { BY_CALL, BY_KERNEL, BY_OPERATOR } grouping;

// Items are the launches, in order of their rows, and then the pieces of work that have a launch.
typedef struct {
    const rgm_view *view;
    const rgm_policy *policy;
    size_t n_calls, n_items;
    uint32_t *rows;
    uint64_t *keys; // names
    rgm_keyed groups;
    int64_t *values, *scratch;
    int32_t *config; // [n_spans] row of `launches`, -1 for none; NULL where nothing of queues is recorded
} launches;

static rgm_name name_of_call(const rgm_view *view, uint32_t call, grouping by) {
    switch (by) {
    case BY_KERNEL: return rgm_view_name(view, rgm_launched_earliest(view, call));
    case BY_OPERATOR: return view->op[call] >= 0 ? rgm_view_name(view, (size_t)view->op[call]) : 0;
    default: return rgm_view_name(view, call);
    }
}

static void collect(launches *l, grouping by) {
    const rgm_view *view = l->view;
    size_t n = 0;
    for (size_t i = 0; i < view->n_spans; i++) {
        if (!rgm_launched_count(view, i)) continue;
        l->rows[n] = (uint32_t)i;
        l->keys[n++] = name_of_call(view, (uint32_t)i, by);
    }
    l->n_calls = n;
    for (size_t c = 0; c < l->n_calls; c++) {
        uint32_t call = l->rows[c];
        for (uint32_t i = view->launched_first[call]; i < view->launched_first[call + 1]; i++) {
            l->rows[n] = view->launched[i];
            l->keys[n++] = by == BY_KERNEL ? rgm_view_name(view, view->launched[i]) : l->keys[c];
        }
    }
    l->n_items = n;
}

static bool is_queued(const rgm_launches *rows, size_t row) {
    return RGM_CELL(rows, buffered_ns, row, -1) >= 0 && RGM_CELL(rows, waiting_ns, row, -1) >= 0;
}

static rgm_status find_queued(launches *l, rgm_error *err) {
    const rgm_launches *rows = &l->view->run->launches;
    bool any = false;
    for (size_t i = 0; i < rows->rows && !any; i++) any = is_queued(rows, i);
    if (!any) return RGM_OK;
    l->config = rgm_malloc((l->view->n_spans + 1) * sizeof *l->config);
    if (!l->config) return rgm_error_no_memory(err);
    for (size_t i = 0; i < l->view->n_spans; i++) l->config[i] = -1;
    for (size_t i = 0; i < rows->rows; i++)
        if (rows->span[i] < l->view->n_spans && is_queued(rows, i)) l->config[rows->span[i]] = (int32_t)i;
    return RGM_OK;
}

static rgm_status launches_init(launches *l, grouping by, rgm_error *err) {
    size_t room = 2 * l->view->n_work + 1; // no more launches than work
    l->rows = rgm_malloc(room * sizeof *l->rows);
    l->keys = rgm_malloc(room * sizeof *l->keys);
    l->values = rgm_malloc(room * sizeof *l->values);
    l->scratch = rgm_malloc(room * sizeof *l->scratch);
    if (!l->rows || !l->keys || !l->values || !l->scratch) return rgm_error_no_memory(err);
    RGM_TRY(find_queued(l, err));
    collect(l, by);
    return rgm_keyed_init(&l->groups, l->keys, l->n_items, err);
}

static void launches_release(launches *l) {
    rgm_free(l->rows);
    rgm_free(l->keys);
    rgm_free(l->values);
    rgm_free(l->scratch);
    rgm_free(l->config);
    rgm_keyed_release(&l->groups);
}

static void put_host(launches *l, rgm_launch_times *out, size_t row, const uint32_t *items, size_t calls) {
    for (size_t i = 0; i < calls; i++) l->values[i] = l->view->run->spans.duration_ns[l->rows[items[i]]];
    rgm_spread host = rgm_spread_of(l->values, calls, l->scratch, l->policy->percentile_tail);
    out->calls[row] = (int64_t)calls;
    out->host_total_ns[row] = host.total;
    out->host_mean_ns[row] = host.mean;
    out->host_median_ns[row] = host.median;
    out->host_p95_ns[row] = host.tail;
    out->host_max_ns[row] = host.max;
}

static void put_delay(launches *l, rgm_launch_times *out, size_t row, const uint32_t *items, size_t calls) {
    const rgm_view *view = l->view;
    for (size_t i = 0; i < calls; i++) {
        uint32_t call = l->rows[items[i]];
        int64_t start = rgm_view_start(view, rgm_launched_earliest(view, call));
        l->values[i] = rgm_subtract_bounded(start, rgm_view_end(view, call));
        out->early_calls[row] += l->values[i] < 0;
        out->graph_calls[row] += rgm_launched_count(view, call) > 1;
        out->launch_bound_calls[row] += rgm_launched_is_bound(view, call);
    }
    rgm_spread delay = rgm_spread_of(l->values, calls, l->scratch, l->policy->percentile_tail);
    out->delay_mean_ns[row] = delay.mean;
    out->delay_median_ns[row] = delay.median;
    out->delay_p95_ns[row] = delay.tail;
    out->delay_min_ns[row] = delay.min;
    out->delay_max_ns[row] = delay.max;
    for (size_t i = 0; i < calls; i++) {
        uint32_t call = l->rows[items[i]];
        int64_t start = rgm_view_start(view, rgm_launched_earliest(view, call));
        l->values[i] = rgm_subtract_bounded(start, rgm_view_start(view, call));
    }
    rgm_spread begin = rgm_spread_of(l->values, calls, l->scratch, l->policy->percentile_tail);
    out->begin_delay_mean_ns[row] = begin.mean;
    out->begin_delay_median_ns[row] = begin.median;
}

static void put_work(launches *l, rgm_launch_times *out, size_t row, const uint32_t *items, size_t work) {
    for (size_t i = 0; i < work; i++) {
        l->values[i] = l->view->run->spans.duration_ns[l->rows[items[i]]];
        out->short_work[row] += (double)l->values[i] < l->policy->short_kernel_ns;
    }
    rgm_spread device = rgm_spread_of(l->values, work, l->scratch, l->policy->percentile_tail);
    out->work[row] = (int64_t)work;
    out->device_total_ns[row] = device.total;
    out->device_mean_ns[row] = device.mean;
}

typedef enum { BUFFERED, WAITING, WHOLE_WAIT, DURATION } queue_part;

static int64_t queue_part_of(const rgm_run *run, queue_part part, size_t row, uint32_t span) {
    const rgm_launches *rows = &run->launches;
    switch (part) {
    case BUFFERED: return rows->buffered_ns[row];
    case WAITING: return rows->waiting_ns[row];
    case WHOLE_WAIT: return rgm_add_bounded(rows->buffered_ns[row], rows->waiting_ns[row]);
    default: return run->spans.duration_ns[span];
    }
}

// Of the work whose times in queues were recorded.
static rgm_spread spread_of_queued(launches *l, queue_part part, const uint32_t *items, size_t work,
                                   size_t *count) {
    *count = 0;
    for (size_t i = 0; i < work; i++) {
        uint32_t span = l->rows[items[i]];
        if (l->config[span] < 0) continue;
        l->values[(*count)++] = queue_part_of(l->view->run, part, (size_t)l->config[span], span);
    }
    return rgm_spread_of(l->values, *count, l->scratch, l->policy->percentile_tail);
}

static void put_queue(launches *l, rgm_launch_times *out, size_t row, const uint32_t *items, size_t work) {
    size_t count = 0;
    if (!l->config) return;
    rgm_spread queued = spread_of_queued(l, WHOLE_WAIT, items, work, &count);
    out->queued_work[row] = (int64_t)count;
    if (!count) return;
    rgm_spread buffered = spread_of_queued(l, BUFFERED, items, work, &count);
    rgm_spread waiting = spread_of_queued(l, WAITING, items, work, &count);
    out->queued_mean_ns[row] = queued.mean;
    out->queued_median_ns[row] = queued.median;
    out->queued_p95_ns[row] = queued.tail;
    out->buffered_mean_ns[row] = buffered.mean;
    out->buffered_median_ns[row] = buffered.median;
    out->buffered_p95_ns[row] = buffered.tail;
    out->waiting_mean_ns[row] = waiting.mean;
    out->waiting_median_ns[row] = waiting.median;
    out->waiting_p95_ns[row] = waiting.tail;
    out->on_device_mean_ns[row] = spread_of_queued(l, DURATION, items, work, &count).mean;
}

static rgm_status put_group(launches *l, rgm_launch_times *out, size_t group, rgm_error *err) {
    const uint32_t *items = l->groups.items + l->groups.first[group];
    size_t count = l->groups.first[group + 1] - l->groups.first[group], calls = 0, row;
    while (calls < count && items[calls] < l->n_calls) calls++;
    RGM_TRY(rgm_table_append(&rgm_launch_times_desc, out, RGM_ALL_COLUMNS, &row, err));
    out->name[row] = (rgm_name)l->keys[items[0]];
    put_host(l, out, row, items, calls);
    put_delay(l, out, row, items, calls);
    put_work(l, out, row, items + calls, count - calls);
    put_queue(l, out, row, items + calls, count - calls);
    return RGM_OK;
}

static void rank(launches *l, rgm_ranked *ranked) {
    const rgm_view *view = l->view;
    for (size_t g = 0; g < l->groups.count; g++) {
        const uint32_t from = l->groups.first[g];
        ranked[g] = (rgm_ranked){.text = rgm_view_text(view, (rgm_name)l->keys[l->groups.items[from]]),
                                 .second = {.data = ""},
                                 .group = (uint32_t)g};
        for (uint32_t i = from; i < l->groups.first[g + 1] && l->groups.items[i] < l->n_calls; i++)
            ranked[g].weight =
                rgm_add_bounded(ranked[g].weight, view->run->spans.duration_ns[l->rows[l->groups.items[i]]]);
    }
    rgm_ranked_sort(ranked, l->groups.count);
}

rgm_status rgm_launch_times_compute(const rgm_view *view, const rgm_policy *policy,
                                    const rgm_question *question, rgm_launch_times *out, rgm_error *err) {
    RGM_RELEASED(launches_release) launches l = {.view = view, .policy = policy};
    RGM_TRY(launches_init(&l, (grouping)question->group_by, err));
    RGM_FREED rgm_ranked *ranked = rgm_malloc((l.groups.count + 1) * sizeof *ranked);
    if (!ranked) return rgm_error_no_memory(err);
    rank(&l, ranked);
    for (size_t g = 0; g < l.groups.count; g++) RGM_TRY(put_group(&l, out, ranked[g].group, err));
    return RGM_OK;
}
