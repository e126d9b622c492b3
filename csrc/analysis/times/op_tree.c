// SPDX-License-Identifier: Apache-2.0
#include "analysis/times/op_tree.h"

#include "analysis/stats.h"
#include "analysis/times/enclosing.h"
#include "base/memory.h"

static rgm_status allocate(rgm_op_tree *tree, size_t spans, rgm_error *err) {
    size_t count = tree->count + 1;
    tree->rows = rgm_malloc(count * sizeof *tree->rows);
    tree->of_span = rgm_malloc((spans + 1) * sizeof *tree->of_span);
    tree->parent = rgm_malloc(count * sizeof *tree->parent);
    tree->self_ns = rgm_malloc(count * sizeof *tree->self_ns);
    tree->device_ns = rgm_calloc(count, sizeof *tree->device_ns);
    tree->total_device_ns = rgm_calloc(count, sizeof *tree->total_device_ns);
    return tree->rows && tree->of_span && tree->parent && tree->self_ns && tree->device_ns &&
                   tree->total_device_ns
               ? RGM_OK
               : rgm_error_no_memory(err);
}

static void number(rgm_op_tree *tree, const rgm_view *view) {
    int32_t next = 0;
    for (size_t i = 0; i < view->n_spans; i++) tree->of_span[i] = -1;
    for (size_t i = 0; i < view->n_spans; i++) {
        uint32_t row = view->lane_spans[i];
        int32_t parent = rgm_view_parent(view, row), around = parent >= 0 ? tree->of_span[parent] : -1;
        if (rgm_view_kind(view, row) != RGM_KIND_CPU_OP) {
            tree->of_span[row] = around;
            continue;
        }
        tree->rows[next] = row;
        tree->parent[next] = around;
        tree->of_span[row] = next++;
    }
}

// Children come in order of start, so the part of a child that no earlier one covered is known at once.
static void find_self(rgm_op_tree *tree, const rgm_view *view, int64_t *covered) {
    for (size_t i = 0; i < tree->count; i++) {
        int64_t start = rgm_view_start(view, tree->rows[i]), end = rgm_view_end(view, tree->rows[i]);
        tree->self_ns[i] = end - start;
        covered[i] = start;
        int32_t parent = tree->parent[i];
        if (parent < 0) continue;
        if (end > rgm_view_end(view, tree->rows[parent])) end = rgm_view_end(view, tree->rows[parent]);
        if (start < covered[parent]) start = covered[parent];
        if (end <= start) continue;
        tree->self_ns[parent] -= end - start;
        covered[parent] = end;
    }
}

static void add_device(rgm_op_tree *tree, const rgm_view *view) {
    for (size_t w = 0; w < view->n_work; w++) {
        int32_t op = rgm_op_tree_cause(tree, view, view->work[w]);
        if (op < 0) continue;
        int64_t duration = view->run->spans.duration_ns[view->work[w]];
        tree->device_ns[op] = rgm_add_bounded(tree->device_ns[op], duration);
        tree->total_device_ns[op] = rgm_add_bounded(tree->total_device_ns[op], duration);
    }
    for (size_t i = tree->count; i-- > 0;) {
        int32_t parent = tree->parent[i];
        if (parent < 0) continue;
        tree->total_device_ns[parent] =
            rgm_add_bounded(tree->total_device_ns[parent], tree->total_device_ns[i]);
    }
}

rgm_status rgm_op_tree_init(rgm_op_tree *tree, const rgm_view *view, rgm_error *err) {
    *tree = (rgm_op_tree){0};
    for (size_t i = 0; i < view->n_spans; i++) tree->count += rgm_view_kind(view, i) == RGM_KIND_CPU_OP;
    int64_t *covered = rgm_malloc((tree->count + 1) * sizeof *covered);
    rgm_status status = covered ? allocate(tree, view->n_spans, err) : rgm_error_no_memory(err);
    if (status == RGM_OK) {
        number(tree, view);
        find_self(tree, view, covered);
        add_device(tree, view);
    }
    rgm_free(covered);
    if (status != RGM_OK) rgm_op_tree_release(tree);
    return status;
}

void rgm_op_tree_release(rgm_op_tree *tree) {
    rgm_free(tree->rows);
    rgm_free(tree->of_span);
    rgm_free(tree->parent);
    rgm_free(tree->self_ns);
    rgm_free(tree->device_ns);
    rgm_free(tree->total_device_ns);
    *tree = (rgm_op_tree){0};
}

void rgm_op_tree_outermost(const rgm_op_tree *tree, const uint32_t *group, uint32_t *open, int32_t *stack,
                           uint8_t *outermost) {
    size_t depth = 0;
    for (size_t i = 0; i < tree->count; i++) {
        while (depth && stack[depth - 1] != tree->parent[i]) open[group[stack[--depth]]]--;
        outermost[i] = open[group[i]]++ == 0;
        stack[depth++] = (int32_t)i;
    }
}
