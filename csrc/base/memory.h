// SPDX-License-Identifier: Apache-2.0
// The only door to the heap. Every allocation of the core passes here, so that tests can make the
// n-th one fail and can count what is still alive, so that the hot path can be shown to make none, and so
// that what goes beyond a budget can lie in a file (base/spill.h).
#ifndef RGM_BASE_MEMORY_H
#define RGM_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

void *rgm_malloc(size_t bytes);
void *rgm_calloc(size_t count, size_t bytes);
void *rgm_realloc(void *old, size_t bytes);
void rgm_free(void *block);
char *rgm_strdup(const char *text, size_t length);
// Memory for an array, its content undefined: RGM_TRY(RGM_ROWS(keys, count, err)). Room for one row more, so
// that an array of none is no failure.
#define RGM_ROWS(pointer, count, err)                                                                        \
    (((pointer) = rgm_malloc(((count) + 1) * sizeof *(pointer))) ? RGM_OK : rgm_error_no_memory(err))

// Blocks that may be large: columns, windows of text, scratch memory for as many rows as there are. A large
// one has pages of its own: it grows by moving pages, not bytes, what was never touched takes no memory, and
// all of it goes back to the system when it is freed. The heap would keep such blocks, and copy them while
// they grow, from the moment that some have been freed. New bytes are undefined; these blocks and those above
// do not mix.
void *rgm_block_realloc(void *old, size_t bytes);
void rgm_block_free(void *block);

// What a function holds while it works, given back at the end of the block that declares it, whichever way
// the block is left. Each stands before a declaration that has a value:
//     RGM_FREED int64_t *keys = NULL;                     // rgm_free, and rgm_block_free for RGM_BLOCK_FREED
//     RGM_RELEASED(rgm_view_release) rgm_view view = {0}; // rgm_view_release(&view)
// The last declared goes first. A pointer that is handed on is set to NULL at that place.
#define RGM_FREED __attribute__((cleanup(rgm_free_at)))
#define RGM_BLOCK_FREED __attribute__((cleanup(rgm_block_free_at)))
#define RGM_RELEASED(release) __attribute__((cleanup(release)))
// Of a pointer to any type, hence the copy: to read an int64_t * as a void * is undefined.
static inline void *rgm_pointer_at(const void *variable) {
    void *pointer;
    memcpy(&pointer, variable, sizeof pointer);
    return pointer;
}
static inline void rgm_free_at(void *variable) { rgm_free(rgm_pointer_at(variable)); }
static inline void rgm_block_free_at(void *variable) { rgm_block_free(rgm_pointer_at(variable)); }

// Calls made so far to malloc, calloc and realloc through this file.
uint64_t rgm_memory_calls(void);

#ifdef RGM_FAULTS
// After `after` successful allocations of any thread the next one fails, once; -1 switches the fault off.
void rgm_memory_fail_after(int64_t after);
// The next allocation of this thread fails, whatever other threads allocate meanwhile.
void rgm_memory_fail_next_here(void);
// Blocks allocated and not yet freed.
int64_t rgm_memory_live(void);
#endif

#endif
