// SPDX-License-Identifier: Apache-2.0
// What to try next: every rule looks at the run, claims that overlap are merged, and what is left is ranked.
//
// A suggestion claims times of the critical path: what it could save at most lies there, because time off the
// path can go without the run becoming shorter. Claims are merged greedily: rules that name one cause come
// before those that only say where the time goes, within these the larger claim first, and each counts only
// what no claim before it has. Of work of the host no more is counted than the device idles: without it the
// run still takes as long as the device works. The saved times of all suggestions together are therefore at
// most the path. A suggestion that only says where the time goes is merged when others count most of it.
#ifndef RGM_SUGGEST_SUGGEST_H
#define RGM_SUGGEST_SUGGEST_H

#include "analysis/policy.h"
#include "analysis/view.h"
#include "model/regimes.h"

// Fills both tables, which the caller releases; `ceilings` may be NULL. A pure function of its arguments.
rgm_status rgm_suggest(const rgm_view *view, const rgm_policy *policy, const rgm_ceilings *ceilings,
                       rgm_suggestions *suggestions, rgm_suggestion_evidence *evidence,
                       rgm_error *err) RGM_NODISCARD;

#endif
