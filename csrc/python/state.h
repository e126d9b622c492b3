// SPDX-License-Identifier: Apache-2.0
// What every binding file sees: the module's state and the shared helpers. Nothing below csrc/python
// includes Python.h, and nothing here computes.
#ifndef RGM_PYTHON_STATE_H
#define RGM_PYTHON_STATE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include "analysis/policy.h"
#include "base/bytes.h"
#include "base/status.h"
#include "capture/session.h"
#include "model/regimes.h"
#include "model/run.h"

typedef struct {
    PyObject *error; // regimeter.Error and its kinds
    PyObject *format_error;
    PyObject *busy_error;
    PyObject *unavailable_error;
    PyTypeObject *profiler_type;
    PyTypeObject *scope_type;
    PyTypeObject *idle_scope_type;
    PyTypeObject *enter_exit_type;
    PyTypeObject *awaitable_type;
    PyTypeObject *function_type;
    PyTypeObject *run_type;
    PyTypeObject *table_type;
    PyTypeObject *column_type;
    PyTypeObject *feed_type;
    PyTypeObject *buffer_pool_type;
    PyTypeObject *pool_buffer_type;
    PyTypeObject *monitor_type;
    PyTypeObject *race_type;
    PyObject *idle;         // the one IdleScope
    PyObject *device_names; // tuple of str, in the order of RGM_DEVICES
    PyObject *word_device;  // interned keyword names
    PyObject *word_operation;
    PyObject *word_stream;
    PyObject *word_begin; // interned names of methods: a fresh one a call would stay in the type's cache
    PyObject *word_end;
    PyObject *word_runtime_ms; // interned keys of a lightweight profile
    PyObject *word_memory;
} rgm_module;

// One statement while other threads may hold the interpreter:
//     RGM_UNLOCKED(status = rgm_run_save(run, path, &err));
#define RGM_UNLOCKED(...)                                                                                    \
    do {                                                                                                     \
        Py_BEGIN_ALLOW_THREADS;                                                                              \
        __VA_ARGS__;                                                                                         \
        Py_END_ALLOW_THREADS;                                                                                \
    } while (0)

extern struct PyModuleDef rgm_module_def;
rgm_module *rgm_module_of_type(PyTypeObject *type);
rgm_module *rgm_module_of(PyObject *module);

// errors.c
int rgm_errors_init(PyObject *module, rgm_module *state);
// Raises what the status calls for and returns NULL.
PyObject *rgm_raise(rgm_module *state, rgm_status status, const rgm_error *err);
// Place of a name in a list of names; -1, without an exception, when it is no str or not among them.
Py_ssize_t rgm_name_find(PyObject *name, const char *const *names, size_t count);
// Finds the device's number; -1 with ValueError or TypeError set.
int rgm_device_parse(rgm_module *state, PyObject *device);

// awaitable.c: `await` gives the value at once.
PyObject *rgm_awaitable_new(rgm_module *state, PyObject *value);
// metadata.c
// UTF-8 of a str; a half surrogate, as os.fsdecode makes them, becomes a backslash and its number. NULL with
// an exception without memory. *owner is to be released after use.
const char *rgm_text_utf8(PyObject *text, Py_ssize_t *length, PyObject **owner);
// Writes keyword arguments as a JSON object; values it does not know become the name of their type. Never
// leaves an exception behind.
int64_t rgm_metadata_write(rgm_bytes *out, PyObject *const *values, PyObject *names);

// One per file: creates the types and adds them to the module.
int rgm_scope_types_init(PyObject *module, rgm_module *state);
int rgm_awaitable_type_init(PyObject *module, rgm_module *state);
int rgm_profiler_type_init(PyObject *module, rgm_module *state);
int rgm_function_type_init(PyObject *module, rgm_module *state);
int rgm_table_types_init(PyObject *module, rgm_module *state);
int rgm_run_type_init(PyObject *module, rgm_module *state);
int rgm_feed_type_init(PyObject *module, rgm_module *state);
int rgm_buffer_pool_types_init(PyObject *module, rgm_module *state);
int rgm_monitor_type_init(PyObject *module, rgm_module *state);
int rgm_race_type_init(PyObject *module, rgm_module *state);
// telemetry.c: adds functions.
int rgm_telemetry_init(PyObject *module);
int rgm_libraries_init(PyObject *module);
int rgm_counters_init(PyObject *module);
int rgm_counter_measure_init(PyObject *module);
int rgm_kernels_init(PyObject *module);
int rgm_workload_run_init(PyObject *module);
int rgm_calibrate_init(PyObject *module);
// policy.c, compare.c: functions of the module.
int rgm_policy_init(PyObject *module);
int rgm_spill_init(PyObject *module);
int rgm_compare_init(PyObject *module);
// classify.c
int rgm_classify_init(PyObject *module);

// light_call.c
int rgm_light_call_init(PyObject *module);
// scope_counts.c: instructions of scopes and calls
int rgm_counting_init(PyObject *module);
// pace.c
int rgm_pace_init(PyObject *module);
// touched.c
int rgm_touched_init(PyObject *module);
// Lets the library that watches allocations stand before Python's allocator too, once; nothing where it is
// not loaded.
void rgm_heap_before_python(void);
int rgm_turns_init(PyObject *module);
// Copies float64 of shape (RGM_CEILING_COUNT, 2) out of a buffer; -1 with an exception.
int rgm_ceilings_take(PyObject *given, const char *name, rgm_ceilings *out);

// feed.c: the reading end is an rgm_source_read with the Feed as its context.
rgm_status rgm_feed_read(void *context, uint8_t *buffer, size_t room, size_t *filled, rgm_error *err);
void rgm_feed_stop(PyObject *feed);

// table.c: columns without memory that were looked at.
typedef struct rgm_shown rgm_shown;
void rgm_shown_free(rgm_shown *shown);
// A table of the run, which keeps what was looked at; or one that is taken over, where `shown` is NULL.
PyObject *rgm_table_wrap(rgm_module *state, PyObject *run, const rgm_table_desc *desc, const void *table,
                         rgm_shown **shown);
// What filled a table from rgm_calloc came to: the table, taken over, or what the status raises. A failure
// leaves nothing of the table, which may be NULL then.
PyObject *rgm_table_result(rgm_module *state, PyObject *run, const rgm_table_desc *desc, void *table,
                           rgm_status status, const rgm_error *err);
// arrow.c
PyObject *rgm_arrow_stream(PyObject *owner, const rgm_run *run, const rgm_table_desc *desc,
                           const void *table);
// run.c: takes the Run over.
PyObject *rgm_run_wrap(PyTypeObject *type, rgm_run *run);
rgm_run *rgm_run_of(PyObject *run);

#endif
