// SPDX-License-Identifier: Apache-2.0
// GPU performance monitoring of NVML: averages of some counters between two samples of the driver (Hopper and
// later). The fallback where the counters themselves need rights that the user has not: coarser in time,
// fewer, and of the whole device as well.
//
// The series are those of RGM_GPM_METRICS; a row stands at the start of its interval, and its value holds to
// the start of the next. Threads, fork: as in pm_sampling.h.
#ifndef RGM_CUDA_GPM_H
#define RGM_CUDA_GPM_H

#include "base/status.h"
#include "cuda/sink.h"

#define RGM_GPM_LEAST_NS INT64_C(100000000) // the documented least distance of two samples

typedef struct {
    int device;          // CUDA's ordinal
    int64_t interval_ns; // between samples
} rgm_gpm_options;

static inline rgm_gpm_options rgm_gpm_defaults(void) { return (rgm_gpm_options){.interval_ns = 200000000}; }

typedef struct {
    int64_t samples;  // intervals handed to the sink
    int64_t failures; // of reading one
    int64_t cpu_ns;   // spent by the service thread
} rgm_gpm_counts;

typedef struct rgm_gpm rgm_gpm;

// RGM_UNAVAILABLE with the reason when NVML, its GPM functions or a device that supports them is missing.
rgm_status rgm_gpm_start(rgm_gpm **out, const rgm_gpm_options *options, rgm_device_sink sink,
                         rgm_error *err) RGM_NODISCARD;
// Takes a last sample, unless the one before is too fresh, and frees. NULL is fine. `counts` may be NULL.
void rgm_gpm_stop(rgm_gpm *gpm, rgm_gpm_counts *counts);

#endif
