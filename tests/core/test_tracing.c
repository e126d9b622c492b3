// SPDX-License-Identifier: Apache-2.0
// Tracing from start to stop with the doubles of CUPTI and the CUDA driver, loaded as the real ones are. What
// the double forbids (flushing from a callback, a call in a child) it fails loudly for.
#include <dlfcn.h>
#include <sys/wait.h>

#include "../fakes/cuda.h"
#include "../fakes/cupti.h"
#include "capture/device.h"
#include "cuda/trace/cupti.h"
#include "cuda/trace/cupti_records.h"
#include "cuda/trace/tracing.h"
#include "recording.h"

#define EACH_FUNCTION(X)                                                                                     \
    X(fake_cupti_set)                                                                                        \
    X(fake_cupti_get)                                                                                        \
    X(fake_cupti_launch)                                                                                     \
    X(fake_cupti_without_record)                                                                             \
    X(fake_cupti_capture)                                                                                    \
    X(fake_cupti_clone)                                                                                      \
    X(fake_cupti_instantiate)                                                                                \
    X(fake_cupti_exec_destroy)                                                                               \
    X(fake_cupti_graph_launch)                                                                               \
    X(fake_cupti_range)                                                                                      \
    X(fake_cupti_overhead)                                                                                   \
    X(fake_cupti_take_over)                                                                                  \
    X(fake_cupti_foreign_buffer)                                                                             \
    X(fake_cupti_restart)

#define DECLARE(name) static __typeof__(&name) do_##name;
EACH_FUNCTION(DECLARE)
static const int64_t wait_ns = INT64_C(5000000000);

static bool find_doubles(void) {
    static void *handle;
    if (handle) return true;
    setenv("REGIMETER_LIBCUDA", FAKES "/libfake_cuda.so", 1);
    setenv("REGIMETER_LIBCUPTI", FAKES "/libfake_cupti.so", 1);
    handle = dlopen(FAKES "/libfake_cupti.so", RTLD_NOW);
    if (!handle) return false;
    void *address;
#define FIND(name)                                                                                           \
    address = dlsym(handle, #name);                                                                          \
    memcpy(&do_##name, &address, sizeof address);
    EACH_FUNCTION(FIND)
    return true;
}

__attribute__((constructor)) static void load_doubles(void) {
    if (!find_doubles()) abort();
}

typedef struct {
    rgm_session *session;
    rgm_device_sink sink;
    rgm_site *site;
} traced;

static rgm_tracing_options few_flushes(void) {
    rgm_tracing_options options = RGM_TRACING_DEFAULTS;
    options.flush_interval_ns = INT64_C(3600) * 1000000000; // only when asked to
    return options;
}

static void open_session(traced *t) {
    *t = (traced){0};
    do_fake_cupti_restart();
    rgm_cupti_forget(); // the version may have changed
    rgm_clock_init();
    CHECK_OK(rgm_session_new(&t->session, &RGM_SESSION_DEFAULTS, NULL, NULL));
    t->sink = rgm_session_sink(t->session);
    CHECK_OK(rgm_session_site(t->session, "step", 4, RGM_DEVICE_GPU, RGM_ROLE_NONE, &t->site, NULL));
}

static void begin(traced *t, const rgm_tracing_options *options) {
    rgm_error err;
    rgm_error_clear(&err);
    open_session(t);
    rgm_status status = rgm_tracing_start(t->sink, options, &err);
    if (status != RGM_OK) HARNESS_FAIL("tracing did not start: %s", err.message);
}

static rgm_run *finish(traced *t) {
    rgm_run *run = NULL;
    rgm_tracing_stop(t->sink.arg, wait_ns);
    rgm_session_stop(t->session);
    CHECK_OK(rgm_session_snapshot(t->session, &run, NULL));
    rgm_session_free(t->session);
    CHECK_EQ_I64(do_fake_cupti_get("forbidden"), 0);
    return run;
}

static rgm_tracing_stats stats_now(void) {
    rgm_tracing_stats stats;
    rgm_tracing_get_stats(&stats);
    return stats;
}

static open_scope step_begin(const traced *t) {
    open_scope scope;
    rgm_recorder *r = rgm_recorder_get(t->session, rgm_session_id(t->session));
    scope.frame = rgm_scope_begin(r, t, t->site->id, 0, &scope.seq);
    return scope;
}

static void step_end(const traced *t, open_scope scope) {
    rgm_recorder *r = rgm_recorder_get(t->session, rgm_session_id(t->session));
    rgm_scope_end(r, scope.frame, scope.seq, rgm_clock_ticks(), 0);
}

static size_t count_kind(const rgm_run *run, int kind) {
    size_t count = 0;
    for (size_t i = 0; i < run->spans.rows; i++) count += RGM_CELL(&run->spans, kind, i, 0) == kind;
    return count;
}

static int64_t anomaly(const rgm_run *run, rgm_anomaly code) {
    for (size_t i = 0; i < run->anomalies.rows; i++)
        if (run->anomalies.code[i] == code) return run->anomalies.count[i];
    return 0;
}

static const char *span_name(const rgm_run *run, size_t row) {
    return rgm_strings_view(&run->strings, run->spans.name[row]).data;
}

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
        CHECK_STR_EQ(span_name(run, (size_t)launch), "cudaLaunchKernel");
        bool first = strcmp(span_name(run, i), "gemm") == 0;
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
    CHECK_EQ_I64(anomaly(run, RGM_ANOMALY_ORPHAN_KERNELS), 0);
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
        CHECK(open == (strcmp(span_name(run, i), "epoch 2") == 0));
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
    CHECK_EQ_I64(anomaly(run, RGM_ANOMALY_ORPHAN_KERNELS), 0);
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
        CHECK_STR_EQ(span_name(run, (size_t)launch), "cudaGraphLaunch");
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

// --- trouble ----------------------------------------------------------------------------------------------

static void refused(const char *number, long long value, const char *text, bool conflict) {
    traced t;
    rgm_error err;
    rgm_run *run = NULL;
    rgm_tracing_options options = few_flushes();
    rgm_error_clear(&err);
    open_session(&t);
    do_fake_cupti_set(number, value);
    CHECK_EQ_I64(rgm_tracing_start(t.sink, &options, &err), RGM_UNAVAILABLE);
    if (!strstr(err.message, text)) HARNESS_FAIL("no \"%s\" in \"%s\"", text, err.message);
    do_fake_cupti_set(number, 0);
    CHECK_EQ_I64(do_fake_cupti_get("kinds"), 0);
    CHECK_EQ_I64(do_fake_cupti_get("subscribed"), 0);
    if (conflict) CHECK_EQ_I64(do_fake_cupti_get("clock"), 0); // nothing of the other tool was changed
    CHECK_OK(rgm_session_snapshot(t.session, &run, NULL));
    CHECK_EQ_I64(anomaly(run, RGM_ANOMALY_TRACING_CONFLICT), conflict);
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
    rgm_error err;
    rgm_tracing_options options = few_flushes();
    rgm_error_clear(&err);
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
    CHECK_EQ_I64(anomaly(run, RGM_ANOMALY_INVALID_ACTIVITY), 20);
    CHECK_EQ_I64(anomaly(run, RGM_ANOMALY_DROPPED_ACTIVITY), 17);
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
    *lost = anomaly(run, RGM_ANOMALY_DROPPED_ACTIVITY);
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
    CHECK_EQ_I64(anomaly(run, RGM_ANOMALY_TRACING_CONFLICT), 0);
    rgm_run_free(run);
}

TEST(flush_brings_what_has_ended) {
    traced t;
    rgm_run *run = NULL;
    rgm_tracing_options options = few_flushes();
    begin(&t, &options);
    (void)do_fake_cupti_launch("k", 7, 0, 10);
    rgm_tracing_flush(t.sink.arg, wait_ns);
    CHECK_OK(rgm_session_snapshot(t.session, &run, NULL));
    CHECK_EQ_U64(count_kind(run, RGM_KIND_KERNEL), 1);
    rgm_run_free(run);
    // Work that goes on for an hour is not waited for, and at the end it is counted.
    (void)do_fake_cupti_launch("endless", 7, 0, INT64_C(3600000000000));
    rgm_tracing_flush(t.sink.arg, 1000000);
    rgm_tracing_stop(t.sink.arg, 1000000);
    run = finish(&t);
    CHECK_EQ_U64(count_kind(run, RGM_KIND_KERNEL), 2); // the double writes the end beforehand
    rgm_run_free(run);
}

// A program may be closed while CUPTI hangs: stop comes back, the session can go, nothing is used after.
TEST(takeover_is_noticed) {
    traced t;
    rgm_tracing_options options = RGM_TRACING_DEFAULTS;
    options.flush_interval_ns = 1000000;
    options.buffer_bytes = 4096;
    begin(&t, &options);
    do_fake_cupti_take_over();
    for (int i = 0; i < 4000 && !stats_now().conflict[0]; i++) {
        (void)do_fake_cupti_launch("k", 7, 0, 10);
        usleep(1000);
    }
    CHECK(strstr(stats_now().conflict, "another tool") != NULL);
    rgm_tracing_stop(t.sink.arg, 1000000);
    rgm_run *run = finish(&t);
    CHECK_EQ_I64(anomaly(run, RGM_ANOMALY_TRACING_CONFLICT), 1);
    CHECK_EQ_U64(count_kind(run, RGM_KIND_RUNTIME) > 0, 1);
    rgm_run_free(run);
}

TEST(detaching) {
    traced t;
    rgm_tracing_options options = few_flushes();
    options.detach = 1;
    begin(&t, &options);
    (void)do_fake_cupti_launch("k", 7, 0, 10);
    rgm_tracing_stop(t.sink.arg, 20000000); // no call comes at whose end it could be done
    CHECK_EQ_I64(stats_now().state, RGM_TRACING_ATTACHED);
    rgm_run_free(finish(&t));
    CHECK_EQ_I64(do_fake_cupti_get("finalized"), 0);
}

// --- threads ----------------------------------------------------------------------------------------------

enum { THREADS = 4, LAUNCHES = 400 };
static _Atomic(bool) go_on;

static void *launch_many(void *arg) {
    const traced *t = arg;
    for (int i = 0; i < LAUNCHES; i++) {
        open_scope scope = step_begin(t);
        (void)do_fake_cupti_launch("k", 7, 0, 10);
        step_end(t, scope);
    }
    return NULL;
}

static void *launch_on(void *arg) {
    (void)arg;
    while (atomic_load(&go_on)) {
        (void)do_fake_cupti_launch("k", 7, 0, 10);
        usleep(50); // more would be a backlog that a busy machine does not read before the deadline
    }
    return NULL;
}

TEST(many_threads) {
    traced t;
    pthread_t threads[THREADS];
    rgm_tracing_options options = RGM_TRACING_DEFAULTS;
    options.flush_interval_ns = 2000000;
    begin(&t, &options);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, launch_many, &t);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    rgm_run *run = finish(&t);
    CHECK_EQ_U64(count_kind(run, RGM_KIND_KERNEL), THREADS * LAUNCHES);
    CHECK_EQ_U64(count_kind(run, RGM_KIND_RUNTIME), THREADS * LAUNCHES);
    for (size_t i = 0; i < run->spans.rows; i++)
        if (run->spans.kind[i] == RGM_KIND_KERNEL)
            CHECK(run->spans.launch[i] >= 0 && run->spans.parent[run->spans.launch[i]] >= 0);
    rgm_run_free(run);
}

// The program goes on launching while the profiler is closed, again and again.
TEST(stop_beside_launches) {
    pthread_t threads[2];
    atomic_store(&go_on, true);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, launch_on, NULL);
    for (int i = 0; i < 10; i++) {
        traced t;
        rgm_tracing_options options = few_flushes();
        options.flush_interval_ns = 1000000;
        CHECK_OK(rgm_session_new(&t.session, &RGM_SESSION_DEFAULTS, NULL, NULL));
        t.sink = rgm_session_sink(t.session);
        CHECK_OK(rgm_tracing_start(t.sink, &options, NULL));
        usleep(3000);
        rgm_tracing_stop(t.sink.arg, 5000000);
        CHECK(stats_now().state == RGM_TRACING_ATTACHED);
        rgm_session_free(t.session);
    }
    atomic_store(&go_on, false);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

TEST(a_child_of_a_fork) {
    if (SANITIZED) return;
    traced t;
    rgm_tracing_options options = few_flushes();
    begin(&t, &options);
    pid_t child = fork();
    if (child == 0) {
        rgm_tracing_flush(t.sink.arg, wait_ns);
        rgm_tracing_stop(t.sink.arg, wait_ns);
        bool lost = stats_now().state == RGM_TRACING_LOST;
        bool refuses = rgm_tracing_start(t.sink, &options, NULL) == RGM_UNAVAILABLE;
        _exit(lost && refuses && do_fake_cupti_get("calls_child") == 0 ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK_EQ_I64(status, 0);
    (void)do_fake_cupti_launch("k", 7, 0, 10);
    rgm_run *run = finish(&t);
    CHECK_EQ_U64(count_kind(run, RGM_KIND_KERNEL), 1);
    rgm_run_free(run);
}

// Last, because CUPTI is of no use afterwards.
TEST(zz_stop_while_cupti_hangs) {
    traced t;
    rgm_tracing_options options = few_flushes();
    begin(&t, &options);
    (void)do_fake_cupti_launch("k", 7, 0, 10);
    do_fake_cupti_set("hang", 1);
    rgm_tracing_stop(t.sink.arg, 10000000);
    CHECK_EQ_I64(stats_now().state, RGM_TRACING_STUCK);
    rgm_session_free(t.session);
    CHECK_EQ_I64(rgm_tracing_start(t.sink, &options, NULL), RGM_UNAVAILABLE);
    (void)do_fake_cupti_launch("k", 7, 0, 10); // a callback after the end
    do_fake_cupti_set("hang", 0);
    // It comes back late, delivers, and finds nobody.
    for (int i = 0; i < 2000 && do_fake_cupti_get("subscribed") > 0; i++) usleep(1000);
    CHECK_EQ_I64(do_fake_cupti_get("subscribed"), 0);
    usleep(50000);
}
