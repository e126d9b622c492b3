// SPDX-License-Identifier: Apache-2.0
// The scopes of a run as a forest, whatever lies between them: blocks of the user's program, and annotations
// of a trace. They are numbered so that those nested in one follow it, so what belongs to a scope and to all
// that is nested in it is one stretch of a list that is sorted by scope.
#ifndef RGM_ANALYSIS_SCOPE_TREE_H
#define RGM_ANALYSIS_SCOPE_TREE_H

#include "analysis/view.h"

typedef struct {
    const rgm_view *view;
    int32_t *scope_of; // [n_spans] row of the innermost scope around or at each span, -1 for none
    uint32_t *rows;    // span of each scope, by number
    uint32_t *number;  // [n_spans] of spans that are scopes, UINT32_MAX elsewhere
    uint32_t *after;   // scope i and those in it are [i, after[i])
    size_t count;
} rgm_scope_tree;

rgm_status rgm_scope_tree_init(rgm_scope_tree *tree, const rgm_view *view, rgm_error *err) RGM_NODISCARD;
// Zero-initialised memory is a valid argument.
void rgm_scope_tree_release(rgm_scope_tree *tree);
// Row of the nearest scope around a scope, -1 for none.
int32_t rgm_scope_tree_above(const rgm_scope_tree *tree, uint32_t row);

// Row of the scope that a span belongs to, -1 for none.
typedef int32_t (*rgm_scope_pick)(const void *arg, uint32_t row);
// Rows of spans by the number of the scope that `pick` tells: those of scope i are items[first[i]] up to
// items[first[i + 1]]. Both arrays are the caller's (rgm_free), also after a failure.
rgm_status rgm_scope_tree_sort(const rgm_scope_tree *tree, rgm_scope_pick pick, const void *arg,
                               uint32_t **first, uint32_t **items, rgm_error *err) RGM_NODISCARD;

#endif
