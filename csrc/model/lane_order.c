// SPDX-License-Identifier: Apache-2.0
#include "model/lane_order.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/sort_runs.h"

// --- groups -----------------------------------------------------------------------------------------------

rgm_status rgm_lane_order_group(rgm_lane_order *order, const uint32_t *lane, size_t count, size_t n_lanes,
                                rgm_error *err) {
    uint32_t *first = rgm_calloc(n_lanes + 1, sizeof *first);
    uint32_t *rows = rgm_block_realloc(NULL, (count ? count : 1) * sizeof *rows);
    *order = (rgm_lane_order){n_lanes, first, rows};
    if (!first || !rows) return rgm_error_no_memory(err);
    if (!lane) {
        for (size_t i = 0; i < count; i++) rows[i] = (uint32_t)i;
        for (size_t l = 1; l <= n_lanes; l++) first[l] = (uint32_t)count;
        return RGM_OK;
    }
    for (size_t i = 0; i < count; i++)
        if (lane[i] < n_lanes) first[lane[i] + 1]++;
    for (size_t l = 0; l < n_lanes; l++) first[l + 1] += first[l];
    for (size_t i = 0; i < count; i++)
        if (lane[i] < n_lanes) rows[first[lane[i]]++] = (uint32_t)i;
    for (size_t l = n_lanes; l > 0; l--) first[l] = first[l - 1];
    first[0] = 0;
    return RGM_OK;
}

void rgm_lane_order_release(rgm_lane_order *order) {
    rgm_free(order->first);
    rgm_block_free(order->rows);
    *order = (rgm_lane_order){0};
}

size_t rgm_lane_order_largest(const rgm_lane_order *order, size_t *lane) {
    size_t most = 0;
    *lane = 0;
    for (size_t l = 0; l < order->n_lanes; l++) {
        if (order->first[l + 1] - order->first[l] <= most) continue;
        most = order->first[l + 1] - order->first[l];
        *lane = l;
    }
    return most;
}

// --- order ------------------------------------------------------------------------------------------------

typedef struct {
    int64_t duration_ns;
    uint32_t row;
} timed;

static int longer(const void *a, const void *b) {
    const timed *x = a, *y = b;
    if (x->duration_ns != y->duration_ns) return x->duration_ns > y->duration_ns ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static rgm_status sort_group(const rgm_run *run, uint32_t *rows, size_t count, rgm_error *err) {
    timed *group = rgm_malloc(count * sizeof *group);
    if (!group) return rgm_error_no_memory(err);
    for (size_t i = 0; i < count; i++) group[i] = (timed){run->spans.duration_ns[rows[i]], rows[i]};
    qsort(group, count, sizeof *group, longer);
    for (size_t i = 0; i < count; i++) rows[i] = group[i].row;
    rgm_free(group);
    return RGM_OK;
}

// Within each group of equal starts the longer spans go first. Groups are small; a large one, as a damaged
// or hostile file may have it, is sorted with scratch memory of its own.
static rgm_status longer_first(const rgm_run *run, uint32_t *rows, size_t count, rgm_error *err) {
    const rgm_i64 *start = run->spans.start_ns, *duration = run->spans.duration_ns;
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && start[rows[to]] == start[rows[from]];) to++;
        if (to - from > 64) {
            RGM_TRY(sort_group(run, rows + from, to - from, err));
            continue;
        }
        for (size_t i = from + 1; i < to; i++) {
            uint32_t row = rows[i];
            size_t at = i;
            for (; at > from && duration[row] > duration[rows[at - 1]]; at--) rows[at] = rows[at - 1];
            rows[at] = row;
        }
    }
    return RGM_OK;
}

rgm_status rgm_lane_order_sort(const rgm_lane_order *order, const rgm_run *run, size_t lane,
                               uint32_t *scratch, rgm_error *err) {
    uint32_t *rows = order->rows + order->first[lane];
    size_t count = order->first[lane + 1] - order->first[lane];
    rgm_sort_runs_i64(run->spans.start_ns, rows, count, scratch);
    return longer_first(run, rows, count, err);
}

rgm_status rgm_lane_order_init(rgm_lane_order *order, const rgm_run *run, rgm_error *err) {
    size_t n_lanes = run->lanes.rows ? run->lanes.rows : 1, largest;
    RGM_TRY(rgm_lane_order_group(order, run->spans.lane, run->spans.rows, n_lanes, err));
    RGM_BLOCK_FREED uint32_t *scratch =
        rgm_block_realloc(NULL, (rgm_lane_order_largest(order, &largest) + 1) * sizeof *scratch);
    if (!scratch) return rgm_error_no_memory(err);
    for (size_t lane = 0; lane < n_lanes; lane++)
        RGM_TRY(rgm_lane_order_sort(order, run, lane, scratch, err));
    return RGM_OK;
}
