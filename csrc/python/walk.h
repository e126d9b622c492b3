// SPDX-License-Identifier: Apache-2.0
// The Python stacks of this process, for the stack sampler (capture/stack_source.h).
#ifndef RGM_PYTHON_WALK_H
#define RGM_PYTHON_WALK_H

#include <stdint.h>

#include "capture/stack_source.h"

extern const rgm_stack_source rgm_python_stacks;

// Walks the calling thread and compares with what Python tells of it: "" where both agree, else the reason
// why stacks cannot be sampled, a text that lasts. Under the interpreter's lock.
const char *rgm_walk_reason(void);

// The line of an instruction by a code object's table of locations; -1 where it has none.
int32_t rgm_line_of_unit(const uint8_t *table, size_t length, int32_t first_line, int32_t unit);

#endif
