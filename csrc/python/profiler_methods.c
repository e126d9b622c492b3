// SPDX-License-Identifier: Apache-2.0
// The methods of the profiler type that Python's half builds on: life of the session, results, switches.
#include <string.h>

#include "capture/heap_sampler.h"
#include "python/fields.h"
#include "python/profiler.h"
#include "python/rows.h"
#include "python/walk.h"

static rgm_module *module_or_raise(profiler_object *self) {
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    if (state && !self->session) {
        PyErr_SetString(PyExc_RuntimeError, "the profiler has not been initialised");
        return NULL;
    }
    return state;
}

static int read_options(PyObject *given, rgm_session_options *options) {
    static const rgm_field rows[] = {
#define OPTION_ROW(type, name, initial, unit, doc) {#name, offsetof(rgm_session_options, name), 0, "", ""},
        RGM_SESSION_OPTIONS(OPTION_ROW)
#undef OPTION_ROW
    };
    static const rgm_fields fields = {rows,
                                      sizeof rows / sizeof *rows,
                                      RGM_FIELD_COUNT,
                                      &PyExc_TypeError,
                                      "unknown option %R",
                                      "%R must not be negative"};
    return rgm_fields_read(given, &fields, options);
}

PyDoc_STRVAR(open_doc,
             "_open($self, path, options, /)\n--\n\nStarts the session; path None records in memory.");

static PyObject *profiler_open(profiler_object *self, PyObject *args) {
    PyObject *path, *options_dict, *encoded = NULL;
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    if (!state || !PyArg_ParseTuple(args, "OO!", &path, &PyDict_Type, &options_dict)) return NULL;
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    if (read_options(options_dict, &options) < 0) return NULL;
    if (path != Py_None && !PyUnicode_FSConverter(path, &encoded)) return NULL;
    if (self->session) {
        Py_XDECREF(encoded);
        PyErr_SetString(PyExc_RuntimeError, "the profiler has been initialised already");
        return NULL;
    }
    rgm_error err = RGM_ERROR_NONE;
    rgm_session *session = NULL;
    rgm_status status;
    RGM_UNLOCKED(status =
                     rgm_session_new(&session, &options, encoded ? PyBytes_AS_STRING(encoded) : NULL, &err));
    Py_XDECREF(encoded);
    if (status != RGM_OK) return rgm_raise(state, status, &err);
    self->session = session;
    self->options = options;
    self->stacks_reason = options.stacks_interval_ns > 0 ? rgm_walk_reason() : "";
    if (!*self->stacks_reason) rgm_session_stacks(session, &rgm_python_stacks);
    if (options.allocations_bytes > 0 && !*self->stacks_reason && !*rgm_heap_reason())
        rgm_heap_before_python();
    self->session_id = rgm_session_id_ref(session);
    Py_RETURN_NONE;
}

static PyObject *profiler_stop(profiler_object *self, PyObject *unused) {
    if (!module_or_raise(self)) return NULL;
    self->enabled = false;
    rgm_profiler_ranges_close(self);
    Py_BEGIN_ALLOW_THREADS;
    rgm_profiler_sampling_close(self, NULL);
    rgm_profiler_kernels_close(self);
    rgm_profiler_device_close(self);
    rgm_session_stop(self->session);
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

static PyObject *profiler_flush(profiler_object *self, PyObject *unused) {
    rgm_module *state = module_or_raise(self);
    if (!state) return NULL;
    rgm_status status;
    // A failed write has its own warning and keeps the data in memory: not an error of this call.
    RGM_UNLOCKED(status = rgm_session_flush(self->session, NULL));
    return PyBool_FromLong(status == RGM_OK);
}

static PyObject *profiler_reset(profiler_object *self, PyObject *unused) {
    if (!module_or_raise(self)) return NULL;
    RGM_UNLOCKED(rgm_session_reset(self->session));
    Py_RETURN_NONE;
}

static PyObject *profiler_snapshot(profiler_object *self, PyObject *type) {
    rgm_module *state = module_or_raise(self);
    if (!state) return NULL;
    if (!PyType_Check(type) || !PyType_IsSubtype((PyTypeObject *)type, state->run_type)) {
        PyErr_SetString(PyExc_TypeError, "a Run type is expected");
        return NULL;
    }
    rgm_error err = RGM_ERROR_NONE;
    rgm_run *run = NULL;
    rgm_status status;
    RGM_UNLOCKED(status = rgm_session_snapshot(self->session, &run, &err));
    return status == RGM_OK ? rgm_run_wrap((PyTypeObject *)type, run) : rgm_raise(state, status, &err);
}

static PyObject *own_costs(const rgm_session_stats *s) {
#define OWN_NAME(name, doc) #name,
    static const char *const names[] = {RGM_OWN_COSTS(OWN_NAME)};
#undef OWN_NAME
    PyObject *own = PyDict_New();
    for (int what = 0; own && what < RGM_OWN_COUNT; what++)
        if (rgm_dict_put(own, names[what], PyLong_FromLongLong(s->own_ns[what])) < 0) Py_CLEAR(own);
    return own;
}

#define STAT(member) RGM_MEMBER(rgm_session_stats, member)
#define ROWS(log, name) RGM_MEMBER_AS(rgm_session_stats, rows[log], name)
static const rgm_member stats_members[] = {
    RGM_MEMBER_AS(rgm_session_stats, scopes, "records"),
    STAT(dropped),
    STAT(lost),
    STAT(sampled_out),
    ROWS(RGM_LOG_SAMPLES, "samples"),
    ROWS(RGM_LOG_INTERVALS, "intervals"),
    ROWS(RGM_LOG_ACTIVITIES, "activities"),
    ROWS(RGM_LOG_VALUES, "values"),
    ROWS(RGM_LOG_COLLECTIVES, "collectives"),
    ROWS(RGM_LOG_STALLS, "stalls"),
    ROWS(RGM_LOG_HOST_SAMPLES, "host_samples"),
    STAT(blocks),
    STAT(hot_blocks),
    STAT(sites),
    STAT(strings),
    STAT(text_bytes),
    STAT(service_cpu_ns),
    STAT(journal_active),
    STAT(stopped),
};
#undef STAT
#undef ROWS

static PyObject *taken_now(const rgm_session_stats *s) {
#define GOVERNED_NAME(name, series, doc) #name,
    static const char *const names[] = {RGM_GOVERNED(GOVERNED_NAME)};
#undef GOVERNED_NAME
    PyObject *one_in = PyDict_New();
    for (int i = 0; one_in && i < RGM_GOVERNED_COUNT; i++) {
        PyObject *value = PyLong_FromUnsignedLong(s->one_in[i]);
        if (!value || PyDict_SetItemString(one_in, names[i], value) < 0) Py_CLEAR(one_in);
        Py_XDECREF(value);
    }
    return one_in;
}

static PyObject *profiler_stats(profiler_object *self, PyObject *unused) {
    rgm_session_stats s;
    if (!module_or_raise(self)) return NULL;
    RGM_UNLOCKED(rgm_session_get_stats(self->session, &s));
    PyObject *dict = RGM_DICT_OF(&s, stats_members);
    if (dict &&
        (rgm_dict_put(dict, "own_ns", own_costs(&s)) < 0 || rgm_dict_put(dict, "one_in", taken_now(&s)) < 0))
        Py_CLEAR(dict);
    return dict;
}

static PyObject *profiler_environment(profiler_object *self, PyObject *text) {
    rgm_module *state = module_or_raise(self);
    Py_ssize_t length;
    const char *json = state ? PyUnicode_AsUTF8AndSize(text, &length) : NULL;
    if (!json) return NULL;
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status;
    // The text belongs to the str, which the caller holds.
    RGM_UNLOCKED(status = rgm_session_environment(self->session, json, (size_t)length, &err));
    if (status != RGM_OK) return rgm_raise(state, status, &err);
    Py_RETURN_NONE;
}

static PyObject *profiler_take_warning(profiler_object *self, PyObject *unused) {
    char text[600];
    if (!module_or_raise(self)) return NULL;
    if (!rgm_session_take_warning(self->session, text, sizeof text)) Py_RETURN_NONE;
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

static PyObject *profiler_leave_out_roles(profiler_object *self, PyObject *leave) {
    if (!module_or_raise(self)) return NULL;
    rgm_session_leave_out_roles(self->session, leave == Py_True);
    Py_RETURN_NONE;
}

static PyObject *profiler_set_probes(profiler_object *self, PyObject *args) {
    PyObject *backend, *memory;
    int host;
    if (!PyArg_ParseTuple(args, "OOp", &backend, &memory, &host)) return NULL;
    Py_XSETREF(self->backend_probe, backend == Py_None ? NULL : Py_NewRef(backend));
    Py_XSETREF(self->memory_probe, memory == Py_None ? NULL : Py_NewRef(memory));
    self->special &=
        SPECIAL_SAMPLING | SPECIAL_DEVICE_EVENTS | SPECIAL_RANGES | SPECIAL_COUNTS | SPECIAL_DISABLED;
    if (host) self->special |= SPECIAL_HOST_MEMORY;
    if (self->memory_probe) self->special |= SPECIAL_DEVICE_MEMORY;
    Py_RETURN_NONE;
}

static uint32_t threshold_of(double rate) {
    return rate >= 1.0 ? UINT32_MAX : (uint32_t)(rate * 4294967296.0);
}

PyDoc_STRVAR(sampling_doc, "_set_sampling($self, rate, operation=None, device=None, /)\n--\n\n"
                           "Rate of the whole profiler, or of one operation.");

static PyObject *profiler_set_sampling(profiler_object *self, PyObject *args) {
    double rate;
    PyObject *operation = Py_None, *device = Py_None;
    if (!module_or_raise(self) || !PyArg_ParseTuple(args, "d|OO", &rate, &operation, &device)) return NULL;
    if (!(rate >= 0.0 && rate <= 1.0)) {
        PyErr_Format(PyExc_ValueError, "a sample rate lies between 0 and 1, got %R",
                     PyTuple_GET_ITEM(args, 0));
        return NULL;
    }
    if (operation == Py_None) {
        self->root_threshold = threshold_of(rate);
    } else {
        rgm_site *site = rgm_profiler_site(self, operation, device == Py_None ? NULL : device);
        if (!site) return NULL;
        atomic_store(&site->threshold, threshold_of(rate));
        atomic_fetch_or(&site->flags, RGM_SITE_SAMPLED);
    }
    // Once a rate has been set the profiler looks at it; a rate of one costs the look only.
    self->special |= SPECIAL_SAMPLING;
    Py_RETURN_NONE;
}

typedef struct {
    PyObject *counts;
    PyObject *device_names;
} skipping;

static void add_skipped(rgm_site *site, const char *name, void *arg) {
    skipping *s = arg;
    unsigned long long skipped = atomic_load(&site->skipped);
    if (!skipped) return;
    // Operation and device, joined with a zero byte that no name of a device holds.
    PyObject *key = PyUnicode_FromFormat("%s%c%U", name, 0, PyTuple_GET_ITEM(s->device_names, site->device));
    PyObject *value = key ? PyLong_FromUnsignedLongLong(skipped) : NULL;
    if (!value || PyDict_SetItem(s->counts, key, value) < 0) PyErr_Clear();
    Py_XDECREF(key);
    Py_XDECREF(value);
}

static PyObject *profiler_skipped(profiler_object *self, PyObject *unused) {
    rgm_module *state = module_or_raise(self);
    if (!state) return NULL;
    skipping s = {PyDict_New(), state->device_names};
    if (s.counts) rgm_session_each_site(self->session, add_skipped, &s);
    return s.counts;
}

typedef struct {
    const char *name;
    size_t length;
    bool on;
    int found;
} switching;

static void switch_site(rgm_site *site, const char *name, void *arg) {
    switching *s = arg;
    if (strlen(name) != s->length || memcmp(name, s->name, s->length) != 0) return;
    s->found++;
    if (s->on)
        atomic_fetch_and(&site->flags, (uint8_t)~RGM_SITE_DISABLED);
    else
        atomic_fetch_or(&site->flags, RGM_SITE_DISABLED);
}

PyDoc_STRVAR(switch_doc,
             "_switch($self, operation, on, /)\n--\n\nSwitches one operation on all its declared devices.");

static PyObject *profiler_switch(profiler_object *self, PyObject *args) {
    PyObject *operation;
    int on;
    if (!module_or_raise(self) || !PyArg_ParseTuple(args, "Op", &operation, &on)) return NULL;
    // One call per device makes the operation known, so that it can be switched off before its first use.
    rgm_module *state = rgm_module_of_type(Py_TYPE(self));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(state->device_names); i++)
        if (!rgm_profiler_site(self, operation, PyTuple_GET_ITEM(state->device_names, i))) return NULL;
    switching s = {.on = on};
    Py_ssize_t length;
    s.name = PyUnicode_AsUTF8AndSize(operation, &length);
    if (!s.name) return NULL;
    s.length = (size_t)length;
    rgm_session_each_site(self->session, switch_site, &s);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(scope_for_doc,
             "_scope_for($self, operation, device, function, /)\n--\n\n"
             "Scope of a call of `function`; the backend is judged by the function, not the caller.");

static PyObject *profiler_scope_for(profiler_object *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "_scope_for() takes three arguments");
        return NULL;
    }
    if (!self->enabled) return Py_NewRef(self->idle);
    PyObject *scope = rgm_profiler_scope(self, args[0], args[1]);
    if (scope && scope != self->idle) ((scope_object *)scope)->function = Py_NewRef(args[2]);
    return scope;
}

PyDoc_STRVAR(wrap_doc, "_wrap($self, function, operation, device, /)\n--\n\nWraps a plain function.");

static PyObject *profiler_wrap(profiler_object *self, PyObject *args) {
    PyObject *function, *operation, *device;
    if (!module_or_raise(self) || !PyArg_ParseTuple(args, "OUO", &function, &operation, &device)) return NULL;
    return rgm_function_new(self, function, operation, device);
}

static PyObject *profiler_sampler(profiler_object *self, PyObject *interval) {
    long long ns = PyLong_AsLongLong(interval);
    if ((ns == -1 && PyErr_Occurred()) || !module_or_raise(self)) return NULL;
    RGM_UNLOCKED(rgm_session_sampling(self->session, ns));
    Py_RETURN_NONE;
}

static PyObject *profiler_stacks_reason(profiler_object *self, PyObject *unused) {
    if (!module_or_raise(self)) return NULL;
    const char *refused = rgm_session_stacks_refused(self->session);
    return PyUnicode_FromString(*self->stacks_reason ? self->stacks_reason : refused);
}

static PyObject *profiler_resume(profiler_object *self, PyObject *unused) {
    if (!module_or_raise(self)) return NULL;
    rgm_session_resume(self->session);
    Py_RETURN_NONE;
}

static PyObject *profiler_control_group(profiler_object *self, PyObject *folder) {
    PyObject *encoded = NULL;
    if (!module_or_raise(self) || !PyUnicode_FSConverter(folder, &encoded)) return NULL;
    bool added = rgm_session_control_group(self->session, PyBytes_AS_STRING(encoded));
    Py_DECREF(encoded);
    return PyBool_FromLong(added);
}

static PyObject *profiler_warm(profiler_object *self, PyObject *scopes) {
    size_t count = PyLong_AsSize_t(scopes);
    if ((count == (size_t)-1 && PyErr_Occurred()) || !module_or_raise(self)) return NULL;
    RGM_UNLOCKED(rgm_session_warm(self->session, count));
    Py_RETURN_NONE;
}

static PyObject *profiler_get_enabled(profiler_object *self, void *unused) {
    return PyBool_FromLong(self->enabled);
}

static int profiler_set_enabled(profiler_object *self, PyObject *value, void *unused) {
    int on = value ? PyObject_IsTrue(value) : -1;
    if (on < 0) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_AttributeError, "enabled cannot be deleted");
        return -1;
    }
    self->enabled = on && self->session && atomic_load(self->session_id);
    self->special &= (uint8_t)~SPECIAL_DISABLED;
    if (!self->enabled) self->special |= SPECIAL_DISABLED;
    return 0;
}

static PyObject *profiler_get_path(profiler_object *self, void *unused) {
    const char *path = self->session ? rgm_session_path(self->session) : "";
    if (!path[0]) Py_RETURN_NONE;
    return PyUnicode_DecodeFSDefault(path);
}

static PyObject *profiler_session_id(profiler_object *self, void *unused) {
    return PyLong_FromUnsignedLongLong(self->session ? atomic_load(self->session_id) : 0);
}

PyDoc_STRVAR(device_timing_doc, "_device_timing($self, on, find_streams, stream_handle, /)\n--\n\n"
                                "Switches device timing; the callables are those of regimeter.streams.");

PyDoc_STRVAR(
    role_scope_doc,
    "_role_scope($self, name, role, metadata=None, /)\n--\n\n"
    "A scope with a role, an index of ROLES, that may be kept and entered any number of times, by any\n"
    "thread; metadata is JSON text.");

PyMethodDef rgm_profiler_methods[] = {
    {"_open", (PyCFunction)profiler_open, METH_VARARGS, open_doc},
    {"_stop", (PyCFunction)profiler_stop, METH_NOARGS, "Ends the session."},
    {"_flush", (PyCFunction)profiler_flush, METH_NOARGS, "Writes what is recorded; False when that failed."},
    {"_reset", (PyCFunction)profiler_reset, METH_NOARGS, "Forgets what is recorded."},
    {"_snapshot", (PyCFunction)profiler_snapshot, METH_O, "What is recorded, as a Run of the given type."},
    {"_stats", (PyCFunction)profiler_stats, METH_NOARGS, "Counters of the session."},
    {"_skipped", (PyCFunction)profiler_skipped, METH_NOARGS,
     "Calls left out by sampling, by operation and device."},
    {"_environment", (PyCFunction)profiler_environment, METH_O, "Sets the environment's JSON text."},
    {"_take_warning", (PyCFunction)profiler_take_warning, METH_NOARGS, "The pending warning or None."},
    {"_leave_out_roles", (PyCFunction)profiler_leave_out_roles, METH_O,
     "Whether snapshots lack scopes with a role, which the file has."},
    {"_set_probes", (PyCFunction)profiler_set_probes, METH_VARARGS, "Sets backend and memory probes."},
    {"_telemetry_start", (PyCFunction)rgm_profiler_telemetry_start, METH_VARARGS,
     "Samples telemetry (interval in ns, budget); the reason why not, or ''."},
    {"_telemetry_state", (PyCFunction)rgm_profiler_telemetry_state, METH_NOARGS,
     "Counts of telemetry, or None."},
    {"_counters_start", (PyCFunction)rgm_profiler_counters_start, METH_VARARGS,
     "Samples counters (device, set, source, interval in ns); the reason why not, or ''."},
    {"_ranges_start", (PyCFunction)rgm_profiler_ranges_start, METH_VARARGS,
     "Makes scopes ranges of hardware counters (set, most ranges, operations or None for all)."},
    {"_ranges_state", (PyCFunction)rgm_profiler_ranges_state, METH_NOARGS,
     "What became of these ranges, or None."},
    {"_sampling_stop", (PyCFunction)rgm_profiler_sampling_stop, METH_NOARGS,
     "Ends telemetry and counters; what the counters came to, or None."},
    {"_stalls_start", (PyCFunction)rgm_profiler_stalls_start, METH_O,
     "Samples why kernels stall, every 2^period cycles, 0 as CUPTI likes; the reason why not, or ''."},
    {"_stalls_collect", (PyCFunction)rgm_profiler_stalls_collect, METH_NOARGS, "Takes what was sampled."},
    {"_stalls_stop", (PyCFunction)rgm_profiler_stalls_stop, METH_NOARGS, "Ends these samples."},
    {"_stalls_state", (PyCFunction)rgm_profiler_stalls_state, METH_NOARGS,
     "What these samples came to, or None."},
    {"_kernels_start", (PyCFunction)rgm_profiler_kernels_start, METH_O,
     "Traces kernels; the reason why not, or ''."},
    {"_kernels_await", (PyCFunction)rgm_profiler_kernels_await, METH_O,
     "Traces kernels from the program's first use of CUDA on."},
    {"_kernels_begin", (PyCFunction)rgm_profiler_kernels_begin, METH_NOARGS,
     "Begins with that now, if the program has initialised the driver."},
    {"_kernels_yield", (PyCFunction)rgm_profiler_kernels_yield, METH_O,
     "Ends tracing that began by itself, or the waiting for it, with this reason."},
    {"_kernels_watch", (PyCFunction)rgm_profiler_kernels_watch, METH_NOARGS, "What became of the waiting."},
    {"_kernels_flush", (PyCFunction)rgm_profiler_kernels_flush, METH_NOARGS, "Collects what has ended."},
    {"_collectives", (PyCFunction)rgm_profiler_collectives, METH_O, "Adds collectives that were queued."},
    {"_kernels_stop", (PyCFunction)rgm_profiler_kernels_stop, METH_NOARGS, "Ends the tracing of kernels."},
    {"_kernels_state", rgm_profiler_kernels_state, METH_NOARGS | METH_STATIC, "Counters of kernel tracing."},
    {"_cupti", rgm_profiler_cupti, METH_NOARGS | METH_STATIC,
     "Which CUPTI there is, or the reason why none."},
    {"_count", (PyCFunction)rgm_profiler_count, METH_NOARGS,
     "Counts the instructions of scopes from here on; False where nothing counts them."},
    {"_device_timing", (PyCFunction)rgm_profiler_device_timing, METH_VARARGS, device_timing_doc},
    {"_device_drain", (PyCFunction)rgm_profiler_device_drain, METH_NOARGS,
     "Waits for device times within device_wait_ns; returns how many are missing."},
    {"_device_state", (PyCFunction)rgm_profiler_device_state, METH_NOARGS,
     "Counters of device timing with the reason why there is none; None while it is off."},
    {"_set_sampling", (PyCFunction)profiler_set_sampling, METH_VARARGS, sampling_doc},
    {"_switch", (PyCFunction)profiler_switch, METH_VARARGS, switch_doc},
    {"_scope_for", (PyCFunction)(void (*)(void))profiler_scope_for, METH_FASTCALL, scope_for_doc},
    {"_role_scope", (PyCFunction)rgm_profiler_role_scope, METH_VARARGS, role_scope_doc},
    {"_wrap", (PyCFunction)profiler_wrap, METH_VARARGS, wrap_doc},
    {"_sampler", (PyCFunction)profiler_sampler, METH_O, "Interval of the memory sampler in ns, 0 stops it."},
    {"_stacks_reason", (PyCFunction)profiler_stacks_reason, METH_NOARGS,
     "Why call stacks are not sampled, '' where they are or nobody asked."},
    {"_resume", (PyCFunction)profiler_resume, METH_NOARGS,
     "In a forked child: samples its stacks from now on."},
    {"_control_group", (PyCFunction)profiler_control_group, METH_O,
     "Adds a folder of a control group whose limit is watched; False when there is no room."},
    {"_warm", (PyCFunction)profiler_warm, METH_O, "Makes room for that many scopes ahead of time."},
    {NULL},
};
PyGetSetDef rgm_profiler_getset[] = {
    {"enabled", (getter)profiler_get_enabled, (setter)profiler_set_enabled, "Whether scopes are recorded."},
    {"path", (getter)profiler_get_path, NULL, "File being written, None when recording in memory."},
    {"_session_id", (getter)profiler_session_id, NULL, "Changes in a forked child; 0 once stopped."},
    {NULL},
};
PyMemberDef rgm_profiler_members[] = {
    {"device_id", T_INT, offsetof(profiler_object, device_id), 0, "Device ordinal that memory is read from."},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(profiler_object, weakrefs), READONLY},
    {NULL},
};
