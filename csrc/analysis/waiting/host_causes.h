// SPDX-License-Identifier: Apache-2.0
// What the launching thread did while a device had nothing to do, told by the names of its spans.
#ifndef RGM_ANALYSIS_HOST_CAUSES_H
#define RGM_ANALYSIS_HOST_CAUSES_H

#include "analysis/waiting/idle.h"

typedef enum {
    RGM_HOST_OTHER,
    RGM_HOST_INPUT,
    RGM_HOST_ALLOCATION,
    RGM_HOST_COMPILE,
    RGM_HOST_OPTIMIZER,
    RGM_HOST_SYNC, // never answered below: synchronisation is known to the nanosecond
    RGM_HOST_CAUSES
} rgm_host_cause;

// causes[i]: of idle->gaps[i], before the launch of its next work; OTHER where that is not known.
rgm_status rgm_host_causes_find(const rgm_idle *idle, const rgm_view *view, uint8_t *causes,
                                rgm_error *err) RGM_NODISCARD;

#endif
