// SPDX-License-Identifier: Apache-2.0
// What a device did around each of its communication kernels: how long the kernel ran with nothing to hide
// it, and what the device did from the end of the communication before to the kernel's start. The three
// parts of that time add up to it; communication is none of them, as all that began before has ended.
#ifndef RGM_ANALYSIS_CALL_TIMES_H
#define RGM_ANALYSIS_CALL_TIMES_H

#include "analysis/communication/collective.h"

typedef struct {
    int64_t exposed_ns; // of the kernel, with no compute kernel on the device
    int64_t since_ns; // from the end of all communication that began earlier; from the first work without any
    int64_t compute_ns, memory_ns, idle_ns; // parts of since_ns: as in the breakdown
} rgm_call_times;

// times[i] is of calls->calls[i]; since_ns is 0 where communication that began earlier still runs.
rgm_status rgm_call_times_find(const rgm_view *view, const rgm_collective_calls *calls, rgm_call_times *times,
                               rgm_error *err) RGM_NODISCARD;

#endif
