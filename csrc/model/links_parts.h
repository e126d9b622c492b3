// SPDX-License-Identifier: Apache-2.0
// What the files that link a run share. Only they include it.
//
// Two threads may link one run: what belongs to lanes (parent, the flag OVERLAPS, spans of flows and memory
// events) and what belongs to launches (launch, step) are columns of their own, read nothing of each other,
// and lanes are handed out one by one.
#ifndef RGM_MODEL_LINKS_PARTS_H
#define RGM_MODEL_LINKS_PARTS_H

#include <stdatomic.h>

#include "model/lane_order.h"
#include "model/links.h"

static inline uint8_t rgm_links_kind(const rgm_run *run, size_t row) {
    return (uint8_t)RGM_CELL(&run->spans, kind, row, RGM_KIND_SCOPE);
}

// links_nesting.c
typedef struct {
    rgm_run *run;
    rgm_lane_order spans, flows, memory;
    size_t largest, most; // the lane with most spans, and how many
    _Atomic(size_t) next;
    _Atomic(int64_t) overlaps; // found so far
} rgm_links_lanes;

// Groups what there is by lane. May be released even when it fails.
rgm_status rgm_links_lanes_init(rgm_links_lanes *lanes, rgm_run *run, rgm_error *err) RGM_NODISCARD;
// Links lanes until none is left; any number of threads may do so at once.
rgm_status rgm_links_lanes_work(rgm_links_lanes *lanes, rgm_error *err) RGM_NODISCARD;
void rgm_links_lanes_release(rgm_links_lanes *lanes);

// links_launches.c
typedef struct {
    int64_t orphans;               // device work without a call
    int64_t reused;                // correlations of several calls
    int64_t early, first_early_ns; // device work that begins before its call, and the first of it in the file
} rgm_links_found;

// Fills launch.
rgm_status rgm_links_join(rgm_run *run, rgm_links_found *found, rgm_error *err) RGM_NODISCARD;
// Flags device work without a call, once nobody else writes flags.
void rgm_links_flag_orphans(rgm_run *run);

#endif
