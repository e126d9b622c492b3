// SPDX-License-Identifier: Apache-2.0
#include "base/strings.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/memory.h"
#include "harness.h"

static rgm_strings strings;

TEST(equal_strings_get_one_dense_id) {
    CHECK_OK(rgm_strings_init(&strings, 1 << 20, NULL));
    uint32_t a, b, c, empty, zero;
    CHECK_OK(rgm_strings_intern(&strings, "alpha", 5, &a, NULL));
    CHECK_OK(rgm_strings_intern(&strings, "beta", 4, &b, NULL));
    CHECK_OK(rgm_strings_intern(&strings, "alphabet", 5, &c, NULL));
    CHECK_OK(rgm_strings_intern(&strings, "", 0, &empty, NULL));
    CHECK_OK(rgm_strings_intern(&strings, "alp\0a", 5, &zero, NULL));
    CHECK(a == 1 && b == 2 && c == 1 && empty == 0 && zero == 3);
    CHECK_EQ_U64(rgm_strings_count(&strings), 4);
    CHECK_STR_EQ(rgm_strings_view(&strings, 2).data, "beta");
    CHECK_EQ_U64(rgm_strings_view(&strings, 3).length, 5);
    CHECK_STR_EQ(rgm_strings_view(&strings, 4).data, "");
    CHECK_STR_EQ(rgm_strings_view(&strings, UINT32_MAX).data, "");
    rgm_strings_release(&strings);
}

// A word with which the product of the hash is zero: what stands before it makes no difference.
#define SAME_HASH "\x93\xFD\x59\x66\xB8\xFE\xE8\xD6"

TEST(a_string_and_its_beginning_are_two_even_with_one_hash) {
    CHECK_EQ_U64(rgm_hash_bytes(SAME_HASH SAME_HASH, 16), rgm_hash_bytes(SAME_HASH, 8));
    CHECK_OK(rgm_strings_init(&strings, 1 << 20, NULL));
    uint32_t whole, beginning;
    CHECK_OK(rgm_strings_intern(&strings, SAME_HASH SAME_HASH, 16, &whole, NULL));
    CHECK_OK(rgm_strings_intern(&strings, SAME_HASH, 8, &beginning, NULL));
    CHECK(whole == 1 && beginning == 2);
    rgm_strings_release(&strings);
}

TEST(a_hundred_thousand_strings) {
    enum { COUNT = 100000 };
    CHECK_OK(rgm_strings_init(&strings, 64 << 20, NULL));
    const char *first = NULL;
    char text[32];
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < COUNT; i++) {
            uint32_t id = 0;
            int length = snprintf(text, sizeof text, "operation %u", i);
            CHECK_OK(rgm_strings_intern(&strings, text, (size_t)length, &id, NULL));
            CHECK_EQ_U64(id, i + 1);
        }
        if (!round) first = rgm_strings_view(&strings, 1).data;
    }
    CHECK(rgm_strings_view(&strings, 1).data == first); // never moves
    CHECK_EQ_U64(rgm_strings_count(&strings), COUNT + 1);
    CHECK_STR_EQ(rgm_strings_view(&strings, 77778).data, "operation 77777");
    rgm_strings_release(&strings);
}

TEST(past_the_limit_nothing_is_added) {
    CHECK_OK(rgm_strings_init(&strings, 1000, NULL));
    char text[500];
    uint32_t id = 9, again = 9;
    memset(text, 'x', sizeof text);
    CHECK_OK(rgm_strings_intern(&strings, text, 500, &id, NULL));
    rgm_error err;
    CHECK_EQ_I64(rgm_strings_intern(&strings, text, 499, &again, &err), RGM_LIMIT);
    CHECK(strstr(err.message, "2 strings") != NULL);
    CHECK_OK(rgm_strings_intern(&strings, text, 500, &again, NULL));
    CHECK_EQ_U64(again, id);
    CHECK_OK(rgm_strings_intern(&strings, "small", 5, &again, NULL));
    CHECK_EQ_I64(rgm_strings_intern(&strings, text, (size_t)UINT32_MAX, &again, NULL), RGM_LIMIT);
    rgm_strings_release(&strings);
    CHECK_EQ_I64(rgm_strings_init(&strings, 0, NULL), RGM_LIMIT);
    rgm_strings none = {0};
    rgm_strings_release(&none);
    rgm_strings_release(NULL);
}

enum { THREADS = 64, NAMES = 2000 };
static uint32_t ids[THREADS][NAMES];

static void *intern_all(void *arg) {
    uint32_t *own = arg;
    char text[32];
    for (uint32_t i = 0; i < NAMES; i++) {
        uint32_t n = (i * 7919 + (uint32_t)(own - ids[0])) % NAMES; // each in its own order
        int length = snprintf(text, sizeof text, "name %u", n);
        CHECK_OK(rgm_strings_intern(&strings, text, (size_t)length, &own[n], NULL));
        CHECK_STR_EQ(rgm_strings_view(&strings, own[n]).data, text);
        uint32_t count = rgm_strings_count(&strings);
        CHECK(rgm_strings_view(&strings, count - 1).data != NULL);
    }
    return NULL;
}

TEST(sixty_four_threads_agree_on_the_ids) {
    pthread_t threads[THREADS];
    CHECK_OK(rgm_strings_init(&strings, 1 << 20, NULL));
    for (int i = 0; i < THREADS; i++) REQUIRE(pthread_create(&threads[i], NULL, intern_all, ids[i]) == 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    CHECK_EQ_U64(rgm_strings_count(&strings), NAMES + 1);
    for (int i = 1; i < THREADS; i++) CHECK(memcmp(ids[i], ids[0], sizeof ids[0]) == 0);
    rgm_strings_release(&strings);
}
