// SPDX-License-Identifier: Apache-2.0
#include "cuda/events/events.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/fork.h"
#include "base/memory.h"
#include "cuda/events/event_resolver.h"

// Ticks between two attempts to find a runtime: a tenth of a second, more or less.
static const uint64_t attempt_ticks = UINT64_C(1) << 28;

struct rgm_events {
    _Atomic(uint64_t) id; // 0 once closed
    rgm_events_options options;
    const rgm_event_provider *const *providers;
    _Atomic(const rgm_event_provider *) provider; // NULL while none can be used
    _Atomic(uint64_t) next_attempt;               // ticks
    _Atomic(bool) lost;                           // a child of a process that used the device
    _Atomic(rgm_event_pool *) pools;
    _Atomic(uint64_t) refused, slots;

    pthread_mutex_t mutex; // adopting pools
    rgm_event_resolver resolver;
    rgm_events *next; // in the registry
};

static pthread_mutex_t registry_mutex = PTHREAD_MUTEX_INITIALIZER;
static rgm_events *registry;
static _Atomic(uint64_t) id_source = 1;

// --- fork -------------------------------------------------------------------------------------------------

static void fork_prepare(void) {
    pthread_mutex_lock(&registry_mutex);
    for (rgm_events *e = registry; e; e = e->next) {
        pthread_mutex_lock(&e->mutex);
        rgm_event_resolver_lock(&e->resolver);
    }
}

static void fork_unlock(void) {
    for (rgm_events *e = registry; e; e = e->next) {
        rgm_event_resolver_unlock(&e->resolver);
        pthread_mutex_unlock(&e->mutex);
    }
    pthread_mutex_unlock(&registry_mutex);
}

// Where the device was in use the child is off for good: its runtime cannot be called any more, not even to
// destroy events. Where it was not, nothing has been lost.
static void fork_child(void) {
    for (rgm_events *e = registry; e; e = e->next) {
        if (atomic_load(&e->pools)) atomic_store(&e->lost, true);
        rgm_event_resolver_forget(&e->resolver);
    }
    fork_unlock();
}

static const rgm_fork_hooks hooks = {fork_prepare, fork_unlock, fork_child};

// --- finding a runtime ------------------------------------------------------------------------------------

static const rgm_event_provider *const standard[] = {&rgm_events_of_cuda, &rgm_events_of_hip, NULL};

static rgm_status attempt(rgm_events *events, bool told, const rgm_event_provider **found, rgm_error *err) {
    rgm_error first = RGM_ERROR_NONE;
    for (const rgm_event_provider *const *at = events->providers; *at; at++) {
        rgm_error why = RGM_ERROR_NONE;
        rgm_status status = RGM_UNAVAILABLE;
        if ((*at)->needs_source && !told)
            (void)rgm_error_set(&why, RGM_UNAVAILABLE, "%s: no library of the program uses it", (*at)->title);
        else
            status = (*at)->open(&why);
        *found = *at;
        if (status == RGM_OK) return RGM_OK;
        if (!first.message[0]) first = why;
    }
    *found = NULL;
    return rgm_error_set(err, RGM_UNAVAILABLE, "%s", first.message);
}

static const rgm_event_provider *find_provider(rgm_events *events, bool told) {
    const rgm_event_provider *found = NULL;
    rgm_error why = RGM_ERROR_NONE;
    uint64_t now = rgm_clock_ticks();
    if (now < atomic_load_explicit(&events->next_attempt, memory_order_relaxed)) return NULL;
    if (attempt(events, told, &found, &why) != RGM_OK) {
        atomic_store(&events->next_attempt, now + attempt_ticks);
        return NULL;
    }
    atomic_store(&events->provider, found);
    return found;
}

rgm_status rgm_events_status(rgm_events *events, rgm_error *err) {
    const rgm_event_provider *found = atomic_load(&events->provider);
    if (atomic_load(&events->lost))
        return rgm_error_set(err, RGM_UNAVAILABLE,
                             "this process was forked from one that used the device; start it with spawn or "
                             "forkserver");
    return found ? RGM_OK : attempt(events, true, &found, err);
}

bool rgm_events_ready(rgm_events *events) {
    if (atomic_load_explicit(&events->lost, memory_order_relaxed)) return false;
    return atomic_load_explicit(&events->provider, memory_order_acquire) || find_provider(events, false);
}

// --- the hot path -----------------------------------------------------------------------------------------

static rgm_event_pool *pool_of(rgm_events *events, const rgm_event_provider *provider, void *context,
                               uint64_t context_id, uint64_t id) {
    rgm_event_pool *pool = rgm_event_pool_cached;
    if (RGM_LIKELY(pool && atomic_load_explicit(&pool->owner, memory_order_relaxed) == id &&
                   pool->context == context && pool->context_id == context_id &&
                   !atomic_load_explicit(&pool->dead, memory_order_relaxed)))
        return pool;
    pool = rgm_event_pool_find(id, context, context_id);
    if (pool) return pool;
    pthread_mutex_lock(&events->mutex);
    pool = rgm_event_pool_adopt(&events->pools, id, provider, context, context_id);
    pthread_mutex_unlock(&events->mutex);
    if (pool) rgm_event_resolver_start(&events->resolver);
    return pool;
}

static rgm_event_slot *take_slot(rgm_events *events, rgm_event_pool *pool) {
    rgm_event_slot *slot = rgm_event_pool_take(pool);
    if (RGM_LIKELY(slot)) return slot;
    if ((int64_t)atomic_load(&events->slots) + RGM_SLOTS_PER_CHUNK <= events->options.max_slots &&
        rgm_event_pool_grow(pool)) {
        atomic_fetch_add(&events->slots, RGM_SLOTS_PER_CHUNK);
        slot = rgm_event_pool_take(pool);
    }
    return slot;
}

static rgm_interval_state outcome_of(rgm_events_result result) {
    if (RGM_LIKELY(result == RGM_EVENTS_OK)) return RGM_INTERVAL_MEASURED;
    if (result == RGM_EVENTS_DOWN) return RGM_INTERVAL_PENDING; // nobody will read it any more
    return result == RGM_EVENTS_GONE ? RGM_INTERVAL_LOST : RGM_INTERVAL_FAILED;
}

// Records in a default stream of a context that is not current in this thread.
static rgm_events_result record_inside(const rgm_event_pool *pool, void *event, uint64_t stream) {
    int saved;
    rgm_events_result result = pool->provider->enter(pool->context, pool->context_id, &saved);
    if (result != RGM_EVENTS_OK) return result;
    result = pool->provider->capturing(stream) ? RGM_EVENTS_REFUSED : pool->provider->record(event, stream);
    pool->provider->leave(saved);
    return result;
}

rgm_event_slot *rgm_events_begin(rgm_events *events, uint64_t stream, bool told, int device) {
    const rgm_event_provider *provider = atomic_load_explicit(&events->provider, memory_order_acquire);
    uint64_t id = atomic_load_explicit(&events->id, memory_order_relaxed), context_id = 0;
    void *context = NULL;
    if (RGM_UNLIKELY(!id || atomic_load_explicit(&events->lost, memory_order_relaxed))) return NULL;
    if (RGM_UNLIKELY(!provider) && !(provider = find_provider(events, told))) return NULL;
    rgm_events_result found = provider->context_of(stream, &context, &context_id);
    bool outside = RGM_UNLIKELY(found == RGM_EVENTS_NO_CONTEXT) && device >= 0 && provider->primary;
    if (outside) found = provider->primary(device, &context, &context_id);
    if (RGM_UNLIKELY(found != RGM_EVENTS_OK)) return NULL;
    rgm_event_pool *pool = pool_of(events, provider, context, context_id, id);
    rgm_event_slot *slot = pool ? take_slot(events, pool) : NULL;
    if (RGM_UNLIKELY(!slot)) {
        atomic_fetch_add_explicit(&events->refused, 1, memory_order_relaxed);
        events->resolver.sink.note(events->resolver.sink.arg, RGM_ANOMALY_DROPPED_DEVICE_ROWS, 1);
        return NULL;
    }
    slot->stream = stream;
    uint64_t count = atomic_load_explicit(&pool->counter, memory_order_relaxed) + 1;
    atomic_store_explicit(&pool->counter, count, memory_order_relaxed);
    slot->number = ((uint64_t)pool->index << 40) | count;
    slot->begin_ticks = slot->end_ticks = rgm_clock_ticks(); // before: no event passes before it is recorded
    if (RGM_UNLIKELY(outside))
        slot->outcome = outcome_of(record_inside(pool, slot->begin, stream));
    else
        slot->outcome = provider->capturing(stream) ? RGM_INTERVAL_CAPTURED
                                                    : outcome_of(provider->record(slot->begin, stream));
    if (RGM_LIKELY(slot->outcome == RGM_INTERVAL_MEASURED))
        atomic_store_explicit(&slot->state, RGM_SLOT_OPEN, memory_order_release);
    return slot;
}

static rgm_interval_state record_end(const rgm_event_provider *provider, rgm_event_slot *slot,
                                     uint64_t stream) {
    const rgm_event_pool *pool = slot->pool;
    void *context = NULL;
    uint64_t context_id = 0;
    rgm_events_result result = provider->context_of(stream, &context, &context_id);
    if (result != RGM_EVENTS_OK && result != RGM_EVENTS_NO_CONTEXT) return outcome_of(result);
    if (result == RGM_EVENTS_NO_CONTEXT && stream == slot->stream) { // as it was at the begin
        slot->end_ticks = rgm_clock_ticks();
        return outcome_of(record_inside(pool, slot->end, stream));
    }
    bool elsewhere = RGM_UNLIKELY(stream == RGM_STREAM_OF_THREAD) && !rgm_event_slot_is_of_here(slot);
    if (stream != slot->stream || context != pool->context || elsewhere) return RGM_INTERVAL_STREAM_CHANGED;
    if (context_id != pool->context_id) return RGM_INTERVAL_LOST;
    if (provider->capturing(stream)) return RGM_INTERVAL_CAPTURED;
    slot->end_ticks = rgm_clock_ticks();
    return outcome_of(provider->record(slot->end, stream));
}

static void hand_over(rgm_events *events, rgm_event_slot *slot) {
    if (RGM_UNLIKELY(slot->outcome == RGM_INTERVAL_LOST)) atomic_store(&slot->pool->dead, true);
    // Only a slot with two recorded events is looked at before it comes out of the stack.
    bool measured = slot->outcome == RGM_INTERVAL_MEASURED;
    atomic_store_explicit(&slot->state, measured ? RGM_SLOT_ENDED : RGM_SLOT_FREE, memory_order_release);
    rgm_event_resolver_give(&events->resolver, slot);
}

uint64_t rgm_events_end(rgm_events *events, rgm_event_slot *slot, uint64_t stream) {
    if (RGM_UNLIKELY(!atomic_load_explicit(&events->id, memory_order_relaxed) ||
                     atomic_load_explicit(&events->lost, memory_order_relaxed)))
        return 0;
    uint64_t number = slot->number; // once handed over the slot may be used again at any time
    if (RGM_LIKELY(slot->outcome == RGM_INTERVAL_MEASURED))
        slot->outcome = record_end(slot->pool->provider, slot, stream);
    hand_over(events, slot);
    return number;
}

// The row has no owner and is forgotten; the resolver gives the slot back.
void rgm_events_abandon(rgm_events *events, rgm_event_slot *slot) {
    if (!atomic_load(&events->id) || atomic_load(&events->lost)) return;
    if (slot->outcome == RGM_INTERVAL_MEASURED) slot->outcome = RGM_INTERVAL_STREAM_CHANGED;
    hand_over(events, slot);
}

// --- life -------------------------------------------------------------------------------------------------

rgm_status rgm_events_new(rgm_events **events, rgm_device_sink sink, const rgm_events_options *options,
                          const rgm_event_provider *const *providers, rgm_error *err) {
    rgm_events *e = rgm_calloc(1, sizeof *e);
    if (!e) return rgm_error_no_memory(err);
    rgm_fork_watch(RGM_FORK_EVENTS, &hooks);
    e->options = *options;
    e->providers = providers ? providers : standard;
    pthread_mutex_init(&e->mutex, NULL);
    rgm_event_resolver_init(&e->resolver, sink, &e->pools, options->poll_ns);
    atomic_store(&e->id, atomic_fetch_add(&id_source, 1));
    pthread_mutex_lock(&registry_mutex);
    e->next = registry;
    registry = e;
    pthread_mutex_unlock(&registry_mutex);
    *events = e;
    return RGM_OK;
}

void rgm_events_get_stats(rgm_events *events, rgm_events_stats *stats) {
    *stats = (rgm_events_stats){
        .ended = atomic_load(&events->resolver.ended_count),
        .resolved = atomic_load(&events->resolver.resolved),
        .refused = atomic_load(&events->refused),
        .slots = atomic_load(&events->slots),
        .service_cpu_ns = atomic_load(&events->resolver.cpu_ns),
    };
    for (rgm_event_pool *pool = atomic_load(&events->pools); pool; pool = pool->next)
        stats->begun += atomic_load_explicit(&pool->counter, memory_order_relaxed);
}

void rgm_events_poll(rgm_events *events) {
    if (!atomic_load(&events->lost)) rgm_event_resolver_poll(&events->resolver);
}

int64_t rgm_events_drain(rgm_events *events, int64_t timeout_ns) {
    return atomic_load(&events->lost) ? 0 : rgm_event_resolver_drain(&events->resolver, timeout_ns);
}

void rgm_events_close(rgm_events *events, int64_t timeout_ns) {
    if (!atomic_exchange(&events->id, 0)) return;
    (void)rgm_events_drain(events, timeout_ns);
    rgm_event_resolver_stop(&events->resolver);
    if (atomic_load(&events->lost)) return;
    rgm_events_poll(events); // what came while the thread ended
    int64_t pending = rgm_event_resolver_left(&events->resolver);
    if (pending > 0)
        events->resolver.sink.note(events->resolver.sink.arg, RGM_ANOMALY_PENDING_INTERVALS, pending);
}

static void unregister(rgm_events *events) {
    pthread_mutex_lock(&registry_mutex);
    for (rgm_events **link = &registry; *link; link = &(*link)->next) {
        if (*link != events) continue;
        *link = events->next;
        break;
    }
    pthread_mutex_unlock(&registry_mutex);
}

void rgm_events_free(rgm_events *events) {
    if (!events) return;
    rgm_events_close(events, 0);
    unregister(events);
    bool lost = atomic_load(&events->lost);
    rgm_event_resolver_release(&events->resolver, lost);
    for (rgm_event_pool *pool = atomic_load(&events->pools), *next; pool; pool = next) {
        next = pool->next;
        if (lost) atomic_store(&pool->dead, true);
        atomic_store(&pool->owner, 0);
        rgm_event_pool_release(pool);
    }
    rgm_event_pool_prune();
    pthread_mutex_destroy(&events->mutex);
    rgm_free(events);
}
