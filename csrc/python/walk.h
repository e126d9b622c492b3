// SPDX-License-Identifier: Apache-2.0
// The Python stacks of this process, for the stack sampler (capture/stack_source.h).
#ifndef RGM_PYTHON_WALK_H
#define RGM_PYTHON_WALK_H

#include "capture/stack_source.h"

extern const rgm_stack_source rgm_python_stacks;

// Walks the calling thread and compares with what Python tells of it: "" where both agree, else the reason
// why stacks cannot be sampled, a text that lasts. Under the interpreter's lock.
const char *rgm_walk_reason(void);

#endif
