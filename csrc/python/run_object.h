// SPDX-License-Identifier: Apache-2.0
// The Run as an object, and its methods, which stand in several files.
#ifndef RGM_PYTHON_RUN_OBJECT_H
#define RGM_PYTHON_RUN_OBJECT_H

#include "analysis/policy.h"
#include "analysis/view.h"
#include "analysis/views/tiles.h"
#include "base/once.h"
#include "python/state.h"

// Results are kept here, beside the run, and handed out as views: a table that the run's dictionary kept
// would hold the run in turn. Each is made by the first thread that asks, without the interpreter's lock, and
// others wait for it.
typedef struct {
    PyObject_HEAD
    rgm_run *run;
    rgm_entries entries;
    rgm_summary summary;
    rgm_once computed;
    rgm_view view; // with the built-in rules
    rgm_once viewed;
    rgm_tiles tiles[2]; // of the view, without and with Python functions
    rgm_once tiled[2];
    rgm_shown *shown;
    PyObject *strings; // a tuple of all names, once somebody has asked for it
    PyObject *weakrefs;
} run_object;

// run_files.c
PyObject *rgm_method_load(PyTypeObject *type, PyObject *args);
PyObject *rgm_method_import(PyTypeObject *type, PyObject *args);
PyObject *rgm_method_import_snapshot(PyTypeObject *type, PyObject *args);
PyObject *rgm_method_save(run_object *self, PyObject *path);
PyObject *rgm_method_export(run_object *self, PyObject *args);
PyObject *rgm_method_sampled(run_object *self, PyObject *choice);
// run_build.c
PyObject *rgm_method_build(PyTypeObject *type, PyObject *args);
PyObject *rgm_method_link(run_object *self, PyObject *unused);
PyObject *rgm_method_merge(PyTypeObject *type, PyObject *args);
// run_analyse.c
PyObject *rgm_method_entries(run_object *self, void *unused);
PyObject *rgm_method_summary(run_object *self, void *unused);
PyObject *rgm_method_summarise(run_object *self, PyObject *thresholds);
PyObject *rgm_method_analyse(run_object *self, PyObject *args);
// Thresholds by name into a policy; sets an exception and returns -1 for what is none.
int rgm_policy_read(PyObject *given, rgm_policy *policy);
// Has something made once; -1 with an exception set.
int rgm_run_make(run_object *self, rgm_module *state, rgm_once *once, rgm_making make);
// The view with the built-in rules, NULL with an exception set.
const rgm_view *rgm_run_view(run_object *self, rgm_module *state);
// run_tiles.c
PyObject *rgm_method_tile(run_object *self, PyObject *args);
PyObject *rgm_method_tile_span(run_object *self, PyObject *args);
PyObject *rgm_method_find(run_object *self, PyObject *args);
PyObject *rgm_method_range_times(run_object *self, PyObject *args);
// run_suggest.c
PyObject *rgm_method_suggest(run_object *self, PyObject *args);
PyObject *rgm_method_causes(run_object *self, PyObject *thresholds);

#endif
