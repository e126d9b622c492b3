// SPDX-License-Identifier: Apache-2.0
// The C half of Run: the object, what it tells of itself, and the list of its methods.
#include <string.h>

#include "python/run_object.h"

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
    Py_VISIT(self->strings);
    return 0;
}

static void run_dealloc(run_object *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (self->weakrefs) PyObject_ClearWeakRefs((PyObject *)self);
    rgm_table_release(&rgm_entries_desc, &self->entries);
    rgm_table_release(&rgm_summary_desc, &self->summary);
    for (int i = 0; i < 2; i++) rgm_tiles_release(&self->tiles[i]);
    rgm_view_release(&self->view);
    rgm_shown_free(self->shown);
    Py_CLEAR(self->strings);
    rgm_run_free(self->run);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

// --- questions --------------------------------------------------------------------------------------------

static PyObject *run_table(run_object *self, PyObject *name) {
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    const char *text = state && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    for (size_t t = 0; text && t < rgm_run_tables_count; t++)
        if (strcmp(rgm_run_tables[t]->name, text) == 0)
            return rgm_table_wrap(state, (PyObject *)self, rgm_run_tables[t],
                                  rgm_run_table(self->run, rgm_run_tables[t]), &self->shown);
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

// Made anew only when names have come since: a reader that takes one name after another makes one tuple of
// all.
static PyObject *run_strings(run_object *self, void *unused) {
    uint32_t count = rgm_strings_count(&self->run->strings);
    if (self->strings && PyTuple_GET_SIZE(self->strings) == (Py_ssize_t)count)
        return Py_NewRef(self->strings);
    PyObject *names = PyTuple_New(count);
    for (uint32_t id = 0; names && id < count; id++) {
        rgm_string string = rgm_strings_view(&self->run->strings, id);
        PyObject *text = PyUnicode_DecodeUTF8(string.data, string.length, "replace");
        if (!text) Py_CLEAR(names);
        if (names) PyTuple_SET_ITEM(names, id, text);
    }
    if (names) Py_XSETREF(self->strings, Py_NewRef(names));
    return names;
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
static PyObject *run_has_work(run_object *self, void *unused) {
    return PyBool_FromLong(rgm_run_has_work(self->run));
}

// --- methods ----------------------------------------------------------------------------------------------

PyDoc_STRVAR(
    import_doc,
    "_import($type, source, name, strict, threads, scan, /)\n--\n\n"
    "A Run from a trace. source: path of a plain file (str), bytes-like object, or Feed; name: what messages "
    "call it; threads: 0 chooses; scan: 0 the best, 1 portable, 2 vectors.");
PyDoc_STRVAR(export_doc,
             "_export($self, format, option, write, /)\n--\n\n"
             "Passes the run in a format of EXPORT_FORMATS to `write`, a callable that takes bytes and "
             "must take all of them. option: str or None.");
PyDoc_STRVAR(build_doc, "_build($type, strings, tables, environment, source, start_ns, end_ns, "
                        "start_unix_ns, complete, /)\n--\n\n"
                        "A Run from columns; `name` columns are indexes of `strings`. All ids are checked.");
PyDoc_STRVAR(merge_doc, "_merge($type, runs, shifts, processes=False, /)\n--\n\n"
                        "The runs of several ranks as one, or of the processes of one program; shifts: ns "
                        "added to the times of each.");
PyDoc_STRVAR(summarise_doc,
             "summarise($self, thresholds, /)\n--\n\n"
             "The summary table with other thresholds than the default ones (a dict by name).");
PyDoc_STRVAR(
    analyse_doc,
    "_analyse($self, name, thresholds, rules, group_by, text, other, ceilings=None, /)\n--\n\n"
    "The result table of an analysis. thresholds: dict by name; rules: tuple of (text, activity) that "
    "go before the built-in ones; text: str or None; other: Run or None.");
PyDoc_STRVAR(suggest_doc, "_suggest($self, thresholds, ceilings, /)\n--\n\n"
                          "The tables `suggestions` and `suggestion_evidence`. thresholds: dict by name; "
                          "ceilings: dict by token, or None.");
PyDoc_STRVAR(tile_doc, "_tile($self, python, from_ns, to_ns, pixel_ns, lane_low, lane_high, /)\n--\n\n"
                       "The table `timeline_blocks` of a part of the timeline, short neighbours of a pixel "
                       "gathered. python: whether with Python functions; times as in `spans`.");
PyDoc_STRVAR(tile_span_doc,
             "_tile_span($self, python, span, /)\n--\n\n"
             "The same table of one span, then its launch, or the device work that it launched.");
PyDoc_STRVAR(find_doc,
             "_find($self, python, passes, span, direction, /)\n--\n\n"
             "(spans, duration_ns, next) of spans whose name passes. passes: a byte a name; span: after "
             "which the next is, -1 for the first; direction: negative for the one before.");
PyDoc_STRVAR(range_times_doc,
             "_range_times($self, python, from_ns, to_ns, lanes, /)\n--\n\n"
             "The table `range_times`: what runs in a range. lanes: a byte a lane, 0 hidden, "
             "1 shown, 2 its first line alone.");
PyDoc_STRVAR(causes_doc, "_causes($self, thresholds, /)\n--\n\n"
                         "The table `causes`: what limits the program. thresholds: dict by name.");

static PyMethodDef run_methods[] = {
    {"_load", (PyCFunction)rgm_method_load, METH_VARARGS | METH_CLASS,
     "_load($type, path, recover, /)\n--\n\nReads a file."},
    {"_import", (PyCFunction)rgm_method_import, METH_VARARGS | METH_CLASS, import_doc},
    {"_import_snapshot", (PyCFunction)rgm_method_import_snapshot, METH_VARARGS | METH_CLASS,
     "_import_snapshot($type, source, name, /)\n--\n\nReads a snapshot of torch's memory: a path or a Feed."},
    {"_build", (PyCFunction)rgm_method_build, METH_VARARGS | METH_CLASS, build_doc},
    {"_link", (PyCFunction)rgm_method_link, METH_NOARGS,
     "_link($self)\n--\n\nFinds parents, launches and steps of a run that was just built from columns."},
    {"_merge", (PyCFunction)rgm_method_merge, METH_VARARGS | METH_CLASS, merge_doc},
    {"save", (PyCFunction)rgm_method_save, METH_O,
     "save($self, path, /)\n--\n\nWrites the run to a file, atomically."},
    {"_export", (PyCFunction)rgm_method_export, METH_VARARGS, export_doc},
    {"_sampled", (PyCFunction)rgm_method_sampled, METH_O,
     "_sampled($self, choice, /)\n--\n\nWhat samples say, as a Run of spans; choice: all, running or "
     "waiting."},
    {"table", (PyCFunction)run_table, METH_O,
     "table($self, name, /)\n--\n\nA table by name; KeyError if there is none."},
    {"string", (PyCFunction)run_string, METH_O, "string($self, id, /)\n--\n\nThe text of a name id."},
    {"summarise", (PyCFunction)rgm_method_summarise, METH_O, summarise_doc},
    {"_analyse", (PyCFunction)rgm_method_analyse, METH_VARARGS, analyse_doc},
    {"_suggest", (PyCFunction)rgm_method_suggest, METH_VARARGS, suggest_doc},
    {"_tile", (PyCFunction)rgm_method_tile, METH_VARARGS, tile_doc},
    {"_tile_span", (PyCFunction)rgm_method_tile_span, METH_VARARGS, tile_span_doc},
    {"_find", (PyCFunction)rgm_method_find, METH_VARARGS, find_doc},
    {"_range_times", (PyCFunction)rgm_method_range_times, METH_VARARGS, range_times_doc},
    {"_causes", (PyCFunction)rgm_method_causes, METH_O, causes_doc},
    {NULL},
};
static PyGetSetDef run_getset[] = {
    {"entries", (getter)rgm_method_entries, NULL,
     "Derived values of each scope: depth, exclusive time, memory."},
    {"summary", (getter)rgm_method_summary, NULL,
     "Statistics per operation and declared device, most exclusive time first."},
    {"strings", (getter)run_strings, NULL, "All names, in the order of their ids."},
    {"environment_json", (getter)run_environment, NULL, "Description of machine and process, JSON text."},
    {"source", (getter)run_source, NULL, "'live', 'journal', 'run', 'samples' or 'export'."},
    {"start_ns", (getter)run_start, NULL, "CLOCK_MONOTONIC at the start of the recording."},
    {"end_ns", (getter)run_end, NULL, "CLOCK_MONOTONIC at its end."},
    {"start_unix_ns", (getter)run_unix, NULL, "Wall clock at the start, None when unknown."},
    {"complete", (getter)run_complete, NULL, "Whether the recording was closed properly."},
    {"_has_work", (getter)run_has_work, NULL, "Whether it holds work of a device."},
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
