// SPDX-License-Identifier: Apache-2.0
// Floating-point operations that the hardware counted: thread-level SASS instructions of the adds,
// multiplications and fused multiply-adds that were executed, the last counting twice (the rule of
// HolisticTraceAnalysis). Work of tensor cores is not among these counters.
#include <stdlib.h>
#include <string.h>

#include "analysis/analyses.h"
#include "analysis/counters/counter_item.h"
#include "base/memory.h"

enum { BY_NAME, BY_OPERATOR, BY_KERNEL };

// In the order of the columns.
enum { HALF, SINGLE, DOUBLE, PRECISIONS };
static const char letters[PRECISIONS] = {[HALF] = 'h', [SINGLE] = 'f', [DOUBLE] = 'd'};

// Operations of one counted instruction, 0 when the series counts something else:
// smsp__sass_thread_inst_executed_op_ffma_pred_on.sum
static int operations_of(rgm_string series, int *precision) {
    static const char prefix[] = "sass_thread_inst_executed_op_", suffix[] = "_pred_on.sum";
    const char *at = strstr(series.data, prefix);
    if (!at) return 0;
    at += sizeof prefix - 1;
    const char *letter = *at ? memchr(letters, *at, PRECISIONS) : NULL;
    if (!letter || strlen(at) != 4 + sizeof suffix - 1 || strcmp(at + 4, suffix) != 0) return 0;
    *precision = (int)(letter - letters);
    if (memcmp(at + 1, "fma", 3) == 0) return 2;
    return memcmp(at + 1, "add", 3) == 0 || memcmp(at + 1, "mul", 3) == 0;
}

typedef struct {
    rgm_name name;
    uint32_t span, key; // key: the span where each kernel has a row, else the name
    double flops[PRECISIONS];
} part;

static int by_key(const void *a, const void *b) {
    const part *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->span < y->span ? -1 : x->span > y->span;
}

typedef struct {
    part sum;
    double total;
    int64_t count;
} row_sum;

static int most_first(const void *a, const void *b) {
    const row_sum *x = a, *y = b;
    if (x->total != y->total) return x->total > y->total ? -1 : 1;
    return x->sum.span < y->sum.span ? -1 : x->sum.span > y->sum.span;
}

static size_t choose(part *parts, const rgm_view *view, const rgm_counter_items *items, int32_t by) {
    size_t n = 0;
    for (size_t i = 0; i < items->count; i++) {
        const rgm_counter_item *item = &items->items[i];
        int precision, factor = operations_of(rgm_view_text(view, item->series), &precision);
        if (!factor || item->source != RGM_COUNTER_RANGE) continue;
        part p = {.name = by == BY_OPERATOR ? rgm_counter_item_op(view, item) : item->kernel};
        p.span = item->span;
        p.key = by == BY_KERNEL ? p.span : p.name;
        p.flops[precision] = factor * item->value;
        parts[n++] = p;
    }
    qsort(parts, n, sizeof *parts, by_key);
    return n;
}

static size_t add_up(row_sum *rows, const part *parts, size_t n) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (!i || parts[i].key != parts[i - 1].key)
            rows[count++] = (row_sum){.sum = {.name = parts[i].name, .span = parts[i].span}};
        row_sum *row = &rows[count - 1];
        row->count += !i || parts[i].key != parts[i - 1].key || parts[i].span != parts[i - 1].span;
        for (int p = 0; p < PRECISIONS; p++) {
            row->sum.flops[p] += parts[i].flops[p];
            row->total += parts[i].flops[p];
        }
    }
    qsort(rows, count, sizeof *rows, most_first);
    return count;
}

static rgm_status append(const row_sum *sum, rgm_counter_flops *out, rgm_error *err) {
    size_t row;
    RGM_TRY(rgm_table_append(&rgm_counter_flops_desc, out, RGM_ALL_COLUMNS, &row, err));
    out->name[row] = sum->sum.name;
    out->span[row] = sum->sum.span;
    out->count[row] = sum->count;
    out->flops[row] = sum->total;
    out->half_flops[row] = sum->sum.flops[HALF];
    out->single_flops[row] = sum->sum.flops[SINGLE];
    out->double_flops[row] = sum->sum.flops[DOUBLE];
    return RGM_OK;
}

rgm_status rgm_counter_flops_compute(const rgm_view *view, const rgm_policy *policy,
                                     const rgm_question *question, rgm_counter_flops *out, rgm_error *err) {
    (void)policy;
    RGM_RELEASED(rgm_counter_items_release) rgm_counter_items items = {0};
    RGM_TRY(rgm_counter_items_find(&items, view, err));
    RGM_FREED part *parts = rgm_malloc((items.count + 1) * sizeof *parts);
    RGM_FREED row_sum *rows = rgm_malloc((items.count + 1) * sizeof *rows);
    if (!parts || !rows) return rgm_error_no_memory(err);
    size_t n = add_up(rows, parts, choose(parts, view, &items, question->group_by));
    for (size_t i = 0; i < n; i++) RGM_TRY(append(&rows[i], out, err));
    return RGM_OK;
}
