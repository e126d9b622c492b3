// SPDX-License-Identifier: Apache-2.0
#include "python/rows.h"

#include <math.h>
#include <string.h>

static PyObject *text_of(const char *text) {
    if (!text) Py_RETURN_NONE;
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

static PyObject *value_of(const void *from, const rgm_member *member) {
    const void *at = (const char *)from + member->offset;
    switch (member->type) {
    case RGM_MEMBER_BOOL: return PyBool_FromLong(*(const bool *)at);
    case RGM_MEMBER_INT: return PyLong_FromLong(*(const int *)at);
    case RGM_MEMBER_UINT: return PyLong_FromUnsignedLong(*(const unsigned *)at);
    case RGM_MEMBER_I64: return PyLong_FromLong(*(const long *)at);
    case RGM_MEMBER_U64: return PyLong_FromUnsignedLong(*(const unsigned long *)at);
    case RGM_MEMBER_KNOWN:
        if (isnan(*(const double *)at)) Py_RETURN_NONE;
        // fall through
    case RGM_MEMBER_DOUBLE: return PyFloat_FromDouble(*(const double *)at);
    case RGM_MEMBER_TEXT: return text_of(*(const char *const *)at);
    case RGM_MEMBER_CHARS: return text_of(at);
    }
    Py_UNREACHABLE();
}

int rgm_dict_put(PyObject *dict, const char *name, PyObject *value) {
    int failed = value ? PyDict_SetItemString(dict, name, value) : -1;
    Py_XDECREF(value);
    return failed;
}

int rgm_list_add(PyObject *list, PyObject *value) {
    int failed = value ? PyList_Append(list, value) : -1;
    Py_XDECREF(value);
    return failed;
}

int rgm_members_put(PyObject *dict, const void *from, const rgm_member *members, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (rgm_dict_put(dict, members[i].name, value_of(from, &members[i])) < 0) return -1;
    return 0;
}

PyObject *rgm_members_dict(const void *from, const rgm_member *members, size_t count) {
    PyObject *dict = PyDict_New();
    if (dict && rgm_members_put(dict, from, members, count) < 0) Py_CLEAR(dict);
    return dict;
}

PyObject *rgm_rows_dict(const void *rows, size_t size, size_t count, const rgm_member *members,
                        size_t members_count) {
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && i < count; i++) {
        const void *row = (const char *)rows + i * size;
        if (rgm_dict_put(dict, *(const char *const *)row, rgm_members_dict(row, members, members_count)) < 0)
            Py_CLEAR(dict);
    }
    return dict;
}

PyObject *rgm_list_of(size_t count, rgm_row_make make, const void *context) {
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list && i < count; i++) {
        PyObject *row = make(context, i);
        if (!row) Py_CLEAR(list);
        if (list) PyList_SET_ITEM(list, (Py_ssize_t)i, row);
    }
    return list;
}

PyObject *rgm_tuple_of(size_t count, rgm_row_make make, const void *context) {
    PyObject *list = rgm_list_of(count, make, context);
    PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

PyObject *rgm_row_text(const void *texts, size_t row) {
    return PyUnicode_FromString(((const char *const *)texts)[row]);
}

PyObject *rgm_row_f64(const void *numbers, size_t row) {
    return PyFloat_FromDouble(((const double *)numbers)[row]);
}

PyObject *rgm_row_i64(const void *numbers, size_t row) {
    return PyLong_FromLongLong(((const int64_t *)numbers)[row]);
}
