// SPDX-License-Identifier: Apache-2.0
// Slots: pairs of events, in pools of one thread and one context each.
//
// A slot goes round: its thread takes it from the pool's free list and records the first event (OPEN); some
// thread records the second one and puts it on the stack of ended slots (ENDED); the resolver takes that
// stack whole, and gives the slot back through the pool's own stack, which its thread takes whole when the
// free list is empty. Only the first two steps are on the hot path, and none takes a lock.
//
// Ownership: a pool belongs to the events and to the thread that uses it; the last one frees it. When a
// thread ends, its pool waits for another thread of the same context.
#ifndef RGM_CUDA_EVENT_POOL_H
#define RGM_CUDA_EVENT_POOL_H

#include <stdatomic.h>
#include <stddef.h>

#include "cuda/events/event_provider.h"
#include "model/schema.h"

enum { RGM_SLOTS_PER_CHUNK = 64 };

typedef struct rgm_event_pool rgm_event_pool;
typedef struct rgm_event_slot rgm_event_slot;

typedef enum { RGM_SLOT_FREE, RGM_SLOT_OPEN, RGM_SLOT_ENDED, RGM_SLOT_HELD } rgm_slot_state;

struct rgm_event_slot {
    void *begin, *end;
    rgm_event_pool *pool;
    rgm_event_slot *next; // on the list or stack that it is on
    uint64_t stream;
    uint32_t tenant; // which of the pool's threads began it
    uint64_t number;
    uint64_t begin_ticks, end_ticks;
    _Atomic(int) state; // rgm_slot_state
    rgm_interval_state outcome;
    // The resolver's.
    bool seen;        // was open when the resolver last looked
    bool placed;      // begin_ns is known already
    int64_t begin_ns; // on the timeline
};

typedef struct rgm_slot_chunk {
    struct rgm_slot_chunk *next;
    rgm_event_slot slots[RGM_SLOTS_PER_CHUNK];
} rgm_slot_chunk;

struct rgm_event_pool {
    _Atomic(uint64_t) owner; // id of the events; 0 once they are gone
    const rgm_event_provider *provider;
    void *context;
    uint64_t context_id;
    rgm_events_place place;
    uint32_t index;
    uint32_t tenants;          // threads that have used it, the one that does included
    _Atomic(uint64_t) counter; // of its intervals; its thread counts
    rgm_event_slot *free;      // its thread's
    _Atomic(rgm_event_slot *) returned;
    _Atomic(rgm_slot_chunk *) chunks;
    _Atomic(bool) dead;  // its context is gone
    _Atomic(bool) taken; // a thread uses it
    _Atomic(int) references;
    rgm_event_pool *next;       // of the events, newest first
    rgm_event_pool *next_local; // of the thread
};

static inline void rgm_slot_push(_Atomic(rgm_event_slot *) *stack, rgm_event_slot *slot) {
    slot->next = atomic_load_explicit(stack, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(stack, &slot->next, slot, memory_order_release,
                                                  memory_order_relaxed)) {
    }
}
// Takes a stack whole; the slot that was pushed last comes first.
static inline rgm_event_slot *rgm_slot_take_all(_Atomic(rgm_event_slot *) *stack) {
    return atomic_exchange_explicit(stack, NULL, memory_order_acquire);
}

// The thread's pool for a context; NULL when there is no memory or the context does not answer. `pools` is
// the list of the events with the id, which the caller has locked against other calls of adopt.
rgm_event_pool *rgm_event_pool_adopt(_Atomic(rgm_event_pool *) *pools, uint64_t owner,
                                     const rgm_event_provider *provider, void *context, uint64_t context_id);
// The same, among those that the thread has used before.
rgm_event_pool *rgm_event_pool_find(uint64_t owner, void *context, uint64_t context_id);
// Whether the calling thread is the one that took the slot. A pool goes from a thread that has ended to
// another.
bool rgm_event_slot_is_of_here(const rgm_event_slot *slot);
// Takes a free slot; NULL when there is none (see grow).
rgm_event_slot *rgm_event_pool_take(rgm_event_pool *pool);
// Makes a chunk of slots; false when the runtime or the heap refuses.
bool rgm_event_pool_grow(rgm_event_pool *pool);
// Lets go of a pool; the last one destroys its events, where their context is still there.
void rgm_event_pool_release(rgm_event_pool *pool);
// Lets go of pools of the calling thread whose events are gone.
void rgm_event_pool_prune(void);

extern _Thread_local rgm_event_pool *rgm_event_pool_cached __attribute__((tls_model("initial-exec")));

#endif
