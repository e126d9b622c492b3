// SPDX-License-Identifier: Apache-2.0
// Operators by name, or by name and input shapes: host time, and the device time that they caused. Rows are
// ordered by self time, the longest first, ties by name and shapes.
#include <string.h>

#include "analysis/analyses.h"
#include "analysis/groups.h"
#include "analysis/order.h"
#include "analysis/stats.h"
#include "analysis/times/op_tree.h"
#include "base/memory.h"

enum { BY_NAME, BY_SHAPES };

typedef struct {
    const rgm_view *view;
    rgm_op_tree tree;
    rgm_groups groups;
    rgm_name *shapes;   // [operators]
    uint8_t *outermost; // [operators]
} operators;

static void operators_release(operators *o) {
    rgm_op_tree_release(&o->tree);
    rgm_groups_release(&o->groups);
    rgm_free(o->shapes);
    rgm_free(o->outermost);
}

static rgm_status find_groups(operators *o, int by, rgm_error *err) {
    const rgm_operators *recorded = &o->view->run->operators;
    RGM_FREED uint64_t *keys = rgm_malloc((o->tree.count + 1) * sizeof *keys);
    o->shapes = rgm_calloc(o->tree.count + 1, sizeof *o->shapes);
    RGM_TRY(keys && o->shapes ? RGM_OK : rgm_error_no_memory(err));
    for (size_t i = 0; by == BY_SHAPES && recorded->shapes && i < recorded->rows; i++) {
        uint32_t span = recorded->span[i];
        if (span < o->view->n_spans && rgm_view_kind(o->view, span) == RGM_KIND_CPU_OP)
            o->shapes[o->tree.of_span[span]] = recorded->shapes[i];
    }
    for (size_t i = 0; i < o->tree.count; i++)
        keys[i] = (uint64_t)rgm_view_name(o->view, o->tree.rows[i]) << 32 | o->shapes[i];
    return rgm_groups_init(&o->groups, keys, o->tree.count, err);
}

static rgm_status find_outermost(operators *o, rgm_error *err) {
    uint32_t *open = rgm_calloc((size_t)o->groups.count + 1, sizeof *open);
    int32_t *stack = rgm_malloc((o->tree.count + 1) * sizeof *stack);
    o->outermost = rgm_malloc(o->tree.count + 1);
    bool ok = open && stack && o->outermost;
    if (ok) rgm_op_tree_outermost(&o->tree, o->groups.of, open, stack, o->outermost);
    rgm_free(open);
    rgm_free(stack);
    return ok ? RGM_OK : rgm_error_no_memory(err);
}

static void add_operator(const operators *o, size_t i, rgm_operator_times *out) {
    uint32_t g = o->groups.of[i];
    int64_t duration = o->view->run->spans.duration_ns[o->tree.rows[i]];
    if (!out->calls[g]++) {
        out->name[g] = rgm_view_name(o->view, o->tree.rows[i]);
        out->shapes[g] = o->shapes[i];
        out->min_ns[g] = duration;
    }
    out->self_ns[g] = rgm_add_bounded(out->self_ns[g], o->tree.self_ns[i]);
    out->self_device_ns[g] = rgm_add_bounded(out->self_device_ns[g], o->tree.device_ns[i]);
    if (duration < out->min_ns[g]) out->min_ns[g] = duration;
    if (duration > out->max_ns[g]) out->max_ns[g] = duration;
    out->mean_ns[g] += (double)duration; // a sum until all are in
    if (!o->outermost[i]) {
        out->recursive_calls[g]++;
        return;
    }
    out->total_ns[g] = rgm_add_bounded(out->total_ns[g], duration);
    out->total_device_ns[g] = rgm_add_bounded(out->total_device_ns[g], o->tree.total_device_ns[i]);
}

static void add_work(const operators *o, rgm_operator_times *out) {
    const rgm_view *view = o->view;
    for (size_t row = 0; row < view->n_spans; row++) {
        int32_t op = rgm_op_tree_cause(&o->tree, view, row);
        if (op < 0) continue;
        uint32_t g = o->groups.of[op];
        if (rgm_kind_is_call(rgm_view_kind(view, row))) {
            out->launches[g] += view->launched_first[row + 1] > view->launched_first[row];
            continue;
        }
        int64_t bytes = rgm_view_bytes(view, row);
        rgm_kind kind = rgm_view_kind(view, row);
        out->copies[g] += kind == RGM_KIND_MEMCPY || kind == RGM_KIND_MEMSET;
        out->kernels[g] += kind == RGM_KIND_KERNEL || kind == RGM_KIND_ACCELERATOR;
        if (bytes >= 0) out->bytes[g] = rgm_add_bounded(out->bytes[g], bytes);
    }
}

static int compare(const void *table, const void *context, uint32_t a, uint32_t b) {
    const rgm_operator_times *t = table;
    const rgm_strings *strings = context;
    if (t->self_ns[a] != t->self_ns[b]) return t->self_ns[a] > t->self_ns[b] ? -1 : 1;
    int names =
        strcmp(rgm_strings_view(strings, t->name[a]).data, rgm_strings_view(strings, t->name[b]).data);
    return names ? names
                 : strcmp(rgm_strings_view(strings, t->shapes[a]).data,
                          rgm_strings_view(strings, t->shapes[b]).data);
}

rgm_status rgm_operator_times_compute(const rgm_view *view, const rgm_policy *policy,
                                      const rgm_question *question, rgm_operator_times *out, rgm_error *err) {
    (void)policy;
    RGM_RELEASED(operators_release) operators o = {.view = view};
    if (question->group_by < BY_NAME || question->group_by > BY_SHAPES)
        return rgm_error_set(err, RGM_INVALID, "operator_times cannot group by %d", question->group_by);
    RGM_TRY(rgm_op_tree_init(&o.tree, view, err));
    RGM_TRY(find_groups(&o, question->group_by, err));
    RGM_TRY(find_outermost(&o, err));
    RGM_TRY(rgm_table_rows(&rgm_operator_times_desc, out, o.groups.count, err));
    double all = 0;
    for (size_t g = 0; g < out->rows; g++) out->mean_ns[g] = 0;
    for (size_t i = 0; i < o.tree.count; i++) add_operator(&o, i, out);
    add_work(&o, out);
    for (size_t g = 0; g < out->rows; g++) {
        all += (double)out->self_ns[g];
        out->mean_ns[g] /= (double)out->calls[g];
    }
    for (size_t g = 0; g < out->rows; g++)
        if (all > 0) out->share[g] = (double)out->self_ns[g] / all;
    return rgm_order_rows(&rgm_operator_times_desc, out, compare, &view->run->strings, err);
}
