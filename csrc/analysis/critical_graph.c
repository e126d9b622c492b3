// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "analysis/critical.h"
#include "analysis/stats.h"
#include "base/memory.h"
#include "base/sort.h"

static bool get(void *slot, size_t count, size_t size, int fill) {
    void *block = rgm_malloc((count ? count : 1) * size);
    if (block) memset(block, fill, count * size);
    memcpy(slot, &block, sizeof block);
    return block != NULL;
}

// --- rank -------------------------------------------------------------------------------------------------

typedef struct {
    int64_t rank, start_ns, end_ns;
} extent;

static int by_rank(const void *a, const void *b) {
    const extent *x = a, *y = b;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static void find_extents(const rgm_view *view, extent *extents, size_t *count) {
    const rgm_lanes *lanes = &view->run->lanes;
    size_t kept = 0;
    for (size_t lane = 0; lane < view->n_lanes; lane++)
        extents[lane] = (extent){RGM_CELL(lanes, rank, lane, -1), INT64_MAX, INT64_MIN};
    qsort(extents, view->n_lanes, sizeof *extents, by_rank);
    for (size_t i = 0; i < view->n_lanes; i++)
        if (!kept || extents[kept - 1].rank != extents[i].rank) extents[kept++] = extents[i];
    extent *e = extents;
    for (size_t i = 0; i < view->n_spans; i++) {
        rgm_kind kind = rgm_view_kind(view, i);
        if (!rgm_critical_is_host(kind) && !rgm_kind_is_work(kind)) continue;
        extent key = {.rank = RGM_CELL(lanes, rank, rgm_view_lane(view, i), -1)};
        if (e->rank != key.rank) e = bsearch(&key, extents, kept, sizeof *extents, by_rank);
        if (rgm_view_start(view, i) < e->start_ns) e->start_ns = rgm_view_start(view, i);
        if (rgm_view_end(view, i) > e->end_ns) e->end_ns = rgm_view_end(view, i);
    }
    *count = kept;
}

// The rank that lasted longest, the smallest number of equals; or the `wanted`-th in ascending order, from 1.
static rgm_status choose_rank(rgm_critical *graph, int32_t wanted, rgm_error *err) {
    extent *extents = rgm_malloc(graph->view->n_lanes * sizeof *extents);
    size_t count, best = 0;
    if (!extents) return rgm_error_no_memory(err);
    find_extents(graph->view, extents, &count);
    for (size_t i = 1; i < count; i++)
        if (rgm_critical_between(extents[i].end_ns, extents[i].start_ns) >
                rgm_critical_between(extents[best].end_ns, extents[best].start_ns) ||
            extents[best].end_ns < extents[best].start_ns)
            best = i;
    rgm_status status = RGM_OK;
    if (wanted > 0 && (size_t)wanted <= count)
        best = (size_t)wanted - 1;
    else if (wanted != 0)
        status = rgm_error_set(err, RGM_INVALID, "group_by %d: the run has %zu ranks", wanted, count);
    graph->rank = (int32_t)extents[best].rank;
    rgm_free(extents);
    return status;
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
              get(&graph->thread_lane, view->n_lanes + 1, sizeof(uint32_t), 0) &&
              get(&graph->thread_first, view->n_lanes + 1, sizeof(uint32_t), 0) &&
              get(&graph->stream_lane, view->n_lanes + 1, sizeof(uint32_t), 0) &&
              get(&graph->stream_first, view->n_lanes + 1, sizeof(uint32_t), 0) &&
              get(&graph->order, nodes, sizeof(uint32_t), 0) &&
              get(&graph->bound_by, nodes, sizeof(int32_t), 0xFF) && get(&graph->bound_kind, nodes, 1, 0);
    return ok ? RGM_OK : rgm_error_no_memory(err);
}

void rgm_critical_release(rgm_critical *graph) {
    rgm_free(graph->name_class);
    rgm_free(graph->node_start);
    rgm_free(graph->node_end);
    rgm_free(graph->time);
    rgm_free(graph->span);
    rgm_free(graph->kind);
    rgm_free(graph->flags);
    rgm_free(graph->other);
    rgm_free(graph->event);
    rgm_free(graph->thread_lane);
    rgm_free(graph->thread_first);
    rgm_free(graph->stream_lane);
    rgm_free(graph->stream_first);
    rgm_free(graph->tops);
    rgm_free(graph->more);
    rgm_free(graph->order);
    rgm_free(graph->bound_by);
    rgm_free(graph->bound_kind);
    *graph = (rgm_critical){0};
}

// --- edges ------------------------------------------------------------------------------------------------

enum { EDGES = 3 };

static bool is_work_start(const rgm_critical *graph, size_t node) {
    return node >= graph->n_points && (node - graph->n_points) % 2 == 0;
}

// The node before on the thread or stream. Work that begins before its predecessor ends waited for no more
// than that one's beginning.
static int32_t edge_along(const rgm_critical *graph, size_t node) {
    if (graph->flags[node] & RGM_NODE_FIRST) return RGM_NODE_NONE;
    if (is_work_start(graph, node) && graph->time[node - 1] > graph->time[node]) return (int32_t)node - 2;
    return (int32_t)node - 1;
}

static size_t more_first(const rgm_critical *graph, size_t node) {
    size_t low = 0, high = graph->n_more;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if ((size_t)graph->more[middle].node < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int edge_count(const rgm_critical *graph, size_t node) {
    if (!(graph->flags[node] & RGM_NODE_MORE)) return EDGES;
    size_t first = more_first(graph, node), end = first;
    while (end < graph->n_more && (size_t)graph->more[end].node == node) end++;
    return EDGES + (int)(end - first);
}

static int32_t edge(const rgm_critical *graph, size_t node, int which) {
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

// Depth first along the edges: every node after all it waits for. No edge leads to a later time, so a
// circle is one of equal times, which only damage makes; its last edge is dropped.
static rgm_status order_nodes(rgm_critical *graph, rgm_error *err) {
    enum { ON_STACK = 1, DONE = 2 };
    size_t depth = 0, placed = 0;
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
            if (which == edge_count(graph, node)) {
                state[node] = DONE;
                graph->order[placed++] = node;
                depth--;
                continue;
            }
            tried[node]++;
            int32_t before = edge(graph, node, which);
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
            return is_work_start(graph, (size_t)before) ? (rgm_path_kind)graph->kind[before]
                                                        : RGM_PATH_HOST_SYNC;
        // A join belongs to the leaf that waited; a fork to the leaf that began the other thread.
        bool wakes = graph->kind[node] == RGM_PATH_OUTSIDE && (size_t)before + 1 < graph->n_points &&
                     !(graph->flags[before + 1] & RGM_NODE_FIRST);
        return (rgm_path_kind)(wakes ? graph->kind[before + 1] : graph->kind[node]);
    }
    if (!is_work_start(graph, node)) return (rgm_path_kind)graph->kind[node];
    if (!from_work) return RGM_PATH_LAUNCH_LATENCY;
    if (is_work_start(graph, (size_t)before)) return (rgm_path_kind)graph->kind[before];
    return which == 0 ? RGM_PATH_KERNEL_GAP : RGM_PATH_DEPENDENCY_WAIT;
}

// Shortest time that an edge takes even when it does not bind.
static int64_t least_of(const rgm_critical *graph, size_t node, int32_t before, int which) {
    if (!is_work_start(graph, node)) return 0;
    if (which == 1 && (size_t)before < graph->n_points)
        return graph->flags[node] & RGM_NODE_INFERRED ? 0 : graph->launch_ns;
    return which == 0 && !is_work_start(graph, (size_t)before) ? graph->gap_ns : 0;
}

static void bind(rgm_critical *graph) {
    for (size_t node = 0; node < graph->n_nodes; node++) {
        int64_t latest = INT64_MIN;
        int best = -1;
        for (int which = 0; which < EDGES; which++) {
            int32_t before = edge(graph, node, which);
            if (before < 0) continue;
            int64_t ready = rgm_add_bounded(graph->time[before], least_of(graph, node, before, which));
            if (best >= 0 && ready <= latest) continue;
            latest = ready;
            best = which;
        }
        graph->bound_kind[node] = RGM_PATH_OUTSIDE;
        if (best < 0) continue;
        graph->bound_by[node] = edge(graph, node, best);
        graph->bound_kind[node] = (uint8_t)edge_kind(graph, node, graph->bound_by[node], best);
    }
}

// --- window -----------------------------------------------------------------------------------------------

static void whole_window(rgm_critical *graph) {
    graph->start_ns = INT64_MAX;
    graph->end_ns = INT64_MIN;
    for (size_t node = 0; node < graph->n_nodes; node++) {
        if (graph->time[node] < graph->start_ns) graph->start_ns = graph->time[node];
        if (graph->time[node] > graph->end_ns) {
            graph->end_ns = graph->time[node];
            graph->last = (int32_t)node;
        }
    }
}

static bool is_number(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (text[i] < '0' || text[i] > '9') return false;
    return length > 0;
}

// A number stands for the step of that number: "ProfilerStep#12".
static bool is_wanted(const rgm_view *view, uint32_t row, const rgm_question *question) {
    rgm_string text = rgm_view_text(view, rgm_view_name(view, row));
    size_t length = question->length;
    if (is_number(question->text, length)) {
        if (text.length <= length || memcmp(text.data, "ProfilerStep", 12) != 0) return false;
        char before = text.data[text.length - length - 1];
        return (before == '#' || before == ' ') &&
               memcmp(text.data + text.length - length, question->text, length) == 0;
    }
    return text.length == length && memcmp(text.data, question->text, length) == 0;
}

// From the beginning of the first span of that name to its end, or to the end of the last work that was
// launched within it, whichever is later.
static rgm_status named_window(rgm_critical *graph, const rgm_question *question, rgm_error *err) {
    const rgm_view *view = graph->view;
    int64_t found = -1;
    for (size_t p = 0; p < graph->n_points; p++) {
        uint32_t row = graph->span[p];
        if (row == UINT32_MAX || graph->node_end[row] != (int32_t)p || !is_wanted(view, row, question))
            continue;
        if (found < 0 || rgm_view_start(view, row) < rgm_view_start(view, (size_t)found)) found = row;
    }
    if (found < 0)
        return rgm_error_set(err, RGM_INVALID, "no step or host span is called '%.*s'", (int)question->length,
                             question->text);
    graph->last = graph->node_end[found];
    graph->start_ns = rgm_view_start(view, (size_t)found);
    graph->end_ns = graph->time[graph->last];
    int64_t from = graph->start_ns, to = graph->end_ns;
    for (size_t node = graph->n_points; node < graph->n_nodes; node += 2) {
        int32_t launch = view->launch[graph->span[node]];
        if (launch < 0 || graph->time[node + 1] <= graph->end_ns) continue;
        int64_t call = rgm_view_start(view, (size_t)launch);
        if (call < from || call >= to) continue;
        graph->end_ns = graph->time[node + 1];
        graph->last = (int32_t)node + 1;
    }
    return RGM_OK;
}

// --- the whole --------------------------------------------------------------------------------------------

rgm_status rgm_critical_build(rgm_critical *graph, const rgm_view *view, const rgm_policy *policy,
                              const rgm_question *question, rgm_error *err) {
    *graph = (rgm_critical){.view = view, .policy = policy, .last = RGM_NODE_NONE};
    rgm_status status;
    RGM_GOTO(choose_rank(graph, question->group_by, err));
    RGM_GOTO(allocate(graph, err));
    RGM_GOTO(rgm_critical_host(graph, err));
    RGM_GOTO(rgm_critical_device(graph, err));
    RGM_GOTO(rgm_critical_threads(graph, err));
    RGM_GOTO(rgm_critical_waits(graph, err));
    RGM_GOTO(rgm_critical_measure(graph, err));
    RGM_GOTO(order_nodes(graph, err));
    bind(graph);
    if (question->text)
        RGM_GOTO(named_window(graph, question, err));
    else
        whole_window(graph);
    // A window longer than a century is damage; it is cut so that no sum can overflow.
    if (graph->last >= 0 && rgm_critical_between(graph->end_ns, graph->start_ns) > INT64_MAX / 2)
        graph->start_ns = graph->end_ns - INT64_MAX / 2;
done:
    if (status != RGM_OK) rgm_critical_release(graph);
    return status;
}

static int64_t in_window(const rgm_critical *graph, int32_t node) {
    return graph->time[node] > graph->start_ns ? graph->time[node] : graph->start_ns;
}

// Weight of an edge within the window.
static int64_t weight(const rgm_critical *graph, size_t node, int32_t before, int which,
                      rgm_path_kind muted) {
    int64_t slack = in_window(graph, (int32_t)node) - in_window(graph, before);
    if (before == graph->bound_by[node]) return graph->bound_kind[node] == (uint8_t)muted ? 0 : slack;
    int64_t least = least_of(graph, node, before, which);
    if (!least || edge_kind(graph, node, before, which) == muted) return 0;
    return least < slack ? least : slack;
}

rgm_status rgm_critical_length(const rgm_critical *graph, rgm_path_kind muted, int64_t *length,
                               rgm_error *err) {
    *length = 0;
    if (graph->last < 0) return RGM_OK;
    int64_t *reach = rgm_malloc(graph->n_nodes * sizeof *reach);
    if (!reach) return rgm_error_no_memory(err);
    for (size_t i = 0; i < graph->n_nodes; i++) {
        uint32_t node = graph->order[i];
        reach[node] = 0;
        if (graph->time[node] > graph->end_ns) continue;
        if (graph->bound_by[node] < 0) {
            if (muted != RGM_PATH_OUTSIDE) reach[node] = in_window(graph, (int32_t)node) - graph->start_ns;
            continue;
        }
        for (int which = 0, count = edge_count(graph, node); which < count; which++) {
            int32_t before = edge(graph, node, which);
            if (before < 0) continue;
            int64_t sum = reach[before] + weight(graph, node, before, which, muted);
            if (sum > reach[node]) reach[node] = sum;
        }
    }
    *length = reach[graph->last];
    rgm_free(reach);
    return RGM_OK;
}
