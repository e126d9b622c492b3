// SPDX-License-Identifier: Apache-2.0
// Sessions that write a file: what is in it, and what stood in its place.
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "capture/session_state.h"
#include "recording.h"

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

TEST(a_stopped_journal_loads_as_recorded) {
    const char *path = temp_path("a.rgm");
    rgm_session *s = session_journaling(path, DRAIN_RARELY);
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
    rgm_session *s = session_journaling(path, DRAIN_OFTEN);
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

TEST(reset_of_a_journal_forgets_but_keeps_threads) {
    const char *path = temp_path("reset.rgm");
    rgm_session *s = session_journaling(path, DRAIN_RARELY);
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
    rgm_session *s = session_journaling(path, DRAIN_RARELY);
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
    rgm_session *s = session_journaling(path, DRAIN_OFTEN);
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
    rgm_session *s = session_journaling(path, DRAIN_RARELY), *other = NULL;
    REQUIRE(s);
    rgm_error err = RGM_ERROR_NONE;
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    rgm_session_stop_threads(s); // the drainer allocates, whenever it comes to it
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
    s = session_journaling(path, DRAIN_RARELY); // a finished recording is replaced
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
    rgm_session *first = session_journaling(path, DRAIN_RARELY);
    REQUIRE(first);
    scopes(first, "first", 5000);
    rgm_session_stop(first);
    rgm_session *second = session_journaling(path, DRAIN_RARELY);
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
    rgm_error err = RGM_ERROR_NONE;
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
            rgm_session *s = session_journaling(path, DRAIN_RARELY);
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
    rgm_session *s = session_journaling(path, DRAIN_OFTEN);
    REQUIRE(s);
    char text[600];
    CHECK(rgm_session_take_warning(s, text, sizeof text));
    CHECK(strstr(text, "no/such/folder") != NULL);
    CHECK(ends_with(text, "recording continues in memory"));
    CHECK(!rgm_session_take_warning(s, text, sizeof text));
    CHECK_STR_EQ(rgm_session_path(s), "");
    scopes(s, "op", 5);
    rgm_run *run = session_finish(s);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.rows, 5);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_JOURNAL_FAILED), 1);
    rgm_run_free(run);
}

// What others put into our file is not written over, and a run has what is left.
TEST(a_file_that_others_cut_is_left_to_them) {
    const char *path = temp_path("taken.rgm");
    rgm_session *s = session_journaling(path, DRAIN_RARELY);
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

// As a daemon does: closes all that it has not opened itself. Its own file then has the number of ours.
static int in_its_place(const rgm_session *session, const char *theirs) {
    int fd = rgm_kept_descriptor(&session->journal.file),
        its = open(theirs, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || its < 0 || dup2(its, fd) != fd || close(its) != 0) return -1;
    enum { BYTES = 1 << 20 };
    return ftruncate(fd, BYTES) == 0 ? fd : -1;
}

// What is in it, of which there was nothing but zeros.
static size_t written_to(int fd) {
    char text[4096];
    size_t others = 0;
    off_t at = 0;
    for (ssize_t got; (got = pread(fd, text, sizeof text, at)) > 0; at += got)
        for (ssize_t i = 0; i < got; i++) others += text[i] != 0;
    return others;
}

TEST(a_program_that_closes_the_file_loses_nothing) {
    const char *path = temp_path("closed.rgm"), *theirs = temp_path("theirs");
    rgm_session *s = session_journaling(path, DRAIN_RARELY);
    scopes(s, "before", 3000);
    CHECK_OK(rgm_session_flush(s, NULL));
    int fd = in_its_place(s, theirs);
    REQUIRE(fd >= 0);
    scopes(s, "after", 3000);
    CHECK_OK(rgm_session_flush(s, NULL));
    rgm_run *live = snapshot_of(s);
    REQUIRE(live);
    CHECK_EQ_I64(live->spans.rows, 6000);
    rgm_run_free(live);
    // And once more, of the file that was opened again.
    int second = in_its_place(s, temp_path("theirs too"));
    REQUIRE(second >= 0 && second != fd);
    scopes(s, "last", 1);
    rgm_run *run = session_finish(s);
    REQUIRE(run);
    rgm_run_free(run);
    run = load_of(path, RGM_LOAD_STRICT);
    REQUIRE(run);
    CHECK(run->complete);
    CHECK_EQ_I64(run->spans.rows, 6001);
    CHECK_EQ_I64(run->anomalies.rows, 0);
    rgm_run_free(run);
    CHECK_EQ_U64(written_to(fd), 0);
    CHECK_EQ_U64(written_to(second), 0);
    close(fd);
    close(second);
    unlink(path);
    unlink(theirs);
    unlink(temp_path("theirs too"));
}

// Puts its own file under the numbers of ours again and again, while we write. By the system's call itself:
// of the library's the thread sanitizer says that others use the number meanwhile, which is the point.
static void *take_numbers(void *arg) {
    atomic_int *ended = arg;
    int its = open(temp_path("theirs"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    while (its >= 0 && !atomic_load(ended)) {
        for (int number = 200; number < 208; number++)
            if (number != its) (void)syscall(SYS_dup3, its, number, O_CLOEXEC);
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    }
    close(its);
    return NULL;
}

TEST(a_program_that_takes_the_number_in_the_midst_of_a_write_loses_nothing) {
    const char *path = temp_path("midst.rgm");
    rgm_session *s = session_journaling(path, DRAIN_RARELY);
    REQUIRE(s);
    atomic_int ended = 0;
    pthread_t taker;
    REQUIRE(pthread_create(&taker, NULL, take_numbers, &ended) == 0);
    for (int i = 0; i < 300; i++) {
        scopes(s, "work", 20);
        CHECK_OK(rgm_session_flush(s, NULL));
    }
    atomic_store(&ended, 1);
    pthread_join(taker, NULL);
    rgm_run *run = session_finish(s);
    REQUIRE(run);
    rgm_run_free(run);
    run = load_of(path, RGM_LOAD_STRICT);
    REQUIRE(run);
    CHECK(run->complete);
    CHECK_EQ_I64(run->spans.rows, 6000);
    CHECK_EQ_I64(run->anomalies.rows, 0);
    rgm_run_free(run);
    for (int number = 200; number < 208; number++) close(number);
    unlink(path);
    unlink(temp_path("theirs"));
}

TEST(a_file_that_is_closed_and_not_to_be_found_is_told) {
    const char *path = temp_path("gone.rgm"), *theirs = temp_path("theirs");
    char warning[600];
    rgm_session *s = session_journaling(path, DRAIN_RARELY);
    scopes(s, "before", 10);
    CHECK_OK(rgm_session_flush(s, NULL));
    int fd = in_its_place(s, theirs);
    REQUIRE(fd >= 0 && rename(theirs, path) == 0); // under the name of ours, too
    scopes(s, "after", 10);
    CHECK(rgm_session_flush(s, NULL) != RGM_OK);
    REQUIRE(rgm_session_take_warning(s, warning, sizeof warning));
    CHECK(strstr(warning, "was closed by the program") && strstr(warning, "in memory"));
    rgm_run *run = session_finish(s);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.rows, 10);
    CHECK(anomaly_count(run, RGM_ANOMALY_MISSING_BLOCKS) > 0);
    rgm_run_free(run);
    CHECK_EQ_U64(written_to(fd), 0);
    close(fd);
    unlink(path);
}
