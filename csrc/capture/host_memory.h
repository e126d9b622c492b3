// SPDX-License-Identifier: Apache-2.0
// Host memory: what the process has of it.
#ifndef RGM_CAPTURE_HOST_MEMORY_H
#define RGM_CAPTURE_HOST_MEMORY_H

#include <stdbool.h>

#include "model/record.h"

// Resident set in bytes from a kept-open /proc/self/statm (half a microsecond), -1 when there is none.
int64_t rgm_memory_resident(void);
// The part of it that no file stands behind, from the same place; a fork copies the page tables of this.
int64_t rgm_memory_private(void);
// In use and held by malloc (mallinfo2); false where the C library does not offer it. Takes the allocator's
// locks, so it is read on request only, never at an interval.
bool rgm_memory_malloc(int64_t *in_use, int64_t *held);
// After fork the kept-open file would still show the parent.
void rgm_memory_reopen(void);

// What was last told of the resident set.
typedef struct {
    int64_t heartbeat_ns;
    int64_t bytes, told_ns;
} rgm_memory_watch;

// Looks at the resident set; true where it is to be told, in `sample`: where it has changed, and once a
// heartbeat where it has not.
bool rgm_memory_look(rgm_memory_watch *watch, rgm_sample *sample);

#endif
