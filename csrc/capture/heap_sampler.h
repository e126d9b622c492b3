// SPDX-License-Identifier: Apache-2.0
// Allocations of the process by who asked: the blocks that the library before malloc draws (heap/heap.h),
// with the stack of the thread that asked. What is drawn is put aside without a lock, in whatever state the
// program is, and taken up by the thread of the stack sampler, which gives names to stacks.
//
// One session of a process at a time.
#ifndef RGM_CAPTURE_HEAP_SAMPLER_H
#define RGM_CAPTURE_HEAP_SAMPLER_H

#include "capture/stack_sampler.h"

// Why blocks cannot be watched, "" where they can.
const char *rgm_heap_reason(void);
// From here on; false where another session watches already, or there is no memory.
bool rgm_heap_begin(const rgm_stack_source *source, int64_t period);
void rgm_heap_end(void);
// Makes rows of what was put aside, while no rows of stacks come from elsewhere.
void rgm_heap_take(rgm_stack_sampler *stacks, rgm_walker *walker);
// Drops what was put aside: it was another session's, or the parent's.
void rgm_heap_forget(void);

#endif
