// SPDX-License-Identifier: Apache-2.0
// The lines, or the functions, that call stacks are made of: which rows of `stacks` are at the same place. A
// stack within an installed package or the interpreter's library may be at the line of the program that
// called it.
#ifndef RGM_ANALYSIS_STACK_PLACES_H
#define RGM_ANALYSIS_STACK_PLACES_H

#include "analysis/view.h"

// Values of group_by.
typedef enum { RGM_PLACES_ARE_LINES, RGM_PLACES_ARE_FUNCTIONS, RGM_PLACES_ARE_OWN_LINES } rgm_place_kind;

typedef struct {
    const rgm_stacks *stacks;
    rgm_place_kind kind;
    size_t count;
    uint32_t *of_stack; // [stacks] the place of its innermost function
    uint32_t *first;    // [count] the first stack that ends there
    uint32_t *seen;     // [count] the last stack that it was counted for + 1
} rgm_stack_places;

rgm_status rgm_stack_places_init(rgm_stack_places *places, const rgm_view *view, rgm_place_kind kind,
                                 rgm_error *err) RGM_NODISCARD;
void rgm_stack_places_release(rgm_stack_places *places);
// Of a function its first line; -1 when not known.
int32_t rgm_stack_place_line(const rgm_stack_places *places, size_t place);
// From a stack outward: the next of it and its callers that is at a place not met before in this walk, -1 for
// none. at: the stack itself for the first step, and then the parent of what was returned.
int64_t rgm_stack_places_next(rgm_stack_places *places, size_t stack, int64_t at);

#endif
