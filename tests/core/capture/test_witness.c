// SPDX-License-Identifier: Apache-2.0
// Looks at the machine: when they are taken, by whom, whose time they are, and what becomes of their rows.
#include "recording.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/thread.h"
#include "capture/session_state.h"
#include "model/merge.h"

enum { MS = 1000000, INTERVAL = 50 * MS };

// As the Python layer leaves a scope.
static void leave(rgm_session *s, open_scope scope) {
    uint64_t now = rgm_clock_ticks();
    rgm_scope_end(recorder_of(s), scope.frame, scope.seq, now, 0);
    rgm_recorder_witness(recorder_of(s), now);
}

// With the marks of blocks.
static size_t looks(rgm_session *s) { return rgm_row_log_count(&s->logs[RGM_LOG_WITNESSES]); }

static void scope_of(rgm_session *s, const char *name, uint64_t ns) {
    open_scope scope = scope_begin(s, name);
    rgm_clock_fake_advance(ns);
    leave(s, scope);
}

static rgm_session *faked(void) {
    rgm_clock_fake(1000 * MS);
    return session_with(RGM_SESSION_DEFAULTS, NULL);
}

TEST(the_work_takes_time_every_time) {
    rgm_clock_fake_stop();
    rgm_witness_state state;
    rgm_witness_start(&state, INTERVAL, rgm_clock_anchor());
    for (int i = 0; i < 3; i++) {
        uint64_t throughput = 0, memory = 0;
        rgm_witness_work(&throughput, &memory);
        CHECK(throughput > 0);
#if defined(__x86_64__) || defined(__aarch64__)
        CHECK(memory > 0);
#endif
    }
}

TEST(one_look_an_interval_at_the_end_of_outermost_scopes) {
    rgm_session *s = faked();
    for (int i = 0; i < 500; i++) {
        open_scope outer = scope_begin(s, "outer");
        scope_of(s, "inner", MS / 2);
        size_t before = looks(s);
        scope_of(s, "inner", MS / 2);
        CHECK_EQ_U64(looks(s), before); // an outermost scope ends soon enough
        leave(s, outer);
    }
    CHECK_EQ_U64(looks(s), 10); // of 500 ms, and no block has been filled
    rgm_session_free(s);
    rgm_clock_fake_stop();
}

TEST(without_an_outermost_end_the_shallowest_scope_that_ends_has_it) {
    rgm_session *s = faked();
    scope_of(s, "first", MS);
    CHECK_EQ_U64(looks(s), 1);
    open_scope program = scope_begin(s, "program");
    size_t at_step = 0, at_operation = 0;
    for (int i = 0; i < 200; i++) {
        open_scope step = scope_begin(s, "step");
        for (int k = 0; k < 5; k++) {
            size_t before = looks(s);
            scope_of(s, "operation", MS);
            at_operation += looks(s) - before;
        }
        size_t before = looks(s);
        leave(s, step);
        at_step += looks(s) - before;
    }
    CHECK_EQ_U64(at_operation, 0);
    CHECK(at_step >= 18 && at_step <= 20);
    leave(s, program);
    rgm_session_free(s);
    rgm_clock_fake_stop();
}

TEST(where_the_steps_end_too_operations_have_it) {
    rgm_session *s = faked();
    open_scope program = scope_begin(s, "program");
    for (int i = 0; i < 100; i++) scope_of(s, "step", 5 * MS);
    size_t before = looks(s);
    CHECK(before >= 8);
    open_scope step = scope_begin(s, "step"); // does not end for long
    for (int i = 0; i < 500; i++) scope_of(s, "operation", MS);
    CHECK(looks(s) >= before + 7);
    leave(s, step);
    leave(s, program);
    rgm_session_free(s);
    rgm_clock_fake_stop();
}

static rgm_session *real(void) {
    rgm_clock_fake_stop();
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    options.witness_interval_ns = 1; // what looks may cost is the limit
    return session_with(options, NULL);
}

TEST(a_look_inside_a_scope_is_own_time_of_that_scope) {
    rgm_session *s = real();
    open_scope program = scope_begin(s, "program");
    while (!looks(s)) leave(s, scope_begin(s, "step"));
    leave(s, program);
    rgm_session_stats stats;
    rgm_session_get_stats(s, &stats);
    CHECK(stats.own_ns[RGM_OWN_witness] > 0);
    rgm_run *run = session_finish(s);
    REQUIRE(run && run->spans.rows > 1);
    CHECK_STR_EQ(name_of(run, 0), "program");
    CHECK(run->spans.own_ns[0] > 0 && run->spans.own_ns[0] <= run->spans.duration_ns[0]);
    for (size_t i = 1; i < run->spans.rows; i++) CHECK_EQ_I64(run->spans.own_ns[i], 0);
    rgm_run_free(run);
}

TEST(a_look_is_in_no_outermost_scope) {
    rgm_session *s = real();
    while (!looks(s)) leave(s, scope_begin(s, "step"));
    leave(s, scope_begin(s, "after"));
    rgm_run *run = session_finish(s);
    REQUIRE(run && run->witness.rows);
    int64_t at = run->witness.time_ns[0], took = run->witness.throughput_ns[0] + run->witness.memory_ns[0];
    for (size_t i = 0; i < run->spans.rows; i++) {
        CHECK(!run->spans.own_ns || run->spans.own_ns[i] == 0);
        int64_t from = run->spans.start_ns[i], to = from + run->spans.duration_ns[i];
        CHECK(to <= at || from >= at + took);
    }
    rgm_run_free(run);
}

TEST(the_next_look_waits_until_this_one_has_come_to_its_share) {
    rgm_session *s = real();
    for (int taken = 0; taken < 3; taken++) {
        uint64_t before = atomic_load(&s->own[RGM_OWN_witness]), cost;
        int64_t begin_ns = rgm_clock_monotonic_ns();
        do leave(s, scope_begin(s, "step"));
        while ((cost = atomic_load(&s->own[RGM_OWN_witness]) - before) == 0);
        int64_t cost_ns = rgm_session_elapsed_ns(s, rgm_clock_ticks() - cost, cost);
        int64_t wait_ns = atomic_load(&s->witness.next_ns) - begin_ns;
        CHECK(wait_ns >= cost_ns * (RGM_WITNESS_SHARE * 9 / 10));
    }
    rgm_session_free(s);
}

static void one_second(rgm_session *s, int number) {
    (void)number;
    for (int i = 0; i < 200; i++) scope_of(s, "elsewhere", 5 * MS);
}

TEST(the_limit_is_that_of_all_threads) {
    rgm_session *s = faked();
    one_second(s, 0);
    on_thread(s, one_second);
    CHECK(looks(s) >= 38 && looks(s) <= 40); // of 2,000 ms
    rgm_session_stop(s);                     // by the first one, which takes the last look
    rgm_run *run = snapshot_of(s);
    REQUIRE(run && run->lanes.rows == 2);
    for (size_t i = 0; i < run->witness.rows; i++)
        CHECK_EQ_I64(run->witness.lane[i],
                     run->witness.time_ns[i] <= 2000 * MS || i + 1 == run->witness.rows ? 0 : 1);
    rgm_run_free(run);
    rgm_session_free(s);
    rgm_clock_fake_stop();
}

TEST(switched_off_there_is_nothing) {
    rgm_clock_fake_stop();
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    options.witness_interval_ns = 0;
    rgm_session *s = session_with(options, NULL);
    for (int i = 0; i < 3 * RGM_BLOCK_RECORDS; i++) leave(s, scope_begin(s, "step"));
    rgm_run *run = session_finish(s);
    REQUIRE(run);
    CHECK_EQ_I64(run->witness.rows, 0);
    CHECK_EQ_I64(run->pressure.rows, 0);
    rgm_run_free(run);
}

TEST(blocks_leave_marks_and_a_short_run_has_a_look_at_both_ends) {
    rgm_session *s = faked();
    for (int i = 0; i < 3 * RGM_BLOCK_RECORDS; i++) {
        open_scope scope = scope_begin(s, "step");
        rgm_clock_fake_advance(i % 200 ? 0 : MS);
        scope_end(s, scope); // not as Python leaves it, so no look
    }
    CHECK_EQ_U64(looks(s), 3); // 11 ms a block
    leave(s, scope_begin(s, "last"));
    CHECK_EQ_U64(looks(s), 4);
    rgm_clock_fake_advance(2 * MS);
    rgm_session_stop(s);
    rgm_run *run = snapshot_of(s);
    REQUIRE(run);
    CHECK_EQ_I64(run->witness.rows, 5);
    for (size_t i = 0; i < run->witness.rows; i++) {
        CHECK(run->witness.processor[i] >= 0 && run->witness.cpu_ns[i] > 0);
        CHECK_EQ_I64(run->witness.lane[i], 0);
    }
    rgm_run_free(run);
    rgm_session_free(s);
    rgm_clock_fake_stop();
}

TEST(a_journal_keeps_the_looks_of_a_process_that_was_killed) {
    const char *path = temp_path("witness.rgm");
    rgm_clock_fake_stop();
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    options.witness_interval_ns = 1;
    rgm_session *s = session_with(options, path);
    while (looks(s) == 0) leave(s, scope_begin(s, "step"));
    CHECK_OK(rgm_session_flush(s, NULL));
    for (int mode = 0; mode < 2; mode++) { // not closed
        rgm_run *run = load_of(path, (rgm_load_mode)mode);
        REQUIRE(run && run->witness.rows >= 1);
        CHECK(run->witness.throughput_ns[0] > 0);
        CHECK_EQ_I64(run->witness.lane[0], 0);
        CHECK(run->witness.time_ns[0] >= run->start_ns && run->witness.time_ns[0] <= run->end_ns);
        rgm_run_free(run);
    }
    rgm_session_reset(s);
    rgm_run *run = snapshot_of(s);
    REQUIRE(run);
    CHECK_EQ_I64(run->witness.rows, 0);
    rgm_run_free(run);
    rgm_session_free(s);
}

static rgm_run *one_look_at(uint64_t ms) {
    rgm_clock_fake(ms * MS);
    rgm_session *s = session_with(RGM_SESSION_DEFAULTS, NULL);
    scope_of(s, "step", MS);
    return session_finish(s);
}

TEST(runs_that_are_merged_keep_their_looks) {
    rgm_run *runs[] = {one_look_at(1000), one_look_at(5000)}, *merged = NULL;
    const int64_t shift_ns[] = {0, -3000 * (int64_t)MS};
    REQUIRE(runs[0] && runs[1]);
    CHECK_OK(rgm_run_merge(runs, shift_ns, 2, RGM_MERGE_RANKS, &merged, NULL));
    REQUIRE(merged && merged->witness.rows == 2);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ_I64(merged->witness.lane[i], i);
        CHECK_EQ_I64(merged->witness.time_ns[i], (1001 + 1000 * i) * (int64_t)MS);
    }
    rgm_run_free(merged);
    rgm_run_free(runs[0]);
    rgm_run_free(runs[1]);
    rgm_clock_fake_stop();
}

TEST(pressure_is_the_difference_of_two_readings) {
    rgm_clock_fake_stop();
    static rgm_pressure_state state;
    int64_t threads[] = {rgm_thread_native_id(), -1}; // the second one is none
    rgm_pressure_row row;
    rgm_pressure_reset(&state);
    CHECK(!rgm_pressure_read(&state, threads, 2, INTERVAL, &row));
    volatile uint64_t sum = 0;
    for (int64_t until = rgm_clock_monotonic_ns() + 20 * MS; rgm_clock_monotonic_ns() < until;) sum += 1;
    CHECK(rgm_pressure_read(&state, threads, 2, INTERVAL, &row));
    CHECK(row.interval_ns >= 20 * MS);
    CHECK(state.due_ns > row.time_ns);
    CHECK(row.running_ns >= -1 && row.waiting_ns >= -1 && row.involuntary >= 0);
    if (access("/proc/stat", R_OK) == 0) CHECK(row.busy_ns >= 0 && row.steal_ns >= 0);
    CHECK(row.huge_pages >= -1);
    if (access("/proc/self/schedstat", R_OK) == 0) CHECK(row.running_ns >= 0 && row.waiting_ns >= 0);
    CHECK_EQ_I64(row.throttled_ns, -1); // no folder was named
    rgm_pressure_reset(&state);
    CHECK(!rgm_pressure_read(&state, threads, 0, INTERVAL, &row));
    CHECK(rgm_pressure_read(&state, threads, 0, INTERVAL, &row));
    CHECK_EQ_I64(row.waiting_ns, -1); // of no thread
}

static void *write_late(void *path) {
    usleep(50000);
    FILE *file = fopen(path, "w");
    if (file) (void)fclose(file);
    return NULL;
}

TEST(a_reading_that_was_held_up_makes_the_next_one_no_later) {
    rgm_clock_fake_stop();
    static rgm_pressure_state state;
    char path[200], folder[200];
    (void)snprintf(path, sizeof path, "%s", temp_path("cpu.stat"));
    (void)snprintf(folder, sizeof folder, "%.*s", (int)(strlen(path) - strlen("/cpu.stat")), path);
    pthread_t writer;
    rgm_pressure_row row;
    REQUIRE(mkfifo(path, 0600) == 0); // whoever reads waits for who writes
    CHECK(rgm_pressure_add_folder(&state, folder));
    int64_t begin = rgm_clock_monotonic_ns();
    REQUIRE(pthread_create(&writer, NULL, write_late, path) == 0);
    CHECK(!rgm_pressure_read(&state, NULL, 0, INTERVAL, &row));
    CHECK(rgm_clock_monotonic_ns() - begin >= 50 * MS);
    CHECK(state.due_ns - row.time_ns < RGM_PRESSURE_SHARE * 50 * (int64_t)MS);
    pthread_join(writer, NULL);
    unlink(path);
}

TEST(limits_of_control_groups_add_up) {
    rgm_clock_fake_stop();
    static rgm_pressure_state state;
    const char *path = temp_path("cpu.stat");
    char folder[200];
    (void)snprintf(folder, sizeof folder, "%.*s", (int)(strlen(path) - strlen("/cpu.stat")), path);
    const char *first = "usage_usec 7\nnr_throttled 1\nthrottled_usec 1000\n",
               *then = "throttled_usec 1500\n";
    rgm_pressure_row row;
    CHECK(rgm_pressure_add_folder(&state, folder) && rgm_pressure_add_folder(&state, folder));
    REQUIRE(file_write(path, first, strlen(first)));
    CHECK(!rgm_pressure_read(&state, NULL, 0, INTERVAL, &row));
    REQUIRE(file_write(path, then, strlen(then)));
    usleep(1000);
    CHECK(rgm_pressure_read(&state, NULL, 0, INTERVAL, &row));
    CHECK_EQ_I64(row.throttled_ns, 2 * 500000);
    unlink(path);
    CHECK(rgm_pressure_read(&state, NULL, 0, INTERVAL, &row) && row.throttled_ns == -1);
    while (rgm_pressure_add_folder(&state, "/x")) {
    }
    CHECK(state.folders[RGM_PRESSURE_FOLDERS - 1][0] == '/');
}
