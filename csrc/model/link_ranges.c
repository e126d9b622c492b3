// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "base/memory.h"
#include "model/counter_roles.h"
#include "model/links.h"

typedef struct {
    int64_t start_ns;
    int16_t device;
    uint32_t row;
} range;

static int by_place(const void *a, const void *b) {
    const range *x = a, *y = b;
    if (x->device != y->device) return x->device < y->device ? -1 : 1;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return 0;
}

static bool is_range(const rgm_run *run, size_t row) {
    return RGM_CELL(&run->spans, kind, row, RGM_KIND_SCOPE) == RGM_KIND_COUNTER_RANGE;
}

// Which series have a role. There are few series and many values.
static uint8_t *series_with_roles(const rgm_run *run) {
    uint32_t count = rgm_strings_count(&run->strings);
    uint8_t *found = rgm_calloc((size_t)count + 1, 1);
    for (uint32_t i = 0; found && i < count; i++) {
        rgm_string text = rgm_strings_view(&run->strings, i);
        found[i] = rgm_counter_role_of(text.data, text.length) != RGM_COUNTER_ROLE_NONE;
    }
    return found;
}

rgm_status rgm_links_ranges(rgm_run *run, rgm_error *err) {
    rgm_counters *counters = &run->counters;
    size_t count = 0, n = 0;
    for (size_t i = 0; i < run->spans.rows; i++) count += is_range(run, i);
    if (!count || !counters->rows) return RGM_OK;
    RGM_TRY(rgm_table_ensure(&rgm_counters_desc, counters, RGM_COLUMN_INDEX(counters, span), err));
    RGM_FREED range *ranges = rgm_malloc(count * sizeof *ranges);
    RGM_FREED uint8_t *roles = series_with_roles(run);
    if (!ranges || !roles) return rgm_error_no_memory(err);
    for (size_t i = 0; i < run->spans.rows; i++) {
        if (!is_range(run, i)) continue;
        int16_t device = run->lanes.device[run->spans.lane[i]];
        ranges[n++] = (range){run->spans.start_ns[i], device, (uint32_t)i};
    }
    qsort(ranges, n, sizeof *ranges, by_place);
    for (size_t i = 0; i < counters->rows; i++) {
        const range key = {.start_ns = counters->time_ns[i], .device = counters->device[i]};
        const range *at = roles[counters->series[i]] ? bsearch(&key, ranges, n, sizeof key, by_place) : NULL;
        if (at) counters->span[i] = at->row;
    }
    return RGM_OK;
}
