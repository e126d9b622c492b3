// SPDX-License-Identifier: Apache-2.0
#include "analysis/views/tiles.h"

#include "analysis/order.h"
#include "analysis/stats.h"
#include "base/memory.h"
#include "base/search.h"
#include "base/sort.h"

enum { FAN = 16 };
#define NONE UINT32_MAX

// --- building ---------------------------------------------------------------------------------------------

void rgm_tiles_release(rgm_tiles *t) {
    rgm_span_lines_release(&t->placed);
    rgm_free(t->first);
    rgm_free(t->lane);
    rgm_free(t->depth);
    rgm_free(t->spans);
    for (size_t k = 0; k < t->n_levels; k++) {
        rgm_free(t->levels[k].longest);
        rgm_free(t->levels[k].most);
        rgm_free(t->levels[k].end);
        rgm_free(t->levels[k].sum);
    }
    *t = (rgm_tiles){0};
}

static int64_t start_at(const rgm_tiles *t, size_t place) { return rgm_view_start(t->view, t->spans[place]); }
static int64_t duration_at(const rgm_tiles *t, size_t place) {
    return t->view->run->spans.duration_ns[t->spans[place]];
}
static int64_t end_at(const rgm_tiles *t, size_t place) { return rgm_view_end(t->view, t->spans[place]); }

// Line of a span within its lane, -1 for one that has none.
static int32_t line_of(const rgm_tiles *t, uint32_t span) {
    return t->python ? (int32_t)t->placed.line[span] : (int32_t)t->placed.plain[span];
}

// Puts the spans of a lane in order of line; they are in order of start already. `next`:
// [RGM_SPAN_LINES_MOST].
static void place_lane(rgm_tiles *t, uint32_t lane, uint32_t *next) {
    const uint32_t *first = t->view->lane_first;
    size_t used = 0;
    for (size_t i = 0; i < RGM_SPAN_LINES_MOST; i++) next[i] = 0;
    for (uint32_t i = first[lane]; i < first[lane + 1]; i++) {
        int32_t line = line_of(t, t->view->lane_spans[i]);
        if (line < 0) continue;
        next[line]++;
        if ((size_t)line >= used) used = (size_t)line + 1;
    }
    for (size_t line = 0; line < used; line++) {
        uint32_t count = next[line];
        next[line] = (uint32_t)t->n_spans;
        if (!count) continue;
        t->lane[t->n_lines] = lane;
        t->depth[t->n_lines] = (uint16_t)line;
        t->n_spans += count;
        t->first[++t->n_lines] = (uint32_t)t->n_spans;
    }
    for (uint32_t i = first[lane]; i < first[lane + 1]; i++) {
        int32_t line = line_of(t, t->view->lane_spans[i]);
        if (line >= 0) t->spans[next[line]++] = t->view->lane_spans[i];
    }
}

static rgm_status place(rgm_tiles *t, rgm_error *err) {
    size_t most =
        t->view->n_lanes * RGM_SPAN_LINES_MOST; // of what is reserved, only what is used takes memory
    uint32_t *next = rgm_malloc(RGM_SPAN_LINES_MOST * sizeof *next);
    if (most > t->view->n_spans) most = t->view->n_spans; // no line is empty
    t->first = rgm_calloc(most + 1, sizeof *t->first);
    t->lane = rgm_calloc(most + 1, sizeof *t->lane);
    t->depth = rgm_calloc(most + 1, sizeof *t->depth);
    t->spans = rgm_malloc((t->view->n_spans + 1) * sizeof *t->spans);
    rgm_status status = RGM_OK;
    if (!next || !t->first || !t->lane || !t->depth || !t->spans)
        status = rgm_error_no_memory(err);
    else
        for (size_t lane = 0; lane < t->view->n_lanes; lane++) place_lane(t, (uint32_t)lane, next);
    rgm_free(next);
    return status;
}

static rgm_status level_allocate(rgm_tile_level *level, size_t count, rgm_error *err) {
    level->longest = rgm_malloc(count * sizeof *level->longest);
    level->most = rgm_malloc(count * sizeof *level->most);
    level->end = rgm_malloc(count * sizeof *level->end);
    level->sum = rgm_malloc(count * sizeof *level->sum);
    return level->longest && level->most && level->end && level->sum ? RGM_OK : rgm_error_no_memory(err);
}

// What a stretch says of itself; also of a single span, and of several stretches together.
typedef struct {
    uint32_t longest; // NONE of nothing
    int64_t most, end, sum;
} extent;

static extent extent_of_span(const rgm_tiles *t, size_t at) {
    int64_t duration = duration_at(t, at);
    return (extent){(uint32_t)at, duration, end_at(t, at), duration};
}

static extent extent_of_stretch(const rgm_tile_level *level, size_t at) {
    return (extent){level->longest[at], level->most[at], level->end[at], level->sum[at]};
}

static void extend(extent *whole, extent part) {
    if (whole->longest == NONE || part.most > whole->most) {
        whole->longest = part.longest;
        whole->most = part.most;
    }
    if (part.end > whole->end) whole->end = part.end;
    whole->sum = rgm_add_bounded(whole->sum, part.sum);
}

static const extent nothing = {NONE, -1, INT64_MIN, 0};

static rgm_status build_levels(rgm_tiles *t, rgm_error *err) {
    size_t below = t->n_spans, size = 1;
    while (below > 1 && t->n_levels < RGM_TILE_LEVELS) {
        rgm_tile_level *level = &t->levels[t->n_levels], *lower = t->n_levels ? level - 1 : NULL;
        size_t count = (below + FAN - 1) / FAN;
        level->size = size *= FAN;
        t->n_levels++; // from here on it is released
        RGM_TRY(level_allocate(level, count, err));
        for (size_t i = 0; i < count; i++) {
            extent whole = nothing;
            for (size_t k = i * FAN; k < (i + 1) * FAN && k < below; k++)
                extend(&whole, lower ? extent_of_stretch(lower, k) : extent_of_span(t, k));
            level->longest[i] = whole.longest;
            level->most[i] = whole.most;
            level->end[i] = whole.end;
            level->sum[i] = whole.sum;
        }
        below = count;
    }
    return RGM_OK;
}

rgm_status rgm_tiles_init(rgm_tiles *t, const rgm_view *view, bool python, rgm_error *err) {
    *t = (rgm_tiles){.view = view, .python = python};
    RGM_TRY(rgm_span_lines_init(&t->placed, view, err));
    RGM_TRY(place(t, err));
    return build_levels(t, err);
}

// --- asking -----------------------------------------------------------------------------------------------

// The first place in low .. high - 1 that starts at `time` or later, else `high`.
static size_t first_from(const rgm_tiles *t, size_t low, size_t high, int64_t time) {
    rgm_search search = rgm_search_in(low, high);
    while (rgm_search_on(&search)) rgm_search_tell(&search, start_at(t, search.middle) < time);
    return search.low;
}

typedef enum { BY_DURATION, BY_END } measure;

// The first place in low .. high - 1 whose duration or end is at least `least`, else `high`. Whole stretches
// without such a span are left out.
static size_t next_at_least(const rgm_tiles *t, size_t low, size_t high, measure by, int64_t least) {
    while (low < high) {
        size_t step = 0;
        for (size_t k = 0; k < t->n_levels && low % t->levels[k].size == 0; k++) {
            const rgm_tile_level *level = &t->levels[k];
            size_t at = low / level->size;
            if ((by == BY_END ? level->end[at] : level->most[at]) >= least) break;
            step = level->size;
        }
        if (step == 0) {
            if ((by == BY_END ? end_at(t, low) : duration_at(t, low)) >= least) return low;
            step = 1;
        }
        low = step < high - low ? low + step : high;
    }
    return high;
}

static extent extent_of(const rgm_tiles *t, size_t low, size_t high) {
    extent whole = nothing;
    while (low < high) {
        size_t found = 0; // levels that fit
        while (found < t->n_levels && low % t->levels[found].size == 0 && t->levels[found].size <= high - low)
            found++;
        const rgm_tile_level *level = found ? &t->levels[found - 1] : NULL;
        extend(&whole, level ? extent_of_stretch(level, low / level->size) : extent_of_span(t, low));
        low += level ? level->size : 1;
    }
    return whole;
}

static rgm_status draw_span(const rgm_tiles *t, size_t at, rgm_timeline_blocks *out, rgm_error *err) {
    size_t row;
    return rgm_span_row(t->view, &t->placed, t->spans[at], out, &row, err);
}

// Spans of one line that are all shorter than a pixel.
static rgm_status draw_short(const rgm_tiles *t, const rgm_tile *tile, size_t low, size_t high,
                             rgm_timeline_blocks *out, rgm_error *err) {
    while (low < high) {
        int64_t start = start_at(t, low);
        int64_t past = rgm_add_bounded(start, tile->pixel_ns - (start - tile->from) % tile->pixel_ns);
        size_t next = first_from(t, low + 1, high, past), row;
        RGM_TRY(rgm_span_row(t->view, &t->placed, t->spans[low], out, &row, err));
        if (next - low > 1) {
            extent whole = extent_of(t, low, next);
            rgm_span_row_named(t->view, t->spans[whole.longest], out, row);
            out->duration_ns[row] = whole.end - start;
            out->sum_ns[row] = whole.sum;
            out->count[row] = (int64_t)(next - low);
            out->op[row] = 0;
        }
        low = next;
    }
    return RGM_OK;
}

static rgm_status draw_line(const rgm_tiles *t, const rgm_tile *tile, size_t line, rgm_timeline_blocks *out,
                            rgm_error *err) {
    size_t first = t->first[line], past = t->first[line + 1];
    size_t low = first_from(t, first, past, tile->from), high = first_from(t, low, past, tile->to);
    for (size_t at = first; (at = next_at_least(t, at, low, BY_END, tile->from)) < low; at++)
        RGM_TRY(draw_span(t, at, out, err));
    while (low < high) {
        size_t wide = next_at_least(t, low, high, BY_DURATION, tile->pixel_ns);
        RGM_TRY(draw_short(t, tile, low, wide, out, err));
        if (wide < high) RGM_TRY(draw_span(t, wide, out, err));
        low = wide + 1;
    }
    return RGM_OK;
}

// Rows of launches that are in the tile too.
static rgm_status link_launches(const rgm_view *view, rgm_timeline_blocks *out, rgm_error *err) {
    if (!view->launched_first || out->rows == 0) return RGM_OK;
    RGM_FREED uint32_t *order = rgm_malloc(out->rows * sizeof *order);
    if (!order) return rgm_error_no_memory(err);
    RGM_TRY(rgm_sort_order_i64(out->span, out->rows, order, err));
    for (size_t row = 0; row < out->rows; row++) {
        int32_t launch = view->launch[out->span[row]];
        if (launch < 0 || out->count[row] > 1) continue;
        rgm_search search = rgm_search_in(0, out->rows);
        while (rgm_search_on(&search)) rgm_search_tell(&search, out->span[order[search.middle]] < launch);
        if (search.low < out->rows && out->span[order[search.low]] == launch)
            out->launch[row] = order[search.low];
    }
    return RGM_OK;
}

rgm_status rgm_tiles_draw(const rgm_tiles *t, const rgm_tile *tile, rgm_timeline_blocks *out,
                          rgm_error *err) {
    for (size_t line = 0; line < t->n_lines; line++)
        if (t->lane[line] >= tile->lane_low && t->lane[line] < tile->lane_high)
            RGM_TRY(draw_line(t, tile, line, out, err));
    return link_launches(t->view, out, err);
}

rgm_status rgm_tiles_span(const rgm_tiles *t, uint32_t span, rgm_timeline_blocks *out, rgm_error *err) {
    const rgm_view *view = t->view;
    size_t row;
    if (line_of(t, span) < 0) return RGM_OK;
    RGM_TRY(rgm_span_row(view, &t->placed, span, out, &row, err));
    if (view->launch[span] >= 0)
        RGM_TRY(rgm_span_row(view, &t->placed, (uint32_t)view->launch[span], out, &row, err));
    if (!view->launched_first) return RGM_OK;
    uint32_t first = view->launched_first[span], past = view->launched_first[span + 1];
    for (uint32_t i = first; i < past && i - first < RGM_TILE_LINKS; i++)
        RGM_TRY(rgm_span_row(view, &t->placed, view->launched[i], out, &row, err));
    return link_launches(view, out, err);
}

// --- search -----------------------------------------------------------------------------------------------

// Whether a span comes after another in order of start, or before it with a negative direction.
static bool further(const rgm_view *view, int64_t a, int64_t b, int direction) {
    int64_t x = rgm_view_start(view, (size_t)a), y = rgm_view_start(view, (size_t)b);
    bool after = x > y || (x == y && a > b);
    return direction < 0 ? !after && a != b : after;
}

rgm_tiles_found rgm_tiles_find(const rgm_tiles *t, const uint8_t *passes, int64_t from, int direction) {
    const rgm_view *view = t->view;
    rgm_tiles_found found = {.next = -1};
    int64_t outermost = -1; // where it begins again
    for (size_t i = 0; i < view->n_spans; i++) {
        int64_t row = (int64_t)i;
        if (!passes[rgm_view_name(view, i)] || line_of(t, (uint32_t)i) < 0) continue;
        found.spans++;
        found.duration_ns = rgm_add_bounded(found.duration_ns, view->run->spans.duration_ns[i]);
        if (outermost < 0 || further(view, outermost, row, direction)) outermost = row;
        if (from < 0 || !further(view, row, from, direction)) continue;
        if (found.next < 0 || further(view, found.next, row, direction)) found.next = row;
    }
    if (found.next < 0) found.next = outermost;
    return found;
}

// --- statistics of a range --------------------------------------------------------------------------------

typedef struct {
    int64_t from, to;
    uint32_t *row_of; // [n_strings] row of a name, NONE without one
} range;

static rgm_status count_span(const rgm_tiles *t, const range *r, uint32_t span, rgm_range_times *out,
                             rgm_error *err) {
    int64_t start = rgm_view_start(t->view, span), end = rgm_view_end(t->view, span);
    rgm_name name = rgm_view_name(t->view, span);
    if (end < r->from) return RGM_OK;
    size_t row = r->row_of[name];
    if (row == NONE) {
        RGM_TRY(rgm_table_append(&rgm_range_times_desc, out, RGM_ALL_COLUMNS, &row, err));
        out->name[row] = name;
        out->longest[row] = span;
        r->row_of[name] = (uint32_t)row;
    }
    int64_t inside = rgm_subtract_bounded(end < r->to ? end : r->to, start > r->from ? start : r->from);
    out->spans[row]++;
    out->time_ns[row] = rgm_add_bounded(out->time_ns[row], inside > 0 ? inside : 0);
    const int64_t *duration = t->view->run->spans.duration_ns;
    if (duration[span] > duration[out->longest[row]]) out->longest[row] = span;
    return RGM_OK;
}

static rgm_status count_line(const rgm_tiles *t, const range *r, size_t line, rgm_range_times *out,
                             rgm_error *err) {
    size_t first = t->first[line], past = t->first[line + 1];
    size_t low = first_from(t, first, past, r->from);
    for (size_t at = first; (at = next_at_least(t, at, low, BY_END, r->from)) < low; at++)
        RGM_TRY(count_span(t, r, t->spans[at], out, err));
    for (size_t at = low; at < past && start_at(t, at) <= r->to; at++)
        RGM_TRY(count_span(t, r, t->spans[at], out, err));
    return RGM_OK;
}

static int by_time(const void *table, const void *context, uint32_t a, uint32_t b) {
    const rgm_range_times *times = table;
    (void)context;
    if (times->time_ns[a] != times->time_ns[b]) return times->time_ns[a] > times->time_ns[b] ? -1 : 1;
    return times->name[a] < times->name[b] ? -1 : times->name[a] > times->name[b];
}

rgm_status rgm_tiles_range(const rgm_tiles *t, int64_t from, int64_t to, const uint8_t *lanes,
                           rgm_range_times *out, rgm_error *err) {
    range r = {.from = from, .to = to};
    rgm_status status = RGM_OK;
    r.row_of = rgm_malloc((t->view->n_strings + 1) * sizeof *r.row_of);
    if (!r.row_of) return rgm_error_no_memory(err);
    for (size_t i = 0; i < t->view->n_strings; i++) r.row_of[i] = NONE;
    for (size_t line = 0; line < t->n_lines; line++) {
        uint8_t shown = lanes[t->lane[line]];
        if (shown == RGM_LANE_HIDDEN || (shown == RGM_LANE_FOLDED && t->depth[line] > 0)) continue;
        RGM_GOTO(count_line(t, &r, line, out, err));
    }
    RGM_GOTO(rgm_order_rows(&rgm_range_times_desc, out, by_time, NULL, err));
done:
    rgm_free(r.row_of);
    return status;
}
