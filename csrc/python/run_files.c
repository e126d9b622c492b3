// SPDX-License-Identifier: Apache-2.0
// Runs that come from files and go to them.
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "io/export/export.h"
#include "io/journal/run_file.h"
#include "io/snapshot/memory_snapshot.h"
#include "io/trace/trace_import.h"
#include "python/run_object.h"

PyObject *rgm_method_load(PyTypeObject *type, PyObject *args) {
    PyObject *path;
    int recover;
    rgm_module *state = rgm_module_of_type(type);
    if (!state || !PyArg_ParseTuple(args, "O&p", PyUnicode_FSConverter, &path, &recover)) return NULL;
    rgm_error err = RGM_ERROR_NONE;
    rgm_run *run = NULL;
    rgm_status status;
    RGM_UNLOCKED(status = rgm_run_load(PyBytes_AS_STRING(path), recover ? RGM_LOAD_RECOVER : RGM_LOAD_STRICT,
                                       &run, &err));
    Py_DECREF(path);
    return status == RGM_OK ? rgm_run_wrap(type, run) : rgm_raise(state, status, &err);
}

// A file that is read without the GIL, by the thread that called and perhaps one more. Between two pieces the
// first looks for signals, so that Ctrl-C ends a long import; asking costs the GIL, so it asks now and then.
typedef struct {
    int descriptor;
    PyThreadState *caller;
    pthread_t thread; // of the caller
    int64_t asked_ns;
    _Atomic(bool) interrupted;
} watched_file;

enum { ASK_FOR_SIGNALS_NS = 50000000 };

static rgm_status look_for_signals(watched_file *file, bool at_once, rgm_error *err) {
    int64_t now = rgm_clock_monotonic_ns();
    if (pthread_equal(pthread_self(), file->thread) &&
        (at_once || now - file->asked_ns > ASK_FOR_SIGNALS_NS)) {
        file->asked_ns = now;
        PyEval_RestoreThread(file->caller);
        if (PyErr_CheckSignals() < 0) atomic_store(&file->interrupted, true);
        file->caller = PyEval_SaveThread();
    }
    return atomic_load(&file->interrupted) ? rgm_error_set(err, RGM_IO, "interrupted") : RGM_OK;
}

static rgm_status was_read(ssize_t got, size_t *filled, rgm_error *err) {
    *filled = got > 0 ? (size_t)got : 0;
    return got < 0 ? rgm_error_os(err, RGM_IO, errno, "reading failed: %s", strerror(errno)) : RGM_OK;
}

static rgm_status read_file(void *context, uint8_t *buffer, size_t room, size_t *filled, rgm_error *err) {
    watched_file *file = context;
    for (bool interrupted = false;; interrupted = true) {
        RGM_TRY(look_for_signals(file, interrupted, err));
        ssize_t got = read(file->descriptor, buffer, room);
        if (got >= 0 || errno != EINTR) return was_read(got, filled, err);
    }
}

static rgm_status read_file_at(void *context, int64_t offset, uint8_t *buffer, size_t room, size_t *filled,
                               rgm_error *err) {
    watched_file *file = context;
    for (bool interrupted = false;; interrupted = true) {
        RGM_TRY(look_for_signals(file, interrupted, err));
        ssize_t got = pread(file->descriptor, buffer, room, offset);
        if (got >= 0 || errno != EINTR) return was_read(got, filled, err);
    }
}

typedef rgm_status (*importer)(const rgm_source *source, const rgm_import_options *options, rgm_run **run,
                               rgm_error *err);

static rgm_status import_snapshot(const rgm_source *source, const rgm_import_options *options, rgm_run **run,
                                  rgm_error *err) {
    return rgm_memory_snapshot_read(source, run, err);
}

// Called with the GIL, which it lets go of. An exception of a signal's handler is left standing.
static rgm_status import_file(importer import, const char *path, const char *name,
                              const rgm_import_options *options, rgm_run **run, rgm_error *err) {
    struct stat info;
    rgm_status status;
    watched_file file = {.thread = pthread_self(), .asked_ns = rgm_clock_monotonic_ns()};
    rgm_source source = {.read = read_file, .context = &file, .name = name};
    file.caller = PyEval_SaveThread();
    file.descriptor = rgm_descriptor_open(path, O_RDONLY, 0);
    if (file.descriptor < 0) {
        status = rgm_error_os(err, RGM_IO, errno, "%s: %s", name, strerror(errno));
    } else {
        if (fstat(file.descriptor, &info) == 0 && S_ISREG(info.st_mode)) { // pipes have no places
            source.read_at = read_file_at;
            source.size = info.st_size;
        }
        status = import(&source, options, run, err);
        close(file.descriptor);
    }
    PyEval_RestoreThread(file.caller);
    return status;
}

// From a Feed or a path; false with an exception of a signal's handler, or where a path is none.
static bool import_from(rgm_module *state, importer import, PyObject *source, const char *name,
                        const rgm_import_options *options, rgm_run **run, rgm_status *status,
                        rgm_error *err) {
    if (Py_IS_TYPE(source, state->feed_type)) {
        const rgm_source feed = {.read = rgm_feed_read, .context = source, .name = name};
        RGM_UNLOCKED(*status = import(&feed, options, run, err));
        rgm_feed_stop(source);
        return true;
    }
    PyObject *path;
    if (!PyUnicode_FSConverter(source, &path)) return false;
    *status = import_file(import, PyBytes_AS_STRING(path), name, options, run, err);
    Py_DECREF(path);
    if (!PyErr_Occurred()) return true;
    rgm_run_free(*run);
    return false;
}

PyObject *rgm_method_import_snapshot(PyTypeObject *type, PyObject *args) {
    PyObject *source;
    const char *name;
    rgm_module *state = rgm_module_of_type(type);
    if (!state || !PyArg_ParseTuple(args, "Os", &source, &name)) return NULL;
    rgm_error err = RGM_ERROR_NONE;
    rgm_run *run = NULL;
    rgm_status status;
    if (!import_from(state, import_snapshot, source, name, NULL, &run, &status, &err)) return NULL;
    return status == RGM_OK ? rgm_run_wrap(type, run) : rgm_raise(state, status, &err);
}

PyObject *rgm_method_import(PyTypeObject *type, PyObject *args) {
    PyObject *source;
    const char *name;
    int strict;
    rgm_import_options options = {0};
    rgm_module *state = rgm_module_of_type(type);
    if (!state || !PyArg_ParseTuple(args, "Ospii", &source, &name, &strict, &options.threads, &options.scan))
        return NULL;
    options.strict = strict;
    rgm_error err = RGM_ERROR_NONE;
    rgm_run *run = NULL;
    rgm_status status;
    if (Py_IS_TYPE(source, state->feed_type) || PyUnicode_Check(source)) {
        if (!import_from(state, rgm_trace_import, source, name, &options, &run, &status, &err)) return NULL;
    } else {
        Py_buffer view;
        if (PyObject_GetBuffer(source, &view, PyBUF_C_CONTIGUOUS) < 0) return NULL;
        RGM_UNLOCKED(status = rgm_trace_import_bytes(view.buf, (size_t)view.len, name, &options, &run, &err));
        PyBuffer_Release(&view);
    }
    return status == RGM_OK ? rgm_run_wrap(type, run) : rgm_raise(state, status, &err);
}

PyObject *rgm_method_save(run_object *self, PyObject *path) {
    PyObject *encoded;
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    if (!state || !PyUnicode_FSConverter(path, &encoded)) return NULL;
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status;
    RGM_UNLOCKED(status = rgm_run_save(self->run, PyBytes_AS_STRING(encoded), &err));
    Py_DECREF(encoded);
    if (status != RGM_OK) return rgm_raise(state, status, &err);
    Py_RETURN_NONE;
}

// Calls the callable with the bytes; an exception that it raises is left standing.
static rgm_status write_to_callable(void *context, const void *data, size_t length, rgm_error *err) {
    PyGILState_STATE held = PyGILState_Ensure();
    PyObject *done = PyObject_CallFunction(context, "y#", (const char *)data, (Py_ssize_t)length);
    Py_XDECREF(done);
    PyGILState_Release(held);
    return done ? RGM_OK : rgm_error_set(err, RGM_IO, "the output raised an exception");
}

PyObject *rgm_method_export(run_object *self, PyObject *args) {
    const char *format, *option;
    PyObject *write;
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    if (!state || !PyArg_ParseTuple(args, "szO", &format, &option, &write)) return NULL;
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status;
    RGM_UNLOCKED(status = rgm_export(self->run, format, option, write_to_callable, write, &err));
    if (PyErr_Occurred()) return NULL;
    if (status != RGM_OK) return rgm_raise(state, status, &err);
    Py_RETURN_NONE;
}
