// SPDX-License-Identifier: Apache-2.0
// What holds still over a fork of the process. One list for all: before the fork each takes its locks, in the
// order of the places; after it, in the parent and in the child, each lets go of them, in the reverse order.
#ifndef RGM_BASE_FORK_H
#define RGM_BASE_FORK_H

// The order in which threads take these locks where they take several.
typedef enum {
    RGM_FORK_POOLS,   // of memory; they ask devices under it
    RGM_FORK_WATCHES, // of the program's first use of a device
    RGM_FORK_TRACING,
    RGM_FORK_EVENTS,
    RGM_FORK_COUNTERS,
    RGM_FORK_NVML,
    RGM_FORK_DRIVER,
    RGM_FORK_CUPTI,
    RGM_FORK_LIBRARIES, // the folders that are searched
    RGM_FORK_SESSIONS,
    RGM_FORK_ONCE,
    RGM_FORK_SPILL, // of all that allocates
    RGM_FORK_PLACES
} rgm_fork_place;

// All three are there.
typedef struct {
    void (*before)(void), (*parent)(void), (*child)(void);
} rgm_fork_hooks;

// From now on, and for good; again is nothing. Not under a lock that `before` takes. The hooks stay
// where they are as long as the process runs.
void rgm_fork_watch(rgm_fork_place place, const rgm_fork_hooks *hooks);

#endif
