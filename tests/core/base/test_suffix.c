// SPDX-License-Identifier: Apache-2.0
// The order of suffixes against insertion sort with a plain comparison.
#include "base/suffix.h"
#include "harness.h"

enum { MOST = 40 };

static uint32_t state = 1;
static uint32_t next_random(void) { return state = state * 1664525u + 1013904223u; }

static uint32_t agree(const uint32_t *text, size_t count, uint32_t limit, size_t a, size_t b) {
    uint32_t n = 0;
    while (n < limit && a + n < count && b + n < count && text[a + n] == text[b + n]) n++;
    return n;
}

// A suffix that ends comes before one that goes on; equal ones keep their order.
static bool before(const uint32_t *text, size_t count, uint32_t limit, size_t a, size_t b) {
    uint32_t n = agree(text, count, limit, a, b);
    if (n == limit) return a < b;
    if (a + n == count || b + n == count) return a + n == count;
    return text[a + n] < text[b + n];
}

static void compare(const uint32_t *text, size_t count, uint32_t limit) {
    uint32_t order[MOST + 1], common[MOST + 1], expected[MOST + 1];
    CHECK_OK(rgm_suffix_sort(text, count, limit, order, common, NULL));
    for (size_t i = 0; i < count; i++) {
        size_t at = i;
        for (; at > 0 && before(text, count, limit, i, expected[at - 1]); at--)
            expected[at] = expected[at - 1];
        expected[at] = (uint32_t)i;
    }
    // Doubling may compare more than the limit: then what agrees up to the limit may stand in any order.
    for (size_t i = 0; i < count; i++) {
        CHECK(agree(text, count, limit, order[i], expected[i]) == limit || order[i] == expected[i]);
        if (i) CHECK_EQ_U64(common[i], agree(text, count, limit, order[i - 1], order[i]));
    }
    if (count) CHECK_EQ_U64(common[0], 0);
}

TEST(random_texts_are_in_the_order_of_a_plain_comparison) {
    uint32_t text[MOST];
    for (int round = 0; round < 3000; round++) {
        size_t count = next_random() % MOST;
        uint32_t letters = 1 + next_random() % 4;
        for (size_t i = 0; i < count; i++) text[i] = (next_random() >> 16) % letters;
        compare(text, count, 1 + next_random() % 12);
    }
}

TEST(texts_of_one_letter_and_of_large_numbers) {
    uint32_t same[MOST] = {0}, large[] = {UINT32_MAX, 5, UINT32_MAX, 5, UINT32_MAX - 1, 0};
    for (uint32_t limit = 1; limit < 2 * MOST; limit++) compare(same, MOST, limit);
    compare(large, 6, 4);
    compare(large, 0, 4);
    compare(large, 1, 4);
}
