// SPDX-License-Identifier: Apache-2.0
// What waited for device work, as the files that find it out share it.
#ifndef RGM_ANALYSIS_CRITICAL_WAITS_H
#define RGM_ANALYSIS_CRITICAL_WAITS_H

#include "analysis/critical/critical.h"

// A wait of which the trace does not say for what.
typedef struct {
    uint32_t call;
    uint8_t class; // rgm_call_kind
    uint32_t work; // work that waits, for RGM_CALL_STREAM_WAIT
} rgm_wait;

static inline size_t rgm_critical_work_count(const rgm_critical *graph) {
    return (graph->n_nodes - graph->n_points) / 2;
}
static inline uint32_t rgm_critical_work(const rgm_critical *graph, size_t work) {
    return graph->span[graph->n_points + 2 * work];
}

// The call returned when that work was over (-1: none).
void rgm_critical_await(rgm_critical *graph, uint32_t call, int64_t work, bool inferred);
// Work did not begin before that work was over; of several, the latest counts.
void rgm_critical_hold_back(rgm_critical *graph, uint32_t waiting, int64_t work, bool inferred);
rgm_status rgm_critical_infer(rgm_critical *graph, const rgm_wait *asked, size_t n_asked,
                              rgm_error *err) RGM_NODISCARD;

#endif
