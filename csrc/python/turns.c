// SPDX-License-Identifier: Apache-2.0
// Tables of turns for who starts two programs, and joining for a program that was started.
#include "capture/turns.h"

#include "python/state.h"

PyDoc_STRVAR(new_doc, "turns_new($module, first, turn_ns, limit_ns, /)\n--\n\n"
                      "Make a table of turns and return its descriptor, which is closed on exec.");

static PyObject *turns_new(PyObject *module, PyObject *args) {
    unsigned int first;
    long long turn_ns, limit_ns;
    int fd;
    rgm_error err = RGM_ERROR_NONE;
    if (!PyArg_ParseTuple(args, "ILL", &first, &turn_ns, &limit_ns)) return NULL;
    rgm_status status = rgm_turns_new(first, turn_ns, limit_ns, &fd, &err);
    return status == RGM_OK ? PyLong_FromLong(fd) : rgm_raise(rgm_module_of(module), status, &err);
}

static PyObject *with_side(PyObject *module, PyObject *args,
                           rgm_status (*call)(int fd, uint32_t side, rgm_error *err)) {
    unsigned int side;
    int fd;
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status;
    if (!PyArg_ParseTuple(args, "iI", &fd, &side)) return NULL;
    RGM_UNLOCKED(status = call(fd, side, &err));
    if (status != RGM_OK) return rgm_raise(rgm_module_of(module), status, &err);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(join_doc, "turns_join($module, fd, side, /)\n--\n\n"
                       "Take turns with the other program from here on; returns when the first has come.");

static PyObject *turns_join(PyObject *module, PyObject *args) {
    return with_side(module, args, rgm_turns_join);
}

PyDoc_STRVAR(leave_doc, "turns_leave($module, fd, side, /)\n--\n\n"
                        "Say that a program has ended: the other waits for it no longer.");

static PyObject *turns_leave(PyObject *module, PyObject *args) {
    return with_side(module, args, rgm_turns_leave);
}

PyDoc_STRVAR(read_doc, "turns_read($module, fd, /)\n--\n\n"
                       "Return what a table tells: turns, joined (by side), overlapped, device, threads.");

static PyObject *turns_read(PyObject *module, PyObject *arg) {
    int fd = (int)PyLong_AsLong(arg);
    rgm_turns_facts facts;
    rgm_error err = RGM_ERROR_NONE;
    if (fd == -1 && PyErr_Occurred()) return NULL;
    rgm_status status = rgm_turns_read(fd, &facts, &err);
    if (status != RGM_OK) return rgm_raise(rgm_module_of(module), status, &err);
    return Py_BuildValue("{s:I,s:(OO),s:O,s:O,s:O}", "turns", facts.turns, "joined",
                         facts.joined[0] ? Py_True : Py_False, facts.joined[1] ? Py_True : Py_False,
                         "overlapped", facts.overlapped ? Py_True : Py_False, "device",
                         facts.device ? Py_True : Py_False, "threads", facts.threads ? Py_True : Py_False);
}

static PyMethodDef functions[] = {
    {"turns_new", turns_new, METH_VARARGS, new_doc},
    {"turns_join", turns_join, METH_VARARGS, join_doc},
    {"turns_leave", turns_leave, METH_VARARGS, leave_doc},
    {"turns_read", turns_read, METH_O, read_doc},
    {NULL},
};

int rgm_turns_init(PyObject *module) { return PyModule_AddFunctions(module, functions); }
