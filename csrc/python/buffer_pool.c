// SPDX-License-Identifier: Apache-2.0
// BufferPool and PoolBuffer: memory that is used again. A buffer holds its pool, so a pool lives as long as
// any of its buffers, closed or not.
#include "base/buffer_pool.h"

#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "cuda/library/device_buffers.h"
#include "python/fields.h"
#include "python/rows.h"

typedef struct {
    PyObject_HEAD
    rgm_buffer_pool *pool;
    _Atomic(int64_t) clock_ns; // set by hand; negative: the system's
    long device;               // -1: host memory
    bool closed;
} pool_object;

typedef struct {
    PyObject_HEAD
    pool_object *pool;
    rgm_pool_buffer buffer;
    unsigned long long stream;
    Py_ssize_t views;
    bool freed;
} buffer_object;

static rgm_module *state_of(PyObject *self) { return rgm_module_of_type(Py_TYPE(self)); }

// --- the pool ---------------------------------------------------------------------------------------------

static int64_t pool_now(void *context) {
    pool_object *self = context;
    int64_t set = atomic_load(&self->clock_ns);
    return set >= 0 ? set : rgm_clock_monotonic_ns();
}

static int take_options(PyObject *keywords, rgm_pool_options *options) {
    static const rgm_field rows[] = {
#define OPTION_ROW(name, initial, unit, doc) {#name, offsetof(rgm_pool_options, name), 0, "", ""},
        RGM_POOL_OPTIONS(OPTION_ROW)
#undef OPTION_ROW
    };
    static const rgm_fields fields = {
        rows, sizeof rows / sizeof *rows, RGM_FIELD_INT, &PyExc_TypeError, "a pool has no option called %R",
        ""};
    return rgm_fields_read(keywords, &fields, options);
}

static PyObject *pool_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    PyObject *where;
    rgm_error err = RGM_ERROR_NONE;
    rgm_pool_options options = RGM_POOL_OPTION_DEFAULTS;
    rgm_pool_source source = rgm_pool_host_source;
    if (!PyArg_ParseTuple(args, "O:BufferPool", &where) || take_options(keywords, &options) < 0) return NULL;
    long device = -1;
    if (where != Py_None && !PyUnicode_Check(where)) {
        device = PyLong_AsLong(where);
        if (device == -1 && PyErr_Occurred()) return NULL;
        if (device < 0 || device > 1024)
            return PyErr_Format(PyExc_ValueError, "there is no device %ld", device);
    } else if (where != Py_None) {
        if (PyUnicode_CompareWithASCIIString(where, "none") != 0)
            return PyErr_Format(PyExc_ValueError, "memory is None (host), \"none\" or a device, not %R",
                                where);
        source = rgm_pool_no_source;
    }
    pool_object *self = (pool_object *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->device = device;
    atomic_store(&self->clock_ns, -1);
    rgm_status status = RGM_OK;
    Py_BEGIN_ALLOW_THREADS;
    if (device >= 0) status = rgm_device_buffers_open(&source, (int)device, &err);
    if (status == RGM_OK) status = rgm_buffer_pool_new(&self->pool, &options, &source, pool_now, self, &err);
    Py_END_ALLOW_THREADS;
    if (status == RGM_OK) return (PyObject *)self;
    (void)rgm_raise(state_of((PyObject *)self), status, &err);
    Py_DECREF(self);
    return NULL;
}

static void pool_dealloc(pool_object *self) {
    PyTypeObject *type = Py_TYPE(self);
    // Device memory is given back once its work is done, which may need this lock.
    RGM_UNLOCKED(rgm_buffer_pool_free(self->pool));
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static int check_open(const pool_object *self) {
    if (!self->closed) return 0;
    PyErr_SetString(PyExc_ValueError, "the pool is closed");
    return -1;
}

static rgm_status ask(pool_object *self, Py_ssize_t bytes, rgm_pool_buffer *out, rgm_error *err) {
    if (bytes < 0) return rgm_error_set(err, RGM_INVALID, "a size is not negative, got %zd", bytes);
    return rgm_buffer_pool_allocate(self->pool, (size_t)bytes, out, err);
}

static PyObject *pool_allocate(pool_object *self, PyObject *args) {
    Py_ssize_t bytes;
    unsigned long long stream = 0;
    rgm_error err = RGM_ERROR_NONE;
    rgm_module *state = state_of((PyObject *)self);
    if (check_open(self) < 0 || !PyArg_ParseTuple(args, "n|K:allocate", &bytes, &stream)) return NULL;
    buffer_object *made = (buffer_object *)state->pool_buffer_type->tp_alloc(state->pool_buffer_type, 0);
    if (!made) return NULL;
    made->freed = true; // nothing to give back yet
    made->stream = stream;
    rgm_status status;
    RGM_UNLOCKED(status = ask(self, bytes, &made->buffer, &err));
    if (status != RGM_OK) {
        Py_DECREF(made);
        return rgm_raise(state, status, &err);
    }
    made->freed = false;
    made->pool = (pool_object *)Py_NewRef((PyObject *)self);
    return (PyObject *)made;
}

static PyObject *pool_register(pool_object *self, PyObject *size) {
    rgm_error err = RGM_ERROR_NONE;
    rgm_pool_buffer buffer;
    Py_ssize_t bytes = PyNumber_AsSsize_t(size, PyExc_OverflowError);
    if ((bytes == -1 && PyErr_Occurred()) || check_open(self) < 0) return NULL;
    rgm_status status = ask(self, bytes, &buffer, &err);
    if (status != RGM_OK) return rgm_raise(state_of((PyObject *)self), status, &err);
    return PyLong_FromUnsignedLongLong(buffer.id);
}

static PyObject *pool_deregister(pool_object *self, PyObject *id) {
    rgm_error err = RGM_ERROR_NONE;
    unsigned long long number = PyLong_AsUnsignedLongLong(id);
    if (PyErr_Occurred()) return NULL;
    rgm_status status;
    RGM_UNLOCKED(status = rgm_buffer_pool_release(self->pool, number, 0, &err));
    if (status != RGM_OK) return rgm_raise(state_of((PyObject *)self), status, &err);
    Py_RETURN_NONE;
}

static PyObject *pool_evict_stale(pool_object *self, PyObject *unused) {
    size_t count;
    RGM_UNLOCKED(count = rgm_buffer_pool_evict_stale(self->pool));
    return PyLong_FromSize_t(count);
}

static PyObject *pool_clear(pool_object *self, PyObject *unused) {
    size_t count;
    RGM_UNLOCKED(count = rgm_buffer_pool_clear(self->pool));
    return PyLong_FromSize_t(count);
}

static PyObject *pool_close(pool_object *self, PyObject *unused) {
    self->closed = true;
    return pool_clear(self, NULL);
}

static PyObject *pool_counts(pool_object *self, PyObject *unused) {
    rgm_pool_counts counts = rgm_buffer_pool_counts(self->pool);
    PyObject *dict = PyDict_New();
#define ENTRY(name, unit, doc)                                                                               \
    if (dict) {                                                                                              \
        PyObject *value = PyLong_FromLongLong(counts.name);                                                  \
        if (!value || PyDict_SetItemString(dict, #name, value) < 0) Py_CLEAR(dict);                          \
        Py_XDECREF(value);                                                                                   \
    }
    RGM_POOL_COUNTS(ENTRY)
#undef ENTRY
    return dict;
}

static PyObject *live_buffer(const void *buffers, size_t i) {
    const rgm_pool_buffer *buffer = &((const rgm_pool_buffer *)buffers)[i];
    return Py_BuildValue("(Knn)", (unsigned long long)buffer->id, (Py_ssize_t)buffer->requested,
                         (Py_ssize_t)buffer->granted);
}

static PyObject *pool_live(pool_object *self, PyObject *unused) {
    size_t room = rgm_buffer_pool_live(self->pool, NULL, 0);
    rgm_pool_buffer *buffers = rgm_calloc(room + 1, sizeof *buffers);
    if (!buffers) return PyErr_NoMemory();
    size_t found = rgm_buffer_pool_live(self->pool, buffers, room), count = found < room ? found : room;
    PyObject *list = rgm_list_of(count, live_buffer, buffers);
    rgm_free(buffers);
    return list;
}

static PyObject *pool_set_clock(pool_object *self, PyObject *ns) {
    long long value = PyLong_AsLongLong(ns);
    if (PyErr_Occurred()) return NULL;
    atomic_store(&self->clock_ns, value);
    Py_RETURN_NONE;
}

static PyObject *pool_device(pool_object *self, void *unused) {
    if (self->device < 0) Py_RETURN_NONE;
    return PyLong_FromLong(self->device);
}

static PyObject *pool_closed(pool_object *self, void *unused) { return PyBool_FromLong(self->closed); }

static PyMethodDef pool_methods[] = {
    {"allocate", (PyCFunction)pool_allocate, METH_VARARGS,
     "allocate($self, size, stream=0, /)\n--\n\nA buffer of at least `size` bytes, its content undefined."},
    {"register", (PyCFunction)pool_register, METH_O,
     "register($self, size, /)\n--\n\nCounts an allocation that is made elsewhere; returns its id."},
    {"deregister", (PyCFunction)pool_deregister, METH_O,
     "deregister($self, id, /)\n--\n\nCounts the end of it."},
    {"evict_stale", (PyCFunction)pool_evict_stale, METH_NOARGS,
     "evict_stale($self, /)\n--\n\nGives back what has been idle too long; returns how many buffers."},
    {"clear", (PyCFunction)pool_clear, METH_NOARGS,
     "clear($self, /)\n--\n\nGives back all that is idle; returns how many buffers."},
    {"close", (PyCFunction)pool_close, METH_NOARGS,
     "close($self, /)\n--\n\nEnds the pool: buffers in use stay valid until they are freed."},
    {"counts", (PyCFunction)pool_counts, METH_NOARGS, "counts($self, /)\n--\n\nWhat the pool did so far."},
    {"live", (PyCFunction)pool_live, METH_NOARGS,
     "live($self, /)\n--\n\nBuffers in use, the oldest first: (id, requested, granted)."},
    {"set_clock", (PyCFunction)pool_set_clock, METH_O,
     "set_clock($self, ns, /)\n--\n\nSets the time from now on; negative: the system's clock again."},
    {NULL},
};
static PyGetSetDef pool_members[] = {
    {"device", (getter)pool_device, NULL, "Ordinal of the device, None for host memory.", NULL},
    {"closed", (getter)pool_closed, NULL, "Whether the pool was closed.", NULL},
    {NULL},
};
PyDoc_STRVAR(pool_doc, "BufferPool(memory, **options)\n--\n\nMemory that is used again: None for host "
                       "memory, a device's ordinal, \"none\" for counting only.");
static PyType_Slot pool_slots[] = {
    {Py_tp_doc, (void *)pool_doc}, {Py_tp_new, pool_new},        {Py_tp_dealloc, pool_dealloc},
    {Py_tp_methods, pool_methods}, {Py_tp_getset, pool_members}, {0, NULL},
};
static PyType_Spec pool_spec = {
    .name = "regimeter._core.BufferPool",
    .basicsize = sizeof(pool_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = pool_slots,
};

// --- a buffer ---------------------------------------------------------------------------------------------

static rgm_status give_back(buffer_object *self, unsigned long long stream, rgm_error *err) {
    rgm_status status;
    self->freed = true;
    Py_BEGIN_ALLOW_THREADS;
    status = rgm_buffer_pool_release(self->pool->pool, self->buffer.id, stream, err);
    if (self->pool->closed) (void)rgm_buffer_pool_clear(self->pool->pool);
    Py_END_ALLOW_THREADS;
    return status;
}

static void buffer_dealloc(buffer_object *self) {
    PyTypeObject *type = Py_TYPE(self);
    rgm_error err;
    if (!self->freed) (void)give_back(self, self->stream, &err);
    Py_XDECREF((PyObject *)self->pool);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyObject *buffer_free(buffer_object *self, PyObject *args) {
    unsigned long long stream = self->stream;
    rgm_error err = RGM_ERROR_NONE;
    if (!PyArg_ParseTuple(args, "|K:free", &stream)) return NULL;
    if (self->freed)
        return PyErr_Format(PyExc_ValueError, "this buffer of %zu bytes was freed before",
                            self->buffer.requested);
    if (self->views > 0)
        return PyErr_Format(PyExc_BufferError,
                            "%zd views of this buffer are in use (arrays, memoryviews); drop them before it "
                            "is freed",
                            self->views);
    rgm_status status = give_back(self, stream, &err);
    if (status != RGM_OK) return rgm_raise(state_of((PyObject *)self), status, &err);
    Py_RETURN_NONE;
}

static int buffer_view(buffer_object *self, Py_buffer *view, int flags) {
    if (self->freed || self->pool->device >= 0) {
        PyErr_SetString(PyExc_BufferError, self->freed ? "the buffer was freed"
                                                       : "device memory has no view on the host; use "
                                                         "__cuda_array_interface__");
        view->obj = NULL;
        return -1;
    }
    void *at = (void *)(uintptr_t)self->buffer.address;
    if (PyBuffer_FillInfo(view, (PyObject *)self, at, (Py_ssize_t)self->buffer.requested, 0, flags) < 0)
        return -1;
    self->views++;
    return 0;
}

static void buffer_release_view(buffer_object *self, Py_buffer *unused) { self->views--; }

static Py_ssize_t buffer_length(buffer_object *self) { return (Py_ssize_t)self->buffer.requested; }

static PyObject *buffer_interface(buffer_object *self, void *unused) {
    if (self->pool->device < 0) {
        PyErr_SetString(PyExc_AttributeError, "host memory has no __cuda_array_interface__");
        return NULL;
    }
    if (self->freed) {
        PyErr_SetString(PyExc_AttributeError, "the buffer was freed");
        return NULL;
    }
    return Py_BuildValue("{s(n)sss(KO)sisOsO}", "shape", (Py_ssize_t)self->buffer.requested, "typestr", "|u1",
                         "data", (unsigned long long)self->buffer.address, Py_False, "version", 3, "strides",
                         Py_None, "stream", Py_None);
}

static PyObject *buffer_pool_of(buffer_object *self, void *unused) {
    return Py_NewRef((PyObject *)self->pool);
}
static PyObject *buffer_device(buffer_object *self, void *unused) { return pool_device(self->pool, NULL); }
static PyObject *buffer_address(buffer_object *self, void *unused) {
    return PyLong_FromUnsignedLongLong(self->buffer.address);
}
static PyObject *buffer_id(buffer_object *self, void *unused) {
    return PyLong_FromUnsignedLongLong(self->buffer.id);
}
static PyObject *buffer_granted(buffer_object *self, void *unused) {
    return PyLong_FromSize_t(self->buffer.granted);
}
static PyObject *buffer_nbytes(buffer_object *self, void *unused) {
    return PyLong_FromSize_t(self->buffer.requested);
}
static PyObject *buffer_reused(buffer_object *self, void *unused) {
    return PyBool_FromLong(self->buffer.reused);
}
static PyObject *buffer_freed(buffer_object *self, void *unused) { return PyBool_FromLong(self->freed); }

static PyObject *buffer_enter(PyObject *self, PyObject *unused) { return Py_NewRef(self); }
// Views may outlive the block; the buffer then goes back when the last of them is gone.
static PyObject *buffer_exit(buffer_object *self, PyObject *unused) {
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status = RGM_OK;
    if (!self->freed && self->views == 0) status = give_back(self, self->stream, &err);
    if (status != RGM_OK) return rgm_raise(state_of((PyObject *)self), status, &err);
    Py_RETURN_NONE;
}

static PyMethodDef buffer_methods[] = {
    {"free", (PyCFunction)buffer_free, METH_VARARGS,
     "free($self, stream=0, /)\n--\n\nGives the buffer back to its pool; `stream` used it last."},
    {"__enter__", buffer_enter, METH_NOARGS, "__enter__($self, /)\n--\n\nThe buffer."},
    {"__exit__", (PyCFunction)buffer_exit, METH_VARARGS,
     "__exit__($self, /, *args)\n--\n\nFrees the buffer, at once or when its last view is gone."},
    {NULL},
};
static PyGetSetDef buffer_members[] = {
    {"pool", (getter)buffer_pool_of, NULL, "The pool that it belongs to.", NULL},
    {"device", (getter)buffer_device, NULL, "Ordinal of the device, None for host memory.", NULL},
    {"address", (getter)buffer_address, NULL, "Where it lies; a multiple of 64.", NULL},
    {"id", (getter)buffer_id, NULL, "A number that no other buffer of the process ever has.", NULL},
    {"nbytes", (getter)buffer_nbytes, NULL, "Bytes that were asked for.", NULL},
    {"granted", (getter)buffer_granted, NULL, "Bytes of its size class.", NULL},
    {"reused", (getter)buffer_reused, NULL, "Whether the pool had kept it.", NULL},
    {"freed", (getter)buffer_freed, NULL, "Whether it was given back.", NULL},
    {"__cuda_array_interface__", (getter)buffer_interface, NULL, "Device memory as an array of bytes.", NULL},
    {NULL},
};
PyDoc_STRVAR(buffer_doc, "Memory of a pool; host memory has the buffer protocol.");
static PyType_Slot buffer_slots[] = {
    {Py_tp_doc, (void *)buffer_doc},
    {Py_tp_dealloc, buffer_dealloc},
    {Py_tp_methods, buffer_methods},
    {Py_tp_getset, buffer_members},
    {Py_sq_length, buffer_length},
    {Py_bf_getbuffer, buffer_view},
    {Py_bf_releasebuffer, buffer_release_view},
    {0, NULL},
};
static PyType_Spec buffer_spec = {
    .name = "regimeter._core.PoolBuffer",
    .basicsize = sizeof(buffer_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = buffer_slots,
};

int rgm_buffer_pool_types_init(PyObject *module, rgm_module *state) {
    state->buffer_pool_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &pool_spec, NULL);
    if (!state->buffer_pool_type || PyModule_AddType(module, state->buffer_pool_type) < 0) return -1;
    state->pool_buffer_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &buffer_spec, NULL);
    return state->pool_buffer_type ? PyModule_AddType(module, state->pool_buffer_type) : -1;
}
