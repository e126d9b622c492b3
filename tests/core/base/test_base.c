// SPDX-License-Identifier: Apache-2.0
// Status, memory, bytes, check sums, sorting, threads.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/memory.h"
#include "base/sort.h"
#include "base/sort_runs.h"
#include "base/thread.h"
#include "harness.h"
#include "random.h"

static uint64_t random_state = 42;
static uint64_t random_next(void) {
    random_step(&random_state);
    return random_state ^ (random_state >> 29);
}

TEST(status_has_names_and_texts) {
    CHECK_STR_EQ(rgm_status_name(RGM_OK), "OK");
    CHECK_STR_EQ(rgm_status_name(RGM_BUSY), "BUSY");
    CHECK_STR_EQ(rgm_status_text(RGM_FORMAT), "unreadable input");
    CHECK_STR_EQ(rgm_status_name((rgm_status)99), "UNKNOWN");
    CHECK_STR_EQ(rgm_status_text((rgm_status)-1), "unknown status");
}

TEST(errors_carry_message_place_and_reason) {
    rgm_error err = RGM_ERROR_NONE;
    CHECK(err.status == RGM_OK && err.offset == -1 && err.message[0] == '\0');
    CHECK_EQ_I64(rgm_error_set(&err, RGM_INVALID, "%d apples", 3), RGM_INVALID);
    CHECK_STR_EQ(err.message, "3 apples");
    CHECK_EQ_I64(rgm_error_at(&err, RGM_FORMAT, 77, "here"), RGM_FORMAT);
    CHECK(err.offset == 77 && err.status == RGM_FORMAT && err.os_errno == 0);
    CHECK_EQ_I64(rgm_error_os(&err, RGM_IO, ENOENT, "cannot open %s", "x"), RGM_IO);
    CHECK_STR_EQ(err.message, "cannot open x: No such file or directory");
    CHECK(err.os_errno == ENOENT && err.offset == -1);
    CHECK_EQ_I64(rgm_error_no_memory(NULL), RGM_NO_MEMORY);
    CHECK_EQ_I64(rgm_error_os(NULL, RGM_IO, EIO, "nobody listens"), RGM_IO);
    char endless[2000];
    memset(endless, 'x', sizeof endless);
    endless[sizeof endless - 1] = '\0';
    CHECK_EQ_I64(rgm_error_os(&err, RGM_IO, ENOENT, "%s", endless), RGM_IO);
    CHECK_EQ_U64(strlen(err.message), sizeof err.message - 1);
    rgm_error_clear(&err);
    CHECK(err.status == RGM_OK && err.os_errno == 0 && err.offset == -1 && err.message[0] == '\0');
    rgm_error_clear(NULL);
}

TEST(the_nth_allocation_fails_once) {
    int64_t live = rgm_memory_live();
    uint64_t calls = rgm_memory_calls();
    rgm_memory_fail_after(2);
    void *a = rgm_malloc(10), *b = rgm_calloc(3, 5), *c = rgm_malloc(10), *d = rgm_malloc(0);
    CHECK(a && b && !c && d);
    CHECK_EQ_I64(rgm_memory_live(), live + 3);
    rgm_memory_fail_after(0);
    CHECK(rgm_realloc(a, 100) == NULL); // and a is still there
    a = rgm_realloc(a, 1000);
    char *text = rgm_strdup("abc", 2);
    CHECK_STR_EQ(text, "ab");
    CHECK_EQ_U64(rgm_memory_calls() - calls, 7);
    rgm_free(a);
    rgm_free(b);
    rgm_free(d);
    rgm_free(text);
    rgm_free(NULL);
    CHECK_EQ_I64(rgm_memory_live(), live);
    rgm_memory_fail_after(-1);
}

TEST(bytes_grow_and_keep_a_failure) {
    rgm_bytes b = {0};
    for (uint32_t i = 0; i < 1000; i++) rgm_bytes_u32(&b, i);
    rgm_bytes_append(&b, "ab", 2);
    CHECK_EQ_U64(b.length, 4002);
    rgm_bytes_align(&b);
    CHECK_EQ_U64(b.length, 4008);
    rgm_bytes_align(&b);
    CHECK_EQ_U64(b.length, 4008);
    uint32_t value;
    memcpy(&value, b.data + 999 * 4, 4);
    CHECK_EQ_U64(value, 999);
    CHECK(rgm_bytes_grow(&b, SIZE_MAX / 2) == NULL && b.failed);
    rgm_bytes_u64(&b, 1);
    CHECK_EQ_U64(b.length, 4008);
    rgm_bytes_reset(&b);
    CHECK(!b.failed && b.length == 0);
    rgm_bytes_text(&b, "x=");
    rgm_bytes_text(&b, "42");
    rgm_bytes_append(&b, NULL, 0);
    CHECK(b.length == 4 && memcmp(b.data, "x=42", 4) == 0);
    rgm_memory_fail_after(0);
    CHECK(rgm_bytes_grow(&b, 1 << 20) == NULL && b.failed);
    rgm_memory_fail_after(-1);
    rgm_bytes_release(&b);
    rgm_bytes_release(&b);
}

// RFC 3720 B.4, and the check value of the CRC catalogues.
TEST(crc32c_gives_the_published_sums) {
    uint8_t zeros[32] = {0}, ones[32], up[32], down[32];
    memset(ones, 0xFF, sizeof ones);
    for (int i = 0; i < 32; i++) up[i] = (uint8_t)i, down[i] = (uint8_t)(31 - i);
    uint32_t (*sums[])(uint32_t, const void *, size_t) = {rgm_crc32c, rgm_crc32c_portable};
    for (int i = 0; i < 2; i++) {
        CHECK_EQ_U64(sums[i](0, zeros, 32), 0x8A9136AA);
        CHECK_EQ_U64(sums[i](0, ones, 32), 0x62A8AB43);
        CHECK_EQ_U64(sums[i](0, up, 32), 0x46DD794E);
        CHECK_EQ_U64(sums[i](0, down, 32), 0x113FDB5C);
        CHECK_EQ_U64(sums[i](0, "123456789", 9), 0xE3069283);
        CHECK_EQ_U64(sums[i](0, "", 0), 0);
    }
}

TEST(crc32c_is_the_same_in_pieces_and_in_hardware) {
    uint8_t data[1000];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)random_next();
    for (int n = 0; n < 2000; n++) {
        size_t from = random_next() % 500, length = random_next() % 500,
               cut = length ? random_next() % length : 0;
        uint32_t whole = rgm_crc32c(0, data + from, length);
        CHECK_EQ_U64(whole, rgm_crc32c_portable(0, data + from, length));
        CHECK_EQ_U64(whole, rgm_crc32c(rgm_crc32c(0, data + from, cut), data + from + cut, length - cut));
    }
}

static int compare(const void *a, const void *b) {
    int64_t x, y;
    memcpy(&x, a, 8), memcpy(&y, b, 8);
    return x < y ? -1 : x > y;
}

TEST(sort_agrees_with_qsort) {
    enum { MOST = 5000 };
    static int64_t values[MOST], expected[MOST], scratch[MOST];
    static uint64_t keys[MOST];
    static uint32_t order[MOST];
    const size_t counts[] = {0, 1, 2, 63, 64, 65, 1000, MOST};
    for (int width = 0; width < 64; width += 7) {
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            size_t n = counts[c];
            for (size_t i = 0; i < n; i++) {
                values[i] = (int64_t)random_next() >> width; // negative too; few bits make duplicates
                expected[i] = values[i];
                keys[i] = rgm_sort_key_i64(values[i]);
            }
            CHECK_OK(rgm_sort_order(keys, n, order, NULL));
            for (size_t i = 1; i < n; i++) {
                bool ordered = values[order[i - 1]] < values[order[i]] ||
                               (values[order[i - 1]] == values[order[i]] && order[i - 1] < order[i]);
                CHECK(ordered);
            }
            qsort(expected, n, sizeof *expected, compare);
            rgm_sort_i64(values, n, scratch);
            CHECK(memcmp(values, expected, n * sizeof *values) == 0);
        }
    }
    int64_t ends[] = {INT64_MAX, 0, INT64_MIN, -1, 1};
    rgm_sort_i64(ends, 5, scratch);
    CHECK(ends[0] == INT64_MIN && ends[1] == -1 && ends[4] == INT64_MAX);
    rgm_memory_fail_after(0);
    uint64_t unsorted[] = {2, 1};
    CHECK_EQ_I64(rgm_sort_order(unsorted, 2, order, NULL), RGM_NO_MEMORY);
    rgm_memory_fail_after(-1);
}

static int64_t run_keys[20000];

static int by_key_and_row(const void *a, const void *b) {
    uint32_t x, y;
    memcpy(&x, a, 4), memcpy(&y, b, 4);
    if (run_keys[x] != run_keys[y]) return run_keys[x] < run_keys[y] ? -1 : 1;
    return x < y ? -1 : x > y;
}

// Keys that go up for `length` rows and then begin anew; 1 is no order at all.
static void fill_runs(size_t count, size_t length, uint64_t range) {
    int64_t key = 0;
    for (size_t i = 0; i < count; i++) {
        bool anew = i % length == 0;
        key =
            anew ? (int64_t)(random_next() % range) - (int64_t)range / 2 : key + (int64_t)(random_next() % 4);
        run_keys[i] = key;
    }
}

TEST(merged_runs_agree_with_qsort) {
    enum { MOST = sizeof run_keys / sizeof *run_keys };
    static uint32_t rows[MOST], expected[MOST], scratch[MOST];
    const size_t counts[] = {0, 1, 2, 15, 16, 17, 33, 1000, MOST}, lengths[] = {1, 2, 7, 16, 100, 3000, MOST};
    const uint64_t ranges[] = {1, 10, 5000, UINT64_MAX / 4};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
            for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
                size_t n = 0;
                fill_runs(counts[c], lengths[l], ranges[r]);
                for (size_t i = 0; i < counts[c]; i += 1 + (l + r) % 2)
                    rows[n++] = (uint32_t)i; // or each other
                memcpy(expected, rows, n * sizeof *rows);
                qsort(expected, n, sizeof *expected, by_key_and_row);
                rgm_sort_runs_i64(run_keys, rows, n, scratch);
                if (memcmp(rows, expected, n * sizeof *rows) != 0)
                    HARNESS_FAIL("%zu rows in runs of %zu are in another order", n, lengths[l]);
            }
}

TEST(columns_keep_their_rows_while_they_grow) {
    int64_t live = rgm_memory_live();
    uint32_t *column = NULL;
    size_t rows = 0;
    for (size_t more = 16; more <= 1 << 20; more *= 2) { // from the heap to pages of its own
        if (more == 1 << 12 || more == 1 << 19) {
            rgm_memory_fail_after(0);
            CHECK(rgm_block_realloc(column, more * sizeof *column) == NULL); // and it is still there
        }
        uint32_t *grown = rgm_block_realloc(column, more * sizeof *column);
        REQUIRE(grown && (uintptr_t)grown % 16 == 0);
        column = grown;
        for (; rows < more; rows++) column[rows] = (uint32_t)rows * 7;
        CHECK_EQ_I64(rgm_memory_live(), live + 1);
    }
    size_t wrong = 0;
    for (size_t i = 0; i < rows; i++) wrong += column[i] != (uint32_t)i * 7;
    CHECK_EQ_U64(wrong, 0);
    column = rgm_block_realloc(column, 40);
    CHECK(column && column[9] == 63);
    rgm_block_free(column);
    rgm_block_free(NULL);
    CHECK_EQ_I64(rgm_memory_live(), live);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond;
static bool told;

static void *service(void *arg) {
    sigset_t blocked;
    char name[32] = "";
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    CHECK(sigismember(&blocked, SIGINT) == 1 && sigismember(&blocked, SIGUSR1) == 1);
    pthread_mutex_lock(&mutex);
    while (!told) (void)rgm_cond_wait(&cond, &mutex, INT64_MAX);
    pthread_mutex_unlock(&mutex);
    pthread_getname_np(pthread_self(), name, sizeof name);
    CHECK_STR_EQ(name, "rgm-test");
    *(int64_t *)arg = rgm_thread_native_id();
    return NULL;
}

TEST(service_threads_take_no_signals) {
    pthread_t thread;
    int64_t id = 0;
    rgm_cond_init(&cond);
    pthread_mutex_lock(&mutex);
    CHECK(!rgm_cond_wait(&cond, &mutex, 1000000));
    CHECK(!rgm_cond_wait(&cond, &mutex, -5));
    pthread_mutex_unlock(&mutex);
    CHECK_OK(rgm_thread_start(&thread, "rgm-test", service, &id, NULL));
    pthread_mutex_lock(&mutex);
    told = true;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    CHECK(id > 0 && id != rgm_thread_native_id());
    sigset_t mine;
    pthread_sigmask(SIG_SETMASK, NULL, &mine);
    CHECK(sigismember(&mine, SIGINT) == 0);
}
