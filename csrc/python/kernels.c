// SPDX-License-Identifier: Apache-2.0
// Kernels and workloads: what there is, compiling, and running one.
#include <string.h>

#include "base/memory.h"
#include "python/state.h"
#include "workloads/gpu_run.h"

// --- descriptions -----------------------------------------------------------------------------------------

static PyObject *list_of_entries(const char *file) {
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < rgm_calibration_kernels_count; i++) {
        const rgm_calibration_kernel *kernel = &rgm_calibration_kernels[i];
        if (strcmp(kernel->file, file) != 0) continue;
        PyObject *row = Py_BuildValue("{sssissss}", "name", kernel->entry, "work", kernel->work, "unit",
                                      kernel->unit, "doc", kernel->doc);
        if (!row || PyList_Append(list, row) < 0) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *core_kernels(PyObject *module, PyObject *unused) {
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && i < rgm_kernel_files_count; i++) {
        const rgm_kernel_file *file = &rgm_kernel_files[i];
        PyObject *entries = list_of_entries(file->name);
        PyObject *row = entries ? Py_BuildValue("{sisssN}", "lowest_capability", file->lowest, "doc",
                                                file->doc, "calibration", entries)
                                : NULL;
        if (!row || PyDict_SetItemString(dict, file->name, row) < 0) Py_CLEAR(dict);
        Py_XDECREF(row);
    }
    return dict;
}

static PyObject *describe_parameters(const rgm_workload *workload) {
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && workload->parameters[i].name; i++) {
        const rgm_workload_parameter *p = &workload->parameters[i];
        PyObject *row = Py_BuildValue("{sdsdsdsOss}", "value", p->value, "least", p->least, "most", p->most,
                                      "whole", p->whole ? Py_True : Py_False, "doc", p->doc);
        if (!row || PyDict_SetItemString(dict, p->name, row) < 0) Py_CLEAR(dict);
        Py_XDECREF(row);
    }
    return dict;
}

static PyObject *describe_buffers(const rgm_workload *workload) {
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && workload->buffers[i].name; i++) {
        const rgm_workload_buffer *buffer = &workload->buffers[i];
        PyObject *row = Py_BuildValue("{ssss}", "role", rgm_buffer_role_text(buffer->role), "dtype",
                                      rgm_element_text(buffer->element));
        if (!row || PyDict_SetItemString(dict, buffer->name, row) < 0) Py_CLEAR(dict);
        Py_XDECREF(row);
    }
    return dict;
}

static PyObject *describe_workload(const rgm_workload *workload) {
    PyObject *parameters = describe_parameters(workload), *buffers = describe_buffers(workload);
    if (parameters && buffers)
        return Py_BuildValue("{sssssNsN}", "doc", workload->doc, "unit", workload->unit, "parameters",
                             parameters, "buffers", buffers);
    Py_XDECREF(parameters);
    Py_XDECREF(buffers);
    return NULL;
}

static PyObject *core_workloads(PyObject *module, PyObject *unused) {
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && i < rgm_workloads_count; i++) {
        PyObject *row = describe_workload(rgm_workloads[i]);
        if (!row || PyDict_SetItemString(dict, rgm_workloads[i]->name, row) < 0) Py_CLEAR(dict);
        Py_XDECREF(row);
    }
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
    rgm_error err = {0};
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

// --- running ----------------------------------------------------------------------------------------------

typedef struct {
    const rgm_workload *workload;
    double values[RGM_WORKLOAD_PARAMETERS];
    rgm_workload_shape shape;
    Py_buffer views[RGM_WORKLOAD_BUFFERS];
    const void *inputs[RGM_WORKLOAD_BUFFERS];
    PyObject *made[RGM_WORKLOAD_BUFFERS]; // bytearrays
    void *outputs[RGM_WORKLOAD_BUFFERS];
} workload_call;

// Every key of the dict is among the names that `count` looked up.
static int only_known(PyObject *given, Py_ssize_t count, const char *workload, const char *what) {
    if (!given || PyDict_Size(given) == count) return 0;
    PyErr_Format(PyExc_ValueError, "%s has no %s of one of these names: %R", workload, what, given);
    return -1;
}

static int take_parameters(workload_call *call, PyObject *given) {
    Py_ssize_t known = 0;
    for (size_t i = 0; call->workload->parameters[i].name; i++) {
        call->values[i] = call->workload->parameters[i].value;
        PyObject *value = given ? PyDict_GetItemString(given, call->workload->parameters[i].name) : NULL;
        if (!value) continue;
        known++;
        call->values[i] = PyFloat_AsDouble(value);
        if (PyErr_Occurred()) return -1;
    }
    return only_known(given, known, call->workload->name, "parameter");
}

static int take_input(workload_call *call, size_t i, PyObject *value) {
    const rgm_workload_buffer *buffer = &call->workload->buffers[i];
    if (PyObject_GetBuffer(value, &call->views[i], PyBUF_C_CONTIGUOUS) < 0) return -1;
    if ((size_t)call->views[i].len != 4 * call->shape.counts[i]) {
        PyErr_Format(PyExc_ValueError, "%s of %s holds %zu values of %s", buffer->name, call->workload->name,
                     call->shape.counts[i], rgm_element_text(buffer->element));
        return -1;
    }
    call->inputs[i] = call->views[i].buf;
    return 0;
}

static int take_inputs(workload_call *call, PyObject *given) {
    Py_ssize_t known = 0;
    for (size_t i = 0; given && call->workload->buffers[i].name; i++) {
        if (call->workload->buffers[i].role != RGM_BUFFER_INPUT) continue;
        PyObject *value = PyDict_GetItemString(given, call->workload->buffers[i].name);
        if (!value) continue;
        known++;
        if (take_input(call, i, value) < 0) return -1;
    }
    return only_known(given, known, call->workload->name, "input");
}

static int make_outputs(workload_call *call) {
    for (size_t i = 0; call->workload->buffers[i].name; i++) {
        if (call->workload->buffers[i].role != RGM_BUFFER_OUTPUT) continue;
        call->made[i] = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(4 * call->shape.counts[i]));
        if (!call->made[i]) return -1;
        call->outputs[i] = PyByteArray_AS_STRING(call->made[i]);
    }
    return 0;
}

static int prepare(rgm_module *state, workload_call *call, const char *name, PyObject *parameters,
                   PyObject *inputs) {
    rgm_error err = {0};
    call->workload = rgm_workload_find(name);
    if (!call->workload) {
        PyErr_Format(PyExc_ValueError, "there is no workload called %s", name);
        return -1;
    }
    if (take_parameters(call, parameters) < 0) return -1;
    rgm_status status = rgm_workload_prepare(call->workload, call->values, call->values, &call->shape, &err);
    if (status != RGM_OK) {
        (void)rgm_raise(state, status, &err);
        return -1;
    }
    return take_inputs(call, inputs) < 0 ? -1 : make_outputs(call);
}

static void release(workload_call *call) {
    for (size_t i = 0; i < RGM_WORKLOAD_BUFFERS; i++) {
        if (call->views[i].obj) PyBuffer_Release(&call->views[i]);
        Py_XDECREF(call->made[i]);
    }
}

static PyObject *outputs_of(const workload_call *call) {
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && call->workload->buffers[i].name; i++)
        if (call->made[i] && PyDict_SetItemString(dict, call->workload->buffers[i].name, call->made[i]) < 0)
            Py_CLEAR(dict);
    return dict;
}

static PyObject *list_of_times(const int64_t *times_ns, unsigned count) {
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (unsigned i = 0; list && i < count; i++) {
        PyObject *value = PyLong_FromLongLong(times_ns[i]);
        if (!value) Py_CLEAR(list);
        if (list) PyList_SET_ITEM(list, (Py_ssize_t)i, value);
    }
    return list;
}

static PyObject *run_reference(rgm_module *state, workload_call *call) {
    rgm_error err = {0};
    rgm_workload_shape shape;
    rgm_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = rgm_reference_run(call->workload, call->values, call->inputs, call->outputs, &shape, &err);
    Py_END_ALLOW_THREADS;
    if (status != RGM_OK) return rgm_raise(state, status, &err);
    PyObject *outputs = outputs_of(call);
    if (!outputs) return NULL;
    return Py_BuildValue("{sNsdsd}", "outputs", outputs, "operations", shape.operations, "bytes",
                         shape.bytes);
}

static PyObject *run_on_device(rgm_module *state, workload_call *call, int device, unsigned warmup,
                               unsigned iterations, int64_t *times_ns) {
    rgm_error err = {0};
    rgm_gpu_result result;
    rgm_status status;
    Py_BEGIN_ALLOW_THREADS;
    rgm_cubin_cache cache;
    rgm_cubin_cache_open(&cache, NULL, RGM_CUBIN_CACHE_BYTES);
    rgm_gpu_request request = {.device = device,
                               .warmup = warmup,
                               .iterations = iterations,
                               .parameters = call->values,
                               .inputs = call->inputs,
                               .outputs = call->outputs,
                               .times_ns = times_ns,
                               .cache = &cache};
    status = rgm_gpu_run(call->workload, &request, &result, &err);
    Py_END_ALLOW_THREADS;
    if (status != RGM_OK) return rgm_raise(state, status, &err);
    PyObject *times = list_of_times(times_ns, iterations), *outputs = times ? outputs_of(call) : NULL;
    if (!outputs) {
        Py_XDECREF(times);
        return NULL;
    }
    return Py_BuildValue("{sNsNsdsdsssIsi}", "outputs", outputs, "times_ns", times, "operations",
                         result.shape.operations, "bytes", result.shape.bytes, "arch", result.arch, "gaps",
                         (unsigned)result.gaps, "capability", result.capability);
}

static PyObject *core_run_workload(PyObject *module, PyObject *args, PyObject *keywords) {
    static char *names[] = {"name", "device", "parameters", "inputs", "warmup", "iterations", NULL};
    const char *name;
    PyObject *device = Py_None, *parameters = Py_None, *inputs = Py_None, *result = NULL;
    unsigned warmup = 3, iterations = 20;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s|O$OOII:run_workload", names, &name, &device,
                                     &parameters, &inputs, &warmup, &iterations))
        return NULL;
    if ((parameters != Py_None && !PyDict_Check(parameters)) ||
        (inputs != Py_None && !PyDict_Check(inputs))) {
        PyErr_SetString(PyExc_TypeError, "parameters and inputs are dictionaries");
        return NULL;
    }
    rgm_module *state = rgm_module_of(module);
    long ordinal = device == Py_None ? 0 : PyLong_AsLong(device);
    if (ordinal == -1 && PyErr_Occurred()) return NULL;
    if (ordinal < 0 || ordinal > 1024 || iterations > RGM_GPU_MOST_LAUNCHES) {
        PyErr_SetString(PyExc_ValueError, "device or iterations out of bounds");
        return NULL;
    }
    workload_call call = {0};
    int64_t *times_ns = rgm_calloc(iterations + 1u, sizeof *times_ns);
    if (!times_ns)
        PyErr_NoMemory();
    else if (prepare(state, &call, name, parameters == Py_None ? NULL : parameters,
                     inputs == Py_None ? NULL : inputs) == 0)
        result = device == Py_None ? run_reference(state, &call)
                                   : run_on_device(state, &call, (int)ordinal, warmup, iterations, times_ns);
    release(&call);
    rgm_free(times_ns);
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
    {"run_workload", (PyCFunction)(void (*)(void))core_run_workload, METH_VARARGS | METH_KEYWORDS,
     "run_workload($module, name, device=None, *, parameters=None, inputs=None, warmup=3, "
     "iterations=20)\n--\n\n"
     "Run a workload on a CUDA device, or (None) its reference implementation."},
    {NULL},
};

int rgm_kernels_init(PyObject *module) { return PyModule_AddFunctions(module, methods); }
