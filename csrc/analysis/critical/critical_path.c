// SPDX-License-Identifier: Apache-2.0
// The critical path of one rank read off its graph: its segments, what each kind contributes and what would
// remain without it, and the names on it.
#include <stdlib.h>
#include <string.h>

#include "analysis/critical/critical.h"
#include "analysis/groups.h"
#include "analysis/order.h"
#include "base/memory.h"

static int64_t lane_of(const rgm_critical *graph, int32_t node) {
    if ((size_t)node >= graph->n_points) return rgm_view_lane(graph->view, graph->span[node]);
    size_t low = 0, high = graph->n_threads;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (graph->thread_first[middle] <= (uint32_t)node)
            low = middle;
        else
            high = middle;
    }
    return graph->thread_lane[low];
}

static int64_t span_of(const rgm_critical *graph, int32_t node) {
    return graph->span[node] == UINT32_MAX ? -1 : (int64_t)graph->span[node];
}

static bool is_inferred(const rgm_critical *graph, int32_t node, int32_t before) {
    bool launched_or_awaited = before == graph->other[node];
    bool work = (size_t)node >= graph->n_points;
    if (!work && launched_or_awaited && (size_t)before < graph->n_points) return true; // fork and join
    if (launched_or_awaited) return graph->flags[node] & RGM_NODE_INFERRED;
    return work && before == graph->event[(size_t)node - graph->n_points] &&
           graph->flags[node] & RGM_NODE_INFERRED_EVENT;
}

static bool launches_graph(const rgm_critical *graph, uint32_t launch) {
    const rgm_view *view = graph->view;
    rgm_string name = rgm_view_text(view, rgm_view_name(view, launch));
    return view->launched_first[launch + 1] - view->launched_first[launch] > 1 ||
           memmem(name.data, name.length, "GraphLaunch", 11) != NULL;
}

rgm_critical_segment rgm_critical_segment_of(const rgm_critical *graph, int32_t node) {
    int32_t before = graph->bound_by[node];
    int64_t start =
        before < 0 || graph->time[before] < graph->start_ns ? graph->start_ns : graph->time[before];
    rgm_critical_segment s = {.start_ns = start,
                              .duration_ns = graph->time[node] - start,
                              .span = span_of(graph, node),
                              .lane = lane_of(graph, node),
                              .from = before < 0 ? -1 : span_of(graph, before),
                              .node = node,
                              .kind = graph->bound_kind[node]};
    if (before < 0) {
        s.span = -1;
        return s;
    }
    s.inferred = is_inferred(graph, node, before);
    int32_t beside = rgm_critical_beside(graph, node);
    if (beside >= 0) {
        s.span = span_of(graph, beside);
        s.lane = lane_of(graph, beside);
        s.inferred = true;
        return s;
    }
    bool truncated_work =
        (size_t)before >= graph->n_points && graph->node_start[graph->span[before]] == before;
    if (truncated_work && s.kind == graph->kind[before]) { // the awaited work itself, up to here
        s.span = span_of(graph, before);
        s.lane = lane_of(graph, before);
    } else if ((size_t)node < graph->n_points && s.kind != graph->kind[node] &&
               (size_t)before < graph->n_points) { // the leaf that began another thread
        s.span = span_of(graph, before + 1);
        s.lane = lane_of(graph, before);
    }
    return s;
}

typedef struct {
    rgm_critical_segment *items;
    size_t count;
} path;

// What is known of the time from a launch call to its work, where that is long. first_ns: when work of a name
// first began.
static rgm_path_reason reason_of(const rgm_critical *graph, int32_t node, const int64_t *first_ns) {
    const rgm_view *view = graph->view;
    uint32_t work = graph->span[node];
    int32_t launch = view->launch[work];
    if (launch < 0 || graph->flags[node] & RGM_NODE_INFERRED) return RGM_PATH_REASON_LAUNCH_UNRECORDED;
    if (view->work[view->device_first[rgm_view_device(view, work)]] == work)
        return RGM_PATH_REASON_FIRST_WORK; // the device may have been busy with what began before
    if (launches_graph(graph, (uint32_t)launch)) return RGM_PATH_REASON_GRAPH;
    int64_t call = rgm_view_start(view, (size_t)launch), begin = graph->time[node],
            returned = rgm_view_end(view, (size_t)launch);
    if (returned > begin) returned = begin;
    if (rgm_critical_between(returned, call) >= rgm_critical_between(begin, returned))
        return RGM_PATH_REASON_IN_CALL;
    return first_ns[rgm_view_name(view, work)] < begin ? RGM_PATH_REASON_UNRECORDED
                                                       : RGM_PATH_REASON_FIRST_USE;
}

static rgm_status find_reasons(const rgm_critical *graph, path *found, rgm_error *err) {
    const rgm_view *view = graph->view;
    int64_t *first_ns;
    RGM_TRY(RGM_ROWS(first_ns, view->n_strings, err));
    for (size_t i = 0; i < view->n_strings; i++) first_ns[i] = INT64_MAX;
    for (size_t i = 0; i < view->n_work; i++) {
        int64_t *first = &first_ns[rgm_view_name(view, view->work[i])];
        if (rgm_view_start(view, view->work[i]) < *first) *first = rgm_view_start(view, view->work[i]);
    }
    for (size_t i = 0; i < found->count; i++)
        if (found->items[i].kind == RGM_PATH_START_DELAY)
            found->items[i].reason = (uint8_t)reason_of(graph, found->items[i].node, first_ns);
    rgm_free(first_ns);
    return RGM_OK;
}

// Read backwards, then turned round. Segments without a duration are left out.
static rgm_status follow(const rgm_critical *graph, path *out, rgm_error *err) {
    size_t count = 0;
    *out = (path){0};
    for (int32_t node = graph->last; node >= 0 && graph->time[node] > graph->start_ns;
         node = graph->bound_by[node])
        count++;
    out->items = rgm_malloc((count + 1) * sizeof *out->items);
    if (!out->items) return rgm_error_no_memory(err);
    size_t at = count;
    for (int32_t node = graph->last; at > 0; node = graph->bound_by[node]) {
        out->items[--at] = rgm_critical_segment_of(graph, node);
    }
    for (size_t i = 0; i < count; i++)
        if (out->items[i].duration_ns > 0) out->items[out->count++] = out->items[i];
    return find_reasons(graph, out, err);
}

rgm_status rgm_critical_path_compute(const rgm_view *view, const rgm_policy *policy,
                                     const rgm_question *question, rgm_critical_path *out, rgm_error *err) {
    rgm_critical graph;
    path found = {0};
    rgm_status status;
    RGM_TRY(rgm_critical_build(&graph, view, policy, question, err));
    RGM_GOTO(follow(&graph, &found, err));
    RGM_GOTO(rgm_table_reserve(&rgm_critical_path_desc, out, RGM_ALL_COLUMNS, found.count + 1, err));
    for (size_t i = 0; i < found.count; i++) {
        const rgm_critical_segment *s = &found.items[i];
        out->start_ns[i] = s->start_ns;
        out->duration_ns[i] = s->duration_ns;
        out->kind[i] = s->kind;
        out->name[i] = s->span < 0 ? 0 : rgm_view_name(view, (size_t)s->span);
        out->span[i] = (rgm_i32)s->span;
        out->lane[i] = (rgm_i32)s->lane;
        out->from_span[i] = (rgm_i32)s->from;
        out->inferred[i] = s->inferred;
        out->reason[i] = s->reason;
    }
    out->rows = found.count;
done:
    rgm_free(found.items);
    rgm_critical_release(&graph);
    return status;
}

// --- shares -----------------------------------------------------------------------------------------------

// What is known of most of the time of start delays.
static rgm_path_reason main_reason(const path *found) {
    int64_t of[RGM_PATH_REASON_COUNT] = {0};
    int best = RGM_PATH_REASON_NONE;
    for (size_t i = 0; i < found->count; i++) of[found->items[i].reason] += found->items[i].duration_ns;
    for (int r = RGM_PATH_REASON_NONE + 1; r < RGM_PATH_REASON_COUNT; r++)
        if (of[r] > 0 && (best == RGM_PATH_REASON_NONE || of[r] > of[best])) best = r;
    return (rgm_path_reason)best;
}

// A chain follows the length when it alone is as long but for the share of a tie.
static rgm_path_side side_of(const rgm_critical *graph, int64_t length, int64_t host, int64_t device) {
    double least = (1 - graph->policy->critical_tie_share) * (double)length;
    bool by_host = (double)host >= least, by_device = (double)device >= least;
    if (by_host && by_device) return RGM_PATH_SIDE_TIED;
    if (by_host) return RGM_PATH_SIDE_HOST;
    return by_device ? RGM_PATH_SIDE_DEVICE : RGM_PATH_SIDE_IN_TURN;
}

static rgm_status add_share(const rgm_critical *graph, const path *found, rgm_path_kind kind,
                            rgm_critical_path_shares *out, rgm_error *err) {
    int64_t total = 0, count = 0, inferred = 0, length = rgm_critical_between(graph->end_ns, graph->start_ns),
            bound;
    for (size_t i = 0; i < found->count; i++) {
        if (found->items[i].kind != kind) continue;
        total += found->items[i].duration_ns;
        if (found->items[i].inferred) inferred += found->items[i].duration_ns;
        count++;
    }
    if (!count) return RGM_OK;
    size_t row;
    RGM_TRY(rgm_critical_length(graph, 1u << kind, &bound, err));
    RGM_TRY(rgm_table_append(&rgm_critical_path_shares_desc, out, RGM_ALL_COLUMNS, &row, err));
    out->time_in[row] = out->kind[row] = (rgm_u8)kind;
    out->total_ns[row] = total;
    out->path_share[row] = (double)total / (double)length;
    out->count[row] = count;
    out->inferred_ns[row] = inferred;
    out->bound_ns[row] = bound;
    out->saving_ns[row] = rgm_critical_between(length, bound);
    out->saving_share[row] = (double)rgm_critical_between(length, bound) / (double)length;
    out->reason[row] = (rgm_u8)(kind == RGM_PATH_START_DELAY ? main_reason(found) : RGM_PATH_REASON_NONE);
    return RGM_OK;
}

static rgm_status add_chains(const rgm_critical *graph, rgm_critical_path_shares *out, rgm_error *err) {
    int64_t host, device, length = rgm_critical_between(graph->end_ns, graph->start_ns);
    RGM_TRY(rgm_critical_length(graph, RGM_PATH_ON_DEVICE | RGM_PATH_LAUNCHING, &host, err));
    RGM_TRY(rgm_critical_length(graph, RGM_PATH_ON_HOST | RGM_PATH_LAUNCHING, &device, err));
    for (size_t row = 0; row < out->rows; row++) {
        out->path_ns[row] = length;
        out->host_chain_ns[row] = host;
        out->device_chain_ns[row] = device;
        out->follows[row] = (rgm_u8)side_of(graph, length, host, device);
        out->start_ns[row] = graph->start_ns;
        out->rank[row] = graph->rank;
    }
    return RGM_OK;
}

static int by_saving(const void *table, const void *context, uint32_t a, uint32_t b) {
    const rgm_critical_path_shares *t = table;
    (void)context;
    if (t->saving_ns[a] != t->saving_ns[b]) return t->saving_ns[a] > t->saving_ns[b] ? -1 : 1;
    if (t->total_ns[a] != t->total_ns[b]) return t->total_ns[a] > t->total_ns[b] ? -1 : 1;
    return (int)t->kind[a] - (int)t->kind[b];
}

rgm_status rgm_critical_path_shares_compute(const rgm_view *view, const rgm_policy *policy,
                                            const rgm_question *question, rgm_critical_path_shares *out,
                                            rgm_error *err) {
    rgm_critical graph;
    path found = {0};
    rgm_status status;
    RGM_TRY(rgm_critical_build(&graph, view, policy, question, err));
    RGM_GOTO(follow(&graph, &found, err));
    for (int kind = 0; kind < RGM_PATH_KIND_COUNT; kind++)
        RGM_GOTO(add_share(&graph, &found, (rgm_path_kind)kind, out, err));
    if (out->rows) RGM_GOTO(add_chains(&graph, out, err));
    RGM_GOTO(rgm_order_rows(&rgm_critical_path_shares_desc, out, by_saving, NULL, err));
done:
    rgm_free(found.items);
    rgm_critical_release(&graph);
    return status;
}

// --- names ------------------------------------------------------------------------------------------------

typedef struct {
    int64_t total_ns, count;
    rgm_name name;
    uint8_t kind;
} named;

static int by_total(const void *a, const void *b, void *context) {
    const named *x = a, *y = b;
    const rgm_view *view = context;
    if (x->total_ns != y->total_ns) return x->total_ns > y->total_ns ? -1 : 1;
    int order = strcmp(rgm_view_text(view, x->name).data, rgm_view_text(view, y->name).data);
    return order ? order : (int)x->kind - (int)y->kind;
}

// Adds the segments up by kind and name; `of` has a key for each segment.
static rgm_status group(const rgm_view *view, const path *found, uint64_t *of, named **rows, size_t *count,
                        rgm_error *err) {
    rgm_groups groups = {0};
    for (size_t i = 0; i < found->count; i++) {
        const rgm_critical_segment *s = &found->items[i];
        of[i] = (uint64_t)s->kind << 32 | (s->span < 0 ? 0 : rgm_view_name(view, (size_t)s->span));
    }
    RGM_TRY(rgm_groups_init(&groups, of, found->count, err));
    *count = groups.count;
    *rows = rgm_calloc((size_t)groups.count + 1, sizeof **rows);
    for (size_t i = 0; *rows && i < found->count; i++) {
        named *row = &(*rows)[groups.of[i]];
        row->name = (rgm_name)of[i];
        row->kind = found->items[i].kind;
        row->total_ns += found->items[i].duration_ns;
        row->count++;
    }
    rgm_groups_release(&groups);
    if (!*rows) return rgm_error_no_memory(err);
    qsort_r(*rows, *count, sizeof **rows, by_total, (void *)view);
    return RGM_OK;
}

rgm_status rgm_critical_path_top_compute(const rgm_view *view, const rgm_policy *policy,
                                         const rgm_question *question, rgm_critical_path_top *out,
                                         rgm_error *err) {
    rgm_critical graph;
    path found = {0};
    named *groups = NULL;
    uint64_t *keys = NULL;
    size_t count;
    rgm_status status;
    RGM_TRY(rgm_critical_build(&graph, view, policy, question, err));
    RGM_GOTO(follow(&graph, &found, err));
    RGM_GOTO(RGM_ROWS(keys, found.count, err));
    RGM_GOTO(group(view, &found, keys, &groups, &count, err));
    RGM_GOTO(rgm_table_reserve(&rgm_critical_path_top_desc, out, RGM_ALL_COLUMNS, count + 1, err));
    for (size_t i = 0; i < count; i++) {
        out->name[i] = groups[i].name;
        out->kind[i] = groups[i].kind;
        out->total_ns[i] = groups[i].total_ns;
        out->count[i] = groups[i].count;
        out->path_share[i] =
            (double)groups[i].total_ns / (double)rgm_critical_between(graph.end_ns, graph.start_ns);
    }
    out->rows = count;
done:
    rgm_free(keys);
    rgm_free(groups);
    rgm_free(found.items);
    rgm_critical_release(&graph);
    return status;
}
