// SPDX-License-Identifier: Apache-2.0
// Sessions in memory: resets, threads that come and go, snapshots while others record.
#include "recording.h"

#include <sys/wait.h>

#include "base/thread.h"
#include "capture/session_state.h"

// While a file is written, or read back, the drain lock is held for long.
TEST(a_duration_is_told_while_the_drain_lock_is_held) {
    rgm_session *s = session_plain(NULL);
    alarm(60);
    pthread_mutex_lock(&s->drain_mutex);
    uint64_t now = rgm_clock_ticks();
    CHECK(rgm_session_elapsed_ns(s, now - 1000, 1000) >= 0);
    pthread_mutex_unlock(&s->drain_mutex);
    alarm(0);
    rgm_session_free(s);
}

// What has been recorded is taken out of the blocks now, however late the drainer is on a busy machine.
static void drain(rgm_session *session) { rgm_run_free(snapshot_of(session)); }

static open_scope begun;
static void begin_and_leave(rgm_session *session, int number) {
    (void)number;
    begun = scope_begin(session, "request");
}

TEST(a_thread_whose_scopes_end_elsewhere_leaves_no_block) {
    rgm_session *s = session_plain(NULL);
    scopes(s, "op", 1);
    for (int i = 0; i < 200; i++) {
        on_thread(s, begin_and_leave);
        scope_end(s, begun);
        if (i % 16 == 15) drain(s);
    }
    // What waits in the pool is as much as the drainer thought fit; a block is in hand before it is there.
    rgm_session_stats stats;
    rgm_session_get_stats(s, &stats);
    CHECK(stats.blocks <= rgm_queue_length(&s->pool) + 8);
    CHECK_EQ_U64(s->recorder_count, 2);
    rgm_run *run = snapshot_of(s);
    REQUIRE(run);
    CHECK_EQ_I64(span_count(run, "request"), 200);
    rgm_run_free(run);
    rgm_session_free(s);
}

TEST(a_child_of_fork_has_a_pool_that_works) {
    if (SANITIZED) return;
    rgm_session *s = session_plain(NULL);
    scopes(s, "op", 1);
    // A thread that is between the two steps of a push when the process forks.
    (void)atomic_fetch_add(&s->pool.tail, 1);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        alarm(60);
        rgm_session_warm(s, 20 * RGM_BLOCK_RECORDS);
        scopes(s, "op", 10 * RGM_BLOCK_RECORDS);
        _exit(atomic_load(&s->hot_blocks) == 0 ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_EQ_I64(status, 0);
    rgm_session_free(s);
}

TEST(reset_forgets_and_keeps_the_lane) {
    rgm_session *s = session_plain(NULL);
    rgm_session_name_thread(s, "the thread", 10);
    scopes(s, "before", 5000);
    open_scope open = scope_begin(s, "across");
    scope_end(s, scope_begin(s, "before"));
    atomic_store(&site_of(s, "before")->skipped, 3);
    rgm_session_note(s, RGM_ANOMALY_INTERNAL, 2);
    rgm_session_rows(s, RGM_LOG_SAMPLES, &(rgm_sample){.ticks = rgm_clock_ticks(), .bytes = 1, .device = -1},
                     1);
    rgm_session_reset(s);
    rgm_session_stats stats;
    rgm_session_get_stats(s, &stats);
    CHECK_EQ_U64(stats.scopes, 0);
    CHECK_EQ_U64(stats.rows[RGM_LOG_SAMPLES], 0);
    scopes(s, "after", 3);
    scope_end(s, open);
    rgm_run *run = session_finish(s);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.rows, 4);
    CHECK_EQ_I64(span_count(run, "before"), 0);
    CHECK_EQ_I64(span_count(run, "across"), 1);
    CHECK_EQ_I64(run->memory.rows, 0);
    CHECK_EQ_I64(run->anomalies.rows, 0);
    REQUIRE(run->lanes.rows == 1);
    CHECK_STR_EQ(text_of(run, run->lanes.name[0]), "the thread");
    CHECK_EQ_I64(run->lanes.thread[0], rgm_thread_native_id());
    CHECK_EQ_I64(run->spans.parent[span_of(run, "after")], span_of(run, "across"));
    rgm_run_free(run);
}

static void named_thread(rgm_session *session, int number) {
    char name[32];
    (void)snprintf(name, sizeof name, "worker %d", number);
    rgm_session_name_thread(session, name, strlen(name));
    scopes(session, name, 3);
}

TEST(each_thread_has_a_lane_with_its_name) {
    rgm_session *s = session_plain(NULL);
    worker workers[5];
    for (int i = 0; i < 5; i++) { // one after another: they share a recorder
        workers_start(workers, 1, s, named_thread);
        workers_join(workers, 1);
    }
    workers_start(workers, 5, s, named_thread);
    workers_join(workers, 5);
    rgm_run *run = session_finish(s);
    REQUIRE(run && run->spans.rows == 30);
    CHECK_EQ_I64(run->lanes.rows, 10);
    for (size_t i = 0; i < run->spans.rows; i++) {
        uint32_t lane = run->spans.lane[i];
        CHECK_STR_EQ(text_of(run, run->lanes.name[lane]), name_of(run, i));
        CHECK_EQ_U64(run->lanes.process[lane], (uint32_t)getpid());
    }
    rgm_run_free(run);
}

static void one_scope(rgm_session *session, int number) {
    (void)number;
    scopes(session, "short", 1);
}

TEST(ten_thousand_short_threads_use_bounded_memory) {
    rgm_session *s = session_plain(NULL);
    worker workers[8];
    for (int i = 0; i < 1250; i++) {
        workers_start(workers, 8, s, one_scope);
        workers_join(workers, 8);
        if (i % 4 == 3) drain(s);
    }
    rgm_session_stats stats;
    rgm_session_get_stats(s, &stats);
    CHECK(stats.blocks <= 160); // 32 threads between two looks, and twice POOL_MOST in the pool
    rgm_run *run = session_finish(s);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.rows, 10000);
    CHECK_EQ_I64(run->lanes.rows, 10000);
    CHECK_EQ_I64(run->anomalies.rows, 0);
    rgm_run_free(run);
}

static void leaves_a_scope_open(rgm_session *session, int number) {
    (void)number;
    (void)scope_begin(session, "left open");
}

TEST(a_scope_left_open_by_a_dead_thread_is_kept) {
    rgm_session *s = session_plain(NULL);
    on_thread(s, leaves_a_scope_open);
    on_thread(s, one_scope);
    rgm_run *run = session_finish(s);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.rows, 2);
    CHECK_EQ_I64(run->spans.parent[span_of(run, "short")], -1);
    CHECK(run->spans.flags[span_of(run, "left open")] & RGM_FLAG_OPEN);
    rgm_run_free(run);
}

TEST(the_hot_path_allocates_nothing_after_warm_up) {
    enum { COUNT = 100000 };
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    options.witness_interval_ns = 0; // the service thread keeps rows of it, at times that no test knows
    rgm_session *s = session_with(options, NULL);
    rgm_site *site = site_of(s, "op");
    rgm_session_warm(s, COUNT + RGM_BLOCK_RECORDS);
    for (int i = 0; i < 10; i++) scopes(s, "op", 1);
    rgm_recorder *r = recorder_of(s);
    rgm_session_stats before, after;
    rgm_session_get_stats(s, &before);
    uint64_t calls = rgm_memory_calls();
    for (int i = 0; i < COUNT / 10; i++) {
        rgm_frame *frames[10];
        uint32_t seqs[10];
        for (int k = 0; k < 10; k++) frames[k] = rgm_scope_begin(r, NULL, site->id, 0, &seqs[k]);
        for (int k = 10; k-- > 0;) rgm_scope_end(r, frames[k], seqs[k], rgm_clock_ticks(), 0);
    }
    calls = rgm_memory_calls() - calls;
    rgm_session_get_stats(s, &after);
    // The service thread fills the pool again in the background; that is not the hot path.
    CHECK(calls < after.blocks - before.blocks + 2);
    CHECK_EQ_U64(after.hot_blocks, before.hot_blocks);
    CHECK_EQ_U64(after.scopes - before.scopes, COUNT);
    rgm_session_free(s);
}

enum { MANY = 64 };
static _Atomic(bool) go_on;

static void nested_work(rgm_session *session, int number) {
    char name[16];
    (void)snprintf(name, sizeof name, "op%d", number % 7);
    for (int i = 0; i < 300; i++) {
        open_scope a = scope_begin(session, "outer"), b = scope_begin(session, name),
                   c = scope_begin(session, name);
        scope_end(session, c);
        if (i % 10 == 0) rgm_recorder_memory(recorder_of(session), RGM_RECORD_HOST_MEMORY, 0, 1, 2);
        scope_end(session, b);
        scope_end(session, a);
    }
}

static void *snapshots(void *arg) {
    rgm_session *session = arg;
    rgm_session_stats stats;
    for (int n = 0; atomic_load(&go_on) || n < 3; n++) {
        rgm_run *run = snapshot_of(session);
        if (!run) break;
        run_check_sound(run, true);
        CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_ORPHAN_PARENTS), 0);
        rgm_run_free(run);
        rgm_session_get_stats(session, &stats);
        usleep(1000);
    }
    return NULL;
}

TEST(snapshots_while_64_threads_record) {
    rgm_session *s = session_plain(NULL);
    worker workers[MANY];
    pthread_t reader;
    atomic_store(&go_on, true);
    REQUIRE(pthread_create(&reader, NULL, snapshots, s) == 0);
    workers_start(workers, MANY, s, nested_work);
    workers_join(workers, MANY);
    atomic_store(&go_on, false);
    pthread_join(reader, NULL);
    rgm_run *run = session_finish(s);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.rows, MANY * 900);
    CHECK_EQ_I64(run->memory.rows, MANY * 30 * 2);
    CHECK_EQ_I64(run->anomalies.rows, 0);
    run_check_sound(run, true);
    for (size_t i = 0; i < run->spans.rows; i++)
        CHECK((run->spans.parent[i] < 0) == (strcmp(name_of(run, i), "outer") == 0));
    rgm_run_free(run);
}

static void resets(rgm_session *session, int number) {
    (void)number;
    for (int i = 0; i < 20; i++) {
        rgm_session_reset(session);
        rgm_session_name_thread(session, "resetter", 8);
        rgm_session_sampling(session, i % 2 ? 1000000 : 0);
        usleep(500);
    }
}

TEST(resets_while_threads_record_leave_a_sound_run) {
    rgm_session *s = session_plain(NULL);
    worker workers[8], resetter[1];
    workers_start(workers, 8, s, nested_work);
    workers_start(resetter, 1, s, resets);
    workers_join(workers, 8);
    workers_join(resetter, 1);
    rgm_run *run = session_finish(s);
    REQUIRE(run);
    run_check_sound(run, true);
    rgm_run_free(run);
}

static void until_stopped(rgm_session *session, int number) {
    (void)number;
    while (rgm_session_id(session)) scopes(session, "spin", 20);
}

TEST(stop_while_threads_record) {
    rgm_session *s = session_plain(NULL);
    worker workers[8];
    workers_start(workers, 8, s, until_stopped);
    usleep(20000);
    rgm_session_stop(s);
    rgm_run *run = snapshot_of(s);
    REQUIRE(run);
    CHECK(run->spans.rows > 0);
    run_check_sound(run, true);
    rgm_run_free(run);
    workers_join(workers, 8);
    rgm_session_free(s);
}

static void *makes_a_session(void *arg) {
    (void)arg;
    rgm_session *s = session_plain(NULL);
    scopes(s, "op", 10);
    rgm_session_free(s);
    return NULL;
}

TEST(sessions_are_made_side_by_side) {
    pthread_t threads[8];
    for (int i = 0; i < 8; i++) REQUIRE(pthread_create(&threads[i], NULL, makes_a_session, NULL) == 0);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    rgm_session *a = session_plain(NULL), *b = session_plain(NULL);
    scopes(a, "in a", 3);
    scopes(b, "in b", 4);
    scopes(a, "in a", 1);
    rgm_run *run_a = snapshot_of(a), *run_b = snapshot_of(b);
    REQUIRE(run_a && run_b);
    CHECK_EQ_I64(span_count(run_a, "in a"), 4);
    CHECK_EQ_I64(run_a->spans.rows, 4);
    CHECK_EQ_I64(span_count(run_b, "in b"), 4);
    rgm_run_free(run_a);
    rgm_run_free(run_b);
    rgm_session_free(a);
    rgm_session_free(b);
}

static void many_sessions(rgm_session *session, int number) {
    (void)session, (void)number;
    for (int i = 0; i < 50; i++) (void)makes_a_session(NULL);
}

TEST(a_freed_session_leaves_no_records_behind) {
    on_thread(NULL, many_sessions);
    rgm_session *s = session_plain(NULL);
    int64_t before = rgm_memory_live();
    scopes(s, "op", 50000);
    int64_t during = rgm_memory_live();
    CHECK(during - before > 20);
    rgm_session_free(s);
    CHECK(rgm_memory_live() <= before); // the thread keeps the bare recorder until it looks for another
    on_thread(NULL, many_sessions);
}

TEST(environment_and_elapsed_time) {
    rgm_session *s = session_plain(NULL);
    CHECK_OK(rgm_session_environment(s, "{\"host\":\"h\"}", 12, NULL));
    uint64_t start = rgm_clock_ticks();
    int64_t from = rgm_clock_monotonic_ns();
    usleep(20000);
    uint64_t ticks = rgm_clock_ticks() - start;
    int64_t ns = rgm_clock_monotonic_ns() - from;
    CHECK_NEAR((double)rgm_session_elapsed_ns(s, start, ticks), (double)ns, 2e6);
    rgm_run *run = snapshot_of(s);
    REQUIRE(run);
    CHECK_STR_EQ(run->environment, "{\"host\":\"h\"}");
    CHECK_STR_EQ(run->source, "live");
    rgm_run_free(run);
    rgm_session_free(s);
}
