// SPDX-License-Identifier: Apache-2.0
#include "base/suffix.h"

#include <stdbool.h>

#include "base/memory.h"
#include "base/sort.h"

// Ranks of suffixes in order: equal keys share the rank of the first of them. True when all differ.
static bool rank_by(const uint64_t *keys, const uint32_t *order, size_t count, uint32_t *rank) {
    bool distinct = true;
    for (size_t i = 0; i < count; i++) {
        bool same = i && keys[order[i]] == keys[order[i - 1]];
        rank[order[i]] = same ? rank[order[i - 1]] : (uint32_t)i;
        distinct = distinct && !same;
    }
    return distinct;
}

static uint32_t compare(const uint32_t *text, size_t count, uint32_t limit, size_t a, size_t b) {
    uint32_t n = 0;
    while (n < limit && a + n < count && b + n < count && text[a + n] == text[b + n]) n++;
    return n;
}

rgm_status rgm_suffix_sort(const uint32_t *text, size_t count, uint32_t limit, uint32_t *order,
                           uint32_t *common, rgm_error *err) {
    uint64_t *keys = rgm_malloc((count + 1) * sizeof *keys);
    uint32_t *rank = rgm_malloc((count + 1) * sizeof *rank);
    rgm_status status = RGM_OK;
    if (!keys || !rank) {
        status = rgm_error_no_memory(err);
        goto done;
    }
    for (size_t i = 0; i < count; i++) keys[i] = text[i];
    RGM_GOTO(rgm_sort_order(keys, count, order, err));
    bool distinct = rank_by(keys, order, count, rank);
    for (size_t length = 1; !distinct && length < limit; length *= 2) {
        for (size_t i = 0; i < count; i++)
            keys[i] = (uint64_t)rank[i] << 32 | (i + length < count ? rank[i + length] + 1u : 0u);
        RGM_GOTO(rgm_sort_order(keys, count, order, err));
        distinct = rank_by(keys, order, count, rank);
    }
    // Suffixes of one rank agree in at least `limit` symbols; the last one or two of the text are never of
    // one.
    for (size_t i = 0; i < count; i++) {
        bool same = i && rank[order[i]] == rank[order[i - 1]];
        common[i] = !i ? 0 : same ? limit : compare(text, count, limit, order[i - 1], order[i]);
    }
done:
    rgm_free(keys);
    rgm_free(rank);
    return status;
}
