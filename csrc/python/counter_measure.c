// SPDX-License-Identifier: Apache-2.0
// A measurement of counters outside a recording: samples of a device, or ranges of the calling thread. The
// object keeps the rows in memory; stop returns them.
#include <string.h>

#include "base/tokens.h"
#include "cuda/counters/counter_rows.h"
#include "cuda/counters/counter_sampling.h"
#include "cuda/counters/range_profiler.h"
#include "python/rows.h"

enum { MAX_ROWS = 1 << 22 }; // of 24 bytes

typedef struct {
    PyObject_HEAD;
    rgm_counter_rows rows;
    bool have_rows;
    rgm_counter_sampling *sampling;
    rgm_range_profiler *ranges;
} measure;

static void end_without_result(measure *self) {
    rgm_counter_sampling *sampling = self->sampling;
    rgm_range_profiler *ranges = self->ranges;
    self->sampling = NULL;
    self->ranges = NULL;
    Py_BEGIN_ALLOW_THREADS;
    rgm_counter_sampling_stop(sampling, NULL);
    rgm_range_profiler_stop(ranges, NULL);
    Py_END_ALLOW_THREADS;
}

static void measure_dealloc(PyObject *object) {
    measure *self = (measure *)object;
    PyTypeObject *type = Py_TYPE(object);
    end_without_result(self);
    if (self->have_rows) rgm_counter_rows_release(&self->rows);
    type->tp_free(object);
    Py_DECREF(type);
}

// --- start ------------------------------------------------------------------------------------------------

static PyObject *refuse(measure *self, rgm_status status, const rgm_error *err) {
    PyObject *nothing = rgm_raise(rgm_module_of_type(Py_TYPE(self)), status, err);
    Py_DECREF(self);
    return nothing;
}

static measure *measure_make(PyTypeObject *type) {
    rgm_error err = RGM_ERROR_NONE;
    measure *self = (measure *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    rgm_status status = rgm_counter_rows_init(&self->rows, MAX_ROWS, &err);
    if (status != RGM_OK) return (measure *)refuse(self, status, &err);
    self->have_rows = true;
    return self;
}

static bool find_set(const char *token, rgm_counter_set *set) {
    *set = rgm_counter_set_find(token);
    if (*set == RGM_COUNTER_SET_NONE) PyErr_Format(PyExc_ValueError, "unknown set of counters \"%s\"", token);
    return *set != RGM_COUNTER_SET_NONE;
}

static PyObject *measure_sample(PyObject *type, PyObject *args) {
    static const char *const feeds[] = {RGM_COUNTER_FEEDS(RGM_TOKEN)};
    rgm_sampling_options options = {0};
    PyObject *feed;
    const char *set;
    long long interval_ns;
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status;
    if (!PyArg_ParseTuple(args, "iUsL:sample", &options.device, &feed, &set, &interval_ns)) return NULL;
    Py_ssize_t found = rgm_name_find(feed, feeds, RGM_COUNTER_FEED_COUNT);
    if (found < 0) return PyErr_Format(PyExc_ValueError, "unknown source of counters %R", feed);
    if (!find_set(set, &options.set)) return NULL;
    options.feed = (rgm_counter_feed)found;
    options.interval_ns = interval_ns;
    measure *self = measure_make((PyTypeObject *)type);
    if (!self) return NULL;
    RGM_UNLOCKED(status = rgm_counter_sampling_start(&self->sampling, &options, self->rows.sink, &err));
    return status == RGM_OK ? (PyObject *)self : refuse(self, status, &err);
}

static PyObject *measure_ranges(PyObject *type, PyObject *args) {
    rgm_range_options options = rgm_range_defaults();
    const char *set;
    unsigned max_ranges;
    rgm_error err = RGM_ERROR_NONE;
    if (!PyArg_ParseTuple(args, "sI:ranges", &set, &max_ranges)) return NULL;
    if (!find_set(set, &options.set)) return NULL;
    options.max_ranges = max_ranges;
    measure *self = measure_make((PyTypeObject *)type);
    if (!self) return NULL;
    // With the lock: the context that counts is the calling thread's, and starting is short.
    rgm_status status = rgm_range_profiler_start(&self->ranges, &options, self->rows.sink, &err);
    return status == RGM_OK ? (PyObject *)self : refuse(self, status, &err);
}

// --- ranges -----------------------------------------------------------------------------------------------

static PyObject *measure_push(PyObject *object, PyObject *name) {
    measure *self = (measure *)object;
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(name, &length);
    if (!text) return NULL;
    if (self->ranges)
        rgm_range_profiler_push(self->ranges,
                                self->rows.sink.intern(self->rows.sink.arg, text, (size_t)length));
    Py_RETURN_NONE;
}

static PyObject *measure_pop(PyObject *object, PyObject *unused) {
    measure *self = (measure *)object;
    if (self->ranges) rgm_range_profiler_pop(self->ranges);
    Py_RETURN_NONE;
}

// --- stop -------------------------------------------------------------------------------------------------

static PyObject *plan_row(const void *plan, size_t i) {
    const rgm_counter_plan_row *row = &((const rgm_counter_plan *)plan)->rows[i];
    return Py_BuildValue("(ssi)", rgm_counter_roles[row->role].token, row->metric, row->pass);
}

static PyObject *plan_of(const rgm_counter_plan *plan) {
    if (!plan) Py_RETURN_NONE;
    return Py_BuildValue("{sssssN}", "chip", plan->chip, "set", rgm_counter_sets[plan->set].token, "rows",
                         rgm_list_of(plan->count, plan_row, plan));
}

static PyObject *name_of(const void *names, size_t i) {
    rgm_string text = rgm_strings_view(names, (uint32_t)i);
    return PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.length, "replace");
}

static PyObject *range_of(const void *ranges, size_t i) {
    const rgm_activity_row *row = &((const rgm_activity_row *)ranges)[i];
    return Py_BuildValue("(ILLi)", (unsigned)row->name, (long long)row->start_ns, (long long)row->duration_ns,
                         (int)row->device);
}

// Takes the objects over, of which any may be NULL with an exception.
static PyObject *result_of(const rgm_counter_rows *rows, PyObject *plan, const char *source,
                           const char *reason, PyObject *counts) {
    return Py_BuildValue(
        "{sNsNsNsNsssssNsL}", "names", rgm_tuple_of(rgm_strings_count(&rows->names), name_of, &rows->names),
        "rows",
        PyBytes_FromStringAndSize((const char *)rows->rows, (Py_ssize_t)(rows->n_rows * sizeof *rows->rows)),
        "ranges", rgm_list_of(rows->n_ranges, range_of, rows->ranges), "plan", plan, "source", source,
        "reason", reason, "counts", counts, "dropped_rows", (long long)rows->dropped);
}

static PyObject *stop_sampling(measure *self) {
    rgm_sampling_report report = {0};
    rgm_counter_sampling *sampling = self->sampling;
    const rgm_counter_plan *made = rgm_counter_sampling_plan(sampling);
    PyObject *plan = plan_of(made);
    self->sampling = NULL;
    RGM_UNLOCKED(rgm_counter_sampling_stop(sampling, &report));
    bool pm = report.feed == RGM_COUNTER_FEED_PM;
    PyObject *counts = Py_BuildValue(
        "{sLsLsLsLsLsLsO}", "samples", (long long)(pm ? report.pm.samples : report.gpm.samples), "dropped",
        (long long)report.pm.dropped, "overflows", (long long)report.pm.overflows, "late",
        (long long)report.pm.late, "failures", (long long)(pm ? report.pm.failures : report.gpm.failures),
        "cpu_ns", (long long)(pm ? report.pm.cpu_ns : report.gpm.cpu_ns), "times_guessed",
        report.pm.guessed ? Py_True : Py_False);
    return result_of(&self->rows, plan, pm ? "pm" : "gpm", report.reason, counts);
}

static PyObject *stop_ranges(measure *self) {
    static const rgm_member members[] = {
        RGM_MEMBER(rgm_range_counts, ranges), RGM_MEMBER(rgm_range_counts, dropped),
        RGM_MEMBER(rgm_range_counts, nested), RGM_MEMBER(rgm_range_counts, foreign),
        RGM_MEMBER(rgm_range_counts, failures)};
    rgm_range_counts counts = {0};
    rgm_range_profiler *ranges = self->ranges;
    PyObject *plan = plan_of(rgm_range_profiler_plan(ranges));
    self->ranges = NULL;
    RGM_UNLOCKED(rgm_range_profiler_stop(ranges, &counts));
    return result_of(&self->rows, plan, "ranges", "", RGM_DICT_OF(&counts, members));
}

static PyObject *measure_stop(PyObject *object, PyObject *unused) {
    measure *self = (measure *)object;
    if (self->sampling) return stop_sampling(self);
    if (self->ranges) return stop_ranges(self);
    PyErr_SetString(PyExc_ValueError, "the measurement of counters has ended");
    return NULL;
}

// --- type -------------------------------------------------------------------------------------------------

static PyMethodDef measure_methods[] = {
    {"sample", measure_sample, METH_VARARGS | METH_CLASS,
     "sample($type, device, source, set, interval_ns, /)\n--\n\nStarts sampling the counters of a device."},
    {"ranges", measure_ranges, METH_VARARGS | METH_CLASS,
     "ranges($type, set, max_ranges, /)\n--\n\nStarts counting in ranges of this thread."},
    {"push", measure_push, METH_O, "push($self, name, /)\n--\n\nBegins a range."},
    {"pop", measure_pop, METH_NOARGS, "pop($self)\n--\n\nEnds the range."},
    {"stop", measure_stop, METH_NOARGS, "stop($self)\n--\n\nEnds the measurement and returns it."},
    {NULL},
};

static PyType_Slot measure_slots[] = {
    {Py_tp_doc, "A measurement of hardware counters that is under way."},
    {Py_tp_dealloc, measure_dealloc},
    {Py_tp_methods, measure_methods},
    {0, NULL},
};

static PyType_Spec measure_spec = {
    .name = "regimeter._core.CounterMeasurement",
    .basicsize = sizeof(measure),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = measure_slots,
};

int rgm_counter_measure_init(PyObject *module) {
    PyObject *type = PyType_FromModuleAndSpec(module, &measure_spec, NULL);
    int failed = type ? PyModule_AddObjectRef(module, "CounterMeasurement", type) : -1;
    Py_XDECREF(type);
    return failed;
}
