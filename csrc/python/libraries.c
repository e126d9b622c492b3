// SPDX-License-Identifier: Apache-2.0
// Where vendor libraries are looked for beside the loader's own path.
#include "cuda/library/library.h"
#include "python/state.h"

static PyObject *core_library_search(PyObject *module, PyObject *folders) {
    rgm_error err = RGM_ERROR_NONE;
    const char *text = PyUnicode_AsUTF8(folders);
    if (!text) return NULL;
    rgm_status status = rgm_library_search(text, &err);
    if (status != RGM_OK) return rgm_raise(rgm_module_of(module), status, &err);
    Py_RETURN_NONE;
}

static PyMethodDef library_methods[] = {
    {"library_search", core_library_search, METH_O,
     "library_search($module, folders, /)\n--\n\nFolders that may hold pip's wheels of libraries, : between "
     "them."},
    {NULL},
};

int rgm_libraries_init(PyObject *module) { return PyModule_AddFunctions(module, library_methods); }
