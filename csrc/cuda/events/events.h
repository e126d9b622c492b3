// SPDX-License-Identifier: Apache-2.0
// Device time of scopes: two events in the scope's stream, read later by a thread of their own.
//
// begin and end never synchronise with the device, never wait, take no lock that another thread holds for
// longer than a list needs, and do not fail: what could not be measured comes out as an interval with the
// reason as its state. The program's runtime is used when the program has initialised it, never before.
// What comes out goes to the sink, from the resolver's thread.
//
// An interval is an upper bound of the work in it: an event also waits for what other scopes put into the
// same stream before, and the device may idle in between.
//
// Threads: begin, end and abandon from any thread, also for one slot from several threads in turn; drain and
// close from any thread; free once nobody uses the rest. Fork: in the child nothing is measured when the
// parent had used the device.
#ifndef RGM_CUDA_EVENTS_H
#define RGM_CUDA_EVENTS_H

#include "cuda/events/event_pool.h"
#include "cuda/sink.h"

typedef struct rgm_events rgm_events;

typedef struct {
    int64_t poll_ns;   // how often the device is asked while scopes wait; 0: only by rgm_events_poll
    int64_t max_slots; // beyond so many pairs of events scopes go without device time
} rgm_events_options;

#define RGM_EVENTS_DEFAULTS (rgm_events_options){.poll_ns = 5000000, .max_slots = 65536}

typedef struct {
    uint64_t begun, ended, resolved; // intervals so far
    uint64_t refused;                // scopes that got no slot
    uint64_t slots;                  // pairs of events made
    int64_t service_cpu_ns;          // of the resolver
} rgm_events_stats;

// `providers` ends with NULL; the first one that can be used is taken. NULL: CUDA, then HIP.
rgm_status rgm_events_new(rgm_events **events, rgm_device_sink sink, const rgm_events_options *options,
                          const rgm_event_provider *const *providers, rgm_error *err) RGM_NODISCARD;

// Whether the program has a runtime in use that can tell so by itself. Cheap to ask again and again; a
// library that would initialise the device when asked for its stream is asked only then.
bool rgm_events_ready(rgm_events *events);
// Begins an interval in the stream, in the context of the calling thread. NULL when the device is not in use,
// which is cheap to find out again and again. `told` is whether a library told the stream, `device` the one
// that it works on (-1: not known): a thread that has no context yet will get that device's.
rgm_event_slot *rgm_events_begin(rgm_events *events, uint64_t stream, bool told, int device);
// Ends it. The result is its number for the scope's record, 0 when there is nothing to record.
uint64_t rgm_events_end(rgm_events *events, rgm_event_slot *slot, uint64_t stream);
// Gives up an interval whose scope nobody can end any more.
void rgm_events_abandon(rgm_events *events, rgm_event_slot *slot);

// RGM_OK while intervals are or can be measured, RGM_UNAVAILABLE with the reason otherwise.
rgm_status rgm_events_status(rgm_events *events, rgm_error *err) RGM_NODISCARD;
void rgm_events_get_stats(rgm_events *events, rgm_events_stats *stats);
// One look at the device by the calling thread. Tests, and programs without the thread.
void rgm_events_poll(rgm_events *events);
// Waits until what had ended before has been read, or until the time is over; returns how much is left.
int64_t rgm_events_drain(rgm_events *events, int64_t timeout_ns);
// Ends measuring: drains, joins the thread, counts what the device has not finished. May be called again.
void rgm_events_close(rgm_events *events, int64_t timeout_ns);
void rgm_events_free(rgm_events *events);

#endif
