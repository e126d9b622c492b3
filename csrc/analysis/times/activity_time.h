// SPDX-License-Identifier: Apache-2.0
// How long each set of activities ran at once, from unions of intervals.
#ifndef RGM_ANALYSIS_ACTIVITY_TIME_H
#define RGM_ANALYSIS_ACTIVITY_TIME_H

#include "analysis/view.h"

enum { RGM_ACTIVITY_STATES = 1 << 3, RGM_DOES_COMPUTE = 1, RGM_DOES_COMMUNICATION = 2, RGM_DOES_MEMORY = 4 };

// in_state[s], zero before: time during which exactly the activities of the bits s ran. `work` holds at least
// one piece, in order of start.
void rgm_activity_time(const rgm_view *view, const uint32_t *work, size_t count,
                       int64_t in_state[RGM_ACTIVITY_STATES]);
// Time with all of the bits `all_of`, none of `none_of`, and any activity at all.
int64_t rgm_activity_sum(const int64_t in_state[RGM_ACTIVITY_STATES], int all_of, int none_of);

#endif
