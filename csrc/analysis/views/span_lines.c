// SPDX-License-Identifier: Apache-2.0
#include "analysis/views/span_lines.h"

#include "base/memory.h"

enum { MOST_TRIES = 64 }; // a span that finds no free line among so many is drawn over another one

static bool is_python(const rgm_view *view, size_t row) {
    return rgm_view_kind(view, row) == RGM_KIND_PYTHON;
}

// The nearest span around a row that has a line already, -1 for none. Chains of parents that are left out are
// followed only to the first that is not: a Python stack is no deeper than the program's recursion.
static int32_t placed_parent(const rgm_view *view, uint32_t row, const uint8_t *placed, bool python) {
    int32_t parent = rgm_view_parent(view, row);
    for (int steps = 0; parent >= 0 && (size_t)parent < view->n_spans && steps < RGM_SPAN_LINES_MOST;
         steps++) {
        if (!placed[parent] || rgm_view_lane(view, (size_t)parent) != rgm_view_lane(view, row)) return -1;
        if (python || !is_python(view, (size_t)parent)) return parent;
        parent = rgm_view_parent(view, (size_t)parent);
    }
    return -1;
}

// The first line from `least` on which nothing runs any more when the span starts.
static size_t free_line(const int64_t *ends, size_t least, int64_t start) {
    size_t line = least;
    while (line < RGM_SPAN_LINES_MOST && line < least + MOST_TRIES && ends[line] > start) line++;
    return line < RGM_SPAN_LINES_MOST ? line : RGM_SPAN_LINES_MOST - 1;
}

static void place_lane(const rgm_view *view, rgm_span_lines *l, size_t lane, int64_t *ends, uint8_t *placed) {
    size_t used = 0;
    for (size_t i = 0; i < RGM_SPAN_LINES_MOST; i++) ends[i] = INT64_MIN;
    for (uint32_t i = view->lane_first[lane]; i < view->lane_first[lane + 1]; i++) {
        uint32_t row = view->lane_spans[i];
        int64_t start = rgm_view_start(view, row), end = rgm_view_end(view, row);
        int32_t parent = placed_parent(view, row, placed, true);
        size_t line = free_line(ends, parent >= 0 ? (size_t)l->line[parent] + 1 : 0, start);
        l->line[row] = (uint16_t)line;
        placed[row] = 1;
        if (end > ends[line]) ends[line] = end;
        if (line >= used) used = line + 1;
        if (start < l->first) l->first = start;
        if (start > l->last) l->last = start;
    }
    l->lines += used;
}

// The same once more without Python functions; all spans of the lane are marked as placed by now.
static void place_plain(const rgm_view *view, rgm_span_lines *l, size_t lane, int64_t *ends,
                        const uint8_t *placed) {
    for (size_t i = 0; i < RGM_SPAN_LINES_MOST; i++) ends[i] = INT64_MIN;
    for (uint32_t i = view->lane_first[lane]; i < view->lane_first[lane + 1]; i++) {
        uint32_t row = view->lane_spans[i];
        l->plain[row] = -1;
        if (is_python(view, row)) continue;
        int32_t parent = placed_parent(view, row, placed, false);
        size_t line =
            free_line(ends, parent >= 0 ? (size_t)l->plain[parent] + 1 : 0, rgm_view_start(view, row));
        l->plain[row] = (int16_t)line;
        if (rgm_view_end(view, row) > ends[line]) ends[line] = rgm_view_end(view, row);
    }
}

rgm_status rgm_span_lines_init(rgm_span_lines *l, const rgm_view *view, rgm_error *err) {
    *l = (rgm_span_lines){.first = INT64_MAX, .last = INT64_MIN};
    RGM_FREED uint8_t *placed = rgm_calloc(view->n_spans + 1, 1);
    RGM_FREED int64_t *ends = rgm_malloc(RGM_SPAN_LINES_MOST * sizeof *ends);
    l->line = rgm_malloc((view->n_spans + 1) * sizeof *l->line);
    l->plain = rgm_malloc((view->n_spans + 1) * sizeof *l->plain);
    if (!placed || !ends || !l->line || !l->plain) return rgm_error_no_memory(err);
    for (size_t lane = 0; lane < view->n_lanes; lane++) {
        place_lane(view, l, lane, ends, placed);
        place_plain(view, l, lane, ends, placed);
    }
    return RGM_OK;
}

void rgm_span_lines_release(rgm_span_lines *l) {
    rgm_free(l->line);
    rgm_free(l->plain);
    *l = (rgm_span_lines){0};
}

rgm_status rgm_span_row(const rgm_view *view, const rgm_span_lines *l, uint32_t span,
                        rgm_timeline_blocks *out, size_t *row, rgm_error *err) {
    RGM_TRY(rgm_table_append(&rgm_timeline_blocks_desc, out, RGM_ALL_COLUMNS, row, err));
    int32_t op = view->op[span];
    out->lane[*row] = rgm_view_lane(view, span);
    out->depth[*row] = l->line[span];
    out->plain_depth[*row] = l->plain[span];
    out->start_ns[*row] = rgm_view_start(view, span);
    out->duration_ns[*row] = out->sum_ns[*row] = view->run->spans.duration_ns[span];
    out->op[*row] = op >= 0 ? rgm_view_name(view, (size_t)op) : 0;
    rgm_span_row_named(view, span, out, *row);
    return RGM_OK;
}

void rgm_span_row_named(const rgm_view *view, uint32_t span, rgm_timeline_blocks *out, size_t row) {
    out->span[row] = span;
    out->name[row] = rgm_view_name(view, span);
    out->kind[row] = (rgm_u8)rgm_view_kind(view, span);
    out->activity[row] = (rgm_u8)rgm_view_activity(view, span);
}
