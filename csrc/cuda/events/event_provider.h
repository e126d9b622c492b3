// SPDX-License-Identifier: Apache-2.0
// What event timing needs of a vendor's runtime, as a table of functions: CUDA (events_cuda.c) and HIP
// (events_hip.c) fill one each, and csrc/cuda/events/events.c knows no other difference between them.
//
// A context is whatever events belong to: a CUDA context, a HIP device. Its id tells it from one that had the
// same handle before a reset; 0 where the runtime has no such ids. Handles of streams are integers: 0 is the
// default stream, 1 the legacy default stream, 2 the default stream of the thread.
//
// Threads: every function from any thread. None synchronises with the device.
#ifndef RGM_CUDA_EVENT_PROVIDER_H
#define RGM_CUDA_EVENT_PROVIDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum { RGM_STREAM_OF_THREAD = 2 }; // the last of the handles that are no addresses

typedef enum {
    RGM_EVENTS_OK,
    RGM_EVENTS_NOT_READY, // the device has not come to the event
    RGM_EVENTS_NO_CONTEXT,
    RGM_EVENTS_GONE, // the context was destroyed or reset
    RGM_EVENTS_DOWN, // the runtime was not initialised, or is shutting down
    RGM_EVENTS_REFUSED,
} rgm_events_result;

// The device of a context, and the context in which other threads ask for its events: its own, or, of a green
// context, which only one thread at a time may have current, the primary one that it is a part of.
typedef struct {
    void *home;
    uint64_t home_id;
    int16_t device;
} rgm_events_place;

typedef struct {
    const char *title;
    // Only what the program itself has loaded and initialised is used, and only once a library that the
    // program works with has told a stream, where the runtime cannot say whether it was initialised.
    bool needs_source;
    rgm_status (*open)(rgm_error *err);
    // The context that work in the stream belongs to, its id and its device.
    rgm_events_result (*context_of)(uint64_t stream, void **context, uint64_t *id);
    // The context that libraries share on a device, when it is in use; nothing is made. May be NULL.
    rgm_events_result (*primary)(int device, void **context, uint64_t *id);
    // Where a context that is used by the calling thread is; the caller owns nothing of it.
    rgm_events_result (*place_of)(void *context, uint64_t id, rgm_events_place *place);
    // Whether an event must not be recorded in the stream because it, or what it waits for, is captured.
    bool (*capturing)(uint64_t stream);
    // Makes the context current for calls that would harm a stream capture elsewhere if they were made as
    // they are; leave undoes it. GONE when the context is no longer the one that had the id.
    rgm_events_result (*enter)(void *context, uint64_t id, int *saved);
    void (*leave)(int saved);
    // The rest in a context that is current.
    rgm_events_result (*create)(void **event);
    void (*destroy)(void *event);
    rgm_events_result (*record)(void *event, uint64_t stream);
    rgm_events_result (*query)(void *event);
    rgm_events_result (*elapsed)(void *begin, void *end, float *milliseconds);
    // A stream that waits for no other one.
    rgm_events_result (*stream_new)(uint64_t *stream);
    void (*stream_free)(uint64_t stream);
} rgm_event_provider;

extern const rgm_event_provider rgm_events_of_cuda;
extern const rgm_event_provider rgm_events_of_hip;

#endif
