// SPDX-License-Identifier: Apache-2.0
// Where this version of Python keeps the instruction that a thread is at, and what leads there.
#ifndef RGM_PYTHON_FRAMES_H
#define RGM_PYTHON_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "python/state.h"

// The block in which the calling frame lies: it stays until that frame has ended.
typedef struct {
    const char *begin, *end;
} rgm_frame_memory;
rgm_frame_memory rgm_frames_lasting(const PyThreadState *state);
// The innermost frame of a thread as it is now, NULL outside of Python. It may be gone when it is looked at.
const char *rgm_frame_of(const PyThreadState *state);
// Where in a frame the address of the instruction is.
extern const size_t rgm_frame_place;

// Distances in bytes, within the structures of this version, of what a walk through them reads.
typedef struct {
    struct {
        size_t threads; // the first thread state, newest first
        size_t next;
    } interpreter;
    struct {
        size_t bytes; // how much of it is read
        size_t previous, next, interpreter, thread;
        size_t frame;    // the innermost frame, or what points to it
        size_t block;    // newest block of frames
        size_t from_top; // first free word in it
        size_t limit;    // its end
    } state;
    bool frame_is_indirect; // the field points to a structure that begins at `frame_of_that` with the frame
    size_t frame_of_that;
    struct {
        size_t bytes, code, previous, instruction, owner;
        int of_thread; // the owner of what is called; generators and what is kept of a call have others
        int foreign;   // owners from here on are no functions of Python
    } frame;
    struct {
        size_t previous, top, data;
    } block;
    struct {
        size_t bytes; // up to the first instruction, which follows
        size_t type, units, file, name, lines, first_line;
    } code;
    struct {
        size_t type, size, data;
    } bytes;
} rgm_frame_layout;
extern const rgm_frame_layout rgm_layout;

// Why threads of this process cannot be walked: "", or a text that lasts.
const char *rgm_frames_reason(void);
// Where the interpreters are listed, and the one that the process began with.
uintptr_t rgm_frames_interpreters(void);
uintptr_t rgm_frames_interpreter(void);
// Memory of the lock of that interpreter, which waiting threads wait on.
rgm_frame_memory rgm_frames_lock(void);
// Whether the thread of this state has it, as far as can be told without it.
bool rgm_frames_has_lock(uintptr_t state);

enum { RGM_TEXT_HEAD = sizeof(PyCompactUnicodeObject) };
// Of a str, of which the first RGM_TEXT_HEAD bytes are given: where its characters lie relative to it, how
// many there are and how wide each is. False for what is no str.
bool rgm_frames_text(const void *head, size_t *from, size_t *count, size_t *width);

#endif
