// SPDX-License-Identifier: Apache-2.0
// A workload on the processor: the scalar reference, or the fast implementation with a team of threads; timed
// as the same workload on a device is (workloads/gpu_run.h).
//
// Two times are taken, of calls of their own. The kernel's is that of the computation on buffers that stand
// ready. The host call's is what a function costs that gets arrays and returns arrays: allocating the
// buffers, copying the inputs, the computation, copying the outputs, freeing. What is shorter than some 20 us
// is repeated until it is that long, and the time of all repeats is told with their number.
//
// Warm-up goes on while calls touch new pages, RGM_HOST_MORE_WARMUP runs more at the most. Page faults during
// the times are counted: where there are some, a time has the system's part in it, and depends on what the
// allocator kept of the work before.
//
// Threads: any; a call keeps no state.
#ifndef RGM_WORKLOADS_HOST_RUN_H
#define RGM_WORKLOADS_HOST_RUN_H

#include "workloads/fast.h"
#include "workloads/team.h"

enum { RGM_HOST_MOST_RUNS = 1 << 20, RGM_HOST_MORE_WARMUP = 32 };

typedef struct {
    const rgm_fast_set *set;   // NULL: the reference
    unsigned threads;          // of the fast implementation, at most; 0: as many as there are processors
    uint32_t warmup;           // runs that are not timed, at least one is made; 0: no more than that
    uint32_t iterations;       // runs of the kernel that are timed
    uint32_t calls;            // host calls that are timed
    const double *parameters;  // NULL: documented
    const void *const *inputs; // one a buffer of the workload; NULL, also single ones: documented
    void *const *outputs;      // one a buffer; NULL, also single ones: not wanted
    int64_t *times_ns;         // room for `iterations`
    int64_t *call_times_ns;    // room for `calls`
} rgm_host_request;

typedef struct {
    rgm_workload_shape shape;
    unsigned threads;               // that took part
    uint32_t repeats, call_repeats; // in each time
    int64_t faults, call_faults;    // pages that the process touched first during all times
} rgm_host_result;

rgm_status rgm_host_run(const rgm_workload *workload, const rgm_host_request *request,
                        rgm_host_result *result, rgm_error *err) RGM_NODISCARD;

#endif
