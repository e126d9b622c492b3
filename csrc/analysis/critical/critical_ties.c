// SPDX-License-Identifier: Apache-2.0
// What took nearly as long beside the critical path. Of each node of the path, and of the end of the window,
// the edges that did not bind are followed backwards along what bound there, until the path is met again.
#include "analysis/critical/critical.h"
#include "analysis/order.h"
#include "base/memory.h"

typedef struct {
    const rgm_critical *graph;
    int32_t
        *meets; // [n_nodes] node of the path that is met first, RGM_NODE_NONE for the beginning of the window
    bool *told; // [n_nodes] is in a detour already
    rgm_critical_ties *out;
    int32_t count;
} search;

static bool on_path(const rgm_critical *graph, int32_t node) { return graph->flags[node] & RGM_NODE_ON_PATH; }

static void find_meetings(search *s) {
    const rgm_critical *graph = s->graph;
    for (size_t i = 0; i < graph->n_nodes; i++) {
        int32_t node = (int32_t)rgm_critical_at(graph, i), before = graph->bound_by[node];
        s->meets[node] = on_path(graph, node) ? node : before < 0 ? RGM_NODE_NONE : s->meets[before];
    }
}

static rgm_status put(search *s, const rgm_critical_segment *part, int64_t slack, int64_t beside,
                      rgm_error *err) {
    size_t row;
    RGM_TRY(rgm_table_append(&rgm_critical_ties_desc, s->out, RGM_ALL_COLUMNS, &row, err));
    s->out->tie[row] = s->count;
    s->out->start_ns[row] = part->start_ns;
    s->out->duration_ns[row] = part->duration_ns;
    s->out->kind[row] = part->kind;
    s->out->name[row] = part->span < 0 ? 0 : rgm_view_name(s->graph->view, (size_t)part->span);
    s->out->span[row] = (rgm_i32)part->span;
    s->out->lane[row] = (rgm_i32)part->lane;
    s->out->slack_ns[row] = slack;
    s->out->beside_ns[row] = beside;
    return RGM_OK;
}

// A detour whose last node is `last`, back at the path at `end`. What an earlier one has is not told again.
static rgm_status consider(search *s, int32_t last, int64_t end, int64_t slack, rgm_error *err) {
    const rgm_critical *graph = s->graph;
    if (on_path(graph, last) || graph->time[last] <= graph->start_ns) return RGM_OK;
    int32_t from = s->meets[last];
    int64_t since = from < 0 || graph->time[from] < graph->start_ns ? graph->start_ns : graph->time[from];
    int64_t beside = rgm_critical_between(end, since);
    if ((double)slack > graph->policy->critical_tie_share * (double)beside) return RGM_OK;
    bool any = false;
    for (int32_t node = last; node >= 0 && !on_path(graph, node) && !s->told[node];
         node = graph->bound_by[node]) {
        if (graph->time[node] <= graph->start_ns) break;
        s->told[node] = true;
        rgm_critical_segment part = rgm_critical_segment_of(graph, node);
        if (part.duration_ns <= 0) continue;
        RGM_TRY(put(s, &part, slack, beside, err));
        any = true;
    }
    s->count += any;
    return RGM_OK;
}

static rgm_status consider_edges(search *s, int32_t node, rgm_error *err) {
    const rgm_critical *graph = s->graph;
    if (graph->bound_by[node] < 0 || rgm_critical_is_plain(graph, (size_t)node)) return RGM_OK;
    for (int which = 0, count = rgm_critical_edge_count(graph, (size_t)node); which < count; which++) {
        int32_t before = rgm_critical_edge(graph, (size_t)node, which);
        if (before < 0 || before == graph->bound_by[node]) continue;
        int64_t slack = rgm_critical_slack(graph, (size_t)node, which);
        RGM_TRY(consider(s, before, graph->time[node], slack, err));
    }
    return RGM_OK;
}

// What nothing on the path awaited but without which the window is not over.
static rgm_status consider_ends(search *s, rgm_error *err) {
    const rgm_critical *graph = s->graph;
    for (size_t node = 0; node < graph->n_nodes; node++) {
        if (!(graph->flags[node] & RGM_NODE_ENDS) || graph->time[node] > graph->end_ns) continue;
        int64_t slack = rgm_critical_between(graph->end_ns, graph->time[node]);
        RGM_TRY(consider(s, (int32_t)node, graph->end_ns, slack, err));
    }
    return RGM_OK;
}

static int by_detour(const void *table, const void *context, uint32_t a, uint32_t b) {
    const rgm_critical_ties *t = table;
    (void)context;
    if (t->tie[a] != t->tie[b]) return t->tie[a] < t->tie[b] ? -1 : 1;
    return t->start_ns[a] < t->start_ns[b] ? -1 : t->start_ns[a] > t->start_ns[b];
}

rgm_status rgm_critical_ties_compute(const rgm_view *view, const rgm_policy *policy,
                                     const rgm_question *question, rgm_critical_ties *out, rgm_error *err) {
    const rgm_critical *graph;
    rgm_status status;
    RGM_TRY(rgm_critical_open(&graph, view, policy, question, err));
    search s = {.graph = graph, .out = out};
    RGM_GOTO(RGM_ROWS(s.meets, graph->n_nodes, err));
    s.told = rgm_calloc(graph->n_nodes + 1, sizeof *s.told);
    if (!s.told) RGM_GOTO(rgm_error_no_memory(err));
    find_meetings(&s);
    for (size_t i = 0; i < graph->n_nodes; i++) {
        int32_t node = (int32_t)rgm_critical_at(graph, i);
        if (on_path(graph, node) && graph->time[node] > graph->start_ns)
            RGM_GOTO(consider_edges(&s, node, err));
    }
    if (graph->last >= 0) RGM_GOTO(consider_ends(&s, err));
    RGM_GOTO(rgm_order_rows(&rgm_critical_ties_desc, out, by_detour, NULL, err));
done:
    rgm_free(s.told);
    rgm_free(s.meets);
    rgm_critical_close(graph);
    return status;
}
