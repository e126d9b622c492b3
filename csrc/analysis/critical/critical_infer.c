// SPDX-License-Identifier: Apache-2.0
// What a call can have waited for, where no row of cuda_sync says it: work that was launched before the call,
// and was over when the call returned:
//   whole device  the last work of a device, if none of that device outlasts the call
//   stream        of all streams the last launched work; the latest of those that were over
//   event         the latest work that was over
//   copy          the copy itself; an asynchronous call waits for one from or to pageable memory
// Work without a recorded launch that began during such a call was launched before it: the host was waiting.
// cudaStreamWaitEvent without such a row: the next work that the thread launched waited for the latest work
// that was launched before the call and over when that work began.
#include <stdlib.h>
#include <string.h>

#include "analysis/critical/critical_waits.h"
#include "analysis/critical/rank_set.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/search.h"
#include "base/sort.h"

void rgm_critical_await(rgm_critical *graph, uint32_t call, int64_t work, bool inferred) {
    int32_t end = graph->node_end[call];
    if (work < 0 || graph->time[graph->node_end[work]] <= rgm_view_start(graph->view, call)) return;
    int32_t node = rgm_critical_awaited(graph, (uint32_t)work, graph->time[end]);
    if (node < 0) return;
    graph->other[end] = node;
    if (inferred) graph->flags[end] |= RGM_NODE_INFERRED;
}

void rgm_critical_hold_back(rgm_critical *graph, uint32_t waiting, int64_t work, bool inferred) {
    int32_t node = graph->node_start[waiting];
    if (work < 0 || (uint32_t)work == waiting) return;
    int32_t before = rgm_critical_awaited(graph, (uint32_t)work, graph->time[node]);
    if (before < 0 || graph->node_start[work] == node) return;
    int32_t *event = &graph->event[(size_t)node - graph->n_points];
    if (*event >= 0 && graph->time[*event] >= graph->time[before]) return;
    *event = before;
    graph->flags[node] &= (uint8_t)~RGM_NODE_INFERRED_EVENT;
    if (inferred) graph->flags[node] |= RGM_NODE_INFERRED_EVENT;
}

typedef struct {
    rgm_critical *graph;
    const rgm_wait *asked;
    size_t n_asked;
    uint32_t *work, *by_launch, *by_end, *end_rank; // [work]
    uint32_t *order;                                // [asked] by start of the call
    uint64_t *keys;
} inference;

static void inference_release(inference *w) {
    rgm_free(w->work);
    rgm_free(w->by_launch);
    rgm_free(w->by_end);
    rgm_free(w->end_rank);
    rgm_free(w->order);
    rgm_free(w->keys);
}

static rgm_status inference_new(inference *w, rgm_critical *graph, const rgm_wait *asked, size_t n_asked,
                                rgm_error *err) {
    size_t count = rgm_critical_work_count(graph);
    *w = (inference){.graph = graph, .asked = asked, .n_asked = n_asked};
    RGM_TRY(RGM_ROWS(w->work, count, err));
    RGM_TRY(RGM_ROWS(w->by_launch, count, err));
    RGM_TRY(RGM_ROWS(w->by_end, count, err));
    RGM_TRY(RGM_ROWS(w->end_rank, count, err));
    RGM_TRY(RGM_ROWS(w->order, n_asked, err));
    return RGM_ROWS(w->keys, count > n_asked ? count : n_asked, err);
}

static rgm_status sort_asked(inference *w, rgm_error *err) {
    for (size_t i = 0; i < w->n_asked; i++)
        w->keys[i] = rgm_sort_key_i64(rgm_view_start(w->graph->view, w->asked[i].call));
    return rgm_sort_order(w->keys, w->n_asked, w->order, err);
}

// The latest call to have begun by `time`, -1 for none.
static int64_t asked_by(const inference *w, int64_t time) {
    rgm_search search = rgm_search_in(0, w->n_asked);
    while (rgm_search_on(&search))
        rgm_search_tell(&search,
                        rgm_view_start(w->graph->view, w->asked[w->order[search.middle]].call) <= time);
    return (int64_t)search.low - 1;
}

static int64_t launched_at(const inference *w, uint32_t work) {
    const rgm_view *view = w->graph->view;
    int64_t at = rgm_critical_launched(w->graph, work);
    int64_t latest = view->launch[work] < 0 ? asked_by(w, at) : -1;
    if (latest < 0) return at;
    const rgm_wait *q = &w->asked[w->order[latest]];
    bool within = q->class != RGM_CALL_STREAM_WAIT && rgm_view_end(view, q->call) > at;
    return within ? rgm_view_start(view, q->call) : at;
}

static rgm_status sort_work(inference *w, rgm_error *err) {
    const rgm_critical *graph = w->graph;
    size_t count = rgm_critical_work_count(graph);
    for (size_t i = 0; i < count; i++) {
        w->work[i] = rgm_critical_work(graph, i);
        w->keys[i] = rgm_sort_key_i64(rgm_view_end(graph->view, w->work[i]));
    }
    RGM_TRY(rgm_sort_order(w->keys, count, w->by_end, err));
    for (size_t i = 0; i < count; i++) w->end_rank[w->by_end[i]] = (uint32_t)i;
    for (size_t i = 0; i < count; i++) w->keys[i] = rgm_sort_key_i64(launched_at(w, w->work[i]));
    return rgm_sort_order(w->keys, count, w->by_launch, err);
}

typedef struct {
    rgm_rank_set launched; // ranks by end of all work launched so far
    rgm_rank_set newest;   // the same, of the last launched of each stream
    int64_t *of_stream;    // [n_lanes] rank of that one, -1 for none
    int64_t *of_device;    // [n_devices] rank of the last to end, -1 for none
} sweep;

static rgm_status sweep_new(sweep *s, const rgm_view *view, size_t count, rgm_error *err) {
    *s = (sweep){0};
    RGM_TRY(rgm_rank_set_init(&s->launched, count, err));
    RGM_TRY(rgm_rank_set_init(&s->newest, count, err));
    s->of_stream = rgm_malloc(view->n_lanes * sizeof *s->of_stream);
    s->of_device = rgm_malloc((view->n_devices + 1) * sizeof *s->of_device);
    if (!s->of_stream || !s->of_device) return rgm_error_no_memory(err);
    memset(s->of_stream, 0xFF, view->n_lanes * sizeof *s->of_stream);
    memset(s->of_device, 0xFF, view->n_devices * sizeof *s->of_device);
    return RGM_OK;
}

static void sweep_release(sweep *s) {
    rgm_rank_set_release(&s->launched);
    rgm_rank_set_release(&s->newest);
    rgm_free(s->of_stream);
    rgm_free(s->of_device);
}

static void sweep_add(sweep *s, const rgm_view *view, uint32_t row, uint32_t rank) {
    int64_t *stream = &s->of_stream[rgm_view_lane(view, row)];
    int64_t *device = &s->of_device[rgm_view_device(view, row)];
    rgm_rank_set_insert(&s->launched, rank);
    if (*stream >= 0) rgm_rank_set_remove(&s->newest, (size_t)*stream);
    rgm_rank_set_insert(&s->newest, rank);
    *stream = rank;
    if (rank > *device) *device = rank;
}

// Number of pieces of work over by `time`.
static size_t ended_by(const inference *w, int64_t time) {
    rgm_search search = rgm_search_in(0, rgm_critical_work_count(w->graph));
    while (rgm_search_on(&search))
        rgm_search_tell(&search, rgm_view_end(w->graph->view, w->work[w->by_end[search.middle]]) <= time);
    return search.low;
}

static int64_t answer(const inference *w, const sweep *s, const rgm_wait *q) {
    const rgm_view *view = w->graph->view;
    int64_t by =
        q->class == RGM_CALL_STREAM_WAIT ? rgm_view_start(view, q->work) : rgm_view_end(view, q->call);
    int64_t tolerance = (int64_t)w->graph->policy->critical_clock_tolerance_ns;
    if (q->class != RGM_CALL_STREAM_WAIT && __builtin_add_overflow(by, tolerance, &by)) by = INT64_MAX;
    size_t over = ended_by(w, by);
    int64_t rank = -1;
    if (q->class == RGM_CALL_AWAITS_STREAM)
        rank = rgm_rank_set_below(&s->newest, over);
    else if (q->class != RGM_CALL_AWAITS_DEVICE)
        rank = rgm_rank_set_below(&s->launched, over);
    else
        for (size_t d = 0; d < view->n_devices; d++)
            if (s->of_device[d] < (int64_t)over && s->of_device[d] > rank) rank = s->of_device[d];
    return rank < 0 ? -1 : (int64_t)w->work[w->by_end[rank]];
}

// Beside the last to end, the last work of every other stream: with that one out of the way, these bind.
static rgm_status await_others(inference *w, const sweep *s, uint32_t call, rgm_error *err) {
    rgm_critical *graph = w->graph;
    int32_t end = graph->node_end[call];
    if (graph->other[end] < (int32_t)graph->n_points) return RGM_OK;
    for (size_t i = 0; i < graph->n_streams && i < RGM_CRITICAL_MORE; i++) {
        int64_t rank = s->of_stream[graph->stream_lane[i]];
        if (rank < 0) continue;
        int32_t before = graph->node_end[w->work[w->by_end[rank]]];
        if (before == graph->other[end] || graph->time[before] > graph->time[end]) continue;
        RGM_TRY(RGM_LIST_ROOM(graph->more, graph->n_more, graph->more_capacity, 64, err));
        graph->more[graph->n_more++] = (rgm_more_edge){end, before};
        graph->flags[end] |= RGM_NODE_MORE;
    }
    return RGM_OK;
}

static int by_node(const void *a, const void *b) {
    const rgm_more_edge *x = a, *y = b;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    return x->before < y->before ? -1 : x->before > y->before;
}

rgm_status rgm_critical_infer(rgm_critical *graph, const rgm_wait *asked, size_t n_asked, rgm_error *err) {
    size_t count = rgm_critical_work_count(graph);
    if (!n_asked || !count) return RGM_OK;
    RGM_RELEASED(inference_release) inference in = {0};
    RGM_RELEASED(sweep_release) sweep s = {0};
    inference *w = &in;
    RGM_TRY(inference_new(w, graph, asked, n_asked, err));
    RGM_TRY(sort_asked(w, err));
    RGM_TRY(sort_work(w, err));
    RGM_TRY(sweep_new(&s, graph->view, count, err));
    for (size_t i = 0, added = 0; i < n_asked; i++) {
        const rgm_wait *q = &asked[w->order[i]];
        int64_t time = rgm_view_start(graph->view, q->call);
        for (; added < count; added++) {
            uint32_t work = w->by_launch[added];
            if (launched_at(w, w->work[work]) > time) break;
            sweep_add(&s, graph->view, w->work[work], w->end_rank[work]);
        }
        int64_t work = answer(w, &s, q);
        bool told = q->class == RGM_CALL_AWAITS_DEVICE && work >= 0 && graph->view->launch[work] >= 0;
        if (q->class == RGM_CALL_STREAM_WAIT)
            rgm_critical_hold_back(graph, q->work, work, true);
        else
            rgm_critical_await(graph, q->call, work, !told);
        if (q->class == RGM_CALL_AWAITS_DEVICE) RGM_TRY(await_others(w, &s, q->call, err));
    }
    if (graph->n_more) qsort(graph->more, graph->n_more, sizeof *graph->more, by_node);
    return RGM_OK;
}
