// SPDX-License-Identifier: Apache-2.0
#include "analysis/regimes/region_windows.h"

#include "analysis/analyses.h"
#include "analysis/times/enclosing.h"
#include "base/list.h"
#include "base/memory.h"

static rgm_status add(rgm_windows *windows, rgm_window window, rgm_error *err) {
    enum { FIRST_CAPACITY = 64 };
    RGM_TRY(RGM_LIST_ROOM(windows->rows, windows->count, windows->capacity, FIRST_CAPACITY, err));
    windows->rows[windows->count++] = window;
    return RGM_OK;
}

void rgm_windows_release(rgm_windows *windows) {
    rgm_free(windows->rows);
    *windows = (rgm_windows){0};
}

rgm_status rgm_windows_of_run(rgm_windows *windows, const rgm_view *view, rgm_error *err) {
    for (size_t d = 0; d < view->n_devices; d++) {
        const uint32_t *work = view->work + view->device_first[d];
        size_t count = view->device_first[d + 1] - view->device_first[d];
        rgm_window window = {.start = rgm_view_start(view, work[0]), .device = (int32_t)d, .step = -1};
        window.end = window.start;
        for (size_t i = 0; i < count; i++)
            if (rgm_view_end(view, work[i]) > window.end) window.end = rgm_view_end(view, work[i]);
        RGM_TRY(add(windows, window, err));
    }
    if (view->n_devices || !view->n_spans) return RGM_OK;
    rgm_window window = {.start = INT64_MAX, .end = INT64_MIN, .device = -1, .step = -1};
    for (size_t i = 0; i < view->n_spans; i++) {
        if (rgm_view_start(view, i) < window.start) window.start = rgm_view_start(view, i);
        if (rgm_view_end(view, i) > window.end) window.end = rgm_view_end(view, i);
    }
    return add(windows, window, err);
}

// --- steps ------------------------------------------------------------------------------------------------

static int32_t find_device(const rgm_view *view, int32_t rank, int16_t device) {
    for (size_t d = 0; d < view->n_devices; d++)
        if (view->devices[d].rank == rank && view->devices[d].device == device) return (int32_t)d;
    return -1;
}

rgm_status rgm_windows_of_steps(rgm_windows *windows, const rgm_view *view, const rgm_policy *policy,
                                rgm_error *err) {
    rgm_step_times table = {0};
    rgm_question nothing = {0};
    rgm_status status;
    RGM_GOTO(rgm_step_times_compute(view, policy, &nothing, &table, err));
    for (size_t i = 0; i < table.rows; i++) {
        if (table.state[i] == RGM_STEP_UNFINISHED) continue;
        rgm_window window = {.start = table.start_ns[i],
                             .end = table.start_ns[i] + table.duration_ns[i],
                             .device = find_device(view, table.rank[i], table.device[i]),
                             .step = table.step[i]};
        RGM_GOTO(add(windows, window, err));
    }
done:
    rgm_table_release(&rgm_step_times_desc, &table);
    return status;
}

// --- scopes -----------------------------------------------------------------------------------------------

static bool is_scope(const rgm_view *view, size_t row, const void *unused) {
    (void)unused;
    rgm_kind kind = rgm_view_kind(view, row);
    return kind == RGM_KIND_SCOPE ||
           (kind == RGM_KIND_ANNOTATION && view->lane_device[rgm_view_lane(view, row)] < 0);
}

// Chains of parents end at the depth to which annotations are followed.
typedef struct {
    const rgm_view *view;
    int32_t *around; // [n_spans] nearest scope, the span itself included
    int64_t *end;    // [n_spans] of scopes
    int depth;
} scopes;

static int32_t above(const scopes *s, int32_t scope) {
    return rgm_enclosing_parent(s->view, s->around, (size_t)scope);
}

static void extend(scopes *s) {
    const rgm_view *view = s->view;
    for (size_t i = 0; i < view->n_spans; i++) s->end[i] = rgm_view_end(view, i);
    for (size_t i = 0; i < view->n_work; i++) {
        int32_t launch = view->launch[view->work[i]], scope = launch >= 0 ? s->around[launch] : -1;
        int64_t end = rgm_view_end(view, view->work[i]);
        for (int depth = 0; scope >= 0 && depth < s->depth; depth++, scope = above(s, scope))
            if (end > s->end[scope]) s->end[scope] = end;
    }
}

static bool is_nested_call(const scopes *s, int32_t scope) {
    rgm_name name = rgm_view_name(s->view, (size_t)scope);
    int32_t at = above(s, scope);
    for (int depth = 0; at >= 0 && depth < s->depth; depth++, at = above(s, at))
        if (rgm_view_name(s->view, (size_t)at) == name) return true;
    return false;
}

static int32_t rank_of(const rgm_view *view, size_t row) {
    const rgm_lanes *lanes = &view->run->lanes;
    uint32_t lane = rgm_view_lane(view, row);
    return lane < lanes->rows ? RGM_CELL(lanes, rank, lane, -1) : -1;
}

static rgm_status add_scope(rgm_windows *windows, const scopes *s, size_t row, rgm_error *err) {
    const rgm_view *view = s->view;
    bool any = false;
    rgm_window window = {.start = rgm_view_start(view, row),
                         .end = s->end[row],
                         .device = -1,
                         .step = -1,
                         .name = rgm_view_name(view, row)};
    for (size_t d = 0; d < view->n_devices; d++) {
        if (view->devices[d].rank != rank_of(view, row)) continue;
        window.device = (int32_t)d;
        any = true;
        RGM_TRY(add(windows, window, err));
    }
    return any ? RGM_OK : add(windows, window, err);
}

rgm_status rgm_windows_of_scopes(rgm_windows *windows, const rgm_view *view, const rgm_policy *policy,
                                 rgm_error *err) {
    const double deepest = 1e6;
    scopes s = {.view = view,
                .depth = (int)(policy->annotation_depth < deepest ? policy->annotation_depth : deepest)};
    rgm_status status = RGM_OK;
    s.around = rgm_malloc((view->n_spans + 1) * sizeof *s.around);
    s.end = rgm_malloc((view->n_spans + 1) * sizeof *s.end);
    if (!s.around || !s.end) {
        status = rgm_error_no_memory(err);
        goto done;
    }
    rgm_enclosing(view, is_scope, NULL, s.around);
    extend(&s);
    for (size_t i = 0; i < view->n_spans; i++)
        if (is_scope(view, i, NULL) && !is_nested_call(&s, (int32_t)i))
            RGM_GOTO(add_scope(windows, &s, i, err));
done:
    rgm_free(s.around);
    rgm_free(s.end);
    return status;
}
