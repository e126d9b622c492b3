// SPDX-License-Identifier: Apache-2.0
// Kernels and workloads: what there is, and compiling.
#include <string.h>

#include "python/rows.h"
#include "workloads/kernels.h"
#include "workloads/workload.h"

// --- descriptions -----------------------------------------------------------------------------------------

static PyObject *list_of_entries(const char *file) {
    static const rgm_member members[] = {
        RGM_MEMBER_AS(rgm_calibration_kernel, entry, "name"), RGM_MEMBER(rgm_calibration_kernel, work),
        RGM_MEMBER(rgm_calibration_kernel, unit), RGM_MEMBER(rgm_calibration_kernel, doc)};
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < rgm_calibration_kernels_count; i++)
        if (strcmp(rgm_calibration_kernels[i].file, file) == 0 &&
            rgm_list_add(list, RGM_DICT_OF(&rgm_calibration_kernels[i], members)) < 0)
            Py_CLEAR(list);
    return list;
}

static PyObject *core_kernels(PyObject *module, PyObject *unused) {
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && i < rgm_kernel_files_count; i++) {
        const rgm_kernel_file *file = &rgm_kernel_files[i];
        if (rgm_dict_put(dict, file->name,
                         Py_BuildValue("{sisssN}", "lowest_capability", file->lowest, "doc", file->doc,
                                       "calibration", list_of_entries(file->name))) < 0)
            Py_CLEAR(dict);
    }
    return dict;
}

static PyObject *describe_parameters(const rgm_workload *workload) {
    static const rgm_member members[] = {
        RGM_MEMBER(rgm_workload_parameter, value), RGM_MEMBER(rgm_workload_parameter, least),
        RGM_MEMBER(rgm_workload_parameter, most), RGM_MEMBER(rgm_workload_parameter, whole),
        RGM_MEMBER(rgm_workload_parameter, doc)};
    size_t count = 0;
    while (workload->parameters[count].name) count++;
    return RGM_ROWS_DICT(workload->parameters, count, members);
}

static PyObject *describe_buffers(const rgm_workload *workload) {
    PyObject *dict = PyDict_New();
    for (const rgm_workload_buffer *buffer = workload->buffers; dict && buffer->name; buffer++)
        if (rgm_dict_put(dict, buffer->name,
                         Py_BuildValue("{ssss}", "role", rgm_buffer_role_text(buffer->role), "dtype",
                                       rgm_element_text(buffer->element))) < 0)
            Py_CLEAR(dict);
    return dict;
}

static PyObject *describe_workload(const rgm_workload *workload) {
    return Py_BuildValue("{sssssNsNsO}", "doc", workload->doc, "unit", workload->unit, "parameters",
                         describe_parameters(workload), "buffers", describe_buffers(workload), "any_block",
                         workload->per_thread ? Py_True : Py_False);
}

static PyObject *core_workloads(PyObject *module, PyObject *unused) {
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && i < rgm_workloads_count; i++)
        if (rgm_dict_put(dict, rgm_workloads[i]->name, describe_workload(rgm_workloads[i])) < 0)
            Py_CLEAR(dict);
    return dict;
}

// --- compiling --------------------------------------------------------------------------------------------

static PyObject *core_compile_kernel(PyObject *module, PyObject *args, PyObject *keywords) {
    static char *names[] = {"file", "arch", "cached", NULL};
    const char *file, *arch;
    int cached = 1;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "ss|p:compile_kernel", names, &file, &arch, &cached))
        return NULL;
    rgm_bytes image = {0};
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status;
    Py_BEGIN_ALLOW_THREADS;
    rgm_cubin_cache cache;
    if (cached) rgm_cubin_cache_open(&cache, NULL, RGM_CUBIN_CACHE_BYTES);
    status = rgm_kernel_compile(file, arch, cached ? &cache : NULL, &image, &err);
    Py_END_ALLOW_THREADS;
    PyObject *result = status == RGM_OK
                           ? PyBytes_FromStringAndSize((char *)image.data, (Py_ssize_t)image.length)
                           : rgm_raise(rgm_module_of(module), status, &err);
    rgm_bytes_release(&image);
    return result;
}

static PyMethodDef methods[] = {
    {"kernels", core_kernels, METH_NOARGS,
     "kernels($module)\n--\n\nFiles of device kernels and what they need."},
    {"workloads", core_workloads, METH_NOARGS,
     "workloads($module)\n--\n\nThe nine workloads: parameters with their documented values, and buffers."},
    {"compile_kernel", (PyCFunction)(void (*)(void))core_compile_kernel, METH_VARARGS | METH_KEYWORDS,
     "compile_kernel($module, file, arch, cached=True)\n--\n\nMachine code (sm_90) or PTX (compute_90) of a "
     "file of kernels."},
    {NULL},
};

int rgm_kernels_init(PyObject *module) { return PyModule_AddFunctions(module, methods); }
