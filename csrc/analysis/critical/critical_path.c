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
    bool truncated_work = rgm_critical_is_start(graph, before);
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

// The path from its last segment to its first. Segments without a duration are left out.
typedef struct {
    const rgm_critical *graph;
    int32_t next;
    int64_t *first_ns; // [n_strings] when work of a name first began
} walk;

static rgm_status walk_begin(walk *w, const rgm_critical *graph, rgm_error *err) {
    const rgm_view *view = graph->view;
    *w = (walk){.graph = graph, .next = graph->last};
    RGM_TRY(RGM_ROWS(w->first_ns, view->n_strings, err));
    for (size_t i = 0; i < view->n_strings; i++) w->first_ns[i] = INT64_MAX;
    for (size_t i = 0; i < view->n_work; i++) {
        int64_t *first = &w->first_ns[rgm_view_name(view, view->work[i])];
        if (rgm_view_start(view, view->work[i]) < *first) *first = rgm_view_start(view, view->work[i]);
    }
    return RGM_OK;
}

static void walk_end(walk *w) { rgm_free(w->first_ns); }

// The next node that ends a segment with a duration, -1 after the last.
static int32_t walk_node(walk *w) {
    const rgm_critical *graph = w->graph;
    for (int32_t node = w->next; node >= 0 && graph->time[node] > graph->start_ns; node = w->next) {
        int32_t before = w->next = graph->bound_by[node];
        if (before < 0 || graph->time[before] < graph->time[node]) return node;
    }
    return RGM_NODE_NONE;
}

static bool walk_next(walk *w, rgm_critical_segment *segment) {
    int32_t node = walk_node(w);
    if (node < 0) return false;
    *segment = rgm_critical_segment_of(w->graph, node);
    if (segment->kind == RGM_PATH_START_DELAY)
        segment->reason = (uint8_t)reason_of(w->graph, node, w->first_ns);
    return true;
}

static size_t count_segments(const rgm_critical *graph) {
    walk w = {.graph = graph, .next = graph->last};
    size_t count = 0;
    while (walk_node(&w) >= 0) count++;
    return count;
}

rgm_status rgm_critical_path_compute(const rgm_view *view, const rgm_policy *policy,
                                     const rgm_question *question, rgm_critical_path *out, rgm_error *err) {
    const rgm_critical *graph;
    walk w = {0};
    rgm_critical_segment s;
    rgm_status status;
    RGM_TRY(rgm_critical_open(&graph, view, policy, question, err));
    RGM_GOTO(walk_begin(&w, graph, err));
    size_t count = count_segments(graph), i = count;
    RGM_GOTO(rgm_table_reserve(&rgm_critical_path_desc, out, RGM_ALL_COLUMNS, count + 1, err));
    while (walk_next(&w, &s)) {
        i--;
        out->start_ns[i] = s.start_ns;
        out->duration_ns[i] = s.duration_ns;
        out->kind[i] = s.kind;
        out->name[i] = s.span < 0 ? 0 : rgm_view_name(view, (size_t)s.span);
        out->span[i] = (rgm_i32)s.span;
        out->lane[i] = (rgm_i32)s.lane;
        out->from_span[i] = (rgm_i32)s.from;
        out->inferred[i] = s.inferred;
        out->reason[i] = s.reason;
    }
    out->rows = count;
done:
    walk_end(&w);
    rgm_critical_close(graph);
    return status;
}

// --- shares -----------------------------------------------------------------------------------------------

typedef struct {
    int64_t total[RGM_PATH_KIND_COUNT], count[RGM_PATH_KIND_COUNT], inferred[RGM_PATH_KIND_COUNT];
    int64_t reasons[RGM_PATH_REASON_COUNT];
} sums;

static rgm_status sum_up(const rgm_critical *graph, sums *of, rgm_error *err) {
    walk w = {0};
    rgm_critical_segment s;
    RGM_TRY(walk_begin(&w, graph, err));
    while (walk_next(&w, &s)) {
        of->total[s.kind] += s.duration_ns;
        of->count[s.kind]++;
        if (s.inferred) of->inferred[s.kind] += s.duration_ns;
        of->reasons[s.reason] += s.duration_ns;
    }
    walk_end(&w);
    return RGM_OK;
}

// What is known of most of the time of start delays.
static rgm_path_reason main_reason(const sums *of) {
    int best = RGM_PATH_REASON_NONE;
    for (int r = RGM_PATH_REASON_NONE + 1; r < RGM_PATH_REASON_COUNT; r++)
        if (of->reasons[r] > 0 && (best == RGM_PATH_REASON_NONE || of->reasons[r] > of->reasons[best]))
            best = r;
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

static rgm_status add_share(const rgm_critical *graph, const sums *of, rgm_path_kind kind,
                            rgm_critical_path_shares *out, rgm_error *err) {
    int64_t length = rgm_critical_between(graph->end_ns, graph->start_ns), bound;
    if (!of->count[kind]) return RGM_OK;
    size_t row;
    RGM_TRY(rgm_critical_length(graph, 1u << kind, &bound, err));
    RGM_TRY(rgm_table_append(&rgm_critical_path_shares_desc, out, RGM_ALL_COLUMNS, &row, err));
    out->time_in[row] = out->kind[row] = (rgm_u8)kind;
    out->total_ns[row] = of->total[kind];
    out->path_share[row] = (double)of->total[kind] / (double)length;
    out->count[row] = of->count[kind];
    out->inferred_ns[row] = of->inferred[kind];
    out->bound_ns[row] = bound;
    out->saving_ns[row] = rgm_critical_between(length, bound);
    out->saving_share[row] = (double)rgm_critical_between(length, bound) / (double)length;
    out->reason[row] = (rgm_u8)(kind == RGM_PATH_START_DELAY ? main_reason(of) : RGM_PATH_REASON_NONE);
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
    const rgm_critical *graph;
    sums of = {0};
    rgm_status status;
    RGM_TRY(rgm_critical_open(&graph, view, policy, question, err));
    RGM_GOTO(sum_up(graph, &of, err));
    for (int kind = 0; kind < RGM_PATH_KIND_COUNT; kind++)
        RGM_GOTO(add_share(graph, &of, (rgm_path_kind)kind, out, err));
    if (out->rows) RGM_GOTO(add_chains(graph, out, err));
    RGM_GOTO(rgm_order_rows(&rgm_critical_path_shares_desc, out, by_saving, NULL, err));
done:
    rgm_critical_close(graph);
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

// The names on the path by kind.
typedef struct {
    uint64_t *of;   // [segments] kind and name
    int64_t *times; // [segments]
    size_t segments, count;
    named *rows;
} names;

static rgm_status list_segments(const rgm_critical *graph, names *n, rgm_error *err) {
    walk w = {.graph = graph, .next = graph->last};
    size_t most = count_segments(graph);
    RGM_TRY(RGM_ROWS(n->of, most, err));
    RGM_TRY(RGM_ROWS(n->times, most, err));
    for (int32_t node; (node = walk_node(&w)) >= 0;) {
        rgm_critical_segment s = rgm_critical_segment_of(graph, node);
        rgm_name name = s.span < 0 ? 0 : rgm_view_name(graph->view, (size_t)s.span);
        n->of[n->segments] = (uint64_t)s.kind << 32 | name;
        n->times[n->segments++] = s.duration_ns;
    }
    return RGM_OK;
}

static rgm_status group(const rgm_view *view, names *n, rgm_error *err) {
    rgm_groups groups = {0};
    RGM_TRY(rgm_groups_init(&groups, n->of, n->segments, err));
    n->count = groups.count;
    n->rows = rgm_calloc((size_t)groups.count + 1, sizeof *n->rows);
    for (size_t i = 0; n->rows && i < n->segments; i++) {
        named *row = &n->rows[groups.of[i]];
        row->name = (rgm_name)n->of[i];
        row->kind = (uint8_t)(n->of[i] >> 32);
        row->total_ns += n->times[i];
        row->count++;
    }
    rgm_groups_release(&groups);
    if (!n->rows) return rgm_error_no_memory(err);
    qsort_r(n->rows, n->count, sizeof *n->rows, by_total, (void *)view);
    return RGM_OK;
}

rgm_status rgm_critical_path_top_compute(const rgm_view *view, const rgm_policy *policy,
                                         const rgm_question *question, rgm_critical_path_top *out,
                                         rgm_error *err) {
    const rgm_critical *graph;
    names n = {0};
    rgm_status status;
    RGM_TRY(rgm_critical_open(&graph, view, policy, question, err));
    RGM_GOTO(list_segments(graph, &n, err));
    RGM_GOTO(group(view, &n, err));
    RGM_GOTO(rgm_table_reserve(&rgm_critical_path_top_desc, out, RGM_ALL_COLUMNS, n.count + 1, err));
    double length = (double)rgm_critical_between(graph->end_ns, graph->start_ns);
    for (size_t i = 0; i < n.count; i++) {
        out->name[i] = n.rows[i].name;
        out->kind[i] = n.rows[i].kind;
        out->total_ns[i] = n.rows[i].total_ns;
        out->count[i] = n.rows[i].count;
        out->path_share[i] = (double)n.rows[i].total_ns / length;
    }
    out->rows = n.count;
done:
    rgm_free(n.of);
    rgm_free(n.times);
    rgm_free(n.rows);
    rgm_critical_close(graph);
    return status;
}
