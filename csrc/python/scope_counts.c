// SPDX-License-Identifier: Apache-2.0
// Scopes whose instructions are counted. Their objects are called through a function of their own, so that
// the others pay nothing. What the profiler does between pause and resume is in nobody's count; what enters
// and leaves the pause is some forty instructions of the scope around.
#include "capture/instructions.h"
#include "python/profiler.h"

scope_object *rgm_scope_count_enter(scope_object *scope) {
    rgm_instructions_pause();
    scope_object *entered = rgm_scope_enter(scope);
    if (entered) {
        entered->count_recorder = rgm_recorder_cached;
        entered->count_begin = entered->frame ? rgm_instructions_read() : RGM_INSTRUCTIONS_UNKNOWN;
    }
    rgm_instructions_resume();
    return entered;
}

void rgm_scope_count_leave(scope_object *scope, bool failed) {
    rgm_instructions_pause();
    scope->profiler->count_now = rgm_instructions_read();
    rgm_scope_leave(scope, failed);
    rgm_instructions_resume();
}

void rgm_scope_count_end(scope_object *scope, rgm_recorder *recorder) {
    uint64_t begin = scope->count_begin, end = scope->profiler->count_now;
    bool known = begin != RGM_INSTRUCTIONS_UNKNOWN && end != RGM_INSTRUCTIONS_UNKNOWN && end >= begin;
    // Each thread has a count of its own.
    if (known && scope->count_recorder == recorder) rgm_recorder_count_record(recorder, end - begin);
    scope->count_begin = RGM_INSTRUCTIONS_UNKNOWN;
}

PyObject *rgm_profiler_count(profiler_object *self, PyObject *unused) {
    if (rgm_instructions_counting()) {
        rgm_scope_free_all(self); // those that are made from here on are counted
        self->special |= SPECIAL_COUNTS;
    }
    return PyBool_FromLong(rgm_instructions_counting());
}

// --- without a profiler -----------------------------------------------------------------------------------

PyDoc_STRVAR(open_doc,
             "count_open($module, log, /)\n--\n\n"
             "Begins counting instructions; log: the file that Callgrind writes its messages to.\n\n"
             "UnavailableError where the program does not run under Callgrind.");

static PyObject *count_open(PyObject *module, PyObject *log) {
    rgm_module *state = rgm_module_of(module);
    PyObject *path = NULL;
    if (!PyUnicode_FSConverter(log, &path)) return NULL;
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status = rgm_instructions_open(PyBytes_AS_STRING(path), &err);
    Py_DECREF(path);
    if (status != RGM_OK) return rgm_raise(state, status, &err);
    Py_RETURN_NONE;
}

static uint64_t read_paused(void) {
    rgm_instructions_pause();
    uint64_t count = rgm_instructions_read();
    rgm_instructions_resume();
    return count;
}

PyDoc_STRVAR(calls_doc, "count_calls($module, function, calls, /)\n--\n\n"
                        "Calls a function and returns (instructions of this thread, last result).\n\n"
                        "The instructions are those of all calls together, None where nothing counts them.");

static PyObject *count_calls(PyObject *module, PyObject *args) {
    PyObject *function, *result = Py_NewRef(Py_None);
    Py_ssize_t calls;
    if (!PyArg_ParseTuple(args, "On", &function, &calls)) Py_CLEAR(result);
    if (!result) return NULL;
    uint64_t begin = read_paused();
    for (Py_ssize_t i = 0; i < calls && result; i++) Py_SETREF(result, PyObject_CallNoArgs(function));
    uint64_t end = read_paused();
    if (!result) return NULL;
    bool known = begin != RGM_INSTRUCTIONS_UNKNOWN && end != RGM_INSTRUCTIONS_UNKNOWN && end >= begin;
    return known ? Py_BuildValue("KN", (unsigned long long)(end - begin), result)
                 : Py_BuildValue("ON", Py_None, result);
}

static PyMethodDef methods[] = {
    {"count_open", count_open, METH_O, open_doc},
    {"count_calls", count_calls, METH_VARARGS, calls_doc},
    {NULL},
};

int rgm_counting_init(PyObject *module) { return PyModule_AddFunctions(module, methods); }
