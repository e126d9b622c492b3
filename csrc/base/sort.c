// SPDX-License-Identifier: Apache-2.0
#include "base/sort.h"

#include <stdbool.h>
#include <string.h>

#include "base/memory.h"

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, PASSES = 6, SMALL = 64 };

typedef struct {
    uint64_t key;
    uint32_t row;
} pair;

static bool sorted(const uint64_t *keys, size_t count) {
    for (size_t i = 1; i < count; i++)
        if (keys[i] < keys[i - 1]) return false;
    return true;
}

// Turns counts into start positions; false when one digit holds every row and the pass can be skipped.
static bool positions(uint32_t *counts, size_t count) {
    uint32_t at = 0;
    for (size_t d = 0; d < DIGITS; d++) {
        uint32_t here = counts[d];
        if (here == count) return false;
        counts[d] = at;
        at += here;
    }
    return true;
}

rgm_status rgm_sort_order(const uint64_t *keys, size_t count, uint32_t *order, rgm_error *err) {
    if (count > UINT32_MAX) return rgm_error_set(err, RGM_LIMIT, "%zu rows are too many to sort", count);
    if (sorted(keys, count)) {
        for (size_t i = 0; i < count; i++) order[i] = (uint32_t)i;
        return RGM_OK;
    }
    pair *from = rgm_malloc(2 * count * sizeof *from);
    uint32_t *counts = rgm_malloc(DIGITS * sizeof *counts);
    if (!from || !counts) {
        rgm_free(from);
        rgm_free(counts);
        return rgm_error_no_memory(err);
    }
    pair *block = from, *to = from + count;
    for (size_t i = 0; i < count; i++) from[i] = (pair){keys[i], (uint32_t)i};
    for (int pass = 0; pass < PASSES; pass++) {
        int shift = pass * DIGIT_BITS;
        memset(counts, 0, DIGITS * sizeof *counts);
        for (size_t i = 0; i < count; i++) counts[(from[i].key >> shift) & (DIGITS - 1)]++;
        if (!positions(counts, count)) continue;
        for (size_t i = 0; i < count; i++) to[counts[(from[i].key >> shift) & (DIGITS - 1)]++] = from[i];
        pair *swap = from;
        from = to;
        to = swap;
    }
    for (size_t i = 0; i < count; i++) order[i] = from[i].row;
    rgm_free(block);
    rgm_free(counts);
    return RGM_OK;
}

static void insertion(int64_t *values, size_t count) {
    for (size_t i = 1; i < count; i++) {
        int64_t value = values[i];
        size_t at = i;
        for (; at > 0 && values[at - 1] > value; at--) values[at] = values[at - 1];
        values[at] = value;
    }
}

void rgm_sort_i64(int64_t *values, size_t count, int64_t *scratch) {
    if (count <= SMALL) {
        insertion(values, count);
        return;
    }
    uint32_t counts[DIGITS];
    int64_t *from = values, *to = scratch;
    for (int pass = 0; pass < PASSES; pass++) {
        int shift = pass * DIGIT_BITS;
        memset(counts, 0, sizeof counts);
        for (size_t i = 0; i < count; i++) counts[(rgm_sort_key_i64(from[i]) >> shift) & (DIGITS - 1)]++;
        if (!positions(counts, count)) continue;
        for (size_t i = 0; i < count; i++)
            to[counts[(rgm_sort_key_i64(from[i]) >> shift) & (DIGITS - 1)]++] = from[i];
        int64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != values) memcpy(values, from, count * sizeof *values);
}
