// SPDX-License-Identifier: Apache-2.0
// Counters of a recording, as `counters=` asks for them: by a function that returns, with threads that go on,
// into the tables of a run. The address sanitizer runs this with stack-use-after-return.
#include "capture/device.h"
#include "cuda/counters/counter_sampling.h"
#include "cuda/counters/range_profiler.h"
#include "recording.h"

#include "counting.h"

// Starts as a binding does: sink, options and error are locals of a function that returns.
__attribute__((noinline)) static rgm_counter_sampling *start_samples(rgm_session *session) {
    rgm_counter_sampling *sampling = NULL;
    rgm_error err;
    rgm_device_sink sink = rgm_session_sink(session);
    rgm_sampling_options options = {
        .feed = RGM_COUNTER_FEED_PM, .set = RGM_COUNTER_SET_PM, .interval_ns = 1000000};
    CHECK_OK(rgm_counter_sampling_start(&sampling, &options, sink, &err));
    return sampling;
}

__attribute__((noinline)) static rgm_range_profiler *start_ranges(rgm_session *session) {
    rgm_range_profiler *ranges = NULL;
    rgm_error err;
    rgm_range_options options = rgm_range_defaults();
    CHECK_OK(rgm_range_profiler_start(&ranges, &options, rgm_session_sink(session), &err));
    return ranges;
}

__attribute__((noinline)) static int overwrite_the_stack(void) {
    volatile char room[8192];
    for (size_t i = 0; i < sizeof room; i++) room[i] = 0x5a;
    return room[sizeof room - 1];
}

static rgm_run *run_of(rgm_session *session) {
    rgm_run *run = NULL;
    rgm_session_stop(session);
    CHECK_OK(rgm_session_snapshot(session, &run, NULL));
    rgm_session_free(session);
    return run;
}

static rgm_session *session_new(void) {
    rgm_session *session = NULL;
    rgm_clock_init();
    CHECK_OK(rgm_session_new(&session, &RGM_SESSION_DEFAULTS, NULL, NULL));
    return session;
}

TEST(samples_of_a_recording_become_rows_of_its_run) {
    fake_library fake = counters_open();
    rgm_session *session = session_new();
    REQUIRE(session);
    rgm_counter_sampling *sampling = start_samples(session);
    REQUIRE(sampling);
    CHECK(overwrite_the_stack());
    rgm_sampling_report report;
    rgm_counter_sampling_stop(sampling, &report); // with what the device had sampled until then
    rgm_run *run = run_of(session);
    REQUIRE(run);
    CHECK_EQ_I64(report.pm.samples, 39);
    CHECK_EQ_U64(run->counters.rows, 39 * 14);
    for (size_t i = 0; i < run->counters.rows; i++) {
        CHECK(text_of(run, run->counters.series[i])[0] != '\0');
        CHECK_EQ_I64(run->counters.device[i], 0);
    }
    rgm_run_free(run);
    CHECK_EQ_I64(fake.get("misuse"), 0);
    counters_close(fake);
}

TEST(ranges_of_a_recording_are_spans_with_their_counters) {
    fake_library fake = counters_open();
    rgm_session *session = session_new();
    REQUIRE(session);
    rgm_range_profiler *ranges = start_ranges(session);
    REQUIRE(ranges);
    CHECK(overwrite_the_stack());
    rgm_device_sink sink = rgm_session_sink(session);
    uint32_t name = sink.intern(sink.arg, "step", 4);
    for (int i = 0; i < 3; i++) {
        rgm_range_profiler_push(ranges, name);
        rgm_range_profiler_pop(ranges);
    }
    rgm_range_counts counts;
    rgm_range_profiler_stop(ranges, &counts);
    rgm_run *run = run_of(session);
    REQUIRE(run);
    CHECK_EQ_I64(counts.ranges, 3);
    CHECK_EQ_U64(run->counters.rows, 15);
    size_t spans = 0;
    for (size_t i = 0; i < run->spans.rows; i++) {
        if (run->spans.kind[i] != RGM_KIND_COUNTER_RANGE) continue;
        CHECK_STR_EQ(text_of(run, run->spans.name[i]), "step");
        spans++;
    }
    CHECK_EQ_U64(spans, 3);
    for (size_t i = 0; i < run->counters.rows; i++) CHECK(run->counters.span[i] >= 0);
    rgm_run_free(run);
    CHECK_EQ_I64(fake.get("misuse"), 0);
    counters_close(fake);
}
