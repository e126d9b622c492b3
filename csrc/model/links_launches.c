// SPDX-License-Identifier: Apache-2.0
// Device work and the calls that launched it, joined by their correlation.
#include <string.h>

#include "base/memory.h"
#include "base/search.h"
#include "base/sort_runs.h"
#include "model/links_parts.h"

typedef enum { NEITHER, CALL, WORK, ROLES } role;

typedef struct {
    uint32_t *rows;
    size_t count;
} row_list;

static role role_of(const rgm_run *run, size_t row) {
    unsigned kind = rgm_links_kind(run, row);
    if (run->spans.correlation[row] <= 0) return NEITHER;
    return rgm_kind_is_call(kind) ? CALL : rgm_kind_is_work(kind) ? WORK : NEITHER;
}

// In order of correlation and, within one, of start, then of row. Correlations grow along a trace, so that
// there is little to sort.
static rgm_status sort_list(row_list *list, const rgm_run *run, rgm_error *err) {
    const rgm_i64 *ids = run->spans.correlation;
    uint32_t *rows = list->rows, *scratch = rgm_block_realloc(NULL, (list->count + 1) * sizeof *scratch);
    if (!scratch) return rgm_error_no_memory(err);
    rgm_sort_runs_i64(ids, rows, list->count, scratch);
    for (size_t from = 0, to; from < list->count; from = to) {
        for (to = from + 1; to < list->count && ids[rows[to]] == ids[rows[from]];) to++;
        if (to - from > 1) rgm_sort_runs_i64(run->spans.start_ns, rows + from, to - from, scratch);
    }
    rgm_block_free(scratch);
    return RGM_OK;
}

// Rows that carry a correlation, by role.
static rgm_status collect(row_list *lists, const rgm_run *run, rgm_error *err) {
    for (size_t i = 0; i < run->spans.rows; i++) lists[role_of(run, i)].count++;
    for (role r = CALL; r < ROLES; r++) {
        lists[r].rows = rgm_block_realloc(NULL, (lists[r].count + 1) * sizeof *lists[r].rows);
        if (!lists[r].rows) return rgm_error_no_memory(err);
        lists[r].count = 0;
    }
    for (size_t i = 0; i < run->spans.rows; i++) {
        role r = role_of(run, i);
        if (r != NEITHER) lists[r].rows[lists[r].count++] = (uint32_t)i;
    }
    for (role r = CALL; r < ROLES; r++) RGM_TRY(sort_list(&lists[r], run, err));
    return RGM_OK;
}

// Of the calls with one correlation: the last that starts no later than the work, or else the first.
static uint32_t nearest_call(const rgm_run *run, const uint32_t *calls, size_t count, int64_t start) {
    rgm_search search = rgm_search_in(0, count);
    while (rgm_search_on(&search))
        rgm_search_tell(&search, run->spans.start_ns[calls[search.middle]] <= start);
    return calls[search.low ? search.low - 1 : 0];
}

rgm_status rgm_links_launches(const rgm_run *run, rgm_i32 *launch, int64_t *reused, rgm_error *err) {
    const rgm_i64 *ids = run->spans.correlation;
    memset(launch, 0xFF, run->spans.rows * sizeof *launch);
    *reused = 0;
    if (!ids) return RGM_OK;
    row_list lists[ROLES] = {0}, *calls = &lists[CALL], *work = &lists[WORK];
    rgm_status status;
    RGM_GOTO(collect(lists, run, err));
    int64_t last = 0;
    for (size_t w = 0, from = 0, to = 0; w < work->count; w++) {
        uint32_t row = work->rows[w];
        if (ids[row] != last) {
            last = ids[row];
            for (from = to; from < calls->count && ids[calls->rows[from]] < last;) from++;
            for (to = from; to < calls->count && ids[calls->rows[to]] == last;) to++;
            *reused += to > from + 1;
        }
        if (to > from)
            launch[row] = (rgm_i32)nearest_call(run, calls->rows + from, to - from, run->spans.start_ns[row]);
    }
done:
    rgm_block_free(calls->rows);
    rgm_block_free(work->rows);
    return status;
}

bool rgm_run_knows_launches(const rgm_run *run) {
    const rgm_i32 *launch = run->spans.launch;
    for (size_t i = 0; launch && i < run->spans.rows; i++)
        if (launch[i] >= 0) return true;
    return false;
}

// Accelerators other than GPUs do not say who launched them.
static bool has_launch(const rgm_run *run, size_t row) {
    unsigned kind = rgm_links_kind(run, row);
    return rgm_kind_is_work(kind) && kind != RGM_KIND_ACCELERATOR;
}

bool rgm_run_has_work(const rgm_run *run) {
    for (size_t i = 0; run->spans.kind && i < run->spans.rows; i++)
        if (rgm_kind_is_work(run->spans.kind[i])) return true;
    return false;
}

bool rgm_run_lacks_launches(const rgm_run *run) {
    if (rgm_run_knows_launches(run)) return false;
    for (size_t i = 0; i < run->spans.rows; i++)
        if (has_launch(run, i)) return true;
    return false;
}

rgm_status rgm_run_launches(const rgm_run *run, rgm_i32 *launch, rgm_error *err) {
    int64_t reused;
    size_t n = run->spans.rows;
    if (!rgm_run_knows_launches(run)) return rgm_links_launches(run, launch, &reused, err);
    for (size_t i = 0; i < n; i++) {
        int32_t call = run->spans.launch[i];
        bool right = call >= 0 && (size_t)call < n && rgm_kind_is_work(rgm_links_kind(run, i)) &&
                     rgm_kind_is_call(rgm_links_kind(run, (size_t)call));
        launch[i] = right ? call : -1;
    }
    return RGM_OK;
}

rgm_status rgm_links_join(rgm_run *run, rgm_links_found *found, rgm_error *err) {
    rgm_spans *spans = &run->spans;
    *found = (rgm_links_found){.first_early_ns = -1};
    RGM_TRY(rgm_table_ensure(&rgm_spans_desc, spans, RGM_COLUMN_INDEX(spans, launch), err));
    RGM_TRY(rgm_links_launches(run, spans->launch, &found->reused, err));
    for (size_t i = 0; i < spans->rows; i++) {
        if (!has_launch(run, i)) continue;
        if (spans->launch[i] < 0) {
            found->orphans++;
        } else if (spans->start_ns[i] < spans->start_ns[spans->launch[i]]) {
            if (found->early++ == 0) found->first_early_ns = spans->start_ns[i];
        }
    }
    return RGM_OK;
}

void rgm_links_flag_orphans(rgm_run *run) {
    for (size_t i = 0; i < run->spans.rows; i++)
        if (run->spans.launch[i] < 0 && has_launch(run, i)) run->spans.flags[i] |= RGM_FLAG_ORPHAN;
}
