// SPDX-License-Identifier: Apache-2.0
// Hardware counters: what can be planned without a device, as plain dictionaries. regimeter.counters gives
// them names and a form.
#include "cuda/counters/counter_plan.h"
#include "python/rows.h"

static const char *profiler_token(int profiler) {
    return profiler == RGM_CUPTI_PM_SAMPLING ? "pm_sampling" : "range";
}

// --- lists ------------------------------------------------------------------------------------------------

static PyObject *candidates(const char *const *names) {
    size_t count = 0;
    while (count < RGM_COUNTER_CANDIDATES && names[count] && *names[count]) count++;
    return rgm_list_of(count, rgm_row_text, names);
}

static PyObject *gpm_series(int role) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < rgm_gpm_metrics_count; i++)
        if ((int)rgm_gpm_metrics[i].role == role &&
            rgm_list_add(list, PyUnicode_FromString(rgm_gpm_metrics[i].series)) < 0)
            Py_CLEAR(list);
    return list;
}

static PyObject *core_counter_roles(PyObject *module, PyObject *unused) {
    PyObject *dict = PyDict_New();
    for (int i = 0; dict && i < RGM_COUNTER_ROLE_COUNT; i++) {
        const rgm_counter_role_row *role = &rgm_counter_roles[i];
        PyObject *row = Py_BuildValue("{sssssNsNsN}", "unit", role->unit, "doc", role->doc, "range",
                                      candidates(role->range), "pm_sampling", candidates(role->sampled),
                                      "gpm", gpm_series(i));
        if (rgm_dict_put(dict, role->token, row) < 0) Py_CLEAR(dict);
    }
    return dict;
}

static PyObject *role_of_set(const void *set, size_t i) {
    return PyUnicode_FromString(rgm_counter_roles[((const rgm_counter_set_row *)set)->roles[i]].token);
}

static PyObject *core_counter_sets(PyObject *module, PyObject *unused) {
    PyObject *dict = PyDict_New();
    for (int i = 0; dict && i < RGM_COUNTER_SET_COUNT; i++) {
        const rgm_counter_set_row *set = &rgm_counter_sets[i];
        PyObject *row = Py_BuildValue("{sssssN}", "doc", set->doc, "profiler", profiler_token(set->profiler),
                                      "roles", rgm_tuple_of((size_t)set->count, role_of_set, set));
        if (rgm_dict_put(dict, set->token, row) < 0) Py_CLEAR(dict);
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
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = rgm_counter_library_get(&library, &err);
    if (status == RGM_OK) status = rgm_counter_chips(library, &chips, &count, &err);
    Py_END_ALLOW_THREADS;
    if (status != RGM_OK) return rgm_raise(rgm_module_of(module), status, &err);
    return Py_BuildValue("{sNsN}", "chips", rgm_tuple_of(count, rgm_row_text, chips), "library",
                         library_facts(library));
}

// --- plan -------------------------------------------------------------------------------------------------

static PyObject *plan_row(const void *plan, size_t i) {
    const rgm_counter_plan_row *from = &((const rgm_counter_plan *)plan)->rows[i];
    const rgm_counter_role_row *role = &rgm_counter_roles[from->role];
    return Py_BuildValue("{sssssssssisi}", "role", role->token, "metric", from->metric, "unit", role->unit,
                         "doc", role->doc, "group", from->pass, "passes", from->passes);
}

static PyObject *core_counter_plan(PyObject *module, PyObject *args) {
    const char *chip, *token;
    const rgm_counter_library *library;
    rgm_counter_plan plan;
    rgm_error err = RGM_ERROR_NONE;
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
    return Py_BuildValue("{sssssssnsisNsN}", "chip", plan.chip, "set", token, "profiler",
                         profiler_token(rgm_counter_sets[set].profiler), "passes", (Py_ssize_t)plan.passes,
                         "groups", plan.groups, "library", library_facts(library), "rows",
                         rgm_list_of(plan.count, plan_row, &plan));
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
