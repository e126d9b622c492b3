// SPDX-License-Identifier: Apache-2.0
// What limits a program, in one sentence: the causes that its time divides into, and which comes first.
//
// Without device work the window is divided by what the thread that drives the program did; with it by what
// its busiest device did. The cause with the most time is the verdict, unless a view of the same time by
// steps explains most of it (the first step, uneven steps), or memory grows. Causes within the margin of the
// first are tied with it: twice the error of both shares, and never less than `verdict_margin`.
#ifndef RGM_SUGGEST_VERDICT_H
#define RGM_SUGGEST_VERDICT_H

#include "analysis/policy.h"
#include "analysis/view.h"

// Fills the table, which the caller releases; no row where the run holds nothing. A pure function.
rgm_status rgm_verdict_compute(const rgm_view *view, const rgm_policy *policy, rgm_causes *out,
                               rgm_error *err) RGM_NODISCARD;

#endif
