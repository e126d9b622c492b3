// SPDX-License-Identifier: Apache-2.0
// All raising of core errors. The exception classes are made here so that C and Python raise the same ones.
#include "base/spill.h"
#include "python/state.h"

static PyObject *make(PyObject *module, const char *name, const char *doc, PyObject *bases) {
    char full[64];
    PyOS_snprintf(full, sizeof full, "regimeter.%s", name);
    PyObject *type = PyErr_NewExceptionWithDoc(full, doc, bases, NULL);
    if (type && PyModule_AddObjectRef(module, name, type) < 0) Py_CLEAR(type);
    return type;
}

static PyObject *make_kind(PyObject *module, const char *name, const char *doc, PyObject *error,
                           PyObject *other) {
    PyObject *bases = other ? PyTuple_Pack(2, error, other) : PyTuple_Pack(1, error);
    if (!bases) return NULL;
    PyObject *type = make(module, name, doc, bases);
    Py_DECREF(bases);
    return type;
}

int rgm_errors_init(PyObject *module, rgm_module *state) {
    state->error =
        make(module, "Error", "Base of all errors that regimeter raises on its own account.", NULL);
    if (!state->error) return -1;
    state->format_error =
        make_kind(module, "FormatError",
                  "Unreadable input. `offset` is the byte offset in the file, None when it has no place.",
                  state->error, PyExc_ValueError);
    state->busy_error =
        make_kind(module, "BusyError", "Another session is writing the file.", state->error, NULL);
    state->unavailable_error = make_kind(
        module, "UnavailableError", "A device or library is missing; the message says what and what to do.",
        state->error, NULL);
    return state->format_error && state->busy_error && state->unavailable_error ? 0 : -1;
}

static void set_offset(PyObject *error, int64_t offset) {
    PyObject *value = offset >= 0 ? PyLong_FromLongLong(offset) : Py_NewRef(Py_None);
    if (!value || PyObject_SetAttrString(error, "offset", value) < 0) PyErr_Clear();
    Py_XDECREF(value);
}

static PyObject *raise_format(rgm_module *state, const rgm_error *err) {
    PyObject *error = PyObject_CallFunction(state->format_error, "s", err->message);
    if (!error) return NULL;
    set_offset(error, err->offset);
    PyErr_SetObject(state->format_error, error);
    Py_DECREF(error);
    return NULL;
}

// OSError(errno, text) picks FileNotFoundError and its like.
static PyObject *raise_os(int os_errno, const char *message) {
    PyObject *args = Py_BuildValue("(is)", os_errno, message);
    if (args) PyErr_SetObject(PyExc_OSError, args);
    Py_XDECREF(args);
    return NULL;
}

static PyObject *raise_no_memory(void) {
    rgm_error err;
    return rgm_spill_refused(&err) ? raise_os(err.os_errno, err.message) : PyErr_NoMemory();
}

PyObject *rgm_raise(rgm_module *state, rgm_status status, const rgm_error *err) {
    const char *message = err && err->message[0] ? err->message : rgm_status_text(status);
    switch (status) {
    case RGM_NO_MEMORY: return raise_no_memory();
    case RGM_FORMAT: return raise_format(state, err);
    case RGM_BUSY: PyErr_SetString(state->busy_error, message); return NULL;
    case RGM_UNAVAILABLE: PyErr_SetString(state->unavailable_error, message); return NULL;
    case RGM_INVALID: PyErr_SetString(PyExc_ValueError, message); return NULL;
    case RGM_IO: return raise_os(err ? err->os_errno : 0, message);
    default: PyErr_SetString(state->error, message); return NULL;
    }
}

Py_ssize_t rgm_name_find(PyObject *name, const char *const *names, size_t count) {
    for (size_t i = 0; PyUnicode_Check(name) && i < count; i++)
        if (PyUnicode_CompareWithASCIIString(name, names[i]) == 0) return (Py_ssize_t)i;
    return -1;
}

int rgm_device_parse(rgm_module *state, PyObject *device) {
    if (!PyUnicode_Check(device)) {
        PyErr_Format(PyExc_TypeError, "device must be a str, not %.100s", Py_TYPE(device)->tp_name);
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(state->device_names); i++)
        if (PyUnicode_Compare(device, PyTuple_GET_ITEM(state->device_names, i)) == 0) return (int)i;
    PyObject *comma = PyUnicode_FromString(", ");
    PyObject *valid = comma ? PyUnicode_Join(comma, state->device_names) : NULL;
    Py_XDECREF(comma);
    if (valid) PyErr_Format(PyExc_ValueError, "unknown device %R; valid are: %U", device, valid);
    Py_XDECREF(valid);
    return -1;
}
