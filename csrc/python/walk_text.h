// SPDX-License-Identifier: Apache-2.0
// What a code object says of itself, read without the interpreter's lock: names, and lines of instructions.
#ifndef RGM_PYTHON_WALK_TEXT_H
#define RGM_PYTHON_WALK_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// The str at this address in UTF-8, cut to RGM_STACK_TEXT bytes; false where there is none (any more).
bool rgm_walk_text(pid_t self, uintptr_t at, char *out, size_t *length);
// The line of an instruction by a code object's table of locations; -1 where it has none.
int32_t rgm_line_of_unit(const uint8_t *table, size_t length, int32_t first_line, int32_t unit);

#endif
