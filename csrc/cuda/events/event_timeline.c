// SPDX-License-Identifier: Apache-2.0
#include "cuda/events/event_timeline.h"

#include <math.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/memory.h"

// The spacing of floats is an eighth of a microsecond up to 2.1 s and half of one up to 8.4 s.
static const int64_t anchor_most_ns = 2000000000;
static const int64_t direct_most_ns = 4000000000;
// Positions count from somewhere; an event of another stream may lie before the first anchor.
static const int64_t origin_ns = 3600000000000;

rgm_event_timeline *rgm_event_timeline_new(const rgm_event_pool *pool, rgm_device_sink sink,
                                           uint32_t number) {
    rgm_event_timeline *timeline = rgm_calloc(1, sizeof *timeline);
    if (!timeline) return NULL;
    timeline->provider = pool->provider;
    timeline->sink = sink;
    timeline->context = pool->context;
    timeline->context_id = pool->context_id;
    timeline->place = pool->place;
    timeline->number = number;
    return timeline;
}

// --- slots ------------------------------------------------------------------------------------------------

static void give_back(rgm_event_slot *slot) {
    slot->placed = slot->seen = false;
    atomic_store_explicit(&slot->state, RGM_SLOT_FREE, memory_order_relaxed);
    rgm_slot_push(&slot->pool->returned, slot);
}

// Hands the slot's row out and the slot back, unless its events are lost or one of them is the anchor.
static void finish(rgm_event_timeline *timeline, rgm_event_slot *slot, int64_t duration_ns) {
    bool measured = slot->outcome == RGM_INTERVAL_MEASURED;
    rgm_interval_row row = {
        .number = slot->number,
        .begin_ticks = slot->begin_ticks,
        .end_ticks = slot->end_ticks,
        .begin_ns = measured ? slot->begin_ns : -1,
        .duration_ns = measured ? duration_ns : -1,
        .stream = slot->stream,
        .timeline = timeline->number,
        .device = slot->pool->place.device,
        .state = (uint8_t)slot->outcome,
    };
    timeline->resolved++;
    timeline->sink.interval(timeline->sink.arg, &row);
    const rgm_anomaly code = slot->outcome == RGM_INTERVAL_CAPTURED  ? RGM_ANOMALY_CAPTURED_SCOPES
                             : slot->outcome == RGM_INTERVAL_LOST    ? RGM_ANOMALY_DEVICE_RESET
                             : slot->outcome == RGM_INTERVAL_PENDING ? RGM_ANOMALY_PENDING_INTERVALS
                                                                     : RGM_ANOMALY_COUNT;
    if (code != RGM_ANOMALY_COUNT) timeline->sink.note(timeline->sink.arg, code, 1);
    if (timeline->dead || slot->outcome == RGM_INTERVAL_LOST) return; // its events must not be touched again
    if (timeline->anchor.slot == slot)
        atomic_store_explicit(&slot->state, RGM_SLOT_HELD, memory_order_relaxed);
    else
        give_back(slot);
}

// The default stream of a thread has one handle and is another stream in each thread.
static rgm_event_queue *queue_of(rgm_event_timeline *timeline, const rgm_event_slot *slot) {
    bool of_thread = slot->stream == RGM_STREAM_OF_THREAD;
    const rgm_event_pool *pool = of_thread ? slot->pool : NULL;
    uint32_t tenant = of_thread ? slot->tenant : 0;
    for (size_t i = 0; i < timeline->queue_count; i++) {
        rgm_event_queue *queue = &timeline->queues[i];
        if (queue->stream == slot->stream && queue->pool == pool && queue->tenant == tenant) return queue;
    }
    if (RGM_LIST_ROOM(timeline->queues, timeline->queue_count, timeline->queue_capacity, 8, NULL) != RGM_OK)
        return NULL;
    rgm_event_queue *fresh = &timeline->queues[timeline->queue_count++];
    *fresh = (rgm_event_queue){.stream = slot->stream, .pool = pool, .tenant = tenant};
    return fresh;
}

void rgm_event_timeline_add(rgm_event_timeline *timeline, rgm_event_slot *slot) {
    if (slot->outcome == RGM_INTERVAL_MEASURED && timeline->dead) slot->outcome = RGM_INTERVAL_LOST;
    rgm_event_queue *queue = NULL;
    if (slot->outcome == RGM_INTERVAL_MEASURED) {
        queue = queue_of(timeline, slot);
        if (!queue) slot->outcome = RGM_INTERVAL_FAILED;
    }
    if (!queue) {
        finish(timeline, slot, -1);
        return;
    }
    slot->next = NULL;
    if (queue->head)
        queue->tail->next = slot;
    else
        queue->head = slot;
    queue->tail = slot;
    timeline->waiting++;
}

static void lose_all(rgm_event_timeline *timeline, rgm_event_pool *pools) {
    timeline->dead = true;
    for (rgm_event_pool *pool = pools; pool; pool = pool->next)
        if (pool->context == timeline->context && pool->context_id == timeline->context_id)
            atomic_store(&pool->dead, true);
    for (size_t i = 0; i < timeline->queue_count; i++)
        for (rgm_event_slot *slot = timeline->queues[i].head, *next; slot; slot = next) {
            next = slot->next;
            slot->outcome = RGM_INTERVAL_LOST;
            finish(timeline, slot, -1);
        }
    timeline->queue_count = timeline->waiting = 0;
    timeline->anchor = (rgm_event_anchor){0};
}

// --- positions --------------------------------------------------------------------------------------------

static rgm_events_result distance(const rgm_event_timeline *timeline, void *from, void *to, int64_t *ns) {
    float milliseconds = 0;
    rgm_events_result result = timeline->provider->elapsed(from, to, &milliseconds);
    *ns = llround((double)milliseconds * 1e6);
    return result;
}

static void set_anchor(rgm_event_timeline *timeline, void *event, rgm_event_slot *slot, int64_t position_ns) {
    rgm_event_slot *old = timeline->anchor.slot;
    timeline->anchor = (rgm_event_anchor){event, slot, position_ns, rgm_clock_monotonic_ns()};
    if (old && old != slot && atomic_load_explicit(&old->state, memory_order_relaxed) == RGM_SLOT_HELD)
        give_back(old);
}

static rgm_events_result position(rgm_event_timeline *timeline, void *event, int64_t *ns) {
    int64_t apart;
    rgm_events_result result = distance(timeline, timeline->anchor.event, event, &apart);
    *ns = timeline->anchor.position_ns + apart;
    return result;
}

// Finds the position of the first event, which the device has passed. Far from the anchor it becomes the
// anchor itself: what follows is then measured from near by, whatever the float has lost on the way to it.
static rgm_events_result place(rgm_event_timeline *timeline, rgm_event_slot *slot) {
    if (slot->placed) return RGM_EVENTS_OK;
    if (!timeline->anchor.event) set_anchor(timeline, slot->begin, slot, origin_ns);
    rgm_events_result result = position(timeline, slot->begin, &slot->begin_ns);
    slot->placed = result == RGM_EVENTS_OK;
    if (slot->placed && slot->begin_ns - timeline->anchor.position_ns > anchor_most_ns)
        set_anchor(timeline, slot->begin, slot, slot->begin_ns);
    return result;
}

static rgm_events_result measure(rgm_event_timeline *timeline, rgm_event_slot *slot, int64_t *duration_ns) {
    bool early = slot->placed;
    int64_t end_ns, direct;
    rgm_events_result result = place(timeline, slot);
    if (result == RGM_EVENTS_OK) result = distance(timeline, slot->begin, slot->end, &direct);
    if (result == RGM_EVENTS_OK) result = position(timeline, slot->end, &end_ns);
    if (result != RGM_EVENTS_OK) return result;
    // Beyond the reach of a float only a sum over anchors is exact; without one the float has to do.
    *duration_ns = direct > direct_most_ns && early ? end_ns - slot->begin_ns : direct;
    if (end_ns - timeline->anchor.position_ns > anchor_most_ns) set_anchor(timeline, slot->end, slot, end_ns);
    return RGM_EVENTS_OK;
}

// --- scopes that are open for long ------------------------------------------------------------------------

static bool make_milestones(rgm_event_timeline *timeline) {
    const rgm_event_provider *provider = timeline->provider;
    if (timeline->milestones[1]) return true;
    if (timeline->milestones_failed) return false;
    timeline->milestones_failed = provider->stream_new(&timeline->stream) != RGM_EVENTS_OK ||
                                  provider->create(&timeline->milestones[0]) != RGM_EVENTS_OK ||
                                  provider->create(&timeline->milestones[1]) != RGM_EVENTS_OK;
    return !timeline->milestones_failed;
}

// Puts an event of our own on the timeline when the last anchor is two seconds old.
static void advance(rgm_event_timeline *timeline) {
    const rgm_event_provider *provider = timeline->provider;
    int64_t at;
    void *next = timeline->milestones[timeline->milestone];
    if (timeline->milestone_out) {
        rgm_events_result result = provider->query(next);
        if (result == RGM_EVENTS_NOT_READY) return;
        if (result == RGM_EVENTS_OK && position(timeline, next, &at) == RGM_EVENTS_OK)
            set_anchor(timeline, next, NULL, at);
        timeline->milestone_out = false;
        timeline->milestone ^= 1;
        return;
    }
    if (!timeline->anchor.event || rgm_clock_monotonic_ns() - timeline->anchor.since_ns < anchor_most_ns)
        return;
    if (!make_milestones(timeline)) return;
    next = timeline->milestones[timeline->milestone];
    timeline->milestone_out = provider->record(next, timeline->stream) == RGM_EVENTS_OK;
}

// Places the first events of scopes that are still on their way the second time they are seen, so that
// their ends need not be measured from far away. True when there are any.
static bool place_early(rgm_event_timeline *timeline, rgm_event_pool *pool) {
    bool any = false;
    for (rgm_slot_chunk *chunk = atomic_load_explicit(&pool->chunks, memory_order_acquire); chunk;
         chunk = chunk->next)
        for (int i = 0; i < RGM_SLOTS_PER_CHUNK; i++) {
            rgm_event_slot *slot = &chunk->slots[i];
            int state = atomic_load_explicit(&slot->state, memory_order_acquire);
            if (state != RGM_SLOT_OPEN && state != RGM_SLOT_ENDED) continue;
            if (slot->seen) any = true;
            if (slot->seen && !slot->placed && timeline->provider->query(slot->begin) == RGM_EVENTS_OK)
                (void)place(timeline, slot);
            slot->seen = true;
        }
    return any;
}

static bool place_all_early(rgm_event_timeline *timeline, rgm_event_pool *pools) {
    bool any = false;
    for (rgm_event_pool *pool = pools; pool; pool = pool->next)
        if (pool->context == timeline->context && pool->context_id == timeline->context_id)
            any |= place_early(timeline, pool);
    return any;
}

// --- polling ----------------------------------------------------------------------------------------------

// True while the context answers.
static bool poll_queue(rgm_event_timeline *timeline, rgm_event_queue *queue) {
    while (queue->head) {
        rgm_event_slot *slot = queue->head;
        int64_t duration_ns = -1;
        rgm_events_result result = timeline->provider->query(slot->end);
        if (result == RGM_EVENTS_NOT_READY) return true;
        if (result == RGM_EVENTS_OK) result = measure(timeline, slot, &duration_ns);
        if (result == RGM_EVENTS_GONE) return false;
        if (result == RGM_EVENTS_DOWN) return true;
        if (result != RGM_EVENTS_OK) slot->outcome = RGM_INTERVAL_FAILED;
        queue->head = slot->next;
        timeline->waiting--;
        finish(timeline, slot, duration_ns);
    }
    return true;
}

// A program may make streams without end; one that nothing waits in is forgotten.
static void forget_empty(rgm_event_timeline *timeline) {
    for (size_t i = timeline->queue_count; i-- > 0;)
        if (!timeline->queues[i].head) timeline->queues[i] = timeline->queues[--timeline->queue_count];
}

void rgm_event_timeline_poll(rgm_event_timeline *timeline, rgm_event_pool *pools, bool look) {
    int saved;
    if (timeline->dead || (!timeline->waiting && !look)) return;
    rgm_events_result result =
        timeline->provider->enter(timeline->place.home, timeline->place.home_id, &saved);
    if (result == RGM_EVENTS_DOWN) return;
    if (result != RGM_EVENTS_OK) {
        lose_all(timeline, pools);
        return;
    }
    bool alive = true;
    for (size_t i = 0; alive && i < timeline->queue_count; i++)
        alive = poll_queue(timeline, &timeline->queues[i]);
    if (alive && look && place_all_early(timeline, pools)) advance(timeline);
    timeline->provider->leave(saved);
    if (!alive) lose_all(timeline, pools);
    forget_empty(timeline);
}

void rgm_event_timeline_free(rgm_event_timeline *timeline) {
    const rgm_event_provider *provider = timeline->provider;
    int saved;
    if (!timeline->dead && timeline->stream &&
        provider->enter(timeline->place.home, timeline->place.home_id, &saved) == RGM_EVENTS_OK) {
        for (int i = 0; i < 2; i++)
            if (timeline->milestones[i]) provider->destroy(timeline->milestones[i]);
        provider->stream_free(timeline->stream);
        provider->leave(saved);
    }
    rgm_free(timeline->queues);
    rgm_free(timeline);
}
