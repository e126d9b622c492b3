// SPDX-License-Identifier: Apache-2.0
// Collectives that the framework tells of, as rows of a recording.
#include "capture/device.h"
#include "capture/session.h"
#include "python/profiler.h"

static bool read_row(PyObject *item, const rgm_device_sink *sink, rgm_collective_row *row) {
    const char *texts[5];
    Py_ssize_t lengths[5];
    long long numbers[5];
    int size;
    if (!PyArg_ParseTuple(item, "LLLLLs#s#s#s#s#i", &numbers[0], &numbers[1], &numbers[2], &numbers[3],
                          &numbers[4], &texts[0], &lengths[0], &texts[1], &lengths[1], &texts[2], &lengths[2],
                          &texts[3], &lengths[3], &texts[4], &lengths[4], &size))
        return false;
    uint32_t ids[5];
    for (int i = 0; i < 5; i++) ids[i] = sink->intern(sink->arg, texts[i], (size_t)lengths[i]);
    *row = (rgm_collective_row){.time_ns = numbers[0],
                                .thread = numbers[1],
                                .in_elements = numbers[2],
                                .out_elements = numbers[3],
                                .sequence = numbers[4],
                                .collective = ids[0],
                                .element_type = ids[1],
                                .group_name = ids[2],
                                .group_description = ids[3],
                                .group_ranks = ids[4],
                                .group_size = size};
    return true;
}

PyObject *rgm_profiler_collectives(profiler_object *self, PyObject *rows) {
    if (!self->session) {
        PyErr_SetString(PyExc_RuntimeError, "the profiler has not been initialised");
        return NULL;
    }
    if (!PyList_Check(rows)) {
        PyErr_SetString(PyExc_TypeError, "collectives are a list of tuples");
        return NULL;
    }
    rgm_device_sink sink = rgm_session_sink(self->session);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(rows); i++) {
        rgm_collective_row row;
        if (!read_row(PyList_GET_ITEM(rows, i), &sink, &row)) return NULL;
        rgm_session_rows(self->session, RGM_LOG_COLLECTIVES, &row, 1);
    }
    Py_RETURN_NONE;
}
