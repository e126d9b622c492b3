// SPDX-License-Identifier: Apache-2.0
// Streams as sequences of work: order, launches, and the order inside one graph launch.
#include "analysis/critical/critical.h"
#include "base/memory.h"
#include "base/search.h"
#include "base/sort.h"

static uint8_t work_kind(const rgm_view *view, uint32_t row) {
    switch (rgm_view_activity(view, row)) {
    case RGM_ACTIVITY_COMMUNICATION: return RGM_PATH_KERNEL_COMMUNICATION;
    case RGM_ACTIVITY_MEMORY: return RGM_PATH_KERNEL_MEMORY;
    default: return RGM_PATH_KERNEL_COMPUTE;
    }
}

static void add_work(rgm_critical *graph, uint32_t row, size_t node, bool first) {
    for (size_t i = node; i < node + 2; i++) {
        graph->span[i] = row;
        graph->kind[i] = work_kind(graph->view, row);
        graph->flags[i] = 0;
    }
    if (first) graph->flags[node] = RGM_NODE_FIRST;
    graph->time[node] = rgm_view_start(graph->view, row);
    graph->time[node + 1] = rgm_view_end(graph->view, row);
    graph->node_start[row] = (int32_t)node;
    graph->node_end[row] = (int32_t)node + 1;
}

static void walk_streams(rgm_critical *graph) {
    const rgm_view *view = graph->view;
    size_t node = graph->n_points;
    for (size_t lane = 0; lane < view->n_lanes; lane++) {
        if (view->lane_device[lane] < 0 || !rgm_critical_on_rank(graph, lane)) continue;
        graph->stream_lane[graph->n_streams] = (uint32_t)lane;
        graph->stream_first[graph->n_streams++] = (uint32_t)((node - graph->n_points) / 2);
        bool first = true;
        for (uint32_t i = view->lane_first[lane]; i < view->lane_first[lane + 1]; i++) {
            if (!rgm_kind_is_work(rgm_view_kind(view, view->lane_spans[i]))) continue;
            add_work(graph, view->lane_spans[i], node, first);
            first = false;
            node += 2;
        }
    }
    graph->stream_first[graph->n_streams] = (uint32_t)((node - graph->n_points) / 2);
}

// The thread that launched most, for work whose launch is not in the recording.
static int64_t launching_thread(const rgm_critical *graph) {
    int64_t best = -1;
    size_t most = 0;
    for (size_t t = 0; t < graph->n_threads; t++) {
        size_t launched = 0;
        for (uint32_t p = graph->thread_first[t]; p < graph->thread_first[t + 1]; p++) {
            uint32_t row = graph->span[p];
            if (row != UINT32_MAX && graph->node_end[row] == (int32_t)p)
                launched += graph->view->launched_first[row + 1] > graph->view->launched_first[row];
        }
        if (best < 0 || launched > most) best = (int64_t)t, most = launched;
    }
    return best;
}

static int32_t point_before(const rgm_critical *graph, size_t thread, int64_t time) {
    const size_t first = graph->thread_first[thread];
    rgm_search search = rgm_search_in(first, graph->thread_first[thread + 1]);
    while (rgm_search_on(&search)) rgm_search_tell(&search, graph->time[search.middle] <= time);
    return search.low > first ? (int32_t)search.low - 1 : RGM_NODE_NONE;
}

// Work without a recorded launch was launched at the latest when it began; that it was then is assumed only
// where nothing on its stream came shortly before.
static void assume_launch(rgm_critical *graph, size_t node, int64_t thread) {
    bool first = graph->flags[node] & RGM_NODE_FIRST;
    if (thread < 0) return;
    int64_t gap = first ? INT64_MAX : rgm_critical_between(graph->time[node], graph->time[node - 1]);
    if ((double)gap <= graph->policy->critical_orphan_gap_ns) return;
    graph->other[node] = point_before(graph, (size_t)thread, graph->time[node]);
    graph->flags[node] |= RGM_NODE_INFERRED;
}

static void link_launches(rgm_critical *graph) {
    int64_t thread = launching_thread(graph);
    for (size_t node = graph->n_points; node < graph->n_nodes; node += 2) {
        int32_t launch = graph->view->launch[graph->span[node]];
        int32_t point = launch >= 0 ? graph->node_start[launch] : RGM_NODE_NONE;
        if (point < 0)
            assume_launch(graph, node, thread);
        else if (graph->time[point] <= graph->time[node])
            graph->other[node] = point;
    }
}

// Work of one launch on another stream than its predecessor's: the last to end before it began. Rows of a
// launch are in order of start; their ends are sorted beside them.
static rgm_status link_graph_launch(rgm_critical *graph, const uint32_t *rows, size_t count, rgm_error *err) {
    uint64_t *keys = rgm_malloc(count * sizeof *keys);
    uint32_t *by_end = rgm_malloc(count * sizeof *by_end);
    rgm_status status = keys && by_end ? RGM_OK : rgm_error_no_memory(err);
    if (status == RGM_OK) {
        for (size_t i = 0; i < count; i++) keys[i] = rgm_sort_key_i64(rgm_view_end(graph->view, rows[i]));
        status = rgm_sort_order(keys, count, by_end, err);
    }
    for (size_t i = 0, ended = 0; status == RGM_OK && i < count; i++) {
        int32_t node = graph->node_start[rows[i]];
        if (node < 0) continue; // work of another rank, as a damaged file may name it
        while (ended < count && rgm_view_end(graph->view, rows[by_end[ended]]) <= graph->time[node]) ended++;
        if (!ended) continue;
        uint32_t before = rows[by_end[ended - 1]];
        if (before == rows[i] || graph->node_end[before] < 0 ||
            rgm_view_lane(graph->view, before) == rgm_view_lane(graph->view, rows[i]))
            continue;
        graph->event[(size_t)node - graph->n_points] = graph->node_end[before];
        graph->flags[node] |= RGM_NODE_INFERRED_EVENT;
    }
    rgm_free(keys);
    rgm_free(by_end);
    return status;
}

static rgm_status link_graph_launches(rgm_critical *graph, rgm_error *err) {
    const rgm_view *view = graph->view;
    for (size_t p = 0; p < graph->n_points; p++) {
        uint32_t row = graph->span[p];
        if (row == UINT32_MAX || graph->node_end[row] != (int32_t)p) continue;
        size_t count = view->launched_first[row + 1] - view->launched_first[row];
        if (count < 2) continue;
        RGM_TRY(link_graph_launch(graph, view->launched + view->launched_first[row], count, err));
    }
    return RGM_OK;
}

static int64_t low_value(const rgm_critical *graph, int64_t *values, size_t count, int64_t *scratch) {
    if (!count) return 0;
    rgm_sort_i64(values, count, scratch);
    double place = graph->policy->critical_low_quantile * (double)(count - 1);
    return values[place > 0 ? (place < (double)(count - 1) ? (size_t)place : count - 1) : 0];
}

static int32_t recorded_call(const rgm_critical *graph, size_t node) {
    if (graph->event[node - graph->n_points] >= 0 || graph->flags[node] & RGM_NODE_INFERRED ||
        rgm_critical_beside(graph, (int32_t)node) >= 0)
        return RGM_NODE_NONE;
    return graph->other[node];
}

static size_t latencies(const rgm_critical *graph, int64_t *values) {
    size_t count = 0;
    for (size_t node = graph->n_points; node < graph->n_nodes; node += 2) {
        int32_t call = recorded_call(graph, node);
        if (call < 0) continue;
        int64_t took = rgm_critical_between(graph->time[node], graph->time[call]);
        if ((double)took > graph->policy->critical_latency_ns) continue;
        if (graph->flags[node] & RGM_NODE_FIRST || graph->time[node - 1] <= graph->time[call])
            values[count++] = took;
    }
    return count;
}

static size_t gaps(const rgm_critical *graph, int64_t *values) {
    size_t count = 0;
    for (size_t node = graph->n_points; node < graph->n_nodes; node += 2) {
        int32_t call = recorded_call(graph, node);
        if (call < 0 || graph->flags[node] & RGM_NODE_FIRST || graph->time[node - 1] > graph->time[node])
            continue;
        if (rgm_critical_between(graph->time[node - 1], graph->time[call]) >= graph->launch_ns)
            values[count++] = rgm_critical_between(graph->time[node], graph->time[node - 1]);
    }
    return count;
}

// The shortest usual time from a call to its work, of calls that found the stream empty, and then from one
// piece of work to the next, of work that could have begun when its predecessor ended.
rgm_status rgm_critical_measure(rgm_critical *graph, rgm_error *err) {
    size_t n_work = (graph->n_nodes - graph->n_points) / 2;
    int64_t *values = rgm_malloc((2 * n_work + 1) * sizeof *values);
    if (!values) return rgm_error_no_memory(err);
    graph->launch_ns = low_value(graph, values, latencies(graph, values), values + n_work);
    graph->gap_ns = low_value(graph, values, gaps(graph, values), values + n_work);
    rgm_free(values);
    return RGM_OK;
}

rgm_status rgm_critical_device(rgm_critical *graph, rgm_error *err) {
    walk_streams(graph);
    link_launches(graph);
    return link_graph_launches(graph, err);
}
