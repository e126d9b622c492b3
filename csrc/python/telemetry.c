// SPDX-License-Identifier: Apache-2.0
// Functions of the module that read devices through NVML. Nothing is kept between calls but the library.
#include "cuda/nvml/device_facts.h"
#include "cuda/nvml/telemetry_read.h"
#include "python/rows.h"

static PyObject *text_or_none(const char *text) {
    if (!text[0]) Py_RETURN_NONE;
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

static PyObject *number_or_none(int number) {
    if (number < 0) Py_RETURN_NONE;
    return PyLong_FromLong(number);
}

// The library and its devices, without the interpreter's lock. False with an exception set.
static bool open_devices(PyObject *module, const rgm_nvml **nvml, rgm_nvml_list *list) {
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = rgm_nvml_get(nvml, &err);
    if (status == RGM_OK) status = rgm_nvml_list_read(list, *nvml, &err);
    Py_END_ALLOW_THREADS;
    if (status == RGM_OK) return true;
    (void)rgm_raise(rgm_module_of(module), status, &err);
    return false;
}

static PyObject *describe_device(const void *gpus, size_t i) {
    const rgm_nvml_gpu *gpu = &((const rgm_nvml_gpu *)gpus)[i];
    PyObject *dict = PyDict_New();
    if (!dict) return NULL;
    const char *reason = gpu->handle ? "" : rgm_nvml_text(gpu->result);
    const char *mapping = rgm_device_mapping_text(gpu->mapping);
    if (rgm_dict_put(dict, "ordinal", number_or_none(gpu->ordinal)) < 0 ||
        rgm_dict_put(dict, "mapping", PyUnicode_FromString(mapping)) < 0 ||
        rgm_dict_put(dict, "index", PyLong_FromUnsignedLong(gpu->index)) < 0 ||
        rgm_dict_put(dict, "uuid", text_or_none(gpu->uuid)) < 0 ||
        rgm_dict_put(dict, "name", text_or_none(gpu->name)) < 0 ||
        rgm_dict_put(dict, "bus", text_or_none(gpu->bus)) < 0 ||
        rgm_dict_put(dict, "part", PyBool_FromLong(gpu->mig)) < 0 ||
        rgm_dict_put(dict, "mig_mode", number_or_none(gpu->mig_mode)) < 0 ||
        rgm_dict_put(dict, "gpu_instance", number_or_none(gpu->gpu_instance)) < 0 ||
        rgm_dict_put(dict, "compute_instance", number_or_none(gpu->compute_instance)) < 0 ||
        rgm_dict_put(dict, "reason", text_or_none(reason)) < 0)
        Py_CLEAR(dict);
    return dict;
}

static PyObject *core_telemetry_devices(PyObject *module, PyObject *unused) {
    const rgm_nvml *nvml;
    rgm_nvml_list list;
    if (!open_devices(module, &nvml, &list)) return NULL;
    PyObject *found = rgm_list_of(list.count, describe_device, list.gpus);
    rgm_nvml_list_release(&list);
    return found;
}

// By CUDA ordinal or by UUID; NULL with an exception set.
static const rgm_nvml_gpu *find_device(PyObject *module, const rgm_nvml_list *list, PyObject *which) {
    const rgm_nvml_gpu *found = NULL;
    if (PyUnicode_Check(which)) {
        const char *uuid = PyUnicode_AsUTF8(which);
        if (!uuid) return NULL;
        for (size_t i = 0; i < list->count; i++)
            if (uuid[0] && strcmp(list->gpus[i].uuid, uuid) == 0) found = &list->gpus[i];
    } else {
        long ordinal = PyLong_AsLong(which);
        if (ordinal == -1 && PyErr_Occurred()) return NULL;
        if (ordinal >= 0 && ordinal <= INT_MAX) found = rgm_nvml_list_find(list, (int)ordinal);
    }
    if (!found)
        PyErr_Format(rgm_module_of(module)->unavailable_error,
                     "NVML: no device %R: CUDA sees %zu of %zu devices; look at CUDA_VISIBLE_DEVICES", which,
                     list->visible, list->count);
    return found;
}

static PyObject *describe_reading(const rgm_telemetry_reading *readings, rgm_telemetry_metric metric) {
    const rgm_telemetry_metric_desc *desc = &rgm_telemetry_metrics[metric];
    const rgm_telemetry_reading *reading = &readings[desc->call];
    char reason[256];
    rgm_nvml_result result = reading->result[desc->slot];
    if (result == RGM_NVML_SUCCESS) return Py_BuildValue("(ds)", reading->value[desc->slot], "");
    rgm_telemetry_reason(reason, sizeof reason, metric, result);
    return Py_BuildValue("(Os)", Py_None, reason);
}

static PyObject *core_telemetry_read(PyObject *module, PyObject *args) {
    static const char left_out[] =
        "not asked: it holds the driver's lock for milliseconds or waits (expensive)";
    PyObject *which;
    int expensive = 0;
    const rgm_nvml *nvml;
    rgm_nvml_list list;
    rgm_telemetry_reading readings[RGM_CALL_COUNT];
    if (!PyArg_ParseTuple(args, "O|p", &which, &expensive)) return NULL;
    if (!open_devices(module, &nvml, &list)) return NULL;
    const rgm_nvml_gpu *gpu = find_device(module, &list, which);
    PyObject *dict = gpu ? PyDict_New() : NULL;
    if (dict) {
        Py_BEGIN_ALLOW_THREADS;
        for (int call = 0; call < RGM_CALL_COUNT; call++)
            if (expensive || rgm_telemetry_calls[call].cost != RGM_COST_EXPENSIVE)
                rgm_telemetry_read(&readings[call], nvml, (rgm_telemetry_call)call, gpu);
        Py_END_ALLOW_THREADS;
    }
    for (int i = 0; dict && i < RGM_TELEMETRY_COUNT; i++) {
        bool skipped =
            !expensive && rgm_telemetry_calls[rgm_telemetry_metrics[i].call].cost == RGM_COST_EXPENSIVE;
        PyObject *row = skipped ? Py_BuildValue("(Os)", Py_None, left_out)
                                : describe_reading(readings, (rgm_telemetry_metric)i);
        if (rgm_dict_put(dict, rgm_telemetry_metrics[i].name, row) < 0) Py_CLEAR(dict);
    }
    rgm_nvml_list_release(&list);
    return dict;
}

static int put_facts(PyObject *dict, const rgm_device_facts *facts) {
    PyObject *reasons = PyDict_New();
    if (!reasons) return -1;
    int failed = 0;
    for (int i = 0; !failed && i < RGM_FACT_COUNT; i++) {
        char reason[256];
        const char *name = rgm_device_fact_name(i);
        if (facts->result[i] == RGM_NVML_SUCCESS) {
            failed = rgm_dict_put(dict, name, PyFloat_FromDouble(facts->value[i]));
            continue;
        }
        rgm_device_fact_reason(reason, sizeof reason, facts, i);
        failed = rgm_dict_put(reasons, name, PyUnicode_FromString(reason));
    }
    if (!failed && PyDict_GET_SIZE(reasons)) failed = PyDict_SetItemString(dict, "unavailable", reasons);
    Py_DECREF(reasons);
    return failed;
}

static PyObject *core_telemetry_facts(PyObject *module, PyObject *args) {
    const rgm_nvml *nvml;
    rgm_nvml_list list;
    double limit_ms;
    if (!PyArg_ParseTuple(args, "d", &limit_ms)) return NULL;
    if (!open_devices(module, &nvml, &list)) return NULL;
    PyObject *found = PyList_New(0);
    for (size_t i = 0; found && i < list.count; i++) {
        rgm_device_facts facts;
        if (list.gpus[i].ordinal < 0) continue;
        RGM_UNLOCKED(
            rgm_device_facts_read(&facts, nvml, &list.gpus[i],
                                  (int64_t)(limit_ms * 1e6 / (double)(list.visible ? list.visible : 1))));
        PyObject *row = describe_device(list.gpus, i);
        if (!row || put_facts(row, &facts) < 0 || PyList_Append(found, row) < 0) Py_CLEAR(found);
        Py_XDECREF(row);
    }
    rgm_nvml_list_release(&list);
    return found;
}

static PyObject *core_telemetry_library(PyObject *module, PyObject *unused) {
    const rgm_nvml *nvml;
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status;
    char driver[RGM_NVML_VERSION_ROOM] = "", library[RGM_NVML_VERSION_ROOM] = "";
    Py_BEGIN_ALLOW_THREADS;
    status = rgm_nvml_get(&nvml, &err);
    if (status == RGM_OK) {
        if (nvml->driver_version(driver, sizeof driver) != RGM_NVML_SUCCESS) driver[0] = '\0';
        if (nvml->library_version(library, sizeof library) != RGM_NVML_SUCCESS) library[0] = '\0';
    }
    Py_END_ALLOW_THREADS;
    if (status != RGM_OK) return rgm_raise(rgm_module_of(module), status, &err);
    PyObject *missing = PyList_New(0);
    for (uint32_t i = 0; missing && i < RGM_NVML_CAPABILITY_COUNT; i++) {
        PyObject *name = NULL;
        if (rgm_nvml_can(nvml, i)) continue;
        name = PyUnicode_FromString(nvml->library.absent[i]);
        if (!name || PyList_Append(missing, name) < 0) Py_CLEAR(missing);
        Py_XDECREF(name);
    }
    PyObject *dict = missing ? PyDict_New() : NULL;
    if (dict && (rgm_dict_put(dict, "path", text_or_none(nvml->library.path)) < 0 ||
                 rgm_dict_put(dict, "origin",
                              PyUnicode_FromString(rgm_library_origin_text(nvml->library.origin))) < 0 ||
                 rgm_dict_put(dict, "driver", text_or_none(driver)) < 0 ||
                 rgm_dict_put(dict, "version", text_or_none(library)) < 0 ||
                 rgm_dict_put(dict, "init_ns", PyLong_FromLongLong(nvml->init_ns)) < 0 ||
                 PyDict_SetItemString(dict, "missing", missing) < 0))
        Py_CLEAR(dict);
    Py_XDECREF(missing);
    return dict;
}

static PyObject *core_telemetry_metrics(PyObject *module, PyObject *unused) {
    PyObject *dict = PyDict_New();
    for (int i = 0; dict && i < RGM_TELEMETRY_COUNT; i++) {
        const rgm_telemetry_metric_desc *desc = &rgm_telemetry_metrics[i];
        const rgm_telemetry_call_desc *call = &rgm_telemetry_calls[desc->call];
        PyObject *row = Py_BuildValue(
            "{sssssssssOssssssss}", "unit", desc->unit, "kind", rgm_telemetry_kind_text(desc->kind), "cost",
            rgm_telemetry_cost_text(call->cost), "call", call->symbol, "of_part",
            call->of_part ? Py_True : Py_False, "dcgm", desc->dcgm, "opentelemetry", desc->otel,
            "opentelemetry_attributes", desc->otel_attributes, "doc", desc->doc);
        if (rgm_dict_put(dict, desc->name, row) < 0) Py_CLEAR(dict);
    }
    return dict;
}

// The bits of clock_reasons: name -> (bit, text, whether it slows a loaded device down).
static PyObject *core_clock_reasons(PyObject *module, PyObject *unused) {
    PyObject *dict = PyDict_New();
#define REASON(name, bit, token, text, slows)                                                                \
    if (dict &&                                                                                              \
        rgm_dict_put(dict, token, Py_BuildValue("(isO)", bit, text, (slows) ? Py_True : Py_False)) < 0)      \
        Py_CLEAR(dict);
    RGM_CLOCK_REASONS(REASON)
#undef REASON
    return dict;
}

static PyMethodDef methods[] = {
    {"telemetry_devices", core_telemetry_devices, METH_NOARGS,
     "telemetry_devices($module)\n--\n\nDevices that NVML knows, MIG devices among them."},
    {"telemetry_read", core_telemetry_read, METH_VARARGS,
     "telemetry_read($module, device, expensive=False, /)\n--\n\nMetric -> (value or None, reason) now."},
    {"telemetry_facts", core_telemetry_facts, METH_VARARGS,
     "telemetry_facts($module, limit_ms, /)\n--\n\nSet-up of the devices that CUDA sees."},
    {"telemetry_library", core_telemetry_library, METH_NOARGS,
     "telemetry_library($module)\n--\n\nWhere NVML was found and what it lacks."},
    {"telemetry_metrics", core_telemetry_metrics, METH_NOARGS,
     "telemetry_metrics($module)\n--\n\nMetrics with unit, cost and the names that others give them."},
    {"clock_reasons", core_clock_reasons, METH_NOARGS,
     "clock_reasons($module)\n--\n\nBits of the metric clock_reasons."},
    {NULL},
};

int rgm_telemetry_init(PyObject *module) { return PyModule_AddFunctions(module, methods); }
