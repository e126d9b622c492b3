// SPDX-License-Identifier: Apache-2.0
// Threads that share the items of one job after another; the caller is one of them. A team lives within a
// call and on one caller's thread, so nothing of it has to survive a fork.
//
// Waiting is spinning for some microseconds, because the phases of a workload follow one another that fast,
// and then sleeping, because the machine is not ours alone. For the same
// reason a job does not wait for threads that have not begun: what is left is done by those that run, if need
// be by the caller alone.
#ifndef RGM_WORKLOADS_TEAM_H
#define RGM_WORKLOADS_TEAM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

enum { RGM_TEAM_MOST = 64 };

typedef void (*rgm_team_body)(void *argument, size_t begin, size_t end);

typedef struct {
    unsigned size; // threads, the caller included
    pthread_t threads[RGM_TEAM_MOST];
    pthread_mutex_t mutex;
    pthread_cond_t more;
    _Atomic unsigned job;  // counts the jobs; a change is the call to work
    _Atomic unsigned gate; // whether threads may join the job, and how many have
    _Atomic size_t next;
    _Atomic bool ended;
    size_t items, chunk;
    rgm_team_body body;
    void *argument;
} rgm_team;

// Processors that this process may run on, at most RGM_TEAM_MOST.
unsigned rgm_team_processors(void);
// As many threads as could be started, at most `threads`; `size` says how many those are.
void rgm_team_start(rgm_team *team, unsigned threads);
// Calls body for parts of [0, items), each item once, and returns when all of them are done.
void rgm_team_run(rgm_team *team, rgm_team_body body, void *argument, size_t items);
void rgm_team_stop(rgm_team *team);

#endif
