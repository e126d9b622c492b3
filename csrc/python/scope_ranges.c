// SPDX-License-Identifier: Apache-2.0
// Hardware counters in ranges of scopes. CUPTI measures the context of one thread, and in one pass one level
// of ranges: those are the outermost of the scopes that are wanted, in the thread of the first of them that
// had a CUDA context. Starting waits until there is one, because the program may make it after the profiler.
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "capture/device.h"
#include "cuda/counters/range_profiler.h"
#include "cuda/library/driver.h"
#include "python/profiler.h"

typedef enum { RANGES_WAITING, RANGES_RUNNING, RANGES_REFUSED, RANGES_ENDED } ranges_state;

struct scope_ranges {
    rgm_range_options options;
    PyObject *names;              // set of operations, NULL for all
    rgm_range_profiler *profiler; // while RUNNING
    ranges_state state;
    pthread_t thread;
    pid_t process;
    const scope_object *open;      // whose range is open
    _Atomic(bool) ended_elsewhere; // that scope ended on another thread
    rgm_range_counts counts;
    char reason[sizeof((rgm_error *)0)->message];
};

static bool is_wanted(const struct scope_ranges *ranges, const scope_object *scope) {
    if (scope->site->device == RGM_DEVICE_CPU) return false;
    if (!ranges->names) return true;
    rgm_string name = rgm_session_text(scope->profiler->session, scope->site->name);
    PyObject *text = PyUnicode_DecodeUTF8(name.data, name.length, "replace");
    int found = text ? PySet_Contains(ranges->names, text) : -1;
    Py_XDECREF(text);
    if (found < 0) PyErr_Clear();
    return found > 0;
}

// Never pulls the driver in, and never initialises it.
static bool has_context(void) {
    const rgm_driver *driver;
    rgm_cu_context context = NULL;
    if (rgm_driver_get(&driver, RGM_LIBRARY_IF_LOADED, NULL) != RGM_OK) return false;
    return driver->context_current(&context) == RGM_CU_SUCCESS && context;
}

static void start(struct scope_ranges *ranges, rgm_session *session) {
    rgm_error err = RGM_ERROR_NONE;
    rgm_status status =
        rgm_range_profiler_start(&ranges->profiler, &ranges->options, rgm_session_sink(session), &err);
    ranges->state = status == RGM_OK ? RANGES_RUNNING : RANGES_REFUSED;
    ranges->thread = pthread_self();
    ranges->process = getpid();
    memcpy(ranges->reason, err.message, sizeof ranges->reason);
}

static bool is_running_here(const struct scope_ranges *ranges) {
    return ranges->state == RANGES_RUNNING && pthread_equal(ranges->thread, pthread_self()) &&
           ranges->process == getpid();
}

static void end_open(struct scope_ranges *ranges) {
    rgm_range_profiler_pop(ranges->profiler);
    ranges->open = NULL;
    atomic_store(&ranges->ended_elsewhere, false);
}

void rgm_scope_range_begin(scope_object *scope) {
    struct scope_ranges *ranges = scope->profiler->ranges;
    if (ranges->state == RANGES_WAITING && is_wanted(ranges, scope) && has_context())
        start(ranges, scope->profiler->session);
    if (!is_running_here(ranges)) return;
    if (ranges->open && atomic_load(&ranges->ended_elsewhere)) end_open(ranges);
    if (!is_wanted(ranges, scope)) return;
    if (ranges->open) {
        ranges->counts.nested++;
        return;
    }
    rgm_range_profiler_push(ranges->profiler, scope->site->name);
    ranges->open = scope;
}

void rgm_scope_range_end(const scope_object *scope) {
    struct scope_ranges *ranges = scope->profiler->ranges;
    if (ranges->open != scope) return;
    if (is_running_here(ranges))
        end_open(ranges);
    else
        atomic_store(&ranges->ended_elsewhere, true);
}

// --- of a profiler ----------------------------------------------------------------------------------------

PyObject *rgm_profiler_ranges_start(profiler_object *self, PyObject *args) {
    const char *set;
    unsigned max_ranges;
    PyObject *names;
    if (!self->session) return PyErr_Format(PyExc_RuntimeError, "the profiler has not been initialised");
    if (!PyArg_ParseTuple(args, "sIO", &set, &max_ranges, &names)) return NULL;
    rgm_counter_set found = rgm_counter_set_find(set);
    if (found == RGM_COUNTER_SET_NONE || rgm_counter_sets[found].profiler != RGM_CUPTI_RANGE_PROFILER ||
        !max_ranges)
        return PyErr_Format(PyExc_ValueError, "no set of counters for ranges is called \"%s\"", set);
    if (self->ranges) Py_RETURN_NONE;
    struct scope_ranges *ranges = rgm_calloc(1, sizeof *ranges);
    if (!ranges) return PyErr_NoMemory();
    ranges->options = (rgm_range_options){.set = found, .max_ranges = max_ranges};
    if (names != Py_None && !(ranges->names = PyFrozenSet_New(names))) {
        rgm_free(ranges);
        return NULL;
    }
    self->ranges = ranges;
    self->special |= SPECIAL_RANGES;
    Py_RETURN_NONE;
}

void rgm_profiler_ranges_close(profiler_object *self) {
    struct scope_ranges *ranges = self->ranges;
    if (!ranges || ranges->state == RANGES_ENDED) return;
    rgm_range_profiler *profiler = ranges->profiler;
    rgm_range_counts counts = {0};
    // Scopes of other threads may look meanwhile.
    ranges->profiler = NULL;
    ranges->open = NULL;
    if (ranges->state != RANGES_REFUSED) ranges->state = RANGES_ENDED;
    RGM_UNLOCKED(rgm_range_profiler_stop(profiler, &counts));
    counts.nested = ranges->counts.nested;
    ranges->counts = counts;
}

void rgm_profiler_ranges_free(profiler_object *self) {
    if (!self->ranges) return;
    Py_CLEAR(self->ranges->names);
    rgm_free(self->ranges);
    self->ranges = NULL;
}

// What became of the ranges, None when none were asked for.
PyObject *rgm_profiler_ranges_state(profiler_object *self, PyObject *unused) {
    static const char *const states[] = {"waiting", "running", "refused", "ended"};
    const struct scope_ranges *ranges = self->ranges;
    if (!ranges) Py_RETURN_NONE;
    const rgm_range_counts *counts = &ranges->counts;
    return Py_BuildValue("{sssssOsLsLsLsL}", "state", states[ranges->state], "reason", ranges->reason,
                         "started", ranges->process ? Py_True : Py_False, "ranges", (long long)counts->ranges,
                         "dropped", (long long)counts->dropped, "nested", (long long)counts->nested,
                         "failures", (long long)counts->failures);
}
