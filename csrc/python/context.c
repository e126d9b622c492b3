// SPDX-License-Identifier: Apache-2.0
// Contexts of tasks: which one is current, and from which one it was entered.
//
// While a Context runs it remembers the one that was current before, and so the chain of contexts on the real
// stack of the thread is known: for a task, the code that runs the event loop. The field has been the first
// of the object in every version so far, but it is not part of CPython's interface; whether it is where it is
// expected is tried out once, and when it is not, tasks simply have no parent.
#include "python/profiler.h"

typedef struct {
    PyObject_HEAD
    PyObject *entered_from;
} context_layout;

static bool layout_known; // a property of the interpreter's binary, so one answer per process

static const void *entered_from(const void *context) {
    return context ? ((const context_layout *)context)->entered_from : NULL;
}

int rgm_context_init(void) {
    PyObject *outer = PyContext_New(), *inner = PyContext_New();
    int failed = !outer || !inner || PyContext_Enter(outer) < 0;
    if (!failed && PyContext_Enter(inner) == 0) {
        layout_known = Py_TYPE(inner)->tp_basicsize >= (Py_ssize_t)sizeof(context_layout) &&
                       entered_from(inner) == outer && rgm_current_context() == inner;
        failed = PyContext_Exit(inner) < 0;
    }
    if (outer && PyContext_Exit(outer) < 0) failed = 1;
    Py_XDECREF(outer);
    Py_XDECREF(inner);
    return failed ? -1 : 0;
}

bool rgm_context_switch(rgm_recorder *recorder, const void *context) {
    if (!rgm_recorder_switch(recorder, context)) return false;
    if (atomic_load_explicit(&recorder->track->top, memory_order_relaxed)) return true;
    rgm_track *around = NULL;
    for (const void *at = layout_known ? entered_from(context) : NULL; at && !around; at = entered_from(at)) {
        around = rgm_recorder_track_of(recorder, at);
        if (around && !atomic_load_explicit(&around->top, memory_order_relaxed) && !around->suppressed)
            around = NULL;
    }
    rgm_recorder_nest(recorder, around);
    return true;
}
