// SPDX-License-Identifier: Apache-2.0
// What synchronising calls and streams waited for, where the trace has rows of cuda_sync: streams and records
// are known then. What these do not answer is inferred.
#include <stdlib.h>
#include <string.h>

#include "analysis/critical/critical_waits.h"
#include "base/memory.h"
#include "base/search.h"

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
    rgm_search search = rgm_search_in(0, count);
    while (rgm_search_on(&search)) rgm_search_tell(&search, items[search.middle].id < id);
    return search.low < count && items[search.low].id == id ? &items[search.low] : NULL;
}

typedef struct {
    rgm_critical *graph;
    numbered *calls;   // calls with a correlation, where `syncs` has rows
    numbered *syncs;   // rows of `syncs` by correlation
    numbered *streams; // indexes of streams by stream id
    size_t n_calls, n_syncs;
    int64_t *launched; // [n_work] latest launch up to this work of its stream
    rgm_wait *asked;   // not answered by `syncs`
    size_t n_asked;
} waits;

static void waits_release(waits *w) {
    rgm_free(w->calls);
    rgm_free(w->syncs);
    rgm_free(w->streams);
    rgm_free(w->launched);
    rgm_free(w->asked);
}

static rgm_status waits_new(waits *w, rgm_critical *graph, rgm_error *err) {
    size_t n_work = rgm_critical_work_count(graph) + 1, most = graph->n_points / 2 + 1;
    size_t known = graph->view->run->syncs.rows;
    *w = (waits){.graph = graph};
    w->calls = rgm_malloc((known ? most : 1) * sizeof *w->calls);
    w->syncs = rgm_malloc((known + 1) * sizeof *w->syncs);
    w->streams = rgm_malloc((graph->n_streams + 1) * sizeof *w->streams);
    w->launched = rgm_malloc(n_work * sizeof *w->launched);
    w->asked = rgm_malloc(most * sizeof *w->asked);
    bool ok = w->calls && w->syncs && w->streams && w->launched && w->asked;
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
            int64_t at = rgm_critical_launched(graph, rgm_critical_work(graph, i));
            if (i > graph->stream_first[s] && w->launched[i - 1] > at) at = w->launched[i - 1];
            w->launched[i] = at;
        }
}

// Number of pieces of work, counted over all streams, up to the last of a stream launched by `time`.
static uint32_t launched_by(const waits *w, size_t stream, int64_t time) {
    rgm_search search = rgm_search_in(w->graph->stream_first[stream], w->graph->stream_first[stream + 1]);
    while (rgm_search_on(&search)) rgm_search_tell(&search, w->launched[search.middle] <= time);
    return (uint32_t)search.low;
}

static const numbered *stream_of(const waits *w, int64_t id) {
    return id < 0 ? NULL : find(w->streams, w->graph->n_streams, id);
}

// Last work on a stream launched by `time`, -1 for none.
static int64_t last_launched(const waits *w, const numbered *stream, int64_t time) {
    uint32_t end = launched_by(w, stream->row, time);
    return end > w->graph->stream_first[stream->row] ? (int64_t)rgm_critical_work(w->graph, end - 1) : -1;
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
        if (waiting) rgm_critical_await(graph, call, last_launched(w, waiting, time), false);
        return syncs->stream[known->row] >= 0;
    }
    if (class == RGM_CALL_AWAITS_EVENT) {
        if (awaited) rgm_critical_await(graph, call, last_launched(w, awaited, recorded), false);
        return syncs->waits_on_stream[known->row] >= 0;
    }
    if (class != RGM_CALL_STREAM_WAIT) return false;
    if (syncs->stream[known->row] < 0 || syncs->waits_on_stream[known->row] < 0) return false;
    if (!waiting || !awaited) return true; // one of the streams has no work
    uint32_t next = launched_by(w, waiting->row, time);
    if (next < graph->stream_first[waiting->row + 1])
        rgm_critical_hold_back(graph, rgm_critical_work(graph, next), last_launched(w, awaited, recorded),
                               false);
    return true;
}

// --- calls ------------------------------------------------------------------------------------------------

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
            rgm_critical_await(graph, call, work, !synchronous);
    }
}

static void ask(waits *w, uint32_t call, rgm_call_kind class, uint32_t work) {
    w->asked[w->n_asked++] = (rgm_wait){call, (uint8_t)class, work};
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

rgm_status rgm_critical_waits(rgm_critical *graph, rgm_error *err) {
    RGM_RELEASED(waits_release) waits w = {0};
    RGM_TRY(waits_new(&w, graph, err));
    index_recorded(&w);
    order_launches(&w);
    for (size_t t = 0; t < graph->n_threads; t++) walk_calls(&w, t);
    return rgm_critical_infer(graph, w.asked, w.n_asked, err);
}
