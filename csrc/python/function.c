// SPDX-License-Identifier: Apache-2.0
// A plain function with a scope around each call, by vectorcall: works as a function, a method (it is a
// method descriptor), and keeps name, signature and pickling of what it wraps.
#include "capture/turns.h"
#include "capture/witness.h"
#include "python/profiler.h"

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    profiler_object *profiler;
    PyObject *function;
    PyObject *operation;
    PyObject *device;
    rgm_site *site; // resolved on the first recorded call
    PyObject *dict;
    PyObject *weakrefs;
} function_object;

// Everything but a plain recording: sampling, memory, the looks at the backend.
static PyObject *call_with_scope(function_object *self, PyObject *const *args, size_t flags,
                                 PyObject *names) {
    scope_object *scope = (scope_object *)rgm_scope_new(self->profiler, self->site);
    if (!scope) return NULL;
    scope->function = Py_NewRef(self->function);
    rgm_scope_enter_any(scope);
    PyObject *result = PyObject_Vectorcall(self->function, args, flags, names);
    rgm_scope_leave_any(scope, result == NULL);
    if (result) {
        Py_DECREF(scope);
        return result;
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    Py_DECREF(scope);
    PyErr_Restore(type, value, traceback);
    return NULL;
}

static PyObject *function_call(PyObject *object, PyObject *const *args, size_t flags, PyObject *names) {
    function_object *self = (function_object *)object;
    profiler_object *profiler = self->profiler;
    if (!profiler->enabled) return PyObject_Vectorcall(self->function, args, flags, names);
    if (RGM_UNLIKELY(!self->site)) {
        self->site = rgm_profiler_site(profiler, self->operation, self->device);
        if (!self->site) return NULL;
    }
    rgm_site *site = self->site;
    if (RGM_UNLIKELY(atomic_load_explicit(&site->flags, memory_order_relaxed) & RGM_SITE_DISABLED))
        return PyObject_Vectorcall(self->function, args, flags, names);
    uint8_t special = profiler->special;
    if (site->device == RGM_DEVICE_CPU) special &= (uint8_t)~(SPECIAL_DEVICE_EVENTS | SPECIAL_RANGES);
    if (RGM_UNLIKELY(special || site->probes)) return call_with_scope(self, args, flags, names);
    rgm_recorder *recorder = rgm_profiler_recorder(profiler);
    uint32_t seq = 0;
    bool ready = recorder && rgm_context_enter(recorder);
    rgm_frame *frame = ready ? rgm_scope_begin(recorder, recorder->context, site->id, 0, &seq) : NULL;
    PyObject *result = PyObject_Vectorcall(self->function, args, flags, names);
    uint64_t now = rgm_clock_ticks();
    if (RGM_UNLIKELY(!frame)) return result;
    recorder = rgm_profiler_recorder(profiler); // the session may have ended or forked meanwhile
    if (RGM_UNLIKELY(!recorder)) {
        rgm_session_note(profiler->session, RGM_ANOMALY_LOST_SCOPES, 1);
        return result;
    }
    rgm_scope_end(recorder, frame, seq, now, result ? 0u : RGM_RECORD_FAILED);
    rgm_recorder_witness(recorder, now);
    rgm_recorder_turns(recorder, now);
    return result;
}

PyObject *rgm_function_new(profiler_object *profiler, PyObject *function, PyObject *operation,
                           PyObject *device) {
    rgm_module *state = rgm_module_of_type(Py_TYPE(profiler));
    if (!state || rgm_device_parse(state, device) < 0) return NULL;
    function_object *self = PyObject_GC_New(function_object, state->function_type);
    if (!self) return NULL;
    self->vectorcall = function_call;
    self->profiler = (profiler_object *)Py_NewRef(profiler);
    self->function = Py_NewRef(function);
    self->operation = Py_NewRef(operation);
    self->device = Py_NewRef(device);
    self->site = NULL;
    self->weakrefs = NULL;
    self->dict = PyDict_New();
    PyObject_GC_Track(self);
    if (!self->dict) Py_CLEAR(self);
    return (PyObject *)self;
}

static PyObject *function_get(PyObject *self, PyObject *object, PyObject *type) {
    if (!object || object == Py_None) return Py_NewRef(self);
    return PyMethod_New(self, object);
}

static PyObject *function_reduce(PyObject *self, PyObject *unused) {
    return PyObject_GetAttrString(self, "__qualname__"); // pickled by reference, like a function
}

static PyObject *function_repr(PyObject *self) {
    return PyUnicode_FromFormat("<profiled %R>", ((function_object *)self)->function);
}

static int function_traverse(function_object *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->profiler);
    Py_VISIT(self->function);
    Py_VISIT(self->dict);
    return 0;
}

static int function_clear(function_object *self) {
    Py_CLEAR(self->function);
    Py_CLEAR(self->dict);
    return 0;
}

static void function_dealloc(function_object *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (self->weakrefs) PyObject_ClearWeakRefs((PyObject *)self);
    function_clear(self);
    Py_CLEAR(self->operation);
    Py_CLEAR(self->device);
    Py_CLEAR(self->profiler);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

// From Python 3.14 on wrappers are given what evaluates them, and functions alone turn that into annotations.
static PyObject *function_annotations(PyObject *object, void *unused) {
    function_object *self = (function_object *)object;
    PyObject *own = self->dict ? PyDict_GetItemString(self->dict, "__annotations__") : NULL;
    return own ? Py_NewRef(own) : PyObject_GetAttrString(self->function, "__annotations__");
}

static int function_set_annotations(PyObject *object, PyObject *value, void *unused) {
    PyObject *dict = ((function_object *)object)->dict;
    return value ? PyDict_SetItemString(dict, "__annotations__", value)
                 : PyDict_DelItemString(dict, "__annotations__");
}

static PyMethodDef function_methods[] = {
    {"__reduce__", function_reduce, METH_NOARGS, "Pickled by reference."},
    {NULL},
};
static PyGetSetDef function_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL},
    {"__annotations__", function_annotations, function_set_annotations, NULL},
    {NULL},
};
static PyMemberDef function_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(function_object, vectorcall), READONLY},
    {"__dictoffset__", T_PYSSIZET, offsetof(function_object, dict), READONLY},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(function_object, weakrefs), READONLY},
    {"__func__", T_OBJECT, offsetof(function_object, function), READONLY, "The function that is profiled."},
    {NULL},
};
static PyType_Slot function_slots[] = {
    {Py_tp_dealloc, function_dealloc}, {Py_tp_traverse, function_traverse},
    {Py_tp_clear, function_clear},     {Py_tp_call, PyVectorcall_Call},
    {Py_tp_repr, function_repr},       {Py_tp_descr_get, function_get},
    {Py_tp_methods, function_methods}, {Py_tp_getset, function_getset},
    {Py_tp_members, function_members}, {0, NULL},
};
static PyType_Spec function_spec = {
    .name = "regimeter._core.ProfiledFunction",
    .basicsize = sizeof(function_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = function_slots,
};

int rgm_function_type_init(PyObject *module, rgm_module *state) {
    state->function_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &function_spec, NULL);
    return state->function_type ? PyModule_AddType(module, state->function_type) : -1;
}
