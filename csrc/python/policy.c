// SPDX-License-Identifier: Apache-2.0
// Thresholds of the analyses and of comparisons: described for users, and read from a dictionary by name.
#include "python/policy.h"

#include "python/fields.h"

#define ANALYSIS_ROW(name, initial, unit, source)                                                            \
    {#name, offsetof(rgm_policy, name), (initial), (unit), (source)},
#define COMPARE_ROW(name, initial, unit, source)                                                             \
    {#name, offsetof(rgm_compare_policy, name), (initial), (unit), (source)},

static const rgm_field analysis_rows[] = {RGM_POLICY(ANALYSIS_ROW)};
static const rgm_field compare_rows[] = {RGM_COMPARE_POLICY(COMPARE_ROW)};
static const rgm_fields of_analyses = {analysis_rows,
                                       sizeof analysis_rows / sizeof *analysis_rows,
                                       RGM_FIELD_NOT_NEGATIVE,
                                       &PyExc_ValueError,
                                       "no threshold is called %R",
                                       "the threshold %R must be a finite number of at least 0"};
static const rgm_fields of_comparisons = {compare_rows,
                                          sizeof compare_rows / sizeof *compare_rows,
                                          RGM_FIELD_NOT_NEGATIVE,
                                          &PyExc_ValueError,
                                          "no threshold of a comparison is called %R",
                                          "the threshold %R must be a finite number of at least 0"};

int rgm_policy_read(PyObject *given, rgm_policy *policy) {
    return rgm_fields_read(given, &of_analyses, policy);
}

int rgm_compare_policy_read(PyObject *given, rgm_compare_policy *policy) {
    return rgm_fields_read(given, &of_comparisons, policy);
}

static PyObject *core_policy(PyObject *module, PyObject *unused) { return rgm_fields_describe(&of_analyses); }

static PyObject *core_compare_policy(PyObject *module, PyObject *unused) {
    return rgm_fields_describe(&of_comparisons);
}

static PyMethodDef policy_methods[] = {
    {"policy", core_policy, METH_NOARGS, "policy($module)\n--\n\nThresholds of the analyses."},
    {"compare_policy", core_compare_policy, METH_NOARGS,
     "compare_policy($module)\n--\n\nThresholds of a comparison."},
    {NULL},
};

int rgm_policy_init(PyObject *module) { return PyModule_AddFunctions(module, policy_methods); }
