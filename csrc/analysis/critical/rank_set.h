// SPDX-License-Identifier: Apache-2.0
// A set of small numbers 0..size-1 that answers "the largest member not above x" in a few words of memory:
// a tree of 64-bit masks, each level one sixty-fourth of the one below.
#ifndef RGM_ANALYSIS_RANK_SET_H
#define RGM_ANALYSIS_RANK_SET_H

#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

enum { RGM_RANK_LEVELS = 6 }; // 64^6 is more than any number of rows

typedef struct {
    uint64_t *level[RGM_RANK_LEVELS];
    size_t words[RGM_RANK_LEVELS];
} rgm_rank_set;

static inline void rgm_rank_set_release(rgm_rank_set *set) {
    rgm_free(set->level[0]);
    *set = (rgm_rank_set){0};
}

static inline rgm_status rgm_rank_set_init(rgm_rank_set *set, size_t size, rgm_error *err) {
    size_t total = 0, words = size;
    for (int l = 0; l < RGM_RANK_LEVELS; l++) {
        words = words / 64 + 1;
        set->words[l] = words;
        total += words;
    }
    uint64_t *block = rgm_calloc(total, sizeof *block);
    if (!block) return rgm_error_no_memory(err);
    for (int l = 0; l < RGM_RANK_LEVELS; l++) {
        set->level[l] = block;
        block += set->words[l];
    }
    return RGM_OK;
}

static inline void rgm_rank_set_insert(rgm_rank_set *set, size_t member) {
    for (int l = 0; l < RGM_RANK_LEVELS; l++, member /= 64)
        set->level[l][member / 64] |= UINT64_C(1) << member % 64;
}

static inline void rgm_rank_set_remove(rgm_rank_set *set, size_t member) {
    for (int l = 0; l < RGM_RANK_LEVELS; l++, member /= 64) {
        set->level[l][member / 64] &= ~(UINT64_C(1) << member % 64);
        if (set->level[l][member / 64]) return;
    }
}

static inline int rgm_highest_bit(uint64_t mask) { return 63 - __builtin_clzll(mask); }

// The largest member below `bound`, -1 for none.
static inline int64_t rgm_rank_set_below(const rgm_rank_set *set, size_t bound) {
    for (int l = 0; l < RGM_RANK_LEVELS; l++, bound /= 64) {
        uint64_t below = set->level[l][bound / 64] & ((UINT64_C(1) << bound % 64) - 1);
        if (!below) continue;
        size_t found = bound / 64 * 64 + (size_t)rgm_highest_bit(below);
        while (l-- > 0) found = found * 64 + (size_t)rgm_highest_bit(set->level[l][found]);
        return (int64_t)found;
    }
    return -1;
}

#endif
