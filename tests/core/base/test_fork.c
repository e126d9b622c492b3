// SPDX-License-Identifier: Apache-2.0
// What holds still over a fork: the order of the places, who comes while it is under way, and a thread that
// is in the middle of something.
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fork.h"
#include "harness.h"

// What was called, a letter each: the place, then b, p or c.
static char said[64];
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static void say(const char *text) { (void)strncat(said, text, sizeof said - strlen(said) - 1); }

static void late(void) { say("lx"); }
static const rgm_fork_hooks comes_late = {late, late, late};

static void outer_before(void) {
    say("ob");
    pthread_mutex_lock(&held);
    rgm_fork_watch(RGM_FORK_TRACING, &comes_late); // its place is over already
}
static void outer_parent(void) {
    pthread_mutex_unlock(&held);
    say("op");
}
static void outer_child(void) {
    pthread_mutex_unlock(&held);
    say("oc");
}
static void inner_before(void) { say("ib"); }
static void inner_parent(void) { say("ip"); }
static void inner_child(void) { say("ic"); }

static const rgm_fork_hooks outer = {outer_before, outer_parent, outer_child},
                            inner = {inner_before, inner_parent, inner_child};

// The exit code of a child that compares what was said in it.
static int fork_and_compare(const char *in_child) {
    int status = -1;
    said[0] = '\0';
    pid_t child = fork();
    if (child == 0) _exit(strcmp(said, in_child) != 0 || pthread_mutex_trylock(&held) != 0);
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    return status;
}

TEST(locks_are_taken_in_the_order_of_the_places_and_left_in_the_reverse_one) {
    rgm_fork_watch(RGM_FORK_SPILL, &inner); // whoever comes first
    rgm_fork_watch(RGM_FORK_EVENTS, &outer);
    rgm_fork_watch(RGM_FORK_EVENTS, &outer);
    CHECK_EQ_I64(fork_and_compare("obibicoc"), 0);
    CHECK(strcmp(said, "obibipop") == 0);
}

TEST(who_comes_while_a_fork_is_under_way_is_asked_at_the_next) {
    CHECK_EQ_I64(fork_and_compare("lxobibicoclx"), 0);
    CHECK(strcmp(said, "lxobibipoplx") == 0);
}

static _Atomic(bool) enough;
static void *lock_and_unlock(void *arg) {
    (void)arg;
    while (!atomic_load(&enough)) {
        pthread_mutex_lock(&held);
        pthread_mutex_unlock(&held);
    }
    return NULL;
}

TEST(a_thread_in_the_middle_of_something_leaves_no_lock_to_a_child) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, lock_and_unlock, NULL) == 0);
    for (int i = 0; i < 50; i++) CHECK_EQ_I64(fork_and_compare("lxobibicoclx"), 0);
    atomic_store(&enough, true);
    pthread_join(thread, NULL);
}
