// SPDX-License-Identifier: Apache-2.0
// Hardware counters by kernel name, by operator or kernel by kernel; how they are attributed: counter_item.h.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analyses.h"
#include "analysis/counters/counter_item.h"
#include "analysis/stats.h"
#include "base/memory.h"

enum { BY_NAME, BY_OPERATOR, BY_KERNEL };

typedef struct {
    rgm_counter_item item;
    rgm_name name;
    uint32_t span; // distinguishes kernels where each has a row, else 0
    rgm_string text, series;
} row_key;

static int compare_keys(const row_key *x, const row_key *y) {
    if (x->item.source != y->item.source) return x->item.source < y->item.source ? -1 : 1;
    if (x->span != y->span) return x->span < y->span ? -1 : 1;
    int order = x->name == y->name ? 0 : rgm_string_compare(x->text, y->text);
    if (order) return order;
    return x->item.series == y->item.series ? 0 : rgm_string_compare(x->series, y->series);
}

static int by_key(const void *a, const void *b) {
    const row_key *x = a, *y = b;
    int order = compare_keys(x, y);
    return order ? order : (x->item.span > y->item.span) - (x->item.span < y->item.span);
}

static row_key key_of(const rgm_view *view, const rgm_counter_item *item, int32_t by) {
    row_key key = {.item = *item, .name = item->kernel};
    if (by == BY_OPERATOR) key.name = rgm_counter_item_op(view, item);
    if (by == BY_KERNEL) key.span = item->span;
    key.text = rgm_view_text(view, key.name);
    key.series = rgm_view_text(view, item->series);
    return key;
}

// Samples are weighted by the time that they cover, ranges count one each.
static rgm_status append(const row_key *keys, size_t from, size_t to, rgm_counter_values *out,
                         rgm_error *err) {
    size_t row;
    const row_key *first = &keys[from];
    bool sampled = first->item.source == RGM_COUNTER_SAMPLE;
    double sum = 0, weight = 0;
    RGM_TRY(rgm_table_append(&rgm_counter_values_desc, out, RGM_ALL_COLUMNS, &row, err));
    out->name[row] = first->name;
    out->series[row] = first->item.series;
    out->source[row] = first->item.source;
    out->span[row] = first->item.span;
    out->target[row] = first->item.target;
    out->count[row] = (int64_t)(to - from);
    out->min[row] = out->max[row] = first->item.value;
    for (size_t i = from; i < to; i++) {
        const rgm_counter_item *item = &keys[i].item;
        double by = sampled ? (double)item->time_ns : 1.0;
        sum += item->value * by;
        weight += by;
        out->unpaired[row] += item->target < 0;
        out->time_ns[row] = rgm_add_bounded(out->time_ns[row], item->time_ns);
        if (item->value < out->min[row]) out->min[row] = item->value;
        if (item->value > out->max[row]) out->max[row] = item->value;
    }
    out->mean[row] = sum / weight;
    if (!sampled) out->total[row] = sum;
    return RGM_OK;
}

rgm_status rgm_counter_values_compute(const rgm_view *view, const rgm_policy *policy,
                                      const rgm_question *question, rgm_counter_values *out, rgm_error *err) {
    (void)policy;
    RGM_RELEASED(rgm_counter_items_release) rgm_counter_items items = {0};
    RGM_TRY(rgm_counter_items_find(&items, view, err));
    RGM_FREED row_key *keys = rgm_malloc((items.count + 1) * sizeof *keys);
    if (!keys) return rgm_error_no_memory(err);
    for (size_t i = 0; i < items.count; i++) keys[i] = key_of(view, &items.items[i], question->group_by);
    qsort(keys, items.count, sizeof *keys, by_key);
    for (size_t from = 0, to; from < items.count; from = to) {
        for (to = from + 1; to < items.count && compare_keys(&keys[from], &keys[to]) == 0;) to++;
        RGM_TRY(append(keys, from, to, out, err));
    }
    return RGM_OK;
}
