// SPDX-License-Identifier: Apache-2.0
#include "analysis/waiting/coverage.h"

#include "analysis/stats.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/search.h"

static int64_t length(const rgm_stretch *stretch) {
    return rgm_subtract_bounded(stretch->end, stretch->start);
}

rgm_status rgm_coverage_add(rgm_coverage *coverage, int64_t start, int64_t end, rgm_error *err) {
    if (end <= start) return RGM_OK;
    if (coverage->count && start <= coverage->rows[coverage->count - 1].end) {
        rgm_stretch *last = &coverage->rows[coverage->count - 1];
        if (end > last->end) last->end = end;
        return RGM_OK;
    }
    RGM_TRY(RGM_LIST_ROOM(coverage->rows, coverage->count, coverage->capacity, 16, err));
    coverage->rows[coverage->count] = (rgm_stretch){start, end, rgm_coverage_total(coverage)};
    coverage->count++;
    return RGM_OK;
}

// The last stretch that starts before `time`, NULL for none.
static const rgm_stretch *last_before(const rgm_coverage *coverage, int64_t time) {
    rgm_search search = rgm_search_in(0, coverage->count);
    while (rgm_search_on(&search)) rgm_search_tell(&search, coverage->rows[search.middle].start < time);
    return search.low ? &coverage->rows[search.low - 1] : NULL;
}

// Covered time before `time`.
static int64_t covered_before(const rgm_coverage *coverage, int64_t time) {
    const rgm_stretch *last = last_before(coverage, time);
    if (!last) return 0;
    return rgm_add_bounded(last->before,
                           rgm_subtract_bounded(time < last->end ? time : last->end, last->start));
}

int64_t rgm_coverage_within(const rgm_coverage *coverage, int64_t from, int64_t to) {
    return to > from ? covered_before(coverage, to) - covered_before(coverage, from) : 0;
}

int64_t rgm_coverage_at(const rgm_coverage *coverage, int64_t time) {
    const rgm_stretch *last = time < INT64_MAX ? last_before(coverage, time + 1) : NULL;
    return last && last->end > time ? length(last) : 0;
}

int64_t rgm_coverage_total(const rgm_coverage *coverage) {
    if (!coverage->count) return 0;
    const rgm_stretch *last = &coverage->rows[coverage->count - 1];
    return rgm_add_bounded(last->before, length(last));
}

void rgm_coverage_release(rgm_coverage *coverage) {
    rgm_free(coverage->rows);
    *coverage = (rgm_coverage){0};
}
