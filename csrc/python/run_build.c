// SPDX-License-Identifier: Apache-2.0
// Runs made of Python's values: of columns, and of other runs.
#include <string.h>

#include "base/memory.h"
#include "base/tokens.h"
#include "model/links.h"
#include "model/merge.h"
#include "model/sampled.h"
#include "python/run_object.h"

static int take_strings(rgm_module *state, rgm_run *run, PyObject *strings, uint32_t **ids,
                        Py_ssize_t *count) {
    *count = PySequence_Fast_GET_SIZE(strings);
    *ids = rgm_calloc((size_t)*count + 1, sizeof **ids);
    if (!*ids) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < *count; i++) {
        rgm_error err = RGM_ERROR_NONE;
        Py_ssize_t length;
        const char *text = PyUnicode_AsUTF8AndSize(PySequence_Fast_GET_ITEM(strings, i), &length);
        if (!text) return -1;
        rgm_status status = rgm_strings_intern(&run->strings, text, (size_t)length, &(*ids)[i], &err);
        if (status != RGM_OK) {
            rgm_raise(state, status, &err);
            return -1;
        }
    }
    return 0;
}

static int take_column(rgm_module *state, rgm_run *run, const rgm_table_desc *desc, PyObject *name,
                       PyObject *values, const uint32_t *ids, Py_ssize_t n_ids) {
    rgm_error err = RGM_ERROR_NONE;
    Py_buffer view;
    size_t column;
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    if (!text || !rgm_table_find(desc, text, &column)) {
        if (!PyErr_Occurred()) PyErr_Format(PyExc_KeyError, "%s has no column %R", desc->name, name);
        return -1;
    }
    if (PyObject_GetBuffer(values, &view, PyBUF_C_CONTIGUOUS) < 0) return -1;
    size_t size = rgm_types[desc->columns[column].type].size, rows = (size_t)view.len / size;
    rgm_table *table = rgm_run_table(run, desc);
    int failed = 0;
    if ((size_t)view.len % size || (table->rows && table->rows != rows)) {
        PyErr_Format(PyExc_ValueError, "%s.%s has another length than its table", desc->name, text);
        failed = -1;
    } else if (rgm_table_reserve(desc, table, UINT64_C(1) << column, rows ? rows : 1, &err) != RGM_OK) {
        rgm_raise(state, RGM_NO_MEMORY, &err);
        failed = -1;
    } else {
        table->rows = rows;
        if (rows) memcpy(rgm_table_column(desc, table, column), view.buf, (size_t)view.len);
        rgm_name *names = rgm_table_column(desc, table, column);
        for (size_t i = 0; desc->columns[column].type == RGM_TYPE_name && i < rows && !failed; i++) {
            if ((Py_ssize_t)names[i] < n_ids) {
                names[i] = ids[names[i]];
            } else {
                PyErr_Format(PyExc_ValueError, "%s.%s names string %u of %zd", desc->name, text, names[i],
                             n_ids);
                failed = -1;
            }
        }
    }
    PyBuffer_Release(&view);
    return failed;
}

static int take_tables(rgm_module *state, rgm_run *run, PyObject *tables, const uint32_t *ids,
                       Py_ssize_t n_ids) {
    PyObject *name, *columns, *column, *values;
    Py_ssize_t at = 0;
    while (PyDict_Next(tables, &at, &name, &columns)) {
        const rgm_table_desc *desc = NULL;
        for (size_t t = 0; t < rgm_run_tables_count; t++)
            if (PyUnicode_CompareWithASCIIString(name, rgm_run_tables[t]->name) == 0)
                desc = rgm_run_tables[t];
        if (!desc || !PyDict_Check(columns)) {
            PyErr_Format(PyExc_KeyError, "no table %R", name);
            return -1;
        }
        Py_ssize_t in = 0;
        while (PyDict_Next(columns, &in, &column, &values))
            if (take_column(state, run, desc, column, values, ids, n_ids) < 0) return -1;
    }
    return 0;
}

PyObject *rgm_method_build(PyTypeObject *type, PyObject *args) {
    PyObject *strings, *tables;
    const char *environment, *source;
    long long start_ns, end_ns, start_unix_ns;
    int complete;
    rgm_module *state = rgm_module_of_type(type);
    if (!state || !PyArg_ParseTuple(args, "OO!ssLLLp", &strings, &PyDict_Type, &tables, &environment, &source,
                                    &start_ns, &end_ns, &start_unix_ns, &complete))
        return NULL;
    if (!PyList_Check(strings) && !PyTuple_Check(strings))
        return PyErr_Format(PyExc_TypeError, "strings: a list or tuple is expected, not %s",
                            Py_TYPE(strings)->tp_name);
    rgm_error err = RGM_ERROR_NONE;
    rgm_run *run = NULL;
    uint32_t *ids = NULL;
    Py_ssize_t n_ids = 0;
    rgm_status status = rgm_run_new(&run, &err);
    if (status == RGM_OK)
        status = rgm_run_set_text(&run->environment, environment, strlen(environment), &err);
    if (status == RGM_OK) status = rgm_run_set_text(&run->source, source, strlen(source), &err);
    if (status != RGM_OK) goto failed;
    run->start_ns = start_ns;
    run->end_ns = end_ns;
    run->start_unix_ns = start_unix_ns;
    run->complete = complete;
    if (take_strings(state, run, strings, &ids, &n_ids) < 0) goto raised;
    if (take_tables(state, run, tables, ids, n_ids) < 0) goto raised;
    status = rgm_run_check(run, &err);
    if (status != RGM_OK) goto failed;
    rgm_free(ids);
    return rgm_run_wrap(type, run);
failed:
    rgm_raise(state, status, &err);
raised:
    rgm_free(ids);
    rgm_run_free(run);
    return NULL;
}

// Only for a run that was just built and that nobody has seen: its columns change.
PyObject *rgm_method_link(run_object *self, PyObject *unused) {
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    if (!state) return NULL;
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status = rgm_run_link(self->run, 0, &err);
    if (status != RGM_OK) return rgm_raise(state, status, &err);
    Py_RETURN_NONE;
}

static int take_runs(rgm_module *state, PyObject *given, PyObject *shifts, rgm_run **runs,
                     int64_t *shift_ns) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(given); i++) {
        PyObject *run = PyList_GET_ITEM(given, i);
        if (!PyObject_TypeCheck(run, state->run_type)) {
            PyErr_Format(PyExc_TypeError, "runs[%zd] is no Run", i);
            return -1;
        }
        runs[i] = ((run_object *)run)->run;
        shift_ns[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(shifts, i));
        if (shift_ns[i] == -1 && PyErr_Occurred()) return -1;
    }
    return 0;
}

// Both lists may be changed meanwhile, by another thread or by an integer's __index__: they are copied.
PyObject *rgm_method_merge(PyTypeObject *type, PyObject *args) {
    PyObject *given, *shifts, *kept;
    int processes = 0;
    rgm_module *state = rgm_module_of_type(type);
    if (!state || !PyArg_ParseTuple(args, "O!O!|p", &PyList_Type, &given, &PyList_Type, &shifts, &processes))
        return NULL;
    kept = PyList_GetSlice(given, 0, PyList_GET_SIZE(given));
    shifts = PyList_AsTuple(shifts);
    if (kept && shifts && PyList_GET_SIZE(kept) != PyTuple_GET_SIZE(shifts)) {
        PyErr_Format(PyExc_ValueError, "%zd runs and %zd shifts", PyList_GET_SIZE(kept),
                     PyTuple_GET_SIZE(shifts));
        Py_CLEAR(kept);
    }
    if (!kept || !shifts) {
        Py_XDECREF(kept);
        Py_XDECREF(shifts);
        return NULL;
    }
    size_t count = (size_t)PyList_GET_SIZE(kept);
    rgm_run **runs = rgm_calloc(count + 1, sizeof *runs), *run = NULL;
    int64_t *shift_ns = rgm_calloc(count + 1, sizeof *shift_ns);
    PyObject *result = NULL;
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status;
    if (!runs || !shift_ns) {
        PyErr_NoMemory();
    } else if (take_runs(state, kept, shifts, runs, shift_ns) == 0) {
        RGM_UNLOCKED(status = rgm_run_merge(runs, shift_ns, count,
                                            processes ? RGM_MERGE_PROCESSES : RGM_MERGE_RANKS, &run, &err));
        result = status == RGM_OK ? rgm_run_wrap(type, run) : rgm_raise(state, status, &err);
    }
    rgm_free(runs);
    rgm_free(shift_ns);
    Py_DECREF(kept);
    Py_DECREF(shifts);
    return result;
}

PyObject *rgm_method_sampled(run_object *self, PyObject *choice) {
    static const char *const tokens[] = {RGM_SAMPLE_CHOICES(RGM_TOKEN)};
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    Py_ssize_t found = state ? rgm_name_find(choice, tokens, RGM_SAMPLE_CHOICE_COUNT) : -1;
    if (!state) return NULL;
    if (found < 0)
        return PyErr_Format(PyExc_ValueError, "samples are 'all', 'running' or 'waiting', not %R", choice);
    rgm_error err = RGM_ERROR_NONE;
    rgm_run *run = NULL;
    rgm_status status;
    RGM_UNLOCKED(status = rgm_run_sampled(self->run, (rgm_sample_choice)found, &run, &err));
    return status == RGM_OK ? rgm_run_wrap(Py_TYPE(self), run) : rgm_raise(state, status, &err);
}
