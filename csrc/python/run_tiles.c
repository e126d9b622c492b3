// SPDX-License-Identifier: Apache-2.0
// Parts of the timeline of a Run: tiles, and what runs in a range.
#include "base/memory.h"
#include "python/run_object.h"

static rgm_status make_tiles(run_object *self, int python, rgm_error *err) {
    rgm_status status = rgm_tiles_init(&self->tiles[python], &self->view, python, err);
    if (status != RGM_OK) rgm_tiles_release(&self->tiles[python]);
    return status;
}

static rgm_status make_plain(void *owner, rgm_error *err) { return make_tiles(owner, 0, err); }

static rgm_status make_with_python(void *owner, rgm_error *err) { return make_tiles(owner, 1, err); }

static const rgm_tiles *tiles_of(run_object *self, rgm_module *state, int python) {
    if (!rgm_run_view(self, state)) return NULL;
    rgm_making make = python ? make_with_python : make_plain;
    return rgm_run_make(self, state, &self->tiled[python], make) < 0 ? NULL : &self->tiles[python];
}

// Times of spans are bounded, and so are those of a question: no difference overflows.
static int64_t bounded(long long time) {
    if (time > INT64_MAX / 2) return INT64_MAX / 2;
    return time < -(INT64_MAX / 2) ? -(INT64_MAX / 2) : time;
}

static bool is_span(const rgm_tiles *tiles, long long span) {
    if (span >= 0 && (unsigned long long)span < tiles->view->n_spans) return true;
    PyErr_Format(PyExc_ValueError, "span: a row of %zu spans, not %lld", tiles->view->n_spans, span);
    return false;
}

// The rows of a tile, or without one those of a span.
static PyObject *drawn(run_object *self, rgm_module *state, const rgm_tiles *tiles, const rgm_tile *tile,
                       uint32_t span) {
    rgm_timeline_blocks *result = rgm_calloc(1, sizeof *result);
    if (!result) return PyErr_NoMemory();
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status;
    RGM_UNLOCKED(status = tile ? rgm_tiles_draw(tiles, tile, result, &err)
                               : rgm_tiles_span(tiles, span, result, &err));
    return rgm_table_result(state, (PyObject *)self, &rgm_timeline_blocks_desc, result, status, &err);
}

PyObject *rgm_method_tile(run_object *self, PyObject *args) {
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    long long from, to, pixel;
    int python;
    Py_ssize_t low, high;
    if (!state || !PyArg_ParseTuple(args, "pLLLnn", &python, &from, &to, &pixel, &low, &high)) return NULL;
    if (pixel < 1) return PyErr_Format(PyExc_ValueError, "pixel_ns: at least 1 ns, not %lld", pixel);
    const rgm_tiles *tiles = tiles_of(self, state, python);
    if (!tiles) return NULL;
    Py_ssize_t lanes = (Py_ssize_t)tiles->view->n_lanes;
    if (low < 0 || low > lanes || high < low)
        return PyErr_Format(PyExc_ValueError, "lanes: from 0 to %zd, not %zd to %zd", lanes, low, high);
    rgm_tile tile = {bounded(from), bounded(to), pixel, (uint32_t)low,
                     (uint32_t)(high < lanes ? high : lanes)};
    return drawn(self, state, tiles, &tile, 0);
}

PyObject *rgm_method_tile_span(run_object *self, PyObject *args) {
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    int python;
    long long span;
    if (!state || !PyArg_ParseTuple(args, "pL", &python, &span)) return NULL;
    const rgm_tiles *tiles = tiles_of(self, state, python);
    if (!tiles || !is_span(tiles, span)) return NULL;
    return drawn(self, state, tiles, NULL, (uint32_t)span);
}

PyObject *rgm_method_find(run_object *self, PyObject *args) {
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    int python, direction;
    const char *passes;
    Py_ssize_t count;
    long long from;
    if (!state || !PyArg_ParseTuple(args, "py#Li", &python, &passes, &count, &from, &direction)) return NULL;
    const rgm_tiles *tiles = tiles_of(self, state, python);
    if (!tiles || (from != -1 && !is_span(tiles, from))) return NULL;
    if ((size_t)count != tiles->view->n_strings)
        return PyErr_Format(PyExc_ValueError, "passes: a byte for each of %zu names, not %zd",
                            tiles->view->n_strings, count);
    rgm_tiles_found found;
    RGM_UNLOCKED(found = rgm_tiles_find(tiles, (const uint8_t *)passes, from, direction));
    return Py_BuildValue("LLL", (long long)found.spans, (long long)found.duration_ns, (long long)found.next);
}

PyObject *rgm_method_range_times(run_object *self, PyObject *args) {
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    long long from, to;
    int python;
    const char *lanes;
    Py_ssize_t count;
    if (!state || !PyArg_ParseTuple(args, "pLLy#", &python, &from, &to, &lanes, &count)) return NULL;
    const rgm_tiles *tiles = tiles_of(self, state, python);
    if (!tiles) return NULL;
    if ((size_t)count != tiles->view->n_lanes)
        return PyErr_Format(PyExc_ValueError, "lanes: a byte for each of %zu lanes, not %zd",
                            tiles->view->n_lanes, count);
    rgm_range_times *result = rgm_calloc(1, sizeof *result);
    if (!result) return PyErr_NoMemory();
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status;
    RGM_UNLOCKED(
        status = rgm_tiles_range(tiles, bounded(from), bounded(to), (const uint8_t *)lanes, result, &err));
    return rgm_table_result(state, (PyObject *)self, &rgm_range_times_desc, result, status, &err);
}
