// SPDX-License-Identifier: Apache-2.0
// A workload on a device, through the driver: copy in, launch, time, copy out (workloads/gpu_queue.h says
// what is timed). A host call, timed by itself, is what a function costs that gets arrays and returns arrays:
// allocating device memory, copying the inputs, one launch, copying the outputs, waiting, freeing; context
// and code are loaded before.
//
// Threads: any; a call keeps no state and leaves the caller's current context as it was.
#ifndef RGM_WORKLOADS_GPU_RUN_H
#define RGM_WORKLOADS_GPU_RUN_H

#include "workloads/gpu_queue.h"
#include "workloads/workload.h"

typedef struct {
    int device;                // ordinal as the driver counts
    uint32_t warmup;           // launches that are not timed; at least one is made, which loads the code
    uint32_t iterations;       // launches that are timed
    uint32_t block;            // threads of a block; 0: documented (rgm_workload_set_block)
    const double *parameters;  // NULL: documented
    const void *const *inputs; // one a buffer of the workload; NULL, also single ones: documented
    void *const *outputs;      // one a buffer; NULL, also single ones: not wanted
    int64_t *times_ns;         // room for `iterations`
    uint32_t calls;            // host calls that are timed
    int64_t *call_times_ns;    // room for `calls`
    rgm_cubin_cache *cache;    // NULL: none
} rgm_gpu_request;

typedef struct {
    rgm_workload_shape shape;
    int capability; // of the device, times ten
    char arch[16];  // compiled for
    uint32_t gaps;  // timed launches that may have waited for the host
} rgm_gpu_result;

rgm_status rgm_gpu_run(const rgm_workload *workload, const rgm_gpu_request *request, rgm_gpu_result *result,
                       rgm_error *err) RGM_NODISCARD;

#endif
