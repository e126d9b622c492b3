// SPDX-License-Identifier: Apache-2.0
#include "cuda/events/event_pool.h"

#include <pthread.h>

#include "base/memory.h"

_Thread_local rgm_event_pool *rgm_event_pool_cached __attribute__((tls_model("initial-exec")));

// Every pool of the calling thread; each entry holds a reference.
static _Thread_local rgm_event_pool *local;
static pthread_key_t exit_key;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;

static void free_chunks(rgm_event_pool *pool) {
    for (rgm_slot_chunk *chunk = atomic_load(&pool->chunks), *next; chunk; chunk = next) {
        next = chunk->next;
        rgm_free(chunk);
    }
    rgm_free(pool);
}

// A thread that ends leaves the events alone: the runtime's own data of the thread may be gone by now.
static void thread_exit(void *unused) {
    (void)unused;
    rgm_event_pool_cached = NULL;
    while (local) {
        rgm_event_pool *pool = local;
        local = pool->next_local;
        atomic_store(&pool->taken, false);
        if (atomic_fetch_sub(&pool->references, 1) == 1) free_chunks(pool);
    }
}

static void make_key(void) { pthread_key_create(&exit_key, thread_exit); }

static void destroy_events(rgm_event_pool *pool) {
    const rgm_event_provider *provider = pool->provider;
    int saved;
    if (provider->enter(pool->place.home, pool->place.home_id, &saved) != RGM_EVENTS_OK) return;
    for (rgm_slot_chunk *chunk = atomic_load(&pool->chunks); chunk; chunk = chunk->next)
        for (int i = 0; i < RGM_SLOTS_PER_CHUNK; i++) {
            if (chunk->slots[i].begin) provider->destroy(chunk->slots[i].begin);
            if (chunk->slots[i].end) provider->destroy(chunk->slots[i].end);
        }
    provider->leave(saved);
}

void rgm_event_pool_release(rgm_event_pool *pool) {
    if (atomic_fetch_sub(&pool->references, 1) != 1) return;
    if (!atomic_load(&pool->dead)) destroy_events(pool);
    free_chunks(pool);
}

void rgm_event_pool_prune(void) {
    rgm_event_pool **link = &local;
    rgm_event_pool_cached = NULL;
    while (*link) {
        rgm_event_pool *pool = *link;
        if (atomic_load(&pool->owner)) {
            link = &pool->next_local;
            continue;
        }
        *link = pool->next_local;
        rgm_event_pool_release(pool);
    }
}

static bool fits(rgm_event_pool *pool, void *context, uint64_t context_id) {
    return pool->context == context && pool->context_id == context_id && !atomic_load(&pool->dead);
}

rgm_event_pool *rgm_event_pool_find(uint64_t owner, void *context, uint64_t context_id) {
    for (rgm_event_pool *at = local; at; at = at->next_local)
        if (atomic_load(&at->owner) == owner && fits(at, context, context_id))
            return rgm_event_pool_cached = at;
    return NULL;
}

static rgm_event_pool *pool_new(_Atomic(rgm_event_pool *) *pools, uint64_t owner,
                                const rgm_event_provider *provider, void *context, uint64_t context_id) {
    rgm_events_place place;
    if (provider->place_of(context, context_id, &place) != RGM_EVENTS_OK) return NULL;
    rgm_event_pool *pool = rgm_calloc(1, sizeof *pool);
    if (!pool) return NULL;
    rgm_event_pool *newest = atomic_load(pools);
    atomic_store(&pool->owner, owner);
    atomic_store(&pool->references, 1);
    pool->provider = provider;
    pool->context = context;
    pool->context_id = context_id;
    pool->place = place;
    pool->index = newest ? newest->index + 1 : 1;
    pool->next = newest;
    atomic_store_explicit(pools, pool, memory_order_release);
    return pool;
}

rgm_event_pool *rgm_event_pool_adopt(_Atomic(rgm_event_pool *) *pools, uint64_t owner,
                                     const rgm_event_provider *provider, void *context, uint64_t context_id) {
    rgm_event_pool *pool = atomic_load(pools);
    rgm_event_pool_prune();
    while (pool && (atomic_load(&pool->taken) || !fits(pool, context, context_id))) pool = pool->next;
    if (!pool) pool = pool_new(pools, owner, provider, context, context_id);
    if (!pool) return NULL;
    pthread_once(&exit_once, make_key);
    (void)pthread_setspecific(exit_key, &exit_key); // anything but NULL has the destructor called
    atomic_store(&pool->taken, true);
    atomic_fetch_add(&pool->references, 1);
    pool->tenants++;
    pool->next_local = local;
    local = pool;
    return rgm_event_pool_cached = pool;
}

bool rgm_event_slot_is_of_here(const rgm_event_slot *slot) {
    const rgm_event_pool *at = local;
    while (at && at != slot->pool) at = at->next_local;
    return at && at->tenants == slot->tenant;
}

rgm_event_slot *rgm_event_pool_take(rgm_event_pool *pool) {
    rgm_event_slot *slot = pool->free;
    if (RGM_UNLIKELY(!slot)) slot = rgm_slot_take_all(&pool->returned);
    if (RGM_UNLIKELY(!slot)) return NULL;
    pool->free = slot->next;
    slot->tenant = pool->tenants;
    return slot;
}

bool rgm_event_pool_grow(rgm_event_pool *pool) {
    const rgm_event_provider *provider = pool->provider;
    rgm_slot_chunk *chunk = rgm_calloc(1, sizeof *chunk);
    int saved, made = 0;
    if (!chunk) return false;
    if (provider->enter(pool->context, pool->context_id, &saved) == RGM_EVENTS_OK) {
        for (; made < RGM_SLOTS_PER_CHUNK; made++) {
            rgm_event_slot *slot = &chunk->slots[made];
            slot->pool = pool;
            if (provider->create(&slot->begin) != RGM_EVENTS_OK) break;
            if (provider->create(&slot->end) != RGM_EVENTS_OK) break;
            slot->next = pool->free;
            pool->free = slot;
        }
        provider->leave(saved);
    }
    // A chunk that is incomplete is kept for the sake of the slots that are in use.
    chunk->next = atomic_load_explicit(&pool->chunks, memory_order_relaxed);
    atomic_store_explicit(&pool->chunks, chunk, memory_order_release);
    return made > 0;
}
