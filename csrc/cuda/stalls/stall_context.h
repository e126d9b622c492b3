// SPDX-License-Identifier: Apache-2.0
// PC sampling of one context: every so many cycles each multiprocessor notes where one of its warps is and
// why that did not go on. Continuous: kernels are neither serialised nor run again.
//
// CUPTI samples one context of a device at a time. Between start and stop control is used, because it is what
// other tools use on contexts that have work already.
//
// Threads: one at a time.
#ifndef RGM_CUDA_STALL_CONTEXT_H
#define RGM_CUDA_STALL_CONTEXT_H

#include "cuda/sink.h"
#include "cuda/stalls/source_lines.h"
#include "cuda/trace/activity_names.h"
#include "cuda/trace/cupti.h"

typedef struct {
    int64_t samples;    // of all instructions
    int64_t not_issued; // of them where the scheduler issued nothing
    int64_t total;      // as CUPTI counts them, with those of no record and the dropped
    int64_t dropped;    // by the hardware
    int64_t no_record;  // of kernels that are not the program's
    int64_t lines;      // of the samples of instructions whose line of source is known
    int64_t full;       // times that the hardware's buffer was full
    int64_t failures;   // of collecting
} rgm_stall_figures;

typedef struct {
    const rgm_driver *driver;
    const rgm_cupti *cupti;
    rgm_source_lines *lines;
    rgm_cu_context context;
    int16_t device;
    uint32_t period; // 2^period cycles between two samples of a multiprocessor, as CUPTI tells it
    bool enabled, started;
    size_t reasons;
    uint32_t *indices; // [reasons] as CUPTI numbers them
    char *names;       // [reasons][RGM_CUPTI_STALL_NAME]
    uint32_t *places;  // [reasons] the reason that it is: an index of `texts`
    bool *quiet;       // [reasons] of samples in which nothing was issued
    uint32_t *texts;   // [reasons] string ids
    uint32_t *sums;    // [reasons][2] of one instruction
    size_t texts_count;
    rgm_cupti_pc_data data;
    rgm_cupti_stall *stalls; // [data.room][reasons]
    rgm_stall_figures figures;
} rgm_stall_context;

typedef struct {
    uint32_t period; // 5 to 31; 0: CUPTI's own, by the number of multiprocessors
    size_t most_pcs; // taken at a time
} rgm_stall_setting;

// Enables, configures and starts. RGM_UNAVAILABLE with the reason; then nothing is left behind. `context` is
// alive.
rgm_status rgm_stall_context_start(rgm_stall_context *c, const rgm_stall_setting *setting,
                                   rgm_device_sink sink, rgm_error *err) RGM_NODISCARD;
// Hands over what CUPTI has; it never waits for the device.
void rgm_stall_context_collect(rgm_stall_context *c, rgm_activity_names *names);
// Stops, hands over the rest and disables.
void rgm_stall_context_stop(rgm_stall_context *c, rgm_activity_names *names);
// Frees without a call: where the context, or the process that had it, is gone.
void rgm_stall_context_release(rgm_stall_context *c);

#endif
