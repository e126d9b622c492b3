// SPDX-License-Identifier: Apache-2.0
// Call stacks as a tree: each distinct stack is a node, whose parent is the stack without its innermost
// function. Names are interned where a function is first seen; what is at an address is looked at again once
// a second, since addresses serve again.
//
// Threads: one at a time.
#ifndef RGM_CAPTURE_STACK_TREE_H
#define RGM_CAPTURE_STACK_TREE_H

#include "base/status.h"
#include "base/strings.h"
#include "capture/stack_source.h"
#include "model/record.h"

typedef struct rgm_stack_tree rgm_stack_tree;

typedef enum {
    RGM_STACK_KNOWN,      // *node is its number
    RGM_STACK_UNREADABLE, // the names of a function could not be read
    RGM_STACK_NO_ROOM,
} rgm_stack_found;

// Takes a new node; false where it has no room, and then the node is not in the tree either.
typedef bool (*rgm_stack_take)(void *arg, const rgm_stack_row *row);

rgm_status rgm_stack_tree_new(rgm_stack_tree **tree, rgm_strings *strings, rgm_stack_take take, void *arg,
                              rgm_error *err) RGM_NODISCARD;
void rgm_stack_tree_free(rgm_stack_tree *tree);
// Forgets everything; numbers begin at 0 again.
void rgm_stack_tree_clear(rgm_stack_tree *tree);
// The number of a stack, innermost function first; cut: more functions called these.
rgm_stack_found rgm_stack_tree_find(rgm_stack_tree *tree, const rgm_stack_source *source, rgm_walker *walker,
                                    const rgm_source_frame *frames, size_t count, bool cut, int64_t now_ns,
                                    uint32_t *node);
// The same from the stack *node on, on which these functions are called. `kept` (of `count`, may be NULL)
// gets the numbers on the way, outermost first.
rgm_stack_found rgm_stack_tree_follow(rgm_stack_tree *tree, const rgm_stack_source *source,
                                      rgm_walker *walker, const rgm_source_frame *frames, size_t count,
                                      int64_t now_ns, rgm_kept_frame *kept, uint32_t *node);

#endif
