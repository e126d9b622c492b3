// SPDX-License-Identifier: Apache-2.0
// Which line of a stack a reader would look at.
#ifndef RGM_ANALYSIS_STACK_LINE_H
#define RGM_ANALYSIS_STACK_LINE_H

#include "analysis/view.h"

// The innermost function of the program itself, not of the interpreter's library or of an installed package;
// where there is none the innermost of all. A row of `stacks`.
int32_t rgm_stack_own_line(const rgm_view *view, int32_t stack);
// Whether the stack is in an import that no line of the program within it has begun.
bool rgm_stack_imports(const rgm_view *view, int32_t stack);
// Whether the stack is in what hands out items: in __next__ or __iter__, or in the program's own __getitem__
// or collate function.
bool rgm_stack_iterates(const rgm_view *view, int32_t stack);

#endif
