// SPDX-License-Identifier: Apache-2.0
// What spans, flows and memory events lie in: one lane at a time.
#include "base/memory.h"
#include "base/search.h"
#include "base/sort_runs.h"
#include "model/links_parts.h"

static int64_t start_of(const rgm_run *run, size_t row) { return run->spans.start_ns[row]; }
static int64_t end_of(const rgm_run *run, size_t row) {
    return run->spans.start_ns[row] + run->spans.duration_ns[row];
}

// --- nesting ----------------------------------------------------------------------------------------------

// How many spans of the stack reach at least to `end`. Ends never grow towards the top.
static size_t enclosing(const rgm_run *run, const uint32_t *stack, size_t depth, int64_t end) {
    if (depth == 0 || end_of(run, stack[depth - 1]) >= end) return depth;
    rgm_search search = rgm_search_in(0, depth - 1);
    while (rgm_search_on(&search)) rgm_search_tell(&search, end_of(run, stack[search.middle]) >= end);
    return search.low;
}

// Nests the spans of one lane. `stack` has room for all of them. A span that reaches beyond an enclosing one
// is not that one's child, and from then on the stack holds only what encloses it.
static int64_t nest_lane(rgm_run *run, const uint32_t *rows, size_t count, uint32_t *stack) {
    rgm_spans *spans = &run->spans;
    size_t depth = 0;
    int64_t overlaps = 0, work_end = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        uint32_t row = rows[i];
        int64_t start = start_of(run, row), end = end_of(run, row);
        bool work = rgm_kind_is_work(rgm_links_kind(run, row)), overlap = work && start < work_end;
        while (depth && end_of(run, stack[depth - 1]) <= start) depth--;
        size_t around = enclosing(run, stack, depth, end);
        overlap = overlap || around < depth;
        if (overlap) spans->flags[row] |= RGM_FLAG_OVERLAPS;
        overlaps += overlap;
        spans->parent[row] = around ? (rgm_i32)stack[around - 1] : -1;
        if (work) {
            if (end > work_end) work_end = end;
        } else if (rgm_links_kind(run, row) != RGM_KIND_INSTANT) {
            depth = around;
            stack[depth++] = row;
        }
    }
    return overlaps;
}

// --- what points to spans ---------------------------------------------------------------------------------

typedef struct {
    const rgm_i64 *time_ns;
    const rgm_lane_order *order;
    void (*bind)(rgm_run *run, size_t row, int64_t span);
} pointing;

static void bind_flow(rgm_run *run, size_t row, int64_t span) { run->flows.span[row] = (rgm_i32)span; }
static void bind_memory(rgm_run *run, size_t row, int64_t span) { run->memory.span[row] = span; }

// Binds each row of a lane to the innermost span around its time: one walk over rows and spans in order.
static void bind_lane(rgm_run *run, const rgm_lane_order *spans, const pointing *table, size_t lane,
                      uint32_t *scratch) {
    uint32_t *rows = table->order->rows + table->order->first[lane];
    size_t count = table->order->first[lane + 1] - table->order->first[lane];
    size_t next = spans->first[lane], end = spans->first[lane + 1];
    int32_t last = -1;
    rgm_sort_runs_i64(table->time_ns, rows, count, scratch);
    for (size_t i = 0; i < count; i++) {
        int64_t time = table->time_ns[rows[i]];
        while (next < end && start_of(run, spans->rows[next]) <= time) last = (int32_t)spans->rows[next++];
        while (last >= 0 && end_of(run, (size_t)last) < time) last = run->spans.parent[last];
        // What ended before this time has ended before the next, too.
        table->bind(run, rows[i], last);
    }
}

// --- lanes ------------------------------------------------------------------------------------------------

rgm_status rgm_links_lanes_init(rgm_links_lanes *lanes, rgm_run *run, rgm_error *err) {
    size_t n_lanes = run->lanes.rows ? run->lanes.rows : 1, none;
    const uint32_t *memory_lane = (const uint32_t *)run->memory.lane; // what is negative is out of range
    *lanes = (rgm_links_lanes){.run = run};
    RGM_TRY(rgm_lane_order_group(&lanes->spans, run->spans.lane, run->spans.rows, n_lanes, err));
    RGM_TRY(rgm_lane_order_group(&lanes->flows, run->flows.lane, run->flows.rows, n_lanes, err));
    RGM_TRY(rgm_lane_order_group(&lanes->memory, memory_lane, run->memory.rows, n_lanes, err));
    RGM_TRY(rgm_table_ensure(&rgm_spans_desc, &run->spans, RGM_COLUMN_INDEX(spans, parent), err));
    const rgm_lane_order *orders[] = {&lanes->memory, &lanes->flows, &lanes->spans};
    for (size_t i = 0; i < 3; i++) {
        size_t rows = rgm_lane_order_largest(orders[i], i < 2 ? &none : &lanes->largest);
        if (rows > lanes->most) lanes->most = rows;
    }
    return RGM_OK;
}

void rgm_links_lanes_release(rgm_links_lanes *lanes) {
    rgm_lane_order_release(&lanes->spans);
    rgm_lane_order_release(&lanes->flows);
    rgm_lane_order_release(&lanes->memory);
}

static rgm_status link_lane(rgm_links_lanes *lanes, size_t lane, uint32_t *scratch, rgm_error *err) {
    rgm_run *run = lanes->run;
    const rgm_lane_order *spans = &lanes->spans;
    const pointing tables[] = {{run->flows.time_ns, &lanes->flows, bind_flow},
                               {run->memory.time_ns, &lanes->memory, bind_memory}};
    RGM_TRY(rgm_lane_order_sort(spans, run, lane, scratch, err));
    lanes->overlaps += nest_lane(run, spans->rows + spans->first[lane],
                                 spans->first[lane + 1] - spans->first[lane], scratch);
    for (size_t t = 0; t < 2; t++)
        if (tables[t].order->first[lane] < tables[t].order->first[lane + 1])
            bind_lane(run, spans, &tables[t], lane, scratch);
    return RGM_OK;
}

// The largest lane goes first: it may take longer than all others.
rgm_status rgm_links_lanes_work(rgm_links_lanes *lanes, rgm_error *err) {
    uint32_t *scratch = rgm_block_realloc(NULL, (lanes->most + 1) * sizeof *scratch);
    rgm_status status = scratch ? RGM_OK : rgm_error_no_memory(err);
    size_t next;
    while (status == RGM_OK && (next = lanes->next++) <= lanes->spans.n_lanes)
        if (next == 0 || next - 1 != lanes->largest)
            status = link_lane(lanes, next ? next - 1 : lanes->largest, scratch, err);
    rgm_block_free(scratch);
    return status;
}
