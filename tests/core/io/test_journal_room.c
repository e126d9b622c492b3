// SPDX-License-Identifier: Apache-2.0
// Sessions that write a file on a disk that gives out, or below a limit on its length.
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "capture/session_state.h"
#include "recording.h"

static _Atomic(int) alarms;
static void count_alarm(void) { atomic_fetch_add(&alarms, 1); }

// A limit on file sizes stands in for a full disk: no more is written, but for the room that was kept for the
// last blocks.
static void disk_gives_out(const char *path, int64_t limit, bool reset_after) {
    struct rlimit before, now;
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    options.drain_interval_ns = DRAIN_OFTEN;
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

// The file is longer than the limit already, so that nothing more can be written, and no last blocks either.
// The limit that the program sets may lie below what is written; what is there after it is raised, too, is
// written then.
static void record_below_a_limit(const char *path, bool raised, rgm_run **out) {
    struct rlimit before;
    rgm_session *s = session_journaling(path, DRAIN_RARELY);
    REQUIRE(s);
    scopes(s, "early", 3000);
    CHECK_OK(rgm_session_flush(s, NULL));
    getrlimit(RLIMIT_FSIZE, &before);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, before.rlim_max});
    scopes(s, "late", 3000);
    CHECK_EQ_I64(rgm_session_flush(s, NULL), RGM_IO);
    if (raised) setrlimit(RLIMIT_FSIZE, &before);
    if (raised) CHECK_OK(rgm_session_flush(s, NULL));
    if (raised) *out = load_of(path, RGM_LOAD_STRICT); // as after a kill
    rgm_session_free(s);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    if (!raised) *out = load_of(path, RGM_LOAD_STRICT);
    unlink(path);
}

TEST(a_limit_below_the_length_of_the_file_is_told) {
    for (int raised = 0; raised < 2; raised++) {
        rgm_run *run = NULL;
        record_below_a_limit(temp_path("below.rgm"), raised, &run);
        REQUIRE(run);
        CHECK(!run->complete);
        CHECK_EQ_I64(run->spans.rows, raised ? 6000 : 3000);
        CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_JOURNAL_FAILED), 1);
        run_check_sound(run, true);
        rgm_run_free(run);
    }
}

// What finds room later is written after all, in the order in which it was recorded.
TEST(a_disk_with_room_again_gets_everything) {
    const char *path = temp_path("again.rgm");
    struct rlimit before, now;
    rgm_session *s = session_journaling(path, DRAIN_RARELY);
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

static int64_t length_of(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 ? (int64_t)info.st_size : -1;
}

// Nobody asks for it: the drainer tries again from time to time.
TEST(room_that_is_there_again_is_found_by_itself) {
    const char *path = temp_path("found.rgm");
    struct rlimit before;
    rgm_session *s = session_journaling(path, DRAIN_OFTEN);
    REQUIRE(s);
    getrlimit(RLIMIT_FSIZE, &before);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){40000, before.rlim_max});
    scopes(s, "late", 3000);
    CHECK_EQ_I64(rgm_session_flush(s, NULL), RGM_IO);
    int64_t length = length_of(path);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    for (int tries = 0; tries < 3000 && length_of(path) == length; tries++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    CHECK(length_of(path) > length);
    rgm_session_free(s);
    unlink(path);
}

TEST(a_full_disk_costs_nothing_of_the_run) { disk_gives_out(temp_path("full.rgm"), 250000, false); }
TEST(a_reset_after_a_full_disk_forgets_the_file_too) { disk_gives_out(temp_path("full2.rgm"), 250000, true); }
