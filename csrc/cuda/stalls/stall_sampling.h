// SPDX-License-Identifier: Apache-2.0
// Why kernels stall, sampled over a whole recording: in every primary context that the program makes or has
// (those of CUDA's runtime, and so of torch, CuPy and JAX), one a device, with nothing of CUDA initialised
// for it but the driver. A thread of ours looks for them and collects. Contexts that a program makes by the
// driver's own functions are not sampled.
//
// Threads: start and stop from any one thread; read and collect from any. The sink is called from the service
// thread and from those that collect and stop. Fork: in a child, stop only releases memory.
#ifndef RGM_CUDA_STALL_SAMPLING_H
#define RGM_CUDA_STALL_SAMPLING_H

#include "cuda/stalls/cubins.h"
#include "cuda/stalls/stall_context.h"

enum { RGM_STALL_DEVICES = 64 };

typedef struct {
    rgm_stall_setting setting;
    int64_t look_ns;    // between two looks for contexts, which find more samples of a program's begin
    int64_t collect_ns; // between two collections
} rgm_stall_options;

static inline rgm_stall_options rgm_stall_defaults(void) {
    return (rgm_stall_options){
        .setting = {.most_pcs = 4096}, .look_ns = 2000000, .collect_ns = INT64_C(2000000000)};
}

typedef struct {
    rgm_stall_figures figures;
    rgm_cubin_counts cubins;
    bool asks_for_cubins; // the library does
    bool forked;          // of a child: its parent was sampled, and it is not
    int devices;          // sampled
    uint32_t period;      // 2^period cycles, of the first of them; 0 not known
    int64_t cpu_ns;       // of the service thread
    char reason[512];     // why a device is not sampled, "" where nothing stood against it
    char path[512];       // of the library
} rgm_stall_state;

typedef struct rgm_stall_sampling rgm_stall_sampling;

// RGM_UNAVAILABLE with the reason and the remedy without a driver, a library or its PC sampling, and where it
// cannot be had beside the records of kernels that are made already. What a device refuses (rights, another
// profiler) is known when it has a context, and in the state then.
rgm_status rgm_stall_sampling_start(rgm_stall_sampling **out, const rgm_stall_options *options,
                                    rgm_device_sink sink, rgm_error *err) RGM_NODISCARD;
// Hands over what there is.
void rgm_stall_sampling_collect(rgm_stall_sampling *sampling);
void rgm_stall_sampling_read(rgm_stall_sampling *sampling, rgm_stall_state *state);
// Stops and frees; NULL is fine, and `state` may be NULL.
void rgm_stall_sampling_stop(rgm_stall_sampling *sampling, rgm_stall_state *state);

#endif
