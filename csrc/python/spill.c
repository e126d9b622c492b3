// SPDX-License-Identifier: Apache-2.0
// Memory that lies in a file once there is more of it than a process is to have.
#include "base/spill.h"

#include "python/state.h"

static PyObject *core_spill_begin(PyObject *module, PyObject *args) {
    PyObject *folder;
    Py_ssize_t budget;
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status;
    if (!PyArg_ParseTuple(args, "O&n", PyUnicode_FSConverter, &folder, &budget)) return NULL;
    if (budget < 0)
        status = rgm_error_set(&err, RGM_INVALID, "a budget of %zd bytes is below 0", budget);
    else
        status = rgm_spill_begin(PyBytes_AS_STRING(folder), (size_t)budget, &err);
    Py_DECREF(folder);
    if (status != RGM_OK) return rgm_raise(rgm_module_of(module), status, &err);
    Py_RETURN_NONE;
}

static PyObject *core_spill_use(PyObject *module, PyObject *unused) {
    rgm_spill_use use = rgm_spill_now();
    return Py_BuildValue("{sOsnsKsKsK}", "on", use.on ? Py_True : Py_False, "budget", (Py_ssize_t)use.budget,
                         "in_memory", (unsigned long long)use.in_memory, "in_file",
                         (unsigned long long)use.in_file, "most_in_file",
                         (unsigned long long)use.most_in_file);
}

static PyMethodDef spill_methods[] = {
    {"spill_begin", core_spill_begin, METH_VARARGS,
     "spill_begin($module, folder, budget, /)\n--\n\nColumns and the like beyond so many bytes lie in a file "
     "from now on."},
    {"spill_use", core_spill_use, METH_NOARGS,
     "spill_use($module)\n--\n\nWhether memory is spilled, and bytes: the budget, of blocks in memory and in "
     "the file, most in the file."},
    {NULL},
};

int rgm_spill_init(PyObject *module) { return PyModule_AddFunctions(module, spill_methods); }
