// SPDX-License-Identifier: Apache-2.0
// Which contexts are sampled, and on whose thread sampling is begun and ended, with the doubles of CUPTI and
// the CUDA driver. Nobody but the program's own calls takes a context up: no test waits for the thread that
// collects.
#include <pthread.h>
#include <time.h>

#include "stalled.h"

enum { ALONE, BESIDE_TRACING, WAYS };

static int (*create)(void **, unsigned, int), (*destroy)(void *), (*reset)(int);

static void begin(bench *b, int way) {
    rgm_tracing_options tracing = RGM_TRACING_DEFAULTS;
    void *handle = dlopen(FAKES "/libfake_cuda.so", RTLD_NOW);
    *(void **)&create = find(handle, "cuCtxCreate_v2");
    *(void **)&destroy = find(handle, "cuCtxDestroy_v2");
    *(void **)&reset = find(handle, "cuDevicePrimaryCtxReset_v2");
    (void)dlclose(handle); // it stays: the driver has it
    *b = bench_make();
    cupti_.set("version", 130100);
    tracing.flush_interval_ns = INT64_C(3600) * 1000000000;
    if (way == BESIDE_TRACING) CHECK_OK(rgm_tracing_start(rgm_session_sink(b->session), &tracing, NULL));
}

static void start(bench *b, int way) {
    begin(b, way);
    CHECK_OK(bench_start(b));
}

static rgm_run *end(bench *b, rgm_stall_state *state, int way) {
    if (way == BESIDE_TRACING) {
        rgm_stall_sampling_stop(b->sampling, state);
        b->sampling = NULL;
        rgm_tracing_stop(rgm_session_sink(b->session).arg, INT64_C(5000000000));
        state = NULL;
    }
    return finish(b, state);
}

static void pause_ns(long long ns) {
    const struct timespec moment = {0, ns};
    (void)nanosleep(&moment, NULL);
}

// --- made later -------------------------------------------------------------------------------------------

static void *program(void *arg) {
    const bench *b = arg;
    (void)context_make(b, 0);
    launch(b, "late", 50000);
    return NULL;
}

// The thread stays in the driver for a while: who takes its context up from outside then has CUPTI and the
// driver wait for each other.
TEST(a_context_that_is_made_later_is_taken_up_by_the_thread_that_makes_it) {
    for (int way = ALONE; way < WAYS; way++) {
        bench b;
        rgm_stall_state state;
        pthread_t thread;
        start(&b, way);
        REQUIRE(b.sampling);
        CHECK_EQ_I64(state_now(&b).devices, 0);
        CHECK_EQ_I64(cupti_.get("subscribed"), 1);
        if (way == ALONE) CHECK_EQ_I64(cupti_.get("callbacks"), 2);
        cuda_.set("stay_ns", 50000000);
        CHECK_EQ_I64(pthread_create(&thread, NULL, program, &b), 0);
        CHECK_EQ_I64(pthread_join(thread, NULL), 0);
        cuda_.set("stay_ns", 0);
        CHECK_EQ_I64(state_now(&b).devices, 1);
        CHECK_EQ_I64(cupti_.get("pc_foreign_thread"), 0);
        rgm_stall_sampling_collect(b.sampling);
        rgm_run *run = end(&b, &state, way);
        CHECK_EQ_I64(state.figures.samples, 50); // from the first kernel on
        CHECK_EQ_I64(state.missed, 0);
        CHECK_STR_EQ(state.reason, "");
        rgm_run_free(run);
    }
}

// A collection of the other thread in the middle of the call that makes a context does not take it up.
static void *collector(void *arg) {
    const bench *b = arg;
    for (int i = 0; i < 20; i++) {
        rgm_stall_sampling_collect(b->sampling);
        pause_ns(1000000);
    }
    return NULL;
}

TEST(whoever_collects_takes_up_nothing_that_is_told) {
    bench b;
    rgm_stall_state state;
    pthread_t thread;
    start(&b, ALONE);
    REQUIRE(b.sampling);
    cuda_.set("stay_ns", 10000000);
    CHECK_EQ_I64(pthread_create(&thread, NULL, collector, &b), 0);
    pause_ns(2000000);
    (void)context_make(&b, 0);
    launch(&b, "beside", 10000);
    CHECK_EQ_I64(pthread_join(thread, NULL), 0);
    cuda_.set("stay_ns", 0);
    rgm_run *run = end(&b, &state, ALONE);
    CHECK_EQ_I64(state.figures.samples, 10);
    rgm_run_free(run);
}

TEST(each_device_has_its_own_also_later) {
    cuda_.set("devices", 2);
    bench b;
    rgm_stall_state state;
    start(&b, ALONE);
    REQUIRE(b.sampling);
    (void)context_make(&b, 1);
    launch(&b, "second", 10000);
    (void)context_make(&b, 0);
    launch(&b, "first", 10000);
    CHECK_EQ_I64(state_now(&b).devices, 2);
    CHECK_EQ_I64(cupti_.get("pc_contexts"), 2);
    rgm_run *run = end(&b, &state, ALONE);
    CHECK_EQ_I64(state.figures.samples, 20);
    rgm_run_free(run);
    cuda_.set("devices", 1);
}

// --- one after the other ----------------------------------------------------------------------------------

// Of those that a program makes by the driver's own functions the first that a device has is sampled to its
// end, then the next.
TEST(contexts_of_the_drivers_own_functions) {
    for (int way = ALONE; way < WAYS; way++) {
        bench b;
        rgm_stall_state state;
        void *first, *second;
        start(&b, way);
        REQUIRE(b.sampling);
        CHECK_EQ_I64(create(&first, 0, 0), RGM_CU_SUCCESS);
        CHECK_EQ_I64(state_now(&b).devices, 1);
        launch(&b, "first", 10000);
        CHECK_EQ_I64(create(&second, 0, 0), RGM_CU_SUCCESS);
        launch(&b, "waits", 10000); // in the second, beside which the first is sampled
        CHECK_EQ_I64(cupti_.get("pc_contexts"), 1);
        CHECK_EQ_I64(destroy(first), RGM_CU_SUCCESS); // with what it had, before it ends
        CHECK_EQ_I64(cupti_.get("pc_contexts"), 1);
        launch(&b, "second", 10000);
        rgm_stall_sampling_collect(b.sampling);
        CHECK_EQ_I64(destroy(second), RGM_CU_SUCCESS);
        CHECK_EQ_I64(cupti_.get("pc_contexts"), 0);
        rgm_run *run = end(&b, &state, way);
        CHECK_EQ_I64(state.devices, 1);
        CHECK_EQ_I64(state.figures.samples, 20);
        REQUIRE(run->stalls.rows == 6);
        check_row(run, 0, "first", "wait", 0x10, 1, 0);
        check_row(run, 3, "second", "wait", 0x10, 1, 0);
        rgm_run_free(run);
    }
}

TEST(a_primary_context_waits_like_any_other) {
    bench b;
    rgm_stall_state state;
    void *own;
    start(&b, ALONE);
    REQUIRE(b.sampling);
    CHECK_EQ_I64(create(&own, 0, 0), RGM_CU_SUCCESS);
    launch(&b, "own", 10000);
    (void)context_make(&b, 0);
    launch(&b, "waits", 10000);
    CHECK_EQ_I64(destroy(own), RGM_CU_SUCCESS);
    launch(&b, "primary", 10000);
    CHECK_EQ_I64(b.driver->primary_release(0), RGM_CU_SUCCESS); // the last: it ends
    CHECK_EQ_I64(cupti_.get("pc_contexts"), 0);
    (void)context_make(&b, 0);
    launch(&b, "again", 10000);
    CHECK_EQ_I64(reset(0), RGM_CU_SUCCESS);
    CHECK_EQ_I64(cupti_.get("pc_contexts"), 0);
    rgm_run *run = end(&b, &state, ALONE);
    CHECK_EQ_I64(state.figures.samples, 30);
    CHECK_EQ_I64(state.figures.failures, 0);
    CHECK_EQ_U64(run->stalls.rows, 9);
    rgm_run_free(run);
}

// What is there at the start is kept until the stop; after a reset the next is taken up.
TEST(a_context_that_was_there_and_is_reset_is_followed_by_the_next) {
    bench b;
    rgm_stall_state state;
    begin(&b, ALONE);
    (void)context_make(&b, 0);
    CHECK_OK(bench_start(&b));
    REQUIRE(b.sampling);
    launch(&b, "before", 10000);
    CHECK_EQ_I64(reset(0), RGM_CU_SUCCESS);
    rgm_stall_sampling_collect(b.sampling);
    (void)context_make(&b, 0);
    launch(&b, "after", 10000);
    rgm_run *run = end(&b, &state, ALONE);
    CHECK_EQ_I64(state.figures.samples, 20);
    CHECK_EQ_I64(state.figures.failures, 0);
    rgm_run_free(run);
}

TEST(what_has_no_place_to_wait_is_counted) {
    enum { MANY = 20 };
    bench b;
    rgm_stall_state state;
    void *contexts[MANY];
    start(&b, ALONE);
    REQUIRE(b.sampling);
    for (int i = 0; i < 10; i++) CHECK_EQ_I64(create(&contexts[i], 0, 0), RGM_CU_SUCCESS);
    for (int i = 0; i < 10; i++) { // the thread holds no more of them
        rgm_cu_context left;
        CHECK_EQ_I64(b.driver->context_pop(&left), RGM_CU_SUCCESS);
    }
    for (int i = 10; i < MANY; i++) CHECK_EQ_I64(create(&contexts[i], 0, 0), RGM_CU_SUCCESS);
    CHECK_EQ_I64(state_now(&b).missed, MANY - 1 - 16);
    for (int i = MANY; i-- > 0;) CHECK_EQ_I64(destroy(contexts[i]), RGM_CU_SUCCESS);
    CHECK_EQ_I64(cupti_.get("pc_contexts"), 0);
    rgm_run_free(end(&b, &state, ALONE));
}

// --- nobody tells -----------------------------------------------------------------------------------------

TEST(beside_another_tool_what_is_there_is_sampled) {
    bench b;
    rgm_stall_state state;
    begin(&b, ALONE);
    cupti_.set("taken", 1);
    (void)context_make(&b, 0);
    CHECK_OK(bench_start(&b));
    REQUIRE(b.sampling);
    CHECK_EQ_I64(state_now(&b).devices, 1);
    launch(&b, "there", 10000);
    rgm_run *run = end(&b, &state, ALONE);
    cupti_.set("taken", 0);
    CHECK_EQ_I64(state.figures.samples, 10);
    CHECK_STR_EQ(state.reason, "");
    rgm_run_free(run);
}

TEST(beside_another_tool_a_later_context_is_seen_by_who_collects) {
    bench b;
    rgm_stall_state state;
    begin(&b, ALONE);
    cupti_.set("taken", 1);
    CHECK_OK(bench_start(&b));
    REQUIRE(b.sampling);
    (void)context_make(&b, 0);
    state = state_now(&b);
    CHECK_EQ_I64(state.devices, 0);
    CHECK(strstr(state.reason, "CUPTI's callbacks belong to another tool"));
    rgm_stall_sampling_collect(b.sampling); // of the program's
    launch(&b, "collected", 10000);
    rgm_run *run = end(&b, &state, ALONE);
    cupti_.set("taken", 0);
    CHECK_EQ_I64(state.figures.samples, 10);
    CHECK_STR_EQ(state.reason, "");
    rgm_run_free(run);
}

TEST(callbacks_that_are_refused_are_a_reason) {
    bench b;
    rgm_stall_state state;
    begin(&b, ALONE);
    cupti_.set("refuse_EnableCallback", RGM_CUPTI_UNKNOWN);
    CHECK_OK(bench_start(&b));
    REQUIRE(b.sampling);
    CHECK_EQ_I64(cupti_.get("subscribed"), 0);
    rgm_run_free(end(&b, &state, ALONE));
    cupti_.set("refuse_EnableCallback", 0);
    CHECK(strstr(state.reason, "does not tell of contexts"));
}

// A second one hears of nothing, and would end what the first one hears.
TEST(one_sampling_at_a_time) {
    bench b;
    rgm_stall_state state;
    rgm_stall_sampling *second;
    rgm_error err = RGM_ERROR_NONE;
    start(&b, ALONE);
    REQUIRE(b.sampling);
    CHECK_EQ_I64(rgm_stall_sampling_start(&second, &b.options, rgm_session_sink(b.session), &err),
                 RGM_UNAVAILABLE);
    CHECK(strstr(err.message, "another profiler of this process samples stalls"));
    (void)context_make(&b, 0);
    launch(&b, "of_the_first", 10000);
    rgm_run *run = end(&b, &state, ALONE);
    CHECK_EQ_I64(state.figures.samples, 10);
    rgm_run_free(run);
    start(&b, ALONE); // it has let go
    rgm_run_free(end(&b, &state, ALONE));
}

// Nothing is called for contexts whose end nobody would tell.
TEST(where_tracing_ends_before_its_contexts_are_let_go) {
    bench b;
    rgm_stall_state state;
    start(&b, BESIDE_TRACING);
    REQUIRE(b.sampling);
    (void)context_make(&b, 0);
    launch(&b, "told", 10000);
    pause_ns(1000000);
    rgm_stall_sampling_collect(b.sampling);
    rgm_tracing_stop(rgm_session_sink(b.session).arg, INT64_C(5000000000));
    CHECK_EQ_I64(reset(0), RGM_CU_SUCCESS);
    rgm_run *run = end(&b, &state, ALONE);
    CHECK_EQ_I64(state.figures.samples, 10);
    CHECK_EQ_I64(state.figures.failures, 0);
    rgm_run_free(run);
}

// --- turns ------------------------------------------------------------------------------------------------

static void *collect_once(void *arg) {
    rgm_stall_sampling_collect(((const bench *)arg)->sampling);
    return NULL;
}

static pthread_t hang(bench *b) {
    pthread_t thread;
    cupti_.set("hang_PCSamplingGetData", 1);
    CHECK_EQ_I64(pthread_create(&thread, NULL, collect_once, b), 0);
    while (cupti_.get("pc_hanging") == 0) pause_ns(100000);
    return thread;
}

static void hang_no_more(pthread_t thread) {
    cupti_.set("hang_PCSamplingGetData", 0);
    CHECK_EQ_I64(pthread_join(thread, NULL), 0);
}

// Who collects may be waiting, in CUPTI, for the thread that makes a context.
TEST(a_call_that_makes_a_context_does_not_wait_for_ever) {
    cuda_.set("devices", 2);
    bench b;
    rgm_stall_state state;
    begin(&b, ALONE);
    b.options.turn_ns = 20000000;
    (void)context_make(&b, 0);
    CHECK_OK(bench_start(&b));
    REQUIRE(b.sampling);
    pthread_t thread = hang(&b);
    int64_t before = rgm_clock_monotonic_ns();
    (void)context_make(&b, 1);
    CHECK(rgm_clock_monotonic_ns() - before >= b.options.turn_ns);
    hang_no_more(thread);
    state = state_now(&b);
    CHECK_EQ_I64(state.missed, 1);
    CHECK_EQ_I64(state.devices, 1);
    rgm_run_free(end(&b, &state, ALONE));
    cuda_.set("devices", 1);
}

TEST(a_context_that_ends_meanwhile_is_forgotten_without_a_call) {
    bench b;
    rgm_stall_state state;
    void *first, *second;
    begin(&b, ALONE);
    b.options.turn_ns = 1000000;
    CHECK_OK(bench_start(&b));
    REQUIRE(b.sampling);
    CHECK_EQ_I64(create(&first, 0, 0), RGM_CU_SUCCESS);
    pthread_t thread = hang(&b);
    CHECK_EQ_I64(destroy(first), RGM_CU_SUCCESS);
    CHECK_EQ_I64(cupti_.get("pc_contexts"), 0);
    hang_no_more(thread);
    CHECK_EQ_I64(create(&second, 0, 0), RGM_CU_SUCCESS); // the first is known to be gone
    CHECK_EQ_I64(cupti_.get("pc_contexts"), 1);
    launch(&b, "second", 10000);
    rgm_run *run = end(&b, &state, ALONE);
    CHECK_EQ_I64(state.missed, 0);
    CHECK_EQ_I64(state.figures.samples, 10);
    rgm_run_free(run);
}
