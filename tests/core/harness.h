// SPDX-License-Identifier: Apache-2.0
// A C test harness in one header. Include it in one test_*.c, which becomes one program:
//
//     #include "harness.h"
//
//     TEST(an_empty_ring_has_no_records) {
//         CHECK_EQ_I64(rgm_ring_count(&ring), 0);
//     }
//
// The tests run in the order of the file; arguments select those whose name contains one of them. A check
// that fails prints file:line and lets the test go on, from any thread; REQUIRE leaves the test (a void
// function).
#ifndef RGM_TEST_HARNESS_H
#define RGM_TEST_HARNESS_H

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct harness_test {
    const char *name;
    void (*run)(void);
    struct harness_test *next;
} harness_test;

static harness_test *harness_first, **harness_last = &harness_first;
static atomic_int harness_failures;

#define TEST(name)                                                                                           \
    static void test_##name(void);                                                                           \
    __attribute__((constructor)) static void register_##name(void) {                                         \
        static harness_test test = {#name, test_##name, NULL};                                               \
        *harness_last = &test;                                                                               \
        harness_last = &test.next;                                                                           \
    }                                                                                                        \
    static void test_##name(void)

#define HARNESS_FAIL(...)                                                                                    \
    (atomic_fetch_add(&harness_failures, 1), fprintf(stderr, "%s:%d: ", __FILE__, __LINE__),                 \
     fprintf(stderr, __VA_ARGS__), fputc('\n', stderr))

#define CHECK(condition) ((condition) ? (void)0 : (void)HARNESS_FAIL("%s is false", #condition))

#define REQUIRE(condition)                                                                                   \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            HARNESS_FAIL("%s is false; test left", #condition);                                              \
            return;                                                                                          \
        }                                                                                                    \
    } while (0)

// HARNESS_COMPARE evaluates both sides once; `equal` and `format` see them as a_ and b_.
#define HARNESS_COMPARE(type, a, b, equal, format, ...)                                                      \
    do {                                                                                                     \
        type a_ = (type)(a);                                                                                 \
        type b_ = (type)(b);                                                                                 \
        if (!(equal)) HARNESS_FAIL("%s is " format ", expected " format, #a, __VA_ARGS__);                   \
    } while (0)

#define CHECK_EQ_I64(a, b) HARNESS_COMPARE(int64_t, a, b, a_ == b_, "%" PRId64, a_, b_)
#define CHECK_EQ_U64(a, b) HARNESS_COMPARE(uint64_t, a, b, a_ == b_, "%" PRIu64, a_, b_)
#define CHECK_NEAR(a, b, tolerance)                                                                          \
    HARNESS_COMPARE(double, a, b, fabs(a_ - b_) <= (tolerance), "%.17g", a_, b_)
#define CHECK_STR_EQ(a, b)                                                                                   \
    HARNESS_COMPARE(const char *, a, b, a_ &&b_ ? strcmp(a_, b_) == 0 : a_ == b_, "\"%s\"",                  \
                    a_ ? a_ : "(null)", b_ ? b_ : "(null)")
#define CHECK_OK(status) HARNESS_COMPARE(int, status, 0, a_ == b_, "status %d", a_, b_)

// Of many cases that one thread works through each one in so many, under ThreadSanitizer, which they tell
// nothing.
#if defined(__SANITIZE_THREAD__)
#define ONE_IN(n) (n)
#else
#define ONE_IN(n) 1
#endif

static bool harness_selected(const char *name, int argc, char **argv) {
    bool selected = argc < 2;
    for (int i = 1; i < argc; i++) selected = selected || strstr(name, argv[i]);
    return selected;
}

int main(int argc, char **argv) {
    int run = 0, failed = 0;
    for (harness_test *test = harness_first; test; test = test->next) {
        if (!harness_selected(test->name, argc, argv)) continue;
        int before = atomic_load(&harness_failures);
        test->run();
        bool ok = atomic_load(&harness_failures) == before;
        if (!ok) fprintf(stderr, "FAILED %s\n", test->name);
        failed += !ok;
        run++;
    }
    fprintf(stderr, "%d tests, %d failed\n", run, failed);
    return failed > 0 || run == 0;
}

#endif
