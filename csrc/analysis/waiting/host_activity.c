// SPDX-License-Identifier: Apache-2.0
#include "analysis/waiting/host_activity.h"

#include "base/memory.h"
#include "base/search.h"
#include "base/sort.h"

typedef struct {
    const rgm_view *view;
    uint32_t *rows; // spans that are open, each the parent of the next or beside it
    size_t depth;
} open_spans;

static bool says_something(rgm_kind kind) {
    switch (kind) {
    case RGM_KIND_WINDOW:
    case RGM_KIND_INSTANT:
    case RGM_KIND_EVENT:
    case RGM_KIND_COUNTER_RANGE: return false;
    default: return true;
    }
}

static int64_t middle_of(const rgm_stretch_of_host *asked) {
    return asked->start_ns + (asked->end_ns - asked->start_ns) / 2;
}

static int64_t overlap(const rgm_view *view, uint32_t row, const rgm_stretch_of_host *asked) {
    int64_t from = rgm_view_start(view, row), to = rgm_view_end(view, row);
    if (from < asked->start_ns) from = asked->start_ns;
    if (to > asked->end_ns) to = asked->end_ns;
    return to > from ? to - from : 0;
}

static void close_until(open_spans *open, int64_t time) {
    while (open->depth && rgm_view_end(open->view, open->rows[open->depth - 1]) <= time) open->depth--;
}

// What is still open but ends before the new span only partly overlaps it; it is set aside, so that ends
// never grow inward.
static void open_span(open_spans *open, uint32_t row) {
    const rgm_view *view = open->view;
    close_until(open, rgm_view_start(view, row));
    while (open->depth && rgm_view_end(view, open->rows[open->depth - 1]) < rgm_view_end(view, row))
        open->depth--;
    open->rows[open->depth++] = row;
}

static void answer(open_spans *open, rgm_stretch_of_host *asked) {
    int64_t length = asked->end_ns - asked->start_ns;
    close_until(open, middle_of(asked));
    if (!open->depth) return;
    rgm_search search = rgm_search_in(0, open->depth); // the first `low` cover more than half
    while (rgm_search_on(&search)) {
        int64_t part = overlap(open->view, open->rows[search.middle], asked);
        rgm_search_tell(&search, part > length - part);
    }
    asked->span = (int32_t)open->rows[search.low ? search.low - 1 : 0];
    asked->overlap_ns = overlap(open->view, (uint32_t)asked->span, asked);
}

static void sweep(open_spans *open, size_t lane, rgm_stretch_of_host *asked, const uint32_t *order,
                  size_t count) {
    const rgm_view *view = open->view;
    uint32_t at = view->lane_first[lane], end = view->lane_first[lane + 1];
    open->depth = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t middle = middle_of(&asked[order[i]]);
        for (; at < end && rgm_view_start(view, view->lane_spans[at]) <= middle; at++)
            if (says_something(rgm_view_kind(view, view->lane_spans[at])))
                open_span(open, view->lane_spans[at]);
        answer(open, &asked[order[i]]);
    }
}

// Groups the askers by thread, in order of their middles: first[lane + 1] becomes the end of a lane's group.
static rgm_status group(const rgm_view *view, const rgm_stretch_of_host *asked, size_t count, uint32_t *first,
                        uint32_t *grouped, rgm_error *err) {
    uint64_t *keys = rgm_malloc((count + 1) * sizeof *keys);
    uint32_t *order = rgm_malloc((count + 1) * sizeof *order);
    rgm_status status = keys && order ? RGM_OK : rgm_error_no_memory(err);
    for (size_t i = 0; status == RGM_OK && i < count; i++) {
        keys[i] = rgm_sort_key_i64(middle_of(&asked[i]));
        if (asked[i].lane >= 0) first[asked[i].lane + 1]++;
    }
    for (size_t lane = 0; lane < view->n_lanes; lane++) first[lane + 1] += first[lane];
    if (status == RGM_OK) status = rgm_sort_order(keys, count, order, err);
    for (size_t i = 0; status == RGM_OK && i < count; i++)
        if (asked[order[i]].lane >= 0) grouped[first[asked[order[i]].lane]++] = order[i];
    for (size_t lane = view->n_lanes; lane > 0; lane--) first[lane] = first[lane - 1];
    first[0] = 0;
    rgm_free(keys);
    rgm_free(order);
    return status;
}

rgm_status rgm_host_activity_find(const rgm_view *view, rgm_stretch_of_host *asked, size_t count,
                                  rgm_error *err) {
    open_spans open = {.view = view, .rows = rgm_malloc((view->n_spans + 1) * sizeof(uint32_t))};
    uint32_t *first = rgm_calloc(view->n_lanes + 1, sizeof *first);
    uint32_t *grouped = rgm_malloc((count + 1) * sizeof *grouped);
    rgm_status status = open.rows && first && grouped ? group(view, asked, count, first, grouped, err)
                                                      : rgm_error_no_memory(err);
    for (size_t i = 0; i < count; i++) {
        asked[i].span = -1;
        asked[i].overlap_ns = 0;
    }
    for (size_t lane = 0; status == RGM_OK && lane < view->n_lanes; lane++)
        if (first[lane + 1] > first[lane])
            sweep(&open, lane, asked, grouped + first[lane], first[lane + 1] - first[lane]);
    rgm_free(open.rows);
    rgm_free(first);
    rgm_free(grouped);
    return status;
}
