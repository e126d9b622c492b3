// SPDX-License-Identifier: Apache-2.0
// The binary search against looking at every row.
#include "base/search.h"

#include <stdint.h>

#include "harness.h"

enum { ROWS = 40, ROUNDS = 2000 };

static size_t first_not_below(const int *rows, size_t low, size_t high, int value) {
    while (low < high && rows[low] < value) low++;
    return low;
}

static uint32_t next(uint32_t *state) { return *state = *state * 1664525u + 1013904223u; }

// Rows that ascend, with repetitions; any part of them is searched, none of them too.
TEST(the_same_as_row_by_row) {
    uint32_t state = 7;
    for (int round = 0; round < ROUNDS; round++) {
        int rows[ROWS], at = 0;
        for (size_t i = 0; i < ROWS; i++) rows[i] = at += (int)(next(&state) >> 30);
        size_t low = next(&state) % (ROWS + 1), high = low + next(&state) % (ROWS + 1 - low);
        int value = (int)(next(&state) % (3 * ROWS / 2));
        rgm_search search = rgm_search_in(low, high);
        size_t asked = 0;
        while (rgm_search_on(&search)) {
            CHECK(search.middle >= low && search.middle < high);
            rgm_search_tell(&search, rows[search.middle] < value);
            asked++;
        }
        CHECK_EQ_U64(search.low, first_not_below(rows, low, high, value));
        CHECK(asked <= 6); // of at most 40 rows
    }
}

// The sum of both ends of the range would not fit.
TEST(ends_may_be_large) {
    rgm_search search = rgm_search_in(SIZE_MAX - 3, SIZE_MAX);
    while (rgm_search_on(&search)) rgm_search_tell(&search, search.middle < SIZE_MAX - 1);
    CHECK(search.low == SIZE_MAX - 1);
}
