// SPDX-License-Identifier: Apache-2.0
// Sessions that write a file: what is in it, what stood in its place, and a disk that gives out.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "io/journal/frame.h"
#include "recording.h"

static rgm_session *journaling(const char *path, int64_t drain_ns) {
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    options.drain_interval_ns = drain_ns;
    return session_with(options, path);
}

enum { FAST = 1000000, SLOW = 1000000000 };

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

TEST(a_stopped_journal_loads_as_recorded) {
    const char *path = temp_path("a.rgm");
    rgm_session *s = journaling(path, SLOW);
    REQUIRE(s);
    CHECK_STR_EQ(rgm_session_path(s), path);
    CHECK_OK(rgm_session_environment(s, "{\"x\":1}", 7, NULL));
    rgm_session_name_thread(s, "first", 5);
    open_scope outer = scope_begin(s, "outer");
    scopes(s, "inner", 5000);
    CHECK_OK(rgm_session_flush(s, NULL));
    rgm_session_name_thread(s, "second", 6);
    rgm_session_rows(
        s, RGM_LOG_SAMPLES,
        &(rgm_sample){.ticks = rgm_clock_ticks(), .bytes = 77, .allocated = -1, .reserved = -1, .device = -1},
        1);
    scope_end_flags(s, outer, RGM_RECORD_FAILED);
    rgm_session_note(s, RGM_ANOMALY_INTERNAL, 2);
    rgm_run *live = snapshot_of(s);
    rgm_session_stop(s);
    CHECK(site_of(s, "too late for the file") != NULL);
    struct stat before, after;
    CHECK(stat(path, &before) == 0);
    rgm_run *stopped = snapshot_of(s), *again = snapshot_of(s), *run = load_of(path, RGM_LOAD_STRICT);
    REQUIRE(live && stopped && again && run);
    rgm_run *all[] = {live, stopped, again, run};
    for (int i = 0; i < 4; i++) {
        CHECK_EQ_I64(all[i]->spans.rows, 5001);
        CHECK_EQ_I64(all[i]->memory.rows, 1);
        CHECK_EQ_I64(anomaly_count(all[i], RGM_ANOMALY_INTERNAL), 2);
        CHECK_EQ_I64(all[i]->anomalies.rows, 1);
        CHECK_STR_EQ(all[i]->environment, "{\"x\":1}");
        REQUIRE(all[i]->lanes.rows == 1);
        CHECK_STR_EQ(text_of(all[i], all[i]->lanes.name[0]), "second");
        run_check_sound(all[i], true);
        for (size_t k = 0; k < all[i]->spans.rows; k++)
            CHECK_EQ_I64(all[i]->spans.start_ns[k], live->spans.start_ns[k]);
    }
    CHECK(run->complete && stopped->complete && !live->complete);
    CHECK_STR_EQ(run->source, "journal");
    CHECK_EQ_I64(run->end_ns, stopped->end_ns);
    for (int i = 0; i < 4; i++) rgm_run_free(all[i]);
    rgm_session_free(s);
    CHECK(stat(path, &after) == 0 && after.st_size == before.st_size); // nothing may follow the closing block
    run = load_of(path, RGM_LOAD_STRICT);
    REQUIRE(run);
    CHECK(run->complete);
    rgm_run_free(run);
    unlink(path);
}

enum { MANY = 64 };
static void work(rgm_session *session, int number) {
    char name[16];
    (void)snprintf(name, sizeof name, "op%d", number);
    for (int i = 0; i < 300; i++) {
        open_scope a = scope_begin(session, "outer"), b = scope_begin(session, name);
        scope_end(session, b);
        scope_end(session, a);
    }
}

TEST(a_journal_of_64_threads_is_complete) {
    const char *path = temp_path("many.rgm");
    rgm_session *s = journaling(path, FAST);
    REQUIRE(s);
    worker workers[MANY];
    workers_start(workers, MANY, s, work);
    for (int i = 0; i < 3; i++) {
        rgm_run *run = snapshot_of(s);
        REQUIRE(run);
        run_check_sound(run, true);
        rgm_run_free(run);
    }
    workers_join(workers, MANY);
    rgm_session_free(s);
    rgm_run *run = load_of(path, RGM_LOAD_STRICT);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.rows, MANY * 600);
    CHECK_EQ_I64(run->anomalies.rows, 0);
    run_check_sound(run, true);
    for (int i = 0; i < MANY; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "op%d", i);
        CHECK_EQ_I64(span_count(run, name), 300);
    }
    for (size_t i = 0; i < run->spans.rows; i++)
        CHECK((run->spans.parent[i] < 0) == (strcmp(name_of(run, i), "outer") == 0));
    rgm_run_free(run);
    unlink(path);
}

static void three_scopes(rgm_session *session, int number) {
    (void)number;
    scopes(session, "on a thread", 3);
}

TEST(reset_of_a_journal_forgets_but_keeps_threads) {
    const char *path = temp_path("reset.rgm");
    rgm_session *s = journaling(path, SLOW);
    REQUIRE(s);
    on_thread(s, three_scopes); // thread row 0
    scopes(s, "before", 3);     // the recorder of row 0 now belongs to row 1, and no drain has said so
    rgm_session_note(s, RGM_ANOMALY_INTERNAL, 5);
    CHECK_OK(rgm_session_flush(s, NULL));
    rgm_session_reset(s);
    rgm_session_name_thread(s, "main", 4);
    scopes(s, "after", 2);
    rgm_run *live = snapshot_of(s);
    rgm_session_free(s);
    rgm_run *run = load_of(path, RGM_LOAD_STRICT);
    REQUIRE(live && run);
    for (int i = 0; i < 2; i++) {
        rgm_run *r = i ? run : live;
        CHECK_EQ_I64(r->spans.rows, 2);
        CHECK_EQ_I64(r->anomalies.rows, 0);
        REQUIRE(r->lanes.rows == 1);
        CHECK_STR_EQ(text_of(r, r->lanes.name[0]), "main");
    }
    rgm_run_free(live);
    rgm_run_free(run);
    unlink(path);
}

TEST(reset_before_the_first_drain_keeps_the_thread) {
    const char *path = temp_path("reset2.rgm");
    rgm_session *s = journaling(path, SLOW);
    REQUIRE(s);
    worker w[2];
    workers_start(w, 1, s, three_scopes);
    workers_join(w, 1);
    usleep(10000); // the drainer's first look is over
    scopes(s, "before", 3);
    rgm_session_reset(s);
    scopes(s, "after", 2);
    rgm_session_name_thread(s, "main", 4);
    rgm_session_free(s);
    rgm_run *run = load_of(path, RGM_LOAD_STRICT);
    REQUIRE(run && run->spans.rows == 2);
    CHECK_STR_EQ(text_of(run, run->lanes.name[run->spans.lane[0]]), "main");
    rgm_run_free(run);
    unlink(path);
}

TEST(scopes_open_at_stop_are_in_the_file) {
    const char *path = temp_path("open.rgm");
    rgm_session *s = journaling(path, FAST);
    REQUIRE(s);
    (void)scope_begin(s, "a");
    (void)scope_begin(s, "b");
    scopes(s, "done", 2);
    usleep(20000);
    rgm_session_free(s);
    rgm_run *run = load_of(path, RGM_LOAD_STRICT);
    REQUIRE(run && run->spans.rows == 4);
    CHECK_EQ_I64(run->spans.parent[span_of(run, "b")], span_of(run, "a"));
    CHECK_EQ_I64(run->spans.parent[span_of(run, "done")], span_of(run, "b"));
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_OPEN_SCOPES), 2);
    CHECK_EQ_I64(run->anomalies.rows, 1);
    rgm_run_free(run);
    unlink(path);
}

TEST(one_file_has_one_session) {
    const char *path = temp_path("busy.rgm");
    rgm_session *s = journaling(path, SLOW), *other = NULL;
    REQUIRE(s);
    rgm_error err;
    rgm_error_clear(&err);
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    int64_t live = rgm_memory_live();
    CHECK_EQ_I64(rgm_session_new(&other, &options, path, &err), RGM_BUSY);
    CHECK(strstr(err.message, path) != NULL);
    CHECK_EQ_I64(rgm_memory_live(), live);
    scopes(s, "op", 10);
    rgm_session_free(s);
    rgm_run *run = load_of(path, RGM_LOAD_STRICT);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.rows, 10);
    rgm_run_free(run);
    s = journaling(path, SLOW); // a finished recording is replaced
    REQUIRE(s);
    char text[600];
    CHECK(!rgm_session_take_warning(s, text, sizeof text));
    rgm_session_free(s);
    run = load_of(path, RGM_LOAD_STRICT);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.rows, 0);
    rgm_run_free(run);
    unlink(path);
}

TEST(a_stopped_session_keeps_its_data_when_another_takes_the_file) {
    const char *path = temp_path("again.rgm");
    rgm_session *first = journaling(path, SLOW);
    REQUIRE(first);
    scopes(first, "first", 5000);
    rgm_session_stop(first);
    rgm_session *second = journaling(path, SLOW);
    REQUIRE(second);
    scopes(second, "second", 3);
    rgm_run *run = snapshot_of(first);
    REQUIRE(run);
    CHECK_EQ_I64(span_count(run, "first"), 5000);
    CHECK_EQ_I64(run->spans.rows, 5000);
    rgm_run_free(run);
    rgm_session_free(second);
    rgm_session_free(first);
    run = load_of(path, RGM_LOAD_STRICT);
    REQUIRE(run);
    CHECK_EQ_I64(span_count(run, "second"), 3);
    CHECK_EQ_I64(run->spans.rows, 3);
    rgm_run_free(run);
    unlink(path);
}

TEST(a_foreign_file_is_refused_and_left_alone) {
    const char *path = temp_path("notes.txt");
    REQUIRE(file_write(path, "my thesis", 9));
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    rgm_session *s = NULL;
    rgm_error err;
    rgm_error_clear(&err);
    CHECK_EQ_I64(rgm_session_new(&s, &options, path, &err), RGM_INVALID);
    CHECK(strstr(err.message, "notes.txt") != NULL);
    size_t length;
    uint8_t *data = file_read(path, &length);
    CHECK(length == 9 && memcmp(data, "my thesis", 9) == 0);
    free(data);
    unlink(path);
}

TEST(an_unfinished_recording_is_kept) {
    const char *path = temp_path("kept.rgm");
    for (int round = 1; round <= 2; round++) {
        pid_t child = fork();
        if (child == 0) {
            rgm_session *s = journaling(path, SLOW);
            char text[600] = "";
            bool warned = s && rgm_session_take_warning(s, text, sizeof text);
            if (warned != (round == 2)) _exit(1);
            if (warned && !strstr(text, ".unfinished-1")) _exit(2);
            scopes(s, "lost process", round);
            if (rgm_session_flush(s, NULL) != RGM_OK) _exit(3);
            _exit(0);
        }
        int status = 0;
        REQUIRE(waitpid(child, &status, 0) == child);
        CHECK_EQ_I64(status, 0);
    }
    char kept[200];
    (void)snprintf(kept, sizeof kept, "%s.unfinished-1", path);
    rgm_run *first = load_of(kept, RGM_LOAD_STRICT), *second = load_of(path, RGM_LOAD_STRICT);
    REQUIRE(first && second);
    CHECK_EQ_I64(first->spans.rows, 1);
    CHECK_EQ_I64(second->spans.rows, 2);
    CHECK(!first->complete);
    CHECK_EQ_I64(anomaly_count(first, RGM_ANOMALY_UNFINISHED), 1);
    rgm_run_free(first);
    rgm_run_free(second);
    unlink(kept);
    unlink(path);
}

TEST(a_missing_directory_is_a_warning) {
    const char *path = temp_path("no/such/folder/run.rgm");
    rgm_session *s = journaling(path, FAST);
    REQUIRE(s);
    char text[600];
    CHECK(rgm_session_take_warning(s, text, sizeof text));
    CHECK(strstr(text, "no/such/folder") != NULL);
    CHECK(ends_with(text, "recording continues in memory"));
    CHECK(!rgm_session_take_warning(s, text, sizeof text));
    CHECK_STR_EQ(rgm_session_path(s), "");
    scopes(s, "op", 5);
    rgm_session_stop(s);
    rgm_run *run = snapshot_of(s);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.rows, 5);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_JOURNAL_FAILED), 1);
    rgm_run_free(run);
    rgm_session_free(s);
}

static _Atomic(int) alarms;
static void count_alarm(void) { atomic_fetch_add(&alarms, 1); }

// A limit on file sizes stands in for a full disk: no more is written, but for the room that was kept for the
// last blocks.
static void disk_gives_out(const char *path, int64_t limit, bool reset_after) {
    struct rlimit before, now;
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    options.drain_interval_ns = FAST;
    options.witness_interval_ns = 0; // the rows that have no room are those of scopes alone
    rgm_session *s = session_with(options, path);
    REQUIRE(s);
    scopes(s, "early", 3000);
    CHECK_OK(rgm_session_flush(s, NULL));
    atomic_store(&alarms, 0);
    rgm_session_on_alarm(count_alarm);
    getrlimit(RLIMIT_FSIZE, &before);
    now = (struct rlimit){(rlim_t)limit, before.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &now);
    open_scope open = scope_begin(s, "across");
    scopes(s, "late", 9000);
    rgm_status flushed = rgm_session_flush(s, NULL); // fails, unless the drainer came first
    CHECK(flushed == RGM_OK || flushed == RGM_IO);
    char text[600];
    CHECK(rgm_session_take_warning(s, text, sizeof text));
    CHECK(strstr(text, "recording continues in memory") != NULL);
    CHECK(atomic_load(&alarms) > 0);
    scope_end(s, open);
    if (reset_after) rgm_session_reset(s);
    scopes(s, "last", 10);
    rgm_run *live = snapshot_of(s);
    rgm_session_stop(s);
    rgm_run *run = snapshot_of(s);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    REQUIRE(live && run);
    CHECK_EQ_I64(live->spans.rows, reset_after ? 10 : 12011);
    CHECK_EQ_I64(run->spans.rows, reset_after ? 10 : 12011);
    CHECK_EQ_I64(run->lanes.rows, 1);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_JOURNAL_FAILED), reset_after ? 0 : 1);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_ORPHAN_PARENTS), 0);
    run_check_sound(run, true);
    rgm_run_free(live);
    rgm_run_free(run);
    rgm_session_free(s);
    run = load_of(path, RGM_LOAD_STRICT); // what was written before is a sound file
    REQUIRE(run);
    int64_t unwritten = anomaly_count(run, RGM_ANOMALY_UNWRITTEN_ROWS), all = reset_after ? 10 : 12011;
    // A scope that a block still shows as open has its end among what could not be written.
    int64_t ended = (int64_t)run->spans.rows - anomaly_count(run, RGM_ANOMALY_OPEN_SCOPES);
    CHECK_EQ_I64(ended + unwritten, all);
    CHECK(run->complete && (reset_after || (run->spans.rows >= 3000 && unwritten > 0)));
    rgm_run_free(run);
    unlink(path);
}

// What finds room later is written after all, in the order in which it was recorded.
TEST(a_disk_with_room_again_gets_everything) {
    const char *path = temp_path("again.rgm");
    struct rlimit before, now;
    rgm_session *s = journaling(path, SLOW);
    REQUIRE(s);
    getrlimit(RLIMIT_FSIZE, &before);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (int round = 0; round < 4; round++) {
        now = (struct rlimit){round % 2 ? before.rlim_cur : 40000, before.rlim_max};
        setrlimit(RLIMIT_FSIZE, &now);
        char name[32];
        (void)snprintf(name, sizeof name, "round %d", round);
        open_scope outer = scope_begin(s, name);
        scopes(s, "inner", 3000);
        scope_end(s, outer);
        on_thread(s, three_scopes);
        CHECK_EQ_I64(rgm_session_flush(s, NULL), round % 2 ? RGM_OK : RGM_IO);
        rgm_run *live = snapshot_of(s);
        REQUIRE(live);
        CHECK_EQ_I64(live->spans.rows, 3004 * (round + 1));
        rgm_run_free(live);
    }
    signal(SIGXFSZ, handler);
    rgm_session_free(s);
    rgm_run *run = load_of(path, RGM_LOAD_STRICT);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.rows, 4 * 3004);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_UNWRITTEN_ROWS), 0);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_JOURNAL_FAILED), 2);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_ORPHAN_PARENTS), 0);
    run_check_sound(run, true);
    rgm_run_free(run);
    unlink(path);
}

// What others put into our file is not written over, and a run has what is left.
TEST(a_file_that_others_cut_is_left_to_them) {
    const char *path = temp_path("taken.rgm");
    rgm_session *s = journaling(path, SLOW);
    REQUIRE(s);
    scopes(s, "before", 500);
    CHECK_OK(rgm_session_flush(s, NULL));
    FILE *file = fopen(path, "w"); // the same file, cut
    REQUIRE(file && fputs("a text of the user", file) >= 0 && fclose(file) == 0);
    scopes(s, "after", 50);
    CHECK_EQ_I64(rgm_session_flush(s, NULL), RGM_IO);
    char text[600];
    CHECK(rgm_session_take_warning(s, text, sizeof text) && strstr(text, "by another program"));
    rgm_run *run = snapshot_of(s);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.rows, 50);
    CHECK(anomaly_count(run, RGM_ANOMALY_MISSING_BLOCKS) > 0);
    rgm_run_free(run);
    rgm_session_free(s);
    size_t length;
    uint8_t *data = file_read(path, &length);
    CHECK(data && length == 18 && memcmp(data, "a text of the user", 18) == 0);
    free(data);
    unlink(path);
}

TEST(a_full_disk_costs_nothing_of_the_run) { disk_gives_out(temp_path("full.rgm"), 250000, false); }
TEST(a_reset_after_a_full_disk_forgets_the_file_too) { disk_gives_out(temp_path("full2.rgm"), 250000, true); }

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
    rgm_session *s = journaling(path, FAST);
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
            rgm_session *s = journaling(path, FAST);
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

static void put_frame(rgm_bytes *out, rgm_frame_type type, const void *payload, size_t length,
                      rgm_frame_series series) {
    rgm_bytes one = {0};
    size_t mark = rgm_frame_begin(&one, type);
    rgm_bytes_append(&one, payload, length);
    rgm_frame_end(&one, mark);
    rgm_frame_number(&one, &series);
    rgm_bytes_append(out, one.data, one.length);
    rgm_bytes_release(&one);
}

// The second frame lies in the hole, sound as it was, and is not read.
TEST(what_was_taken_out_of_a_recording_is_not_missing) {
    enum { FILE_ID = 77 };
    const char *path = temp_path("hole.rgm");
    for (uint64_t left_out = 40; left_out <= 4000; left_out += 3960) {
        rgm_bytes file = {0};
        rgm_frame_write_head(&file, RGM_FILE_JOURNAL, FILE_ID);
        put_frame(&file, RGM_FRAME_HOLE, (uint64_t[]){3, left_out}, 16, (rgm_frame_series){FILE_ID, 0});
        put_frame(&file, RGM_FRAME_ENVIRONMENT, "{\"x\":1}", 7, (rgm_frame_series){FILE_ID, 2});
        put_frame(&file, RGM_FRAME_ENVIRONMENT, "{\"x\":2}", 7, (rgm_frame_series){FILE_ID, 4});
        put_frame(&file, RGM_FRAME_END, &(uint64_t){0}, 8, (rgm_frame_series){FILE_ID, 5});
        FILE *out = fopen(path, "wb");
        REQUIRE(out && fwrite(file.data, 1, file.length, out) == file.length && fclose(out) == 0);
        rgm_bytes_release(&file);
        rgm_run *strict = NULL, *recovered = load_of(path, RGM_LOAD_RECOVER);
        rgm_status status = rgm_run_load(path, RGM_LOAD_STRICT, &strict, NULL);
        REQUIRE(recovered);
        CHECK_STR_EQ(recovered->environment, "{\"x\":2}");
        if (left_out == 40) { // the frame in it
            REQUIRE(status == RGM_OK);
            CHECK_STR_EQ(strict->environment, "{\"x\":2}");
            CHECK_EQ_I64(strict->anomalies.rows + recovered->anomalies.rows, 0);
            CHECK(strict->complete && recovered->complete);
        } else { // beyond the end of the file
            CHECK(status == RGM_FORMAT);
            CHECK(recovered->anomalies.rows > 0);
        }
        rgm_run_free(strict);
        rgm_run_free(recovered);
        unlink(path);
    }
}
