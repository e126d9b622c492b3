// SPDX-License-Identifier: Apache-2.0
// PM sampling: the device writes its counters into a buffer of its own at a fixed interval, whatever runs on
// it, and a thread of ours decodes them. Nothing of the program is run again or serialised; the price is the
// decoding and what the samples take. Every sample is of the whole device, also of work of other processes.
//
// Each metric becomes a series called by its name, in the order time, value: a row stands at the start of its
// sample, and its value holds to the start of the next. What was lost is noted as dropped_counters.
//
// Threads: start and stop from any one thread; the sink is called from the service thread, and by stop from
// its caller. Fork: in a child, stop only releases memory.
#ifndef RGM_CUDA_PM_SAMPLING_H
#define RGM_CUDA_PM_SAMPLING_H

#include "cuda/counters/counter_plan.h"
#include "cuda/sink.h"

typedef struct {
    int device;
    rgm_counter_set set;
    int64_t interval_ns; // between samples; Turing and GA100 count it in cycles, so there it is a nominal one
    int64_t decode_ns;   // between two looks at the buffer
    size_t buffer_bytes; // of the hardware buffer, in device memory
    uint32_t max_samples; // decoded at a time
} rgm_pm_options;

static inline rgm_pm_options rgm_pm_defaults(void) {
    return (rgm_pm_options){.set = RGM_COUNTER_SET_PM,
                            .interval_ns = 1000000,
                            .decode_ns = 10000000,
                            .buffer_bytes = (size_t)64 << 20,
                            .max_samples = 1024};
}

typedef struct {
    int64_t samples;   // handed to the sink
    int64_t dropped;   // missing between two samples, from their times
    int64_t overflows; // times that the hardware buffer was too small
    int64_t late;      // not after those handed over before; left out
    int64_t failures;  // of decoding
    int64_t cpu_ns;    // spent by the service thread
    bool guessed;      // the times of the samples were on no clock that is known: they are aligned to their
                       // decoding, so they may be late by up to decode_ns
} rgm_pm_counts;

typedef struct rgm_pm_sampling rgm_pm_sampling;

// Plans, configures and starts. What does not fit one pass is left out (rgm_pm_sampling_plan tells).
// RGM_UNAVAILABLE with the reason and the remedy without a device, library, interface or privilege, and while
// another profiler has the counters.
rgm_status rgm_pm_sampling_start(rgm_pm_sampling **out, const rgm_pm_options *options, rgm_device_sink sink,
                                 rgm_error *err) RGM_NODISCARD;
// Stops the sampling, hands the rest to the sink and frees. NULL is fine. `counts` may be NULL.
void rgm_pm_sampling_stop(rgm_pm_sampling *sampling, rgm_pm_counts *counts);
const rgm_counter_plan *rgm_pm_sampling_plan(const rgm_pm_sampling *sampling);

#endif
