// SPDX-License-Identifier: Apache-2.0
// The bandwidth of copies as a step function of time, for each device and direction. Each copy counts with
// its bytes over its duration, rounded to whole bytes a second: sums of integers return to 0 exactly.
#ifndef RGM_ANALYSIS_BANDWIDTH_H
#define RGM_ANALYSIS_BANDWIDTH_H

#include "analysis/waiting/copies.h"

typedef struct {
    int64_t time_ns, bandwidth, active; // from time_ns to the next step
} rgm_bandwidth_step;

typedef struct {
    int32_t device; // index into the view's devices
    rgm_copy_direction direction;
    size_t first, end; // into steps, in order of time; the last step is 0 and 0
    int64_t left_out;  // copies without recorded bytes or without length
} rgm_bandwidth_series;

typedef struct {
    rgm_bandwidth_step *steps;
    rgm_bandwidth_series *series; // by device, then by direction
    size_t count;
} rgm_bandwidth;

rgm_status rgm_bandwidth_init(rgm_bandwidth *bandwidth, const rgm_view *view, rgm_error *err) RGM_NODISCARD;
// Zero-initialised memory is a valid argument.
void rgm_bandwidth_release(rgm_bandwidth *bandwidth);

#endif
