// SPDX-License-Identifier: Apache-2.0
#include "python/fields.h"

#include <math.h>
#include <string.h>

static const rgm_field *find(const rgm_fields *fields, PyObject *name) {
    for (size_t i = 0; PyUnicode_Check(name) && i < fields->count; i++)
        if (PyUnicode_CompareWithASCIIString(name, fields->rows[i].name) == 0) return &fields->rows[i];
    return NULL;
}

static bool fits(rgm_field_kind kind, double number) {
    switch (kind) {
    case RGM_FIELD_NOT_NEGATIVE: return number >= 0 && !isinf(number);
    case RGM_FIELD_OR_UNKNOWN: return !(number < 0) && !isinf(number);
    case RGM_FIELD_ABOVE_ZERO: return number > 0;
    default: return true;
    }
}

static int wrong(const rgm_fields *fields, PyObject *name) {
    PyErr_Format(PyExc_ValueError, fields->wrong, name);
    return -1;
}

static int read_one(const rgm_fields *fields, PyObject *name, PyObject *value, void *into) {
    const rgm_field *row = find(fields, name);
    if (!row) {
        PyErr_Format(*fields->unknown_type, fields->unknown, name);
        return -1;
    }
    char *at = (char *)into + row->offset;
    if (fields->kind == RGM_FIELD_INT || fields->kind == RGM_FIELD_COUNT) {
        int64_t number = PyLong_AsLongLong(value);
        if (number == -1 && PyErr_Occurred()) return -1;
        if (number < 0 && fields->kind == RGM_FIELD_COUNT) return wrong(fields, name);
        memcpy(at, &number, sizeof number);
        return 0;
    }
    bool unknown = fields->kind == RGM_FIELD_OR_UNKNOWN && value == Py_None;
    double number = unknown ? NAN : PyFloat_AsDouble(value);
    if (number == -1.0 && PyErr_Occurred()) return -1;
    if (!fits(fields->kind, number)) return wrong(fields, name);
    memcpy(at, &number, sizeof number);
    return 0;
}

int rgm_fields_read(PyObject *given, const rgm_fields *fields, void *into) {
    PyObject *name, *value, *own = given ? PyDict_Copy(given) : NULL;
    Py_ssize_t at = 0;
    int result = given && !own ? -1 : 0;
    while (result == 0 && own && PyDict_Next(own, &at, &name, &value))
        result = read_one(fields, name, value, into);
    Py_XDECREF(own);
    return result;
}

PyObject *rgm_sequence_items(PyObject *given, const char *message) {
    PyObject *items = PySequence_Fast(given, message);
    PyObject *own = items ? PySequence_Tuple(items) : NULL;
    Py_XDECREF(items);
    return own;
}

PyObject *rgm_fields_describe(const rgm_fields *fields) {
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && i < fields->count; i++) {
        const rgm_field *field = &fields->rows[i];
        PyObject *row = Py_BuildValue("{sdssss}", "default", field->initial, "unit", field->unit, "source",
                                      field->source);
        if (!row || PyDict_SetItemString(dict, field->name, row) < 0) Py_CLEAR(dict);
        Py_XDECREF(row);
    }
    return dict;
}
