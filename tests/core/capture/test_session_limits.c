// SPDX-License-Identifier: Apache-2.0
// Sessions past a limit: what finds no room in blocks, names and texts is counted, what was kept is intact.
#include "recording.h"

TEST(past_the_budget_scopes_are_counted_and_the_kept_ones_are_intact) {
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    options.memory_budget_bytes = 3 * 65536;
    rgm_clock_fake(1000);
    rgm_session *s = session_with(options, NULL);
    enum { COUNT = 10000, FIT = 3 * RGM_BLOCK_RECORDS - 1 }; // one record names the thread
    for (int i = 0; i < COUNT; i++) {
        open_scope scope = scope_begin(s, "op");
        rgm_clock_fake_advance(7);
        scope_end(s, scope);
    }
    rgm_session_stats stats;
    rgm_session_get_stats(s, &stats);
    CHECK_EQ_U64(stats.dropped, COUNT - FIT);
    CHECK_EQ_U64(stats.blocks, 3);
    rgm_session_stop(s);
    rgm_run *run = snapshot_of(s);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.rows, FIT);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_DROPPED_SCOPES), COUNT - FIT);
    for (size_t i = 0; i < run->spans.rows; i++) CHECK_EQ_I64(run->spans.duration_ns[i], 7);
    rgm_run_free(run);
    rgm_session_free(s);
    rgm_clock_fake_stop();
}

TEST(reset_makes_room_and_forgets_what_was_dropped) {
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    options.memory_budget_bytes = 2 * 65536;
    rgm_session *s = session_with(options, NULL);
    scopes(s, "before", 3 * RGM_BLOCK_RECORDS);
    rgm_session_reset(s);
    scopes(s, "after", 100);
    rgm_run *run = snapshot_of(s);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.rows, 100);
    CHECK_EQ_I64(run->anomalies.rows, 0);
    rgm_run_free(run);
    rgm_session_free(s);
}

TEST(values_of_a_dropped_scope_do_not_go_to_the_one_before) {
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    options.memory_budget_bytes = 65536;
    rgm_session *s = session_with(options, NULL);
    for (int i = 0; i < RGM_BLOCK_RECORDS + 5; i++) scopes(s, "op", 1);
    rgm_recorder_memory(recorder_of(s), RGM_RECORD_HOST_MEMORY, 0, 1, 2);
    rgm_run *run = snapshot_of(s);
    REQUIRE(run);
    CHECK_EQ_I64(run->memory.rows, 0);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_DROPPED_SCOPES), 6);
    rgm_run_free(run);
    rgm_session_free(s);
}

static void ten_scopes(rgm_session *session, int number) {
    (void)number;
    scopes(session, "other", 10);
}

TEST(no_room_for_a_thread_is_counted) {
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    options.memory_budget_bytes = 65536;
    rgm_session *s = session_with(options, NULL);
    scopes(s, "op", 1);
    on_thread(s, ten_scopes);
    rgm_run *run = snapshot_of(s);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.rows, 1);
    CHECK(anomaly_count(run, RGM_ANOMALY_DROPPED_SCOPES) >= 10);
    rgm_run_free(run);
    rgm_session_free(s);
}

TEST(operations_past_the_limit_share_one_name) {
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    options.max_sites = 10;
    rgm_session *s = session_with(options, NULL);
    for (int i = 0; i < 50; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "op%d", i);
        scopes(s, name, 1);
    }
    rgm_run *run = session_finish(s);
    REQUIRE(run);
    CHECK_EQ_I64(run->spans.rows, 50);
    CHECK_EQ_I64(span_count(run, "<other operations>"), 40);
    CHECK_EQ_I64(span_count(run, "op9"), 1);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_DROPPED_NAMES), 40);
    rgm_run_free(run);
}

TEST(text_past_the_budget_is_counted) {
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    options.text_budget_bytes = options.metadata_budget_bytes = 4096;
    rgm_session *s = session_with(options, NULL);
    char json[600];
    memset(json, 'x', sizeof json);
    int kept = 0;
    for (int i = 0; i < 20; i++) {
        json[0] = (char)('a' + i);
        kept += rgm_session_metadata(s, json, sizeof json) != 0;
    }
    CHECK(kept >= 4 && kept <= 6);
    scopes(s, "a name that still has to fit somewhere", 1);
    rgm_site *site = NULL;
    for (int i = 0; i < 8; i++) {
        json[0] = (char)('A' + i); // metadata took none of the room for names
        CHECK_OK(rgm_session_site(s, json, sizeof json, RGM_DEVICE_CPU, RGM_ROLE_NONE, &site, NULL));
    }
    rgm_run *run = snapshot_of(s);
    REQUIRE(run);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_DROPPED_METADATA), 20 - kept);
    CHECK(anomaly_count(run, RGM_ANOMALY_DROPPED_NAMES) >= 1 &&
          anomaly_count(run, RGM_ANOMALY_DROPPED_NAMES) <= 4);
    rgm_run_free(run);
    rgm_session_free(s);
}

static void named_scopes(rgm_session *session, int number) {
    char name[16];
    (void)snprintf(name, sizeof name, "a new name %d", number);
    (void)pthread_setname_np(pthread_self(), name);
    scopes(session, "op", 10);
}

TEST(a_thread_whose_name_finds_no_room_is_recorded) {
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    options.text_budget_bytes = 256;
    rgm_session *s = session_with(options, NULL);
    char text[64];
    rgm_site *site = NULL;
    scopes(s, "op", 1);
    for (int i = 0; i < 10; i++) {
        (void)snprintf(text, sizeof text, "name %d %*s", i, i, "");
        CHECK_OK(rgm_session_site(s, text, strlen(text), RGM_DEVICE_CPU, RGM_ROLE_NONE, &site, NULL));
    }
    worker w[5];
    workers_start(w, 5, s, named_scopes);
    workers_join(w, 5);
    rgm_run *run = snapshot_of(s);
    REQUIRE(run);
    CHECK_EQ_I64(span_count(run, "op"), 51);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_DROPPED_SCOPES), 0);
    CHECK(anomaly_count(run, RGM_ANOMALY_DROPPED_NAMES) >= 5);
    rgm_run_free(run);
    rgm_session_free(s);
}
