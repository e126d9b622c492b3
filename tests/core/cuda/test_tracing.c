// SPDX-License-Identifier: Apache-2.0
// Tracing from its start: kernels and their scopes, graphs, what is refused, records that are odd or lost.
#include "cuda/library/driver.h"
#include "cuda/trace/cupti_records.h"
#include "traced.h"

// --- a kernel and its scope -------------------------------------------------------------------------------

static void kernels_belong_to_scopes(long long version, bool own_clock) {
    traced t;
    rgm_tracing_options options = few_flushes();
    do_fake_cupti_set("version", version);
    do_fake_cupti_set("clock_ahead_ns", 123456789000);
    begin(&t, &options);
    CHECK(stats_now().own_clock == own_clock);
    CHECK_EQ_I64(stats_now().state, RGM_TRACING_RUNNING);
    int64_t before = rgm_clock_monotonic_ns();
    open_scope scope = step_begin(&t);
    uint32_t correlation = do_fake_cupti_launch("gemm", 7, 5000, 20000);
    step_end(&t, scope);
    (void)do_fake_cupti_launch("outside", 9, 5000, 30000);
    rgm_run *run = finish(&t);
    CHECK_EQ_U64(count_kind(run, RGM_KIND_KERNEL), 2);
    CHECK_EQ_U64(count_kind(run, RGM_KIND_RUNTIME), 2); // the driver's call inside is not one of its own
    for (size_t i = 0; i < run->spans.rows; i++) {
        if (run->spans.kind[i] != RGM_KIND_KERNEL) continue;
        int32_t launch = run->spans.launch[i];
        REQUIRE(launch >= 0);
        CHECK_STR_EQ(name_of(run, (size_t)launch), "cudaLaunchKernel");
        bool first = strcmp(name_of(run, i), "gemm") == 0;
        CHECK((run->spans.parent[launch] >= 0) == first);
        if (!first) continue;
        CHECK_EQ_I64(run->spans.correlation[i], correlation);
        CHECK_EQ_I64(run->lanes.thread[run->spans.lane[i]], 7);
        // The clocks are bracketed, so 100 us are far more than it takes.
        CHECK_NEAR((double)run->spans.duration_ns[i], 20000, 2000);
        CHECK(run->spans.start_ns[i] > before - 100000 && run->spans.start_ns[i] < before + 1000000000);
        CHECK(run->spans.start_ns[i] >= run->spans.start_ns[launch]);
    }
    CHECK_EQ_U64(run->launches.rows, 2);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_ORPHAN_KERNELS), 0);
    CHECK_OK(rgm_run_check(run, NULL));
    rgm_run_free(run);
    CHECK_EQ_I64(stats_now().state, RGM_TRACING_ATTACHED);
    CHECK_EQ_U64(stats_now().buffers_out, 0);
    CHECK_EQ_I64(do_fake_cupti_get("kinds"), 0);
    CHECK_EQ_I64(do_fake_cupti_get("callbacks"), 0);
    CHECK_EQ_I64(do_fake_cupti_get("subscribed"), 0);
}

TEST(kernels_of_13_1) { kernels_belong_to_scopes(130100, true); }
TEST(kernels_of_13_0) { kernels_belong_to_scopes(130000, false); }
TEST(kernels_of_12_8) { kernels_belong_to_scopes(26, false); }

TEST(what_stands_beside_kernels) {
    traced t;
    rgm_tracing_options options = few_flushes();
    do_fake_cupti_set("version", 130100);
    do_fake_cupti_set("clock_ahead_ns", 0);
    do_fake_cupti_set("flush_records", 0);
    begin(&t, &options);
    do_fake_cupti_range("epoch 1", 1, 0);
    open_scope scope = step_begin(&t);
    (void)do_fake_cupti_launch("k", 7, 0, 1000);
    step_end(&t, scope);
    do_fake_cupti_overhead(0x10000, 5000);
    do_fake_cupti_range("epoch 1", 1, 1);
    do_fake_cupti_range("epoch 2", 2, 0);
    rgm_run *run = finish(&t);
    do_fake_cupti_set("flush_records", 1);
    CHECK_EQ_U64(count_kind(run, RGM_KIND_ANNOTATION), 2);
    CHECK_EQ_U64(count_kind(run, RGM_KIND_OVERHEAD), 1);
    uint32_t thread = 0;
    for (size_t i = 0; i < run->spans.rows; i++)
        if (run->spans.kind[i] == RGM_KIND_SCOPE) thread = run->spans.lane[i];
    for (size_t i = 0; i < run->spans.rows; i++) {
        if (run->spans.kind[i] != RGM_KIND_ANNOTATION && run->spans.kind[i] != RGM_KIND_OVERHEAD) continue;
        CHECK_EQ_U64(run->spans.lane[i], thread);
        bool open = run->spans.flags[i] & RGM_FLAG_OPEN;
        CHECK(open == (strcmp(name_of(run, i), "epoch 2") == 0));
    }
    rgm_run_free(run);
}

// --- graphs -----------------------------------------------------------------------------------------------

static rgm_run *replay(bool by_node) {
    traced t;
    rgm_tracing_options options = few_flushes();
    options.graph_nodes = by_node;
    begin(&t, &options);
    open_scope capture = step_begin(&t);
    uint64_t made = do_fake_cupti_capture("node_kernel", 1);
    step_end(&t, capture);
    uint64_t nodes[2] = {do_fake_cupti_clone(made, 2), do_fake_cupti_clone(555, 2)}; // 555: made before
    for (int i = 0; i < 3; i++) {
        open_scope scope = step_begin(&t);
        (void)do_fake_cupti_graph_launch(4, nodes, 2);
        step_end(&t, scope);
    }
    return finish(&t);
}

TEST(graphs_as_a_whole) {
    rgm_run *run = replay(false);
    CHECK_EQ_U64(count_kind(run, RGM_KIND_KERNEL), 3);
    CHECK_EQ_U64(run->launches.rows, 3);
    CHECK_EQ_I64(run->launches.graph[0], 4);
    CHECK_EQ_I64(run->launches.graph_node[0], -1);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_ORPHAN_KERNELS), 0);
    rgm_run_free(run);
}

// The program has used CUDA before, and may have made graphs.
TEST(a_graph_that_is_older_than_tracing_does_not_end_the_program) {
    traced t;
    const rgm_driver *driver;
    rgm_tracing_options options = few_flushes();
    uint64_t nodes[2] = {555, 556};
    CHECK_OK(rgm_driver_start(&driver, NULL));
    begin(&t, &options);
    CHECK(stats_now().graph_nodes);
    do_fake_cupti_set("older_graph", 4);
    (void)do_fake_cupti_graph_launch(4, nodes, 2);
    rgm_run *run = finish(&t);
    do_fake_cupti_set("older_graph", 0);
    CHECK_EQ_U64(count_kind(run, RGM_KIND_KERNEL), 2);
    rgm_run_free(run);
}

// A graph that is made executable three times, of which the first is taken down: nodes of the others, and
// those that the graph itself holds for the third, stay known.
TEST(an_executable_graph_takes_down_its_own_nodes_alone) {
    traced t;
    rgm_tracing_options options = few_flushes();
    options.graph_nodes = 1;
    begin(&t, &options);
    open_scope capture = step_begin(&t);
    uint64_t made = do_fake_cupti_capture("node_kernel", 1), nodes[3] = {made, made, made};
    step_end(&t, capture);
    uint64_t first = do_fake_cupti_instantiate(1, &nodes[0], 1);
    (void)do_fake_cupti_instantiate(1, &nodes[1], 1);
    (void)do_fake_cupti_graph_launch(4, &nodes[0], 1);
    do_fake_cupti_exec_destroy(1, first);
    for (int i = 0; i < 3; i++) rgm_tracing_flush(t.sink.arg, wait_ns); // its last buffer comes back
    (void)do_fake_cupti_graph_launch(5, &nodes[0], 1); // no program can do that: it shows what is forgotten
    (void)do_fake_cupti_graph_launch(6, &nodes[1], 1);
    (void)do_fake_cupti_instantiate(1, &nodes[2], 1);
    (void)do_fake_cupti_graph_launch(7, &nodes[2], 1);
    rgm_run *run = finish(&t);
    REQUIRE(run->launches.rows == 4);
    for (size_t i = 0; i < run->launches.rows; i++)
        CHECK((run->launches.capture[i] >= 0) == (run->launches.graph[i] != 5));
    rgm_run_free(run);
}

TEST(graphs_by_node) {
    rgm_run *run = replay(true);
    CHECK_EQ_U64(count_kind(run, RGM_KIND_KERNEL), 6);
    int attributed = 0;
    for (size_t i = 0; i < run->launches.rows; i++) {
        int32_t launch = run->spans.launch[run->launches.span[i]];
        REQUIRE(launch >= 0);
        CHECK_STR_EQ(name_of(run, (size_t)launch), "cudaGraphLaunch");
        CHECK(run->launches.graph_node[i] > 0);
        if (run->launches.capture[i] < 0) continue;
        attributed++;
        // The first scope is that of the capture.
        int64_t scope = run->spans.parent[run->launches.capture[i]];
        REQUIRE(scope >= 0);
        CHECK_EQ_I64(run->spans.kind[scope], RGM_KIND_SCOPE);
        for (size_t k = 0; k < (size_t)scope; k++) CHECK(run->spans.kind[k] != RGM_KIND_SCOPE);
    }
    CHECK_EQ_I64(attributed, 3);
    rgm_run_free(run);
}

// The map finds no memory for the first node, and room for the one after it.
TEST(a_node_that_finds_no_room_is_told) {
    traced t;
    rgm_tracing_options options = few_flushes();
    options.graph_nodes = 1;
    begin(&t, &options);
    open_scope capture = step_begin(&t);
    rgm_memory_fail_next_here();
    uint64_t lost = do_fake_cupti_capture("lost_kernel", 1);
    uint64_t nodes[2] = {lost, do_fake_cupti_capture("node_kernel", 1)};
    step_end(&t, capture);
    (void)do_fake_cupti_graph_launch(4, nodes, 2);
    rgm_run *run = finish(&t);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_UNMAPPED_NODES), 1);
    REQUIRE(run->launches.rows == 2);
    for (size_t i = 0; i < 2; i++)
        CHECK((run->launches.capture[i] >= 0) == (run->launches.graph_node[i] == (int64_t)nodes[1]));
    rgm_run_free(run);
}

// --- trouble ----------------------------------------------------------------------------------------------

static void refused(const char *number, long long value, const char *text, bool conflict) {
    traced t;
    rgm_error err = RGM_ERROR_NONE;
    rgm_run *run = NULL;
    rgm_tracing_options options = few_flushes();
    open_session(&t);
    do_fake_cupti_set(number, value);
    CHECK_EQ_I64(rgm_tracing_start(t.sink, &options, &err), RGM_UNAVAILABLE);
    if (!strstr(err.message, text)) HARNESS_FAIL("no \"%s\" in \"%s\"", text, err.message);
    do_fake_cupti_set(number, 0);
    CHECK_EQ_I64(do_fake_cupti_get("kinds"), 0);
    CHECK_EQ_I64(do_fake_cupti_get("subscribed"), 0);
    if (conflict) CHECK_EQ_I64(do_fake_cupti_get("clock"), 0); // nothing of the other tool was changed
    CHECK_OK(rgm_session_snapshot(t.session, &run, NULL));
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_TRACING_CONFLICT), conflict);
    rgm_run_free(run);
    rgm_session_free(t.session);
    CHECK(!rgm_tracing_owned_by(t.sink.arg));
}

TEST(another_tool_has_it) { refused("taken", 1, "torch.profiler", true); }
TEST(no_privileges) { refused("refuse_ActivityEnable", 35, "administrator", false); }
TEST(no_buffers) { refused("refuse_ActivityRegisterCallbacks", 999, "buffers are refused", false); }
TEST(no_callbacks) { refused("refuse_EnableCallback", 999, "calls cannot be followed", false); }

TEST(one_at_a_time) {
    traced t;
    rgm_session *other = NULL;
    rgm_error err = RGM_ERROR_NONE;
    rgm_tracing_options options = few_flushes();
    begin(&t, &options);
    CHECK_OK(rgm_session_new(&other, &RGM_SESSION_DEFAULTS, NULL, NULL));
    rgm_device_sink sink = rgm_session_sink(other);
    CHECK_EQ_I64(rgm_tracing_start(sink, &options, &err), RGM_UNAVAILABLE);
    CHECK(strstr(err.message, "another profiler") != NULL);
    rgm_tracing_stop(sink.arg, wait_ns); // not its own
    CHECK_EQ_I64(stats_now().state, RGM_TRACING_RUNNING);
    rgm_run_free(finish(&t));
    // Now the other one can.
    CHECK_OK(rgm_tracing_start(sink, &options, NULL));
    rgm_tracing_stop(sink.arg, wait_ns);
    rgm_tracing_stop(sink.arg, wait_ns);
    rgm_session_free(other);
}

TEST(records_without_an_end_and_drops) {
    traced t;
    rgm_tracing_options options = few_flushes();
    begin(&t, &options);
    do_fake_cupti_set("zero_every", 5);
    do_fake_cupti_set("drop", 17);
    for (int i = 0; i < 100; i++) (void)do_fake_cupti_launch("k", 7, 0, 10);
    do_fake_cupti_set("zero_every", 0);
    rgm_run *run = finish(&t);
    CHECK_EQ_U64(count_kind(run, RGM_KIND_KERNEL), 80);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_INVALID_ACTIVITY), 20);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_DROPPED_ACTIVITY), 17);
    rgm_run_free(run);
}

// Small buffers, several of them out at a time, given back in reverse order; every record is there or
// counted.
static void many(long long version, size_t buffers, int64_t *kernels, int64_t *lost) {
    traced t;
    rgm_tracing_options options = few_flushes();
    options.buffer_bytes = 4096;
    options.buffers = (int64_t)buffers;
    do_fake_cupti_set("version", version);
    do_fake_cupti_set("backwards", 1);
    do_fake_cupti_set("flush_records", 0); // which would be lost and counted too
    do_fake_cupti_set("eager", 0);
    begin(&t, &options);
    for (int i = 0; i < 2000; i++) (void)do_fake_cupti_launch("k", 7, 0, 10);
    rgm_run *run = finish(&t);
    do_fake_cupti_set("backwards", 0);
    do_fake_cupti_set("eager", 1);
    do_fake_cupti_set("flush_records", 1);
    do_fake_cupti_set("version", 130100);
    *kernels = (int64_t)count_kind(run, RGM_KIND_KERNEL);
    *lost = anomaly_count(run, RGM_ANOMALY_DROPPED_ACTIVITY);
    rgm_run_free(run);
}

TEST(out_of_order) {
    int64_t kernels, lost;
    many(130100, 64, &kernels, &lost);
    CHECK_EQ_I64(kernels + lost, 2000);
    CHECK(kernels >= 1000);
}
TEST(buffers_are_declined_where_that_is_allowed) {
    int64_t kernels, lost;
    many(130100, 2, &kernels, &lost);
    CHECK_EQ_I64(kernels + lost, 2000);
    CHECK(lost > 0);
}
TEST(scratch_where_it_is_not) {
    int64_t kernels, lost;
    many(24, 2, &kernels, &lost);
    CHECK_EQ_I64(kernels + lost, 2000);
    CHECK(lost > 0);
}

// A record that never comes ends the wait by silence, though CUPTI answers each flush with a record of its
// own.
TEST(records_of_flushes_are_no_news) {
    traced t;
    rgm_tracing_options options = few_flushes();
    begin(&t, &options);
    (void)do_fake_cupti_launch("k", 7, 0, 10);
    rgm_tracing_flush(t.sink.arg, wait_ns);
    do_fake_cupti_without_record();
    int64_t flushes = do_fake_cupti_get("flushes");
    rgm_tracing_flush(t.sink.arg, INT64_C(3600) * 1000000000); // hangs where silence never comes
    CHECK(do_fake_cupti_get("flushes") > flushes + 1);
    rgm_tracing_stats stats = stats_now();
    CHECK_EQ_I64((int64_t)stats.kinds[RGM_CUPTI_KIND_CONCURRENT_KERNEL].records, 1);
    CHECK((int64_t)stats.kinds[RGM_CUPTI_KIND_OVERHEAD].records > 1);
    CHECK_EQ_I64((int64_t)stats.invalid, 0);
    rgm_run_free(finish(&t));
}

// A program that captures for long launches nothing: that no records come is no sign of another tool.
TEST(a_long_capture_is_no_conflict) {
    traced t;
    rgm_tracing_options options = RGM_TRACING_DEFAULTS;
    options.flush_interval_ns = 1000000;
    begin(&t, &options);
    int64_t flushes = do_fake_cupti_get("flushes");
    while (do_fake_cupti_get("flushes") < flushes + 20) {
        (void)do_fake_cupti_capture("captured", 5);
        usleep(200);
    }
    CHECK_EQ_I64((int64_t)stats_now().calls, 0);
    CHECK_EQ_I64((int64_t)stats_now().conflict[0], 0);
    rgm_run *run = finish(&t);
    CHECK_EQ_I64(anomaly_count(run, RGM_ANOMALY_TRACING_CONFLICT), 0);
    rgm_run_free(run);
}
