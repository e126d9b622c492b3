// SPDX-License-Identifier: Apache-2.0
// What a scope measures beside its time: memory, ranges of other tools, the device's time, instructions.
// Python code runs for some of it, and other threads meanwhile: for those the object is as good as open.
#include "python/profiler.h"

void rgm_scope_measures_begin(scope_object *scope, rgm_recorder *recorder) {
    profiler_object *profiler = scope->profiler;
    scope->busy = true;
    if (profiler->special & (SPECIAL_HOST_MEMORY | SPECIAL_DEVICE_MEMORY) &&
        rgm_session_reads_memory(profiler->session, recorder)) {
        uint64_t begin = rgm_clock_ticks();
        rgm_scope_memory_begin(scope);
        rgm_profiler_own(profiler, RGM_OWN_memory, begin);
    }
    if (profiler->special & SPECIAL_RANGES) rgm_scope_range_begin(scope);
    if (profiler->special & SPECIAL_DEVICE_EVENTS && scope->site->device != RGM_DEVICE_CPU)
        rgm_scope_device_begin(scope);
    scope->busy = false;
}

static void end_memory(scope_object *scope, rgm_recorder *recorder, bool recorded) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    uint64_t begin = rgm_clock_ticks();
    rgm_scope_memory_end(scope, recorder, recorded);
    rgm_profiler_own(scope->profiler, RGM_OWN_memory, begin);
    PyErr_Restore(type, value, traceback);
}

void rgm_scope_measures_end(scope_object *scope, rgm_recorder *recorder, bool recorded) {
    scope->busy = true;
    uint64_t number = scope->slot ? rgm_scope_device_end(scope) : 0;
    if (number && recorded) rgm_recorder_interval(recorder, number);
    if (scope->profiler->special & SPECIAL_RANGES) rgm_scope_range_end(scope);
    if (scope->profiler->special & (SPECIAL_RANGES | SPECIAL_COUNTS) && recorded)
        rgm_scope_count_end(scope, recorder);
    if (scope->resident >= 0 || scope->token) end_memory(scope, recorder, recorded);
    scope->busy = false;
}
