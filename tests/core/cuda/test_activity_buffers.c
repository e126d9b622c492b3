// SPDX-License-Identifier: Apache-2.0
// The pool of buffers: its bound, the two answers at the bound, buffers of others, and the hand-over between
// threads.
#include <pthread.h>
#include <string.h>

#include "base/memory.h"
#include "cuda/trace/activity_buffers.h"
#include "harness.h"

enum { BYTES = 4096 };

static uint8_t *ask(rgm_activity_buffers *b, size_t *size) {
    uint8_t *data = NULL;
    rgm_activity_buffers_request(b, &data, size);
    return data;
}

TEST(at_the_bound_none) {
    rgm_activity_buffers b;
    size_t size;
    CHECK_OK(rgm_activity_buffers_init(&b, BYTES, 3, true, NULL));
    uint8_t *data[3];
    for (int i = 0; i < 3; i++) {
        data[i] = ask(&b, &size);
        CHECK(data[i] && (uintptr_t)data[i] % 8 == 0);
        CHECK_EQ_U64(size, BYTES);
    }
    CHECK(!ask(&b, &size));
    CHECK_EQ_U64(atomic_load(&b.declined), 1);
    // Out of order.
    rgm_activity_buffers_complete(&b, data[2], 100);
    rgm_activity_buffers_complete(&b, data[0], BYTES + 1); // more than there is
    CHECK_EQ_U64(rgm_activity_buffers_out(&b), 1);
    CHECK_EQ_U64(rgm_activity_buffers_oldest(&b), 1);
    rgm_activity_buffer *first = rgm_activity_buffers_next(&b), *second = rgm_activity_buffers_next(&b);
    REQUIRE(first && second);
    CHECK(first->data == data[2] && first->valid == 100);
    CHECK(second->data == data[0] && second->valid == BYTES);
    rgm_activity_buffers_put(&b, second);
    CHECK_EQ_U64(rgm_activity_buffers_oldest(&b), 2);
    CHECK(ask(&b, &size) == data[0]);
    rgm_activity_buffers_wake(&b);
    (void)rgm_activity_buffers_next(&b); // posts of the two
    rgm_activity_buffers_release(&b);
    CHECK_EQ_I64(rgm_memory_live(), 0);
}

TEST(at_the_bound_a_scratch) {
    rgm_activity_buffers b;
    size_t size;
    CHECK_OK(rgm_activity_buffers_init(&b, 2 * RGM_SCRATCH_BYTES, 1, false, NULL));
    uint8_t *full = ask(&b, &size), *scratch = ask(&b, &size), *other = ask(&b, &size);
    REQUIRE(full && scratch && other);
    CHECK(scratch != other); // two that are out are two
    CHECK_EQ_U64(size, RGM_SCRATCH_BYTES);
    rgm_activity_buffers_complete(&b, scratch, 10);
    rgm_activity_buffer *buffer = rgm_activity_buffers_next(&b);
    REQUIRE(buffer);
    CHECK(buffer->scratch);
    rgm_activity_buffers_put(&b, buffer);
    CHECK(ask(&b, &size) == scratch);
    rgm_activity_buffers_release(&b);
}

TEST(buffers_of_others) {
    rgm_activity_buffers b;
    size_t size;
    uint8_t foreign[64];
    CHECK_OK(rgm_activity_buffers_init(&b, BYTES, 2, true, NULL));
    uint8_t *data = ask(&b, &size);
    rgm_activity_buffers_complete(&b, foreign, 10);
    rgm_activity_buffers_complete(&b, data, 10);
    rgm_activity_buffers_complete(&b, data, 10); // twice
    CHECK_EQ_U64(atomic_load(&b.foreign), 2);
    CHECK_EQ_U64(atomic_load(&b.completed), 1);
    rgm_activity_buffers_release(&b);
}

// Another tracing, while one buffer of the last is still out.
TEST(renewed) {
    rgm_activity_buffers b;
    size_t size;
    CHECK_OK(rgm_activity_buffers_init(&b, BYTES, 2, true, NULL));
    uint8_t *late = ask(&b, &size), *early = ask(&b, &size);
    rgm_activity_buffers_complete(&b, early, 10);
    rgm_activity_buffers_renew(&b, 2 * BYTES, 2, true);
    CHECK(ask(&b, &size) && ask(&b, &size) && size == 2 * BYTES);
    CHECK(!ask(&b, &size));
    rgm_activity_buffers_complete(&b, late, 10);
    CHECK_EQ_U64(atomic_load(&b.foreign), 0);
    CHECK_EQ_U64(rgm_activity_buffers_out(&b), 2);
    rgm_activity_buffers_release(&b);
    CHECK_EQ_I64(rgm_memory_live(), 0);
}

// Many threads fill and give back, one reads: nothing is lost, no buffer is with two at a time.
enum { THREADS = 4, TURNS = 3000 };
static rgm_activity_buffers shared;
static _Atomic(uint64_t) given;

static void *fill(void *arg) {
    uint64_t own = (uint64_t)(uintptr_t)arg;
    for (int i = 0; i < TURNS;) {
        size_t size;
        uint8_t *data = ask(&shared, &size);
        if (!data) continue;
        uint64_t value = own << 32 | (uint64_t)i++;
        memcpy(data, &value, sizeof value);
        for (size_t k = 8; k < 64; k++) data[k] = (uint8_t)own;
        atomic_fetch_add(&given, value);
        rgm_activity_buffers_complete(&shared, data, 64);
    }
    return NULL;
}

TEST(many_threads) {
    pthread_t threads[THREADS];
    uint64_t sum = 0;
    CHECK_OK(rgm_activity_buffers_init(&shared, BYTES, 8, true, NULL));
    for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, fill, (void *)(i + 1));
    for (int seen = 0; seen < THREADS * TURNS;) {
        rgm_activity_buffer *buffer = rgm_activity_buffers_next(&shared);
        if (!buffer) continue;
        uint64_t value;
        memcpy(&value, buffer->data, sizeof value);
        for (size_t k = 8; k < 64; k++) CHECK_EQ_U64(buffer->data[k], value >> 32);
        sum += value;
        seen++;
        rgm_activity_buffers_put(&shared, buffer);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    CHECK_EQ_U64(sum, atomic_load(&given));
    CHECK(atomic_load(&shared.full_count) <= 8);
    rgm_activity_buffers_release(&shared);
}
