// SPDX-License-Identifier: Apache-2.0
// Which scope a sampled thread was in.
#include "base/memory.h"
#include "base/search.h"
#include "base/sort.h"
#include "model/lane_order.h"
#include "model/links.h"

// Host lanes in order of their thread.
typedef struct {
    int64_t *threads;
    uint32_t *lanes;
    size_t count;
} thread_lanes;

static rgm_status sort_lanes(const rgm_run *run, thread_lanes *of, rgm_error *err) {
    const rgm_lanes *lanes = &run->lanes;
    of->threads = rgm_malloc((lanes->rows + 1) * sizeof *of->threads);
    of->lanes = rgm_malloc((lanes->rows + 1) * sizeof *of->lanes);
    uint32_t *order = rgm_malloc((lanes->rows + 1) * sizeof *order);
    uint64_t *keys = rgm_malloc((lanes->rows + 1) * sizeof *keys);
    rgm_status status = of->threads && of->lanes && order && keys ? RGM_OK : rgm_error_no_memory(err);
    for (size_t i = 0; status == RGM_OK && i < lanes->rows; i++)
        keys[i] = rgm_sort_key_i64(RGM_CELL(lanes, thread, i, -1));
    if (status == RGM_OK) status = rgm_sort_order(keys, lanes->rows, order, err);
    for (size_t i = 0; status == RGM_OK && i < lanes->rows; i++) {
        if (RGM_CELL(lanes, device, order[i], -1) >= 0) continue;
        of->threads[of->count] = RGM_CELL(lanes, thread, order[i], -1);
        of->lanes[of->count++] = order[i];
    }
    rgm_free(order);
    rgm_free(keys);
    return status;
}

static size_t first_of(const thread_lanes *of, int64_t thread) {
    rgm_search search = rgm_search_in(0, of->count);
    while (rgm_search_on(&search)) rgm_search_tell(&search, of->threads[search.middle] < thread);
    return search.low;
}

// The innermost scope of a lane that is open at a time, -1 for none.
static int64_t open_at(const rgm_run *run, const rgm_lane_order *order, uint32_t lane, int64_t time_ns) {
    const rgm_spans *spans = &run->spans;
    rgm_search search = rgm_search_in(order->first[lane], order->first[lane + 1]);
    while (rgm_search_on(&search))
        rgm_search_tell(&search, spans->start_ns[order->rows[search.middle]] <= time_ns);
    if (search.low == order->first[lane]) return -1;
    int64_t row = order->rows[search.low - 1];
    while (row >= 0 && RGM_CELL(spans, lane, row, 0) == lane) {
        bool scope = RGM_CELL(spans, kind, row, RGM_KIND_SCOPE) == RGM_KIND_SCOPE;
        if (scope && time_ns - spans->start_ns[row] < spans->duration_ns[row]) return row;
        row = spans->parent[row];
    }
    return -1;
}

rgm_status rgm_links_samples(rgm_run *run, rgm_error *err) {
    rgm_samples *samples = &run->samples;
    thread_lanes of = {0};
    rgm_lane_order order = {0};
    rgm_status status = RGM_OK;
    if (!samples->rows || !run->lanes.rows) return RGM_OK;
    RGM_GOTO(sort_lanes(run, &of, err));
    RGM_GOTO(rgm_lane_order_init(&order, run, err));
    for (size_t i = 0; i < samples->rows; i++) {
        int64_t latest = INT64_MIN;
        size_t at = first_of(&of, samples->thread[i]);
        bool known = at < of.count && of.threads[at] == samples->thread[i];
        if (known) samples->lane[i] = (rgm_i32)of.lanes[at];
        // Tasks of a thread are lanes of their own, and scopes of several may be open: the one that began
        // last.
        for (; at < of.count && of.threads[at] == samples->thread[i]; at++) {
            int64_t span = open_at(run, &order, of.lanes[at], samples->time_ns[i]);
            if (span < 0 || run->spans.start_ns[span] < latest) continue;
            latest = run->spans.start_ns[span];
            samples->span[i] = span;
            samples->lane[i] = (rgm_i32)of.lanes[at];
        }
    }
done:
    rgm_free(of.threads);
    rgm_free(of.lanes);
    rgm_lane_order_release(&order);
    return status;
}
