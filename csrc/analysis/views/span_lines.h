// SPDX-License-Identifier: Apache-2.0
// Each span on a line of its lane, so that no span covers another one, and the row that says so.
#ifndef RGM_ANALYSIS_SPAN_LINES_H
#define RGM_ANALYSIS_SPAN_LINES_H

#include "analysis/view.h"
#include "model/schema.h"

enum { RGM_SPAN_LINES_MOST = 4096 }; // of one lane; what would stand deeper shares the last line

typedef struct {
    uint16_t *line;      // of each span
    int16_t *plain;      // its line when Python functions are left out, -1 for those
    size_t lines;        // of all lanes
    int64_t first, last; // starts; times are bounded so that their distance is no overflow
} rgm_span_lines;

rgm_status rgm_span_lines_init(rgm_span_lines *lines, const rgm_view *view, rgm_error *err) RGM_NODISCARD;
// Zero-initialised memory is a valid argument, and so is what `init` left when it failed.
void rgm_span_lines_release(rgm_span_lines *lines);

// Adds the row of one span; `row` says where.
rgm_status rgm_span_row(const rgm_view *view, const rgm_span_lines *lines, uint32_t span,
                        rgm_timeline_blocks *out, size_t *row, rgm_error *err) RGM_NODISCARD;
// Makes a span the one that a row is called after: the longest of a block.
void rgm_span_row_named(const rgm_view *view, uint32_t span, rgm_timeline_blocks *out, size_t row);

#endif
