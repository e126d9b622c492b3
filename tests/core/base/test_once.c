// SPDX-License-Identifier: Apache-2.0
#include "base/once.h"

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/kept.h"
#include "base/memory.h"
#include "harness.h"

enum { THREADS = 8, LONG = 1000 };

typedef struct {
    rgm_once once;
    _Atomic(int) makings, waiting, got;
    int value;
} thing;

// Others get the processor while it is made.
static rgm_status make(void *owner, rgm_error *err) {
    thing *t = owner;
    (void)err;
    (void)atomic_fetch_add(&t->makings, 1);
    for (int i = 0; i < LONG; i++) sched_yield();
    t->value = 42;
    return RGM_OK;
}

static void *ask(void *arg) {
    thing *t = arg;
    rgm_error err;
    (void)atomic_fetch_add(&t->waiting, 1);
    while (atomic_load(&t->waiting) < THREADS) sched_yield();
    if (rgm_once_make(&t->once, make, t, &err) == RGM_OK && t->value == 42)
        (void)atomic_fetch_add(&t->got, 1);
    return NULL;
}

TEST(of_many_threads_that_ask_one_makes_it_and_all_have_it) {
    thing t = {.value = 0};
    pthread_t threads[THREADS];
    CHECK(!rgm_once_made(&t.once));
    for (int i = 0; i < THREADS; i++) REQUIRE(pthread_create(&threads[i], NULL, ask, &t) == 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    CHECK_EQ_I64(t.makings, 1);
    CHECK_EQ_I64(t.got, THREADS);
    CHECK(rgm_once_made(&t.once));
}

static rgm_status fail_first(void *owner, rgm_error *err) {
    thing *t = owner;
    return atomic_fetch_add(&t->makings, 1) == 0 ? rgm_error_no_memory(err) : RGM_OK;
}

TEST(what_failed_is_tried_again_by_the_next) {
    thing t = {.value = 0};
    rgm_error err;
    CHECK_EQ_I64(rgm_once_make(&t.once, fail_first, &t, &err), RGM_NO_MEMORY);
    CHECK(!rgm_once_made(&t.once));
    CHECK_OK(rgm_once_make(&t.once, fail_first, &t, &err));
    CHECK_OK(rgm_once_make(&t.once, fail_first, &t, &err));
    CHECK_EQ_I64(t.makings, 2);
}

static _Atomic(bool) go_on;

static rgm_status make_slowly(void *owner, rgm_error *err) {
    thing *t = owner;
    (void)err;
    (void)atomic_fetch_add(&t->makings, 1);
    while (!atomic_load(&go_on)) sched_yield();
    t->value = 42;
    return RGM_OK;
}

static void *make_in_a_thread(void *arg) {
    thing *t = arg;
    rgm_error err;
    if (rgm_once_make(&t->once, make_slowly, t, &err) == RGM_OK) (void)atomic_fetch_add(&t->got, 1);
    return NULL;
}

// The thread that makes it is not in the child.
TEST(what_a_fork_breaks_off_is_made_in_the_child) {
    thing t = {.value = 0};
    pthread_t thread;
    rgm_error err;
    int status = -1;
    REQUIRE(pthread_create(&thread, NULL, make_in_a_thread, &t) == 0);
    while (!atomic_load(&t.makings)) sched_yield();
    pid_t child = fork();
    if (child == 0) {
        alarm(20); // ends a wait without an end
        atomic_store(&go_on, true);
        bool made = rgm_once_make(&t.once, make_slowly, &t, &err) == RGM_OK &&
                    rgm_once_make(&t.once, make_slowly, &t, &err) == RGM_OK;
        _exit(!(made && t.value == 42 && t.makings == 2));
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    CHECK(!rgm_once_made(&t.once));
    atomic_store(&go_on, true);
    pthread_join(thread, NULL);
    CHECK(rgm_once_made(&t.once) && t.got == 1 && t.makings == 1 && t.value == 42);
}

static rgm_status make_copy(const void *of, void **made, rgm_error *err) {
    int *copy = rgm_malloc(sizeof *copy);
    if (!copy) return rgm_error_no_memory(err);
    *copy = *(const int *)of;
    *made = copy;
    return RGM_OK;
}

TEST(what_is_kept_is_the_same_for_all_and_goes_with_its_owner) {
    static const rgm_kept_kind kind = {make_copy, rgm_free};
    int64_t alive = rgm_memory_live();
    const void *first, *second;
    int value = 7;
    rgm_kept *kept;
    rgm_error err;
    rgm_kept_release(NULL);
    CHECK_OK(rgm_kept_init(&kept, &err));
    rgm_memory_fail_after(0);
    CHECK_EQ_I64(rgm_kept_get(kept, RGM_KEPT_CRITICAL, &kind, &value, &first, &err), RGM_NO_MEMORY);
    rgm_memory_fail_after(-1);
    CHECK_OK(rgm_kept_get(kept, RGM_KEPT_CRITICAL, &kind, &value, &first, &err));
    value = 8;
    CHECK_OK(rgm_kept_get(kept, RGM_KEPT_CRITICAL, &kind, &value, &second, &err));
    CHECK(first == second);
    CHECK_EQ_I64(*(const int *)second, 7);
    rgm_kept_release(kept);
    CHECK_EQ_I64(rgm_memory_live(), alive);
}
