// SPDX-License-Identifier: Apache-2.0
// Running a workload, on a device or on this processor.
#include <string.h>

#include "base/memory.h"
#include "python/rows.h"
#include "workloads/arrays.h"
#include "workloads/gpu_run.h"
#include "workloads/host_run.h"

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

static int prepare_with(rgm_module *state, workload_call *call, PyObject *parameters, PyObject *inputs) {
    rgm_error err = RGM_ERROR_NONE;
    if (take_parameters(call, parameters) < 0) return -1;
    rgm_status status = rgm_workload_prepare(call->workload, call->values, call->values, &call->shape, &err);
    if (status != RGM_OK) {
        (void)rgm_raise(state, status, &err);
        return -1;
    }
    return take_inputs(call, inputs) < 0 ? -1 : make_outputs(call);
}

// NULL stays NULL.
static bool copy_dict(PyObject *given, PyObject **own) {
    *own = given ? PyDict_Copy(given) : NULL;
    return !given || *own;
}

// Of copies: numbers and buffers may run code that changes the dictionaries.
static int prepare(rgm_module *state, workload_call *call, const char *name, PyObject *parameters,
                   PyObject *inputs) {
    PyObject *own_parameters, *own_inputs = NULL;
    call->workload = rgm_workload_find(name);
    if (!call->workload) {
        PyErr_Format(PyExc_ValueError, "there is no workload called %s", name);
        return -1;
    }
    int result = -1;
    if (copy_dict(parameters, &own_parameters) && copy_dict(inputs, &own_inputs))
        result = prepare_with(state, call, own_parameters, own_inputs);
    Py_XDECREF(own_parameters);
    Py_XDECREF(own_inputs);
    return result;
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

// What is asked of a run, on whichever side.
typedef struct {
    int device; // -1: this processor
    const char *backend;
    unsigned warmup, iterations, calls, threads;
    unsigned block; // threads of a block on a device, 0: documented
    int64_t *times_ns, *call_times_ns;
} workload_asked;

static PyObject *result_of(const workload_call *call, const workload_asked *asked, PyObject *facts) {
    if (facts &&
        (rgm_dict_put(facts, "outputs", outputs_of(call)) < 0 ||
         rgm_dict_put(facts, "times_ns", rgm_list_of(asked->iterations, rgm_row_i64, asked->times_ns)) < 0 ||
         rgm_dict_put(facts, "call_times_ns", rgm_list_of(asked->calls, rgm_row_i64, asked->call_times_ns)) <
             0))
        Py_CLEAR(facts);
    return facts;
}

static PyObject *run_on_host(rgm_module *state, workload_call *call, const workload_asked *asked) {
    rgm_error err = RGM_ERROR_NONE;
    rgm_host_result result;
    rgm_status status;
    const rgm_fast_set *set = NULL;
    if (strcmp(asked->backend, "reference") != 0) {
        set = rgm_fast_set_find(strcmp(asked->backend, "c") == 0 ? NULL : asked->backend);
        if (!set)
            return PyErr_Format(PyExc_ValueError, "this processor has no backend called %s", asked->backend);
    }
    Py_BEGIN_ALLOW_THREADS;
    rgm_host_request request = {.set = set,
                                .threads = asked->threads,
                                .warmup = asked->warmup,
                                .iterations = asked->iterations,
                                .calls = asked->calls,
                                .parameters = call->values,
                                .inputs = call->inputs,
                                .outputs = call->outputs,
                                .times_ns = asked->times_ns,
                                .call_times_ns = asked->call_times_ns};
    status = rgm_host_run(call->workload, &request, &result, &err);
    Py_END_ALLOW_THREADS;
    if (status != RGM_OK) return rgm_raise(state, status, &err);
    return result_of(call, asked,
                     Py_BuildValue("{sdsdsssIsIsIsLsL}", "operations", result.shape.operations, "bytes",
                                   result.shape.bytes, "set", set ? set->name : "reference", "threads",
                                   result.threads, "repeats", (unsigned)result.repeats, "call_repeats",
                                   (unsigned)result.call_repeats, "faults", (long long)result.faults,
                                   "call_faults", (long long)result.call_faults));
}

static PyObject *run_on_device(rgm_module *state, workload_call *call, const workload_asked *asked) {
    rgm_error err = RGM_ERROR_NONE;
    rgm_gpu_result result;
    rgm_status status;
    Py_BEGIN_ALLOW_THREADS;
    rgm_cubin_cache cache;
    rgm_cubin_cache_open(&cache, NULL, RGM_CUBIN_CACHE_BYTES);
    rgm_gpu_request request = {.device = asked->device,
                               .warmup = asked->warmup,
                               .iterations = asked->iterations,
                               .calls = asked->calls,
                               .block = asked->block,
                               .parameters = call->values,
                               .inputs = call->inputs,
                               .outputs = call->outputs,
                               .times_ns = asked->times_ns,
                               .call_times_ns = asked->call_times_ns,
                               .cache = &cache};
    status = rgm_gpu_run(call->workload, &request, &result, &err);
    Py_END_ALLOW_THREADS;
    if (status != RGM_OK) return rgm_raise(state, status, &err);
    return result_of(call, asked,
                     Py_BuildValue("{sdsdsssIsis(III)s(III)}", "operations", result.shape.operations, "bytes",
                                   result.shape.bytes, "arch", result.arch, "gaps", (unsigned)result.gaps,
                                   "capability", result.capability, "grid", result.shape.grid[0],
                                   result.shape.grid[1], result.shape.grid[2], "block", result.shape.block[0],
                                   result.shape.block[1], result.shape.block[2]));
}

// False with an exception: a device, a backend or numbers that do not go together. Without either the
// reference computes once, and nothing is timed.
static bool take_choice(workload_asked *asked, PyObject *device) {
    long ordinal = device == Py_None ? -1 : PyLong_AsLong(device);
    if (ordinal == -1 && PyErr_Occurred()) return false;
    if ((device != Py_None && ordinal < 0) || ordinal > 1024 || asked->iterations > RGM_GPU_MOST_LAUNCHES ||
        asked->calls > RGM_GPU_MOST_LAUNCHES || asked->threads > RGM_TEAM_MOST) {
        PyErr_Format(PyExc_ValueError, "device, iterations, calls or threads (at most %d) out of bounds",
                     RGM_TEAM_MOST);
        return false;
    }
    asked->device = (int)ordinal;
    if (ordinal >= 0 && asked->backend) {
        PyErr_SetString(PyExc_ValueError, "a device or a backend of this processor, not both");
        return false;
    }
    if (ordinal < 0 && asked->block != 0) {
        PyErr_SetString(PyExc_ValueError, "only a device has blocks");
        return false;
    }
    if (ordinal < 0 && !asked->backend) {
        asked->backend = "reference";
        asked->iterations = asked->calls = 0;
    }
    return true;
}

static bool make_times(workload_asked *asked) {
    asked->times_ns = rgm_calloc(asked->iterations + 1u, sizeof *asked->times_ns);
    asked->call_times_ns = rgm_calloc(asked->calls + 1u, sizeof *asked->call_times_ns);
    if (asked->times_ns && asked->call_times_ns) return true;
    PyErr_NoMemory();
    return false;
}

static PyObject *core_run_workload(PyObject *module, PyObject *args, PyObject *keywords) {
    static char *names[] = {"name",  "device",  "parameters", "inputs", "warmup", "iterations",
                            "calls", "backend", "threads",    "block",  NULL};
    const char *name;
    PyObject *device = Py_None, *parameters = Py_None, *inputs = Py_None, *result = NULL;
    workload_asked asked = {.warmup = 3, .iterations = 20};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s|O$OOIIIzII:run_workload", names, &name, &device,
                                     &parameters, &inputs, &asked.warmup, &asked.iterations, &asked.calls,
                                     &asked.backend, &asked.threads, &asked.block))
        return NULL;
    if ((parameters != Py_None && !PyDict_Check(parameters)) ||
        (inputs != Py_None && !PyDict_Check(inputs))) {
        PyErr_SetString(PyExc_TypeError, "parameters and inputs are dictionaries");
        return NULL;
    }
    rgm_module *state = rgm_module_of(module);
    workload_call call = {0};
    if (take_choice(&asked, device) && make_times(&asked) &&
        prepare(state, &call, name, parameters == Py_None ? NULL : parameters,
                inputs == Py_None ? NULL : inputs) == 0)
        result = asked.device < 0 ? run_on_host(state, &call, &asked) : run_on_device(state, &call, &asked);
    release(&call);
    rgm_free(asked.times_ns);
    rgm_free(asked.call_times_ns);
    return result;
}

// --- inputs -----------------------------------------------------------------------------------------------

static PyObject *inputs_of(const workload_call *call, const rgm_arrays *arrays) {
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && call->workload->buffers[i].name; i++) {
        const rgm_workload_buffer *buffer = &call->workload->buffers[i];
        if (buffer->role == RGM_BUFFER_INPUT &&
            rgm_dict_put(dict, buffer->name,
                         PyByteArray_FromStringAndSize(arrays->data[i], (Py_ssize_t)arrays->bytes[i])) < 0)
            Py_CLEAR(dict);
    }
    return dict;
}

static PyObject *core_workload_inputs(PyObject *module, PyObject *args) {
    const char *name;
    PyObject *parameters = NULL, *result = NULL;
    rgm_error err = RGM_ERROR_NONE;
    if (!PyArg_ParseTuple(args, "s|O!:workload_inputs", &name, &PyDict_Type, &parameters)) return NULL;
    rgm_module *state = rgm_module_of(module);
    workload_call call = {0};
    rgm_arrays arrays;
    if (prepare(state, &call, name, parameters, NULL) == 0) {
        rgm_status status = rgm_arrays_make(&arrays, call.workload, call.values, &call.shape, NULL, &err);
        PyObject *inputs = status == RGM_OK ? inputs_of(&call, &arrays) : rgm_raise(state, status, &err);
        if (inputs)
            result = Py_BuildValue("{sNsdsd}", "inputs", inputs, "operations", call.shape.operations, "bytes",
                                   call.shape.bytes);
        if (status == RGM_OK) rgm_arrays_free(&arrays);
    }
    release(&call);
    return result;
}

static PyMethodDef methods[] = {
    {"workload_inputs", core_workload_inputs, METH_VARARGS,
     "workload_inputs($module, name, parameters={}, /)\n--\n\n"
     "The documented inputs of a workload, and its operations and bytes."},
    {"run_workload", (PyCFunction)(void (*)(void))core_run_workload, METH_VARARGS | METH_KEYWORDS,
     "run_workload($module, name, device=None, *, parameters=None, inputs=None, warmup=3, "
     "iterations=20, calls=0, backend=None, threads=0, block=0)\n--\n\n"
     "Run a workload on a CUDA device, or by a backend of this processor (c, its sets avx2 and portable, or "
     "reference), and time kernels and host calls. With neither the reference computes once."},
    {NULL},
};

int rgm_workload_run_init(PyObject *module) { return PyModule_AddFunctions(module, methods); }
