// SPDX-License-Identifier: Apache-2.0
// Work that began long after it was launched and its stream was free, while other streams of the device were
// busy: it ran behind them. A trace rarely says why (an event, the copy engine, a full device), so this is
// told by times, and marked:
//   work of another stream ended just before: this one depended on it
//   work of another stream ran all the while: there was no room beside it, and the wait is that one's time;
//   what came before is still what this one was ready after
//   else it came after the work that ran when it began, or the last to end, whichever filled more of the wait
#include "analysis/critical/critical_waits.h"
#include "analysis/waiting/occupied.h"
#include "base/memory.h"
#include "base/search.h"

enum { NO_ROW = UINT32_MAX };

typedef struct {
    rgm_critical *graph;
    rgm_occupied occupied;
    uint32_t *longest,
        *second;            // [n_work] of the work up to here, by start: the last to end; of other streams
    uint32_t *other_stream; // [n_work] place in by_end of the last one before here on another stream
} behind;

static void behind_release(behind *b) {
    rgm_occupied_release(&b->occupied);
    rgm_free(b->longest);
    rgm_free(b->second);
    rgm_free(b->other_stream);
}

static bool outlasts(const rgm_view *view, uint32_t row, uint32_t other) {
    return other == NO_ROW || rgm_view_end(view, row) > rgm_view_end(view, other);
}

static void add_started(const behind *b, uint32_t first, uint32_t at) {
    const rgm_view *view = b->graph->view;
    uint32_t row = view->work[at], longest = at > first ? b->longest[at - 1] : NO_ROW,
             second = at > first ? b->second[at - 1] : NO_ROW;
    bool same = longest != NO_ROW && rgm_view_lane(view, longest) == rgm_view_lane(view, row);
    if (outlasts(view, row, longest)) {
        if (longest != NO_ROW && !same) second = longest;
        longest = row;
    } else if (!same && outlasts(view, row, second)) {
        second = row;
    }
    b->longest[at] = longest;
    b->second[at] = second;
}

static rgm_status index_device(behind *b, rgm_error *err) {
    const rgm_view *view = b->graph->view;
    RGM_TRY(rgm_occupied_init(&b->occupied, view, err));
    RGM_TRY(RGM_ROWS(b->longest, view->n_work, err));
    RGM_TRY(RGM_ROWS(b->second, view->n_work, err));
    RGM_TRY(RGM_ROWS(b->other_stream, view->n_work, err));
    for (size_t d = 0; d < view->n_devices; d++) {
        uint32_t first = view->device_first[d];
        for (uint32_t i = first; i < view->device_first[d + 1]; i++) {
            add_started(b, first, i);
            const uint32_t *by_end = b->occupied.by_end;
            if (i == first)
                b->other_stream[i] = NO_ROW;
            else if (rgm_view_lane(view, by_end[i - 1]) != rgm_view_lane(view, by_end[i]))
                b->other_stream[i] = i - 1;
            else
                b->other_stream[i] = b->other_stream[i - 1];
        }
    }
    return RGM_OK;
}

// The last work on another stream that ended by `time`, but not by `from`; NO_ROW for none.
static uint32_t ended_before(const behind *b, uint32_t row, int64_t from, int64_t time) {
    const rgm_view *view = b->graph->view;
    int32_t d = rgm_view_device(view, row);
    uint32_t end = rgm_occupied_ended(&b->occupied, d, time);
    if (end == view->device_first[d]) return NO_ROW;
    uint32_t at = end - 1;
    if (rgm_view_lane(view, b->occupied.by_end[at]) == rgm_view_lane(view, row)) at = b->other_stream[at];
    if (at == NO_ROW || rgm_view_end(view, b->occupied.by_end[at]) <= from) return NO_ROW;
    return b->occupied.by_end[at];
}

// Work on another stream that began before `time` and ended later; NO_ROW for none.
static uint32_t running_at(const behind *b, uint32_t row, int64_t time) {
    const rgm_view *view = b->graph->view;
    int32_t d = rgm_view_device(view, row);
    rgm_search search = rgm_search_in(view->device_first[d], view->device_first[d + 1]);
    while (rgm_search_on(&search))
        rgm_search_tell(&search, rgm_view_start(view, view->work[search.middle]) < time);
    if (search.low == view->device_first[d]) return NO_ROW;
    uint32_t found = b->longest[search.low - 1];
    if (rgm_view_lane(view, found) == rgm_view_lane(view, row)) found = b->second[search.low - 1];
    return found != NO_ROW && rgm_view_end(view, found) > time ? found : NO_ROW;
}

// When everything was over that work is known to have waited for; its beginning where nothing is known, and
// where that was work that still ran.
static int64_t ready_at(const rgm_critical *graph, size_t node) {
    int32_t before = graph->bound_by[node];
    return before < 0 || rgm_critical_is_start(graph, before) ? graph->time[node] : graph->time[before];
}

static void hold_back(rgm_critical *graph, size_t node, int32_t before) {
    graph->event[node - graph->n_points] = before;
    graph->flags[node] |= RGM_NODE_BEHIND | RGM_NODE_INFERRED_EVENT;
}

static void look_at(behind *b, size_t node) {
    rgm_critical *graph = b->graph;
    const rgm_view *view = graph->view;
    const double soon = graph->policy->launch_gap_ns;
    uint32_t row = graph->span[node];
    int64_t begin = graph->time[node], ready = ready_at(graph, node);
    if ((double)rgm_critical_between(begin, ready) <= graph->policy->critical_behind_ns) return;
    uint32_t ended = ended_before(b, row, ready, begin), running = running_at(b, row, begin);
    int64_t idle = ended == NO_ROW ? INT64_MAX : rgm_critical_between(begin, rgm_view_end(view, ended)),
            beside =
                running == NO_ROW ? INT64_MAX : rgm_critical_between(rgm_view_start(view, running), ready);
    if (ended != NO_ROW && (double)idle <= soon)
        hold_back(graph, node, graph->node_end[ended]);
    else if (running != NO_ROW && (double)beside <= soon)
        graph->beside[(node - graph->n_points) / 2] = graph->node_start[running];
    else if (running != NO_ROW && beside <= idle)
        hold_back(graph, node, graph->node_start[running]);
    else if (ended != NO_ROW)
        hold_back(graph, node, graph->node_end[ended]);
}

rgm_status rgm_critical_behind(rgm_critical *graph, rgm_error *err) {
    if (graph->n_streams < 2) return RGM_OK;
    RGM_RELEASED(behind_release) behind b = {.graph = graph};
    RGM_TRY(index_device(&b, err));
    for (size_t node = graph->n_points; node < graph->n_nodes; node += 2) look_at(&b, node);
    return RGM_OK;
}
