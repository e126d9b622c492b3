// SPDX-License-Identifier: Apache-2.0
// Journals of processes that fork while threads record, and of such as are killed.
#include <signal.h>
#include <sys/wait.h>

#include "recording.h"

static _Atomic(int) running;
static _Atomic(bool) go_on;
static void until_told(rgm_session *session, int number) {
    (void)number;
    int rounds = 0;
    atomic_fetch_add(&running, 1);
    while (atomic_load(&go_on)) {
        open_scope a = scope_begin(session, "parent's");
        scopes(session, "parent's", 3);
        scope_end(session, a);
        if (++rounds % 100 == 0) usleep(1000); // the file must not grow without end if a child hangs
    }
}

static int child_of_fork(rgm_session *s, const char *path, open_scope across, open_scope *inner) {
    char own[200];
    atomic_store(&harness_failures, 0);
    rgm_run *run = snapshot_of(s);
    if (!run || run->spans.rows || run->anomalies.rows) return 1;
    rgm_run_free(run);
    scope_end(s, *inner); // began in the parent
    scope_end(s, across);
    scopes(s, "child's", 7);
    on_thread(s, three_scopes);
    (void)snprintf(own, sizeof own, "%s.%d", path, (int)getpid());
    if (strcmp(rgm_session_path(s), own) != 0) return 2;
    rgm_session_stop(s);
    run = load_of(own, RGM_LOAD_STRICT);
    if (!run || run->spans.rows != 10 || span_count(run, "child's") != 7) return 3;
    if (anomaly_count(run, RGM_ANOMALY_LOST_SCOPES) != 2 || !run->complete) return 4;
    if (run->lanes.process[0] != (uint32_t)getpid()) return 5;
    rgm_run_free(run);
    rgm_session_free(s);
    unlink(own);
    return atomic_load(&harness_failures) ? 6 : 0;
}

TEST(fork_with_8_threads_recording) {
    if (SANITIZED) return;
    const char *path = temp_path("fork.rgm");
    rgm_session *s = session_journaling(path, DRAIN_OFTEN);
    REQUIRE(s);
    worker workers[8];
    atomic_store(&go_on, true);
    atomic_store(&running, 0);
    workers_start(workers, 8, s, until_told);
    while (atomic_load(&running) < 8) usleep(100);
    for (int round = 0; round < 5; round++) {
        open_scope across = scope_begin(s, "across"), inner = scope_begin(s, "inner");
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            _exit(child_of_fork(s, path, across, &inner));
        }
        scope_end(s, inner);
        scope_end(s, across);
        int status = 0;
        REQUIRE(waitpid(child, &status, 0) == child);
        CHECK_EQ_I64(WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status, 0);
    }
    atomic_store(&go_on, false);
    workers_join(workers, 8);
    rgm_session_stats stats;
    rgm_session_stop(s);
    rgm_session_get_stats(s, &stats);
    rgm_session_free(s);
    rgm_run *run = load_of(path, RGM_LOAD_STRICT);
    REQUIRE(run);
    CHECK(run->complete);
    CHECK_EQ_I64(span_count(run, "child's"), 0);
    CHECK_EQ_I64(span_count(run, "across"), 5);
    CHECK_EQ_I64(span_count(run, "inner"), 5);
    CHECK_EQ_I64(run->anomalies.rows, 0);
    CHECK_EQ_U64(run->spans.rows + 9, stats.scopes); // one row names each thread
    run_check_sound(run, true);
    rgm_run_free(run);
    unlink(path);
}

TEST(fork_in_memory_starts_empty) {
    if (SANITIZED) return;
    rgm_session *s = session_plain(NULL);
    scopes(s, "parent's", 5);
    rgm_session_note(s, RGM_ANOMALY_INTERNAL, 3);
    atomic_store(&site_of(s, "parent's")->skipped, 3);
    pid_t child = fork();
    if (child == 0) {
        scopes(s, "child's", 2);
        rgm_session_stop(s);
        rgm_run *run = snapshot_of(s);
        int bad = !run || run->spans.rows != 2 || span_count(run, "child's") != 2 || run->anomalies.rows;
        rgm_run_free(run);
        rgm_session_free(s);
        _exit(bad);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK_EQ_I64(status, 0);
    rgm_run *run = snapshot_of(s);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.rows, 5);
    rgm_run_free(run);
    rgm_session_free(s);
}

// Every scope that was recorded before a flush returned is in the file, however the process dies.
TEST(a_killed_process_keeps_what_was_flushed) {
    const char *path = temp_path("killed.rgm");
    for (int round = 0; round < 20; round++) {
        int ends[2];
        REQUIRE(pipe(ends) == 0);
        pid_t child = fork();
        if (child == 0) {
            rgm_session *s = session_journaling(path, DRAIN_OFTEN);
            alarm(20);
            for (int32_t done = 0;; done += 500) {
                open_scope outer = scope_begin(s, "outer");
                scopes(s, "op", 499);
                scope_end(s, outer);
                if (rgm_session_flush(s, NULL) != RGM_OK) _exit(1);
                if (write(ends[1], &done, sizeof done) < 0) _exit(1);
            }
        }
        close(ends[1]);
        int32_t done = -1, next;
        for (int reads = 0; reads < 1 + round && read(ends[0], &next, sizeof next) == sizeof next; reads++)
            done = next;
        usleep((useconds_t)(round * 97));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        while (read(ends[0], &next, sizeof next) == sizeof next) done = next;
        close(ends[0]);
        rgm_run *run = load_of(path, RGM_LOAD_RECOVER);
        REQUIRE(run);
        CHECK(done >= 0 && (int64_t)run->spans.rows >= done + 500);
        CHECK(!run->complete);
        run_check_sound(run, true);
        rgm_run_free(run);
        unlink(path);
    }
}
