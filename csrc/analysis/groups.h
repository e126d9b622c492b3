// SPDX-License-Identifier: Apache-2.0
// Items gathered by a key, and the figures of what is in a group.
#ifndef RGM_ANALYSIS_GROUPS_H
#define RGM_ANALYSIS_GROUPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// Groups are numbered in the order of their first item; the items of a group keep their order.
typedef struct {
    uint32_t count;
    uint32_t *of;    // [n] group of each item
    uint32_t *first; // [count + 1] into items
    uint32_t *items; // [n] items by group
} rgm_groups;

rgm_status rgm_groups_init(rgm_groups *groups, const uint64_t *keys, size_t n, rgm_error *err) RGM_NODISCARD;
// Gives every group the number that `place` says, several may have the same; `count` is that of the new ones.
rgm_status rgm_groups_merge(rgm_groups *groups, const uint32_t *place, uint32_t count, size_t n,
                            rgm_error *err) RGM_NODISCARD;
// Zero-initialised memory is a valid argument.
void rgm_groups_release(rgm_groups *groups);

// Order statistics and moments of durations; the definitions are those of the summary.
typedef struct {
    int64_t count, total, min, max;
    double mean, std_dev, median, p95;
} rgm_distribution;

// Sorts `values`; scratch has room for as many. `tail` is the quantile of p95.
rgm_distribution rgm_distribution_of(int64_t *values, size_t count, double tail, int64_t *scratch);

#endif
