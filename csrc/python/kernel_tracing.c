// SPDX-License-Identifier: Apache-2.0
// Tracing of kernels by a profiler: start, collection, end, and what is known about it.
#include <string.h>

#include "capture/device.h"
#include "cuda/trace/cupti.h"
#include "cuda/trace/tracing_watch.h"
#include "python/fields.h"
#include "python/profiler.h"
#include "python/rows.h"

static int read_options(PyObject *given, rgm_tracing_options *options) {
    static const rgm_field rows[] = {
#define OPTION_ROW(type, name, initial, unit, doc) {#name, offsetof(rgm_tracing_options, name), 0, "", ""},
        RGM_TRACING_OPTIONS(OPTION_ROW)
#undef OPTION_ROW
    };
    static const char wrong[] = "no option %R of kernel tracing, or not a number of at least 0";
    static const rgm_fields fields = {
        rows, sizeof rows / sizeof *rows, RGM_FIELD_COUNT, &PyExc_ValueError, wrong, wrong};
    if (rgm_fields_read(given, &fields, options) < 0) return -1;
    if (options->buffer_bytes >= 65536 && options->buffers > 0) return 0;
    PyErr_SetString(PyExc_ValueError, "kernel tracing needs at least one buffer of at least 65,536 bytes");
    return -1;
}

static bool is_open(profiler_object *self) {
    if (!self->session) PyErr_SetString(PyExc_RuntimeError, "the profiler has not been initialised");
    return self->session != NULL;
}

static bool can_start(profiler_object *self, PyObject *given, rgm_tracing_options *options) {
    *options = RGM_TRACING_DEFAULTS;
    if (!PyDict_Check(given)) {
        PyErr_SetString(PyExc_TypeError, "options are a dict");
        return false;
    }
    return is_open(self) && read_options(given, options) == 0;
}

// The reason why kernels are not traced, "" when they are.
PyObject *rgm_profiler_kernels_start(profiler_object *self, PyObject *given) {
    rgm_tracing_options options;
    if (!can_start(self, given, &options)) return NULL;
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status;
    rgm_device_sink sink = rgm_session_sink(self->session);
    Py_BEGIN_ALLOW_THREADS;
    rgm_tracing_watch_make_room(self->options.device_wait_ns);
    status = rgm_tracing_start(sink, &options, &err);
    Py_END_ALLOW_THREADS;
    if (status == RGM_OK) return PyUnicode_FromString("");
    return PyUnicode_DecodeUTF8(err.message, (Py_ssize_t)strlen(err.message), "replace");
}

static void look(void *watch, bool may_wait) { rgm_tracing_watch_look(watch, may_wait); }

// From the program's first use of the driver on.
PyObject *rgm_profiler_kernels_await(profiler_object *self, PyObject *given) {
    rgm_tracing_options options;
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status = RGM_OK;
    if (!can_start(self, given, &options)) return NULL;
    if (self->kernels) Py_RETURN_NONE;
    rgm_device_sink sink = rgm_session_sink(self->session);
    RGM_UNLOCKED(status = rgm_tracing_watch_new(&self->kernels, sink, &options, &err));
    if (status != RGM_OK) return PyErr_NoMemory(); // which is all that can be
    rgm_session_on_pass(self->session, look, self->kernels);
    Py_RETURN_NONE;
}

static bool is_awaiting(profiler_object *self) {
    if (!self->kernels) PyErr_SetString(PyExc_RuntimeError, "the profiler does not wait for kernels");
    return self->kernels != NULL;
}

PyObject *rgm_profiler_kernels_begin(profiler_object *self, PyObject *unused) {
    if (!is_awaiting(self)) return NULL;
    RGM_UNLOCKED(rgm_tracing_watch_begin(self->kernels));
    Py_RETURN_NONE;
}

PyObject *rgm_profiler_kernels_yield(profiler_object *self, PyObject *reason) {
    const char *text = PyUnicode_AsUTF8(reason);
    if (!text || !is_awaiting(self)) return NULL;
    RGM_UNLOCKED(rgm_tracing_watch_yield(self->kernels, text, self->options.device_wait_ns));
    Py_RETURN_NONE;
}

PyObject *rgm_profiler_kernels_watch(profiler_object *self, PyObject *unused) {
    static const rgm_member members[] = {
        RGM_MEMBER(rgm_tracing_watch_state, phase),          RGM_MEMBER(rgm_tracing_watch_state, reason),
        RGM_MEMBER(rgm_tracing_watch_state, late_ns),        RGM_MEMBER(rgm_tracing_watch_state, started_ns),
        RGM_MEMBER(rgm_tracing_watch_state, yielded_ns),     RGM_MEMBER(rgm_tracing_watch_state, cpu_ns),
        RGM_MEMBER(rgm_tracing_watch_state, context_before),
    };
    rgm_tracing_watch_state state;
    if (!is_awaiting(self)) return NULL;
    RGM_UNLOCKED(rgm_tracing_watch_get_state(self->kernels, &state));
    return RGM_DICT_OF(&state, members);
}

PyObject *rgm_profiler_kernels_flush(profiler_object *self, PyObject *unused) {
    if (!is_open(self)) return NULL;
    RGM_UNLOCKED(rgm_tracing_flush(self->session, self->options.device_wait_ns));
    Py_RETURN_NONE;
}

// Without the interpreter's lock.
void rgm_profiler_kernels_close(profiler_object *self) {
    if (!self->session) return;
    rgm_tracing_watch_end(self->kernels, self->options.device_wait_ns);
    rgm_tracing_stop(self->session, self->options.device_wait_ns);
}

PyObject *rgm_profiler_kernels_stop(profiler_object *self, PyObject *unused) {
    if (!is_open(self)) return NULL;
    RGM_UNLOCKED(rgm_profiler_kernels_close(self));
    Py_RETURN_NONE;
}

// CUPTI's number of each kind of record that came: how many, and how many of them were of no use.
static PyObject *kinds_of(const rgm_tracing_stats *s) {
    static const rgm_member members[] = {RGM_MEMBER(rgm_activity_kind_counts, records),
                                         RGM_MEMBER(rgm_activity_kind_counts, invalid)};
    PyObject *kinds = PyDict_New();
    for (unsigned kind = 0; kinds && kind < RGM_ACTIVITY_KINDS; kind++) {
        char key[16];
        if (!s->kinds[kind].records) continue;
        (void)snprintf(key, sizeof key, "%u", kind);
        if (rgm_dict_put(kinds, key, RGM_DICT_OF(&s->kinds[kind], members)) < 0) Py_CLEAR(kinds);
    }
    return kinds;
}

#define STATE(member) RGM_MEMBER(rgm_tracing_stats, member)
static const rgm_member state_members[] = {
    STATE(path),
    STATE(origin),
    STATE(conflict),
    STATE(version),
    STATE(graph_nodes),
    STATE(several),
    STATE(calls),
    STATE(records),
    STATE(invalid),
    STATE(dropped),
    STATE(unknown),
    STATE(untimed),
    STATE(buffers),
    STATE(buffers_out),
    STATE(declined),
    STATE(foreign),
    STATE(service_cpu_ns),
    STATE(memory),
    STATE(green_contexts),
    STATE(green_multiprocessors),
    STATE(queue_times_reason),
    RGM_MEMBER_AS(rgm_tracing_stats, queue_times_asked, "queue_times"),
    RGM_MEMBER_AS(rgm_tracing_stats, queue_times, "queue_times_known"),
};
#undef STATE

PyObject *rgm_profiler_kernels_state(PyObject *unused, PyObject *ignored) {
    rgm_tracing_stats s;
    RGM_UNLOCKED(rgm_tracing_get_stats(&s));
    PyObject *dict =
        Py_BuildValue("{sssssssOsN}", "state", rgm_tracing_state_token(s.state), "meaning",
                      rgm_tracing_state_text(s.state), "clock", s.own_clock ? "monotonic" : "converted",
                      "running", s.state == RGM_TRACING_RUNNING ? Py_True : Py_False, "kinds", kinds_of(&s));
    if (dict && rgm_members_put(dict, &s, state_members, sizeof state_members / sizeof *state_members) < 0)
        Py_CLEAR(dict);
    return dict;
}

// What doctor shows: nothing is traced.
PyObject *rgm_profiler_cupti(PyObject *unused, PyObject *ignored) {
    const rgm_driver *driver;
    const rgm_cupti *cupti = NULL;
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = rgm_driver_start(&driver, &err);
    if (status == RGM_OK) status = rgm_cupti_get(&cupti, driver, &err);
    Py_END_ALLOW_THREADS;
    if (status != RGM_OK) return Py_BuildValue("{ss}", "reason", err.message);
    return Py_BuildValue("{sssksisssssi}", "reason", "", "version", (unsigned long)cupti->version, "cuda",
                         rgm_cupti_major(cupti->version), "path", cupti->library.path, "origin",
                         rgm_library_origin_text(cupti->library.origin), "runtime",
                         rgm_cupti_runtime_major());
}
