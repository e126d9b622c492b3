// SPDX-License-Identifier: Apache-2.0
// Whether a walk finds what Python tells.
#include <string.h>

#include "base/memory.h"
#include "python/state.h"
#include "python/walk.h"

static bool same_text(const char *text, size_t length, PyObject *str) {
    Py_ssize_t size;
    const char *expected = PyUnicode_AsUTF8AndSize(str, &size);
    if (!expected) PyErr_Clear();
    return expected && ((size_t)size == length || length + 4 > RGM_STACK_TEXT) &&
           memcmp(expected, text, length < (size_t)size ? length : (size_t)size) == 0;
}

static bool same_frame(rgm_walker *w, const rgm_source_frame *frame, PyFrameObject *expected) {
    char function[RGM_STACK_TEXT], file[RGM_STACK_TEXT];
    size_t function_length, file_length;
    PyCodeObject *code = PyFrame_GetCode(expected);
    bool same = rgm_python_stacks.names(w, frame, function, &function_length, file, &file_length) &&
                frame->code == (uintptr_t)code && same_text(function, function_length, code->co_qualname) &&
                same_text(file, file_length, code->co_filename) &&
                rgm_python_stacks.line(w, frame) == PyFrame_GetLineNumber(expected);
    Py_DECREF(code);
    return same;
}

// The calling thread's stack, as the walk sees it and as Python tells it.
static bool agrees(rgm_walker *w, rgm_source_frame *frames) {
    const char *reason;
    int64_t thread;
    size_t count, at = 0;
    uint32_t number = UINT32_MAX;
    bool cut, same = true;
    if (!rgm_python_stacks.begin(w, &reason)) return false;
    do {
        if (rgm_python_stacks.next(w, &thread) != RGM_WALK_FOUND) return false;
        number++;
    } while ((unsigned long)thread != PyThreadState_Get()->native_thread_id);
    rgm_kept_stack kept = {0};
    rgm_walk found = rgm_python_stacks.frames(w, number, &kept, frames, &count, &cut);
    rgm_free(kept.frames);
    if (found != RGM_WALK_FOUND) return false;
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
    while (frame && same && at < count) {
        same = same_frame(w, &frames[at++], frame);
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    same = same && (cut || (!frame && at == count));
    Py_XDECREF(frame);
    return same;
}

const char *rgm_walk_reason(void) {
    const char *reason;
    rgm_walker *w = rgm_python_stacks.start(&reason);
    if (!w) return reason;
    rgm_source_frame *frames = rgm_malloc(RGM_STACK_DEEPEST * sizeof *frames);
    if (!frames) reason = "there is no memory for it";
    if (frames && !agrees(w, frames))
        reason = "a walk through the frames of this Python did not find what Python tells";
    rgm_free(frames);
    rgm_python_stacks.stop(w);
    return reason;
}
