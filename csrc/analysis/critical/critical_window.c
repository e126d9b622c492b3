// SPDX-License-Identifier: Apache-2.0
// What the path is of: which rank, from when to when, and with what it ends.
#include <stdlib.h>
#include <string.h>

#include "analysis/critical/critical.h"
#include "base/memory.h"

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
rgm_status rgm_critical_rank(rgm_critical *graph, int32_t wanted, rgm_error *err) {
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

// --- window -----------------------------------------------------------------------------------------------

// The host thread on which the path lies last, and how it ends: a path that ends on a device says nothing of
// what that thread still did. Other threads may only have waited.
static void mark_end_of_thread(rgm_critical *graph) {
    int32_t node = graph->last;
    while (node >= 0 && (size_t)node >= graph->n_points) node = graph->bound_by[node];
    for (size_t t = 0; node >= 0 && t < graph->n_threads; t++)
        if ((uint32_t)node >= graph->thread_first[t] && (uint32_t)node < graph->thread_first[t + 1])
            graph->flags[graph->thread_first[t + 1] - 1] |= RGM_NODE_ENDS;
}

static void whole_window(rgm_critical *graph) {
    graph->start_ns = INT64_MAX;
    graph->end_ns = INT64_MIN;
    for (size_t node = 0; node < graph->n_nodes; node++) {
        if (graph->time[node] < graph->start_ns) graph->start_ns = graph->time[node];
        if (graph->time[node] > graph->end_ns) {
            graph->end_ns = graph->time[node];
            graph->last = (int32_t)node;
        }
        if (node >= graph->n_points) graph->flags[node] |= RGM_NODE_ENDS;
    }
    mark_end_of_thread(graph);
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
    graph->flags[graph->last] |= RGM_NODE_ENDS;
    graph->start_ns = rgm_view_start(view, (size_t)found);
    graph->end_ns = graph->time[graph->last];
    int64_t from = graph->start_ns, to = graph->end_ns;
    for (size_t node = graph->n_points; node < graph->n_nodes; node += 2) {
        int32_t launch = view->launch[graph->span[node]];
        if (launch < 0) continue;
        int64_t call = rgm_view_start(view, (size_t)launch);
        if (call < from || call >= to) continue;
        graph->flags[node + 1] |= RGM_NODE_ENDS;
        if (graph->time[node + 1] <= graph->end_ns) continue;
        graph->end_ns = graph->time[node + 1];
        graph->last = (int32_t)node + 1;
    }
    return RGM_OK;
}

// What is on the path; the last node ends the window whatever it is.
static void mark_path(rgm_critical *graph) {
    if (graph->last >= 0) graph->flags[graph->last] |= RGM_NODE_ENDS;
    for (int32_t node = graph->last; node >= 0; node = graph->bound_by[node])
        graph->flags[node] |= RGM_NODE_ON_PATH;
}

rgm_status rgm_critical_window(rgm_critical *graph, const rgm_question *question, rgm_error *err) {
    if (question->text)
        RGM_TRY(named_window(graph, question, err));
    else
        whole_window(graph);
    // A window longer than a century is damage; it is cut so that no sum can overflow.
    if (graph->last >= 0 && rgm_critical_between(graph->end_ns, graph->start_ns) > INT64_MAX / 2)
        graph->start_ns = graph->end_ns - INT64_MAX / 2;
    mark_path(graph);
    return RGM_OK;
}
