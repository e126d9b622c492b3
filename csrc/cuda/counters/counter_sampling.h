// SPDX-License-Identifier: Apache-2.0
// Counters of a device over time, from the best source that can be had: PM sampling, and where that cannot be
// used (rights, another profiler, CUPTI, the chip) NVML's GPM, which says that it is the fallback and why.
//
// Threads, fork: as in pm_sampling.h.
#ifndef RGM_CUDA_COUNTER_SAMPLING_H
#define RGM_CUDA_COUNTER_SAMPLING_H

#include "cuda/counters/gpm.h"
#include "cuda/counters/pm_sampling.h"

// X(NAME, token)
#define RGM_COUNTER_FEEDS(X)                                                                                 \
    X(AUTO, "auto")                                                                                          \
    X(PM, "pm")                                                                                              \
    X(GPM, "gpm")

#define RGM_COUNTER_FEED_ENUM(name, token) RGM_COUNTER_FEED_##name,
typedef enum { RGM_COUNTER_FEEDS(RGM_COUNTER_FEED_ENUM) RGM_COUNTER_FEED_COUNT } rgm_counter_feed;

typedef struct {
    rgm_counter_feed feed;
    int device;
    rgm_counter_set set;
    int64_t interval_ns; // 0: the source's own; GPM takes at least 100 ms
} rgm_sampling_options;

typedef struct {
    rgm_counter_feed feed; // what was used: PM or GPM
    char reason[512];      // why it was not PM sampling; empty when it was, or was not asked for
    rgm_pm_counts pm;
    rgm_gpm_counts gpm;
} rgm_sampling_report;

typedef struct rgm_counter_sampling rgm_counter_sampling;

// RGM_UNAVAILABLE when no source can be used; the message has the reason of each.
rgm_status rgm_counter_sampling_start(rgm_counter_sampling **out, const rgm_sampling_options *options,
                                      rgm_device_sink sink, rgm_error *err) RGM_NODISCARD;
// NULL is fine. `report` may be NULL.
void rgm_counter_sampling_stop(rgm_counter_sampling *sampling, rgm_sampling_report *report);
// The plan of PM sampling; NULL when GPM is used.
const rgm_counter_plan *rgm_counter_sampling_plan(const rgm_counter_sampling *sampling);

#endif
