// SPDX-License-Identifier: Apache-2.0
// What a walker has read of this process: the list of its threads, and of each the memory that its frames lie
// in. Everything is a copy of what may have changed by now.
#ifndef RGM_PYTHON_WALK_THREADS_H
#define RGM_PYTHON_WALK_THREADS_H

#include <string.h>
#include <sys/types.h>

#include "capture/stack_source.h"

enum {
    RGM_WALK_BLOCKS = 16,    // of one thread
    RGM_WALK_THREADS = 4096, // that are listed
    RGM_WALK_AT_ONCE = 128,  // whose states are read together, and whose frames are
    RGM_WALK_STATE = 1024,   // room for a state
    RGM_WALK_COPY = 1 << 20, // of blocks of frames, in bytes
};

// A piece of a thread's frames as it was a moment ago.
typedef struct {
    uintptr_t begin, end;
    size_t at; // where its copy begins
} rgm_walk_block;

// A thread as the list told of it.
typedef struct {
    uintptr_t state, before, thread;   // the one before it in the list; its native id
    uintptr_t link, block, top, limit; // where its frames are
    size_t at;                         // of what was read of it with others, less 1
} rgm_walk_thread;

typedef struct {
    pid_t process;
    uintptr_t interpreter, next; // of the list
    size_t count;                // listed so far
    rgm_walk_thread listed[RGM_WALK_THREADS];
    size_t read_count; // of the states of last time's list, which were read when the walk began
    char states[RGM_WALK_AT_ONCE * RGM_WALK_STATE];
    char *copy;
    size_t copied, room, together;          // the first so many bytes are of what was read of several threads
    rgm_walk_block blocks[RGM_WALK_BLOCKS]; // of the thread that is looked at
    size_t block_count;
    uintptr_t newest; // of the blocks that have been copied, the last; what is older comes after it
} rgm_walk_threads;

static inline uintptr_t rgm_word_at(const char *bytes, size_t at) {
    uintptr_t word;
    memcpy(&word, bytes + at, sizeof word);
    return word;
}

bool rgm_walk_read(const rgm_walk_threads *all, uintptr_t from, void *to, size_t bytes);
bool rgm_walk_room(char **bytes, size_t *room, size_t wanted);
// The list from its beginning; false where it cannot be read.
bool rgm_walk_threads_begin(rgm_walk_threads *all);
rgm_walk rgm_walk_threads_next(rgm_walk_threads *all, int64_t *thread);
// Reads the frames of these threads in one call, for rgm_walk_innermost to find them read.
void rgm_walk_threads_together(rgm_walk_threads *all, const uint32_t *which, size_t count);
// The innermost frame of a thread, whose blocks are those to be looked at from now on.
rgm_walk rgm_walk_innermost(rgm_walk_threads *all, size_t which, uintptr_t *frame);
// The copy of a frame of that thread, or what could be read of it into `alone`; NULL where it is gone.
const char *rgm_walk_frame(rgm_walk_threads *all, uintptr_t frame, char *alone);

#endif
