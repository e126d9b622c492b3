// SPDX-License-Identifier: Apache-2.0
// At which line of the program the host was while a device had nothing to do, by samples of call stacks.
#ifndef RGM_ANALYSIS_IDLE_LINES_H
#define RGM_ANALYSIS_IDLE_LINES_H

#include "analysis/policy.h"
#include "analysis/waiting/idle.h"

typedef struct {
    int32_t stack;   // of the line, -1 for none
    int64_t samples; // of the thread in the gap; 0 where the line is that of the nearest sample
    double share;    // of those, at the line; NAN where there is none
} rgm_idle_line;

// lines[i]: of gaps[i], of the thread that launched the work which ends the gap: where most of its samples
// stood before that launch began (in the whole gap, where it was launched early). A gap between two samples
// has the line of the nearest, if that is no farther than idle_line_reach_ns.
rgm_status rgm_idle_lines_find(const rgm_view *view, const rgm_policy *policy, const rgm_gap *gaps,
                               size_t count, rgm_idle_line *lines, rgm_error *err) RGM_NODISCARD;

#endif
