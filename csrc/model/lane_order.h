// SPDX-License-Identifier: Apache-2.0
// Rows grouped by lane, and in each lane in the order in which spans nest.
#ifndef RGM_MODEL_LANE_ORDER_H
#define RGM_MODEL_LANE_ORDER_H

#include "model/run.h"

// first[lane]..first[lane + 1] are the places of a lane in rows. Zero-initialised memory may be released; who
// takes the memory over frees `rows` with rgm_block_free.
typedef struct {
    size_t n_lanes;
    uint32_t *first;
    uint32_t *rows;
} rgm_lane_order;

// Spans by lane; within one by start, the longer first, then by row. A run without lanes holds all on lane 0.
rgm_status rgm_lane_order_init(rgm_lane_order *order, const rgm_run *run, rgm_error *err) RGM_NODISCARD;
void rgm_lane_order_release(rgm_lane_order *order);

// The two halves of init, for those who sort lanes on several threads. Groups any rows by lane, in order of
// row; `lane` may be NULL for lane 0, and rows of lanes that are out of range are left out.
rgm_status rgm_lane_order_group(rgm_lane_order *order, const uint32_t *lane, size_t count, size_t n_lanes,
                                rgm_error *err) RGM_NODISCARD;
// Sorts one lane of spans; scratch has room for its rows.
rgm_status rgm_lane_order_sort(const rgm_lane_order *order, const rgm_run *run, size_t lane,
                               uint32_t *scratch, rgm_error *err) RGM_NODISCARD;
// Rows of the lane that has most, which is written to *lane.
size_t rgm_lane_order_largest(const rgm_lane_order *order, size_t *lane);

#endif
