// SPDX-License-Identifier: Apache-2.0
// Runs that come from files and go to them.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/export.h"
#include "io/run_file.h"
#include "io/trace_import.h"
#include "python/run_object.h"

PyObject *rgm_method_load(PyTypeObject *type, PyObject *args) {
    PyObject *path;
    int recover;
    rgm_module *state = rgm_module_of_type(type);
    if (!state || !PyArg_ParseTuple(args, "O&p", PyUnicode_FSConverter, &path, &recover)) return NULL;
    rgm_error err;
    rgm_run *run = NULL;
    rgm_status status;
    rgm_error_clear(&err);
    Py_BEGIN_ALLOW_THREADS;
    status = rgm_run_load(PyBytes_AS_STRING(path), recover ? RGM_LOAD_RECOVER : RGM_LOAD_STRICT, &run, &err);
    Py_END_ALLOW_THREADS;
    Py_DECREF(path);
    return status == RGM_OK ? rgm_run_wrap(type, run) : rgm_raise(state, status, &err);
}

static rgm_status read_file(void *context, uint8_t *buffer, size_t room, size_t *filled, rgm_error *err) {
    ssize_t got;
    do got = read(*(const int *)context, buffer, room);
    while (got < 0 && errno == EINTR);
    *filled = got > 0 ? (size_t)got : 0;
    return got < 0 ? rgm_error_os(err, RGM_IO, errno, "reading failed: %s", strerror(errno)) : RGM_OK;
}

static rgm_status read_file_at(void *context, int64_t offset, uint8_t *buffer, size_t room, size_t *filled,
                               rgm_error *err) {
    ssize_t got;
    do got = pread(*(const int *)context, buffer, room, offset);
    while (got < 0 && errno == EINTR);
    *filled = got > 0 ? (size_t)got : 0;
    return got < 0 ? rgm_error_os(err, RGM_IO, errno, "reading failed: %s", strerror(errno)) : RGM_OK;
}

static rgm_status import_file(const char *path, const char *name, const rgm_import_options *options,
                              rgm_run **run, rgm_error *err) {
    struct stat info;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return rgm_error_os(err, RGM_IO, errno, "%s: %s", name, strerror(errno));
    rgm_source file = {.read = read_file, .context = &descriptor, .name = name};
    if (fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode)) { // pipes have no places
        file.read_at = read_file_at;
        file.size = info.st_size;
    }
    rgm_status status = rgm_trace_import(&file, options, run, err);
    close(descriptor);
    return status;
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
    rgm_error err;
    rgm_run *run = NULL;
    rgm_status status;
    rgm_error_clear(&err);
    if (Py_IS_TYPE(source, state->feed_type)) {
        const rgm_source feed = {.read = rgm_feed_read, .context = source, .name = name};
        Py_BEGIN_ALLOW_THREADS;
        status = rgm_trace_import(&feed, &options, &run, &err);
        Py_END_ALLOW_THREADS;
        rgm_feed_stop(source);
    } else if (PyUnicode_Check(source)) {
        PyObject *path;
        if (!PyUnicode_FSConverter(source, &path)) return NULL;
        Py_BEGIN_ALLOW_THREADS;
        status = import_file(PyBytes_AS_STRING(path), name, &options, &run, &err);
        Py_END_ALLOW_THREADS;
        Py_DECREF(path);
    } else {
        Py_buffer view;
        if (PyObject_GetBuffer(source, &view, PyBUF_C_CONTIGUOUS) < 0) return NULL;
        Py_BEGIN_ALLOW_THREADS;
        status = rgm_trace_import_bytes(view.buf, (size_t)view.len, name, &options, &run, &err);
        Py_END_ALLOW_THREADS;
        PyBuffer_Release(&view);
    }
    return status == RGM_OK ? rgm_run_wrap(type, run) : rgm_raise(state, status, &err);
}

PyObject *rgm_method_save(run_object *self, PyObject *path) {
    PyObject *encoded;
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    if (!state || !PyUnicode_FSConverter(path, &encoded)) return NULL;
    rgm_error err;
    rgm_status status;
    rgm_error_clear(&err);
    Py_BEGIN_ALLOW_THREADS;
    status = rgm_run_save(self->run, PyBytes_AS_STRING(encoded), &err);
    Py_END_ALLOW_THREADS;
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
    rgm_error err;
    rgm_status status;
    rgm_error_clear(&err);
    Py_BEGIN_ALLOW_THREADS;
    status = rgm_export(self->run, format, option, write_to_callable, write, &err);
    Py_END_ALLOW_THREADS;
    if (PyErr_Occurred()) return NULL;
    if (status != RGM_OK) return rgm_raise(state, status, &err);
    Py_RETURN_NONE;
}
