// SPDX-License-Identifier: Apache-2.0
// Where the slots of one context wait for the device, and how two floats of milliseconds become nanoseconds
// on a timeline.
//
// The runtime tells only how far apart two events are, as a float in milliseconds, which cannot hold half a
// microsecond beyond some eight seconds. So positions are sums of short distances, in integers: each event is
// placed by its distance from an anchor, an event whose position is known, and the anchor moves on at most
// every two seconds. Where scopes give no event for so long while one of them is open, an event of our own
// is recorded, in a stream of our own.
//
// Threads: the resolver's alone.
#ifndef RGM_CUDA_EVENT_TIMELINE_H
#define RGM_CUDA_EVENT_TIMELINE_H

#include "cuda/events/event_pool.h"
#include "cuda/sink.h"

typedef struct {
    uint64_t stream;
    const rgm_event_pool *pool;  // of the thread whose default stream it is; NULL for all others
    uint32_t tenant;             // which of the pool's threads that is
    rgm_event_slot *head, *tail; // in the order in which they ended: the device passes them so
} rgm_event_queue;

typedef struct {
    void *event;          // NULL: none yet
    rgm_event_slot *slot; // whose event it is; NULL for one of our own
    int64_t position_ns;
    int64_t since_ns; // host time when it was chosen
} rgm_event_anchor;

typedef struct rgm_event_timeline {
    const rgm_event_provider *provider;
    rgm_device_sink sink;
    void *context;
    uint64_t context_id;
    rgm_events_place place;
    uint32_t number;
    bool dead;
    size_t waiting; // slots in the queues
    rgm_event_queue *queues;
    size_t queue_count, queue_capacity;
    rgm_event_anchor anchor;
    uint64_t stream; // our own, 0 none
    void *milestones[2];
    int milestone; // the next one to record
    bool milestone_out;
    bool milestones_failed;
    int64_t resolved; // rows handed out so far
    struct rgm_event_timeline *next;
} rgm_event_timeline;

rgm_event_timeline *rgm_event_timeline_new(const rgm_event_pool *pool, rgm_device_sink sink, uint32_t number);
// Takes an ended slot in. One whose outcome is settled already is handed out at once.
void rgm_event_timeline_add(rgm_event_timeline *timeline, rgm_event_slot *slot);
// Hands out what the device has passed; `pools` are looked at for scopes that have been open for long.
void rgm_event_timeline_poll(rgm_event_timeline *timeline, rgm_event_pool *pools, bool look);
// Destroys what belongs to it, where the context still lives. Slots that wait are left to their pools.
void rgm_event_timeline_free(rgm_event_timeline *timeline);

#endif
