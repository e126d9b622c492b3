// SPDX-License-Identifier: Apache-2.0
// What the process touches between two points, from Python.
#include "base/touched.h"

#include "python/state.h"

static PyObject *touched_begin(PyObject *module, PyObject *unused) {
    rgm_touched touched;
    if (rgm_touched_begin(&touched) != 0) Py_RETURN_NONE;
    return PyLong_FromLong(touched.maps);
}

static PyObject *touched_end(PyObject *module, PyObject *marks) {
    long descriptor = PyLong_AsLong(marks);
    if (descriptor == -1 && PyErr_Occurred()) return NULL;
    rgm_touched touched = {(int)descriptor};
    rgm_touched_memory found = rgm_touched_end(&touched);
    if (found.bytes < 0) Py_RETURN_NONE;
    return Py_BuildValue("LL", (long long)found.bytes, (long long)found.huge);
}

static PyMethodDef functions[] = {
    {"touched_begin", touched_begin, METH_NOARGS,
     "touched_begin($module, /)\n--\n\nForget which pages of memory this process has touched."},
    {"touched_end", touched_end, METH_O,
     "touched_end($module, marks, /)\n--\n\nBytes of the pages that it touched since, once, and of those "
     "that are huge."},
    {NULL},
};

int rgm_touched_init(PyObject *module) { return PyModule_AddFunctions(module, functions); }
