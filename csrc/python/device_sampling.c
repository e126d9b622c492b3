// SPDX-License-Identifier: Apache-2.0
// Time series of devices in a recording: telemetry, and hardware counters.
#include <string.h>

#include "base/tokens.h"
#include "capture/device.h"
#include "cuda/counters/counter_sampling.h"
#include "cuda/nvml/telemetry.h"
#include "python/profiler.h"
#include "python/rows.h"

static bool is_open(profiler_object *self) {
    if (!self->session) PyErr_SetString(PyExc_RuntimeError, "the profiler has not been initialised");
    return self->session != NULL;
}

static PyObject *reason_of(rgm_status status, const rgm_error *err) {
    if (status == RGM_OK) return PyUnicode_FromString("");
    return PyUnicode_DecodeUTF8(err->message, (Py_ssize_t)strlen(err->message), "replace");
}

// The reason why there is no telemetry, "" when there is.
PyObject *rgm_profiler_telemetry_start(profiler_object *self, PyObject *args) {
    long long interval_ns;
    double budget;
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status;
    if (!is_open(self) || !PyArg_ParseTuple(args, "Ld", &interval_ns, &budget)) return NULL;
    if (self->telemetry) return PyUnicode_FromString("");
    rgm_telemetry_options options = {.interval_ns = interval_ns, .budget = budget};
    rgm_device_sink sink = rgm_session_sink(self->session);
    RGM_UNLOCKED(status = rgm_telemetry_start(&self->telemetry, &options, sink, &err));
    return reason_of(status, &err);
}

// What telemetry came to, None without it.
PyObject *rgm_profiler_telemetry_state(profiler_object *self, PyObject *unused) {
    if (!self->telemetry) Py_RETURN_NONE;
    rgm_telemetry_stats s;
    rgm_telemetry_stats_read(self->telemetry, &s);
    static const rgm_member members[] = {
#define STAT(member) RGM_MEMBER(rgm_telemetry_stats, member)
        STAT(interval_ns), STAT(budget),  STAT(wall_ns), STAT(nvml_ns), STAT(calls),
        STAT(values),      STAT(devices), STAT(lost),    STAT(slowed),  STAT(remark),
#undef STAT
    };
    return RGM_DICT_OF(&s, members);
}

static const char *const feeds[] = {RGM_COUNTER_FEEDS(RGM_TOKEN)};

// The reason why there are no counters, "" when there are.
PyObject *rgm_profiler_counters_start(profiler_object *self, PyObject *args) {
    rgm_sampling_options options = {0};
    const char *set;
    PyObject *feed;
    long long interval_ns;
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status;
    if (!is_open(self) || !PyArg_ParseTuple(args, "isUL", &options.device, &set, &feed, &interval_ns))
        return NULL;
    Py_ssize_t found = rgm_name_find(feed, feeds, RGM_COUNTER_FEED_COUNT);
    options.set = rgm_counter_set_find(set);
    if (found < 0) return PyErr_Format(PyExc_ValueError, "unknown source of counters %R", feed);
    if (options.set == RGM_COUNTER_SET_NONE)
        return PyErr_Format(PyExc_ValueError, "unknown set of counters \"%s\"", set);
    if (self->counters) return PyUnicode_FromString("");
    options.feed = (rgm_counter_feed)found;
    options.interval_ns = interval_ns;
    rgm_device_sink sink = rgm_session_sink(self->session);
    RGM_UNLOCKED(status = rgm_counter_sampling_start(&self->counters, &options, sink, &err));
    return reason_of(status, &err);
}

// Also of stalls, which end before the tracing of kernels. Without the interpreter's lock; any number of
// times.
void rgm_profiler_sampling_close(profiler_object *self, rgm_sampling_report *report) {
    rgm_counter_sampling *counters = self->counters;
    self->counters = NULL;
    rgm_profiler_stalls_close(self);
    if (counters) rgm_counter_sampling_stop(counters, report);
    if (self->telemetry) rgm_telemetry_stop(self->telemetry);
}

// Ends both; what the counters came to, None without them.
PyObject *rgm_profiler_sampling_stop(profiler_object *self, PyObject *unused) {
    rgm_sampling_report report = {0};
    bool had = self->counters != NULL;
    rgm_profiler_ranges_close(self);
    RGM_UNLOCKED(rgm_profiler_sampling_close(self, &report));
    if (!had) Py_RETURN_NONE;
    return Py_BuildValue("{sssssL}", "source", feeds[report.feed], "reason", report.reason, "service_cpu_ns",
                         (long long)(report.pm.cpu_ns + report.gpm.cpu_ns));
}
