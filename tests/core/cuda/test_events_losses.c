// SPDX-License-Identifier: Apache-2.0
// Device time of scopes when the device, the driver or the memory goes away.
#include "event_device.h"

static void reset_with(const char *fake) {
    REQUIRE(load_fake(fake));
    use_device(0);
    rgm_events *events = start(0, 0);
    uint64_t read = scope(events, 0, 1000);
    cu.advance(10000);
    rgm_events_poll(events);
    uint64_t lost = scope(events, 0, 1000);
    rgm_event_slot *open = rgm_events_begin(events, 0, true, -1);
    CHECK_OK(cu.reset(0));
    rgm_events_poll(events);
    void *context = NULL;
    CHECK_OK(cu.retain(&context, 0)); // the same handle
    uint64_t across = rgm_events_end(events, open, 0);
    uint64_t first = scope(events, 0, 2000);
    uint64_t after = scope(events, 0, 2000);
    cu.advance(10000);
    rgm_events_poll(events);
    check_row(read, RGM_INTERVAL_MEASURED, 1000, 500);
    check_row(lost, RGM_INTERVAL_LOST, -1, 0);
    check_row(across, RGM_INTERVAL_LOST, -1, 0);
    check_row(after, RGM_INTERVAL_MEASURED, 2000, 500);
    check_row(first, RGM_INTERVAL_MEASURED, 2000, 500);
    CHECK_EQ_I64(atomic_load(&notes[RGM_ANOMALY_DEVICE_RESET]), 2);
    rgm_events_close(events, 0);
    rgm_events_free(events);
}

TEST(a_reset_loses_what_was_on_its_way_and_no_more) {
    reset_with("cuda");
    CHECK_EQ_I64(cu.get("dead_events"), 0); // no event of the old context was touched
}

// Without ids of contexts a reset shows only in the errors that follow it.
TEST(an_older_driver_tells_a_reset_by_its_errors) {
    reset_with("cuda_older");
    CHECK(cu.get("dead_events") > 0);
}

TEST(the_oldest_driver_is_refused_with_the_missing_symbol) {
    rgm_error err = RGM_ERROR_NONE;
    REQUIRE(load_fake("cuda_oldest"));
    use_device(0);
    rgm_events *events = start(0, 0);
    CHECK(!rgm_events_begin(events, 0, true, -1));
    CHECK_EQ_I64(rgm_events_status(events, &err), RGM_UNAVAILABLE);
    CHECK(strstr(err.message, "cuThreadExchangeStreamCaptureMode"));
    CHECK_EQ_I64(cu.get("calls_cuEventCreate"), 0);
    stop(events);
}

TEST(a_destroyed_context_takes_its_scopes_with_it) {
    void *second = NULL;
    REQUIRE(load_fake("cuda"));
    use_device(0);
    CHECK_OK(cu.create_context(&second, 0, 0));
    rgm_events *events = start(0, 0);
    uint64_t lost = scope(events, 0, 1000);
    CHECK_OK(cu.destroy_context(second));
    uint64_t kept = scope(events, 0, 1000);
    cu.advance(100000);
    rgm_events_poll(events);
    check_row(lost, RGM_INTERVAL_LOST, -1, 0);
    check_row(kept, RGM_INTERVAL_MEASURED, 1000, 500);
    stop(events);
}

TEST(a_refusal_of_the_driver_is_a_state) {
    REQUIRE(load_fake("cuda"));
    use_device(0);
    rgm_events *events = start(0, 0);
    cu.set("fail_cuEventRecord", RGM_CU_LAUNCH_FAILED);
    uint64_t at_begin = scope(events, 0, 1000);
    cu.set("skip_cuEventRecord", 1);
    uint64_t at_end = scope(events, 0, 1000);
    cu.set("fail_cuEventRecord", 0);
    uint64_t at_query = scope(events, 0, 1000);
    cu.advance(100000);
    cu.set("fail_cuEventQuery", RGM_CU_ILLEGAL_ADDRESS);
    rgm_events_poll(events);
    cu.set("fail_cuEventQuery", 0);
    uint64_t at_elapsed = scope(events, 0, 1000);
    cu.advance(100000);
    cu.set("fail_cuEventElapsedTime", RGM_CU_INVALID_HANDLE);
    rgm_events_poll(events);
    cu.set("fail_cuEventElapsedTime", 0);
    uint64_t after = scope(events, 0, 1000);
    cu.advance(100000);
    rgm_events_poll(events);
    check_row(at_begin, RGM_INTERVAL_FAILED, -1, 0);
    check_row(at_end, RGM_INTERVAL_FAILED, -1, 0);
    check_row(at_query, RGM_INTERVAL_FAILED, -1, 0);
    check_row(at_elapsed, RGM_INTERVAL_FAILED, -1, 0);
    check_row(after, RGM_INTERVAL_MEASURED, 1000, 500);
    cu.set("fail_cuEventCreate", RGM_CU_OUT_OF_MEMORY);
    for (int i = 0; i < 2 * RGM_SLOTS_PER_CHUNK; i++) (void)scope(events, 0, 1000);
    CHECK(atomic_load(&notes[RGM_ANOMALY_DROPPED_DEVICE_ROWS]) > 0);
    cu.set("fail_cuEventCreate", 0);
    stop(events);
}

TEST(a_driver_that_shuts_down_is_left_alone) {
    REQUIRE(load_fake("cuda"));
    use_device(0);
    rgm_events *events = start(0, 0);
    (void)scope(events, 0, 1000);
    rgm_event_slot *open = rgm_events_begin(events, 0, true, -1);
    cu.set("gone", 1);
    (void)rgm_events_end(events, open, 0);
    CHECK(!rgm_events_begin(events, 0, true, -1));
    rgm_events_close(events, 0);
    CHECK_EQ_I64(atomic_load(&notes[RGM_ANOMALY_PENDING_INTERVALS]), 2);
    rgm_events_free(events);
    CHECK_EQ_I64(atomic_load(&notes[RGM_ANOMALY_DEVICE_RESET]), 0);
}

TEST(what_the_device_has_not_finished_is_pending_after_a_bounded_wait) {
    REQUIRE(load_fake("cuda"));
    use_device(0);
    rgm_events *events = start(100000, 0);
    uint64_t done = scope(events, 0, 0);
    uint64_t number = scope(events, 0, 1000000000);
    CHECK_EQ_I64(rgm_events_drain(events, 20000000), 1);
    rgm_events_poll(events); // the thread may not have come by in so short a time
    CHECK(row_of(done) && !row_of(number));
    rgm_events_close(events, 1000000);
    CHECK_EQ_I64(atomic_load(&notes[RGM_ANOMALY_PENDING_INTERVALS]), 1);
    CHECK(!rgm_events_begin(events, 0, true, -1));
    stop(events);
}

TEST(an_abandoned_scope_gives_its_events_back) {
    REQUIRE(load_fake("cuda"));
    use_device(0);
    rgm_events *events = start(0, RGM_SLOTS_PER_CHUNK);
    for (int i = 0; i < 10 * RGM_SLOTS_PER_CHUNK; i++) {
        rgm_event_slot *slot = rgm_events_begin(events, 0, true, -1);
        REQUIRE(slot);
        rgm_events_abandon(events, slot);
        rgm_events_poll(events);
    }
    stop(events);
}

TEST(two_profilers_on_one_thread_do_not_mix) {
    REQUIRE(load_fake("cuda"));
    use_device(0);
    rgm_events *first = start(0, 0), *second = start(0, 0);
    rgm_events_stats stats;
    for (int i = 0; i < 100; i++) {
        CHECK(scope(first, 0, 1000));
        CHECK(scope(second, 0, 1000));
    }
    cu.advance(1000000);
    rgm_events_poll(first);
    rgm_events_get_stats(first, &stats);
    CHECK_EQ_U64(stats.resolved, 100);
    rgm_events_get_stats(second, &stats);
    CHECK_EQ_U64(stats.resolved, 0);
    rgm_events_free(first);
    rgm_events_poll(second);
    rgm_events_get_stats(second, &stats);
    CHECK_EQ_U64(stats.resolved, 100);
    stop(second);
    CHECK_EQ_I64(cu.get("calls_cuEventCreate"), cu.get("calls_cuEventDestroy_v2"));
}

TEST(without_memory_scopes_go_without) {
    int64_t live = rgm_memory_live();
    for (int64_t after = 0; after < 8; after++) {
        REQUIRE(load_fake("cuda"));
        use_device(0);
        rgm_events *events = start(0, 0);
        rgm_memory_fail_after(after);
        for (int i = 0; i < 3; i++) {
            (void)scope(events, 0, 1000);
            cu.advance(10000);
            rgm_events_poll(events);
        }
        rgm_memory_fail_after(-1);
        uint64_t number = scope(events, 0, 1000);
        cu.advance(10000);
        rgm_events_poll(events);
        check_row(number, RGM_INTERVAL_MEASURED, 1000, 500);
        stop(events);
    }
    CHECK_EQ_I64(rgm_memory_live(), live);
}

TEST(whether_a_runtime_is_in_use_is_told_without_a_stream) {
    REQUIRE(load_fake("cuda"));
    rgm_events *events = start(0, 0);
    CHECK(!rgm_events_ready(events));
    CHECK_EQ_I64(cu.get("calls_cuInit"), 0);
    rgm_events_free(events);
    use_device(0);
    events = start(0, 0);
    CHECK(rgm_events_ready(events));
    stop(events);
}
