// SPDX-License-Identifier: Apache-2.0
// Who can tell which functions the threads of this process are in, without stopping them. The language's half
// of the stack sampler: it is handed to a session, and asked by the sampler's thread alone.
//
// A walk: begin, then next for each thread, then frames where wanted. Threads have the numbers 0, 1, ... in
// the order in which next tells them. Addresses of frames tell functions from
// one another; they may be gone by the time the names are asked for.
#ifndef RGM_CAPTURE_STACK_SOURCE_H
#define RGM_CAPTURE_STACK_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RGM_STACK_DEEPEST = 1024, RGM_STACK_TEXT = 1024 };

typedef struct {
    uint64_t code, name, file, lines; // addresses
    int32_t first_line;
    int32_t unit; // of the code, -1 before the first
    int32_t line; // 0 where it has not been read: `line` tells
} rgm_source_frame;

// A function of a stack as the last walk found it, and the number of the stack that it is the innermost of.
typedef struct {
    uint64_t frame, code, instruction;
    uint32_t node;
} rgm_kept_frame;

// Where a thread stood at its last walk, outermost function first. Frames and times are the source's, nodes
// the sampler's, which frees it.
typedef struct {
    rgm_kept_frame *frames;
    size_t count, room;
    int64_t since_ns; // since when none of it has been looked at
} rgm_kept_stack;

typedef enum {
    RGM_WALK_END, // no more threads, or no function
    RGM_WALK_FOUND,
    RGM_WALK_TORN, // what was read contradicts itself
} rgm_walk;

typedef struct rgm_walker rgm_walker;

typedef struct {
    // NULL with a reason that lasts where threads cannot be walked.
    rgm_walker *(*start)(const char **reason);
    void (*stop)(rgm_walker *walker);
    // False with a reason where no walk is possible any more.
    bool (*begin)(rgm_walker *walker, const char **reason);
    // The next thread, by its native id.
    rgm_walk (*next)(rgm_walker *walker, int64_t *thread);
    // Reads at once what `frames` will ask for of these threads. Those with the language's lock, which move
    // on, are read when they are asked for, as all others are without this.
    void (*together)(rgm_walker *walker, const uint32_t *which, size_t count);
    // The functions of a thread, innermost first, without those at the outer end that are as they were
    // kept. What is kept becomes this stack; less than *count where it could not be. *cut: there are more.
    rgm_walk (*frames)(rgm_walker *walker, uint32_t which, rgm_kept_stack *kept, rgm_source_frame *frames,
                       size_t *count, bool *cut);
    // The functions of the calling thread, the innermost first and at most so many; none outside of the
    // language. Their lines too: code may be gone right after (that of a module when it has run). Takes no
    // lock and asks for no memory.
    void (*own_frames)(rgm_source_frame *frames, size_t most, size_t *count, bool *cut);
    // Names in UTF-8, cut to RGM_STACK_TEXT bytes; false where they cannot be read.
    bool (*names)(rgm_walker *walker, const rgm_source_frame *frame, char *function, size_t *function_length,
                  char *file, size_t *file_length);
    // The line that the frame is at; -1 where the code has none.
    int32_t (*line)(rgm_walker *walker, const rgm_source_frame *frame);
    // Whether a thread that waits at this address waits for the language's lock.
    bool (*is_lock)(const rgm_walker *walker, uint64_t address);
    // Whether this thread has that lock.
    bool (*has_lock)(const rgm_walker *walker, uint32_t which);
    // Whether the innermost function is in another step than the last `frames` or `moved` found it in.
    bool (*moved)(rgm_walker *walker);
} rgm_stack_source;

#endif
