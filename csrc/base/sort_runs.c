// SPDX-License-Identifier: Apache-2.0
#include "base/sort_runs.h"

#include <string.h>
#include "base/search.h"

enum {
    SHORTEST = 16, // a shorter run is made that long by insertion
    DEPTH = 80,    // each run of the stack is twice as long as the next
};

// How many of the rows have a key that is less than the given one, or also those equal to it.
static size_t place(const int64_t *keys, const uint32_t *rows, size_t count, int64_t key, int equal) {
    rgm_search search = rgm_search_in(0, count);
    while (rgm_search_on(&search)) {
        int64_t here = keys[rows[search.middle]];
        rgm_search_tell(&search, here < key || (equal && here == key));
    }
    return search.low;
}

// Runs that follow each other in time, or nearly so, are merged where they overlap only.
static void merge(const int64_t *keys, uint32_t *rows, size_t half, size_t count, uint32_t *scratch) {
    if (keys[rows[half - 1]] <= keys[rows[half]]) return;
    size_t done = place(keys, rows, half, keys[rows[half]], 1);
    const uint32_t *right = rows + half,
                   *right_end = right + place(keys, right, count - half, keys[rows[half - 1]], 0);
    uint32_t *out = rows + done;
    const uint32_t *left = scratch, *left_end = scratch + (half - done);
    memcpy(scratch, out, (half - done) * sizeof *scratch);
    int64_t left_key = keys[*left], right_key = keys[*right];
    for (;;) {
        if (right_key < left_key) {
            *out++ = *right++;
            if (right == right_end) break;
            right_key = keys[*right];
        } else {
            *out++ = *left++;
            if (left == left_end) return;
            left_key = keys[*left];
        }
    }
    memcpy(out, left, (size_t)(left_end - left) * sizeof *left);
}

// Length of the run at the beginning of the rows.
static size_t run_length(const int64_t *keys, uint32_t *rows, size_t count) {
    size_t length = 1;
    while (length < count && keys[rows[length]] >= keys[rows[length - 1]]) length++;
    for (; length < count && length < SHORTEST; length++) {
        uint32_t row = rows[length];
        size_t at = length;
        for (; at > 0 && keys[rows[at - 1]] > keys[row]; at--) rows[at] = rows[at - 1];
        rows[at] = row;
    }
    return length;
}

void rgm_sort_runs_i64(const int64_t *keys, uint32_t *rows, size_t count, uint32_t *scratch) {
    size_t lengths[DEPTH], depth = 0, at = 0;
    while (at < count || depth > 1) {
        if (at < count && (depth < 2 || lengths[depth - 2] >= 2 * lengths[depth - 1])) {
            lengths[depth] = run_length(keys, rows + at, count - at);
            at += lengths[depth++];
            continue;
        }
        size_t right = lengths[--depth], left = lengths[depth - 1];
        merge(keys, rows + (at - left - right), left, left + right, scratch);
        lengths[depth - 1] = left + right;
    }
}
