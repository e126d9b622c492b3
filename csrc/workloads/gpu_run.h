// SPDX-License-Identifier: Apache-2.0
// A workload on a device, through the driver: copy in, launch, time, copy out (workloads/gpu_queue.h says
// what is timed), and the same on the processor.
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
    const double *parameters;  // NULL: documented
    const void *const *inputs; // one a buffer of the workload; NULL, also single ones: documented
    void *const *outputs;      // one a buffer; NULL, also single ones: not wanted
    int64_t *times_ns;         // room for `iterations`
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

// The same computation by the reference implementation; inputs and outputs as above.
rgm_status rgm_reference_run(const rgm_workload *workload, const double *parameters,
                             const void *const *inputs, void *const *outputs, rgm_workload_shape *shape,
                             rgm_error *err) RGM_NODISCARD;

#endif
