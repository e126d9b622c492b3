// SPDX-License-Identifier: Apache-2.0
// The objects of the hot path: profiler, scope, profiled function.
#ifndef RGM_PYTHON_PROFILER_H
#define RGM_PYTHON_PROFILER_H

#include "base/bytes.h"
#include "cuda/counters/counter_sampling.h"
#include "cuda/events/events.h"
#include "cuda/nvml/telemetry.h"
#include "cuda/stalls/stall_sampling.h"
#include "cuda/trace/tracing_watch.h"
#include "python/state.h"

enum { SITE_CACHE = 256, FREE_SCOPES = 64 };

// What makes a scope take its slow path.
enum {
    SPECIAL_SAMPLING = 1,
    SPECIAL_HOST_MEMORY = 2,
    SPECIAL_DEVICE_MEMORY = 4,
    SPECIAL_DEVICE_EVENTS = 8,
    SPECIAL_RANGES = 16,
    SPECIAL_COUNTS = 32,
    SPECIAL_DISABLED = 64, // for scopes that outlive the switch: those with a role
};

// Libraries that tell their current stream, in the order in which they are asked.
enum { STREAM_TORCH, STREAM_CUPY, STREAM_NUMBA, STREAM_SOURCES };

typedef struct {
    PyObject *operation; // strong, so that the address cannot be reused
    PyObject *device;    // strong or NULL for the default
    rgm_site *site;
} site_entry;

typedef struct scope_object scope_object;

typedef struct {
    PyObject_HEAD
    rgm_session *session; // NULL before __init__
    const _Atomic(uint64_t) *session_id;
    bool enabled;
    uint8_t special;
    uint32_t root_threshold; // scopes without a parent are recorded when a random number is below it
    int device_id;
    rgm_session_options options;
    const char
        *stacks_reason; // why stacks are not sampled, "" where nothing stood against it at the beginning
    rgm_events *events; // NULL: no device time
    rgm_telemetry *telemetry; // NULL: not sampled
    rgm_counter_sampling *counters;
    rgm_stall_sampling *stalls;              // NULL: not sampled
    rgm_stall_state *stalls_state;           // at the end of the samples, NULL before
    rgm_tracing_watch *kernels;              // NULL: they are not waited for
    struct scope_ranges *ranges;             // NULL: scopes are no ranges of hardware counters
    uint32_t device_scopes;                  // begun, to time some of them
    uint64_t device_timed, device_ticks;     // of those timed: how many, and what they cost
    uint64_t next_stream_look;               // ticks
    uint64_t count_now;                      // instructions when the scope that is being left ended
    PyObject *stream_of[STREAM_SOURCES];     // callable that tells the current stream, or NULL
    PyObject *stream_device[STREAM_SOURCES]; // callable that tells its argument, or NULL
    PyObject *find_streams;                  // callable that finds these
    PyObject *stream_handle;                 // callable that tells the handle of a stream object
    PyObject *idle;                          // what profile() returns while disabled
    PyObject *word_device;                   // the interned keyword
    PyObject *known_device;                  // last device string that was checked
    PyObject *backend_probe;                 // callable or NULL
    PyObject *memory_probe;                  // object with begin(device_id) and end(token), or NULL
    scope_object *free_scopes;
    int free_count;
    rgm_bytes scratch;
    PyObject *weakrefs;
    site_entry cache[SITE_CACHE];
} profiler_object;

struct scope_object {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    profiler_object *profiler; // strong
    rgm_site *site;
    rgm_frame *frame; // while open
    rgm_track *muted; // while left out by sampling
    uint32_t seq;
    uint32_t meta;
    scope_object *again; // further entries, the last one first
    unsigned uncounted;  // entries that found no memory
    int probe_from;      // instruction at which the block began, while the backend is to be looked at
    uint64_t start, ticks;
    rgm_event_slot *slot; // of its device interval, while open
    uint64_t stream;      // as given by the user
    bool stream_given;
    bool busy;        // Python runs for its begin or end: it is another thread's to enter as if it were open
    bool cost_timed;  // what its events cost is being measured
    int64_t resident; // at begin, when host memory is measured
    uint64_t count_begin;               // instructions of the thread, when they are counted
    const rgm_recorder *count_recorder; // of that thread
    PyObject *token;                    // of the memory probe
    PyObject *function; // strong or NULL: the function whose call this is, for the backend probe
    scope_object *next_free;
};

// Begins and ends a scope; never raises. What has been entered is the object itself or one that it keeps for
// this entry; NULL where none could be.
scope_object *rgm_scope_enter(scope_object *scope);
void rgm_scope_leave(scope_object *scope, bool failed);
// The same for a profiler that counts instructions (scope_counts.c).
scope_object *rgm_scope_count_enter(scope_object *scope);
void rgm_scope_count_leave(scope_object *scope, bool failed);
// What is measured beside the time (scope_measures.c). recorded: whether the scope's own record was written.
void rgm_scope_measures_begin(scope_object *scope, rgm_recorder *recorder);
void rgm_scope_measures_end(scope_object *scope, rgm_recorder *recorder, bool recorded);
// Writes the count of the scope whose record has just been written.
void rgm_scope_count_end(scope_object *scope, rgm_recorder *recorder);
// A scope with a role, to be kept and entered any number of times: (name, number of the role, JSON or None).
PyObject *rgm_profiler_role_scope(profiler_object *self, PyObject *args);
PyObject *rgm_profiler_count(profiler_object *self, PyObject *unused);
// A fresh scope for the site, NULL with an exception set only when memory is out.
PyObject *rgm_scope_new(profiler_object *self, rgm_site *site);
void rgm_scope_free_all(profiler_object *self);

// Resolves (operation, device) with all checks; NULL with an exception set. device NULL is the default.
rgm_site *rgm_profiler_site(profiler_object *self, PyObject *operation, PyObject *device);
// Books what the profiler has done since `begin` (ticks) as its own cost, and takes it out of the exclusive
// time of the innermost open scope.
void rgm_profiler_own(profiler_object *self, rgm_own_cost what, uint64_t begin);
// A scope for (operation, device) as profile() makes it, or the idle one; NULL with an exception set.
PyObject *rgm_profiler_scope(profiler_object *self, PyObject *operation, PyObject *device);
void rgm_profiler_note_changed(profiler_object *self, int64_t values); // of metadata
uint32_t rgm_profiler_metadata(profiler_object *self, PyObject *const *values, PyObject *names);
// The calling thread's recorder, NULL when nothing can be recorded.
rgm_recorder *rgm_profiler_recorder_slow(profiler_object *self, uint64_t id);

static inline PyThreadState *rgm_thread_state(void) {
#if PY_VERSION_HEX >= 0x030D0000
    return PyThreadState_GetUnchecked();
#else
    return _PyThreadState_UncheckedGet();
#endif
}

// Tells tasks of a thread apart: every asyncio task runs in a contextvars.Context of its own.
static inline const void *rgm_current_context(void) { return rgm_thread_state()->context; }

// context.c: finds out once where a context keeps the one it was entered from.
int rgm_context_init(void);
bool rgm_context_switch(rgm_recorder *recorder, const void *context);

// Makes the stack of the current context the recorder's; false when that was not possible (counted).
static inline bool rgm_context_enter(rgm_recorder *recorder) {
    const void *context = rgm_current_context();
    return RGM_LIKELY(recorder->context == context && recorder->track) ||
           rgm_context_switch(recorder, context);
}

static inline rgm_recorder *rgm_profiler_recorder(profiler_object *self) {
    uint64_t id = atomic_load_explicit(self->session_id, memory_order_relaxed);
    rgm_recorder *recorder = rgm_recorder_cached;
    if (RGM_LIKELY(recorder && id && atomic_load_explicit(&recorder->session_id, memory_order_relaxed) == id))
        return recorder;
    return id ? rgm_profiler_recorder_slow(self, id) : NULL;
}

// Off the hot path: begins and ends a scope as its profiler asks.
static inline void rgm_scope_enter_any(scope_object *scope) {
    (scope->profiler->special & SPECIAL_COUNTS ? rgm_scope_count_enter : rgm_scope_enter)(scope);
}
static inline void rgm_scope_leave_any(scope_object *scope, bool failed) {
    (scope->profiler->special & SPECIAL_COUNTS ? rgm_scope_count_leave : rgm_scope_leave)(scope, failed);
}

// scope_memory.c
void rgm_scope_memory_begin(scope_object *scope);
void rgm_scope_memory_end(scope_object *scope, rgm_recorder *recorder, bool record);
// Takes an exception back and counts it: a scope never raises.
void rgm_scope_internal_failure(scope_object *scope);

// scope_protocol.c: the descriptor of the scope type, and the idle scope
extern const char rgm_annotate_doc[];
int rgm_scope_protocol_init(PyObject *module, rgm_module *state);

// device_events.c
// The handle in a value of `stream=`; false when it is none.
bool rgm_profiler_stream(profiler_object *self, PyObject *value, uint64_t *stream);
void rgm_profiler_streams_clear(profiler_object *self);
int rgm_profiler_streams_visit(profiler_object *self, visitproc visit, void *arg);
void rgm_scope_device_begin(scope_object *scope);
// Number of the interval for the scope's record, 0 for none.
uint64_t rgm_scope_device_end(scope_object *scope);
void rgm_scope_device_abandon(scope_object *scope);
PyObject *rgm_profiler_device_timing(profiler_object *self, PyObject *args);
PyObject *rgm_profiler_device_drain(profiler_object *self, PyObject *unused);
PyObject *rgm_profiler_device_state(profiler_object *self, PyObject *unused);
void rgm_profiler_device_close(profiler_object *self);

// device_sampling.c
PyObject *rgm_profiler_telemetry_start(profiler_object *self, PyObject *args);
PyObject *rgm_profiler_telemetry_state(profiler_object *self, PyObject *unused);
PyObject *rgm_profiler_counters_start(profiler_object *self, PyObject *args);
PyObject *rgm_profiler_sampling_stop(profiler_object *self, PyObject *unused);
void rgm_profiler_sampling_close(profiler_object *self, rgm_sampling_report *report);

// stalls.c
PyObject *rgm_profiler_stalls_start(profiler_object *self, PyObject *period);
PyObject *rgm_profiler_stalls_collect(profiler_object *self, PyObject *unused);
PyObject *rgm_profiler_stalls_stop(profiler_object *self, PyObject *unused);
PyObject *rgm_profiler_stalls_state(profiler_object *self, PyObject *unused);
void rgm_profiler_stalls_close(profiler_object *self);

// scope_ranges.c
void rgm_scope_range_begin(scope_object *scope);
void rgm_scope_range_end(const scope_object *scope);
PyObject *rgm_profiler_ranges_start(profiler_object *self, PyObject *args);
PyObject *rgm_profiler_ranges_state(profiler_object *self, PyObject *unused);
// With the interpreter's lock, which is let go while the device is waited for; any number of times.
void rgm_profiler_ranges_close(profiler_object *self);
void rgm_profiler_ranges_free(profiler_object *self);

// kernel_tracing.c
PyObject *rgm_profiler_kernels_start(profiler_object *self, PyObject *given);
PyObject *rgm_profiler_kernels_await(profiler_object *self, PyObject *given);
PyObject *rgm_profiler_kernels_begin(profiler_object *self, PyObject *unused);
PyObject *rgm_profiler_kernels_yield(profiler_object *self, PyObject *reason);
PyObject *rgm_profiler_kernels_watch(profiler_object *self, PyObject *unused);
PyObject *rgm_profiler_kernels_flush(profiler_object *self, PyObject *unused);
PyObject *rgm_profiler_kernels_stop(profiler_object *self, PyObject *unused);
PyObject *rgm_profiler_kernels_state(PyObject *unused, PyObject *ignored);
PyObject *rgm_profiler_cupti(PyObject *unused, PyObject *ignored);
void rgm_profiler_kernels_close(profiler_object *self);

// collectives.c
PyObject *rgm_profiler_collectives(profiler_object *self, PyObject *rows);

// profiler_methods.c
extern PyMethodDef rgm_profiler_methods[];
extern PyGetSetDef rgm_profiler_getset[];
extern PyMemberDef rgm_profiler_members[];

// Wraps a plain function; `operation` NULL takes its qualified name.
PyObject *rgm_function_new(profiler_object *self, PyObject *function, PyObject *operation, PyObject *device);

#endif
