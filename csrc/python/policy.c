// SPDX-License-Identifier: Apache-2.0
// Thresholds of the analyses and of comparisons: described for users, and read from a dictionary by name.
#include "python/policy.h"

#include <math.h>
#include <string.h>

#define POLICY_ROW(struct_name, name, initial, unit, source)                                                 \
    {#name, offsetof(struct_name, name), (initial), (unit), (source)},
#define ANALYSIS_ROW(name, initial, unit, source) POLICY_ROW(rgm_policy, name, initial, unit, source)
#define COMPARE_ROW(name, initial, unit, source) POLICY_ROW(rgm_compare_policy, name, initial, unit, source)

typedef struct {
    const char *name;
    size_t offset;
    double initial;
    const char *unit, *source;
} threshold;

static const threshold of_analyses[] = {RGM_POLICY(ANALYSIS_ROW)};
static const threshold of_comparisons[] = {RGM_COMPARE_POLICY(COMPARE_ROW)};

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

static PyObject *describe(const threshold *rows, size_t count) {
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && i < count; i++) {
        PyObject *row = Py_BuildValue("{sdssss}", "default", rows[i].initial, "unit", rows[i].unit, "source",
                                      rows[i].source);
        if (!row || PyDict_SetItemString(dict, rows[i].name, row) < 0) Py_CLEAR(dict);
        Py_XDECREF(row);
    }
    return dict;
}

static const threshold *find(const threshold *rows, size_t count, PyObject *name) {
    for (size_t i = 0; PyUnicode_Check(name) && i < count; i++)
        if (PyUnicode_CompareWithASCIIString(name, rows[i].name) == 0) return &rows[i];
    return NULL;
}

// Writes the given numbers over those of the policy; -1 with an exception for an unknown name or a value that
// is no finite number of at least 0.
static int read_into(const threshold *rows, size_t count, const char *of, PyObject *given, void *policy) {
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(given, &at, &key, &value)) {
        const threshold *row = find(rows, count, key);
        if (!row) {
            PyErr_Format(PyExc_ValueError, "no threshold%s is called %R", of, key);
            return -1;
        }
        double number = PyFloat_AsDouble(value);
        if (number == -1.0 && PyErr_Occurred()) return -1;
        if (!(number >= 0) || isinf(number)) {
            PyErr_Format(PyExc_ValueError, "the threshold %R must be a finite number of at least 0", key);
            return -1;
        }
        memcpy((char *)policy + row->offset, &number, sizeof number);
    }
    return 0;
}

int rgm_policy_read(PyObject *given, rgm_policy *policy) {
    return read_into(of_analyses, COUNT(of_analyses), "", given, policy);
}

int rgm_compare_policy_read(PyObject *given, rgm_compare_policy *policy) {
    return read_into(of_comparisons, COUNT(of_comparisons), " of a comparison", given, policy);
}

static PyObject *core_policy(PyObject *module, PyObject *unused) {
    return describe(of_analyses, COUNT(of_analyses));
}

static PyObject *core_compare_policy(PyObject *module, PyObject *unused) {
    return describe(of_comparisons, COUNT(of_comparisons));
}

static PyMethodDef policy_methods[] = {
    {"policy", core_policy, METH_NOARGS, "policy($module)\n--\n\nThresholds of the analyses."},
    {"compare_policy", core_compare_policy, METH_NOARGS,
     "compare_policy($module)\n--\n\nThresholds of a comparison."},
    {NULL},
};

int rgm_policy_init(PyObject *module) { return PyModule_AddFunctions(module, policy_methods); }
