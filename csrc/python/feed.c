// SPDX-License-Identifier: Apache-2.0
// Feed: chunks of bytes on their way from a Python thread, which reads or inflates, to the importer, which
// parses without the GIL. A bounded queue with two ends and one lock.
#include <string.h>

#include "base/memory.h"
#include "base/thread.h"
#include "python/state.h"

typedef struct {
    uint8_t *data;
    size_t length;
} chunk;

typedef struct {
    PyObject_HEAD
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    chunk *chunks; // a ring of `depth`
    size_t depth, first, count;
    size_t consumed; // of the first chunk
    bool ended;      // nothing more will be put
    bool stopped;    // nobody reads any more
    char *failure;   // what went wrong at the writing end, NULL for nothing
} feed_object;

static PyObject *feed_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"depth", NULL};
    Py_ssize_t depth = 4;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|n", names, &depth)) return NULL;
    if (depth < 1 || depth > 1024)
        return PyErr_Format(PyExc_ValueError, "depth must be 1 to 1024, got %zd", depth);
    feed_object *self = (feed_object *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    pthread_mutex_init(&self->mutex, NULL);
    rgm_cond_init(&self->changed);
    self->depth = (size_t)depth;
    self->chunks = rgm_calloc(self->depth, sizeof *self->chunks);
    if (self->chunks) return (PyObject *)self;
    Py_DECREF(self);
    return PyErr_NoMemory();
}

static void feed_dealloc(feed_object *self) {
    PyTypeObject *type = Py_TYPE(self);
    for (size_t i = 0; self->chunks && i < self->count; i++)
        rgm_free(self->chunks[(self->first + i) % self->depth].data);
    rgm_free(self->chunks);
    rgm_free(self->failure);
    pthread_mutex_destroy(&self->mutex);
    pthread_cond_destroy(&self->changed);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

// Waits for room and appends; false when nobody reads any more. Waits in turns, so that a signal is seen.
static PyObject *feed_put(feed_object *self, PyObject *buffer) {
    Py_buffer view;
    if (PyObject_GetBuffer(buffer, &view, PyBUF_C_CONTIGUOUS) < 0) return NULL;
    if (view.len == 0) {
        PyBuffer_Release(&view);
        Py_RETURN_TRUE;
    }
    uint8_t *copy = rgm_malloc((size_t)view.len);
    if (copy) memcpy(copy, view.buf, (size_t)view.len);
    chunk item = {copy, (size_t)view.len};
    PyBuffer_Release(&view);
    if (!copy) return PyErr_NoMemory();
    bool taken = false, stopped = false;
    while (!taken && !stopped) {
        Py_BEGIN_ALLOW_THREADS;
        pthread_mutex_lock(&self->mutex);
        if (self->count == self->depth && !self->stopped)
            (void)rgm_cond_wait(&self->changed, &self->mutex, INT64_C(100000000));
        stopped = self->stopped || self->ended;
        taken = !stopped && self->count < self->depth;
        if (taken) {
            self->chunks[(self->first + self->count++) % self->depth] = item;
            pthread_cond_broadcast(&self->changed);
        }
        pthread_mutex_unlock(&self->mutex);
        Py_END_ALLOW_THREADS;
        if (!taken && PyErr_CheckSignals() < 0) {
            rgm_free(copy);
            return NULL;
        }
    }
    if (!taken) rgm_free(copy);
    return PyBool_FromLong(taken);
}

static PyObject *feed_end(feed_object *self, PyObject *failure) {
    const char *text = NULL;
    Py_ssize_t length = 0;
    if (failure != Py_None && !(text = PyUnicode_AsUTF8AndSize(failure, &length))) return NULL;
    char *copy = text ? rgm_strdup(text, (size_t)length) : NULL;
    if (text && !copy) return PyErr_NoMemory();
    pthread_mutex_lock(&self->mutex);
    self->ended = true;
    if (!self->failure) {
        self->failure = copy;
        copy = NULL;
    }
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
    rgm_free(copy);
    Py_RETURN_NONE;
}

// The reading end: an rgm_source_read.
rgm_status rgm_feed_read(void *context, uint8_t *buffer, size_t room, size_t *filled, rgm_error *err) {
    feed_object *self = context;
    rgm_status status = RGM_OK;
    uint8_t *empty = NULL;
    *filled = 0;
    pthread_mutex_lock(&self->mutex);
    while (self->count == 0 && !self->ended)
        (void)rgm_cond_wait(&self->changed, &self->mutex, INT64_C(1000000000));
    if (self->count == 0) {
        if (self->failure) status = rgm_error_set(err, RGM_FORMAT, "%s", self->failure);
    } else {
        chunk *item = &self->chunks[self->first];
        size_t left = item->length - self->consumed;
        *filled = left < room ? left : room;
        memcpy(buffer, item->data + self->consumed, *filled);
        self->consumed += *filled;
        if (self->consumed == item->length) {
            empty = item->data;
            *item = (chunk){0};
            self->first = (self->first + 1) % self->depth;
            self->count--;
            self->consumed = 0;
            pthread_cond_broadcast(&self->changed);
        }
    }
    pthread_mutex_unlock(&self->mutex);
    rgm_free(empty);
    return status;
}

void rgm_feed_stop(PyObject *feed) {
    feed_object *self = (feed_object *)feed;
    pthread_mutex_lock(&self->mutex);
    self->stopped = true;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
}

static PyObject *feed_stop(feed_object *self, PyObject *unused) {
    rgm_feed_stop((PyObject *)self);
    Py_RETURN_NONE;
}

static PyMethodDef feed_methods[] = {
    {"put", (PyCFunction)feed_put, METH_O,
     "put($self, buffer, /)\n--\n\nAppends a chunk, waiting for room; False when nobody reads any more."},
    {"end", (PyCFunction)feed_end, METH_O,
     "end($self, failure, /)\n--\n\nSays that nothing follows; failure is None or what went wrong."},
    {"stop", (PyCFunction)feed_stop, METH_NOARGS, "stop($self)\n--\n\nSays that nobody reads any more."},
    {NULL},
};
PyDoc_STRVAR(feed_doc,
             "Feed(depth=4)\n--\n\nBytes on their way to the importer, at most `depth` chunks at once.");
static PyType_Slot feed_slots[] = {
    {Py_tp_doc, (void *)feed_doc},
    {Py_tp_new, feed_new},
    {Py_tp_dealloc, feed_dealloc},
    {Py_tp_methods, feed_methods},
    {0, NULL},
};
static PyType_Spec feed_spec = {
    .name = "regimeter._core.Feed",
    .basicsize = sizeof(feed_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = feed_slots,
};

int rgm_feed_type_init(PyObject *module, rgm_module *state) {
    state->feed_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &feed_spec, NULL);
    return state->feed_type ? PyModule_AddType(module, state->feed_type) : -1;
}
