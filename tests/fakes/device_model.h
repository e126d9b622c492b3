// SPDX-License-Identifier: Apache-2.0
// A device on paper, behind the doubles of the CUDA driver and of HIP: contexts, streams in which work takes
// its time, events, stream capture, and a clock of its own.
//
// Streams are in order, so when a piece of work is queued its begin and end on the device's clock are known:
// it begins when the work before it ends, or now. An event passes when its stream reaches it. What a handle
// names is never freed, so a call with a dead one gets an answer instead of a crash.
//
// Threads: one mutex, taken by the faces (cuda.c, hip.c) around every call.
#ifndef RGM_FAKES_DEVICE_MODEL_H
#define RGM_FAKES_DEVICE_MODEL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MODEL_CONTEXTS = 64, MODEL_DEVICES = 8, MODEL_STACK = 16, MODEL_CAPTURE_NONE = 0 };
enum { MODEL_CAPTURE_ACTIVE = 1, MODEL_CAPTURE_INVALIDATED = 2 };
enum { MODEL_MODE_GLOBAL = 0, MODEL_MODE_THREAD_LOCAL = 1, MODEL_MODE_RELAXED = 2 };
enum { MODEL_STREAM_MAGIC = 0x5354524d, MODEL_EVENT_MAGIC = 0x45564e54 };

typedef struct model_stream model_stream;
typedef struct model_context model_context;

struct model_stream {
    int magic;
    bool alive;
    bool blocking; // waits for the legacy stream, and the legacy stream for it
    bool legacy;
    model_context *context;
    unsigned generation;
    unsigned number;
    int64_t idle_ns; // device clock: when its queue is empty
    int capture, capture_mode;
    pthread_t capturer;
    pthread_t owner; // of a per-thread stream
    model_stream *next;
};

struct model_context {
    bool alive, primary, used;
    int device;
    model_context *part_of; // of a green context the primary one
    pthread_t user;         // of a green context: the thread that has it current, `users` times
    int users;
    int retained;
    unsigned generation; // one more with each reset; what was made before is dead
    unsigned long long id;
    pthread_t maker;
    model_stream legacy;
};

typedef struct model_event {
    int magic;
    bool alive, recorded, captured, timing;
    model_context *context;
    unsigned generation;
    int64_t passes_ns; // device clock
    struct model_event *next;
} model_event;

// What the thread sees as current, as the driver keeps it.
typedef struct {
    model_context *stack[MODEL_STACK];
    int depth;
    int capture_mode;
} model_thread;

static pthread_mutex_t model_mutex = PTHREAD_MUTEX_INITIALIZER;
static model_context model_contexts[MODEL_CONTEXTS];
static model_stream *model_streams;
static model_event *model_events;
static _Thread_local model_thread model_here;
static unsigned model_stream_count;
static unsigned long long model_next_id = 1;
static _Atomic(long long) model_advanced_ns;

// --- the device's clock -----------------------------------------------------------------------------------

static inline int64_t model_monotonic_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// Follows CLOCK_MONOTONIC, which is `host`, at an offset and a drift, or stands still between calls of
// advance.
static inline int64_t model_at_ns(int64_t host, bool follow, int64_t offset_ns, int64_t drift_ppm) {
    int64_t advanced = model_advanced_ns;
    if (!follow) return offset_ns + advanced;
    return host + host / 1000000 * drift_ppm + offset_ns + advanced;
}

// As the hardware tells it: in milliseconds, as a float, in steps of half a microsecond.
static inline float model_milliseconds(int64_t ns) {
    int64_t steps = (ns >= 0 ? ns + 250 : ns - 250) / 500;
    return (float)((double)steps * 500.0 / 1e6);
}

// --- contexts ---------------------------------------------------------------------------------------------

static inline model_context *model_context_of(void *handle) {
    for (int i = 0; i < MODEL_CONTEXTS; i++)
        if (handle == &model_contexts[i] && model_contexts[i].used) return &model_contexts[i];
    return NULL;
}

static inline void model_context_start(model_context *context, int device, bool primary) {
    context->used = context->alive = true;
    context->primary = primary;
    context->part_of = NULL;
    context->users = 0;
    context->device = device;
    context->id = model_next_id++;
    context->maker = pthread_self();
    context->generation++;
    context->legacy = (model_stream){.magic = MODEL_STREAM_MAGIC,
                                     .alive = true,
                                     .blocking = true,
                                     .legacy = true,
                                     .context = context,
                                     .generation = context->generation,
                                     .number = ++model_stream_count};
}

static inline model_context *model_context_new(int device, bool primary) {
    for (int i = 0; i < MODEL_CONTEXTS; i++)
        if (!model_contexts[i].used) {
            model_context_start(&model_contexts[i], device, primary);
            return &model_contexts[i];
        }
    return NULL;
}

// The primary context has one address for the life of the process, alive or not.
static inline model_context *model_primary(int device) {
    for (int i = 0; i < MODEL_CONTEXTS; i++)
        if (model_contexts[i].used && model_contexts[i].primary && model_contexts[i].device == device)
            return &model_contexts[i];
    model_context *made = model_context_new(device, true);
    if (made) made->alive = false;
    return made;
}

static inline model_context *model_primary_retain(int device) {
    model_context *context = model_primary(device);
    if (context && !context->alive) {
        model_context_start(context, device, true);
        context->retained = 0;
    }
    if (context) context->retained++;
    return context;
}

static inline void model_context_end(model_context *context) {
    context->alive = false;
    context->retained = 0;
    for (int i = 0; i < MODEL_CONTEXTS; i++)
        if (model_contexts[i].part_of == context) model_contexts[i].alive = false;
}

static inline model_context *model_current(void) {
    return model_here.depth ? model_here.stack[model_here.depth - 1] : NULL;
}

// Makes a context current; false where it is a green one that another thread has current, which is allowed to
// one at a time.
static inline bool model_push(model_context *context) {
    bool alone = !context->part_of || !context->users || pthread_equal(context->user, pthread_self());
    model_here.stack[model_here.depth++] = context;
    context->user = pthread_self();
    context->users++;
    return alone;
}

static inline model_context *model_pop(void) {
    model_context *top = model_here.stack[--model_here.depth];
    top->users--;
    return top;
}

// What events belong to: those of a green context to the primary one, which is there for longer.
static inline model_context *model_whole(model_context *context) {
    return context->part_of ? context->part_of : context;
}

// --- streams ----------------------------------------------------------------------------------------------

static inline model_stream *model_stream_add(model_context *context, bool blocking) {
    model_stream *stream = calloc(1, sizeof *stream);
    if (!stream) abort();
    *stream = (model_stream){.magic = MODEL_STREAM_MAGIC,
                             .alive = true,
                             .blocking = blocking,
                             .context = context,
                             .generation = context->generation,
                             .number = ++model_stream_count,
                             .next = model_streams};
    model_streams = stream;
    return stream;
}

static inline model_stream *model_per_thread(model_context *context) {
    for (model_stream *at = model_streams; at; at = at->next)
        if (at->owner && pthread_equal(at->owner, pthread_self()) && at->context == context &&
            at->generation == context->generation)
            return at;
    model_stream *made = model_stream_add(context, true);
    made->owner = pthread_self();
    return made;
}

// Handle -> stream: 0 and 1 are the current context's legacy stream, 2 its stream of this thread. NULL for
// what is no stream, or a dead one.
static inline model_stream *model_stream_of(void *handle) {
    uintptr_t value = (uintptr_t)handle;
    if (value <= 2) {
        model_context *context = model_current();
        if (!context || !context->alive) return NULL;
        return value == 2 ? model_per_thread(context) : &context->legacy;
    }
    for (model_stream *at = model_streams; at; at = at->next)
        if (at == handle)
            return at->alive && at->context->alive && at->generation == at->context->generation ? at : NULL;
    return NULL;
}

// When work that is queued in the stream now can begin.
static inline int64_t model_stream_ready(const model_stream *stream, int64_t now_ns) {
    int64_t ready = stream->idle_ns > now_ns ? stream->idle_ns : now_ns;
    if (!stream->blocking) return ready;
    if (!stream->legacy) {
        int64_t legacy = stream->context->legacy.idle_ns;
        return legacy > ready ? legacy : ready;
    }
    for (const model_stream *at = model_streams; at; at = at->next)
        if (at->alive && at->blocking && at->context == stream->context && at->idle_ns > ready)
            ready = at->idle_ns;
    return ready;
}

// Queues work; *start_ns and the result are its begin and its end.
static inline int64_t model_work(model_stream *stream, int64_t now_ns, int64_t ns, int64_t *start_ns) {
    *start_ns = model_stream_ready(stream, now_ns);
    stream->idle_ns = *start_ns + ns;
    return stream->idle_ns;
}

// --- capture ----------------------------------------------------------------------------------------------

static inline bool model_thread_captures(bool relaxed_too) {
    for (model_stream *at = model_streams; at; at = at->next)
        if (at->capture == MODEL_CAPTURE_ACTIVE && pthread_equal(at->capturer, pthread_self()) &&
            (relaxed_too || at->capture_mode != MODEL_MODE_RELAXED))
            return true;
    return false;
}

// A call that is not safe beside a capture, such as a query: false when it is allowed here; else every
// capture that it offends is invalid from now on.
static inline bool model_offends(void) {
    bool offended = false;
    if (model_here.capture_mode == MODEL_MODE_RELAXED) return false;
    for (model_stream *at = model_streams; at; at = at->next) {
        if (at->capture != MODEL_CAPTURE_ACTIVE) continue;
        bool own = pthread_equal(at->capturer, pthread_self()) && at->capture_mode != MODEL_MODE_RELAXED;
        bool global = model_here.capture_mode == MODEL_MODE_GLOBAL && at->capture_mode == MODEL_MODE_GLOBAL;
        if (!own && !global) continue;
        at->capture = MODEL_CAPTURE_INVALIDATED;
        offended = true;
    }
    return offended;
}

// Whether the stream is the legacy one while a blocking stream of its context is captured.
static inline bool model_implicit(const model_stream *stream) {
    if (!stream->legacy) return false;
    for (model_stream *at = model_streams; at; at = at->next)
        if (at->capture == MODEL_CAPTURE_ACTIVE && at->blocking && at->context == stream->context)
            return true;
    return false;
}

static inline void model_invalidate(const model_context *context) {
    for (model_stream *at = model_streams; at; at = at->next)
        if (at->capture == MODEL_CAPTURE_ACTIVE && at->context == context)
            at->capture = MODEL_CAPTURE_INVALIDATED;
}

// --- events -----------------------------------------------------------------------------------------------

static inline model_event *model_event_add(model_context *context, bool timing) {
    model_event *event = calloc(1, sizeof *event);
    if (!event) abort();
    *event = (model_event){.magic = MODEL_EVENT_MAGIC,
                           .alive = true,
                           .timing = timing,
                           .context = context,
                           .generation = model_whole(context)->generation,
                           .next = model_events};
    model_events = event;
    return event;
}

// An event's magic word is enough: no event is ever freed, and a search would make a pool quadratic.
static inline model_event *model_event_of(void *handle) {
    model_event *event = handle;
    return event && event->magic == MODEL_EVENT_MAGIC && event->alive ? event : NULL;
}

// Records an event: it keeps its stream busy for `cost_ns` and passes at the end of that. In a stream that is
// being captured nothing happens on the device.
static inline void model_event_record(model_event *event, model_stream *stream, int64_t now_ns,
                                      int64_t cost_ns) {
    int64_t start;
    event->captured = stream->capture == MODEL_CAPTURE_ACTIVE;
    event->recorded = true;
    event->passes_ns =
        event->captured ? model_stream_ready(stream, now_ns) : model_work(stream, now_ns, cost_ns, &start);
}

// What an event costs: the number event_ns, and where that is not set 1.5 us on a clock that runs. A clock
// that stands still is for tests that want times to the nanosecond.
static inline int64_t model_event_ns(bool follow, int64_t event_ns) {
    enum { USUAL_NS = 1500 };
    if (event_ns >= 0) return event_ns;
    return follow ? USUAL_NS : 0;
}

static inline bool model_event_dead(const model_event *event) {
    const model_context *whole = model_whole(event->context);
    return !whole->alive || event->generation != whole->generation;
}

#endif
