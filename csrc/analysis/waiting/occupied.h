// SPDX-License-Identifier: Apache-2.0
// When each device worked, at all and by activity, as unions of intervals, and what ended when.
#ifndef RGM_ANALYSIS_OCCUPIED_H
#define RGM_ANALYSIS_OCCUPIED_H

#include "analysis/view.h"
#include "analysis/waiting/coverage.h"

typedef struct {
    rgm_coverage any, compute, communication, memory;
    rgm_coverage not_memory; // compute or communication
} rgm_occupied_device;

typedef struct {
    const rgm_view *view;
    rgm_occupied_device *devices;
    size_t count;
    uint32_t *by_end; // the view's work; of each device in order of end
} rgm_occupied;

rgm_status rgm_occupied_init(rgm_occupied *occupied, const rgm_view *view, rgm_error *err) RGM_NODISCARD;
// Zero-initialised memory is a valid argument.
void rgm_occupied_release(rgm_occupied *occupied);
// Index into by_end after the last work of the device that has ended at `time`.
uint32_t rgm_occupied_ended(const rgm_occupied *occupied, int32_t device, int64_t time);

#endif
