// SPDX-License-Identifier: Apache-2.0
// Host threads as sequences of points: between two points a thread is in the self time of one span, its leaf,
// or in none.
#include <string.h>

#include "analysis/critical/critical.h"
#include "base/memory.h"
#include "base/text.h"

enum { NAME_SEEN = 0x80, NAME_LOADS = 0x40, NAME_CALL = 0x3F };

static uint8_t class_of(const rgm_critical *graph, rgm_name name) {
    uint8_t *class = &graph->name_class[name];
    if (*class) return *class;
    rgm_string text = rgm_view_text(graph->view, name);
    bool loads = rgm_text_has(text, "DataLoader");
    return *class = (uint8_t)(NAME_SEEN | (loads ? NAME_LOADS : 0) | rgm_call_classify(text));
}

rgm_call_kind rgm_critical_call(const rgm_critical *graph, rgm_name name) {
    return (rgm_call_kind)(class_of(graph, name) & NAME_CALL);
}

bool rgm_critical_loads(const rgm_critical *graph, rgm_name name) {
    return (class_of(graph, name) & NAME_LOADS) != 0;
}

enum { LOADING = INT32_MIN }; // mark on a stack entry: inside an operator that loads data

typedef struct {
    int32_t *rows;
    size_t depth;
    uint32_t point;
    bool first;
} thread_walk;

static uint8_t leaf_kind(const rgm_critical *graph, const thread_walk *walk) {
    if (!walk->depth) return RGM_PATH_OUTSIDE;
    int32_t entry = walk->rows[walk->depth - 1];
    size_t row = (size_t)(entry & INT32_MAX);
    rgm_kind kind = rgm_view_kind(graph->view, row);
    if (rgm_kind_is_call(kind)) {
        rgm_call_kind call = rgm_critical_call(graph, rgm_view_name(graph->view, row));
        return call == RGM_CALL_COPY || rgm_critical_waits_for_device(call) ? RGM_PATH_HOST_SYNC
                                                                            : RGM_PATH_HOST_RUNTIME;
    }
    if (entry < 0) return RGM_PATH_DATA_LOADING;
    if (kind == RGM_KIND_CPU_OP) return RGM_PATH_HOST_OPERATOR;
    return kind == RGM_KIND_PYTHON ? RGM_PATH_HOST_PYTHON : RGM_PATH_HOST_OTHER;
}

// Ends the leaf's segment at `time`; spans that overlap their neighbours in part end when they come to light.
static int32_t add_point(rgm_critical *graph, thread_walk *walk, int64_t time) {
    uint32_t point = walk->point++;
    if (!walk->first && graph->time[point - 1] > time) time = graph->time[point - 1];
    graph->time[point] = time;
    graph->kind[point] = leaf_kind(graph, walk);
    graph->span[point] = walk->depth ? (uint32_t)(walk->rows[walk->depth - 1] & INT32_MAX) : UINT32_MAX;
    graph->flags[point] = walk->first ? RGM_NODE_FIRST : 0;
    walk->first = false;
    return (int32_t)point;
}

static void close_spans(rgm_critical *graph, thread_walk *walk, int64_t until) {
    while (walk->depth) {
        size_t row = (size_t)(walk->rows[walk->depth - 1] & INT32_MAX);
        if (rgm_view_end(graph->view, row) > until) return;
        graph->node_end[row] = add_point(graph, walk, rgm_view_end(graph->view, row));
        if (--walk->depth == 0 && graph->time[graph->node_end[row]] > graph->time[graph->node_start[row]])
            graph->tops[graph->n_tops++] = (rgm_top_span){graph->node_start[row], graph->node_end[row]};
    }
}

static void open_span(rgm_critical *graph, thread_walk *walk, uint32_t row) {
    graph->node_start[row] = add_point(graph, walk, rgm_view_start(graph->view, row));
    int32_t mark = walk->depth ? walk->rows[walk->depth - 1] & LOADING : 0;
    if (rgm_critical_loads(graph, rgm_view_name(graph->view, row))) mark = LOADING;
    walk->rows[walk->depth++] = (int32_t)row | mark;
}

static void walk_thread(rgm_critical *graph, thread_walk *walk, size_t lane) {
    const rgm_view *view = graph->view;
    walk->first = true;
    walk->depth = 0;
    for (uint32_t i = view->lane_first[lane]; i < view->lane_first[lane + 1]; i++) {
        uint32_t row = view->lane_spans[i];
        if (!rgm_critical_is_host(rgm_view_kind(view, row))) continue;
        close_spans(graph, walk, rgm_view_start(view, row));
        open_span(graph, walk, row);
    }
    close_spans(graph, walk, INT64_MAX);
}

rgm_status rgm_critical_host(rgm_critical *graph, rgm_error *err) {
    const rgm_view *view = graph->view;
    thread_walk walk = {.rows = rgm_malloc((view->n_spans + 1) * sizeof(int32_t))};
    graph->tops = rgm_malloc((graph->n_points / 2 + 1) * sizeof *graph->tops);
    if (!walk.rows || !graph->tops) {
        rgm_free(walk.rows);
        return rgm_error_no_memory(err);
    }
    for (size_t lane = 0; lane < view->n_lanes; lane++) {
        if (!rgm_critical_on_rank(graph, lane)) continue;
        uint32_t before = walk.point;
        walk_thread(graph, &walk, lane);
        if (walk.point == before) continue;
        graph->thread_lane[graph->n_threads] = (uint32_t)lane;
        graph->thread_first[graph->n_threads++] = before;
    }
    graph->thread_first[graph->n_threads] = walk.point;
    rgm_free(walk.rows);
    return RGM_OK;
}
