// SPDX-License-Identifier: Apache-2.0
// Samples of why kernels stall, by a profiler: start, collection, end, and what is known about them.
#include <string.h>

#include "base/memory.h"
#include "capture/device.h"
#include "python/profiler.h"
#include "python/rows.h"

// The reason why nothing is sampled, "" when it is.
PyObject *rgm_profiler_stalls_start(profiler_object *self, PyObject *period) {
    rgm_stall_options options = rgm_stall_defaults();
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status;
    unsigned long exponent = PyLong_AsUnsignedLong(period);
    if (exponent == (unsigned long)-1 && PyErr_Occurred()) return NULL;
    if (!self->session) {
        PyErr_SetString(PyExc_RuntimeError, "the profiler has not been initialised");
        return NULL;
    }
    if (self->stalls) return PyUnicode_FromString("");
    options.setting.period = exponent > 31 ? 32 : (uint32_t)exponent; // 32: refused
    rgm_device_sink sink = rgm_session_sink(self->session);
    RGM_UNLOCKED(status = rgm_stall_sampling_start(&self->stalls, &options, sink, &err));
    if (status == RGM_INVALID) return PyErr_Format(PyExc_ValueError, "%s", err.message);
    if (status == RGM_OK) return PyUnicode_FromString("");
    return PyUnicode_DecodeUTF8(err.message, (Py_ssize_t)strlen(err.message), "replace");
}

PyObject *rgm_profiler_stalls_collect(profiler_object *self, PyObject *unused) {
    RGM_UNLOCKED(rgm_stall_sampling_collect(self->stalls));
    Py_RETURN_NONE;
}

// Without the interpreter's lock; any number of times. The state at the end is kept. Like the calls above and
// below it, never while another thread is in one of them: the profiler's lock in Python is held.
void rgm_profiler_stalls_close(profiler_object *self) {
    rgm_stall_sampling *stalls = self->stalls;
    if (stalls && !self->stalls_state) self->stalls_state = rgm_calloc(1, sizeof *self->stalls_state);
    self->stalls = NULL;
    if (!stalls) return;
    rgm_stall_sampling_stop(stalls, self->stalls_state);
}

PyObject *rgm_profiler_stalls_stop(profiler_object *self, PyObject *unused) {
    RGM_UNLOCKED(rgm_profiler_stalls_close(self));
    Py_RETURN_NONE;
}

#define FIGURE(member) RGM_MEMBER_AS(rgm_stall_state, figures.member, #member)
static const rgm_member members[] = {
    RGM_MEMBER(rgm_stall_state, reason),
    RGM_MEMBER(rgm_stall_state, path),
    RGM_MEMBER(rgm_stall_state, forked),
    RGM_MEMBER(rgm_stall_state, devices),
    RGM_MEMBER(rgm_stall_state, missed),
    RGM_MEMBER(rgm_stall_state, period),
    RGM_MEMBER_AS(rgm_stall_state, cpu_ns, "service_cpu_ns"),
    FIGURE(samples),
    FIGURE(not_issued),
    FIGURE(total),
    FIGURE(dropped),
    FIGURE(no_record),
    FIGURE(lines),
    RGM_MEMBER_AS(rgm_stall_state, cubins.seen, "binaries"),
    RGM_MEMBER_AS(rgm_stall_state, cubins.with_lines, "binaries_with_lines"),
    RGM_MEMBER_AS(rgm_stall_state, cubins.left_out, "binaries_left_out"),
    RGM_MEMBER(rgm_stall_state, asks_for_cubins),
    FIGURE(full),
    FIGURE(failures),
};
#undef FIGURE

// None where nothing was ever sampled.
PyObject *rgm_profiler_stalls_state(profiler_object *self, PyObject *unused) {
    rgm_stall_state state = {0};
    rgm_stall_sampling *stalls = self->stalls;
    const rgm_stall_state *last = self->stalls_state;
    if (!stalls && !last) Py_RETURN_NONE;
    Py_BEGIN_ALLOW_THREADS;
    if (stalls)
        rgm_stall_sampling_read(stalls, &state);
    else
        state = *last;
    Py_END_ALLOW_THREADS;
    return RGM_DICT_OF(&state, members);
}
