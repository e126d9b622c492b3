// SPDX-License-Identifier: Apache-2.0
#include "base/queue.h"

#include <pthread.h>

#include "base/memory.h"
#include "harness.h"

enum { PAIRS = 4, ITEMS = 20000 };
static rgm_queue queue;
static _Atomic(int) seen[PAIRS * ITEMS];
static _Atomic(int) taken;
static char items[PAIRS * ITEMS];

TEST(full_and_empty) {
    CHECK_OK(rgm_queue_init(&queue, 4, NULL));
    CHECK(rgm_queue_pop(&queue) == NULL);
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 4; i++) CHECK(rgm_queue_push(&queue, &items[i]));
        CHECK(!rgm_queue_push(&queue, &items[5]));
        CHECK_EQ_U64(rgm_queue_length(&queue), 4);
        for (int i = 0; i < 4; i++) CHECK(rgm_queue_pop(&queue) == &items[i]);
        CHECK(rgm_queue_pop(&queue) == NULL);
        CHECK_EQ_U64(rgm_queue_length(&queue), 0);
    }
    rgm_queue_release(&queue);
    rgm_queue_release(&queue);
}

static int given_back;
static void count_item(void *item) { given_back += item == &items[1] || item == &items[2]; }

// As a child of fork finds it: one thread was pushing, another popping.
TEST(a_queue_that_was_left_in_the_middle_begins_anew) {
    CHECK_OK(rgm_queue_init(&queue, 4, NULL));
    for (int i = 0; i < 3; i++) CHECK(rgm_queue_push(&queue, &items[i]));
    CHECK(rgm_queue_pop(&queue) == &items[0]);
    (void)atomic_fetch_add(&queue.tail, 1);
    (void)atomic_fetch_add(&queue.head, 1);
    given_back = 0;
    rgm_queue_reset(&queue, count_item);
    CHECK_EQ_I64(given_back, 2);
    for (int i = 0; i < 4; i++) CHECK(rgm_queue_push(&queue, &items[i]));
    CHECK(!rgm_queue_push(&queue, &items[5]));
    for (int i = 0; i < 4; i++) CHECK(rgm_queue_pop(&queue) == &items[i]);
    rgm_queue_release(&queue);
}

static void *push_all(void *arg) {
    char *first = arg;
    for (int i = 0; i < ITEMS;)
        if (rgm_queue_push(&queue, first + i))
            i++;
        else
            sched_yield();
    return NULL;
}

static void *pop_all(void *arg) {
    (void)arg;
    while (atomic_load(&taken) < PAIRS * ITEMS) {
        char *item = rgm_queue_pop(&queue);
        if (!item) {
            sched_yield();
            continue;
        }
        atomic_fetch_add(&seen[item - items], 1);
        atomic_fetch_add(&taken, 1);
    }
    return NULL;
}

TEST(eight_threads_lose_nothing_and_double_nothing) {
    pthread_t threads[2 * PAIRS];
    CHECK_OK(rgm_queue_init(&queue, 64, NULL));
    for (int i = 0; i < PAIRS; i++) {
        REQUIRE(pthread_create(&threads[2 * i], NULL, push_all, items + i * ITEMS) == 0);
        REQUIRE(pthread_create(&threads[2 * i + 1], NULL, pop_all, NULL) == 0);
    }
    for (int i = 0; i < 2 * PAIRS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < PAIRS * ITEMS; i++) CHECK_EQ_I64(atomic_load(&seen[i]), 1);
    CHECK(rgm_queue_pop(&queue) == NULL);
    rgm_queue_release(&queue);
}
