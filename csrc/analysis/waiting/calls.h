// SPDX-License-Identifier: Apache-2.0
// Runtime and driver calls that are told by their names: those that wait, and those that make a stream wait.
// What launches is never told by a name: a launch is any call that shares a correlation with device work.
#ifndef RGM_ANALYSIS_CALLS_H
#define RGM_ANALYSIS_CALLS_H

#include <stdbool.h>

#include "base/strings.h"

typedef enum {
    RGM_CALL_OTHER,
    RGM_CALL_AWAITS_DEVICE, // the host waits: hipDeviceSynchronize, cuCtxSynchronize
    RGM_CALL_AWAITS_STREAM, // the same: cudaStreamSynchronize, synchronizeStream
    RGM_CALL_AWAITS_EVENT,  // the same: cudaEventSynchronize
    RGM_CALL_FREE,          // cudaFree, hipFree: waits for the device as a side effect, when it has to
    RGM_CALL_STREAM_WAIT,   // a stream waits: cudaStreamWaitEvent, enqueueCommand waitOnEvent
    RGM_CALL_COPY,          // the host waits for its copy: cudaMemcpy, hipMemcpyWithStream
    RGM_CALL_COPY_ASYNC,    // the host waits only where the memory is pageable: cudaMemcpyAsync
} rgm_call_kind;

rgm_call_kind rgm_call_classify(rgm_string name);

static inline bool rgm_call_synchronizes(rgm_call_kind kind) {
    return kind == RGM_CALL_AWAITS_DEVICE || kind == RGM_CALL_AWAITS_STREAM || kind == RGM_CALL_AWAITS_EVENT;
}

#endif
