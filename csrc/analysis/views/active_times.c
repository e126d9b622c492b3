// SPDX-License-Identifier: Apache-2.0
// How long host and device were active: lengths of unions of intervals, never sums of pairs, so that no
// figure exceeds the time that has passed.
#include "analysis/analyses.h"
#include "analysis/stats.h"
#include "base/memory.h"
#include "base/sort.h"

// What group_by may leave out of the host's activity; the two can be combined.
enum { WITHOUT_PYTHON = 1, WITHOUT_CALLS = 2 };
enum { NEITHER, HOST, DEVICE };

static bool on_host(const rgm_view *view, size_t row) {
    uint32_t lane = rgm_view_lane(view, row);
    return view->lane_device[lane] < 0 && RGM_CELL(&view->run->lanes, device, lane, -1) < 0;
}

static int side_of(const rgm_view *view, size_t row, int32_t left_out) {
    rgm_kind kind = rgm_view_kind(view, row);
    if (rgm_kind_is_work(kind)) return DEVICE;
    // A row of kind sync is the tracer's record of a wait, on a stream or on none: the call that waits is the
    // host's activity.
    if (kind == RGM_KIND_INSTANT || kind == RGM_KIND_WINDOW || kind == RGM_KIND_COUNTER_RANGE ||
        kind == RGM_KIND_SYNC)
        return NEITHER;
    if (kind == RGM_KIND_PYTHON && left_out & WITHOUT_PYTHON) return NEITHER;
    if (rgm_kind_is_call(kind) && left_out & WITHOUT_CALLS) return NEITHER;
    return on_host(view, row) ? HOST : NEITHER;
}

// Adds the time from *now to `next` to what was active in it; ends[] are the latest ends of each side.
static void advance(rgm_active_times *out, const int64_t ends[3], int64_t *now, int64_t next) {
    while (*now < next) {
        bool host = ends[HOST] > *now, device = ends[DEVICE] > *now;
        if (!host && !device) break;
        int64_t until = next;
        if (host && ends[HOST] < until) until = ends[HOST];
        if (device && ends[DEVICE] < until) until = ends[DEVICE];
        int64_t length = until - *now; // of one stretch that one span covers
        if (host) out->host_ns[0] = rgm_add_bounded(out->host_ns[0], length);
        if (device) out->device_ns[0] = rgm_add_bounded(out->device_ns[0], length);
        if (host && device) out->overlap_ns[0] = rgm_add_bounded(out->overlap_ns[0], length);
        *now = until;
    }
    *now = next;
}

static void sweep(const rgm_view *view, const uint32_t *order, int32_t left_out, rgm_active_times *out) {
    int64_t ends[3] = {INT64_MIN, INT64_MIN, INT64_MIN}, now = 0;
    bool begun = false;
    for (size_t i = 0; i < view->n_spans; i++) {
        int side = side_of(view, order[i], left_out);
        if (side == NEITHER) continue;
        int64_t start = rgm_view_start(view, order[i]), end = rgm_view_end(view, order[i]);
        if (!begun) out->first_ns[0] = now = start;
        begun = true;
        advance(out, ends, &now, start);
        if (end > ends[side]) ends[side] = end;
        *(side == HOST ? &out->n_host[0] : &out->n_device[0]) += 1;
    }
    if (!begun) return;
    int64_t last = ends[HOST] > ends[DEVICE] ? ends[HOST] : ends[DEVICE];
    advance(out, ends, &now, last);
    if (__builtin_sub_overflow(last, out->first_ns[0], &out->span_ns[0])) out->span_ns[0] = INT64_MAX;
    if (out->span_ns[0] <= 0) return;
    out->host_share[0] = (double)out->host_ns[0] / (double)out->span_ns[0];
    out->device_share[0] = (double)out->device_ns[0] / (double)out->span_ns[0];
}

rgm_status rgm_active_times_compute(const rgm_view *view, const rgm_policy *policy,
                                    const rgm_question *question, rgm_active_times *out, rgm_error *err) {
    (void)policy;
    size_t row;
    RGM_TRY(rgm_table_append(&rgm_active_times_desc, out, RGM_ALL_COLUMNS, &row, err));
    RGM_FREED uint64_t *keys = rgm_malloc((view->n_spans + 1) * sizeof *keys);
    RGM_FREED uint32_t *order = rgm_malloc((view->n_spans + 1) * sizeof *order);
    if (!keys || !order) return rgm_error_no_memory(err);
    for (size_t i = 0; i < view->n_spans; i++) keys[i] = rgm_sort_key_i64(rgm_view_start(view, i));
    RGM_TRY(rgm_sort_order(keys, view->n_spans, order, err));
    sweep(view, order, question->group_by, out);
    return RGM_OK;
}
