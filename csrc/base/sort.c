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

// Keys are compared after the bits of `flip` are turned over, which makes signed order unsigned.
static bool sorted(const uint64_t *keys, size_t count, uint64_t flip) {
    for (size_t i = 1; i < count; i++)
        if ((keys[i] ^ flip) < (keys[i - 1] ^ flip)) return false;
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

static int bits_of(uint64_t value) { return value ? 64 - __builtin_clzll(value) : 0; }

// Key, less the least one, and row in one word: half the memory of pairs, and one word to move.
static rgm_status order_packed(const uint64_t *keys, size_t count, uint64_t flip, uint64_t least,
                               int row_bits, int key_bits, uint32_t *order, rgm_error *err) {
    uint64_t *from = rgm_malloc(2 * count * sizeof *from);
    uint32_t counts[DIGITS];
    if (!from) return rgm_error_no_memory(err);
    uint64_t *block = from, *to = from + count;
    for (size_t i = 0; i < count; i++) from[i] = ((keys[i] ^ flip) - least) << row_bits | i;
    for (int shift = row_bits; shift < row_bits + key_bits; shift += DIGIT_BITS) {
        memset(counts, 0, sizeof counts);
        for (size_t i = 0; i < count; i++) counts[(from[i] >> shift) & (DIGITS - 1)]++;
        if (!positions(counts, count)) continue;
        for (size_t i = 0; i < count; i++) to[counts[(from[i] >> shift) & (DIGITS - 1)]++] = from[i];
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    const uint64_t mask = (UINT64_C(1) << row_bits) - 1;
    for (size_t i = 0; i < count; i++) order[i] = (uint32_t)(from[i] & mask);
    rgm_free(block);
    return RGM_OK;
}

static rgm_status order_pairs(const uint64_t *keys, size_t count, uint64_t flip, uint32_t *order,
                              rgm_error *err) {
    pair *from = rgm_malloc(2 * count * sizeof *from);
    uint32_t counts[DIGITS];
    if (!from) return rgm_error_no_memory(err);
    pair *block = from, *to = from + count;
    for (size_t i = 0; i < count; i++) from[i] = (pair){keys[i] ^ flip, (uint32_t)i};
    for (int pass = 0; pass < PASSES; pass++) {
        int shift = pass * DIGIT_BITS;
        memset(counts, 0, sizeof counts);
        for (size_t i = 0; i < count; i++) counts[(from[i].key >> shift) & (DIGITS - 1)]++;
        if (!positions(counts, count)) continue;
        for (size_t i = 0; i < count; i++) to[counts[(from[i].key >> shift) & (DIGITS - 1)]++] = from[i];
        pair *swap = from;
        from = to;
        to = swap;
    }
    for (size_t i = 0; i < count; i++) order[i] = from[i].row;
    rgm_free(block);
    return RGM_OK;
}

static rgm_status order_by(const uint64_t *keys, size_t count, uint64_t flip, uint32_t *order,
                           rgm_error *err) {
    if (count > UINT32_MAX) return rgm_error_set(err, RGM_LIMIT, "%zu rows are too many to sort", count);
    if (sorted(keys, count, flip)) {
        for (size_t i = 0; i < count; i++) order[i] = (uint32_t)i;
        return RGM_OK;
    }
    uint64_t least = UINT64_MAX, most = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t key = keys[i] ^ flip;
        if (key < least) least = key;
        if (key > most) most = key;
    }
    int row_bits = bits_of(count), key_bits = bits_of(most - least);
    if (row_bits + key_bits <= 64)
        return order_packed(keys, count, flip, least, row_bits, key_bits, order, err);
    return order_pairs(keys, count, flip, order, err);
}

rgm_status rgm_sort_order(const uint64_t *keys, size_t count, uint32_t *order, rgm_error *err) {
    return order_by(keys, count, 0, order, err);
}

rgm_status rgm_sort_order_i64(const int64_t *keys, size_t count, uint32_t *order, rgm_error *err) {
    return order_by((const uint64_t *)keys, count, UINT64_C(1) << 63, order, err);
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
