// SPDX-License-Identifier: Apache-2.0
// What synchronising calls and streams waited for. Where the trace has rows of cuda_sync, streams and records
// are known. Otherwise the awaited work is inferred from what a call can have waited for: it was launched
// before the call, and was over when the call returned:
//   whole device  the last work of a device, if none of that device outlasts the call
//   stream        of all streams the last launched work; the latest of those that were over
//   event         the latest work that was over
//   copy          the copy itself; an asynchronous call waits for one from or to pageable memory
// cudaStreamWaitEvent without such a row: the next work that the thread launched waited for the latest work
// that was launched before the call and over when that work began.
#include <stdlib.h>
#include <string.h>

#include "analysis/critical.h"
#include "analysis/rank_set.h"
#include "base/sort.h"

typedef struct {
    int64_t id;
    uint32_t row;
} numbered;

static int by_id(const void *a, const void *b) {
    const numbered *x = a, *y = b;
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static const numbered *find(const numbered *items, size_t count, int64_t id) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (items[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && items[low].id == id ? &items[low] : NULL;
}

typedef struct {
    uint32_t call;
    uint8_t class;
    uint32_t work; // work that waits, for RGM_CALL_STREAM_WAIT
} question;

typedef struct {
    rgm_critical *graph;
    numbered *calls;   // calls with a correlation, where `syncs` has rows
    numbered *syncs;   // rows of `syncs` by correlation
    numbered *streams; // indexes of streams by stream id
    size_t n_calls, n_syncs;
    int64_t *launched;   // [n_work] latest launch up to this work of its stream
    question *questions; // not answered by `syncs`
    size_t n_questions;
    uint32_t *work, *by_launch, *by_end, *end_rank; // [n_work]
    uint64_t *keys;
} waits;

static void waits_release(waits *w) {
    rgm_free(w->calls);
    rgm_free(w->syncs);
    rgm_free(w->streams);
    rgm_free(w->launched);
    rgm_free(w->questions);
    rgm_free(w->work);
    rgm_free(w->by_launch);
    rgm_free(w->by_end);
    rgm_free(w->end_rank);
    rgm_free(w->keys);
}

static size_t work_count(const rgm_critical *graph) { return (graph->n_nodes - graph->n_points) / 2; }
static uint32_t work_row(const rgm_critical *graph, size_t work) {
    return graph->span[graph->n_points + 2 * work];
}

static rgm_status waits_new(waits *w, rgm_critical *graph, rgm_error *err) {
    size_t n_work = work_count(graph) + 1, most = graph->n_points / 2 + 1;
    size_t known = graph->view->run->syncs.rows;
    *w = (waits){.graph = graph};
    w->calls = rgm_malloc((known ? most : 1) * sizeof *w->calls);
    w->syncs = rgm_malloc((known + 1) * sizeof *w->syncs);
    w->streams = rgm_malloc((graph->n_streams + 1) * sizeof *w->streams);
    w->launched = rgm_malloc(n_work * sizeof *w->launched);
    w->questions = rgm_malloc(most * sizeof *w->questions);
    w->work = rgm_malloc(n_work * sizeof *w->work);
    w->by_launch = rgm_malloc(n_work * sizeof *w->by_launch);
    w->by_end = rgm_malloc(n_work * sizeof *w->by_end);
    w->end_rank = rgm_malloc(n_work * sizeof *w->end_rank);
    w->keys = rgm_malloc((n_work > most ? n_work : most) * sizeof *w->keys);
    bool ok = w->calls && w->syncs && w->streams && w->launched && w->questions && w->work && w->by_launch &&
              w->by_end && w->end_rank && w->keys;
    return ok ? RGM_OK : rgm_error_no_memory(err);
}

// --- what the trace says ----------------------------------------------------------------------------------

static void index_recorded(waits *w) {
    const rgm_critical *graph = w->graph;
    const rgm_view *view = graph->view;
    const rgm_syncs *syncs = &view->run->syncs;
    for (size_t i = 0; i < syncs->rows; i++) {
        int64_t id = rgm_view_correlation(view, syncs->span[i]);
        if (id > 0 && rgm_critical_on_rank(graph, rgm_view_lane(view, syncs->span[i])))
            w->syncs[w->n_syncs++] = (numbered){id, (uint32_t)i};
    }
    qsort(w->syncs, w->n_syncs, sizeof *w->syncs, by_id);
    for (size_t p = 0; w->n_syncs && p < graph->n_points; p++) {
        uint32_t row = graph->span[p];
        if (row == UINT32_MAX || graph->node_end[row] != (int32_t)p) continue;
        if (rgm_kind_is_call(rgm_view_kind(view, row)) && rgm_view_correlation(view, row) > 0)
            w->calls[w->n_calls++] = (numbered){rgm_view_correlation(view, row), row};
    }
    qsort(w->calls, w->n_calls, sizeof *w->calls, by_id);
    for (size_t s = 0; s < graph->n_streams; s++)
        w->streams[s] =
            (numbered){RGM_CELL(&view->run->lanes, thread, graph->stream_lane[s], -1), (uint32_t)s};
    qsort(w->streams, graph->n_streams, sizeof *w->streams, by_id);
}

// Work of one stream is in order of launch but for races between threads; a running maximum makes it exact.
static void order_launches(waits *w) {
    const rgm_critical *graph = w->graph;
    for (size_t s = 0; s < graph->n_streams; s++)
        for (uint32_t i = graph->stream_first[s]; i < graph->stream_first[s + 1]; i++) {
            int64_t at = rgm_critical_launched(graph, work_row(graph, i));
            if (i > graph->stream_first[s] && w->launched[i - 1] > at) at = w->launched[i - 1];
            w->launched[i] = at;
        }
}

// Number of pieces of work, counted over all streams, up to the last of a stream launched by `time`.
static uint32_t launched_by(const waits *w, size_t stream, int64_t time) {
    uint32_t low = w->graph->stream_first[stream], high = w->graph->stream_first[stream + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (w->launched[middle] <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const numbered *stream_of(const waits *w, int64_t id) {
    return id < 0 ? NULL : find(w->streams, w->graph->n_streams, id);
}

// Last work on a stream launched by `time`, -1 for none.
static int64_t last_launched(const waits *w, const numbered *stream, int64_t time) {
    uint32_t end = launched_by(w, stream->row, time);
    return end > w->graph->stream_first[stream->row] ? (int64_t)work_row(w->graph, end - 1) : -1;
}

static void await(rgm_critical *graph, uint32_t call, int64_t work, bool inferred) {
    int32_t end = graph->node_end[call];
    if (work < 0 || graph->time[graph->node_end[work]] <= rgm_view_start(graph->view, call)) return;
    int32_t node = rgm_critical_awaited(graph, (uint32_t)work, graph->time[end]);
    if (node < 0) return;
    graph->other[end] = node;
    if (inferred) graph->flags[end] |= RGM_NODE_INFERRED;
}

static void hold_back(rgm_critical *graph, uint32_t waiting, int64_t work, bool inferred) {
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

// Returns whether the trace says enough to answer.
static bool answer_recorded(waits *w, uint32_t call, rgm_call_kind class) {
    rgm_critical *graph = w->graph;
    const numbered *known = find(w->syncs, w->n_syncs, rgm_view_correlation(graph->view, call));
    if (!known) return false;
    const rgm_syncs *syncs = &graph->view->run->syncs;
    int64_t time = rgm_view_start(graph->view, call);
    const numbered *waiting = stream_of(w, syncs->stream[known->row]);
    const numbered *awaited = stream_of(w, syncs->waits_on_stream[known->row]);
    const numbered *record = find(w->calls, w->n_calls, syncs->record_correlation[known->row]);
    int64_t recorded = record ? rgm_view_start(graph->view, record->row) : time;
    if (recorded > time) recorded = time;
    if (class == RGM_CALL_AWAITS_STREAM) {
        if (waiting) await(graph, call, last_launched(w, waiting, time), false);
        return syncs->stream[known->row] >= 0;
    }
    if (class == RGM_CALL_AWAITS_EVENT) {
        if (awaited) await(graph, call, last_launched(w, awaited, recorded), false);
        return syncs->waits_on_stream[known->row] >= 0;
    }
    if (class != RGM_CALL_STREAM_WAIT) return false;
    if (syncs->stream[known->row] < 0 || syncs->waits_on_stream[known->row] < 0) return false;
    if (!waiting || !awaited) return true; // one of the streams has no work
    uint32_t next = launched_by(w, waiting->row, time);
    if (next < graph->stream_first[waiting->row + 1])
        hold_back(graph, work_row(graph, next), last_launched(w, awaited, recorded), false);
    return true;
}

// --- what has to be inferred ------------------------------------------------------------------------------

static bool is_pageable_copy(const rgm_view *view, uint32_t work) {
    if (rgm_view_kind(view, work) != RGM_KIND_MEMCPY) return false;
    rgm_string text = rgm_view_text(view, rgm_view_name(view, work));
    return memmem(text.data, text.length, "Pageable", 8) != NULL;
}

static void await_copy(rgm_critical *graph, uint32_t call, bool synchronous) {
    const rgm_view *view = graph->view;
    for (uint32_t i = view->launched_first[call]; i < view->launched_first[call + 1]; i++) {
        uint32_t work = view->launched[i];
        if (graph->node_start[work] >= 0 && (synchronous || is_pageable_copy(view, work)))
            await(graph, call, work, !synchronous);
    }
}

static void ask(waits *w, uint32_t call, rgm_call_kind class, uint32_t work) {
    w->questions[w->n_questions++] = (question){call, (uint8_t)class, work};
}

// Calls of one thread in program order. A wait of a stream that the trace says nothing about is held until
// the thread's next launch.
static void walk_calls(waits *w, size_t thread) {
    rgm_critical *graph = w->graph;
    const rgm_view *view = graph->view;
    int64_t pending = -1;
    for (uint32_t p = graph->thread_first[thread]; p < graph->thread_first[thread + 1]; p++) {
        uint32_t row = graph->span[p];
        if (row == UINT32_MAX || graph->node_end[row] != (int32_t)p) continue;
        if (!rgm_kind_is_call(rgm_view_kind(view, row))) continue;
        rgm_call_kind call = rgm_critical_call(graph, rgm_view_name(view, row));
        bool waits_for_device = rgm_critical_waits_for_device(call);
        uint32_t launched = view->launched_first[row];
        if (launched < view->launched_first[row + 1]) {
            uint32_t work = view->launched[launched];
            if (pending >= 0 && graph->node_start[work] >= 0)
                ask(w, (uint32_t)pending, RGM_CALL_STREAM_WAIT, work);
            pending = -1;
            await_copy(graph, row, call == RGM_CALL_COPY);
        } else if ((waits_for_device || call == RGM_CALL_STREAM_WAIT) && !answer_recorded(w, row, call)) {
            if (waits_for_device)
                ask(w, row, call == RGM_CALL_FREE ? RGM_CALL_AWAITS_DEVICE : call, 0);
            else
                pending = row;
        }
    }
}

static rgm_status sort_work(waits *w, rgm_error *err) {
    const rgm_critical *graph = w->graph;
    size_t count = work_count(graph);
    for (size_t i = 0; i < count; i++) {
        w->work[i] = work_row(graph, i);
        w->keys[i] = rgm_sort_key_i64(rgm_view_end(graph->view, w->work[i]));
    }
    RGM_TRY(rgm_sort_order(w->keys, count, w->by_end, err));
    for (size_t i = 0; i < count; i++) w->end_rank[w->by_end[i]] = (uint32_t)i;
    for (size_t i = 0; i < count; i++)
        w->keys[i] = rgm_sort_key_i64(rgm_critical_launched(graph, w->work[i]));
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
static size_t ended_by(const waits *w, int64_t time) {
    size_t low = 0, high = work_count(w->graph);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (rgm_view_end(w->graph->view, w->work[w->by_end[middle]]) <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int64_t answer(const waits *w, const sweep *s, const question *q) {
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

enum { MORE_STREAMS = 64 }; // of a device-wide wait: more of them would only raise the bounds of mutings

// Beside the last to end, the last work of every other stream: with that one out of the way, these bind.
static rgm_status await_others(waits *w, const sweep *s, uint32_t call, rgm_error *err) {
    rgm_critical *graph = w->graph;
    int32_t end = graph->node_end[call];
    if (graph->other[end] < (int32_t)graph->n_points) return RGM_OK;
    for (size_t i = 0; i < graph->n_streams && i < MORE_STREAMS; i++) {
        int64_t rank = s->of_stream[graph->stream_lane[i]];
        if (rank < 0) continue;
        int32_t before = graph->node_end[w->work[w->by_end[rank]]];
        if (before == graph->other[end] || graph->time[before] > graph->time[end]) continue;
        if (graph->n_more == graph->more_capacity) {
            size_t capacity = graph->more_capacity ? 2 * graph->more_capacity : 64;
            rgm_more_edge *grown = rgm_realloc(graph->more, capacity * sizeof *grown);
            if (!grown) return rgm_error_no_memory(err);
            graph->more = grown;
            graph->more_capacity = capacity;
        }
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

static rgm_status infer(waits *w, rgm_error *err) {
    rgm_critical *graph = w->graph;
    size_t count = work_count(graph);
    if (!w->n_questions || !count) return RGM_OK;
    RGM_TRY(sort_work(w, err));
    sweep s = {0};
    rgm_status status;
    uint32_t *order = rgm_malloc(w->n_questions * sizeof *order);
    if (!order) return rgm_error_no_memory(err);
    RGM_GOTO(sweep_new(&s, graph->view, count, err));
    for (size_t i = 0; i < w->n_questions; i++)
        w->keys[i] = rgm_sort_key_i64(rgm_view_start(graph->view, w->questions[i].call));
    RGM_GOTO(rgm_sort_order(w->keys, w->n_questions, order, err));
    for (size_t i = 0, added = 0; i < w->n_questions; i++) {
        const question *q = &w->questions[order[i]];
        int64_t time = rgm_view_start(graph->view, q->call);
        for (; added < count; added++) {
            uint32_t work = w->by_launch[added];
            if (rgm_critical_launched(graph, w->work[work]) > time) break;
            sweep_add(&s, graph->view, w->work[work], w->end_rank[work]);
        }
        if (q->class == RGM_CALL_STREAM_WAIT)
            hold_back(graph, q->work, answer(w, &s, q), true);
        else
            await(graph, q->call, answer(w, &s, q), q->class != RGM_CALL_AWAITS_DEVICE);
        if (q->class == RGM_CALL_AWAITS_DEVICE) RGM_GOTO(await_others(w, &s, q->call, err));
    }
    if (graph->n_more) qsort(graph->more, graph->n_more, sizeof *graph->more, by_node);
done:
    sweep_release(&s);
    rgm_free(order);
    return status;
}

rgm_status rgm_critical_waits(rgm_critical *graph, rgm_error *err) {
    waits w;
    rgm_status status;
    RGM_GOTO(waits_new(&w, graph, err));
    index_recorded(&w);
    order_launches(&w);
    for (size_t t = 0; t < graph->n_threads; t++) walk_calls(&w, t);
    RGM_GOTO(infer(&w, err));
done:
    waits_release(&w);
    return status;
}
