// SPDX-License-Identifier: Apache-2.0
// The only file that looks into Python's own headers.
#define Py_BUILD_CORE 1
#include <Python.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wshadow"
#include <internal/pycore_frame.h>
#if PY_VERSION_HEX >= 0x030E0000
#include <internal/pycore_interpframe_structs.h>
#endif
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#pragma GCC diagnostic pop

#include "python/frames.h"

#if PY_VERSION_HEX >= 0x030D0000
#define INSTRUCTION_PLACE offsetof(_PyInterpreterFrame, instr_ptr)

const char *rgm_frame_of(const PyThreadState *state) {
    return (const char *)*(_PyInterpreterFrame *const volatile *)&state->current_frame;
}
#else
#define INSTRUCTION_PLACE offsetof(_PyInterpreterFrame, prev_instr)

// What `cframe` points to lies on the thread's stack, which stays where it is.
const char *rgm_frame_of(const PyThreadState *state) {
    const _PyCFrame *frame = *(_PyCFrame *const volatile *)&state->cframe;
    return frame ? (const char *)*(_PyInterpreterFrame *const volatile *)&frame->current_frame : NULL;
}
#endif

const size_t rgm_frame_place = INSTRUCTION_PLACE;

rgm_frame_memory rgm_frames_lasting(const PyThreadState *state) {
    const _PyStackChunk *block = state->datastack_chunk;
    return block ? (rgm_frame_memory){(const char *)block, (const char *)block + block->size}
                 : (rgm_frame_memory){NULL, NULL};
}

// --- what a walk reads ------------------------------------------------------------------------------------

#if PY_VERSION_HEX >= 0x030D0000
#define FRAME_FIELD current_frame
#define CODE_FIELD f_executable
#define FRAME_IS_INDIRECT false
#define FRAME_OF_THAT 0
#else
#define FRAME_FIELD cframe
#define CODE_FIELD f_code
#define FRAME_IS_INDIRECT true
#define FRAME_OF_THAT offsetof(_PyCFrame, current_frame)
#endif

#define OF_STATE(field) offsetof(PyThreadState, field)
#define OF_FRAME(field) offsetof(_PyInterpreterFrame, field)
#define OF_CODE(field) offsetof(PyCodeObject, field)

const rgm_frame_layout rgm_layout = {
    .interpreter = {.threads = offsetof(PyInterpreterState, threads) + offsetof(struct pythreads, head),
                    .next = offsetof(PyInterpreterState, next)},
    .state = {.bytes = OF_STATE(datastack_limit) + sizeof(PyObject **),
              .previous = OF_STATE(prev),
              .next = OF_STATE(next),
              .interpreter = OF_STATE(interp),
              .thread = OF_STATE(native_thread_id),
              .frame = OF_STATE(FRAME_FIELD),
              .block = OF_STATE(datastack_chunk),
              .from_top = OF_STATE(datastack_top),
              .limit = OF_STATE(datastack_limit)},
    .frame_is_indirect = FRAME_IS_INDIRECT,
    .frame_of_that = FRAME_OF_THAT,
    .frame = {.bytes = OF_FRAME(localsplus),
              .code = OF_FRAME(CODE_FIELD),
              .previous = OF_FRAME(previous),
              .instruction = INSTRUCTION_PLACE,
              .owner = OF_FRAME(owner),
              .of_thread = FRAME_OWNED_BY_THREAD,
              .foreign = 3},
    .block = {.previous = offsetof(_PyStackChunk, previous),
              .top = offsetof(_PyStackChunk, top),
              .data = offsetof(_PyStackChunk, data)},
    .code = {.bytes = OF_CODE(co_code_adaptive),
             .type = offsetof(PyObject, ob_type),
             .units = offsetof(PyVarObject, ob_size),
             .file = OF_CODE(co_filename),
             .name = OF_CODE(co_qualname),
             .lines = OF_CODE(co_linetable),
             .first_line = OF_CODE(co_firstlineno)},
    .bytes = {.type = offsetof(PyObject, ob_type),
              .size = offsetof(PyVarObject, ob_size),
              .data = offsetof(PyBytesObject, ob_sval)},
};

uintptr_t rgm_frames_interpreters(void) { return (uintptr_t)&_PyRuntime.interpreters.head; }

uintptr_t rgm_frames_interpreter(void) { return (uintptr_t)PyInterpreterState_Main(); }

static const struct _gil_runtime_state *the_lock(void) {
#if PY_VERSION_HEX >= 0x030C0000
    return PyInterpreterState_Main()->ceval.gil;
#else
    return &_PyRuntime.ceval.gil;
#endif
}

rgm_frame_memory rgm_frames_lock(void) {
    const struct _gil_runtime_state *lock = the_lock();
    return (rgm_frame_memory){(const char *)lock, (const char *)(lock + 1)};
}

// Who had the lock last has it still, unless nobody has.
bool rgm_frames_has_lock(uintptr_t state) {
    const struct _gil_runtime_state *lock = the_lock();
    const volatile int *locked = (const volatile int *)&lock->locked;
    const volatile uintptr_t *holder = (const volatile uintptr_t *)&lock->last_holder;
    return *locked && *holder == state;
}

const char *rgm_frames_reason(void) {
#if PY_VERSION_HEX >= 0x03100000
    return "stacks are not known of this version of Python";
#elif defined(Py_GIL_DISABLED)
    return "stacks are not sampled in a free-threaded build of Python";
#else
    const PyInterpreterState *first = _PyRuntime.interpreters.head;
    if (first != PyInterpreterState_Main() || first->next)
        return "the process has more than one interpreter of Python";
    return "";
#endif
}

bool rgm_frames_text(const void *head, size_t *from, size_t *count, size_t *width) {
    PyASCIIObject text;
    memcpy(&text, head, sizeof text);
    if (text.ob_base.ob_type != &PyUnicode_Type || !text.state.compact || text.length < 0) return false;
    *from = text.state.ascii ? sizeof(PyASCIIObject) : sizeof(PyCompactUnicodeObject);
    *count = (size_t)text.length;
    *width = text.state.kind;
    return *width == 1 || *width == 2 || *width == 4;
}
