// SPDX-License-Identifier: Apache-2.0
// Host threads that wait for one another, as the caller of a backward pass does for the autograd thread. No
// trace records this, so it is told by enclosure: while a thread is in one leaf (or in none) and another
// thread's outermost span lies strictly inside, the first began the second and waited for it.
#include "analysis/critical/critical.h"
#include "analysis/critical/rank_set.h"
#include "base/memory.h"
#include "base/search.h"
#include "base/sort.h"

typedef struct {
    int64_t start_ns, end_ns;
    int32_t start, end; // points; -1 before the first of a thread and after its last
} segment;

typedef struct {
    segment *segments;
    size_t count;
    uint32_t *by_start; // segments in order of start
    uint32_t *end_rank; // of each segment, in order of end
    uint32_t *tops_by_start, *tops_by_end, *top_rank;
    uint32_t *newest; // prefix maxima (Fenwick) over segments in descending order of end
    uint64_t *keys;
} enclosure;

static void enclosure_release(enclosure *e) {
    rgm_free(e->segments);
    rgm_free(e->by_start);
    rgm_free(e->end_rank);
    rgm_free(e->tops_by_start);
    rgm_free(e->tops_by_end);
    rgm_free(e->top_rank);
    rgm_free(e->newest);
    rgm_free(e->keys);
}

static rgm_status enclosure_new(enclosure *e, const rgm_critical *graph, rgm_error *err) {
    size_t most = graph->n_points + graph->n_threads + 1, tops = graph->n_tops + 1;
    size_t keys = most > tops ? most : tops;
    e->segments = rgm_malloc(most * sizeof *e->segments);
    e->by_start = rgm_malloc(most * sizeof(uint32_t));
    e->end_rank = rgm_malloc(most * sizeof(uint32_t));
    e->newest = rgm_calloc(most + 1, sizeof(uint32_t));
    e->tops_by_start = rgm_malloc(tops * sizeof(uint32_t));
    e->tops_by_end = rgm_malloc(tops * sizeof(uint32_t));
    e->top_rank = rgm_malloc(tops * sizeof(uint32_t));
    e->keys = rgm_malloc(keys * sizeof(uint64_t));
    bool ok = e->segments && e->by_start && e->end_rank && e->newest && e->tops_by_start && e->tops_by_end &&
              e->top_rank && e->keys;
    return ok ? RGM_OK : rgm_error_no_memory(err);
}

// A call is no leaf in which a thread waits for another; those that wait for the device are dealt with
// elsewhere.
static bool may_wait(uint8_t kind) { return kind != RGM_PATH_HOST_RUNTIME && kind != RGM_PATH_HOST_SYNC; }

static void collect_segments(enclosure *e, const rgm_critical *graph) {
    for (size_t t = 0; t < graph->n_threads; t++) {
        uint32_t first = graph->thread_first[t], last = graph->thread_first[t + 1] - 1;
        e->segments[e->count++] = (segment){INT64_MIN, graph->time[first], RGM_NODE_NONE, (int32_t)first};
        for (uint32_t p = first + 1; p <= last; p++)
            if (graph->time[p] > graph->time[p - 1] && may_wait(graph->kind[p]))
                e->segments[e->count++] =
                    (segment){graph->time[p - 1], graph->time[p], (int32_t)p - 1, (int32_t)p};
        e->segments[e->count++] = (segment){graph->time[last], INT64_MAX, (int32_t)last, RGM_NODE_NONE};
    }
}

static rgm_status sort_all(enclosure *e, const rgm_critical *graph, rgm_error *err) {
    for (size_t i = 0; i < e->count; i++) e->keys[i] = ~rgm_sort_key_i64(e->segments[i].end_ns);
    RGM_TRY(rgm_sort_order(e->keys, e->count, e->by_start, err));
    for (size_t i = 0; i < e->count; i++) e->end_rank[e->by_start[i]] = (uint32_t)i;
    for (size_t i = 0; i < e->count; i++) e->keys[i] = rgm_sort_key_i64(e->segments[i].start_ns);
    RGM_TRY(rgm_sort_order(e->keys, e->count, e->by_start, err));
    for (size_t i = 0; i < graph->n_tops; i++)
        e->keys[i] = rgm_sort_key_i64(graph->time[graph->tops[i].start]);
    RGM_TRY(rgm_sort_order(e->keys, graph->n_tops, e->tops_by_start, err));
    for (size_t i = 0; i < graph->n_tops; i++) e->keys[i] = rgm_sort_key_i64(graph->time[graph->tops[i].end]);
    RGM_TRY(rgm_sort_order(e->keys, graph->n_tops, e->tops_by_end, err));
    for (size_t i = 0; i < graph->n_tops; i++) e->top_rank[e->tops_by_end[i]] = (uint32_t)i;
    return RGM_OK;
}

// Outermost spans that end at or before a time, counted in order of end.
static size_t tops_ended(const enclosure *e, const rgm_critical *graph, int64_t time) {
    rgm_search search = rgm_search_in(0, graph->n_tops);
    while (rgm_search_on(&search))
        rgm_search_tell(&search, graph->time[graph->tops[e->tops_by_end[search.middle]].end] <= time);
    return search.low;
}

// From the latest segment to the earliest, with all spans that begin inside or later in the set: the last of
// them that ends inside is what the segment waited for.
static rgm_status join(enclosure *e, rgm_critical *graph, rgm_error *err) {
    rgm_rank_set begun = {0};
    RGM_TRY(rgm_rank_set_init(&begun, graph->n_tops, err));
    size_t top = graph->n_tops;
    for (size_t i = e->count; i-- > 0;) {
        const segment *s = &e->segments[e->by_start[i]];
        while (top > 0 && graph->time[graph->tops[e->tops_by_start[top - 1]].start] > s->start_ns)
            rgm_rank_set_insert(&begun, e->top_rank[e->tops_by_start[--top]]);
        if (s->end == RGM_NODE_NONE || top == graph->n_tops) continue;
        int64_t rank = rgm_rank_set_below(&begun, tops_ended(e, graph, s->end_ns));
        if (rank >= 0) graph->other[s->end] = graph->tops[e->tops_by_end[rank]].end;
    }
    rgm_rank_set_release(&begun);
    return RGM_OK;
}

// Python frames that were open when recording began are told as if they began then, thread by thread: that
// one thread's lie inside a wait of another says nothing. A thread of Python outlives the call that starts
// it.
static bool is_frame(const rgm_critical *graph, rgm_top_span top) {
    return rgm_view_kind(graph->view, graph->span[top.end]) == RGM_KIND_PYTHON;
}

// From the earliest span to the latest, with all segments that began before: the latest of those that last
// until the span's end began it.
static void fork(enclosure *e, rgm_critical *graph) {
    size_t next = 0;
    for (size_t i = 0; i < graph->n_tops; i++) {
        rgm_top_span top = graph->tops[e->tops_by_start[i]];
        for (; next < e->count && e->segments[e->by_start[next]].start_ns < graph->time[top.start]; next++) {
            uint32_t s = e->by_start[next];
            if (e->segments[s].start == RGM_NODE_NONE) continue;
            for (size_t at = e->end_rank[s] + 1; at <= e->count; at += at & -at)
                if (e->newest[at] < next + 1) e->newest[at] = (uint32_t)next + 1;
        }
        // Segments that end no earlier than the span, in descending order.
        rgm_search search = rgm_search_in(0, e->count);
        while (rgm_search_on(&search))
            rgm_search_tell(&search, ~e->keys[search.middle] >= rgm_sort_key_i64(graph->time[top.end]));
        uint32_t newest = 0;
        for (size_t at = search.low; at > 0; at -= at & -at)
            if (e->newest[at] > newest) newest = e->newest[at];
        if (!newest || is_frame(graph, top)) continue;
        int32_t from = e->segments[e->by_start[newest - 1]].start, known = graph->other[top.start];
        if (known < 0 || graph->time[from] >= graph->time[known]) graph->other[top.start] = from;
    }
}

rgm_status rgm_critical_threads(rgm_critical *graph, rgm_error *err) {
    if (graph->n_threads < 2) return RGM_OK;
    RGM_RELEASED(enclosure_release) enclosure e = {0};
    RGM_TRY(enclosure_new(&e, graph, err));
    collect_segments(&e, graph);
    RGM_TRY(sort_all(&e, graph, err));
    RGM_TRY(join(&e, graph, err));
    for (size_t i = 0; i < e.count; i++) // ends of segments, descending, for the search in fork
        e.keys[e.end_rank[i]] = ~rgm_sort_key_i64(e.segments[i].end_ns);
    fork(&e, graph);
    return RGM_OK;
}
