// SPDX-License-Identifier: Apache-2.0
// Operators of a run as a forest, and the device work that each caused. Operators are numbered lane by lane
// in order of start, so that a parent has a smaller number than its children.
#ifndef RGM_ANALYSIS_OP_TREE_H
#define RGM_ANALYSIS_OP_TREE_H

#include "analysis/view.h"

typedef struct {
    size_t count;
    uint32_t *rows;   // [count] span of each operator
    int32_t *of_span; // [n_spans] number of the innermost operator at the span, itself included, -1 for none
    int32_t *parent;  // [count] number of the operator around, -1 for none
    int64_t *self_ns; // [count] duration without the union of the operators directly inside
    int64_t *device_ns;       // [count] sum of the durations of device work it caused itself
    int64_t *total_device_ns; // [count] the same with all operators inside
} rgm_op_tree;

rgm_status rgm_op_tree_init(rgm_op_tree *tree, const rgm_view *view, rgm_error *err) RGM_NODISCARD;
// Zero-initialised memory is a valid argument.
void rgm_op_tree_release(rgm_op_tree *tree);

// outermost[i]: no operator around i has the same group. `open` has room for a zero for every group, `stack`
// for every operator.
void rgm_op_tree_outermost(const rgm_op_tree *tree, const uint32_t *group, uint32_t *open, int32_t *stack,
                           uint8_t *outermost);

// The operator that caused a piece of device work or made a call, as a number of the tree; -1 for none.
static inline int32_t rgm_op_tree_cause(const rgm_op_tree *tree, const rgm_view *view, size_t row) {
    return view->op[row] >= 0 ? tree->of_span[view->op[row]] : -1;
}

#endif
