// SPDX-License-Identifier: Apache-2.0
#include "cuda/events/event_resolver.h"

#include "base/clock.h"
#include "base/thread.h"

static const int64_t look_ns = 1000000000; // between two looks at scopes that are open for long
static const int64_t drain_poll_ns = 200000;
static const int64_t idle_poll_factor = 10;

static rgm_event_timeline *timeline_of(rgm_event_resolver *resolver, const rgm_event_pool *pool) {
    for (rgm_event_timeline *at = resolver->timelines; at; at = at->next)
        if (at->context == pool->context && at->context_id == pool->context_id &&
            at->dead == atomic_load(&pool->dead))
            return at;
    rgm_event_timeline *made = rgm_event_timeline_new(pool, resolver->sink, resolver->timeline_count);
    if (!made) return NULL;
    resolver->timeline_count++;
    made->dead = atomic_load(&pool->dead);
    made->next = resolver->timelines;
    return resolver->timelines = made;
}

// Ended slots come newest first; the device passes them in the order in which they ended.
static rgm_event_slot *take_ended(rgm_event_resolver *resolver) {
    rgm_event_slot *oldest = NULL;
    for (rgm_event_slot *slot = rgm_slot_take_all(&resolver->ended), *next; slot; slot = next) {
        next = slot->next;
        slot->next = oldest;
        oldest = slot;
    }
    return oldest;
}

static void poll_locked(rgm_event_resolver *resolver) {
    rgm_event_pool *pools = atomic_load_explicit(resolver->pools, memory_order_acquire);
    for (rgm_event_slot *slot = take_ended(resolver), *next; slot; slot = next) {
        next = slot->next;
        rgm_event_timeline *timeline = timeline_of(resolver, slot->pool);
        if (timeline)
            rgm_event_timeline_add(timeline, slot);
        else
            resolver->sink.note(resolver->sink.arg, RGM_ANOMALY_DROPPED_DEVICE_ROWS, 1);
    }
    // The first context's first slot may still be open when it is time to look.
    for (rgm_event_pool *pool = pools; pool; pool = pool->next)
        if (!atomic_load(&pool->dead)) (void)timeline_of(resolver, pool);
    int64_t now = rgm_clock_monotonic_ns(), resolved = 0;
    bool look = now - resolver->looked_ns >= look_ns;
    if (look) resolver->looked_ns = now;
    for (rgm_event_timeline *at = resolver->timelines; at; at = at->next) {
        rgm_event_timeline_poll(at, pools, look);
        resolved += at->resolved;
    }
    atomic_store(&resolver->resolved, (uint64_t)resolved);
}

void rgm_event_resolver_poll(rgm_event_resolver *resolver) {
    pthread_mutex_lock(&resolver->poll_mutex);
    poll_locked(resolver);
    pthread_mutex_unlock(&resolver->poll_mutex);
}

// --- the thread -------------------------------------------------------------------------------------------

static int64_t pause_ns(const rgm_event_resolver *resolver) {
    if (resolver->waiters) return drain_poll_ns;
    return resolver->poll_ns * (rgm_event_resolver_left(resolver) ? 1 : idle_poll_factor);
}

static void *resolve_loop(void *arg) {
    rgm_event_resolver *resolver = arg;
    pthread_mutex_lock(&resolver->mutex);
    while (!resolver->stopped) {
        pthread_mutex_unlock(&resolver->mutex);
        rgm_event_resolver_poll(resolver);
        atomic_store_explicit(&resolver->cpu_ns, rgm_thread_cpu_ns(), memory_order_relaxed);
        pthread_mutex_lock(&resolver->mutex);
        if (resolver->waiters) pthread_cond_broadcast(&resolver->progress);
        if (!resolver->stopped) rgm_cond_wait(&resolver->wake, &resolver->mutex, pause_ns(resolver));
    }
    pthread_mutex_unlock(&resolver->mutex);
    return NULL;
}

void rgm_event_resolver_init(rgm_event_resolver *resolver, rgm_device_sink sink,
                             _Atomic(rgm_event_pool *) *pools, int64_t poll_ns) {
    resolver->sink = sink;
    resolver->pools = pools;
    resolver->poll_ns = poll_ns;
    resolver->looked_ns = rgm_clock_monotonic_ns();
    pthread_mutex_init(&resolver->mutex, NULL);
    pthread_mutex_init(&resolver->poll_mutex, NULL);
    rgm_cond_init(&resolver->wake);
    rgm_cond_init(&resolver->progress);
}

void rgm_event_resolver_start(rgm_event_resolver *resolver) {
    pthread_mutex_lock(&resolver->mutex);
    // Without the thread a reader of results looks itself, see rgm_event_resolver_drain.
    if (!resolver->running && !resolver->stopped && resolver->poll_ns > 0)
        resolver->running =
            rgm_thread_start(&resolver->thread, "rgm-events", resolve_loop, resolver, NULL) == RGM_OK;
    pthread_mutex_unlock(&resolver->mutex);
}

int64_t rgm_event_resolver_drain(rgm_event_resolver *resolver, int64_t timeout_ns) {
    uint64_t goal = atomic_load(&resolver->ended_count);
    int64_t deadline = rgm_clock_monotonic_ns() + timeout_ns;
    pthread_mutex_lock(&resolver->mutex);
    resolver->waiters++;
    pthread_cond_signal(&resolver->wake);
    while (resolver->running && atomic_load(&resolver->resolved) < goal) {
        int64_t rest = deadline - rgm_clock_monotonic_ns();
        if (rest <= 0) break;
        rgm_cond_wait(&resolver->progress, &resolver->mutex, rest);
    }
    resolver->waiters--;
    bool alone = !resolver->running;
    pthread_mutex_unlock(&resolver->mutex);
    if (alone) rgm_event_resolver_poll(resolver);
    int64_t missing = (int64_t)(goal - atomic_load(&resolver->resolved));
    return missing > 0 ? missing : 0;
}

void rgm_event_resolver_stop(rgm_event_resolver *resolver) {
    pthread_mutex_lock(&resolver->mutex);
    bool running = resolver->running;
    resolver->stopped = true;
    resolver->running = false;
    pthread_cond_signal(&resolver->wake);
    pthread_mutex_unlock(&resolver->mutex);
    if (running) pthread_join(resolver->thread, NULL);
}

void rgm_event_resolver_release(rgm_event_resolver *resolver, bool lost) {
    for (rgm_event_timeline *at = resolver->timelines, *next; at; at = next) {
        next = at->next;
        at->dead |= lost;
        rgm_event_timeline_free(at);
    }
    resolver->timelines = NULL;
    pthread_cond_destroy(&resolver->wake);
    pthread_cond_destroy(&resolver->progress);
    pthread_mutex_destroy(&resolver->mutex);
    pthread_mutex_destroy(&resolver->poll_mutex);
}

// --- fork -------------------------------------------------------------------------------------------------

void rgm_event_resolver_lock(rgm_event_resolver *resolver) {
    pthread_mutex_lock(&resolver->mutex);
    pthread_mutex_lock(&resolver->poll_mutex);
}

void rgm_event_resolver_unlock(rgm_event_resolver *resolver) {
    pthread_mutex_unlock(&resolver->poll_mutex);
    pthread_mutex_unlock(&resolver->mutex);
}

void rgm_event_resolver_forget(rgm_event_resolver *resolver) {
    resolver->running = false;
    resolver->waiters = 0;
    rgm_cond_init(&resolver->wake);
    rgm_cond_init(&resolver->progress);
}
