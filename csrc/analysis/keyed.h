// SPDX-License-Identifier: Apache-2.0
// Items grouped by a 64-bit key: groups ascend by key, items of a group keep their order.
#ifndef RGM_ANALYSIS_KEYED_H
#define RGM_ANALYSIS_KEYED_H

#include "base/status.h"
#include "base/strings.h"

typedef struct {
    size_t count;
    uint32_t *items; // item numbers, grouped
    uint32_t *first; // [count + 1] into items
} rgm_keyed;

rgm_status rgm_keyed_init(rgm_keyed *groups, const uint64_t *keys, size_t n_items,
                          rgm_error *err) RGM_NODISCARD;
// Zero-initialised memory is a valid argument.
void rgm_keyed_release(rgm_keyed *groups);

// What a group is ranked by: the larger weight first, equal weights by their texts.
typedef struct {
    int64_t weight;
    rgm_string text, second;
    uint32_t group;
} rgm_ranked;

void rgm_ranked_sort(rgm_ranked *ranked, size_t count);

#endif
