// SPDX-License-Identifier: Apache-2.0
// What a page draws of a trace: each span on a line of its lane, so that no span covers another one, and of
// a trace with more spans than a page can carry the longest ones and blocks that stand for the rest. A block
// gathers neighbours on one line and says how many they are and how long they ran, so no time is lost.
#include <string.h>

#include "analysis/analyses.h"
#include "analysis/stats.h"
#include "base/memory.h"
#include "base/sort.h"

enum {
    MOST_LINES = 4096, // of one lane; what would stand deeper shares the last line
    MOST_TRIES = 64,   // a span that finds no free line among so many is drawn over another one
    LEAST_BUCKETS = 16,
    MOST_BUCKETS = 4096,
};
#define NONE UINT32_MAX

typedef struct {
    uint16_t *line;      // of each span
    int16_t *plain;      // its line when Python functions are left out, -1 for those
    uint8_t *kept;       // whether it is a row of its own
    uint32_t *row_of;    // row of the result that shows it
    int64_t *ends;       // [MOST_LINES] latest end on each line of the lane at hand
    uint32_t *open;      // [MOST_LINES] row of the block that may still grow on each line
    int64_t *open_end;   // end of the time in which it may
    size_t lines;        // of all lanes
    int64_t first, last; // starts; times are bounded so that their distance is no overflow
} layout;

static void layout_release(layout *l) {
    rgm_free(l->line);
    rgm_free(l->plain);
    rgm_free(l->kept);
    rgm_free(l->row_of);
    rgm_free(l->ends);
    rgm_free(l->open);
    rgm_free(l->open_end);
}

static rgm_status layout_allocate(layout *l, size_t spans, rgm_error *err) {
    l->line = rgm_malloc((spans + 1) * sizeof *l->line);
    l->plain = rgm_malloc((spans + 1) * sizeof *l->plain);
    l->kept = rgm_calloc(spans + 1, sizeof *l->kept);
    l->row_of = rgm_malloc((spans + 1) * sizeof *l->row_of);
    l->ends = rgm_malloc(MOST_LINES * sizeof *l->ends);
    l->open = rgm_malloc(MOST_LINES * sizeof *l->open);
    l->open_end = rgm_calloc(MOST_LINES, sizeof *l->open_end);
    bool ok = l->line && l->plain && l->kept && l->row_of && l->ends && l->open && l->open_end;
    if (!ok) return rgm_error_no_memory(err);
    memset(l->row_of, 0xFF, (spans + 1) * sizeof *l->row_of);
    return RGM_OK;
}

static bool is_python(const rgm_view *view, size_t row) {
    return rgm_view_kind(view, row) == RGM_KIND_PYTHON;
}

// The nearest span around a row that has a line already, -1 for none. Chains of parents that are left out are
// followed only to the first that is not: a Python stack is no deeper than the program's recursion.
static int32_t placed_parent(const rgm_view *view, uint32_t row, const uint8_t *placed, bool python) {
    int32_t parent = rgm_view_parent(view, row);
    for (int steps = 0; parent >= 0 && (size_t)parent < view->n_spans && steps < MOST_LINES; steps++) {
        if (!placed[parent] || rgm_view_lane(view, (size_t)parent) != rgm_view_lane(view, row)) return -1;
        if (python || !is_python(view, (size_t)parent)) return parent;
        parent = rgm_view_parent(view, (size_t)parent);
    }
    return -1;
}

// The first line from `least` on which nothing runs any more when the span starts.
static size_t free_line(const layout *l, size_t least, int64_t start) {
    size_t line = least;
    while (line < MOST_LINES && line < least + MOST_TRIES && l->ends[line] > start) line++;
    return line < MOST_LINES ? line : MOST_LINES - 1;
}

static void place_lane(const rgm_view *view, layout *l, size_t lane, uint8_t *placed) {
    size_t used = 0;
    for (size_t i = 0; i < MOST_LINES; i++) l->ends[i] = INT64_MIN;
    for (uint32_t i = view->lane_first[lane]; i < view->lane_first[lane + 1]; i++) {
        uint32_t row = view->lane_spans[i];
        int64_t start = rgm_view_start(view, row), end = rgm_view_end(view, row);
        int32_t parent = placed_parent(view, row, placed, true);
        size_t line = free_line(l, parent >= 0 ? (size_t)l->line[parent] + 1 : 0, start);
        l->line[row] = (uint16_t)line;
        placed[row] = 1;
        if (end > l->ends[line]) l->ends[line] = end;
        if (line >= used) used = line + 1;
        if (start < l->first) l->first = start;
        if (start > l->last) l->last = start;
    }
    l->lines += used;
}

// The same once more without Python functions; all spans of the lane are marked as placed by now.
static void place_plain(const rgm_view *view, layout *l, size_t lane, const uint8_t *placed) {
    for (size_t i = 0; i < MOST_LINES; i++) l->ends[i] = INT64_MIN;
    for (uint32_t i = view->lane_first[lane]; i < view->lane_first[lane + 1]; i++) {
        uint32_t row = view->lane_spans[i];
        l->plain[row] = -1;
        if (is_python(view, row)) continue;
        int32_t parent = placed_parent(view, row, placed, false);
        size_t line = free_line(l, parent >= 0 ? (size_t)l->plain[parent] + 1 : 0, rgm_view_start(view, row));
        l->plain[row] = (int16_t)line;
        if (rgm_view_end(view, row) > l->ends[line]) l->ends[line] = rgm_view_end(view, row);
    }
}

static rgm_status keep_longest(const rgm_view *view, layout *l, size_t most, rgm_error *err) {
    if (view->n_spans <= most) {
        memset(l->kept, 1, view->n_spans);
        return RGM_OK;
    }
    uint32_t *order = rgm_malloc((view->n_spans + 1) * sizeof *order);
    uint64_t *keys = rgm_malloc((view->n_spans + 1) * sizeof *keys);
    rgm_status status = RGM_OK;
    if (!order || !keys) {
        status = rgm_error_no_memory(err);
        goto done;
    }
    for (size_t i = 0; i < view->n_spans; i++)
        keys[i] = UINT64_MAX - (uint64_t)view->run->spans.duration_ns[i];
    RGM_GOTO(rgm_sort_order(keys, view->n_spans, order, err));
    for (size_t i = 0; i < most; i++) l->kept[order[i]] = 1;
done:
    rgm_free(order);
    rgm_free(keys);
    return status;
}

static rgm_status add_row(const rgm_view *view, layout *l, uint32_t span, rgm_timeline_blocks *out,
                          rgm_error *err) {
    size_t row;
    RGM_TRY(rgm_table_append(&rgm_timeline_blocks_desc, out, RGM_ALL_COLUMNS, &row, err));
    int32_t op = view->op[span];
    out->span[row] = span;
    out->lane[row] = rgm_view_lane(view, span);
    out->depth[row] = l->line[span];
    out->plain_depth[row] = l->plain[span];
    out->start_ns[row] = rgm_view_start(view, span);
    out->duration_ns[row] = out->sum_ns[row] = view->run->spans.duration_ns[span];
    out->name[row] = rgm_view_name(view, span);
    out->kind[row] = (rgm_u8)rgm_view_kind(view, span);
    out->activity[row] = (rgm_u8)rgm_view_activity(view, span);
    out->op[row] = op >= 0 ? rgm_view_name(view, (size_t)op) : 0;
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
    out->span[row] = span;
    out->name[row] = rgm_view_name(view, span);
    out->kind[row] = (rgm_u8)rgm_view_kind(view, span);
    out->activity[row] = (rgm_u8)rgm_view_activity(view, span);
}

static rgm_status emit_lane(const rgm_view *view, layout *l, size_t lane, int64_t width,
                            rgm_timeline_blocks *out, rgm_error *err) {
    memset(l->open, 0xFF, MOST_LINES * sizeof *l->open);
    for (uint32_t i = view->lane_first[lane]; i < view->lane_first[lane + 1]; i++) {
        uint32_t span = view->lane_spans[i], line = l->line[span];
        int64_t start = rgm_view_start(view, span);
        if (!l->kept[span] && l->open[line] != NONE && start < l->open_end[line] &&
            out->plain_depth[l->open[line]] == l->plain[span]) {
            grow_block(view, l, span, l->open[line], out);
            continue;
        }
        RGM_TRY(add_row(view, l, span, out, err));
        l->open[line] = l->kept[span] ? NONE : l->row_of[span];
        // The end of the stretch of time in which the block may grow; it cannot overflow, as times are
        // bounded.
        l->open_end[line] = start + (width - (start - l->first) % width);
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
    layout l = {.first = INT64_MAX, .last = INT64_MIN};
    rgm_status status;
    uint8_t *placed = rgm_calloc(view->n_spans + 1, 1);
    if (!placed) return rgm_error_no_memory(err);
    RGM_GOTO(layout_allocate(&l, view->n_spans, err));
    for (size_t lane = 0; lane < view->n_lanes; lane++) {
        place_lane(view, &l, lane, placed);
        place_plain(view, &l, lane, placed);
    }
    RGM_GOTO(keep_longest(view, &l, most, err));
    size_t buckets = l.lines ? most / l.lines : 0;
    if (buckets < LEAST_BUCKETS) buckets = LEAST_BUCKETS;
    if (buckets > MOST_BUCKETS) buckets = MOST_BUCKETS;
    int64_t width = view->n_spans ? (l.last - l.first) / (int64_t)buckets + 1 : 1;
    for (size_t lane = 0; lane < view->n_lanes; lane++) RGM_GOTO(emit_lane(view, &l, lane, width, out, err));
    link_launches(view, &l, out);
done:
    layout_release(&l);
    rgm_free(placed);
    return status;
}
