// SPDX-License-Identifier: Apache-2.0
#include "base/memory.h"
#include "base/sort.h"
#include "model/links.h"

// Calls that carry a correlation, in order of it and then of row.
typedef struct {
    uint64_t *ids;
    uint32_t *rows, *order;
    size_t count;
} calls;

static bool is_numbered_call(const rgm_run *run, size_t row) {
    return run->spans.correlation[row] > 0 &&
           rgm_kind_is_call((uint8_t)RGM_CELL(&run->spans, kind, row, RGM_KIND_SCOPE));
}

static rgm_status collect(calls *c, const rgm_run *run, rgm_error *err) {
    size_t room = 1;
    for (size_t i = 0; i < run->spans.rows; i++) room += is_numbered_call(run, i);
    c->ids = rgm_malloc(room * sizeof *c->ids);
    c->rows = rgm_malloc(room * sizeof *c->rows);
    c->order = rgm_malloc(room * sizeof *c->order);
    if (!c->ids || !c->rows || !c->order) return rgm_error_no_memory(err);
    for (size_t i = 0; i < run->spans.rows; i++) {
        if (!is_numbered_call(run, i)) continue;
        c->ids[c->count] = (uint64_t)run->spans.correlation[i];
        c->rows[c->count++] = (uint32_t)i;
    }
    return rgm_sort_order(c->ids, c->count, c->order, err);
}

static rgm_i64 find(const calls *c, uint64_t correlation) {
    size_t low = 0, high = c->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (c->ids[c->order[middle]] < correlation)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < c->count && c->ids[c->order[low]] == correlation;
    return found ? (rgm_i64)c->rows[c->order[low]] : -1;
}

rgm_status rgm_links_captures(rgm_run *run, rgm_error *err) {
    rgm_launches *launches = &run->launches;
    calls c = {0};
    rgm_status status = RGM_OK;
    bool any = false;
    for (size_t i = 0; i < launches->rows && launches->capture; i++) any = any || launches->capture[i] > 0;
    if (!any || !run->spans.correlation) return RGM_OK;
    RGM_GOTO(collect(&c, run, err));
    for (size_t i = 0; i < launches->rows; i++)
        if (launches->capture[i] > 0) launches->capture[i] = find(&c, (uint64_t)launches->capture[i]);
done:
    rgm_free(c.ids);
    rgm_free(c.rows);
    rgm_free(c.order);
    return status;
}
