// SPDX-License-Identifier: Apache-2.0
// The stretches of time that are judged: a run, its steps, or its scopes, on each device that they concern.
#ifndef RGM_ANALYSIS_REGION_WINDOWS_H
#define RGM_ANALYSIS_REGION_WINDOWS_H

#include "analysis/policy.h"
#include "analysis/view.h"

typedef struct {
    int64_t start, end;
    int32_t device; // of the view, -1 where there is none
    int32_t step;
    rgm_name name;
} rgm_window;

typedef struct {
    rgm_window *rows;
    size_t count, capacity;
} rgm_windows;

// From the first work of each device to its last.
rgm_status rgm_windows_of_run(rgm_windows *windows, const rgm_view *view, rgm_error *err) RGM_NODISCARD;
// The time of each step on the host.
rgm_status rgm_windows_of_steps(rgm_windows *windows, const rgm_view *view, const rgm_policy *policy,
                                rgm_error *err) RGM_NODISCARD;
// Each scope or annotation of a host, not those inside one of the same name, until its end or, where that is
// later, the end of the work that was launched in it.
rgm_status rgm_windows_of_scopes(rgm_windows *windows, const rgm_view *view, const rgm_policy *policy,
                                 rgm_error *err) RGM_NODISCARD;
void rgm_windows_release(rgm_windows *windows);

#endif
