// SPDX-License-Identifier: Apache-2.0
// Operators, the calls that they make and the device work that these launch, as one forest in the order of a
// walk from the top down: lane by lane in order of start.
#include "analysis/analyses.h"
#include "analysis/order.h"
#include "analysis/stats.h"
#include "base/memory.h"

static bool is_node(const rgm_view *view, size_t row) {
    rgm_kind kind = rgm_view_kind(view, row);
    return kind == RGM_KIND_CPU_OP || rgm_kind_is_call(kind);
}

static void append(const rgm_view *view, rgm_operator_tree *out, uint32_t span, int32_t parent) {
    size_t row = out->rows++;
    out->span[row] = span;
    out->name[row] = rgm_view_name(view, span);
    out->duration_ns[row] = view->run->spans.duration_ns[span];
    out->parent[row] = parent;
    out->depth[row] = parent >= 0 ? out->depth[parent] + 1 : 0;
}

// node[span]: row of the innermost operator or call at the span, -1 for none.
static void place(const rgm_view *view, int32_t *node, rgm_operator_tree *out) {
    for (size_t i = 0; i < view->n_spans; i++) node[i] = -1;
    for (size_t i = 0; i < view->n_spans; i++) {
        uint32_t row = view->lane_spans[i];
        int32_t parent = rgm_view_parent(view, row), around = parent >= 0 ? node[parent] : -1;
        node[row] = around;
        if (!is_node(view, row)) continue;
        node[row] = (int32_t)out->rows;
        append(view, out, row, around);
        for (uint32_t w = view->launched_first[row]; w < view->launched_first[row + 1]; w++)
            append(view, out, view->launched[w], node[row]);
    }
    for (size_t w = 0; w < view->n_work; w++) {
        uint32_t row = view->work[w];
        if (view->launch[row] < 0) append(view, out, row, view->op[row] >= 0 ? node[view->op[row]] : -1);
    }
}

static void add_work(const rgm_view *view, rgm_operator_tree *out, size_t row) {
    uint32_t span = out->span[row];
    if (!rgm_kind_is_work(rgm_view_kind(view, span))) return;
    out->work[row] = 1;
    out->device_ns[row] = view->run->spans.duration_ns[span];
    out->device_start_ns[row] = rgm_view_start(view, span);
    out->device_end_ns[row] = rgm_view_end(view, span);
    out->first_work[row] = out->last_work[row] = span;
}

static void add_child(rgm_operator_tree *out, size_t parent, size_t row) {
    if (out->height[row] + 1 > out->height[parent]) out->height[parent] = out->height[row] + 1;
    if (!out->work[row]) return;
    bool none = out->work[parent] == 0;
    out->work[parent] += out->work[row];
    out->device_ns[parent] = rgm_add_bounded(out->device_ns[parent], out->device_ns[row]);
    // Children come last first, so of equal times the earlier row wins.
    if (none || out->device_start_ns[row] <= out->device_start_ns[parent]) {
        out->device_start_ns[parent] = out->device_start_ns[row];
        out->first_work[parent] = out->first_work[row];
    }
    if (none || out->device_end_ns[row] > out->device_end_ns[parent]) {
        out->device_end_ns[parent] = out->device_end_ns[row];
        out->last_work[parent] = out->last_work[row];
    }
}

rgm_status rgm_operator_tree_compute(const rgm_view *view, const rgm_policy *policy,
                                     const rgm_question *question, rgm_operator_tree *out, rgm_error *err) {
    (void)policy;
    (void)question;
    size_t rows = view->n_work;
    for (size_t i = 0; i < view->n_spans; i++) rows += is_node(view, i);
    int32_t *node = rgm_malloc((view->n_spans + 1) * sizeof *node);
    rgm_status status = node ? RGM_OK : rgm_error_no_memory(err);
    if (status == RGM_OK) status = rgm_table_rows(&rgm_operator_tree_desc, out, rows, err);
    if (status == RGM_OK) {
        out->rows = 0;
        place(view, node, out);
        for (size_t row = 0; row < out->rows; row++) add_work(view, out, row);
        for (size_t row = out->rows; row-- > 0;)
            if (out->parent[row] >= 0) add_child(out, (size_t)out->parent[row], row);
    }
    rgm_free(node);
    return status;
}
