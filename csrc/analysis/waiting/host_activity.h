// SPDX-License-Identifier: Apache-2.0
// What a host thread was doing during stretches of time.
#ifndef RGM_ANALYSIS_HOST_ACTIVITY_H
#define RGM_ANALYSIS_HOST_ACTIVITY_H

#include "analysis/view.h"

typedef struct {
    int64_t start_ns, end_ns; // a stretch of positive length
    int32_t lane;             // of the thread, -1 asks nothing
    int32_t span;             // answer: row, -1 for none
    int64_t overlap_ns;       // answer: of span and stretch
} rgm_stretch_of_host;

// Answers with the innermost span of the thread that covers more than half of the stretch; where none does,
// with the outermost one around its middle. A span that covers more than half contains the middle, so each
// thread is swept once over the middles: n log n in spans and stretches, however deep spans nest.
rgm_status rgm_host_activity_find(const rgm_view *view, rgm_stretch_of_host *asked, size_t count,
                                  rgm_error *err) RGM_NODISCARD;

#endif
