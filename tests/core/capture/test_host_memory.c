// SPDX-License-Identifier: Apache-2.0
#include "capture/host_memory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "recording.h"

TEST(the_resident_set_grows_with_what_is_touched) {
    enum { BYTES = 64 << 20 };
    int64_t before = rgm_memory_resident();
    REQUIRE(before > 0);
    char *block = malloc(BYTES);
    REQUIRE(block);
    for (size_t i = 0; i < BYTES; i += 1024)
        ((volatile char *)block)[i] = 1; // an unread memset may be left out
    int64_t during = rgm_memory_resident();
    CHECK(during - before > BYTES / 5 * 4);
    if (!SANITIZED) CHECK(during - before < BYTES / 5 * 6); // their shadow memory counts too
    int64_t in_use = 0, held = 0;
    if (rgm_memory_malloc(&in_use, &held)) CHECK(held >= in_use && in_use >= (SANITIZED ? 0 : BYTES));
    free(block);
    rgm_memory_reopen();
    CHECK(rgm_memory_resident() > 0);
}

static int statm_number(void) {
    for (int fd = 3; fd < 1024; fd++) {
        char link[32], place[64];
        (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(link, place, sizeof place - 1);
        if (length > 0 && (place[length] = '\0', strstr(place, "/statm"))) return fd;
    }
    return -1;
}

// As a daemon does that closes all that is open.
TEST(a_file_of_the_program_in_the_place_of_the_kernels_is_not_read_and_stays_open) {
    const char *path = temp_path("theirs");
    int theirs = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    REQUIRE(theirs >= 0 && write(theirs, "1 2 3 4 5 6\n", 12) == 12);
    CHECK(rgm_memory_resident() > 1 << 20);
    int first = statm_number();
    REQUIRE(first >= 0 && dup2(theirs, first) == first);
    CHECK(rgm_memory_resident() > 1 << 20);
    int second = statm_number();
    REQUIRE(second >= 0 && second != first && dup2(theirs, second) == second);
    rgm_memory_reopen();
    CHECK(rgm_memory_resident() > 1 << 20);
    char text[12];
    CHECK(pread(second, text, 12, 0) == 12 && memcmp(text, "1 2 3 4 5 6\n", 12) == 0);
    CHECK(close(first) == 0 && close(second) == 0 && close(theirs) == 0);
    unlink(path);
}

TEST(an_unchanged_value_is_told_once_a_heartbeat) {
    rgm_memory_watch rarely = {.heartbeat_ns = INT64_C(3600) * 1000000000}, always = {0};
    rgm_sample sample;
    CHECK(rgm_memory_look(&rarely, &sample));
    CHECK(sample.bytes > 0 && sample.device == -1 && sample.allocated == -1);
    int64_t told = sample.bytes;
    for (int i = 0; i < 20; i++) CHECK(!rgm_memory_look(&rarely, &sample) || sample.bytes != told);
    for (int i = 0; i < 20; i++) CHECK(rgm_memory_look(&always, &sample));
    char *block = malloc(8 << 20);
    REQUIRE(block);
    for (size_t i = 0; i < 8 << 20; i += 1024) ((volatile char *)block)[i] = 1;
    CHECK(rgm_memory_look(&rarely, &sample));
    CHECK(sample.bytes > told);
    free(block);
}

TEST(a_session_that_ends_at_once_has_a_sample) {
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    options.sample_interval_ns = INT64_C(3600) * 1000000000;
    rgm_session *s = session_with(options, NULL);
    REQUIRE(s);
    scope_end(s, scope_begin(s, "op"));
    rgm_run *run = session_finish(s); // or the test does not end
    REQUIRE(run);
    CHECK(run->memory.rows >= 1);
    rgm_run_free(run);
}

TEST(a_session_samples_while_it_records) {
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    options.sample_interval_ns = 1000000;
    options.sample_heartbeat_ns = 1000000;
    rgm_session *s = session_with(options, NULL);
    REQUIRE(s);
    open_scope scope = scope_begin(s, "op");
    rgm_session_stats stats = {0};
    while (stats.rows[RGM_LOG_SAMPLES] < 5) {
        usleep(1000);
        rgm_session_get_stats(s, &stats);
    }
    scope_end(s, scope);
    rgm_session_sampling(s, 0);
    rgm_session_get_stats(s, &stats);
    uint64_t count = stats.rows[RGM_LOG_SAMPLES];
    usleep(20000);
    rgm_session_get_stats(s, &stats);
    CHECK_EQ_U64(stats.rows[RGM_LOG_SAMPLES], count);
    rgm_run *run = session_finish(s);
    REQUIRE(run);
    CHECK_EQ_U64(run->memory.rows, count);
    for (size_t i = 1; i < run->memory.rows; i++) {
        CHECK_EQ_I64(run->memory.action[i], RGM_ACTION_SAMPLE);
        CHECK(run->memory.time_ns[i] > run->memory.time_ns[i - 1]);
    }
    rgm_run_free(run);
}

TEST(samples_past_the_budget_are_counted) {
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    options.sample_budget_bytes = 512 * (int64_t)sizeof(rgm_sample);
    rgm_session *s = session_with(options, NULL);
    REQUIRE(s);
    for (int i = 0; i < 600; i++)
        rgm_session_rows(s, RGM_LOG_SAMPLES, &(rgm_sample){.ticks = rgm_clock_ticks(), .bytes = i}, 1);
    rgm_run *run = snapshot_of(s);
    REQUIRE(run);
    CHECK_EQ_I64(run->memory.rows, 512);
    CHECK_EQ_I64(run->memory.bytes[511], 511);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_DROPPED_SAMPLES), 88);
    rgm_run_free(run);
    rgm_session_free(s);
}
