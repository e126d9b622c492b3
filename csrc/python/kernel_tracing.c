// SPDX-License-Identifier: Apache-2.0
// Tracing of kernels by a profiler: start, collection, end, and what is known about it.
#include <string.h>

#include "capture/device.h"
#include "cuda/cupti.h"
#include "cuda/tracing.h"
#include "python/fields.h"
#include "python/profiler.h"

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

// The reason why kernels are not traced, "" when they are.
PyObject *rgm_profiler_kernels_start(profiler_object *self, PyObject *given) {
    rgm_tracing_options options = RGM_TRACING_DEFAULTS;
    if (!PyDict_Check(given)) {
        PyErr_SetString(PyExc_TypeError, "options are a dict");
        return NULL;
    }
    if (!is_open(self) || read_options(given, &options) < 0) return NULL;
    rgm_error err;
    rgm_status status;
    rgm_error_clear(&err);
    rgm_device_sink sink = rgm_session_sink(self->session);
    Py_BEGIN_ALLOW_THREADS;
    status = rgm_tracing_start(sink, &options, &err);
    Py_END_ALLOW_THREADS;
    if (status == RGM_OK) return PyUnicode_FromString("");
    return PyUnicode_DecodeUTF8(err.message, (Py_ssize_t)strlen(err.message), "replace");
}

PyObject *rgm_profiler_kernels_flush(profiler_object *self, PyObject *unused) {
    if (!is_open(self)) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    rgm_tracing_flush(self->session, self->options.device_wait_ns);
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

// Without the interpreter's lock.
void rgm_profiler_kernels_close(profiler_object *self) {
    if (self->session) rgm_tracing_stop(self->session, self->options.device_wait_ns);
}

PyObject *rgm_profiler_kernels_stop(profiler_object *self, PyObject *unused) {
    if (!is_open(self)) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    rgm_profiler_kernels_close(self);
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

// CUPTI's number of each kind of record that came: how many, and how many of them were of no use.
static PyObject *kinds_of(const rgm_tracing_stats *s) {
    PyObject *kinds = PyDict_New();
    for (unsigned kind = 0; kinds && kind < RGM_ACTIVITY_KINDS; kind++) {
        if (!s->kinds[kind].records) continue;
        PyObject *key = PyUnicode_FromFormat("%u", kind);
        PyObject *counts =
            Py_BuildValue("{sKsK}", "records", s->kinds[kind].records, "invalid", s->kinds[kind].invalid);
        if (!key || !counts || PyDict_SetItem(kinds, key, counts) != 0) Py_CLEAR(kinds);
        Py_XDECREF(key);
        Py_XDECREF(counts);
    }
    return kinds;
}

PyObject *rgm_profiler_kernels_state(PyObject *unused, PyObject *ignored) {
    rgm_tracing_stats s;
    Py_BEGIN_ALLOW_THREADS;
    rgm_tracing_get_stats(&s);
    Py_END_ALLOW_THREADS;
    PyObject *kinds = kinds_of(&s);
    if (!kinds) return NULL;
    return Py_BuildValue(
        "{sssssssssssksssOsOsKsKsKsKsKsKsKsKsKsKsNsL}", "state", rgm_tracing_state_token(s.state), "meaning",
        rgm_tracing_state_text(s.state), "path", s.path, "origin", s.origin, "conflict", s.conflict,
        "version", (unsigned long)s.version, "clock", s.own_clock ? "monotonic" : "converted", "graph_nodes",
        s.graph_nodes ? Py_True : Py_False, "running", s.state == RGM_TRACING_RUNNING ? Py_True : Py_False,
        "calls", s.calls, "records", s.records, "invalid", s.invalid, "dropped", s.dropped, "unknown",
        s.unknown, "untimed", s.untimed, "buffers", s.buffers, "buffers_out", s.buffers_out, "declined",
        s.declined, "foreign", s.foreign, "kinds", kinds, "service_cpu_ns", (long long)s.service_cpu_ns);
}

// What doctor shows: nothing is traced.
PyObject *rgm_profiler_cupti(PyObject *unused, PyObject *ignored) {
    const rgm_driver *driver;
    const rgm_cupti *cupti = NULL;
    rgm_error err;
    rgm_status status;
    rgm_error_clear(&err);
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
