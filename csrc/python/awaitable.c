// SPDX-License-Identifier: Apache-2.0
// Something that `await` is done with at once: what __aenter__ and __aexit__ answer, for `async with`.
#include "python/state.h"

typedef struct {
    PyObject_HEAD
    PyObject *value; // until it was awaited
} awaitable_object;

PyObject *rgm_awaitable_new(rgm_module *state, PyObject *value) {
    awaitable_object *self = PyObject_New(awaitable_object, state->awaitable_type);
    if (self) self->value = Py_NewRef(value);
    return (PyObject *)self;
}

static void awaitable_dealloc(awaitable_object *self) {
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(self->value);
    PyObject_Free(self);
    Py_DECREF(type);
}

// The end of an iterator carries its result.
static PyObject *awaitable_next(awaitable_object *self) {
    PyObject *value = self->value;
    self->value = NULL;
    PyObject *stop = value ? PyObject_CallOneArg(PyExc_StopIteration, value) : NULL;
    if (stop) PyErr_SetObject(PyExc_StopIteration, stop);
    Py_XDECREF(stop);
    Py_XDECREF(value);
    return NULL;
}

static PyType_Slot awaitable_slots[] = {
    {Py_am_await, PyObject_SelfIter},
    {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, awaitable_next},
    {Py_tp_dealloc, awaitable_dealloc},
    {0, NULL},
};
static PyType_Spec awaitable_spec = {
    .name = "regimeter._core.Awaitable",
    .basicsize = sizeof(awaitable_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = awaitable_slots,
};

int rgm_awaitable_type_init(PyObject *module, rgm_module *state) {
    state->awaitable_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &awaitable_spec, NULL);
    return state->awaitable_type ? 0 : -1;
}
