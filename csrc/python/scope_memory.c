// SPDX-License-Identifier: Apache-2.0
// Memory of a scope: resident memory of the process and what the probe of a device tells, at begin and end.
#include "capture/host_memory.h"
#include "python/profiler.h"

void rgm_scope_internal_failure(scope_object *scope) {
    PyErr_Clear();
    rgm_session_note(scope->profiler->session, RGM_ANOMALY_INTERNAL, 1);
}

void rgm_scope_memory_begin(scope_object *scope) {
    profiler_object *profiler = scope->profiler;
    if (profiler->special & SPECIAL_DEVICE_MEMORY && scope->site->device != RGM_DEVICE_CPU) {
        const rgm_module *state = rgm_module_of_type(Py_TYPE(scope));
        PyObject *device = PyLong_FromLong(profiler->device_id);
        PyObject *token = state && device
                              ? PyObject_CallMethodOneArg(profiler->memory_probe, state->word_begin, device)
                              : NULL;
        Py_XDECREF(device);
        if (!token) rgm_scope_internal_failure(scope);
        Py_XSETREF(scope->token, token);
    }
    scope->resident = profiler->special & SPECIAL_HOST_MEMORY ? rgm_memory_resident() : -1;
}

static void device_memory_end(scope_object *scope, rgm_recorder *recorder, bool record) {
    long long begin, end, peak, reserved;
    int device;
    const rgm_module *state = rgm_module_of_type(Py_TYPE(scope));
    PyObject *values =
        state ? PyObject_CallMethodOneArg(scope->profiler->memory_probe, state->word_end, scope->token)
              : NULL;
    Py_CLEAR(scope->token);
    if (!values) {
        rgm_scope_internal_failure(scope);
        return;
    }
    if (values != Py_None) {
        if (!PyArg_ParseTuple(values, "iLLLL", &device, &begin, &end, &peak, &reserved)) {
            rgm_scope_internal_failure(scope);
        } else if (record) {
            rgm_recorder_memory(recorder, RGM_RECORD_DEVICE_USE, device, (uint64_t)begin, (uint64_t)end);
            rgm_recorder_memory(recorder, RGM_RECORD_DEVICE_PEAK, device, (uint64_t)peak, (uint64_t)reserved);
        }
    }
    Py_DECREF(values);
}

void rgm_scope_memory_end(scope_object *scope, rgm_recorder *recorder, bool record) {
    int64_t resident = scope->resident >= 0 ? rgm_memory_resident() : -1;
    if (record && resident >= 0)
        rgm_recorder_memory(recorder, RGM_RECORD_HOST_MEMORY, 0, (uint64_t)scope->resident,
                            (uint64_t)resident);
    if (scope->token && scope->token != Py_None) device_memory_end(scope, recorder, record);
    Py_CLEAR(scope->token);
    scope->resident = -1;
}
