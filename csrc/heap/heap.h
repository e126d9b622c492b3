// SPDX-License-Identifier: Apache-2.0
// A sample of the blocks that a process asks its C library for. The library that is built from this folder is
// loaded before all others (LD_PRELOAD) and stands before malloc and its relatives, which do the work; the
// recorder finds it by these names, with dlsym.
//
// Of every byte that is asked for, one in `period` is drawn on average, and the block that it lies in is
// watched until it is given back: a block of n bytes is watched with a probability of 1 - exp(-n / period),
// and stands for n over that many bytes, so that sums are right on average whatever the sizes are. (Poisson
// sampling of bytes, as heap profilers of servers do it.)
#ifndef RGM_HEAP_HEAP_H
#define RGM_HEAP_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Called by the thread that asks or gives back, anywhere in the program. They may not take a lock; what they
// ask for themselves is not watched.
typedef struct {
    void (*taken)(const void *block, int64_t stands_for);
    void (*given)(const void *block);
} rgm_heap_watcher;

// An allocator of a language that takes small objects from large blocks of its own. What stands before it
// counts each object, and not the blocks that it asks for meanwhile.
typedef struct {
    void *context;
    void *(*malloc)(void *context, size_t bytes);
    void *(*calloc)(void *context, size_t count, size_t size);
    void *(*realloc)(void *context, void *block, size_t bytes);
    void (*free)(void *context, void *block);
} rgm_heap_allocator;

#define RGM_HEAP_BEFORE "rgm_heap_before"
// What stands before another one, which has to last.
typedef rgm_heap_allocator (*rgm_heap_before_call)(const rgm_heap_allocator *other);

#define RGM_HEAP_WATCH "rgm_heap_watch"
// Begins, or with NULL ends. False where somebody watches already. The watcher has to last.
typedef bool (*rgm_heap_watch_call)(const rgm_heap_watcher *watcher, int64_t period);

#define RGM_HEAP_LEFT "rgm_heap_left"
// Bytes that the calling thread may still ask for before one is drawn: each block that it gets here takes
// from them.
typedef int64_t (*rgm_heap_left_call)(void);

#endif
