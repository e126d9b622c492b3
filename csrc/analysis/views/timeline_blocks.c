// SPDX-License-Identifier: Apache-2.0
// What a page draws of a trace: each span on a line of its lane, and of
// a trace with more spans than a page can carry the longest ones and blocks that stand for the rest. A block
// gathers neighbours on one line and says how many they are and how long they ran, so no time is lost.
#include <string.h>

#include "analysis/analyses.h"
#include "analysis/stats.h"
#include "analysis/views/span_lines.h"
#include "base/memory.h"
#include "base/sort.h"

enum { LEAST_BUCKETS = 16, MOST_BUCKETS = 4096 };
#define NONE UINT32_MAX

typedef struct {
    rgm_span_lines lines;
    uint8_t *kept;     // whether a span is a row of its own
    uint32_t *row_of;  // row of the result that shows it
    uint32_t *open;    // [RGM_SPAN_LINES_MOST] row of the block that may still grow on each line
    int64_t *open_end; // end of the time in which it may
} layout;

static void layout_release(layout *l) {
    rgm_span_lines_release(&l->lines);
    rgm_free(l->kept);
    rgm_free(l->row_of);
    rgm_free(l->open);
    rgm_free(l->open_end);
}

static rgm_status layout_allocate(layout *l, size_t spans, rgm_error *err) {
    l->kept = rgm_calloc(spans + 1, sizeof *l->kept);
    l->row_of = rgm_malloc((spans + 1) * sizeof *l->row_of);
    l->open = rgm_malloc(RGM_SPAN_LINES_MOST * sizeof *l->open);
    l->open_end = rgm_calloc(RGM_SPAN_LINES_MOST, sizeof *l->open_end);
    bool ok = l->kept && l->row_of && l->open && l->open_end;
    if (!ok) return rgm_error_no_memory(err);
    memset(l->row_of, 0xFF, (spans + 1) * sizeof *l->row_of);
    return RGM_OK;
}

static rgm_status keep_longest(const rgm_view *view, layout *l, size_t most, rgm_error *err) {
    if (view->n_spans <= most) {
        memset(l->kept, 1, view->n_spans);
        return RGM_OK;
    }
    RGM_FREED uint32_t *order = rgm_malloc((view->n_spans + 1) * sizeof *order);
    RGM_FREED uint64_t *keys = rgm_malloc((view->n_spans + 1) * sizeof *keys);
    if (!order || !keys) return rgm_error_no_memory(err);
    for (size_t i = 0; i < view->n_spans; i++)
        keys[i] = UINT64_MAX - (uint64_t)view->run->spans.duration_ns[i];
    RGM_TRY(rgm_sort_order(keys, view->n_spans, order, err));
    for (size_t i = 0; i < most; i++) l->kept[order[i]] = 1;
    return RGM_OK;
}

static rgm_status add_row(const rgm_view *view, layout *l, uint32_t span, rgm_timeline_blocks *out,
                          rgm_error *err) {
    size_t row;
    RGM_TRY(rgm_span_row(view, &l->lines, span, out, &row, err));
    l->row_of[span] = (uint32_t)row;
    return RGM_OK;
}

static void grow_block(const rgm_view *view, layout *l, uint32_t span, uint32_t row,
                       rgm_timeline_blocks *out) {
    int64_t duration = view->run->spans.duration_ns[span], end = rgm_view_end(view, span);
    if (end - out->start_ns[row] > out->duration_ns[row]) out->duration_ns[row] = end - out->start_ns[row];
    out->sum_ns[row] = rgm_add_bounded(out->sum_ns[row], duration);
    out->count[row]++;
    out->op[row] = 0;
    l->row_of[span] = row;
    if (duration <= view->run->spans.duration_ns[out->span[row]]) return;
    rgm_span_row_named(view, span, out, row);
}

static rgm_status emit_lane(const rgm_view *view, layout *l, size_t lane, int64_t width,
                            rgm_timeline_blocks *out, rgm_error *err) {
    memset(l->open, 0xFF, RGM_SPAN_LINES_MOST * sizeof *l->open);
    for (uint32_t i = view->lane_first[lane]; i < view->lane_first[lane + 1]; i++) {
        uint32_t span = view->lane_spans[i], line = l->lines.line[span];
        int64_t start = rgm_view_start(view, span);
        if (!l->kept[span] && l->open[line] != NONE && start < l->open_end[line] &&
            out->plain_depth[l->open[line]] == l->lines.plain[span]) {
            grow_block(view, l, span, l->open[line], out);
            continue;
        }
        RGM_TRY(add_row(view, l, span, out, err));
        l->open[line] = l->kept[span] ? NONE : l->row_of[span];
        // The end of the stretch of time in which the block may grow; it cannot overflow, as times are
        // bounded.
        l->open_end[line] = start + (width - (start - l->lines.first) % width);
    }
    return RGM_OK;
}

static void link_launches(const rgm_view *view, const layout *l, rgm_timeline_blocks *out) {
    for (size_t row = 0; row < out->rows; row++) {
        int32_t launch = view->launch[out->span[row]];
        if (launch >= 0 && out->count[row] == 1) out->launch[row] = l->row_of[launch];
    }
}

// Rows are in order of lane and, on each, of start.
rgm_status rgm_timeline_blocks_compute(const rgm_view *view, const rgm_policy *policy,
                                       const rgm_question *question, rgm_timeline_blocks *out,
                                       rgm_error *err) {
    (void)question;
    size_t most = policy->timeline_max_spans > 0 ? (size_t)policy->timeline_max_spans : 0;
    RGM_RELEASED(layout_release) layout l = {0};
    RGM_TRY(rgm_span_lines_init(&l.lines, view, err));
    RGM_TRY(layout_allocate(&l, view->n_spans, err));
    RGM_TRY(keep_longest(view, &l, most, err));
    size_t buckets = l.lines.lines ? most / l.lines.lines : 0;
    if (buckets < LEAST_BUCKETS) buckets = LEAST_BUCKETS;
    if (buckets > MOST_BUCKETS) buckets = MOST_BUCKETS;
    int64_t width = view->n_spans ? (l.lines.last - l.lines.first) / (int64_t)buckets + 1 : 1;
    for (size_t lane = 0; lane < view->n_lanes; lane++) RGM_TRY(emit_lane(view, &l, lane, width, out, err));
    link_launches(view, &l, out);
    return RGM_OK;
}
