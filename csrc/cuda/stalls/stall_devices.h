// SPDX-License-Identifier: Apache-2.0
// Which context of each device is sampled: CUPTI takes one of a device at a time, so of several the first, to
// its end, and then the next that waits.
//
// Sampling is begun on a thread of the program alone, and best in its call that makes the context: begun by
// another thread while one is inside the driver, CUPTI and the driver wait for each other for ever.
//
// Threads: one at a time.
#ifndef RGM_CUDA_STALL_DEVICES_H
#define RGM_CUDA_STALL_DEVICES_H

#include "cuda/stalls/stall_context.h"

enum { RGM_STALL_DEVICES = 64, RGM_STALL_WAITING = 16 };

typedef enum { RGM_STALL_UNSEEN, RGM_STALL_SAMPLED, RGM_STALL_REFUSED } rgm_stall_seen;

typedef struct {
    const rgm_driver *driver;
    const rgm_cupti *cupti;
    rgm_stall_setting setting;
    rgm_source_lines *lines;
    rgm_activity_names *names;
    int count;
    rgm_cu_device handles[RGM_STALL_DEVICES];
    rgm_stall_seen seen[RGM_STALL_DEVICES];
    rgm_stall_context contexts[RGM_STALL_DEVICES];
    bool retained[RGM_STALL_DEVICES]; // a primary one that was there already; the others end when they like
    bool counted[RGM_STALL_DEVICES];  // in `sampled`
    struct {
        rgm_cu_context context;
        int ordinal;
    } waiting[RGM_STALL_WAITING]; // in the order in which they were made
    size_t waiting_count;
    int sampled;      // devices, ever
    uint32_t period;  // of the first of them
    int64_t no_place; // contexts that could not even wait
    char reason[512]; // of the first refusal
} rgm_stall_devices;

// Fills `count` and `handles`; the fields before them are the caller's.
void rgm_stall_devices_read(rgm_stall_devices *d);
// Takes up primary contexts that are there, and what waits.
void rgm_stall_devices_look(rgm_stall_devices *d);
// A context has been made, on this thread.
void rgm_stall_devices_made(rgm_stall_devices *d, rgm_cu_context context);
// A context is about to end, on this thread; what waits for its device is taken up.
void rgm_stall_devices_ends(rgm_stall_devices *d, rgm_cu_context context);
// A context has ended: nothing is called.
void rgm_stall_devices_forget(rgm_stall_devices *d, rgm_cu_context context);
// All but the retained ones, whose ends nobody tells any more.
void rgm_stall_devices_forget_untold(rgm_stall_devices *d);
void rgm_stall_devices_collect(rgm_stall_devices *d);
void rgm_stall_devices_stop(rgm_stall_devices *d);
// Frees without a call.
void rgm_stall_devices_release(rgm_stall_devices *d);

#endif
