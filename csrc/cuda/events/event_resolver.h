// SPDX-License-Identifier: Apache-2.0
// Reads pairs of events that have ended, off the hot path: a thread that asks the device now and then, and
// sends what it has passed to the sink.
//
// Threads: give from any thread, without a lock; everything else from any thread. Fork: lock before, unlock
// after in the parent, forget in the child, which has no such thread.
#ifndef RGM_CUDA_EVENT_RESOLVER_H
#define RGM_CUDA_EVENT_RESOLVER_H

#include <pthread.h>

#include "cuda/events/event_timeline.h"

typedef struct {
    rgm_device_sink sink;
    _Atomic(rgm_event_pool *) *pools; // newest first; the list only grows
    int64_t poll_ns;                  // 0: no thread
    _Atomic(rgm_event_slot *) ended;  // newest first
    _Atomic(uint64_t) ended_count, resolved;
    _Atomic(int64_t) cpu_ns; // of the thread

    pthread_mutex_t mutex; // life of the thread
    pthread_cond_t wake, progress;
    pthread_t thread;
    bool running, stopped;
    int waiters;

    pthread_mutex_t poll_mutex; // what follows
    rgm_event_timeline *timelines;
    uint32_t timeline_count;
    int64_t looked_ns; // when scopes that are open for long were last looked at
} rgm_event_resolver;

void rgm_event_resolver_init(rgm_event_resolver *resolver, rgm_device_sink sink,
                             _Atomic(rgm_event_pool *) *pools, int64_t poll_ns);
// Starts the thread unless it runs or has been stopped.
void rgm_event_resolver_start(rgm_event_resolver *resolver);
// One look at the device by the calling thread.
void rgm_event_resolver_poll(rgm_event_resolver *resolver);
// Waits for the thread to read what had ended before; returns how much is left when the time is over.
int64_t rgm_event_resolver_drain(rgm_event_resolver *resolver, int64_t timeout_ns);
void rgm_event_resolver_stop(rgm_event_resolver *resolver);
// `lost`: the runtime must not be called any more.
void rgm_event_resolver_release(rgm_event_resolver *resolver, bool lost);

void rgm_event_resolver_lock(rgm_event_resolver *resolver);
void rgm_event_resolver_unlock(rgm_event_resolver *resolver);
void rgm_event_resolver_forget(rgm_event_resolver *resolver);

// Takes a slot over.
static inline void rgm_event_resolver_give(rgm_event_resolver *resolver, rgm_event_slot *slot) {
    atomic_fetch_add_explicit(&resolver->ended_count, 1, memory_order_relaxed);
    rgm_slot_push(&resolver->ended, slot);
}
// Slots that have ended and are not read.
static inline int64_t rgm_event_resolver_left(const rgm_event_resolver *resolver) {
    return (int64_t)(atomic_load(&resolver->ended_count) - atomic_load(&resolver->resolved));
}

#endif
