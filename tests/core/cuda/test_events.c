// SPDX-License-Identifier: Apache-2.0
// Device time of scopes: streams, contexts, captures, and what they cost.
#include "event_device.h"

TEST(a_scope_lasts_as_long_as_the_work_in_it) {
    REQUIRE(load_fake("cuda"));
    use_device(0);
    rgm_events *events = start(0, 0);
    uint64_t number = scope(events, 0, 1234000);
    CHECK(number);
    rgm_events_poll(events);
    CHECK(!row_of(number)); // the device has not got there
    cu.advance(1234000);
    rgm_events_poll(events);
    check_row(number, RGM_INTERVAL_MEASURED, 1234000, 500);
    CHECK_EQ_I64(row_of(number)->device, 0);
    CHECK(row_of(number)->begin_ticks <= row_of(number)->end_ticks);
    stop(events);
    CHECK_EQ_I64(cu.get("calls_cuEventCreate"), cu.get("calls_cuEventDestroy_v2"));
}

TEST(a_program_that_does_not_use_cuda_is_left_alone) {
    rgm_error err = RGM_ERROR_NONE;
    REQUIRE(load_fake("cuda"));
    rgm_events *events = start(0, 0);
    CHECK(!rgm_events_begin(events, 0, true, -1));
    CHECK_EQ_I64(rgm_events_status(events, &err), RGM_UNAVAILABLE);
    CHECK(strstr(err.message, "not initialised"));
    CHECK_EQ_I64(cu.get("calls_cuInit"), 0);
    CHECK_EQ_I64(cu.get("calls_cuDevicePrimaryCtxRetain"), 0);
    CHECK_EQ_I64(cu.get("calls_cuCtxCreate_v2"), 0);
    // Asking again at once does not call the driver again.
    long long calls = cu.get("calls");
    for (int i = 0; i < 1000; i++) CHECK(!rgm_events_begin(events, 0, true, -1));
    CHECK(cu.get("calls") - calls <= 1);
    stop(events);
}

TEST(a_thread_without_a_context_goes_without_device_time) {
    REQUIRE(load_fake("cuda"));
    CHECK_OK(cu.init(0));
    rgm_events *events = start(0, 0);
    CHECK(!rgm_events_begin(events, 0, true, -1));
    use_device(0);
    CHECK(scope(events, 0, 1000) != 0);
    stop(events);
}

static void *first_scope_of_a_thread(void *arg) {
    uint64_t *numbers = arg;
    rgm_events *events = stream_handle(numbers[0]);
    // Nothing is current here. Of a device that nobody uses there is nothing to use either.
    CHECK(!rgm_events_begin(events, 0, true, -1));
    CHECK(!rgm_events_begin(events, 0, true, 1));
    rgm_event_slot *unused = rgm_events_begin(events, 0, true, 0);
    rgm_event_slot *used = rgm_events_begin(events, 0, true, 0);
    if (unused) numbers[0] = rgm_events_end(events, unused, 0);
    use_device(0); // the block does
    CHECK_OK(cu.work(NULL, 7000));
    if (used) numbers[1] = rgm_events_end(events, used, 0);
    return NULL;
}

TEST(a_thread_without_a_context_uses_that_of_its_device) {
    pthread_t thread;
    REQUIRE(load_fake("cuda"));
    use_device(0);
    rgm_events *events = start(0, 0);
    uint64_t numbers[2] = {handle(events), 0};
    CHECK_OK(pthread_create(&thread, NULL, first_scope_of_a_thread, numbers));
    CHECK_OK(pthread_join(thread, NULL));
    cu.advance(100000);
    rgm_events_poll(events);
    check_row(numbers[0], RGM_INTERVAL_MEASURED, 0, 500);
    check_row(numbers[1], RGM_INTERVAL_MEASURED, 7000, 500);
    CHECK_EQ_I64(cu.get("calls_cuDevicePrimaryCtxRetain") - 2, cu.get("calls_cuDevicePrimaryCtxRelease_v2"));
    stop(events);
}

TEST(no_driver_is_a_reason) {
    rgm_error err = RGM_ERROR_NONE;
    setenv("REGIMETER_LIBCUDA", "off", 1);
    setenv("REGIMETER_LIBHIP", "off", 1);
    rgm_driver_forget();
    rgm_events *events = start(0, 0);
    CHECK(!rgm_events_begin(events, 0, false, -1));
    CHECK_EQ_I64(rgm_events_status(events, &err), RGM_UNAVAILABLE);
    CHECK(strstr(err.message, "REGIMETER_LIBCUDA=off"));
    rgm_events_free(events);
}

TEST(nested_scopes_and_streams_are_told_apart) {
    void *first = NULL, *second = NULL;
    REQUIRE(load_fake("cuda"));
    use_device(0);
    CHECK_OK(cu.create_stream(&first, 1));
    CHECK_OK(cu.create_stream(&second, 1));
    rgm_events *events = start(0, 0);
    rgm_event_slot *outer = rgm_events_begin(events, handle(first), true, -1);
    REQUIRE(outer);
    CHECK_OK(cu.work(first, 100000));
    uint64_t inner = scope(events, handle(first), 20000);
    uint64_t other = scope(events, handle(second), 5000000); // longer, and does not hold the first one up
    CHECK_OK(cu.work(first, 30000));
    uint64_t whole = rgm_events_end(events, outer, handle(first));
    cu.advance(200000);
    rgm_events_poll(events);
    check_row(inner, RGM_INTERVAL_MEASURED, 20000, 500);
    check_row(whole, RGM_INTERVAL_MEASURED, 150000, 500);
    CHECK(!row_of(other));
    cu.advance(5000000);
    rgm_events_poll(events);
    check_row(other, RGM_INTERVAL_MEASURED, 5000000, 500);
    CHECK_NEAR((double)(row_of(inner)->begin_ns - row_of(whole)->begin_ns), 100000, 1000);
    CHECK_EQ_I64(row_of(inner)->timeline, row_of(other)->timeline);
    stop(events);
}

TEST(the_default_streams_are_told_apart) {
    void *blocking = NULL;
    REQUIRE(load_fake("cuda"));
    use_device(0);
    CHECK_OK(cu.create_stream(&blocking, 0));
    rgm_events *events = start(0, 0);
    CHECK_OK(cu.work(blocking, 70000)); // the legacy stream waits for it
    uint64_t legacy = scope(events, 1, 1000);
    uint64_t own = scope(events, 2, 3000);
    cu.advance(1000000);
    rgm_events_poll(events);
    check_row(legacy, RGM_INTERVAL_MEASURED, 1000, 500);
    check_row(own, RGM_INTERVAL_MEASURED, 3000, 500);
    CHECK_EQ_U64(row_of(own)->stream, 2);
    CHECK(row_of(own)->begin_ns >= row_of(legacy)->begin_ns);
    stop(events);
}

TEST(events_are_used_again) {
    REQUIRE(load_fake("cuda"));
    use_device(0);
    rgm_events *events = start(0, 0);
    rgm_events_stats stats;
    for (int i = 0; i < 10000; i++) {
        uint64_t number = scope(events, 0, 1000 + i);
        cu.advance(20000);
        rgm_events_poll(events);
        if (i % 997 == 0) check_row(number, RGM_INTERVAL_MEASURED, 1000 + i, 500);
    }
    rgm_events_get_stats(events, &stats);
    CHECK_EQ_U64(stats.resolved, 10000);
    CHECK_EQ_U64(stats.slots, RGM_SLOTS_PER_CHUNK);
    CHECK_EQ_I64(cu.get("calls_cuEventCreate"), 2 * RGM_SLOTS_PER_CHUNK);
    // Timelines add up: what the first scope began at and the last one ended at is the time that passed.
    CHECK_NEAR((double)(rows[9999].begin_ns - rows[0].begin_ns), 9999 * 20000.0, 1000);
    stop(events);
}

TEST(past_the_limit_scopes_go_without) {
    REQUIRE(load_fake("cuda"));
    use_device(0);
    rgm_events *events = start(0, RGM_SLOTS_PER_CHUNK);
    rgm_events_stats stats;
    int none = 0;
    for (int i = 0; i < RGM_SLOTS_PER_CHUNK + 10; i++) none += scope(events, 0, 1000) == 0;
    CHECK_EQ_I64(none, 10);
    CHECK_EQ_I64(atomic_load(&notes[RGM_ANOMALY_DROPPED_DEVICE_ROWS]), 10);
    cu.advance(1000000);
    rgm_events_poll(events);
    rgm_events_get_stats(events, &stats);
    CHECK_EQ_U64(stats.resolved, RGM_SLOTS_PER_CHUNK);
    CHECK_EQ_U64(stats.refused, 10);
    CHECK(scope(events, 0, 1000) != 0);
    stop(events);
}

TEST(a_long_scope_is_a_sum_of_short_distances) {
    // An hour in float milliseconds is good to a quarter of a millisecond; a sum of distances of two seconds
    // loses some tens of nanoseconds in each.
    const int64_t hour_ns = INT64_C(3600) * 1000000000 + 123456500;
    void *stream = NULL;
    REQUIRE(load_fake("cuda"));
    use_device(0);
    CHECK_OK(cu.create_stream(&stream, 1));
    rgm_clock_fake(1000000000);
    rgm_events *events = start(0, 0);
    rgm_events_poll(events);
    rgm_event_slot *slot = rgm_events_begin(events, handle(stream), true, -1);
    REQUIRE(slot);
    CHECK_OK(cu.work(stream, hour_ns));
    uint64_t number = rgm_events_end(events, slot, handle(stream));
    for (int64_t passed = 0; passed < hour_ns + 2000000000; passed += 700000000) {
        cu.advance(700000000);
        rgm_clock_fake_advance(700000000);
        rgm_events_poll(events);
    }
    check_row(number, RGM_INTERVAL_MEASURED, hour_ns, 2000);
    printf("an hour was measured with an error of %" PRId64 " ns\n", row_of(number)->duration_ns - hour_ns);
    rgm_clock_fake_stop();
    stop(events);
    CHECK_EQ_I64(cu.get("calls_cuEventCreate"), cu.get("calls_cuEventDestroy_v2"));
}

TEST(an_open_scope_after_a_long_pause_is_measured_from_near_by) {
    const int64_t minute_ns = INT64_C(60) * 1000000000;
    REQUIRE(load_fake("cuda"));
    use_device(0);
    rgm_clock_fake(1000000000);
    rgm_events *events = start(0, 0);
    (void)scope(events, 0, 1000);
    cu.advance(1000000);
    rgm_events_poll(events);
    cu.advance(600 * minute_ns); // nothing for ten hours
    rgm_clock_fake_advance((uint64_t)(600 * minute_ns));
    rgm_event_slot *slot = rgm_events_begin(events, 0, true, -1);
    REQUIRE(slot);
    for (int i = 0; i < 60; i++) {
        cu.advance(1000000000);
        rgm_clock_fake_advance(1000000000);
        rgm_events_poll(events);
    }
    CHECK_OK(cu.work(NULL, 7000));
    uint64_t number = rgm_events_end(events, slot, 0);
    cu.advance(1000000000);
    rgm_events_poll(events);
    check_row(number, RGM_INTERVAL_MEASURED, minute_ns + 7000, 2000);
    rgm_clock_fake_stop();
    stop(events);
}

TEST(a_captured_stream_gets_no_event_and_stays_intact) {
    void *stream = NULL, *graph = NULL;
    REQUIRE(load_fake("cuda"));
    use_device(0);
    CHECK_OK(cu.create_stream(&stream, 1));
    rgm_events *events = start(0, 0);
    uint64_t before = scope(events, handle(stream), 1000);
    CHECK_OK(cu.begin_capture(stream, RGM_CU_CAPTURE_MODE_GLOBAL));
    long long records = cu.get("calls_cuEventRecord");
    uint64_t inside = scope(events, handle(stream), 1000);
    rgm_event_slot *ends_outside = rgm_events_begin(events, handle(stream), true, -1);
    CHECK_EQ_I64(cu.get("calls_cuEventRecord"), records);
    cu.advance(1000000);
    rgm_events_poll(events); // beside a capture in global mode, from the same thread
    CHECK_OK(cu.end_capture(stream, &graph));
    CHECK(graph);
    uint64_t outside = rgm_events_end(events, ends_outside, handle(stream));
    rgm_event_slot *ends_inside = rgm_events_begin(events, handle(stream), true, -1);
    CHECK_OK(cu.begin_capture(stream, RGM_CU_CAPTURE_MODE_GLOBAL));
    uint64_t across = rgm_events_end(events, ends_inside, handle(stream));
    CHECK_OK(cu.end_capture(stream, &graph));
    rgm_events_poll(events);
    check_row(before, RGM_INTERVAL_MEASURED, 1000, 500);
    check_row(inside, RGM_INTERVAL_CAPTURED, -1, 0);
    check_row(outside, RGM_INTERVAL_CAPTURED, -1, 0);
    check_row(across, RGM_INTERVAL_CAPTURED, -1, 0);
    CHECK_EQ_I64(atomic_load(&notes[RGM_ANOMALY_CAPTURED_SCOPES]), 3);
    CHECK_EQ_I64(cu.get("invalidated"), 0);
    stop(events);
}

TEST(the_resolver_does_not_disturb_a_capture_of_another_thread) {
    void *stream = NULL, *graph = NULL;
    REQUIRE(load_fake("cuda"));
    use_device(0);
    CHECK_OK(cu.create_stream(&stream, 1));
    rgm_events *events = start(100000, 0);
    uint64_t number = scope(events, 0, 1000000);
    CHECK_OK(cu.begin_capture(stream, RGM_CU_CAPTURE_MODE_GLOBAL));
    long long queries = cu.get("calls_cuEventQuery");
    while (cu.get("calls_cuEventQuery") < queries + 20) usleep(1000);
    CHECK_OK(cu.end_capture(stream, &graph));
    CHECK(graph);
    CHECK_EQ_I64(cu.get("invalidated"), 0);
    cu.advance(2000000);
    CHECK_EQ_I64(rgm_events_drain(events, 5000000000), 0);
    check_row(number, RGM_INTERVAL_MEASURED, 1000000, 500);
    stop(events);
}

TEST(the_legacy_stream_is_not_touched_while_a_stream_that_waits_for_it_is_captured) {
    void *blocking = NULL, *graph = NULL;
    REQUIRE(load_fake("cuda"));
    use_device(0);
    CHECK_OK(cu.create_stream(&blocking, 0));
    rgm_events *events = start(0, 0);
    CHECK_OK(cu.begin_capture(blocking, RGM_CU_CAPTURE_MODE_RELAXED));
    uint64_t number = scope(events, 0, 1000);
    CHECK_OK(cu.end_capture(blocking, &graph));
    CHECK(graph);
    rgm_events_poll(events);
    check_row(number, RGM_INTERVAL_CAPTURED, -1, 0);
    CHECK_EQ_I64(cu.get("invalidated"), 0);
    stop(events);
}

TEST(a_scope_that_changes_stream_or_device_has_no_device_time) {
    void *stream = NULL;
    REQUIRE(load_fake("cuda"));
    void *first = use_device(0), *second = NULL;
    CHECK_OK(cu.create_stream(&stream, 1));
    CHECK_OK(cu.retain(&second, 1));
    rgm_events *events = start(0, 0);
    rgm_event_slot *slot = rgm_events_begin(events, 0, true, -1);
    uint64_t streams = rgm_events_end(events, slot, handle(stream));
    slot = rgm_events_begin(events, 0, true, -1);
    CHECK_OK(cu.set_current(second));
    uint64_t devices = rgm_events_end(events, slot, 0);
    uint64_t there = scope(events, 0, 4000);
    CHECK_OK(cu.set_current(first));
    uint64_t here = scope(events, 0, 3000);
    cu.advance(1000000);
    rgm_events_poll(events);
    check_row(streams, RGM_INTERVAL_STREAM_CHANGED, -1, 0);
    check_row(devices, RGM_INTERVAL_STREAM_CHANGED, -1, 0);
    check_row(there, RGM_INTERVAL_MEASURED, 4000, 500);
    check_row(here, RGM_INTERVAL_MEASURED, 3000, 500);
    CHECK_EQ_I64(row_of(there)->device, 1);
    CHECK_EQ_I64(row_of(here)->device, 0);
    CHECK(row_of(there)->timeline != row_of(here)->timeline);
    stop(events);
}

TEST(a_stream_of_another_context_is_measured_in_its_own) {
    void *other = NULL, *stream = NULL, *popped = NULL;
    REQUIRE(load_fake("cuda"));
    use_device(0);
    CHECK_OK(cu.create_context(&other, 0, 1));
    CHECK_OK(cu.create_stream(&stream, 1));
    CHECK_OK(cu.pop(&popped));
    rgm_events *events = start(0, 0);
    uint64_t number = scope(events, handle(stream), 6000);
    cu.advance(1000000);
    rgm_events_poll(events);
    check_row(number, RGM_INTERVAL_MEASURED, 6000, 500);
    CHECK_EQ_I64(row_of(number)->device, 1);
    stop(events);
}
