// SPDX-License-Identifier: Apache-2.0
// How the spans of a run hang together: order on each lane, nesting, launches and their device work, steps.
// All of it is derived from times and ids, in n log n, and stored in the columns parent, launch, step and
// flags.
#ifndef RGM_MODEL_LINKS_H
#define RGM_MODEL_LINKS_H

#include <stdbool.h>

#include "model/run.h"

static inline bool rgm_kind_is_work(unsigned kind) {
    return kind == RGM_KIND_KERNEL || kind == RGM_KIND_MEMCPY || kind == RGM_KIND_MEMSET ||
           kind == RGM_KIND_ACCELERATOR;
}
static inline bool rgm_kind_is_call(unsigned kind) {
    return kind == RGM_KIND_RUNTIME || kind == RGM_KIND_DRIVER;
}

// Rows grouped by lane; within one by start, the longer first, then by row. first[lane]..first[lane + 1] are
// the places of a lane in spans.
typedef struct {
    size_t n_lanes;
    uint32_t *first;
    uint32_t *spans;
} rgm_lane_order;

// Rows by start, then by row.
rgm_status rgm_links_by_start(const rgm_run *run, uint32_t *by_start, rgm_error *err) RGM_NODISCARD;
rgm_status rgm_lane_order_init(rgm_lane_order *order, const rgm_run *run, const uint32_t *by_start,
                               rgm_error *err) RGM_NODISCARD;
void rgm_lane_order_release(rgm_lane_order *order);

// Row of the call that launched each piece of device work, -1 elsewhere: the call with the same correlation,
// and if there are several the last that starts no later than the work. *reused counts correlations with
// several.
rgm_status rgm_links_launches(const rgm_run *run, const uint32_t *by_start, rgm_i32 *launch, int64_t *reused,
                              rgm_error *err) RGM_NODISCARD;

// Replaces the correlations in `launches.capture` by the rows of the calls, -1 where the call is not in the
// run.
rgm_status rgm_links_captures(rgm_run *run, const uint32_t *by_start, rgm_error *err) RGM_NODISCARD;

// Notes device work without a launch (and marks it), work before its launch, and correlations used twice.
rgm_status rgm_links_note_work(rgm_run *run, int64_t reused, rgm_error *err) RGM_NODISCARD;

// Fills parent, launch, step, the flags OVERLAPS and ORPHAN, and the spans of flows and of memory events, and
// notes what is doubtful in `anomalies`. For runs that come from a trace.
//
// A span's parent is the innermost span of its lane that encloses it; device work and instants are nobody's
// parent. A host span belongs to the step (annotation ProfilerStep#N) in which it starts, device work to that
// of its launch.
rgm_status rgm_run_link(rgm_run *run, rgm_error *err) RGM_NODISCARD;

#endif
