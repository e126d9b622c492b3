// SPDX-License-Identifier: Apache-2.0
// Calibration: the lists (ceilings, datasheets, policy) and the measurements.
#include <math.h>

#include "base/clock.h"
#include "base/tokens.h"
#include "calibrate/device.h"
#include "calibrate/host.h"
#include "model/datasheets.h"
#include "python/fields.h"
#include "python/rows.h"

// --- lists ------------------------------------------------------------------------------------------------

static PyObject *core_ceilings(PyObject *module, PyObject *unused) {
    typedef struct {
        const char *token, *unit, *doc;
    } ceiling;
    static const ceiling rows[] = {
#define CEILING_ROW(name, token, unit, doc) {token, unit, doc},
        RGM_CEILINGS(CEILING_ROW)
#undef CEILING_ROW
    };
    static const rgm_member members[] = {RGM_MEMBER(ceiling, unit), RGM_MEMBER(ceiling, doc)};
    return RGM_ROWS_DICT(rows, RGM_CEILING_COUNT, members);
}

static PyObject *describe_datasheet(const rgm_datasheet *sheet) {
    static const char *const pipes[] = {RGM_PIPES(RGM_TOKEN)};
    PyObject *peaks = PyDict_New();
    for (size_t i = 0; peaks && i < RGM_PIPE_COUNT; i++)
        if (sheet->peak[i] > 0 && rgm_dict_put(peaks, pipes[i], PyFloat_FromDouble(sheet->peak[i])) < 0)
            Py_CLEAR(peaks);
    return peaks ? Py_BuildValue("{sdsN}", "bytes_per_s", sheet->bytes_per_s, "peaks", peaks) : NULL;
}

static PyObject *core_datasheets(PyObject *module, PyObject *unused) {
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && i < rgm_datasheets_count; i++)
        if (rgm_dict_put(dict, rgm_datasheets[i].name, describe_datasheet(&rgm_datasheets[i])) < 0)
            Py_CLEAR(dict);
    return dict;
}

#define POLICY_ROW(name, initial, unit, source)                                                              \
    {#name, offsetof(rgm_calibrate_policy, name), (initial), (unit), (source)},
static const rgm_field policy_rows[] = {RGM_CALIBRATE_POLICY(POLICY_ROW)};
static const rgm_fields policy_fields = {policy_rows,
                                         sizeof policy_rows / sizeof *policy_rows,
                                         RGM_FIELD_NOT_NEGATIVE,
                                         &PyExc_ValueError,
                                         "no number of a calibration is called %R",
                                         "%R of a calibration must be a finite number of at least 0"};

static PyObject *core_calibrate_policy(PyObject *module, PyObject *unused) {
    return rgm_fields_describe(&policy_fields);
}

// --- measuring --------------------------------------------------------------------------------------------

// Keys of a dict over the defaults.
static int read_policy(PyObject *given, rgm_calibrate_policy *policy) {
    *policy = RGM_CALIBRATE_POLICY_DEFAULTS;
    return rgm_fields_read(given, &policy_fields, policy);
}

// Between samples: Ctrl-C and other handlers run.
static bool goes_on(void *unused) {
    PyGILState_STATE gil = PyGILState_Ensure();
    bool on = PyErr_CheckSignals() == 0;
    PyGILState_Release(gil);
    return on;
}

static PyObject *describe_figure(const rgm_figure *figure) {
    if (isnan(figure->value))
        return Py_BuildValue("{sOsOsIssss}", "value", Py_None, "spread", Py_None, "samples", 0u, "source", "",
                             "reason", figure->reason);
    return Py_BuildValue("{sdsdsIssss}", "value", figure->value, "spread", figure->spread, "samples",
                         (unsigned)figure->samples, "source", figure->source, "reason", "");
}

// Those that have a value or a reason.
static PyObject *describe_figures(const rgm_figures *figures) {
    static const char *const tokens[] = {RGM_CEILINGS(RGM_TOKEN)};
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && i < RGM_CEILING_COUNT; i++) {
        const rgm_figure *figure = &figures->at[i];
        if (isnan(figure->value) && !figure->reason[0]) continue;
        if (rgm_dict_put(dict, tokens[i], describe_figure(figure)) < 0) Py_CLEAR(dict);
    }
    return dict;
}

// Raises what a handler raised while it was measured, else the core's error.
static PyObject *finish(PyObject *module, rgm_status status, const rgm_error *err,
                        const rgm_figures *figures) {
    if (PyErr_Occurred()) return NULL;
    return status == RGM_OK ? describe_figures(figures) : rgm_raise(rgm_module_of(module), status, err);
}

static int64_t deadline_of(double seconds) {
    static const double most_seconds = 1e6, ns_of_second = 1e9;
    return (int64_t)((seconds < most_seconds ? seconds : most_seconds) * ns_of_second);
}

static PyObject *core_measure_host(PyObject *module, PyObject *args, PyObject *keywords) {
    static char *names[] = {"part", "threads", "free_bytes", "quick", "policy", "seconds", NULL};
    static const char *const parts[] = {RGM_HOST_PARTS(RGM_TOKEN)};
    PyObject *part_name, *policy_dict = NULL;
    unsigned threads;
    long long free_bytes;
    int quick = 1;
    double seconds = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "UIL|pO!d:measure_host", names, &part_name, &threads,
                                     &free_bytes, &quick, &PyDict_Type, &policy_dict, &seconds))
        return NULL;
    rgm_calibrate_policy policy;
    Py_ssize_t part = rgm_name_find(part_name, parts, RGM_HOST_PART_COUNT);
    if (part < 0) return PyErr_Format(PyExc_ValueError, "no part of a calibration is called %R", part_name);
    if (read_policy(policy_dict, &policy) < 0) return NULL;
    rgm_host_request request = {.effort = {.policy = &policy, .quick = quick, .goes_on = goes_on},
                                .threads = threads,
                                .free_bytes = free_bytes};
    if (seconds > 0) request.effort.deadline_ns = rgm_clock_monotonic_ns() + deadline_of(seconds);
    rgm_figures figures;
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status;
    Py_BEGIN_ALLOW_THREADS;
    rgm_host_caches_read(&request.caches);
    status = rgm_host_measure((rgm_host_part)part, &request, &figures, &err);
    Py_END_ALLOW_THREADS;
    return finish(module, status, &err, &figures);
}

static PyObject *core_host_takes(PyObject *module, PyObject *args) {
    rgm_calibrate_policy policy;
    rgm_host_request request = {.effort.policy = &policy};
    long long free_bytes;
    int quick;
    PyObject *policy_dict;
    if (!PyArg_ParseTuple(args, "ILpO!:host_takes", &request.threads, &free_bytes, &quick, &PyDict_Type,
                          &policy_dict))
        return NULL;
    if (read_policy(policy_dict, &policy) < 0) return NULL;
    request.effort.quick = quick;
    request.free_bytes = free_bytes;
    rgm_host_caches_read(&request.caches);
    return PyLong_FromLongLong(rgm_host_takes(&request));
}

static PyObject *core_measure_device(PyObject *module, PyObject *args, PyObject *keywords) {
    static char *names[] = {"part", "device", "quick", "policy", NULL};
    static const char *const parts[] = {RGM_DEVICE_PARTS(RGM_TOKEN)};
    PyObject *part_name, *policy_dict = NULL;
    int device, quick = 1;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "Ui|pO!:measure_device", names, &part_name, &device,
                                     &quick, &PyDict_Type, &policy_dict))
        return NULL;
    rgm_calibrate_policy policy;
    Py_ssize_t part = rgm_name_find(part_name, parts, RGM_DEVICE_PART_COUNT);
    if (part < 0) return PyErr_Format(PyExc_ValueError, "no part of a calibration is called %R", part_name);
    if (read_policy(policy_dict, &policy) < 0) return NULL;
    rgm_figures figures;
    uint32_t gaps = 0;
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status;
    Py_BEGIN_ALLOW_THREADS;
    rgm_cubin_cache cache;
    rgm_cubin_cache_open(&cache, NULL, RGM_CUBIN_CACHE_BYTES);
    rgm_device_request request = {
        .effort = {.policy = &policy, .quick = quick, .goes_on = goes_on}, .device = device, .cache = &cache};
    status = rgm_device_measure((rgm_device_part)part, &request, &figures, &gaps, &err);
    Py_END_ALLOW_THREADS;
    PyObject *found = finish(module, status, &err, &figures);
    return found ? Py_BuildValue("(NI)", found, (unsigned)gaps) : NULL;
}

static PyObject *core_device_about(PyObject *module, PyObject *args) {
    int device;
    rgm_device_about about;
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status;
    if (!PyArg_ParseTuple(args, "i:device_about", &device)) return NULL;
    RGM_UNLOCKED(status = rgm_device_describe(device, &about, &err));
    if (status != RGM_OK) return rgm_raise(rgm_module_of(module), status, &err);
    static const rgm_member members[] = {
#define ABOUT(member) RGM_MEMBER(rgm_device_about, member)
        ABOUT(name),
        ABOUT(uuid),
        ABOUT(capability),
        ABOUT(multiprocessors),
        ABOUT(l2_bytes),
        ABOUT(memory_bytes),
        RGM_MEMBER_AS(rgm_device_about, driver_version, "driver"),
        ABOUT(derived_bytes_per_s),
        ABOUT(derived_fp32),
        ABOUT(clock_hz),
        ABOUT(memory_hz),
#undef ABOUT
    };
    return RGM_DICT_OF(&about, members);
}

enum { MOST_BESTS = 256 };

static int read_bests(PyObject *items, double *bests) {
    Py_ssize_t count = PyTuple_GET_SIZE(items);
    if (count < 1 || count > MOST_BESTS) {
        PyErr_Format(PyExc_ValueError, "a figure is made of 1 to %d values", MOST_BESTS);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        bests[i] = PyFloat_AsDouble(PyTuple_GET_ITEM(items, i));
        if (PyErr_Occurred()) return -1;
        if (bests[i] > 0 && !isinf(bests[i])) continue;
        PyErr_Format(PyExc_ValueError, "a figure is made of positive numbers, not %R",
                     PyTuple_GET_ITEM(items, i));
        return -1;
    }
    return 0;
}

static PyObject *core_figure(PyObject *module, PyObject *args) {
    PyObject *values;
    int least;
    double bests[MOST_BESTS];
    if (!PyArg_ParseTuple(args, "O!p:calibrate_figure", &PyList_Type, &values, &least)) return NULL;
    PyObject *items = PyList_AsTuple(values); // numbers may run code that changes the list
    if (!items) return NULL;
    Py_ssize_t count = PyTuple_GET_SIZE(items);
    int result = read_bests(items, bests);
    Py_DECREF(items);
    if (result < 0) return NULL;
    rgm_figure figure =
        rgm_figure_of(bests, (size_t)count, least, RGM_CALIBRATE_POLICY_DEFAULTS.least_spread);
    return Py_BuildValue("(dd)", figure.value, figure.spread);
}

static PyObject *level_of(const void *of, size_t i) {
    const rgm_host_caches *caches = of;
    return Py_BuildValue("{snsLsi}", "level", (Py_ssize_t)i + 1, "bytes", (long long)caches->bytes[i],
                         "sharers", caches->sharers[i]);
}

static PyObject *core_host_caches(PyObject *module, PyObject *unused) {
    rgm_host_caches caches;
    rgm_host_caches_read(&caches);
    return rgm_list_of(RGM_CACHE_LEVELS, level_of, &caches);
}

static PyMethodDef methods[] = {
    {"host_caches", core_host_caches, METH_NOARGS,
     "host_caches($module)\n--\n\nData caches by level: bytes (0: unknown) and processors that share one."},
    {"device_about", core_device_about, METH_VARARGS,
     "device_about($module, device, /)\n--\n\nWhat the CUDA driver tells of a device, and what follows from "
     "it."},
    {"measure_device", (PyCFunction)(void (*)(void))core_measure_device, METH_VARARGS | METH_KEYWORDS,
     "measure_device($module, part, device, quick=True, policy={})\n--\n\n"
     "Measure a part of what a CUDA device can reach: figures, and timings that waited for the host."},
    {"calibrate_figure", core_figure, METH_VARARGS,
     "calibrate_figure($module, bests, least, /)\n--\n\nValue and spread of the bests of batches."},
    {"measure_host", (PyCFunction)(void (*)(void))core_measure_host, METH_VARARGS | METH_KEYWORDS,
     "measure_host($module, part, threads, free_bytes, quick=True, policy={}, seconds=0.0)\n--\n\n"
     "Measure a part of what the processors and the memory can reach."},
    {"host_takes", core_host_takes, METH_VARARGS,
     "host_takes($module, threads, free_bytes, quick, policy, /)\n--\n\n"
     "Bytes that the parts of `measure_host` take at most, one after the other."},
    {"ceilings", core_ceilings, METH_NOARGS,
     "ceilings($module)\n--\n\nWhat a calibration measures: unit and meaning by token."},
    {"datasheets", core_datasheets, METH_NOARGS,
     "datasheets($module)\n--\n\nPeaks that makers print, by the exact name of a device; bytes/s and "
     "operations/s."},
    {"calibrate_policy", core_calibrate_policy, METH_NOARGS,
     "calibrate_policy($module)\n--\n\nNumbers that a calibration is made with."},
    {NULL},
};

int rgm_calibrate_init(PyObject *module) { return PyModule_AddFunctions(module, methods); }
