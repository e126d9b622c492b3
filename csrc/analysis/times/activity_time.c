// SPDX-License-Identifier: Apache-2.0
#include "analysis/times/activity_time.h"

#include "analysis/stats.h"

static const uint8_t bit_of[RGM_ACTIVITY_COUNT] = {
    [RGM_ACTIVITY_COMPUTE] = RGM_DOES_COMPUTE,
    [RGM_ACTIVITY_COMMUNICATION] = RGM_DOES_COMMUNICATION,
    [RGM_ACTIVITY_MEMORY] = RGM_DOES_MEMORY,
};

// The ends of what runs are three running maxima, because all work of one activity that overlaps is one
// interval.
void rgm_activity_time(const rgm_view *view, const uint32_t *work, size_t count,
                       int64_t in_state[RGM_ACTIVITY_STATES]) {
    int64_t ends[3] = {INT64_MIN, INT64_MIN, INT64_MIN};
    int64_t now = rgm_view_start(view, work[0]);
    for (size_t w = 0; w <= count; w++) {
        int64_t next = w < count ? rgm_view_start(view, work[w]) : INT64_MAX;
        for (;;) { // from now to the next start, one stretch per end that lies between
            int state = 0;
            int64_t until = next;
            for (int a = 0; a < 3; a++) {
                if (ends[a] <= now) continue;
                state |= 1 << a;
                if (ends[a] < until) until = ends[a];
            }
            if (w == count && state == 0) return;
            in_state[state] = rgm_add_bounded(in_state[state], rgm_subtract_bounded(until, now));
            now = until;
            if (until == next) break;
        }
        if (w == count) return;
        int bit = bit_of[rgm_view_activity(view, work[w])];
        int64_t end = rgm_view_end(view, work[w]);
        for (int a = 0; a < 3; a++)
            if (bit >> a & 1 && end > ends[a]) ends[a] = end;
    }
}

int64_t rgm_activity_sum(const int64_t in_state[RGM_ACTIVITY_STATES], int all_of, int none_of) {
    int64_t sum = 0;
    for (int state = 1; state < RGM_ACTIVITY_STATES; state++)
        if ((state & all_of) == all_of && !(state & none_of)) sum = rgm_add_bounded(sum, in_state[state]);
    return sum;
}
