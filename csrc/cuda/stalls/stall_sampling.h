// SPDX-License-Identifier: Apache-2.0
// Why kernels stall, sampled over a whole recording: in the contexts that the program makes or has, one of a
// device at a time, with nothing of CUDA initialised for it but the driver. Those that are there are taken up
// by start. Those that are made later are taken up in CUPTI's callback, on the program's thread and before
// any work: tracing tells of them, or, where it does not run, a subscription of our own, which another tool
// may have. A thread of ours only collects.
//
// Threads: start and stop from any one thread, at best while no other is inside the driver, for CUPTI and the
// driver may wait for each other then; read and collect from any, not from within a callback. The sink is
// called from the service thread, from those that make and end contexts, and from those that collect and
// stop. Fork: in a child, stop only releases memory.
#ifndef RGM_CUDA_STALL_SAMPLING_H
#define RGM_CUDA_STALL_SAMPLING_H

#include "cuda/stalls/cubins.h"
#include "cuda/stalls/stall_context.h"

typedef struct {
    rgm_stall_setting setting;
    int64_t turn_ns;    // that a call which makes or ends a context waits at most for who is calling CUPTI
    int64_t collect_ns; // between two collections
} rgm_stall_options;

static inline rgm_stall_options rgm_stall_defaults(void) {
    return (rgm_stall_options){
        .setting = {.most_pcs = 4096}, .turn_ns = 100000000, .collect_ns = INT64_C(2000000000)};
}

typedef struct {
    rgm_stall_figures figures;
    rgm_cubin_counts cubins;
    bool asks_for_cubins; // the library does
    bool forked;          // of a child: its parent was sampled, and it is not
    int devices;          // sampled
    int64_t missed;   // contexts that are not sampled because nobody could be waited for, or too many wait
    uint32_t period;  // 2^period cycles, of the first of them; 0 not known
    int64_t cpu_ns;   // of the service thread
    char reason[512]; // why a device is not sampled, "" where nothing stood against it
    char path[512];   // of the library
} rgm_stall_state;

typedef struct rgm_stall_sampling rgm_stall_sampling;

// RGM_UNAVAILABLE with the reason and the remedy without a driver, a library or its PC sampling, and where it
// cannot be had beside the records of kernels that are made already, and beside another sampling. What a
// device refuses (rights, another profiler) is known when it has a context, and in the state then.
rgm_status rgm_stall_sampling_start(rgm_stall_sampling **out, const rgm_stall_options *options,
                                    rgm_device_sink sink, rgm_error *err) RGM_NODISCARD;
// Hands over what there is.
void rgm_stall_sampling_collect(rgm_stall_sampling *sampling);
void rgm_stall_sampling_read(rgm_stall_sampling *sampling, rgm_stall_state *state);
// Stops and frees; NULL is fine, and `state` may be NULL.
void rgm_stall_sampling_stop(rgm_stall_sampling *sampling, rgm_stall_state *state);

#endif
