// SPDX-License-Identifier: Apache-2.0
#include "analysis/waiting/occupied.h"

#include "base/memory.h"
#include "base/search.h"
#include "base/sort.h"

static rgm_coverage *of_activity(rgm_occupied_device *device, rgm_activity activity) {
    switch (activity) {
    case RGM_ACTIVITY_COMMUNICATION: return &device->communication;
    case RGM_ACTIVITY_MEMORY: return &device->memory;
    default: return &device->compute;
    }
}

static rgm_status fill(rgm_occupied_device *device, const rgm_view *view, size_t d, rgm_error *err) {
    for (uint32_t w = view->device_first[d]; w < view->device_first[d + 1]; w++) {
        uint32_t row = view->work[w];
        int64_t start = rgm_view_start(view, row), end = rgm_view_end(view, row);
        RGM_TRY(rgm_coverage_add(&device->any, start, end, err));
        rgm_activity activity = rgm_view_activity(view, row);
        RGM_TRY(rgm_coverage_add(of_activity(device, activity), start, end, err));
        if (activity != RGM_ACTIVITY_MEMORY) RGM_TRY(rgm_coverage_add(&device->not_memory, start, end, err));
    }
    return RGM_OK;
}

static rgm_status order_by_end(rgm_occupied *occupied, rgm_error *err) {
    const rgm_view *view = occupied->view;
    uint64_t *keys = rgm_malloc((view->n_work + 1) * sizeof *keys);
    uint32_t *order = rgm_malloc((view->n_work + 1) * sizeof *order);
    occupied->by_end = rgm_malloc((view->n_work + 1) * sizeof *occupied->by_end);
    rgm_status status = keys && order && occupied->by_end ? RGM_OK : rgm_error_no_memory(err);
    for (size_t d = 0; status == RGM_OK && d < view->n_devices; d++) {
        const uint32_t first = view->device_first[d], count = view->device_first[d + 1] - first;
        for (uint32_t i = 0; i < count; i++)
            keys[i] = rgm_sort_key_i64(rgm_view_end(view, view->work[first + i]));
        status = rgm_sort_order(keys, count, order, err);
        for (uint32_t i = 0; status == RGM_OK && i < count; i++)
            occupied->by_end[first + i] = view->work[first + order[i]];
    }
    rgm_free(keys);
    rgm_free(order);
    return status;
}

rgm_status rgm_occupied_init(rgm_occupied *occupied, const rgm_view *view, rgm_error *err) {
    *occupied = (rgm_occupied){.view = view, .count = view->n_devices};
    occupied->devices = rgm_calloc(view->n_devices + 1, sizeof *occupied->devices);
    rgm_status status = occupied->devices ? RGM_OK : rgm_error_no_memory(err);
    for (size_t d = 0; status == RGM_OK && d < view->n_devices; d++)
        status = fill(&occupied->devices[d], view, d, err);
    if (status == RGM_OK) status = order_by_end(occupied, err);
    if (status != RGM_OK) rgm_occupied_release(occupied);
    return status;
}

void rgm_occupied_release(rgm_occupied *occupied) {
    for (size_t d = 0; occupied->devices && d < occupied->count; d++) {
        rgm_coverage_release(&occupied->devices[d].any);
        rgm_coverage_release(&occupied->devices[d].compute);
        rgm_coverage_release(&occupied->devices[d].communication);
        rgm_coverage_release(&occupied->devices[d].memory);
        rgm_coverage_release(&occupied->devices[d].not_memory);
    }
    rgm_free(occupied->devices);
    rgm_free(occupied->by_end);
    *occupied = (rgm_occupied){0};
}

uint32_t rgm_occupied_ended(const rgm_occupied *occupied, int32_t device, int64_t time) {
    const rgm_view *view = occupied->view;
    rgm_search search = rgm_search_in(view->device_first[device], view->device_first[device + 1]);
    while (rgm_search_on(&search))
        rgm_search_tell(&search, rgm_view_end(view, occupied->by_end[search.middle]) <= time);
    return (uint32_t)search.low;
}
