// SPDX-License-Identifier: Apache-2.0
// What a scope is for `with` and `async with`: the descriptor that is __enter__ and __exit__ of a scope, and
// the one scope of a disabled profiler, which does nothing.
#include "python/profiler.h"

const char rgm_annotate_doc[] =
    "annotate($self, **metadata)\n--\n\n"
    "Adds metadata to the open scope; later values replace earlier ones of the same name.";

// --- what profile() returns while disabled ----------------------------------------------------------------

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
} idle_object;

// The object keeps no state, so one of it is the __enter__ and __exit__ of its type, and not even a
// descriptor has to be asked. Reached through the type, the call has the scope in front.
static PyObject *idle_call(PyObject *self, PyObject *const *args, size_t flags, PyObject *names) {
    Py_ssize_t count = PyVectorcall_NARGS(flags);
    if (RGM_LIKELY(count == 3)) Py_RETURN_NONE;
    if (RGM_LIKELY(count == 0)) return Py_NewRef(self);
    if (count == 4 && Py_IS_TYPE(args[0], Py_TYPE(self))) Py_RETURN_NONE;
    if (count == 1 && !names && Py_IS_TYPE(args[0], Py_TYPE(self))) return Py_NewRef(self);
    if (count == 1 && !names && PyCallable_Check(args[0])) {
        // It knows neither profiler nor operation, so it cannot wrap for later.
        if (PyErr_WarnEx(
                PyExc_RuntimeWarning,
                "the profiler is disabled, so @profiler.profile(...) leaves the function as it is for "
                "good; @profiler.profile_function(...) can be enabled later",
                1) < 0)
            return NULL;
        return Py_NewRef(args[0]);
    }
    PyErr_SetString(PyExc_TypeError, "a scope is used as `with profiler.profile(name):` or as a decorator");
    return NULL;
}

static PyObject *idle_annotate(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    Py_RETURN_NONE;
}
static PyObject *idle_none(PyObject *self, void *unused) { Py_RETURN_NONE; }
static PyObject *idle_false(PyObject *self, void *unused) { Py_RETURN_FALSE; }

static void idle_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *idle_aenter(PyObject *self, PyObject *unused) {
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    return state ? rgm_awaitable_new(state, self) : NULL;
}
static PyObject *idle_aexit(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    return state ? rgm_awaitable_new(state, Py_None) : NULL;
}

static PyMethodDef idle_methods[] = {
    {"__aenter__", idle_aenter, METH_NOARGS, NULL},
    {"__aexit__", (PyCFunction)(void (*)(void))idle_aexit, METH_FASTCALL, NULL},
    {"annotate", (PyCFunction)(void (*)(void))idle_annotate, METH_FASTCALL | METH_KEYWORDS, rgm_annotate_doc},
    {NULL},
};
static PyGetSetDef idle_getset[] = {
    {"duration_ms", idle_none, NULL, "None: nothing is recorded."},
    {"recording", idle_false, NULL, "False: nothing is recorded."},
    {NULL},
};
static PyMemberDef idle_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(idle_object, vectorcall), READONLY},
    {NULL},
};
PyDoc_STRVAR(idle_doc, "The scope of a disabled profiler: does nothing.");
static PyType_Slot idle_slots[] = {
    {Py_tp_doc, (void *)idle_doc},
    {Py_tp_dealloc, idle_dealloc},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_methods, idle_methods},
    {Py_tp_getset, idle_getset},
    {Py_tp_members, idle_members},
    {0, NULL},
};
static PyType_Spec idle_spec = {
    .name = "regimeter._core.IdleScope",
    .basicsize = sizeof(idle_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = idle_slots,
};

static PyObject *idle_new(rgm_module *state) {
    idle_object *idle = PyObject_New(idle_object, state->idle_scope_type);
    if (!idle) return NULL;
    idle->vectorcall = idle_call;
    return (PyObject *)idle;
}

// --- the descriptor ---------------------------------------------------------------------------------------

static PyObject *enter_exit_get(PyObject *self, PyObject *object, PyObject *type) {
    return Py_NewRef(object && object != Py_None ? object : self);
}

// Reached through the type, as contextlib.ExitStack does: the scope is the first argument.
static PyObject *enter_exit_call(PyObject *self, PyObject *args, PyObject *kwargs) {
    Py_ssize_t count = PyTuple_GET_SIZE(args);
    if (!count || (kwargs && PyDict_GET_SIZE(kwargs))) {
        PyErr_SetString(PyExc_TypeError, "a scope is expected as the first argument");
        return NULL;
    }
    PyObject *rest = PyTuple_GetSlice(args, 1, count);
    if (!rest) return NULL;
    PyObject *result = PyObject_CallObject(PyTuple_GET_ITEM(args, 0), rest);
    Py_DECREF(rest);
    return result;
}

static PyType_Slot enter_exit_slots[] = {
    {Py_tp_descr_get, enter_exit_get},
    {Py_tp_call, enter_exit_call},
    {0, NULL},
};
static PyType_Spec enter_exit_spec = {
    .name = "regimeter._core.EnterExit",
    .basicsize = sizeof(PyObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = enter_exit_slots,
};

static PyTypeObject *make_type(PyObject *module, PyType_Spec *spec) {
    return (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
}

static int add_protocol(PyTypeObject *type, PyObject *descriptor) {
    if (PyObject_SetAttrString((PyObject *)type, "__enter__", descriptor) < 0) return -1;
    return PyObject_SetAttrString((PyObject *)type, "__exit__", descriptor);
}

int rgm_scope_protocol_init(PyObject *module, rgm_module *state) {
    state->idle_scope_type = make_type(module, &idle_spec);
    state->enter_exit_type = make_type(module, &enter_exit_spec);
    if (!state->idle_scope_type || !state->enter_exit_type) return -1;
    PyObject *descriptor = PyObject_New(PyObject, state->enter_exit_type);
    state->idle = idle_new(state);
    if (!descriptor || !state->idle) return -1;
    int failed = add_protocol(state->scope_type, descriptor) < 0 ||
                 add_protocol(state->idle_scope_type, state->idle) < 0 ||
                 PyModule_AddType(module, state->scope_type) < 0 ||
                 PyModule_AddType(module, state->idle_scope_type) < 0;
    Py_DECREF(descriptor);
    return failed ? -1 : 0;
}
