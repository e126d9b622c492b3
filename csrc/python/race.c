// SPDX-License-Identifier: Apache-2.0
// Race: which of several candidates is fastest, and the statistics that it rests on.
#include "compare/race.h"

#include "base/memory.h"
#include "compare/pseudo_median.h"
#include "python/fields.h"

typedef struct {
    PyObject_HEAD
    rgm_race *race;
} race_object;

static rgm_module *state_of(race_object *self) { return rgm_module_of_type(Py_TYPE(self)); }

// Keyword arguments are the members of the policy.
static int take_policy(PyObject *keywords, rgm_race_policy *policy) {
    static const rgm_field rows[] = {
#define POLICY_ROW(name, initial, unit, source) {#name, offsetof(rgm_race_policy, name), 0, "", ""},
        RGM_RACE_POLICY(POLICY_ROW)
#undef POLICY_ROW
    };
    static const rgm_fields fields = {rows,
                                      sizeof rows / sizeof *rows,
                                      RGM_FIELD_ANY,
                                      &PyExc_TypeError,
                                      "a race has no threshold called %R",
                                      ""};
    return rgm_fields_read(keywords, &fields, policy);
}

static PyObject *race_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    Py_ssize_t candidates;
    rgm_error err = RGM_ERROR_NONE;
    rgm_race_policy policy = RGM_RACE_POLICY_DEFAULTS;
    if (!PyArg_ParseTuple(args, "n:Race", &candidates) || take_policy(keywords, &policy) < 0) return NULL;
    race_object *self = (race_object *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    rgm_status status = rgm_race_new(&self->race, candidates < 0 ? 0 : (size_t)candidates, &policy, &err);
    if (status == RGM_OK) return (PyObject *)self;
    (void)rgm_raise(state_of(self), status, &err);
    Py_DECREF(self);
    return NULL;
}

static void race_dealloc(race_object *self) {
    PyTypeObject *type = Py_TYPE(self);
    rgm_race_free(self->race);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static int take_index(PyObject *object, size_t *out) {
    Py_ssize_t index = PyNumber_AsSsize_t(object, PyExc_ValueError);
    if (index == -1 && PyErr_Occurred()) return -1;
    *out = index < 0 ? SIZE_MAX : (size_t)index;
    return 0;
}

static PyObject *race_takes_part(race_object *self, PyObject *candidate) {
    size_t index;
    if (take_index(candidate, &index) < 0) return NULL;
    return PyBool_FromLong(rgm_race_takes_part(self->race, index));
}

static PyObject *race_withdraw(race_object *self, PyObject *candidate) {
    size_t index;
    rgm_error err = RGM_ERROR_NONE;
    if (take_index(candidate, &index) < 0) return NULL;
    rgm_status status = rgm_race_withdraw(self->race, index, &err);
    if (status != RGM_OK) return rgm_raise(state_of(self), status, &err);
    Py_RETURN_NONE;
}

static PyObject *race_round(race_object *self, PyObject *times) {
    double values[RGM_RACE_CANDIDATES] = {0};
    rgm_error err = RGM_ERROR_NONE;
    PyObject *list = rgm_sequence_items(times, "the times of a round are a sequence");
    if (!list) return NULL;
    Py_ssize_t count = PyTuple_GET_SIZE(list);
    rgm_race_candidate last;
    // One time a candidate: the last one exists and the next one does not.
    bool fits = count > 0 && count <= RGM_RACE_CANDIDATES &&
                rgm_race_candidate_of(self->race, (size_t)count - 1, &last, &err) == RGM_OK &&
                rgm_race_candidate_of(self->race, (size_t)count, &last, &err) != RGM_OK;
    if (!fits) PyErr_SetString(PyExc_ValueError, "a round has one time a candidate");
    for (Py_ssize_t i = 0; fits && i < count; i++) {
        values[i] = PyFloat_AsDouble(PyTuple_GET_ITEM(list, i));
        fits = !PyErr_Occurred();
    }
    Py_DECREF(list);
    if (!fits) return NULL;
    rgm_status status = rgm_race_round(self->race, values, &err);
    if (status != RGM_OK) return rgm_raise(state_of(self), status, &err);
    return PyBool_FromLong(rgm_race_result_of(self->race).outcome == RGM_RACE_RUNNING);
}

static PyObject *race_result(race_object *self, PyObject *unused) {
    rgm_race_result result = rgm_race_result_of(self->race);
    return Py_BuildValue("{sssssnsnsdsnsn}", "outcome", rgm_race_outcome_token(result.outcome), "text",
                         rgm_race_outcome_text(result.outcome), "pick", (Py_ssize_t)result.pick, "rounds",
                         (Py_ssize_t)result.rounds, "level", result.level, "looks", (Py_ssize_t)result.looks,
                         "first_look", (Py_ssize_t)result.first_look);
}

static PyObject *race_candidate(race_object *self, PyObject *candidate) {
    size_t index;
    rgm_error err = RGM_ERROR_NONE;
    rgm_race_candidate found;
    if (take_index(candidate, &index) < 0) return NULL;
    rgm_status status = rgm_race_candidate_of(self->race, index, &found, &err);
    if (status != RGM_OK) return rgm_raise(state_of(self), status, &err);
    PyObject *beaten = found.beaten_by == SIZE_MAX ? Py_NewRef(Py_None) : PyLong_FromSize_t(found.beaten_by);
    if (!beaten) return NULL;
    return Py_BuildValue("{snsdsdsdsdsNsO}", "rounds", (Py_ssize_t)found.rounds, "median", found.median,
                         "ratio", found.ratio, "low", found.low, "high", found.high, "beaten_by", beaten,
                         "remains", found.remains ? Py_True : Py_False);
}

// --- functions --------------------------------------------------------------------------------------------

static PyObject *core_race_policy(PyObject *module, PyObject *unused) {
#define POLICY_ROW(name, initial, unit, source)                                                              \
    {#name, offsetof(rgm_race_policy, name), initial, unit, source},
    static const rgm_field rows[] = {RGM_RACE_POLICY(POLICY_ROW)};
#undef POLICY_ROW
    static const rgm_fields policy = {.rows = rows, .count = sizeof rows / sizeof *rows};
    return rgm_fields_describe(&policy);
}

static PyObject *core_pseudo_median(PyObject *module, PyObject *args) {
    Py_buffer view;
    double level;
    int64_t critical;
    rgm_error err = RGM_ERROR_NONE;
    rgm_pseudo_median found = {0};
    if (!PyArg_ParseTuple(args, "y*d:pseudo_median", &view, &level)) return NULL;
    size_t count = (size_t)view.len / sizeof(double);
    rgm_status status = rgm_signed_rank_critical(count, level, &critical, &err);
    if (status == RGM_OK) status = rgm_pseudo_median_of(view.buf, count, critical, &found, &err);
    PyBuffer_Release(&view);
    if (status != RGM_OK) return rgm_raise(rgm_module_of(module), status, &err);
    return Py_BuildValue("(ddd)", found.estimate, found.low, found.high);
}

static PyMethodDef functions[] = {
    {"race_policy", core_race_policy, METH_NOARGS, "race_policy($module)\n--\n\nThresholds of a race."},
    {"pseudo_median", core_pseudo_median, METH_VARARGS,
     "pseudo_median($module, values, level, /)\n--\n\nHodges-Lehmann estimate of float64 values and its "
     "interval, each end at the level."},
    {NULL},
};

static PyMethodDef race_methods[] = {
    {"takes_part", (PyCFunction)race_takes_part, METH_O,
     "takes_part($self, candidate, /)\n--\n\nWhether the next round measures it."},
    {"withdraw", (PyCFunction)race_withdraw, METH_O,
     "withdraw($self, candidate, /)\n--\n\nTakes a candidate out that failed."},
    {"round", (PyCFunction)race_round, METH_O,
     "round($self, times, /)\n--\n\nTakes the times of a round; False at the end of the race."},
    {"result", (PyCFunction)race_result, METH_NOARGS,
     "result($self, /)\n--\n\nOutcome, pick, rounds, and the plan."},
    {"candidate", (PyCFunction)race_candidate, METH_O,
     "candidate($self, candidate, /)\n--\n\nRounds, median, and the ratio to the first with its interval."},
    {NULL},
};
PyDoc_STRVAR(race_doc, "Race(candidates, **thresholds)\n--\n\nWhich of several candidates is fastest.");
static PyType_Slot race_slots[] = {
    {Py_tp_doc, (void *)race_doc},
    {Py_tp_new, race_new},
    {Py_tp_dealloc, race_dealloc},
    {Py_tp_methods, race_methods},
    {0, NULL},
};
static PyType_Spec race_spec = {
    .name = "regimeter._core.Race",
    .basicsize = sizeof(race_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = race_slots,
};

int rgm_race_type_init(PyObject *module, rgm_module *state) {
    state->race_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &race_spec, NULL);
    if (!state->race_type || PyModule_AddType(module, state->race_type) < 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
