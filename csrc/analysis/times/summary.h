// SPDX-License-Identifier: Apache-2.0
// Scopes of a Run -> derived values per scope (entries) and per operation (summary). Pure
// functions; the caller releases the tables.
#ifndef RGM_ANALYSIS_SUMMARY_H
#define RGM_ANALYSIS_SUMMARY_H

#include "analysis/policy.h"
#include "analysis/view.h"
#include "model/run.h"

// One row per scope, in the order of `spans`. Time of children is subtracted from their parent only on the
// same lane, so the exclusive times of a lane add up to the time it spent in scopes. `view` tells which
// device work was launched in them; NULL where that is not asked for.
rgm_status rgm_entries_compute(const rgm_run *run, const rgm_view *view, rgm_entries *entries,
                               rgm_error *err) RGM_NODISCARD;
// Whether a view of the run would tell anything of its scopes.
bool rgm_entries_need_view(const rgm_run *run);
// One row per operation and declared device, by exclusive time, longest first, ties by name.
rgm_status rgm_summary_compute(const rgm_run *run, const rgm_entries *entries, const rgm_policy *policy,
                               rgm_summary *summary, rgm_error *err) RGM_NODISCARD;

#endif
