// SPDX-License-Identifier: Apache-2.0
// What limits a Run, and the suggestions for it.
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "python/fields.h"
#include "python/run_object.h"
#include "suggest/suggest.h"
#include "suggest/verdict.h"

// A dict of token -> value; what it does not name stays unknown.
static int read_ceilings(PyObject *given, rgm_ceilings *ceilings) {
    static const rgm_field rows[] = {
#define CEILING_ROW(name, token, unit, doc)                                                                  \
    {token,                                                                                                  \
     offsetof(rgm_ceilings, at) + RGM_CEILING_##name * sizeof(rgm_ceiling) + offsetof(rgm_ceiling, value),   \
     0, "", ""},
        RGM_CEILINGS(CEILING_ROW)
#undef CEILING_ROW
    };
    static const rgm_fields fields = {rows,
                                      RGM_CEILING_COUNT,
                                      RGM_FIELD_ABOVE_ZERO,
                                      &PyExc_ValueError,
                                      "no ceiling is called %R",
                                      "the ceiling %R must be above 0"};
    for (int i = 0; i < RGM_CEILING_COUNT; i++) ceilings->at[i] = (rgm_ceiling){NAN, NAN};
    return rgm_fields_read(given, &fields, ceilings);
}

static PyObject *wrap_both(rgm_module *state, PyObject *self, rgm_suggestions *suggestions,
                           rgm_suggestion_evidence *evidence) {
    PyObject *first = rgm_table_wrap(state, self, &rgm_suggestions_desc, (rgm_table *)suggestions, NULL);
    PyObject *second =
        rgm_table_wrap(state, self, &rgm_suggestion_evidence_desc, (rgm_table *)evidence, NULL);
    if (first && second) return Py_BuildValue("(NN)", first, second);
    Py_XDECREF(first);
    Py_XDECREF(second);
    return NULL;
}

PyObject *rgm_method_suggest(run_object *self, PyObject *args) {
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    PyObject *thresholds, *given;
    rgm_policy policy = RGM_POLICY_DEFAULTS;
    rgm_ceilings ceilings;
    if (!state || !PyArg_ParseTuple(args, "O!O", &PyDict_Type, &thresholds, &given)) return NULL;
    if (given != Py_None && !PyDict_Check(given))
        return PyErr_Format(PyExc_TypeError, "ceilings must be a dict or None");
    if (rgm_policy_read(thresholds, &policy) < 0) return NULL;
    if (given != Py_None && read_ceilings(given, &ceilings) < 0) return NULL;
    const rgm_view *view = rgm_run_view(self, state);
    if (!view) return NULL;
    rgm_suggestions *suggestions = rgm_calloc(1, sizeof *suggestions);
    rgm_suggestion_evidence *evidence = rgm_calloc(1, sizeof *evidence);
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status = suggestions && evidence ? RGM_OK : RGM_NO_MEMORY;
    if (status == RGM_OK)
        RGM_UNLOCKED(status = rgm_suggest(view, &policy, given == Py_None ? NULL : &ceilings, suggestions,
                                          evidence, &err));
    if (status == RGM_OK) return wrap_both(state, (PyObject *)self, suggestions, evidence);
    if (suggestions) rgm_table_release(&rgm_suggestions_desc, suggestions);
    if (evidence) rgm_table_release(&rgm_suggestion_evidence_desc, evidence);
    rgm_free(suggestions);
    rgm_free(evidence);
    return rgm_raise(state, status, &err);
}

PyObject *rgm_method_causes(run_object *self, PyObject *thresholds) {
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    rgm_policy policy = RGM_POLICY_DEFAULTS;
    rgm_error err = RGM_ERROR_NONE;
    if (!state) return NULL;
    if (!PyDict_Check(thresholds)) return PyErr_Format(PyExc_TypeError, "thresholds must be a dict");
    if (rgm_policy_read(thresholds, &policy) < 0) return NULL;
    const rgm_view *view = rgm_run_view(self, state);
    if (!view) return NULL;
    rgm_causes *causes = rgm_calloc(1, sizeof *causes);
    rgm_status status = causes ? RGM_OK : RGM_NO_MEMORY;
    if (causes) RGM_UNLOCKED(status = rgm_verdict_compute(view, &policy, causes, &err));
    return rgm_table_result(state, (PyObject *)self, &rgm_causes_desc, causes, status, &err);
}
