// SPDX-License-Identifier: Apache-2.0
// Launch calls of threads that hold no scope of their own, such as those of torch's autograd: each is given
// the scope that was open while it ran, where there is only one thread that can have waited for it.
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "model/links.h"

enum { NOBODY = -1, CHAIN_MOST = 4096 };

typedef struct {
    rgm_run *run;
    bool *scoped;     // by lane: its thread holds a scope somewhere in the run
    int32_t *top;     // by lane: the scope that began last and may still be open
    uint32_t *active; // lanes with such a scope
    size_t n_active;
} sweep;

static bool is_scope(const rgm_run *run, size_t row) {
    return RGM_CELL(&run->spans, kind, row, RGM_KIND_SCOPE) == RGM_KIND_SCOPE;
}

static uint32_t lane_of(const rgm_run *run, size_t row) { return RGM_CELL(&run->spans, lane, row, 0); }

static int64_t end_of(const rgm_run *run, size_t row) {
    return run->spans.start_ns[row] + run->spans.duration_ns[row];
}

// A thread may have several lanes, one for each of its tasks that ran at a time.
static rgm_status find_scoped(sweep *s, rgm_error *err) {
    const rgm_lanes *lanes = &s->run->lanes;
    size_t n = lanes->rows;
    RGM_FREED uint64_t *threads = rgm_malloc((n + 1) * sizeof *threads);
    RGM_FREED uint32_t *order = rgm_malloc((n + 1) * sizeof *order);
    if (!threads || !order) return rgm_error_no_memory(err);
    for (size_t i = 0; i < s->run->spans.rows; i++)
        if (is_scope(s->run, i) && lane_of(s->run, i) < n) s->scoped[lane_of(s->run, i)] = true;
    for (size_t i = 0; i < n; i++) threads[i] = rgm_sort_key_i64(lanes->thread[i]);
    RGM_TRY(rgm_sort_order(threads, n, order, err));
    for (size_t from = 0, to; from < n; from = to) {
        bool any = false;
        for (to = from; to < n && lanes->thread[order[to]] == lanes->thread[order[from]]; to++)
            any = any || s->scoped[order[to]];
        for (size_t i = from; i < to; i++) s->scoped[order[i]] = any;
    }
    return RGM_OK;
}

static void begin_scope(sweep *s, uint32_t row) {
    uint32_t lane = lane_of(s->run, row);
    if (s->top[lane] == NOBODY) s->active[s->n_active++] = lane;
    s->top[lane] = (int32_t)row;
}

// The innermost scope of the lane that is open at `time`. Scopes come in order of start, so what has ended
// before it has ended for good.
static int32_t open_scope(sweep *s, uint32_t lane, int64_t time) {
    int32_t at = s->top[lane];
    while (at >= 0 && end_of(s->run, (size_t)at) < time) {
        int32_t parent = s->run->spans.parent[at];
        at = parent >= 0 && parent < at && lane_of(s->run, (size_t)parent) == lane ? parent : NOBODY;
    }
    s->top[lane] = at;
    return at;
}

static bool lies_in(const rgm_run *run, int32_t row, int32_t scope) {
    for (int depth = 0; row >= 0 && depth < CHAIN_MOST; depth++) {
        if (row == scope) return true;
        int32_t parent = run->spans.parent[row];
        row = parent < row ? parent : NOBODY;
    }
    return false;
}

// The innermost of the open scopes when they all enclose one another, else nobody: of two threads that are
// both in a scope either may have caused the call.
static int32_t only_scope(sweep *s, int64_t begin, int64_t end) {
    int32_t found = NOBODY;
    for (size_t i = 0; i < s->n_active;) {
        int32_t scope = open_scope(s, s->active[i], begin);
        if (scope == NOBODY) {
            s->active[i] = s->active[--s->n_active];
            continue;
        }
        i++;
        if (found == NOBODY || lies_in(s->run, scope, found))
            found = scope;
        else if (!lies_in(s->run, found, scope))
            return NOBODY;
    }
    return found != NOBODY && end_of(s->run, (size_t)found) >= end ? found : NOBODY;
}

static bool wants_scope(const sweep *s, size_t row) {
    const rgm_spans *spans = &s->run->spans;
    return rgm_kind_is_call((unsigned)spans->kind[row]) && spans->parent[row] < 0 &&
           lane_of(s->run, row) < s->run->lanes.rows && !s->scoped[lane_of(s->run, row)];
}

rgm_status rgm_links_threads(rgm_run *run, rgm_error *err) {
    size_t lanes = run->lanes.rows;
    if (!run->spans.kind || !run->spans.parent) return RGM_OK;
    sweep s = {.run = run,
               .scoped = rgm_calloc(lanes + 1, sizeof *s.scoped),
               .top = rgm_malloc((lanes + 1) * sizeof *s.top),
               .active = rgm_malloc((lanes + 1) * sizeof *s.active)};
    rgm_status status = s.scoped && s.top && s.active ? RGM_OK : rgm_error_no_memory(err);
    if (status != RGM_OK) goto done;
    memset(s.top, 0xFF, (lanes + 1) * sizeof *s.top);
    RGM_GOTO(find_scoped(&s, err));
    for (size_t row = 0; row < run->spans.rows; row++) {
        if (is_scope(run, row)) {
            if (lane_of(run, row) < lanes) begin_scope(&s, (uint32_t)row);
        } else if (wants_scope(&s, row)) {
            int32_t scope = only_scope(&s, run->spans.start_ns[row], end_of(run, row));
            if (scope == NOBODY) continue;
            run->spans.parent[row] = scope;
            run->spans.flags[row] |= RGM_FLAG_INFERRED;
        }
    }
done:
    rgm_free(s.scoped);
    rgm_free(s.top);
    rgm_free(s.active);
    return status;
}
