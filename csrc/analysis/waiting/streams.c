// SPDX-License-Identifier: Apache-2.0
#include "analysis/waiting/streams.h"

#include "base/memory.h"

static rgm_status by_device(rgm_streams *tracks) {
    const rgm_view *view = tracks->view;
    tracks->rows = view->work;
    tracks->first = view->device_first;
    tracks->count = view->n_devices;
    for (size_t d = 0; d < tracks->count; d++) {
        tracks->lane[d] = -1;
        tracks->device[d] = (int32_t)d;
    }
    return RGM_OK;
}

static void append_lane(rgm_streams *tracks, size_t lane, uint32_t *at) {
    const rgm_view *view = tracks->view;
    tracks->lane[tracks->count] = (int32_t)lane;
    tracks->device[tracks->count] = view->lane_device[lane];
    tracks->own_first[tracks->count++] = *at;
    for (uint32_t i = view->lane_first[lane]; i < view->lane_first[lane + 1]; i++)
        if (rgm_kind_is_work(rgm_view_kind(view, view->lane_spans[i])))
            tracks->own_rows[(*at)++] = view->lane_spans[i];
}

// Lanes in order of their device, by counting: `order` has room for all lanes, `first` for all devices.
static void order_lanes(const rgm_view *view, uint32_t *first, uint32_t *order) {
    for (size_t lane = 0; lane < view->n_lanes; lane++)
        if (view->lane_device[lane] >= 0) first[view->lane_device[lane] + 1]++;
    for (size_t d = 0; d < view->n_devices; d++) first[d + 1] += first[d];
    for (size_t lane = 0; lane < view->n_lanes; lane++)
        if (view->lane_device[lane] >= 0) order[first[view->lane_device[lane]]++] = (uint32_t)lane;
}

static rgm_status by_lane(rgm_streams *tracks, rgm_error *err) {
    const rgm_view *view = tracks->view;
    uint32_t at = 0;
    size_t streams = 0;
    tracks->own_rows = rgm_malloc((view->n_work + 1) * sizeof(uint32_t));
    tracks->own_first = rgm_calloc(view->n_lanes + 1, sizeof(uint32_t));
    uint32_t *order = rgm_malloc(view->n_lanes * sizeof *order);
    uint32_t *first = rgm_calloc(view->n_devices + 2, sizeof *first);
    if (tracks->own_rows && tracks->own_first && order && first) {
        for (size_t lane = 0; lane < view->n_lanes; lane++) streams += view->lane_device[lane] >= 0;
        order_lanes(view, first, order);
        for (size_t i = 0; i < streams; i++) append_lane(tracks, order[i], &at);
        tracks->own_first[tracks->count] = at;
        tracks->rows = tracks->own_rows;
        tracks->first = tracks->own_first;
    }
    rgm_free(order);
    rgm_free(first);
    return tracks->rows ? RGM_OK : rgm_error_no_memory(err);
}

rgm_status rgm_streams_init(rgm_streams *tracks, const rgm_view *view, bool by_stream, rgm_error *err) {
    *tracks = (rgm_streams){.view = view};
    tracks->lane = rgm_malloc(view->n_lanes * sizeof(int32_t));
    tracks->device = rgm_malloc(view->n_lanes * sizeof(int32_t));
    rgm_status status = !tracks->lane || !tracks->device ? rgm_error_no_memory(err)
                        : by_stream                      ? by_lane(tracks, err)
                                                         : by_device(tracks);
    if (status != RGM_OK) rgm_streams_release(tracks);
    return status;
}

void rgm_streams_release(rgm_streams *tracks) {
    rgm_free(tracks->lane);
    rgm_free(tracks->device);
    rgm_free(tracks->own_rows);
    rgm_free(tracks->own_first);
    *tracks = (rgm_streams){0};
}

rgm_extent_ns rgm_streams_extent(const rgm_streams *tracks, size_t track) {
    const rgm_view *view = tracks->view;
    rgm_extent_ns extent = {INT64_MAX, INT64_MIN};
    for (uint32_t i = tracks->first[track]; i < tracks->first[track + 1]; i++) {
        int64_t start = rgm_view_start(view, tracks->rows[i]), end = rgm_view_end(view, tracks->rows[i]);
        if (start < extent.start) extent.start = start;
        if (end > extent.end) extent.end = end;
    }
    return extent;
}
