// SPDX-License-Identifier: Apache-2.0
// The sampling thread: looks at the stacks of all threads and at the resident set, each at an interval of its
// own. Looks that are due within half an interval of one another are taken in one waking: each takes a
// processor from the program, and on its way to the thread and back costs more than what is looked at.
//
// Stacks are looked at after pauses that vary by half of themselves around their mean, so that they do not
// keep step with a loop.
#ifndef RGM_CAPTURE_SAMPLING_H
#define RGM_CAPTURE_SAMPLING_H

#include <pthread.h>
#include <stdatomic.h>

#include "capture/host_memory.h"
#include "capture/session.h"

typedef struct {
    pthread_t thread;
    pthread_mutex_t mutex; // of what follows, up to the thread's own
    pthread_cond_t wake;
    bool running, stop, forked;
    int64_t memory_interval_ns; // 0: never
    rgm_memory_watch memory;
    uint64_t random;                                // the thread's
    _Atomic(uint32_t) stacks_one_in, memory_one_in; // looks that are taken, 0 or 1: all
    _Atomic(int64_t) stacks_cpu_ns, memory_cpu_ns;  // spent by the thread so far
} rgm_sampling;

void rgm_sampling_init(rgm_sampling *sampling, int64_t memory_interval_ns, int64_t heartbeat_ns);
void rgm_sampling_release(rgm_sampling *sampling);
// Starts the thread where there is something to look at and it does not run; under the state lock.
void rgm_sampling_start(rgm_session *session);
// Joins the thread, which takes a last look at the memory: a recording that ends before it ran has one, too.
// It may be about to take the state lock.
void rgm_sampling_stop(rgm_session *session);
// In the child of a fork.
void rgm_sampling_forked(rgm_session *session);

#endif
