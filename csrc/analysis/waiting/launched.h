// SPDX-License-Identifier: Apache-2.0
// Launches with their work. A launch is a call that device work names by its correlation, whatever it is
// called.
#ifndef RGM_ANALYSIS_LAUNCHED_H
#define RGM_ANALYSIS_LAUNCHED_H

#include "analysis/stats.h"
#include "analysis/view.h"

static inline uint32_t rgm_launched_count(const rgm_view *view, size_t call) {
    return view->launched_first[call + 1] - view->launched_first[call];
}
// Of a call that launched something: its work that started first.
static inline uint32_t rgm_launched_earliest(const rgm_view *view, size_t call) {
    uint32_t best = view->launched[view->launched_first[call]];
    for (uint32_t i = view->launched_first[call] + 1; i < view->launched_first[call + 1]; i++)
        if (rgm_view_start(view, view->launched[i]) < rgm_view_start(view, best)) best = view->launched[i];
    return best;
}
// Whether launching took longer than all that was launched runs.
static inline bool rgm_launched_is_bound(const rgm_view *view, size_t call) {
    const rgm_i64 *duration = view->run->spans.duration_ns;
    int64_t sum = 0;
    for (uint32_t i = view->launched_first[call]; i < view->launched_first[call + 1]; i++)
        sum = rgm_add_bounded(sum, duration[view->launched[i]]);
    return sum < duration[call];
}

#endif
