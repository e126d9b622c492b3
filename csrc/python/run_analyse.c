// SPDX-License-Identifier: Apache-2.0
// The analyses of a Run.
#include <string.h>

#include "analysis/analyses.h"
#include "analysis/times/summary.h"
#include "base/memory.h"
#include "base/tokens.h"
#include "python/policy.h"
#include "python/run_object.h"

int rgm_run_make(run_object *self, rgm_module *state, rgm_once *once, rgm_making make) {
    if (rgm_once_made(once)) return 0;
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status;
    RGM_UNLOCKED(status = rgm_once_make(once, make, self, &err));
    if (status == RGM_OK) return 0;
    rgm_raise(state, status, &err);
    return -1;
}

static rgm_status make_view(void *owner, rgm_error *err) {
    run_object *self = owner;
    return rgm_view_init(&self->view, self->run, NULL, 0, err);
}

static rgm_status make_results(void *owner, rgm_error *err) {
    run_object *self = owner;
    rgm_policy policy = RGM_POLICY_DEFAULTS;
    const rgm_view *view = rgm_entries_need_view(self->run) ? &self->view : NULL;
    if (view) RGM_TRY(rgm_once_make(&self->viewed, make_view, self, err));
    self->entries = (rgm_entries){0}; // in a child of a fork the parent may have begun them
    self->summary = (rgm_summary){0};
    rgm_status status = rgm_entries_compute(self->run, view, &self->entries, err);
    if (status == RGM_OK)
        status = rgm_summary_compute(self->run, &self->entries, &policy, &self->summary, err);
    if (status == RGM_OK) return RGM_OK;
    rgm_table_release(&rgm_entries_desc, &self->entries);
    rgm_table_release(&rgm_summary_desc, &self->summary);
    return status;
}

static int compute_results(run_object *self, rgm_module *state) {
    return rgm_run_make(self, state, &self->computed, make_results);
}

PyObject *rgm_method_entries(run_object *self, void *unused) {
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    if (!state || compute_results(self, state) < 0) return NULL;
    return rgm_table_wrap(state, (PyObject *)self, &rgm_entries_desc, (rgm_table *)&self->entries,
                          &self->shown);
}

PyObject *rgm_method_summary(run_object *self, void *unused) {
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    if (!state || compute_results(self, state) < 0) return NULL;
    return rgm_table_wrap(state, (PyObject *)self, &rgm_summary_desc, (rgm_table *)&self->summary,
                          &self->shown);
}

PyObject *rgm_method_summarise(run_object *self, PyObject *thresholds) {
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    rgm_policy policy = RGM_POLICY_DEFAULTS;
    if (!PyDict_Check(thresholds)) return PyErr_Format(PyExc_TypeError, "thresholds must be a dict");
    if (!state || rgm_policy_read(thresholds, &policy) < 0 || compute_results(self, state) < 0) return NULL;
    rgm_summary *summary = rgm_calloc(1, sizeof *summary);
    if (!summary) return PyErr_NoMemory();
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status;
    RGM_UNLOCKED(status = rgm_summary_compute(self->run, &self->entries, &policy, summary, &err));
    return rgm_table_result(state, (PyObject *)self, &rgm_summary_desc, summary, status, &err);
}

static int read_rules(PyObject *given, rgm_rule **rules, size_t *count) {
    static const char *const activities[] = {RGM_ACTIVITIES(RGM_TOKEN)};
    *count = (size_t)PyTuple_GET_SIZE(given);
    *rules = rgm_calloc(*count + 1, sizeof **rules);
    if (!*rules) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < *count; i++) {
        PyObject *activity;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(given, (Py_ssize_t)i), "sU;a rule is (text, activity)",
                              &(*rules)[i].text, &activity))
            return -1;
        Py_ssize_t found = rgm_name_find(activity, activities, RGM_ACTIVITY_COUNT);
        if (found < 1) {
            PyErr_Format(PyExc_ValueError, "unknown activity %R; valid are: compute, communication, memory",
                         activity);
            return -1;
        }
        (*rules)[i].activity = (uint8_t)found;
    }
    return 0;
}

const rgm_view *rgm_run_view(run_object *self, rgm_module *state) {
    return rgm_run_make(self, state, &self->viewed, make_view) < 0 ? NULL : &self->view;
}

static PyObject *analyse(rgm_module *state, PyObject *self, const rgm_analysis *analysis,
                         const rgm_view *view, const rgm_policy *policy, const rgm_question *question) {
    void *result = rgm_calloc(1, analysis->size);
    if (!result) return PyErr_NoMemory();
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status;
    RGM_UNLOCKED(status = analysis->compute(view, policy, question, result, &err));
    return rgm_table_result(state, self, analysis->desc, result, status, &err);
}

PyObject *rgm_method_analyse(run_object *self, PyObject *args) {
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    const char *name, *text;
    Py_ssize_t length;
    int group_by;
    PyObject *thresholds, *given, *other, *machine = Py_None;
    if (!state || !PyArg_ParseTuple(args, "sO!O!iz#O|O", &name, &PyDict_Type, &thresholds, &PyTuple_Type,
                                    &given, &group_by, &text, &length, &other, &machine))
        return NULL;
    const rgm_analysis *analysis = NULL;
    for (size_t i = 0; i < rgm_analyses_count; i++)
        if (strcmp(rgm_analyses[i].name, name) == 0) analysis = &rgm_analyses[i];
    if (!analysis) return PyErr_Format(PyExc_KeyError, "no analysis is called '%s'", name);
    rgm_policy policy = RGM_POLICY_DEFAULTS;
    rgm_question question = {.group_by = group_by, .text = text, .length = (size_t)length};
    rgm_ceilings ceilings;
    if (rgm_policy_read(thresholds, &policy) < 0) return NULL;
    if (machine != Py_None) {
        if (rgm_ceilings_take(machine, "ceilings", &ceilings) < 0) return NULL;
        question.ceilings = &ceilings;
    }
    if (other != Py_None) {
        if (!PyObject_TypeCheck(other, state->run_type))
            return PyErr_Format(PyExc_TypeError, "other must be a Run");
        question.other = rgm_run_view((run_object *)other, state);
        if (!question.other) return NULL;
    }
    if (PyTuple_GET_SIZE(given) == 0) {
        const rgm_view *view = rgm_run_view(self, state);
        return view ? analyse(state, (PyObject *)self, analysis, view, &policy, &question) : NULL;
    }
    rgm_rule *rules = NULL;
    size_t n_rules;
    rgm_view view = {0};
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status;
    PyObject *result = NULL;
    if (read_rules(given, &rules, &n_rules) == 0) {
        RGM_UNLOCKED(status = rgm_view_init(&view, self->run, rules, n_rules, &err));
        result = status == RGM_OK ? analyse(state, (PyObject *)self, analysis, &view, &policy, &question)
                                  : rgm_raise(state, status, &err);
    }
    rgm_view_release(&view);
    rgm_free(rules);
    return result;
}
