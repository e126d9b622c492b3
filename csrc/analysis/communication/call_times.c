// SPDX-License-Identifier: Apache-2.0
#include "analysis/communication/call_times.h"

#include "analysis/stats.h"
#include "analysis/waiting/coverage.h"
#include "base/memory.h"

typedef struct {
    rgm_coverage compute, any;
} occupation;

static rgm_status occupy(occupation *device, const rgm_view *view, int32_t index, rgm_error *err) {
    for (uint32_t w = view->device_first[index]; w < view->device_first[index + 1]; w++) {
        uint32_t row = view->work[w];
        int64_t start = rgm_view_start(view, row), end = rgm_view_end(view, row);
        RGM_TRY(rgm_coverage_add(&device->any, start, end, err));
        if (rgm_view_activity(view, row) == RGM_ACTIVITY_COMPUTE)
            RGM_TRY(rgm_coverage_add(&device->compute, start, end, err));
    }
    return RGM_OK;
}

static void release(occupation *device) {
    rgm_coverage_release(&device->compute);
    rgm_coverage_release(&device->any);
    *device = (occupation){0};
}

static rgm_call_times times_of(const occupation *device, int64_t left, int64_t start, int64_t end) {
    rgm_call_times t = {0};
    t.exposed_ns = rgm_subtract_bounded(end, start) - rgm_coverage_within(&device->compute, start, end);
    if (start <= left) return t;
    int64_t busy = rgm_coverage_within(&device->any, left, start);
    t.since_ns = rgm_subtract_bounded(start, left);
    t.compute_ns = rgm_coverage_within(&device->compute, left, start);
    t.memory_ns = busy - t.compute_ns;
    t.idle_ns = t.since_ns - busy;
    return t;
}

rgm_status rgm_call_times_find(const rgm_view *view, const rgm_collective_calls *calls, rgm_call_times *times,
                               rgm_error *err) {
    RGM_RELEASED(release) occupation device = {0};
    int64_t left = 0; // when the last of the communication so far has ended
    for (size_t i = 0; i < calls->count; i++) {
        const rgm_collective_call *call = &calls->calls[i];
        if (i == 0 || call->device != calls->calls[i - 1].device) {
            release(&device);
            RGM_TRY(occupy(&device, view, call->device, err));
            left = rgm_view_start(view, view->work[view->device_first[call->device]]);
        }
        int64_t end = rgm_view_end(view, call->row);
        times[i] = times_of(&device, left, rgm_view_start(view, call->row), end);
        if (end > left) left = end;
    }
    return RGM_OK;
}
