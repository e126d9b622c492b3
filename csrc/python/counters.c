// SPDX-License-Identifier: Apache-2.0
// Hardware counters: what can be planned without a device, as plain dictionaries. regimeter.counters gives
// them names and a form.
#include "cuda/counter_plan.h"
#include "python/state.h"

static const char *profiler_token(int profiler) {
    return profiler == RGM_CUPTI_PM_SAMPLING ? "pm_sampling" : "range";
}

// --- lists ------------------------------------------------------------------------------------------------

static PyObject *candidates(const char *const *names) {
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < RGM_COUNTER_CANDIDATES && names[i] && *names[i]; i++) {
        PyObject *name = PyUnicode_FromString(names[i]);
        if (!name || PyList_Append(list, name) < 0) Py_CLEAR(list);
        Py_XDECREF(name);
    }
    return list;
}

static PyObject *gpm_series(int role) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < rgm_gpm_metrics_count; i++) {
        if ((int)rgm_gpm_metrics[i].role != role) continue;
        PyObject *name = PyUnicode_FromString(rgm_gpm_metrics[i].series);
        if (!name || PyList_Append(list, name) < 0) Py_CLEAR(list);
        Py_XDECREF(name);
    }
    return list;
}

static PyObject *core_counter_roles(PyObject *module, PyObject *unused) {
    PyObject *dict = PyDict_New();
    for (int i = 0; dict && i < RGM_COUNTER_ROLE_COUNT; i++) {
        const rgm_counter_role_row *role = &rgm_counter_roles[i];
        PyObject *row = Py_BuildValue("{sssssNsNsN}", "unit", role->unit, "doc", role->doc, "range",
                                      candidates(role->range), "pm_sampling", candidates(role->sampled),
                                      "gpm", gpm_series(i));
        if (!row || PyDict_SetItemString(dict, role->token, row) < 0) Py_CLEAR(dict);
        Py_XDECREF(row);
    }
    return dict;
}

static PyObject *core_counter_sets(PyObject *module, PyObject *unused) {
    PyObject *dict = PyDict_New();
    for (int i = 0; dict && i < RGM_COUNTER_SET_COUNT; i++) {
        const rgm_counter_set_row *set = &rgm_counter_sets[i];
        PyObject *roles = PyTuple_New(set->count);
        for (int r = 0; roles && r < set->count; r++) {
            PyObject *token = PyUnicode_FromString(rgm_counter_roles[set->roles[r]].token);
            if (!token) Py_CLEAR(roles);
            if (roles) PyTuple_SET_ITEM(roles, r, token);
        }
        PyObject *row = roles ? Py_BuildValue("{sssssN}", "doc", set->doc, "profiler",
                                              profiler_token(set->profiler), "roles", roles)
                              : NULL;
        if (!row || PyDict_SetItemString(dict, set->token, row) < 0) Py_CLEAR(dict);
        Py_XDECREF(row);
    }
    return dict;
}

static PyObject *library_facts(const rgm_counter_library *library) {
    return Py_BuildValue("{sssssIsO}", "path", library->library.path, "origin",
                         rgm_library_origin_text(library->library.origin), "api_version",
                         (unsigned)library->api_version, "driver", library->driver ? Py_True : Py_False);
}

static PyObject *core_counter_chips(PyObject *module, PyObject *unused) {
    const rgm_counter_library *library;
    const char *const *chips;
    size_t count;
    rgm_error err = {0};
    rgm_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = rgm_counter_library_get(&library, &err);
    if (status == RGM_OK) status = rgm_counter_chips(library, &chips, &count, &err);
    Py_END_ALLOW_THREADS;
    if (status != RGM_OK) return rgm_raise(rgm_module_of(module), status, &err);
    PyObject *names = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; names && i < count; i++) {
        PyObject *name = PyUnicode_FromString(chips[i]);
        if (!name) Py_CLEAR(names);
        if (names) PyTuple_SET_ITEM(names, (Py_ssize_t)i, name);
    }
    return names ? Py_BuildValue("{sNsN}", "chips", names, "library", library_facts(library)) : NULL;
}

// --- plan -------------------------------------------------------------------------------------------------

static PyObject *plan_rows(const rgm_counter_plan *plan) {
    PyObject *rows = PyList_New((Py_ssize_t)plan->count);
    for (size_t i = 0; rows && i < plan->count; i++) {
        const rgm_counter_plan_row *from = &plan->rows[i];
        const rgm_counter_role_row *role = &rgm_counter_roles[from->role];
        PyObject *row =
            Py_BuildValue("{sssssssssisi}", "role", role->token, "metric", from->metric, "unit", role->unit,
                          "doc", role->doc, "group", from->pass, "passes", from->passes);
        if (!row) Py_CLEAR(rows);
        if (rows) PyList_SET_ITEM(rows, (Py_ssize_t)i, row);
    }
    return rows;
}

static PyObject *core_counter_plan(PyObject *module, PyObject *args) {
    const char *chip, *token;
    const rgm_counter_library *library;
    rgm_counter_plan plan;
    rgm_error err = {0};
    rgm_status status;
    if (!PyArg_ParseTuple(args, "ss:counter_plan", &chip, &token)) return NULL;
    rgm_counter_set set = rgm_counter_set_find(token);
    if (set == RGM_COUNTER_SET_NONE) {
        PyErr_Format(PyExc_ValueError, "unknown set of counters \"%s\"", token);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS;
    status = rgm_counter_library_get(&library, &err);
    if (status == RGM_OK) status = rgm_counter_plan_make(&plan, library, set, chip, NULL, &err);
    Py_END_ALLOW_THREADS;
    if (status != RGM_OK) return rgm_raise(rgm_module_of(module), status, &err);
    PyObject *rows = plan_rows(&plan);
    if (!rows) return NULL;
    return Py_BuildValue("{sssssssnsisNsN}", "chip", plan.chip, "set", token, "profiler",
                         profiler_token(rgm_counter_sets[set].profiler), "passes", (Py_ssize_t)plan.passes,
                         "groups", plan.groups, "library", library_facts(library), "rows", rows);
}

static PyMethodDef counter_methods[] = {
    {"counter_roles", core_counter_roles, METH_NOARGS,
     "counter_roles($module)\n--\n\nRoles of hardware counters with the metrics that fill them."},
    {"counter_sets", core_counter_sets, METH_NOARGS,
     "counter_sets($module)\n--\n\nSets of hardware counters that are measured together."},
    {"counter_chips", core_counter_chips, METH_NOARGS,
     "counter_chips($module)\n--\n\nChips that CUPTI can plan for."},
    {"counter_plan", core_counter_plan, METH_VARARGS,
     "counter_plan($module, chip, set, /)\n--\n\nMetrics of a chip for a set, and their passes."},
    {NULL},
};

int rgm_counters_init(PyObject *module) { return PyModule_AddFunctions(module, counter_methods); }
