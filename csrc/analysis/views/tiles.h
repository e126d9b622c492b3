// SPDX-License-Identifier: Apache-2.0
// A part of the timeline as a screen draws it, of a run that has more spans than a page can hold. Built once
// per run in time linear in its spans; read-only afterwards, so several threads may ask at once. A question
// takes time proportional to what it draws: lines are searched, and stretches of spans know their longest
// one, their last end and the sum of their durations.
//
// Every span begins in exactly one of the tiles of a row of tiles, so over any tiling the counts of the rows
// that begin in their tile add up to the spans, and the sums to their durations.
#ifndef RGM_ANALYSIS_TILES_H
#define RGM_ANALYSIS_TILES_H

#include "analysis/views/span_lines.h"

enum { RGM_TILE_LEVELS = 16 };

// Stretches of one size: of RGM_TILE_FAN spans on the first level, and of as many stretches on each further
// one.
typedef struct {
    size_t size;       // spans of a stretch
    uint32_t *longest; // place of its longest span
    int64_t *most;     // the duration of that
    int64_t *end;      // its latest end
    int64_t *sum;      // of its durations
} rgm_tile_level;

typedef struct {
    const rgm_view *view;
    rgm_span_lines placed;
    bool python;     // whether Python functions have a place; without them all lines are `plain` ones
    size_t n_lines;  // of all lanes
    size_t n_spans;  // on all lines
    uint32_t *first; // [n_lines + 1] into spans
    uint32_t *lane;  // [n_lines] ascending
    uint16_t *depth; // [n_lines] ascending within a lane
    uint32_t *spans; // rows by line; by start, the longer first
    size_t n_levels;
    rgm_tile_level levels[RGM_TILE_LEVELS];
} rgm_tiles;

// The view must outlive it.
rgm_status rgm_tiles_init(rgm_tiles *tiles, const rgm_view *view, bool python, rgm_error *err) RGM_NODISCARD;
// Zero-initialised memory is a valid argument, and so is what `init` left when it failed.
void rgm_tiles_release(rgm_tiles *tiles);

typedef struct {
    int64_t from, to; // what begins in [from, to), and what began before and ends at `from` or later
    int64_t pixel_ns; // at least 1
    uint32_t lane_low, lane_high; // the lanes lane_low .. lane_high - 1
} rgm_tile;

// Rows by line and start. A span of at least a pixel is a row of its own, and so is one that began before
// `from`. Shorter ones that begin in the same pixel of a line are one row, unless a longer one begins between
// them; `op` and `launch` are those of spans with a row of their own, `launch` where its row is in the tile
// too.
rgm_status rgm_tiles_draw(const rgm_tiles *tiles, const rgm_tile *tile, rgm_timeline_blocks *out,
                          rgm_error *err) RGM_NODISCARD;

enum { RGM_LANE_HIDDEN = 0, RGM_LANE_SHOWN = 1, RGM_LANE_FOLDED = 2 }; // folded: the first line alone

// What runs in [from, to], by name, most time first; of a span that reaches beyond, the part inside counts.
// lanes: [view->n_lanes] how each is shown. Takes time proportional to the spans of the range.
rgm_status rgm_tiles_range(const rgm_tiles *tiles, int64_t from, int64_t to, const uint8_t *lanes,
                           rgm_range_times *out, rgm_error *err) RGM_NODISCARD;

enum { RGM_TILE_LINKS = 200 }; // pieces of device work of one launch that a span is shown with

// A span, then its launch, or the device work that it launched; nothing for one that is on no line.
rgm_status rgm_tiles_span(const rgm_tiles *tiles, uint32_t span, rgm_timeline_blocks *out,
                          rgm_error *err) RGM_NODISCARD;

typedef struct {
    int64_t spans, duration_ns; // whose name passes, and the sum of their durations
    int64_t next;               // row of the nearest, in order of start and row; -1 where there is none
} rgm_tiles_found;

// Spans whose name passes, by a look at each. passes: [view->n_strings]. The next one after `from`, or with a
// negative direction the one before; from the other end again where there is none, or `from` is -1.
rgm_tiles_found rgm_tiles_find(const rgm_tiles *tiles, const uint8_t *passes, int64_t from, int direction);

#endif
