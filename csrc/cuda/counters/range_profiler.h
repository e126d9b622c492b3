// SPDX-License-Identifier: Apache-2.0
// The Range Profiler: counters of the device work that is launched between push and pop. Only sets that fit
// one pass are taken, so nothing of the program is run again; and ranges are ours, not one per kernel, so
// kernels are not serialised. What remains: stop waits for the device, and the counters of a context can have
// one profiler.
//
// A range becomes a row of kind counter_range (host time of push and pop), and one counter row per metric at
// the same time_ns, its series called by the metric. Start times of ranges are distinct, so that time and
// device lead from the one to the other. Rows come when the profiler stops.
//
// Threads: everything from the thread that started it and whose current context it took; calls of other
// threads are counted and ignored. Fork: in a child, stop only releases memory.
#ifndef RGM_CUDA_RANGE_PROFILER_H
#define RGM_CUDA_RANGE_PROFILER_H

#include "cuda/counters/counter_plan.h"
#include "cuda/sink.h"

typedef struct {
    rgm_counter_set set;
    uint32_t max_ranges; // of a recording; those beyond are dropped and counted
} rgm_range_options;

static inline rgm_range_options rgm_range_defaults(void) {
    return (rgm_range_options){.set = RGM_COUNTER_SET_REGIME, .max_ranges = 1000};
}

typedef struct {
    int64_t ranges;   // handed to the sink
    int64_t dropped;  // beyond max_ranges, or by the library
    int64_t nested;   // inside an open range: part of that one
    int64_t foreign;  // of other threads
    int64_t failures; // of the library's push, pop, decoding or evaluating
} rgm_range_counts;

typedef struct rgm_range_profiler rgm_range_profiler;

// For the context that is current in the calling thread. RGM_UNAVAILABLE with the reason and the remedy
// without a context, device, library, interface or privilege, or when another profiler has the counters.
rgm_status rgm_range_profiler_start(rgm_range_profiler **out, const rgm_range_options *options,
                                    rgm_device_sink sink, rgm_error *err) RGM_NODISCARD;
// `name` is a string id of the sink. A range inside a range belongs to the outer one. Neither fails.
void rgm_range_profiler_push(rgm_range_profiler *profiler, uint32_t name);
void rgm_range_profiler_pop(rgm_range_profiler *profiler);
// Ends an open range, waits for the device, hands everything to the sink and frees. NULL is fine. `counts`
// may be NULL.
void rgm_range_profiler_stop(rgm_range_profiler *profiler, rgm_range_counts *counts);
const rgm_counter_plan *rgm_range_profiler_plan(const rgm_range_profiler *profiler);

#endif
