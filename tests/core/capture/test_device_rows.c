// SPDX-License-Identifier: Apache-2.0
// Device rows on their way through a session: scopes, launches, kernels, intervals, values; in memory and
// through a journal.
#include <string.h>

#include "base/thread.h"
#include "capture/device.h"
#include "recording.h"

enum { CORRELATION = 77, STREAM = 7 };
static const int64_t late_ns = 250; // the device passes the first event this long after it was recorded

// One scope with a launch and its kernel, then one with an interval that the device reaches late.
static void record_some(rgm_session *s, int64_t *kernel_ns) {
    rgm_device_sink sink = rgm_session_sink(s);
    rgm_site *site = NULL;
    CHECK_OK(rgm_session_site(s, "step", 4, RGM_DEVICE_GPU, RGM_ROLE_NONE, &site, NULL));
    rgm_recorder *r = rgm_recorder_get(s, rgm_session_id(s));
    uint32_t seq;
    rgm_frame *frame = rgm_scope_begin(r, &sink, site->id, 0, &seq);
    rgm_clock_fake_advance(100);
    uint64_t begin = rgm_clock_ticks();
    rgm_clock_fake_advance(20);
    sink.call(sink.arg, begin, rgm_clock_ticks(), sink.intern(sink.arg, "cuLaunchKernel", 14), CORRELATION);
    *kernel_ns = rgm_clock_monotonic_ns() + 40;
    rgm_clock_fake_advance(1000);
    rgm_scope_end(r, frame, seq, rgm_clock_ticks(), 0);
    rgm_recorder_interval(r, 5);
    rgm_activity_row kernel = {
        .start_ns = *kernel_ns,
        .duration_ns = 300,
        .stream = STREAM,
        .bytes = -1,
        .graph_node = -1,
        .graph = UINT32_MAX,
        .name = sink.intern(sink.arg, "gemm<hostile>", 13),
        .correlation = CORRELATION,
        .grid = {2, 3, 4},
        .block = {32, 1, 1},
        .registers = 40,
        .shared_bytes = 1024,
        .occupancy = 0.5f,
        .device = 1,
        .kind = RGM_KIND_KERNEL,
    };
    sink.activities(sink.arg, &kernel, 1);
    rgm_counter_row value = {*kernel_ns, 42.5, sink.intern(sink.arg, "power [W]", 9), 1, 0};
    sink.counters(sink.arg, &value, 1);
    rgm_clock_fake_advance(1000);

    begin = rgm_clock_ticks();
    frame = rgm_scope_begin(r, &sink, site->id, 0, &seq);
    rgm_clock_fake_advance(400);
    rgm_scope_end(r, frame, seq, rgm_clock_ticks(), 0);
    rgm_recorder_interval(r, 6);
    // The device's clock starts elsewhere: 900,000 ns away from the host's. The end event passes at once.
    int64_t device_ns = (int64_t)begin + 900000;
    rgm_interval_row interval = {
        .number = 6,
        .begin_ticks = begin,
        .end_ticks = rgm_clock_ticks(),
        .begin_ns = device_ns + late_ns,
        .duration_ns = 400 - late_ns,
        .stream = STREAM,
        .device = 1,
        .state = RGM_INTERVAL_MEASURED,
    };
    sink.interval(sink.arg, &interval);
}

static void check_run(rgm_run *run, int64_t kernel_ns) {
    rgm_spans *spans = &run->spans;
    CHECK_EQ_U64(spans->rows, 4);
    // Sorted by start: scope, call, kernel, scope.
    CHECK_EQ_I64(spans->kind[0], RGM_KIND_SCOPE);
    CHECK_EQ_I64(spans->kind[1], RGM_KIND_RUNTIME);
    CHECK_EQ_I64(spans->kind[2], RGM_KIND_KERNEL);
    CHECK_EQ_I64(spans->kind[3], RGM_KIND_SCOPE);
    CHECK_EQ_I64(spans->parent[1], 0);
    CHECK_EQ_I64(spans->launch[2], 1);
    CHECK_EQ_I64(spans->duration_ns[1], 20);
    CHECK_EQ_I64(spans->start_ns[2], kernel_ns);
    CHECK(strcmp(rgm_strings_view(&run->strings, spans->name[2]).data, "gemm<hostile>") == 0);
    CHECK(strcmp(rgm_strings_view(&run->strings, spans->name[1]).data, "cuLaunchKernel") == 0);
    uint32_t lane = spans->lane[2];
    CHECK_EQ_I64(run->lanes.device[lane], 1);
    CHECK_EQ_I64(run->lanes.thread[lane], STREAM);
    CHECK_EQ_U64(run->launches.rows, 1);
    CHECK_EQ_I64(run->launches.span[0], 2);
    CHECK_EQ_I64(run->launches.grid_z[0], 4);
    CHECK(fabs(run->launches.occupancy[0] - 0.5) < 1e-9);
    CHECK_EQ_U64(run->counters.rows, 1);
    CHECK_EQ_I64(run->counters.device[0], 1);
    CHECK(run->counters.value[0] == 42.5);
    CHECK_EQ_U64(run->intervals.rows, 2);
    CHECK_EQ_I64(run->intervals.span[0], 0);
    CHECK_EQ_I64(run->intervals.state[0], RGM_INTERVAL_PENDING);
    CHECK_EQ_I64(run->intervals.duration_ns[0], -1);
    CHECK_EQ_I64(run->intervals.span[1], 3);
    CHECK_EQ_I64(run->intervals.duration_ns[1], 400 - late_ns);
    CHECK_EQ_I64(run->intervals.queue_ns[1], late_ns);
    CHECK_EQ_I64(run->intervals.start_ns[1], spans->start_ns[3] + late_ns);
    CHECK_OK(rgm_run_check(run, NULL));
}

TEST(rows_in_memory) {
    rgm_clock_fake(1000000);
    rgm_session *s = NULL;
    rgm_run *run = NULL;
    int64_t kernel_ns;
    CHECK_OK(rgm_session_new(&s, &RGM_SESSION_DEFAULTS, NULL, NULL));
    record_some(s, &kernel_ns);
    CHECK_OK(rgm_session_snapshot(s, &run, NULL));
    check_run(run, kernel_ns);
    rgm_run_free(run);
    rgm_session_stats stats;
    rgm_session_get_stats(s, &stats);
    CHECK_EQ_U64(stats.rows[RGM_LOG_ACTIVITIES], 1);
    CHECK_EQ_U64(stats.rows[RGM_LOG_INTERVALS], 1);
    rgm_session_reset(s);
    CHECK_OK(rgm_session_snapshot(s, &run, NULL));
    CHECK_EQ_U64(run->spans.rows, 0);
    CHECK_EQ_U64(run->intervals.rows, 0);
    rgm_run_free(run);
    rgm_session_free(s);
    rgm_clock_fake_stop();
}

TEST(rows_in_a_journal) {
    rgm_clock_fake(1000000);
    rgm_session *s = NULL;
    rgm_run *run = NULL;
    int64_t kernel_ns;
    const char *path = temp_path("device.rgm");
    CHECK_OK(rgm_session_new(&s, &RGM_SESSION_DEFAULTS, path, NULL));
    record_some(s, &kernel_ns);
    CHECK_OK(rgm_session_flush(s, NULL));
    CHECK_OK(rgm_session_snapshot(s, &run, NULL));
    check_run(run, kernel_ns);
    rgm_run_free(run);
    rgm_session_stop(s);
    CHECK_OK(rgm_run_load(path, RGM_LOAD_STRICT, &run, NULL));
    check_run(run, kernel_ns);
    CHECK(run->complete);
    rgm_run_free(run);
    rgm_session_free(s);
    unlink(path);
    rgm_clock_fake_stop();
}

TEST(a_full_budget_counts) {
    rgm_session_options options = RGM_SESSION_DEFAULTS;
    options.device_budget_bytes = 10 * (int64_t)sizeof(rgm_activity_row);
    rgm_session *s = NULL;
    rgm_run *run = NULL;
    CHECK_OK(rgm_session_new(&s, &options, NULL, NULL));
    rgm_device_sink sink = rgm_session_sink(s);
    rgm_activity_row rows[4] = {0};
    for (int i = 0; i < 4; i++) rows[i] = (rgm_activity_row){.kind = RGM_KIND_MEMSET, .graph = UINT32_MAX};
    for (int i = 0; i < 4; i++) sink.activities(sink.arg, rows, 4);
    CHECK_OK(rgm_session_snapshot(s, &run, NULL));
    CHECK_EQ_U64(run->spans.rows, 8);
    bool counted = false;
    for (size_t i = 0; i < run->anomalies.rows; i++)
        if (run->anomalies.code[i] == RGM_ANOMALY_DROPPED_DEVICE_ROWS) counted = run->anomalies.count[i] == 8;
    CHECK(counted);
    rgm_run_free(run);
    rgm_session_free(s);
}

// A wait, a range on the host, an external id, and a graph node whose call is in the recording, through a
// file.
TEST(what_stands_beside_kernels) {
    rgm_clock_fake(1000000);
    rgm_session *s = NULL;
    rgm_run *run = NULL;
    const char *path = temp_path("beside.rgm");
    CHECK_OK(rgm_session_new(&s, &RGM_SESSION_DEFAULTS, path, NULL));
    rgm_device_sink sink = rgm_session_sink(s);
    uint32_t call = sink.intern(sink.arg, "cudaLaunchKernel", 16), text = sink.intern(sink.arg, "text", 4);
    for (uint32_t i = 1; i <= 2; i++) { // 1 made the node, 2 launches the graph
        uint64_t begin = rgm_clock_ticks();
        rgm_clock_fake_advance(10);
        sink.call(sink.arg, begin, rgm_clock_ticks(), call, i);
    }
    int64_t now = rgm_clock_monotonic_ns();
    rgm_activity_row rows[4];
    for (int i = 0; i < 4; i++)
        rows[i] =
            (rgm_activity_row){.start_ns = now + i, .duration_ns = 5, .name = text, .graph = UINT32_MAX};
    rows[0].kind = RGM_KIND_SYNC;
    rows[0].stream = 9;
    rows[0].event = 12, rows[0].record_correlation = 1, rows[0].waits_on_stream = 7;
    rows[1].kind = RGM_KIND_ANNOTATION;
    rows[1].device = -1, rows[1].stream = rgm_thread_native_id();
    rows[1].flags = 0xFF; // only one bit is meant for the spans
    rows[2].kind = RGM_KIND_KERNEL;
    rows[2].correlation = 2, rows[2].capture = 1, rows[2].graph = 4, rows[2].graph_node = 77;
    rows[2].external = 900;
    rows[3].kind = RGM_KIND_KERNEL;
    rows[3].correlation = 2, rows[3].capture = 99; // by a call that is not in the recording
    sink.activities(sink.arg, rows, 4);
    rgm_session_stop(s);
    rgm_session_free(s);
    CHECK_OK(rgm_run_load(path, RGM_LOAD_STRICT, &run, NULL));
    REQUIRE(run && run->spans.rows == 6 && run->syncs.rows == 1 && run->launches.rows == 2);
    CHECK_EQ_I64(run->spans.kind[run->syncs.span[0]], RGM_KIND_SYNC);
    CHECK_EQ_I64(run->syncs.stream[0], 9);
    CHECK_EQ_I64(run->syncs.event[0], 12);
    CHECK_EQ_I64(run->syncs.record_correlation[0], 1);
    CHECK_EQ_I64(run->syncs.waits_on_stream[0], 7);
    for (size_t i = 0; i < run->spans.rows; i++) {
        bool range = run->spans.kind[i] == RGM_KIND_ANNOTATION;
        if (range) CHECK_EQ_U64(run->spans.lane[i], run->spans.lane[0]); // that of the calls
        if (range) CHECK_EQ_U64(run->spans.flags[i], RGM_FLAG_OPEN);
    }
    CHECK_EQ_I64(run->spans.correlation[run->launches.capture[0]], 1);
    CHECK_EQ_I64(run->spans.external_id[run->launches.span[0]], 900);
    CHECK_EQ_I64(run->spans.external_id[run->launches.span[1]], -1);
    CHECK_EQ_I64(run->launches.capture[1], -1);
    CHECK_OK(rgm_run_check(run, NULL));
    rgm_run_free(run);
    unlink(path);
    rgm_clock_fake_stop();
}
