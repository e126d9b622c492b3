// SPDX-License-Identifier: Apache-2.0
#include "model/numbered_calls.h"

#include "base/memory.h"
#include "base/search.h"
#include "base/sort.h"
#include "model/links.h"

static bool is_numbered_call(const rgm_run *run, size_t row) {
    return run->spans.correlation[row] > 0 &&
           rgm_kind_is_call((uint8_t)RGM_CELL(&run->spans, kind, row, RGM_KIND_SCOPE));
}

rgm_status rgm_numbered_calls_init(rgm_numbered_calls *c, const rgm_run *run, rgm_error *err) {
    *c = (rgm_numbered_calls){0};
    if (!run->spans.correlation) return RGM_OK;
    size_t room = 1;
    for (size_t i = 0; i < run->spans.rows; i++) room += is_numbered_call(run, i);
    c->ids = rgm_malloc(room * sizeof *c->ids);
    c->rows = rgm_malloc(room * sizeof *c->rows);
    c->order = rgm_malloc(room * sizeof *c->order);
    if (!c->ids || !c->rows || !c->order) {
        rgm_numbered_calls_release(c);
        return rgm_error_no_memory(err);
    }
    for (size_t i = 0; i < run->spans.rows; i++) {
        if (!is_numbered_call(run, i)) continue;
        c->ids[c->count] = (uint64_t)run->spans.correlation[i];
        c->rows[c->count++] = (uint32_t)i;
    }
    rgm_status status = rgm_sort_order(c->ids, c->count, c->order, err);
    if (status != RGM_OK) rgm_numbered_calls_release(c);
    return status;
}

void rgm_numbered_calls_release(rgm_numbered_calls *c) {
    rgm_free(c->ids);
    rgm_free(c->rows);
    rgm_free(c->order);
    *c = (rgm_numbered_calls){0};
}

rgm_i64 rgm_numbered_calls_find(const rgm_numbered_calls *c, uint64_t correlation) {
    rgm_search search = rgm_search_in(0, c->count);
    while (rgm_search_on(&search)) rgm_search_tell(&search, c->ids[c->order[search.middle]] < correlation);
    bool found = search.low < c->count && c->ids[c->order[search.low]] == correlation;
    return found ? (rgm_i64)c->rows[c->order[search.low]] : -1;
}
