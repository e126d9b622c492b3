// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "analysis/critical/critical.h"
#include "analysis/stats.h"
#include "base/memory.h"
#include "base/search.h"
#include "base/sort.h"

static bool get(void *slot, size_t count, size_t size, int fill) {
    void *block = rgm_malloc((count ? count : 1) * size);
    if (block) memset(block, fill, count * size);
    memcpy(slot, &block, sizeof block);
    return block != NULL;
}

// --- memory -----------------------------------------------------------------------------------------------

static rgm_status allocate(rgm_critical *graph, rgm_error *err) {
    const rgm_view *view = graph->view;
    size_t n_work = 0;
    for (size_t i = 0; i < view->n_spans; i++) {
        if (!rgm_critical_on_rank(graph, rgm_view_lane(view, i))) continue;
        rgm_kind kind = rgm_view_kind(view, i);
        graph->n_points += rgm_critical_is_host(kind) ? 2 : 0;
        n_work += rgm_kind_is_work(kind);
    }
    size_t nodes = graph->n_nodes = graph->n_points + 2 * n_work;
    if (nodes >= INT32_MAX) return rgm_error_set(err, RGM_LIMIT, "the critical path takes 2^30 spans");
    bool ok = get(&graph->name_class, view->n_strings, 1, 0) &&
              get(&graph->node_start, view->n_spans, sizeof(int32_t), 0xFF) &&
              get(&graph->node_end, view->n_spans, sizeof(int32_t), 0xFF) &&
              get(&graph->time, nodes, sizeof(int64_t), 0) && get(&graph->span, nodes, sizeof(uint32_t), 0) &&
              get(&graph->kind, nodes, 1, 0) && get(&graph->flags, nodes, 1, 0) &&
              get(&graph->other, nodes, sizeof(int32_t), 0xFF) &&
              get(&graph->event, 2 * n_work, sizeof(int32_t), 0xFF) &&
              get(&graph->beside, n_work, sizeof(int32_t), 0xFF) &&
              get(&graph->thread_lane, view->n_lanes + 1, sizeof(uint32_t), 0) &&
              get(&graph->thread_first, view->n_lanes + 1, sizeof(uint32_t), 0) &&
              get(&graph->stream_lane, view->n_lanes + 1, sizeof(uint32_t), 0) &&
              get(&graph->stream_first, view->n_lanes + 1, sizeof(uint32_t), 0) &&
              get(&graph->bound_by, nodes, sizeof(int32_t), 0xFF) && get(&graph->bound_kind, nodes, 1, 0);
    return ok ? RGM_OK : rgm_error_no_memory(err);
}

// What only its making looks at.
static void release_scratch(rgm_critical *graph) {
    rgm_free(graph->name_class);
    rgm_free(graph->node_start);
    rgm_free(graph->node_end);
    rgm_free(graph->tops);
    graph->name_class = NULL;
    graph->node_start = graph->node_end = NULL;
    graph->tops = NULL;
}

void rgm_critical_release(rgm_critical *graph) {
    release_scratch(graph);
    rgm_free(graph->time);
    rgm_free(graph->span);
    rgm_free(graph->kind);
    rgm_free(graph->flags);
    rgm_free(graph->other);
    rgm_free(graph->event);
    rgm_free(graph->beside);
    rgm_free(graph->thread_lane);
    rgm_free(graph->thread_first);
    rgm_free(graph->stream_lane);
    rgm_free(graph->stream_first);
    rgm_free(graph->more);
    rgm_free(graph->order);
    rgm_free(graph->bound_by);
    rgm_free(graph->bound_kind);
    *graph = (rgm_critical){0};
}

// --- edges ------------------------------------------------------------------------------------------------

enum { EDGES = 3 };

// The node before on the thread or stream. Work that begins before its predecessor ends waited for no more
// than that one's beginning.
static int32_t edge_along(const rgm_critical *graph, size_t node) {
    if (graph->flags[node] & RGM_NODE_FIRST) return RGM_NODE_NONE;
    if (rgm_critical_is_start(graph, (int32_t)node) && graph->time[node - 1] > graph->time[node])
        return (int32_t)node - 2;
    return (int32_t)node - 1;
}

static size_t more_first(const rgm_critical *graph, size_t node) {
    rgm_search search = rgm_search_in(0, graph->n_more);
    while (rgm_search_on(&search)) rgm_search_tell(&search, (size_t)graph->more[search.middle].node < node);
    return search.low;
}

int rgm_critical_edge_count(const rgm_critical *graph, size_t node) {
    if (!(graph->flags[node] & RGM_NODE_MORE)) return EDGES;
    size_t first = more_first(graph, node), end = first;
    while (end < graph->n_more && (size_t)graph->more[end].node == node) end++;
    return EDGES + (int)(end - first);
}

int32_t rgm_critical_edge(const rgm_critical *graph, size_t node, int which) {
    if (which == 0) return edge_along(graph, node);
    if (which == 1) return graph->other[node];
    if (which >= EDGES) return graph->more[more_first(graph, node) + (size_t)(which - EDGES)].before;
    return node >= graph->n_points ? graph->event[node - graph->n_points] : RGM_NODE_NONE;
}

static void drop_edge(rgm_critical *graph, size_t node, int which) {
    if (which == 0)
        graph->flags[node] |= RGM_NODE_FIRST;
    else if (which == 1)
        graph->other[node] = RGM_NODE_NONE;
    else if (which >= EDGES)
        graph->more[more_first(graph, node) + (size_t)(which - EDGES)].before = RGM_NODE_NONE;
    else
        graph->event[node - graph->n_points] = RGM_NODE_NONE;
}

// Whether every node comes after all it waits for as they are, as those of a single thread do.
static bool is_ordered(const rgm_critical *graph) {
    for (size_t node = 0; node < graph->n_nodes; node++) {
        if (rgm_critical_is_plain(graph, node)) continue;
        for (int which = 0, count = rgm_critical_edge_count(graph, node); which < count; which++)
            if (rgm_critical_edge(graph, node, which) >= (int32_t)node) return false;
    }
    return true;
}

// Depth first along the edges: every node after all it waits for. No edge leads to a later time, so a
// circle is one of equal times, which only damage makes; its last edge is dropped.
static rgm_status order_nodes(rgm_critical *graph, rgm_error *err) {
    enum { ON_STACK = 1, DONE = 2 };
    size_t depth = 0, placed = 0;
    if (is_ordered(graph)) return RGM_OK;
    RGM_TRY(RGM_ROWS(graph->order, graph->n_nodes, err));
    uint32_t *stack = rgm_malloc((graph->n_nodes + 1) * sizeof *stack);
    uint8_t *state = rgm_calloc(graph->n_nodes + 1, 1);
    uint8_t *tried = rgm_calloc(graph->n_nodes + 1, 1); // edges looked at
    _Static_assert(RGM_CRITICAL_MORE + 3 <= UINT8_MAX, "the edges of a node are counted in a byte");
    if (!stack || !state || !tried) {
        rgm_free(stack);
        rgm_free(tried);
        rgm_free(state);
        return rgm_error_no_memory(err);
    }
    for (size_t root = 0; root < graph->n_nodes; root++) {
        if (state[root]) continue;
        stack[depth++] = (uint32_t)root;
        state[root] = ON_STACK;
        while (depth) {
            uint32_t node = stack[depth - 1];
            int which = tried[node];
            if (which == rgm_critical_edge_count(graph, node)) {
                state[node] = DONE;
                graph->order[placed++] = node;
                depth--;
                continue;
            }
            tried[node]++;
            int32_t before = rgm_critical_edge(graph, node, which);
            if (before < 0 || state[before] == DONE) continue;
            if (state[before]) {
                drop_edge(graph, node, which);
                continue;
            }
            state[before] = ON_STACK;
            stack[depth++] = (uint32_t)before;
        }
    }
    rgm_free(stack);
    rgm_free(state);
    rgm_free(tried);
    return RGM_OK;
}

static rgm_path_kind edge_kind(const rgm_critical *graph, size_t node, int32_t before, int which) {
    bool from_work = (size_t)before >= graph->n_points;
    if (node < graph->n_points) {
        if (which == 0) return (rgm_path_kind)graph->kind[node];
        if (from_work)
            return rgm_critical_is_start(graph, before) ? (rgm_path_kind)graph->kind[before]
                                                        : RGM_PATH_HOST_SYNC;
        // A join belongs to the leaf that waited; a fork to the leaf that began the other thread.
        bool wakes = graph->kind[node] == RGM_PATH_OUTSIDE && (size_t)before + 1 < graph->n_points &&
                     !(graph->flags[before + 1] & RGM_NODE_FIRST);
        return (rgm_path_kind)(wakes ? graph->kind[before + 1] : graph->kind[node]);
    }
    if (!rgm_critical_is_start(graph, (int32_t)node)) return (rgm_path_kind)graph->kind[node];
    if (!from_work) return RGM_PATH_LAUNCH_LATENCY;
    if (rgm_critical_is_start(graph, before)) return (rgm_path_kind)graph->kind[before];
    return which == 0 ? RGM_PATH_KERNEL_GAP : RGM_PATH_DEPENDENCY_WAIT;
}

// Shortest time that an edge takes even when it does not bind.
static int64_t least_of(const rgm_critical *graph, size_t node, int32_t before, int which) {
    if (!rgm_critical_is_start(graph, (int32_t)node)) return 0;
    if (which == 1 && (size_t)before < graph->n_points)
        return graph->flags[node] & RGM_NODE_INFERRED ? 0 : graph->launch_ns;
    return which == 0 && !rgm_critical_is_start(graph, before) ? graph->gap_ns : 0;
}

// When an edge let its node go. Work that was awaited until now did so now, though its node is its beginning.
static int64_t ready_at(const rgm_critical *graph, size_t node, int32_t before, int which) {
    if (which != 0 && rgm_critical_is_start(graph, before)) return graph->time[node];
    return rgm_add_bounded(graph->time[before], least_of(graph, node, before, which));
}

static int binding_edge(const rgm_critical *graph, size_t node) {
    int64_t latest = INT64_MIN;
    int best = -1;
    if (graph->flags[node] & RGM_NODE_BEHIND && rgm_critical_edge(graph, node, 2) >= 0) return 2;
    for (int which = 0; which < EDGES; which++) {
        int32_t before = rgm_critical_edge(graph, node, which);
        if (before < 0) continue;
        int64_t ready = ready_at(graph, node, before, which);
        if (best >= 0 && ready <= latest) continue;
        latest = ready;
        best = which;
    }
    return best;
}

int64_t rgm_critical_slack(const rgm_critical *graph, size_t node, int which) {
    int64_t binding = ready_at(graph, node, graph->bound_by[node], binding_edge(graph, node));
    int64_t slack =
        rgm_critical_between(binding, ready_at(graph, node, rgm_critical_edge(graph, node, which), which));
    return slack > 0 ? slack : 0;
}

// A wait beside other work is that one's time; a launch that took too long otherwise is no latency.
static rgm_path_kind binding_kind(const rgm_critical *graph, size_t node, int32_t before, int which) {
    rgm_path_kind kind = edge_kind(graph, node, before, which);
    double took = (double)rgm_critical_between(graph->time[node], graph->time[before]);
    int32_t beside = rgm_critical_beside(graph, (int32_t)node);
    if (beside >= 0) return (rgm_path_kind)graph->kind[beside];
    bool late = kind == RGM_PATH_LAUNCH_LATENCY && took > graph->policy->critical_latency_ns;
    return late ? RGM_PATH_START_DELAY : kind;
}

static void bind(rgm_critical *graph, size_t from) {
    for (size_t node = from; node < graph->n_nodes; node++) {
        if (rgm_critical_is_plain(graph, node)) {
            graph->bound_by[node] = (int32_t)node - 1;
            graph->bound_kind[node] = graph->kind[node];
            continue;
        }
        int best = binding_edge(graph, node);
        graph->bound_by[node] = RGM_NODE_NONE;
        graph->bound_kind[node] = RGM_PATH_OUTSIDE;
        if (best < 0) continue;
        graph->bound_by[node] = rgm_critical_edge(graph, node, best);
        graph->bound_kind[node] = (uint8_t)binding_kind(graph, node, graph->bound_by[node], best);
    }
}

// --- the whole --------------------------------------------------------------------------------------------

rgm_status rgm_critical_build(rgm_critical *graph, const rgm_view *view, const rgm_policy *policy,
                              const rgm_question *question, rgm_error *err) {
    *graph = (rgm_critical){.view = view, .policy = policy, .last = RGM_NODE_NONE};
    rgm_status status;
    RGM_GOTO(rgm_critical_rank(graph, question->group_by, err));
    RGM_GOTO(allocate(graph, err));
    RGM_GOTO(rgm_critical_host(graph, err));
    RGM_GOTO(rgm_critical_device(graph, err));
    RGM_GOTO(rgm_critical_threads(graph, err));
    RGM_GOTO(rgm_critical_waits(graph, err));
    RGM_GOTO(rgm_critical_measure(graph, err));
    bind(graph, graph->n_points); // of work alone, which is what may have run behind other work
    RGM_GOTO(rgm_critical_behind(graph, err));
    RGM_GOTO(rgm_critical_measure(graph, err)); // without the waits behind other streams
    RGM_GOTO(order_nodes(graph, err));
    bind(graph, 0);
    RGM_GOTO(rgm_critical_window(graph, question, err));
    release_scratch(graph);
done:
    if (status != RGM_OK) rgm_critical_release(graph);
    return status;
}

static int64_t in_window(const rgm_critical *graph, int32_t node) {
    return graph->time[node] > graph->start_ns ? graph->time[node] : graph->start_ns;
}

// Whether a weight is none: muted, or time of another thread than the path's in which nothing was recorded,
// which may have been a wait for anything.
static bool is_weightless(const rgm_critical *graph, size_t node, rgm_path_kind kind, unsigned muted) {
    if (muted >> kind & 1u) return true;
    return kind == RGM_PATH_OUTSIDE && !(graph->flags[node] & RGM_NODE_ON_PATH);
}

// Weight of an edge within the window.
static int64_t weight(const rgm_critical *graph, size_t node, int32_t before, int which, unsigned muted) {
    int64_t slack = in_window(graph, (int32_t)node) - in_window(graph, before);
    if (before == graph->bound_by[node])
        return is_weightless(graph, node, (rgm_path_kind)graph->bound_kind[node], muted) ? 0 : slack;
    int64_t least = least_of(graph, node, before, which);
    if (!least || muted >> edge_kind(graph, node, before, which) & 1u) return 0;
    return least < slack ? least : slack;
}

static int64_t reach_of(const rgm_critical *graph, uint32_t node, const int64_t *reach, unsigned muted) {
    if (rgm_critical_is_plain(graph, node)) {
        bool none = is_weightless(graph, node, (rgm_path_kind)graph->bound_kind[node], muted);
        return reach[node - 1] +
               (none ? 0 : in_window(graph, (int32_t)node) - in_window(graph, (int32_t)node - 1));
    }
    if (graph->bound_by[node] < 0)
        return is_weightless(graph, node, RGM_PATH_OUTSIDE, muted)
                   ? 0
                   : in_window(graph, (int32_t)node) - graph->start_ns;
    int64_t longest = 0;
    for (int which = 0, count = rgm_critical_edge_count(graph, node); which < count; which++) {
        int32_t before = rgm_critical_edge(graph, node, which);
        if (before < 0) continue;
        int64_t sum = reach[before] + weight(graph, node, before, which, muted);
        if (sum > longest) longest = sum;
    }
    return longest;
}

rgm_status rgm_critical_length(const rgm_critical *graph, unsigned muted, int64_t *length, rgm_error *err) {
    *length = 0;
    if (graph->last < 0) return RGM_OK;
    int64_t *reach = rgm_malloc(graph->n_nodes * sizeof *reach);
    if (!reach) return rgm_error_no_memory(err);
    for (size_t i = 0; i < graph->n_nodes; i++) {
        uint32_t node = rgm_critical_at(graph, i);
        reach[node] = graph->time[node] > graph->end_ns ? 0 : reach_of(graph, node, reach, muted);
        if (graph->flags[node] & RGM_NODE_ENDS && reach[node] > *length) *length = reach[node];
    }
    rgm_free(reach);
    return RGM_OK;
}
