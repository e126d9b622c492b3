// SPDX-License-Identifier: Apache-2.0
// KernelMonitor: executions that the program reports.
#include "capture/monitor.h"

#include "base/memory.h"
#include "python/rows.h"

typedef struct {
    PyObject_HEAD
    rgm_monitor *monitor;
} monitor_object;

static PyObject *monitor_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"room", NULL};
    Py_ssize_t room;
    rgm_error err = RGM_ERROR_NONE;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "n:KernelMonitor", names, &room)) return NULL;
    monitor_object *self = (monitor_object *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    rgm_status status = rgm_monitor_new(&self->monitor, room < 0 ? SIZE_MAX : (size_t)room, &err);
    if (status == RGM_OK) return (PyObject *)self;
    (void)rgm_raise(rgm_module_of_type(type), status, &err);
    Py_DECREF(self);
    return NULL;
}

static void monitor_dealloc(monitor_object *self) {
    PyTypeObject *type = Py_TYPE(self);
    rgm_monitor_free(self->monitor);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyObject *monitor_add(monitor_object *self, PyObject *args) {
    const char *name;
    Py_ssize_t length;
    long long duration_ns, memory_bytes, end_ns;
    int success;
    rgm_error err = RGM_ERROR_NONE;
    if (!PyArg_ParseTuple(args, "s#LLpL:add", &name, &length, &duration_ns, &memory_bytes, &success, &end_ns))
        return NULL;
    rgm_monitor_record record = {
        .success = success != 0, .end_ns = end_ns, .duration_ns = duration_ns, .memory_bytes = memory_bytes};
    rgm_status status = rgm_monitor_add(self->monitor, name, (size_t)length, &record, &err);
    if (status != RGM_OK) return rgm_raise(rgm_module_of_type(Py_TYPE(self)), status, &err);
    Py_RETURN_NONE;
}

static PyObject *describe_kernel(const rgm_monitor_kernel *kernel) {
#define ENTRY(type, name, unit, doc) RGM_MEMBER(rgm_monitor_kernel, name),
    static const rgm_member members[] = {RGM_MONITOR_KERNEL(ENTRY)};
#undef ENTRY
    return RGM_DICT_OF(kernel, members);
}

static PyObject *monitor_totals(monitor_object *self, PyObject *unused) {
    static const rgm_member members[] = {
        RGM_MEMBER(rgm_monitor_totals, current_memory_bytes), RGM_MEMBER(rgm_monitor_totals, kept),
        RGM_MEMBER(rgm_monitor_totals, dropped), RGM_MEMBER(rgm_monitor_totals, kernels)};
    rgm_monitor_totals totals = rgm_monitor_totals_of(self->monitor);
    PyObject *dict = RGM_DICT_OF(&totals, members);
    if (dict && rgm_dict_put(dict, "all", describe_kernel(&totals.all)) < 0) Py_CLEAR(dict);
    return dict;
}

static PyObject *monitor_kernels(monitor_object *self, PyObject *unused) {
    PyObject *dict = PyDict_New();
    const char *name;
    size_t length;
    rgm_monitor_kernel kernel;
    for (uint32_t i = 0; dict && rgm_monitor_kernel_of(self->monitor, i, &name, &length, &kernel); i++) {
        PyObject *key = PyUnicode_DecodeUTF8(name, (Py_ssize_t)length, "replace");
        PyObject *row = key ? describe_kernel(&kernel) : NULL;
        if (!row || PyDict_SetItem(dict, key, row) < 0) Py_CLEAR(dict);
        Py_XDECREF(key);
        Py_XDECREF(row);
    }
    return dict;
}

static PyObject *list_of_records(monitor_object *self, const rgm_monitor_record *records, size_t count) {
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list && i < count; i++) {
        const rgm_monitor_record *record = &records[i];
        const char *name = "";
        size_t length = 0;
        rgm_monitor_kernel kernel;
        (void)rgm_monitor_kernel_of(self->monitor, record->kernel, &name, &length, &kernel);
        PyObject *row = Py_BuildValue("(s#LLLO)", name, (Py_ssize_t)length, (long long)record->end_ns,
                                      (long long)record->duration_ns, (long long)record->memory_bytes,
                                      record->success ? Py_True : Py_False);
        if (!row) Py_CLEAR(list);
        if (list) PyList_SET_ITEM(list, (Py_ssize_t)i, row);
    }
    return list;
}

static PyObject *monitor_records(monitor_object *self, PyObject *unused) {
    size_t room = (size_t)rgm_monitor_totals_of(self->monitor).kept;
    rgm_monitor_record *records = rgm_calloc(room + 1, sizeof *records);
    if (!records) return PyErr_NoMemory();
    PyObject *list = list_of_records(self, records, rgm_monitor_records(self->monitor, records, room));
    rgm_free(records);
    return list;
}

static PyObject *monitor_reset(monitor_object *self, PyObject *unused) {
    rgm_monitor_reset(self->monitor);
    Py_RETURN_NONE;
}

static PyMethodDef monitor_methods[] = {
    {"add", (PyCFunction)monitor_add, METH_VARARGS,
     "add($self, name, duration_ns, memory_bytes, success, end_ns, /)\n--\n\nCounts an execution; "
     "memory_bytes is -1 where it is not known."},
    {"totals", (PyCFunction)monitor_totals, METH_NOARGS,
     "totals($self, /)\n--\n\nAll executions together, and how many are kept and dropped."},
    {"kernels", (PyCFunction)monitor_kernels, METH_NOARGS, "kernels($self, /)\n--\n\nTotals by name."},
    {"records", (PyCFunction)monitor_records, METH_NOARGS,
     "records($self, /)\n--\n\nThe executions that are kept, the oldest first: (name, end_ns, duration_ns, "
     "memory_bytes, success)."},
    {"reset", (PyCFunction)monitor_reset, METH_NOARGS, "reset($self, /)\n--\n\nForgets everything."},
    {NULL},
};
PyDoc_STRVAR(monitor_doc, "KernelMonitor(room)\n--\n\nExecutions that the program reports itself; the last "
                          "`room` are kept one by one.");
static PyType_Slot monitor_slots[] = {
    {Py_tp_doc, (void *)monitor_doc},
    {Py_tp_new, monitor_new},
    {Py_tp_dealloc, monitor_dealloc},
    {Py_tp_methods, monitor_methods},
    {0, NULL},
};
static PyType_Spec monitor_spec = {
    .name = "regimeter._core.KernelMonitor",
    .basicsize = sizeof(monitor_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = monitor_slots,
};

int rgm_monitor_type_init(PyObject *module, rgm_module *state) {
    state->monitor_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &monitor_spec, NULL);
    return state->monitor_type ? PyModule_AddType(module, state->monitor_type) : -1;
}
