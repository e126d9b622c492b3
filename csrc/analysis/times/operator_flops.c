// SPDX-License-Identifier: Apache-2.0
// Work of operators by formula, and the rate at which the device did it. Rows are ordered by FLOPs, the most
// first and unknown ones last, ties by device time, name, shapes and span.
#include <string.h>

#include "analysis/analyses.h"
#include "analysis/groups.h"
#include "analysis/order.h"
#include "analysis/stats.h"
#include "analysis/times/op_formulas.h"
#include "analysis/times/op_tree.h"
#include "base/memory.h"

enum { BY_SHAPES, BY_CALL };

typedef struct {
    const rgm_op_formula *formula;
    rgm_name name, shapes, types, values;
    uint32_t op; // number in the tree
    rgm_op_work work;
    bool counted, shown;
} candidate;

typedef struct {
    const rgm_view *view;
    rgm_op_tree tree;
    candidate *items; // operators that have a formula, in the order of the tree
    size_t count;
    int32_t *item_of; // [operators] -1 for none
    uint64_t *keys;   // [count]
    rgm_groups groups;
} flops;

static void flops_release(flops *f) {
    rgm_op_tree_release(&f->tree);
    rgm_groups_release(&f->groups);
    rgm_free(f->items);
    rgm_free(f->item_of);
    rgm_free(f->keys);
}

static rgm_status find_items(flops *f, rgm_error *err) {
    const rgm_view *view = f->view;
    const rgm_op_formula **formulas = rgm_calloc(view->n_strings + 1, sizeof(void *));
    f->item_of = rgm_malloc((f->tree.count + 1) * sizeof *f->item_of);
    if (!formulas || !f->item_of) {
        rgm_free(formulas);
        return rgm_error_no_memory(err);
    }
    for (size_t i = 0; i < view->n_strings; i++)
        formulas[i] = rgm_op_formula_find(rgm_view_text(view, (rgm_name)i));
    for (size_t i = 0; i < f->tree.count; i++)
        f->count += formulas[rgm_view_name(view, f->tree.rows[i])] != NULL;
    f->items = rgm_calloc(f->count + 1, sizeof *f->items);
    f->keys = rgm_malloc((f->count + 1) * sizeof *f->keys);
    size_t at = 0;
    for (size_t i = 0; f->items && i < f->tree.count; i++) {
        rgm_name name = rgm_view_name(view, f->tree.rows[i]);
        f->item_of[i] = formulas[name] ? (int32_t)at : -1;
        if (formulas[name])
            f->items[at++] = (candidate){.formula = formulas[name], .name = name, .op = (uint32_t)i};
    }
    rgm_free(formulas);
    return f->items && f->keys ? RGM_OK : rgm_error_no_memory(err);
}

static void read_arguments(flops *f) {
    const rgm_operators *recorded = &f->view->run->operators;
    for (size_t i = 0; i < recorded->rows; i++) {
        uint32_t span = recorded->span[i];
        if (span >= f->view->n_spans || rgm_view_kind(f->view, span) != RGM_KIND_CPU_OP) continue;
        int32_t item = f->item_of[f->tree.of_span[span]];
        if (item < 0) continue;
        f->items[item].shapes = RGM_CELL(recorded, shapes, i, 0);
        f->items[item].types = RGM_CELL(recorded, types, i, 0);
        f->items[item].values = RGM_CELL(recorded, values, i, 0);
    }
}

// Divides the groups further by a second key of 32 bits.
static rgm_status divide(flops *f, uint32_t (*part)(const candidate *item), rgm_error *err) {
    for (size_t i = 0; i < f->count; i++) f->keys[i] = (uint64_t)f->groups.of[i] << 32 | part(&f->items[i]);
    rgm_groups_release(&f->groups);
    return rgm_groups_init(&f->groups, f->keys, f->count, err);
}

static uint32_t types_of(const candidate *item) { return item->types; }
static uint32_t values_of(const candidate *item) { return item->values; }

static rgm_status group_shapes(flops *f, rgm_error *err) {
    for (size_t i = 0; i < f->count; i++) f->keys[i] = (uint64_t)f->items[i].name << 32 | f->items[i].shapes;
    rgm_groups_release(&f->groups);
    RGM_TRY(rgm_groups_init(&f->groups, f->keys, f->count, err));
    return divide(f, types_of, err);
}

// Texts are read once for all calls that have the same.
static rgm_status find_work(flops *f, rgm_error *err) {
    RGM_TRY(group_shapes(f, err));
    RGM_TRY(divide(f, values_of, err));
    for (uint32_t g = 0; g < f->groups.count; g++) {
        const uint32_t *members = f->groups.items + f->groups.first[g];
        const candidate *first = &f->items[members[0]];
        rgm_op_work work =
            rgm_op_formula_work(first->formula, rgm_view_text(f->view, first->shapes),
                                rgm_view_text(f->view, first->types), rgm_view_text(f->view, first->values));
        for (uint32_t i = f->groups.first[g]; i < f->groups.first[g + 1]; i++)
            f->items[f->groups.items[i]].work = work;
    }
    return RGM_OK;
}

enum { KNOWN_INSIDE = 1, FORMULA_INSIDE = 2, COUNTED_AROUND = 4 };

// Innermost first: an operator counts when it is known and nothing known is inside. One that is not known is
// shown as unavailable when neither what is around nor what is inside tells its work.
static rgm_status choose(flops *f, rgm_error *err) {
    uint8_t *marks = rgm_calloc(f->tree.count + 1, 1);
    if (!marks) return rgm_error_no_memory(err);
    for (size_t i = f->tree.count; i-- > 0;) {
        int32_t item = f->item_of[i], parent = f->tree.parent[i];
        bool known = item >= 0 && f->items[item].work.flops == f->items[item].work.flops;
        if (item >= 0) f->items[item].counted = known && !(marks[i] & KNOWN_INSIDE);
        if (item >= 0) f->items[item].shown = f->items[item].counted || !(marks[i] & FORMULA_INSIDE);
        if (parent < 0) continue;
        marks[parent] |= (uint8_t)(marks[i] & (KNOWN_INSIDE | FORMULA_INSIDE));
        if (known) marks[parent] |= KNOWN_INSIDE;
        if (item >= 0) marks[parent] |= FORMULA_INSIDE;
    }
    for (size_t i = 0; i < f->tree.count; i++) {
        int32_t item = f->item_of[i], parent = f->tree.parent[i];
        if (parent >= 0) {
            int32_t above = f->item_of[parent];
            if ((marks[parent] & COUNTED_AROUND) || (above >= 0 && f->items[above].counted))
                marks[i] |= COUNTED_AROUND;
        }
        if (item >= 0 && !f->items[item].counted && (marks[i] & COUNTED_AROUND)) f->items[item].shown = false;
    }
    rgm_free(marks);
    return RGM_OK;
}

// Keeps what is shown, and groups it for the result.
static rgm_status group_rows(flops *f, int by, rgm_error *err) {
    size_t kept = 0;
    for (size_t i = 0; i < f->count; i++)
        if (f->items[i].shown) f->items[kept++] = f->items[i];
    f->count = kept;
    if (by == BY_CALL) {
        for (size_t i = 0; i < f->count; i++) f->keys[i] = i;
        rgm_groups_release(&f->groups);
        return rgm_groups_init(&f->groups, f->keys, f->count, err);
    }
    RGM_TRY(group_shapes(f, err));
    // Calls of the same shapes differ in work where strides or masks differ; the groups of equal work divide.
    rgm_groups equal = {0};
    for (size_t i = 0; i < f->count; i++) memcpy(&f->keys[i], &f->items[i].work.flops, sizeof f->keys[i]);
    RGM_TRY(rgm_groups_init(&equal, f->keys, f->count, err));
    for (size_t i = 0; i < f->count; i++) f->keys[i] = (uint64_t)f->groups.of[i] << 32 | equal.of[i];
    rgm_groups_release(&equal);
    rgm_groups_release(&f->groups);
    return rgm_groups_init(&f->groups, f->keys, f->count, err);
}

static void fill(const flops *f, int by, rgm_operator_flops *out) {
    for (size_t i = 0; i < f->count; i++) {
        const candidate *item = &f->items[i];
        uint32_t g = f->groups.of[i];
        if (!out->calls[g]++) {
            out->name[g] = item->name;
            out->shapes[g] = item->shapes;
            out->types[g] = item->types;
            out->source[g] = item->counted ? RGM_FLOPS_SHAPES : RGM_FLOPS_UNAVAILABLE;
            out->flops[g] = out->bytes[g] = 0;
            if (by == BY_CALL) out->span[g] = f->tree.rows[item->op];
        }
        out->flops[g] += item->work.flops;
        out->bytes[g] += item->work.bytes;
        out->device_ns[g] = rgm_add_bounded(out->device_ns[g], f->tree.total_device_ns[item->op]);
        out->host_ns[g] =
            rgm_add_bounded(out->host_ns[g], f->view->run->spans.duration_ns[f->tree.rows[item->op]]);
    }
    for (size_t g = 0; g < out->rows; g++) {
        double seconds = (double)out->device_ns[g] * 1e-9;
        out->flops_per_s[g] = seconds > 0 ? out->flops[g] / seconds : NAN;
        out->bytes_per_s[g] = seconds > 0 ? out->bytes[g] / seconds : NAN;
        out->intensity[g] = out->bytes[g] > 0 ? out->flops[g] / out->bytes[g] : NAN;
    }
}

static int compare(const void *table, const void *context, uint32_t a, uint32_t b) {
    const rgm_operator_flops *t = table;
    const rgm_strings *strings = context;
    double fa = t->source[a] ? t->flops[a] : -1, fb = t->source[b] ? t->flops[b] : -1;
    if (fa != fb) return fa > fb ? -1 : 1;
    if (t->device_ns[a] != t->device_ns[b]) return t->device_ns[a] > t->device_ns[b] ? -1 : 1;
    int names =
        strcmp(rgm_strings_view(strings, t->name[a]).data, rgm_strings_view(strings, t->name[b]).data);
    if (names) return names;
    names =
        strcmp(rgm_strings_view(strings, t->shapes[a]).data, rgm_strings_view(strings, t->shapes[b]).data);
    return names ? names : t->span[a] < t->span[b] ? -1 : t->span[a] > t->span[b];
}

rgm_status rgm_operator_flops_compute(const rgm_view *view, const rgm_policy *policy,
                                      const rgm_question *question, rgm_operator_flops *out, rgm_error *err) {
    (void)policy;
    RGM_RELEASED(flops_release) flops f = {.view = view};
    int by = question->group_by;
    if (by < BY_SHAPES || by > BY_CALL)
        return rgm_error_set(err, RGM_INVALID, "operator_flops cannot group by %d", by);
    RGM_TRY(rgm_op_tree_init(&f.tree, view, err));
    RGM_TRY(find_items(&f, err));
    read_arguments(&f);
    RGM_TRY(find_work(&f, err));
    RGM_TRY(choose(&f, err));
    RGM_TRY(group_rows(&f, by, err));
    RGM_TRY(rgm_table_rows(&rgm_operator_flops_desc, out, f.groups.count, err));
    fill(&f, by, out);
    return rgm_order_rows(&rgm_operator_flops_desc, out, compare, &view->run->strings, err);
}
