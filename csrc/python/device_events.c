// SPDX-License-Identifier: Apache-2.0
// Device time of scopes: which stream a block works in, and the profiler's side of csrc/cuda/events/events.h.
//
// A block without `stream=` works in the current stream of the library that the program uses: torch, CuPy or
// Numba, told by a callable of that library, which is looked for now and then (streams.find) and called at
// begin and end of every block. Without any it is the default stream of the thread's context.
#include "capture/device.h"
#include "python/profiler.h"

// Ticks between two looks at which libraries the program has loaded: a tenth of a second until there is one,
// some seconds after that.
enum { LAST_SPECIAL_STREAM = 2, LEAST_ADDRESS = 65536 };
enum { COST_SAMPLE = 32 }; // one scope in so many has its cost measured
static const uint64_t look_ticks[] = {UINT64_C(1) << 28, UINT64_C(1) << 33};

// --- streams ----------------------------------------------------------------------------------------------

void rgm_profiler_streams_clear(profiler_object *self) {
    for (int i = 0; i < STREAM_SOURCES; i++) {
        Py_CLEAR(self->stream_of[i]);
        Py_CLEAR(self->stream_device[i]);
    }
    Py_CLEAR(self->find_streams);
    Py_CLEAR(self->stream_handle);
}

int rgm_profiler_streams_visit(profiler_object *self, visitproc visit, void *arg) {
    for (int i = 0; i < STREAM_SOURCES; i++) {
        Py_VISIT(self->stream_of[i]);
        Py_VISIT(self->stream_device[i]);
    }
    Py_VISIT(self->find_streams);
    Py_VISIT(self->stream_handle);
    return 0;
}

static void note_failure(profiler_object *self) {
    PyErr_Clear();
    rgm_session_note(self->session, RGM_ANOMALY_INTERNAL, 1);
}

// find_streams() gives, for each source, a callable for the stream and one for its argument, or None twice.
static void look_for_streams(profiler_object *self) {
    PyObject *found = self->find_streams ? PyObject_CallNoArgs(self->find_streams) : NULL;
    bool any = false;
    if (found && PyTuple_Check(found) && PyTuple_GET_SIZE(found) == 2 * STREAM_SOURCES) {
        for (int i = 0; i < STREAM_SOURCES; i++) {
            PyObject *stream = PyTuple_GET_ITEM(found, 2 * i), *device = PyTuple_GET_ITEM(found, 2 * i + 1);
            Py_XSETREF(self->stream_of[i], stream == Py_None ? NULL : Py_NewRef(stream));
            Py_XSETREF(self->stream_device[i], device == Py_None ? NULL : Py_NewRef(device));
            any |= stream != Py_None;
        }
    } else if (self->find_streams) {
        note_failure(self);
    }
    Py_XDECREF(found);
    self->next_stream_look = rgm_clock_ticks() + look_ticks[any];
}

// The library that the block was seen to use goes first, then torch, CuPy and Numba in this order.
static int source_of(const profiler_object *self, const rgm_site *site) {
    if (self->stream_of[STREAM_CUPY] &&
        atomic_load_explicit(&site->backend, memory_order_relaxed) == RGM_BACKEND_CUPY)
        return STREAM_CUPY;
    for (int i = 0; i < STREAM_SOURCES; i++)
        if (self->stream_of[i]) return i;
    return STREAM_SOURCES;
}

typedef struct {
    uint64_t stream;
    bool told;  // by a library or the user
    int device; // as the library told it, -1 otherwise
} place;

static PyObject *ask(PyObject *stream_of, PyObject *device_of, int *device) {
    if (!device_of) return PyObject_CallNoArgs(stream_of);
    PyObject *number = PyObject_CallNoArgs(device_of);
    PyObject *stream = number ? PyObject_CallOneArg(stream_of, number) : NULL;
    if (stream) *device = (int)PyLong_AsLong(number);
    Py_XDECREF(number);
    return stream;
}

// False when the library does not answer: then nothing is known about where the block works. torch is listed
// only once it has initialised the device; the others cannot be asked before somebody has.
static bool current_place(scope_object *scope, place *at) {
    profiler_object *self = scope->profiler;
    *at = (place){.stream = scope->stream, .told = true, .device = -1};
    if (scope->stream_given) return true;
    int source = source_of(self, scope->site);
    at->told = source < STREAM_SOURCES;
    at->stream = 0;
    if (!at->told) return true;
    if (source != STREAM_TORCH && !rgm_events_ready(self->events)) return false;
    PyObject *answer = ask(self->stream_of[source], self->stream_device[source], &at->device);
    at->stream = answer ? PyLong_AsUnsignedLongLong(answer) : 0;
    Py_XDECREF(answer);
    if (!PyErr_Occurred()) return true;
    note_failure(self);
    return false;
}

bool rgm_profiler_stream(profiler_object *self, PyObject *value, uint64_t *stream) {
    PyObject *number = PyLong_Check(value) && !PyBool_Check(value) ? Py_NewRef(value)
                       : self->stream_handle && value != Py_None
                           ? PyObject_CallOneArg(self->stream_handle, value)
                           : NULL;
    bool known = number && PyLong_Check(number);
    if (known) *stream = PyLong_AsUnsignedLongLong(number);
    Py_XDECREF(number);
    if (PyErr_Occurred()) {
        PyErr_Clear(); // a negative number, or an object that fails to tell: metadata like any other
        return false;
    }
    // A handle is an address, and the driver follows it: the number of a stream in the program's own counting
    // must not get there.
    return known && (*stream <= LAST_SPECIAL_STREAM || *stream >= LEAST_ADDRESS);
}

// --- scopes -----------------------------------------------------------------------------------------------

// A function that failed leaves its exception set, and no Python code may run on top of one.
#define KEEPING_THE_EXCEPTION(statement)                                                                     \
    do {                                                                                                     \
        PyObject *type = NULL, *value = NULL, *traceback = NULL;                                             \
        bool raised = PyErr_Occurred() != NULL;                                                              \
        if (RGM_UNLIKELY(raised)) PyErr_Fetch(&type, &value, &traceback);                                    \
        statement;                                                                                           \
        if (RGM_UNLIKELY(raised)) PyErr_Restore(type, value, traceback);                                     \
    } while (0)

void rgm_scope_device_begin(scope_object *scope) {
    profiler_object *self = scope->profiler;
    uint64_t now = rgm_clock_ticks();
    bool known = false;
    place at;
    if (RGM_UNLIKELY(now >= self->next_stream_look)) KEEPING_THE_EXCEPTION(look_for_streams(self));
    KEEPING_THE_EXCEPTION(known = current_place(scope, &at));
    if (known) scope->slot = rgm_events_begin(self->events, at.stream, at.told, at.device);
    // Not the very first ones, which make the pool.
    scope->cost_timed = scope->slot && ++self->device_scopes % COST_SAMPLE == 0;
    if (RGM_UNLIKELY(scope->cost_timed)) self->device_ticks += rgm_clock_ticks() - now;
}

uint64_t rgm_scope_device_end(scope_object *scope) {
    rgm_event_slot *slot = scope->slot;
    uint64_t number = 0, now = scope->cost_timed ? rgm_clock_ticks() : 0;
    bool known = false;
    place at;
    scope->slot = NULL;
    KEEPING_THE_EXCEPTION(known = current_place(scope, &at));
    if (known)
        number = rgm_events_end(scope->profiler->events, slot, at.stream);
    else
        rgm_events_abandon(scope->profiler->events, slot);
    if (RGM_UNLIKELY(scope->cost_timed)) {
        scope->profiler->device_ticks += rgm_clock_ticks() - now;
        scope->profiler->device_timed++;
    }
    return number;
}

void rgm_scope_device_abandon(scope_object *scope) {
    if (scope->slot) rgm_events_abandon(scope->profiler->events, scope->slot);
    scope->slot = NULL;
}

// --- methods ----------------------------------------------------------------------------------------------

PyObject *rgm_profiler_device_timing(profiler_object *self, PyObject *args) {
    int on;
    PyObject *find, *handle;
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    if (!state || !PyArg_ParseTuple(args, "pOO", &on, &find, &handle)) return NULL;
    if (!self->session) {
        PyErr_SetString(PyExc_RuntimeError, "the profiler has not been initialised");
        return NULL;
    }
    Py_XSETREF(self->find_streams, Py_NewRef(find));
    Py_XSETREF(self->stream_handle, Py_NewRef(handle));
    if (on && !self->events) {
        rgm_error err = RGM_ERROR_NONE;
        rgm_events_options options = {.poll_ns = self->options.device_poll_ns,
                                      .max_slots = self->options.device_events};
        rgm_status status =
            rgm_events_new(&self->events, rgm_session_sink(self->session), &options, NULL, &err);
        if (status != RGM_OK) return rgm_raise(state, status, &err);
    }
    self->special &= (uint8_t)~SPECIAL_DEVICE_EVENTS;
    if (on) self->special |= SPECIAL_DEVICE_EVENTS;
    Py_RETURN_NONE;
}

PyObject *rgm_profiler_device_drain(profiler_object *self, PyObject *unused) {
    long long left = 0;
    if (self->events) RGM_UNLOCKED(left = rgm_events_drain(self->events, self->options.device_wait_ns));
    return PyLong_FromLongLong(left);
}

PyObject *rgm_profiler_device_state(profiler_object *self, PyObject *unused) {
    rgm_events_stats stats = {0};
    rgm_error err = RGM_ERROR_NONE;
    if (!self->events) Py_RETURN_NONE;
    rgm_status status = rgm_events_status(self->events, &err);
    rgm_events_get_stats(self->events, &stats);
    double scope_ns = 0;
    if (self->device_timed)
        scope_ns = (double)rgm_session_elapsed_ns(self->session, rgm_clock_ticks() - self->device_ticks,
                                                  self->device_ticks) /
                   (double)self->device_timed;
    return Py_BuildValue("{sssKsKsKsKsKsLsd}", "reason", status == RGM_OK ? "" : err.message, "begun",
                         (unsigned long long)stats.begun, "ended", (unsigned long long)stats.ended,
                         "resolved", (unsigned long long)stats.resolved, "refused",
                         (unsigned long long)stats.refused, "pairs", (unsigned long long)stats.slots,
                         "service_cpu_ns", (long long)stats.service_cpu_ns, "scope_ns", scope_ns);
}

// Without the interpreter's lock: waits for the device, within the bound.
void rgm_profiler_device_close(profiler_object *self) {
    if (self->events) rgm_events_close(self->events, self->options.device_wait_ns);
}
