// SPDX-License-Identifier: Apache-2.0
// How tracing ends: flushes, other tools, threads that go on launching, forks, and a CUPTI that hangs.
#include <sys/wait.h>

#include "traced.h"

TEST(flush_brings_what_has_ended) {
    traced t;
    rgm_run *run = NULL;
    rgm_tracing_options options = few_flushes();
    begin(&t, &options);
    (void)do_fake_cupti_launch("k", 7, 0, 10);
    rgm_tracing_flush(t.sink.arg, wait_ns);
    CHECK_OK(rgm_session_snapshot(t.session, &run, NULL));
    CHECK_EQ_U64(count_kind(run, RGM_KIND_KERNEL), 1);
    rgm_run_free(run);
    // Work that goes on for an hour is not waited for, and at the end it is counted.
    (void)do_fake_cupti_launch("endless", 7, 0, INT64_C(3600000000000));
    rgm_tracing_flush(t.sink.arg, 1000000);
    rgm_tracing_stop(t.sink.arg, 1000000);
    run = finish(&t);
    CHECK_EQ_U64(count_kind(run, RGM_KIND_KERNEL), 2); // the double writes the end beforehand
    rgm_run_free(run);
}

TEST(takeover_is_noticed) {
    traced t;
    rgm_tracing_options options = RGM_TRACING_DEFAULTS;
    options.flush_interval_ns = 1000000;
    options.buffer_bytes = 4096;
    begin(&t, &options);
    do_fake_cupti_take_over();
    for (int i = 0; i < 4000 && !stats_now().conflict[0]; i++) {
        (void)do_fake_cupti_launch("k", 7, 0, 10);
        usleep(1000);
    }
    CHECK(strstr(stats_now().conflict, "another tool") != NULL);
    rgm_tracing_stop(t.sink.arg, 1000000);
    rgm_run *run = finish(&t);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_TRACING_CONFLICT), 1);
    CHECK_EQ_U64(count_kind(run, RGM_KIND_RUNTIME) > 0, 1);
    rgm_run_free(run);
}

TEST(detaching) {
    traced t;
    rgm_tracing_options options = few_flushes();
    options.detach = 1;
    begin(&t, &options);
    (void)do_fake_cupti_launch("k", 7, 0, 10);
    rgm_tracing_stop(t.sink.arg, 20000000); // no call comes at whose end it could be done
    CHECK_EQ_I64(stats_now().state, RGM_TRACING_ATTACHED);
    rgm_run_free(finish(&t));
    CHECK_EQ_I64(do_fake_cupti_get("finalized"), 0);
}

// --- threads ----------------------------------------------------------------------------------------------

enum { THREADS = 4, LAUNCHES = 400 };
static _Atomic(bool) go_on;

static void *launch_many(void *arg) {
    const traced *t = arg;
    for (int i = 0; i < LAUNCHES; i++) {
        open_scope scope = step_begin(t);
        (void)do_fake_cupti_launch("k", 7, 0, 10);
        step_end(t, scope);
    }
    return NULL;
}

static void *launch_on(void *arg) {
    (void)arg;
    while (atomic_load(&go_on)) {
        (void)do_fake_cupti_launch("k", 7, 0, 10);
        usleep(50); // more would be a backlog that a busy machine does not read before the deadline
    }
    return NULL;
}

TEST(many_threads) {
    traced t;
    pthread_t threads[THREADS];
    rgm_tracing_options options = RGM_TRACING_DEFAULTS;
    options.flush_interval_ns = 2000000;
    begin(&t, &options);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, launch_many, &t);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    rgm_run *run = finish(&t);
    CHECK_EQ_U64(count_kind(run, RGM_KIND_KERNEL), THREADS * LAUNCHES);
    CHECK_EQ_U64(count_kind(run, RGM_KIND_RUNTIME), THREADS * LAUNCHES);
    for (size_t i = 0; i < run->spans.rows; i++)
        if (run->spans.kind[i] == RGM_KIND_KERNEL)
            CHECK(run->spans.launch[i] >= 0 && run->spans.parent[run->spans.launch[i]] >= 0);
    rgm_run_free(run);
}

// The program goes on launching while the profiler is closed, again and again.
TEST(stop_beside_launches) {
    pthread_t threads[2];
    atomic_store(&go_on, true);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, launch_on, NULL);
    for (int i = 0; i < 10; i++) {
        traced t;
        rgm_tracing_options options = few_flushes();
        options.flush_interval_ns = 1000000;
        CHECK_OK(rgm_session_new(&t.session, &RGM_SESSION_DEFAULTS, NULL, NULL));
        t.sink = rgm_session_sink(t.session);
        CHECK_OK(rgm_tracing_start(t.sink, &options, NULL));
        usleep(3000);
        rgm_tracing_stop(t.sink.arg, 5000000);
        CHECK(stats_now().state == RGM_TRACING_ATTACHED);
        rgm_session_free(t.session);
    }
    atomic_store(&go_on, false);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

static void *launch_without_a_pause(void *arg) {
    (void)arg;
    while (atomic_load(&go_on)) (void)do_fake_cupti_launch("k", 7, 20000000, 10);
    return NULL;
}

// The device is always behind by 20 ms, so there is always a call whose record has not been read yet: the end
// does not wait for those that come after it.
TEST(detaching_beside_launches_without_a_pause) {
    traced t;
    pthread_t thread;
    rgm_tracing_options options = few_flushes();
    options.detach = 1;
    options.buffer_bytes = 4096;
    begin(&t, &options);
    atomic_store(&go_on, true);
    pthread_create(&thread, NULL, launch_without_a_pause, NULL);
    while (stats_now().calls < 100) usleep(100);
    rgm_tracing_stop(t.sink.arg, wait_ns);
    atomic_store(&go_on, false);
    pthread_join(thread, NULL);
    CHECK_EQ_I64(stats_now().state, RGM_TRACING_DETACHED);
    CHECK_EQ_I64(do_fake_cupti_get("finalized"), 1);
    rgm_run_free(finish(&t));
}

TEST(a_child_of_a_fork) {
    if (SANITIZED) return;
    traced t;
    rgm_tracing_options options = few_flushes();
    begin(&t, &options);
    pid_t child = fork();
    if (child == 0) {
        rgm_tracing_flush(t.sink.arg, wait_ns);
        rgm_tracing_stop(t.sink.arg, wait_ns);
        bool lost = stats_now().state == RGM_TRACING_LOST;
        bool refuses = rgm_tracing_start(t.sink, &options, NULL) == RGM_UNAVAILABLE;
        _exit(lost && refuses && do_fake_cupti_get("calls_child") == 0 ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK_EQ_I64(status, 0);
    (void)do_fake_cupti_launch("k", 7, 0, 10);
    rgm_run *run = finish(&t);
    CHECK_EQ_U64(count_kind(run, RGM_KIND_KERNEL), 1);
    rgm_run_free(run);
}

// A program may be closed while CUPTI hangs: stop comes back, the session can go, nothing is used after.
// Last, because CUPTI is of no use afterwards.
TEST(zz_stop_while_cupti_hangs) {
    traced t;
    rgm_tracing_options options = few_flushes();
    begin(&t, &options);
    (void)do_fake_cupti_launch("k", 7, 0, 10);
    do_fake_cupti_set("hang", 1);
    rgm_tracing_stop(t.sink.arg, 10000000);
    CHECK_EQ_I64(stats_now().state, RGM_TRACING_STUCK);
    rgm_session_free(t.session);
    CHECK_EQ_I64(rgm_tracing_start(t.sink, &options, NULL), RGM_UNAVAILABLE);
    (void)do_fake_cupti_launch("k", 7, 0, 10); // a callback after the end
    do_fake_cupti_set("hang", 0);
    // It comes back late, delivers, and finds nobody.
    for (int i = 0; i < 2000 && do_fake_cupti_get("subscribed") > 0; i++) usleep(1000);
    CHECK_EQ_I64(do_fake_cupti_get("subscribed"), 0);
    usleep(50000);
}
