// SPDX-License-Identifier: Apache-2.0
// The queue of a stream as a step function of time: how much work was launched and not started, and how much
// ran. Work is queued from the start of its launch call, because the host may be held inside the call while
// the queue is full; work that starts before its call (clocks that disagree) is never queued, nor is work
// without a recorded launch.
#ifndef RGM_ANALYSIS_BACKLOG_H
#define RGM_ANALYSIS_BACKLOG_H

#include "analysis/waiting/streams.h"

typedef struct {
    int64_t time_ns, queued, running; // from time_ns to the next step
} rgm_backlog_step;

// Buffers for the largest stream, used for one stream after another.
typedef struct {
    rgm_backlog_step *steps;
    size_t count;
    int64_t end_ns; // latest end of the stream's work
    int64_t *entered, *left, *ended, *scratch;
} rgm_backlog;

// Looks at the queue of one stream: its steps in order of time, of which the last is 0 and 0.
typedef rgm_status (*rgm_backlog_look)(void *context, const rgm_streams *tracks, size_t track,
                                       const rgm_backlog *queue, rgm_error *err);

// Calls `look` for every stream of the run, in their order.
rgm_status rgm_backlog_each(const rgm_view *view, rgm_backlog_look look, void *context,
                            rgm_error *err) RGM_NODISCARD;

#endif
