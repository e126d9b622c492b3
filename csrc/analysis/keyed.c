// SPDX-License-Identifier: Apache-2.0
#include "analysis/keyed.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"

rgm_status rgm_keyed_init(rgm_keyed *groups, const uint64_t *keys, size_t n_items, rgm_error *err) {
    *groups = (rgm_keyed){0};
    groups->items = rgm_malloc((n_items + 1) * sizeof *groups->items);
    groups->first = rgm_malloc((n_items + 1) * sizeof *groups->first);
    rgm_status status = groups->items && groups->first ? rgm_sort_order(keys, n_items, groups->items, err)
                                                       : rgm_error_no_memory(err);
    if (status != RGM_OK) {
        rgm_keyed_release(groups);
        return status;
    }
    for (size_t i = 0; i < n_items; i++)
        if (i == 0 || keys[groups->items[i]] != keys[groups->items[i - 1]])
            groups->first[groups->count++] = (uint32_t)i;
    groups->first[groups->count] = (uint32_t)n_items;
    return RGM_OK;
}

void rgm_keyed_release(rgm_keyed *groups) {
    rgm_free(groups->items);
    rgm_free(groups->first);
    *groups = (rgm_keyed){0};
}

static int compare_ranked(const void *a, const void *b) {
    const rgm_ranked *x = a, *y = b;
    if (x->weight != y->weight) return x->weight > y->weight ? -1 : 1;
    int order = rgm_string_compare(x->text, y->text);
    if (order == 0) order = rgm_string_compare(x->second, y->second);
    return order ? order : (x->group > y->group) - (x->group < y->group);
}

void rgm_ranked_sort(rgm_ranked *ranked, size_t count) {
    if (count) qsort(ranked, count, sizeof *ranked, compare_ranked);
}
