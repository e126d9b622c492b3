// SPDX-License-Identifier: Apache-2.0
#include "analysis/groups.h"

#include <math.h>

#include "analysis/stats.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/sort.h"

// Fills first and items from `of`, by counting.
static rgm_status gather(rgm_groups *groups, size_t n, rgm_error *err) {
    rgm_free(groups->first);
    groups->first = rgm_calloc((size_t)groups->count + 2, sizeof *groups->first);
    if (!groups->items) groups->items = rgm_malloc((n + 1) * sizeof *groups->items);
    if (!groups->first || !groups->items) return rgm_error_no_memory(err);
    uint32_t *end = groups->first + 1; // while items are placed, end[g] is where the next of g goes
    for (size_t i = 0; i < n; i++) end[groups->of[i] + 1]++;
    for (uint32_t g = 0; g < groups->count; g++) end[g + 1] += end[g];
    for (size_t i = 0; i < n; i++) groups->items[end[groups->of[i]]++] = (uint32_t)i;
    return RGM_OK;
}

static size_t table_size(size_t n) {
    size_t size = 64;
    while (size < 2 * n) size *= 2;
    return size;
}

// A table that grows with the number of groups, not of items: few groups stay in the cache.
typedef struct {
    uint32_t *slots; // group + 1
    uint64_t *keys;  // of each group
    size_t size, room;
} known;

static void insert(known *k, uint64_t key, uint32_t group) {
    size_t at = rgm_hash_u64(key) & (k->size - 1);
    while (k->slots[at]) at = (at + 1) & (k->size - 1);
    k->slots[at] = group + 1;
}

static rgm_status grow(known *k, uint32_t count, rgm_error *err) {
    size_t size = table_size(2 * (size_t)count);
    uint32_t *slots = rgm_calloc(size, sizeof *slots);
    uint64_t *keys = rgm_realloc(k->keys, size * sizeof *keys);
    if (keys) k->keys = keys;
    if (!slots || !keys) {
        rgm_free(slots);
        return rgm_error_no_memory(err);
    }
    rgm_free(k->slots);
    k->slots = slots;
    k->size = size;
    for (uint32_t g = 0; g < count; g++) insert(k, k->keys[g], g);
    return RGM_OK;
}

static rgm_status number(rgm_groups *groups, const uint64_t *keys, size_t n, known *k, rgm_error *err) {
    RGM_TRY(grow(k, 0, err));
    for (size_t i = 0; i < n; i++) {
        size_t at = rgm_hash_u64(keys[i]) & (k->size - 1);
        while (k->slots[at] && k->keys[k->slots[at] - 1] != keys[i]) at = (at + 1) & (k->size - 1);
        if (!k->slots[at]) {
            k->keys[groups->count++] = keys[i];
            k->slots[at] = groups->count;
            groups->of[i] = groups->count - 1;
            if (2 * (size_t)groups->count > k->size) RGM_TRY(grow(k, groups->count, err));
            continue;
        }
        groups->of[i] = k->slots[at] - 1;
    }
    return RGM_OK;
}

rgm_status rgm_groups_init(rgm_groups *groups, const uint64_t *keys, size_t n, rgm_error *err) {
    known k = {0};
    *groups = (rgm_groups){.of = rgm_malloc((n + 1) * sizeof *groups->of)};
    rgm_status status = groups->of ? number(groups, keys, n, &k, err) : rgm_error_no_memory(err);
    rgm_free(k.slots);
    rgm_free(k.keys);
    if (status == RGM_OK) status = gather(groups, n, err);
    if (status != RGM_OK) rgm_groups_release(groups);
    return status;
}

rgm_status rgm_groups_merge(rgm_groups *groups, const uint32_t *place, uint32_t count, size_t n,
                            rgm_error *err) {
    for (size_t i = 0; i < n; i++) groups->of[i] = place[groups->of[i]];
    groups->count = count;
    return gather(groups, n, err);
}

void rgm_groups_release(rgm_groups *groups) {
    rgm_free(groups->of);
    rgm_free(groups->first);
    rgm_free(groups->items);
    *groups = (rgm_groups){0};
}

rgm_distribution rgm_distribution_of(int64_t *values, size_t count, double tail, int64_t *scratch) {
    rgm_distribution d = {.count = (int64_t)count, .mean = NAN, .std_dev = NAN, .median = NAN, .p95 = NAN};
    if (!count) return d;
    rgm_moments moments = {0};
    rgm_sort_i64(values, count, scratch);
    for (size_t i = 0; i < count; i++) {
        d.total = rgm_add_bounded(d.total, values[i]);
        rgm_moments_add(&moments, (double)values[i]);
    }
    d.min = values[0];
    d.max = values[count - 1];
    d.mean = moments.mean;
    d.std_dev = rgm_moments_std_dev(&moments);
    d.median = rgm_quantile_sorted(values, count, 0.5);
    d.p95 = rgm_quantile_sorted(values, count, tail);
    return d;
}
