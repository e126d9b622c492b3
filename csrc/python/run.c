// SPDX-License-Identifier: Apache-2.0
// The C half of Run: tables, strings, files and the analyses.
#include <string.h>

#include "analysis/summary.h"
#include "base/memory.h"
#include "io/run_file.h"
#include "python/state.h"

// Results are kept here, beside the run, and handed out as views: a table that the run's dictionary kept
// would hold the run in turn.
typedef struct {
    PyObject_HEAD
    rgm_run *run;
    rgm_entries entries;
    rgm_summary summary;
    bool computed;
    PyObject *weakrefs;
} run_object;

rgm_run *rgm_run_of(PyObject *run) { return ((run_object *)run)->run; }

PyObject *rgm_run_wrap(PyTypeObject *type, rgm_run *run) {
    run_object *self = (run_object *)type->tp_alloc(type, 0);
    if (!self) {
        rgm_run_free(run);
        return NULL;
    }
    self->run = run;
    return (PyObject *)self;
}

static int run_traverse(run_object *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static void run_dealloc(run_object *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (self->weakrefs) PyObject_ClearWeakRefs((PyObject *)self);
    rgm_table_release(&rgm_entries_desc, &self->entries);
    rgm_table_release(&rgm_summary_desc, &self->summary);
    rgm_run_free(self->run);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

// --- files ------------------------------------------------------------------------------------------------

static PyObject *run_load(PyTypeObject *type, PyObject *args) {
    PyObject *path;
    int recover;
    rgm_module *state = rgm_module_of_type(type);
    if (!state || !PyArg_ParseTuple(args, "O&p", PyUnicode_FSConverter, &path, &recover)) return NULL;
    rgm_error err;
    rgm_run *run = NULL;
    rgm_status status;
    rgm_error_clear(&err);
    Py_BEGIN_ALLOW_THREADS;
    status = rgm_run_load(PyBytes_AS_STRING(path), recover ? RGM_LOAD_RECOVER : RGM_LOAD_STRICT, &run, &err);
    Py_END_ALLOW_THREADS;
    Py_DECREF(path);
    return status == RGM_OK ? rgm_run_wrap(type, run) : rgm_raise(state, status, &err);
}

static PyObject *run_save(run_object *self, PyObject *path) {
    PyObject *encoded;
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    if (!state || !PyUnicode_FSConverter(path, &encoded)) return NULL;
    rgm_error err;
    rgm_status status;
    rgm_error_clear(&err);
    Py_BEGIN_ALLOW_THREADS;
    status = rgm_run_save(self->run, PyBytes_AS_STRING(encoded), &err);
    Py_END_ALLOW_THREADS;
    Py_DECREF(encoded);
    if (status != RGM_OK) return rgm_raise(state, status, &err);
    Py_RETURN_NONE;
}

// --- from Python values -----------------------------------------------------------------------------------

static int take_strings(rgm_module *state, rgm_run *run, PyObject *strings, uint32_t **ids,
                        Py_ssize_t *count) {
    *count = PySequence_Fast_GET_SIZE(strings);
    *ids = rgm_calloc((size_t)*count + 1, sizeof **ids);
    if (!*ids) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < *count; i++) {
        rgm_error err;
        Py_ssize_t length;
        const char *text = PyUnicode_AsUTF8AndSize(PySequence_Fast_GET_ITEM(strings, i), &length);
        if (!text) return -1;
        rgm_error_clear(&err);
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
    rgm_error err;
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
    rgm_error_clear(&err);
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

PyDoc_STRVAR(build_doc, "_build($type, strings, tables, environment, source, start_ns, end_ns, "
                        "start_unix_ns, complete, /)\n--\n\n"
                        "A Run from columns; `name` columns are indexes of `strings`. All ids are checked.");

static PyObject *run_build(PyTypeObject *type, PyObject *args) {
    PyObject *strings, *tables;
    const char *environment, *source;
    long long start_ns, end_ns, start_unix_ns;
    int complete;
    rgm_module *state = rgm_module_of_type(type);
    if (!state || !PyArg_ParseTuple(args, "O!O!ssLLLp", &PyList_Type, &strings, &PyDict_Type, &tables,
                                    &environment, &source, &start_ns, &end_ns, &start_unix_ns, &complete))
        return NULL;
    rgm_error err;
    rgm_run *run = NULL;
    uint32_t *ids = NULL;
    Py_ssize_t n_ids = 0;
    rgm_error_clear(&err);
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

// --- analyses ---------------------------------------------------------------------------------------------

// Fills both result tables once. Computed without the GIL into locals, so that two threads that ask at the
// same time do no harm: the second to finish throws its own away.
static int compute_results(run_object *self, rgm_module *state) {
    if (self->computed) return 0;
    rgm_entries entries = {0};
    rgm_summary summary = {0};
    rgm_policy policy = RGM_POLICY_DEFAULTS;
    rgm_error err;
    rgm_status status;
    rgm_error_clear(&err);
    Py_BEGIN_ALLOW_THREADS;
    status = rgm_entries_compute(self->run, &entries, &err);
    if (status == RGM_OK) status = rgm_summary_compute(self->run, &entries, &policy, &summary, &err);
    Py_END_ALLOW_THREADS;
    if (status == RGM_OK && !self->computed) {
        self->entries = entries;
        self->summary = summary;
        self->computed = true;
        return 0;
    }
    rgm_table_release(&rgm_entries_desc, &entries);
    rgm_table_release(&rgm_summary_desc, &summary);
    if (status != RGM_OK) rgm_raise(state, status, &err);
    return status == RGM_OK ? 0 : -1;
}

static PyObject *run_entries(run_object *self, void *unused) {
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    if (!state || compute_results(self, state) < 0) return NULL;
    return rgm_table_wrap(state, (PyObject *)self, &rgm_entries_desc, (rgm_table *)&self->entries, false);
}

static PyObject *run_summary(run_object *self, void *unused) {
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    if (!state || compute_results(self, state) < 0) return NULL;
    return rgm_table_wrap(state, (PyObject *)self, &rgm_summary_desc, (rgm_table *)&self->summary, false);
}

static int read_policy(PyObject *given, rgm_policy *policy) {
#define POLICY_NAME(name, initial, unit, source) #name,
#define POLICY_OFFSET(name, initial, unit, source) offsetof(rgm_policy, name),
    static const char *const names[] = {RGM_POLICY(POLICY_NAME)};
    static const size_t offsets[] = {RGM_POLICY(POLICY_OFFSET)};
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(given, &at, &key, &value)) {
        Py_ssize_t i = rgm_name_find(key, names, sizeof names / sizeof names[0]);
        double number = i < 0 ? 0.0 : PyFloat_AsDouble(value);
        if (number == -1.0 && PyErr_Occurred()) return -1;
        if (i < 0 || !(number >= 0)) {
            PyErr_Format(
                PyExc_ValueError,
                i < 0 ? "no threshold is called %R" : "the threshold %R must be a number of at least 0", key);
            return -1;
        }
        memcpy((char *)policy + offsets[i], &number, sizeof number);
    }
    return 0;
}

PyDoc_STRVAR(summarise_doc,
             "summarise($self, thresholds, /)\n--\n\n"
             "The summary table with other thresholds than the default ones (a dict by name).");

static PyObject *run_summarise(run_object *self, PyObject *thresholds) {
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    rgm_policy policy = RGM_POLICY_DEFAULTS;
    if (!PyDict_Check(thresholds)) return PyErr_Format(PyExc_TypeError, "thresholds must be a dict");
    if (!state || read_policy(thresholds, &policy) < 0 || compute_results(self, state) < 0) return NULL;
    rgm_summary *summary = rgm_calloc(1, sizeof *summary);
    if (!summary) return PyErr_NoMemory();
    rgm_error err;
    rgm_status status;
    rgm_error_clear(&err);
    Py_BEGIN_ALLOW_THREADS;
    status = rgm_summary_compute(self->run, &self->entries, &policy, summary, &err);
    Py_END_ALLOW_THREADS;
    if (status == RGM_OK)
        return rgm_table_wrap(state, (PyObject *)self, &rgm_summary_desc, (rgm_table *)summary, true);
    rgm_table_release(&rgm_summary_desc, summary);
    rgm_free(summary);
    return rgm_raise(state, status, &err);
}

PyDoc_STRVAR(timeline_doc, "_timeline($self, thresholds, /)\n--\n\n"
                           "(rows of `entries` as bytes of uint32, scopes left out, their time in ns)");

static PyObject *run_timeline(run_object *self, PyObject *thresholds) {
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    rgm_policy policy = RGM_POLICY_DEFAULTS;
    if (!PyDict_Check(thresholds)) return PyErr_Format(PyExc_TypeError, "thresholds must be a dict");
    if (!state || read_policy(thresholds, &policy) < 0 || compute_results(self, state) < 0) return NULL;
    rgm_timeline timeline = {0};
    rgm_error err;
    rgm_status status;
    rgm_error_clear(&err);
    Py_BEGIN_ALLOW_THREADS;
    status = rgm_timeline_select(self->run, &self->entries, &policy, &timeline, &err);
    Py_END_ALLOW_THREADS;
    PyObject *result =
        status == RGM_OK
            ? Py_BuildValue("(y#LL)", timeline.rows, (Py_ssize_t)(timeline.count * sizeof(uint32_t)),
                            (long long)timeline.omitted, (long long)timeline.omitted_ns)
            : rgm_raise(state, status, &err);
    rgm_timeline_release(&timeline);
    return result;
}

// --- questions --------------------------------------------------------------------------------------------

static PyObject *run_table(run_object *self, PyObject *name) {
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    const char *text = state && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    for (size_t t = 0; text && t < rgm_run_tables_count; t++)
        if (strcmp(rgm_run_tables[t]->name, text) == 0)
            return rgm_table_wrap(state, (PyObject *)self, rgm_run_tables[t],
                                  rgm_run_table(self->run, rgm_run_tables[t]), false);
    if (!PyErr_Occurred()) PyErr_Format(PyExc_KeyError, "a run has no table %R", name);
    return NULL;
}

static PyObject *run_string(run_object *self, PyObject *id) {
    PyObject *index = PyNumber_Index(id); // NumPy's integers too
    unsigned long number = index ? PyLong_AsUnsignedLong(index) : 0;
    Py_XDECREF(index);
    if (PyErr_Occurred()) return NULL;
    if (number >= rgm_strings_count(&self->run->strings)) {
        PyErr_Format(PyExc_IndexError, "string %lu of %u", number, rgm_strings_count(&self->run->strings));
        return NULL;
    }
    rgm_string string = rgm_strings_view(&self->run->strings, (uint32_t)number);
    return PyUnicode_DecodeUTF8(string.data, string.length, "replace");
}

static PyObject *run_strings(run_object *self, void *unused) {
    uint32_t count = rgm_strings_count(&self->run->strings);
    PyObject *list = PyList_New(count);
    for (uint32_t id = 0; list && id < count; id++) {
        rgm_string string = rgm_strings_view(&self->run->strings, id);
        PyObject *text = PyUnicode_DecodeUTF8(string.data, string.length, "replace");
        if (!text) Py_CLEAR(list);
        if (list) PyList_SET_ITEM(list, id, text);
    }
    return list;
}

static PyObject *run_environment(run_object *self, void *unused) {
    return PyUnicode_DecodeUTF8(self->run->environment, (Py_ssize_t)strlen(self->run->environment),
                                "replace");
}
static PyObject *run_source(run_object *self, void *unused) {
    return PyUnicode_FromString(self->run->source);
}
static PyObject *run_start(run_object *self, void *unused) {
    return PyLong_FromLongLong(self->run->start_ns);
}
static PyObject *run_end(run_object *self, void *unused) { return PyLong_FromLongLong(self->run->end_ns); }
static PyObject *run_unix(run_object *self, void *unused) {
    if (self->run->start_unix_ns < 0) Py_RETURN_NONE;
    return PyLong_FromLongLong(self->run->start_unix_ns);
}
static PyObject *run_complete(run_object *self, void *unused) { return PyBool_FromLong(self->run->complete); }

static PyMethodDef run_methods[] = {
    {"_load", (PyCFunction)run_load, METH_VARARGS | METH_CLASS,
     "_load($type, path, recover, /)\n--\n\nReads a file."},
    {"_build", (PyCFunction)run_build, METH_VARARGS | METH_CLASS, build_doc},
    {"save", (PyCFunction)run_save, METH_O,
     "save($self, path, /)\n--\n\nWrites the run to a file, atomically."},
    {"table", (PyCFunction)run_table, METH_O,
     "table($self, name, /)\n--\n\nA table by name; KeyError if there is none."},
    {"string", (PyCFunction)run_string, METH_O, "string($self, id, /)\n--\n\nThe text of a name id."},
    {"summarise", (PyCFunction)run_summarise, METH_O, summarise_doc},
    {"_timeline", (PyCFunction)run_timeline, METH_O, timeline_doc},
    {NULL},
};
static PyGetSetDef run_getset[] = {
    {"entries", (getter)run_entries, NULL, "Derived values of each scope: depth, exclusive time, memory."},
    {"summary", (getter)run_summary, NULL,
     "Statistics per operation and declared device, most exclusive time first."},
    {"strings", (getter)run_strings, NULL, "All names, in the order of their ids."},
    {"environment_json", (getter)run_environment, NULL, "Description of machine and process, JSON text."},
    {"source", (getter)run_source, NULL, "'live', 'journal', 'run' or 'export'."},
    {"start_ns", (getter)run_start, NULL, "CLOCK_MONOTONIC at the start of the recording."},
    {"end_ns", (getter)run_end, NULL, "CLOCK_MONOTONIC at its end."},
    {"start_unix_ns", (getter)run_unix, NULL, "Wall clock at the start, None when unknown."},
    {"complete", (getter)run_complete, NULL, "Whether the recording was closed properly."},
    {NULL},
};
static PyMemberDef run_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(run_object, weakrefs), READONLY},
    {NULL},
};
PyDoc_STRVAR(run_doc, "The C half of regimeter.Run.");
static PyType_Slot run_slots[] = {
    {Py_tp_doc, (void *)run_doc},
    {Py_tp_dealloc, run_dealloc},
    {Py_tp_traverse, run_traverse},
    {Py_tp_methods, run_methods},
    {Py_tp_getset, run_getset},
    {Py_tp_members, run_members},
    {0, NULL},
};
static PyType_Spec run_spec = {
    .name = "regimeter._core.Run",
    .basicsize = sizeof(run_object),
    .flags =
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = run_slots,
};

int rgm_run_type_init(PyObject *module, rgm_module *state) {
    state->run_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &run_spec, NULL);
    return state->run_type ? PyModule_AddType(module, state->run_type) : -1;
}
