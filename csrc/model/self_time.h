// SPDX-License-Identifier: Apache-2.0
// Whose time on a host lane it is: at each moment that of the span that began last among those open. The
// times of a lane add up to the union of its spans even where they overlap in part.
//
//     rgm_self_time self = {.run = run, .open = room for the spans of the lane, .take = take, .context = me};
//     rgm_self_time_begin(&self, row);  // each span of the lane, in the order of rgm_lane_order
//     rgm_self_time_end(&self);         // after the last; then the next lane
#ifndef RGM_MODEL_SELF_TIME_H
#define RGM_MODEL_SELF_TIME_H

#include "model/run.h"

typedef struct {
    const rgm_run *run;
    uint32_t *open; // rows, the last begun last
    // Is told that `ns` more, which is positive, belong to the span.
    void (*take)(void *context, uint32_t row, int64_t ns);
    void *context;
    size_t depth;
    int64_t now;
} rgm_self_time;

// Kinds that are host time: no device work, no marks, and no records of waits (sync), since the host waits in
// its calls.
bool rgm_kind_is_host_time(rgm_kind kind);

void rgm_self_time_begin(rgm_self_time *self, uint32_t row);
void rgm_self_time_end(rgm_self_time *self);

#endif
