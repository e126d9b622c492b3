// SPDX-License-Identifier: Apache-2.0
// Tracing that begins by itself, on the doubles of CUPTI and the CUDA driver: when it begins and when not,
// who makes room for whom, and what it says of itself.
#include <dlfcn.h>
#include <sys/wait.h>

#include "../fakes/cuda.h"
#include "../fakes/cupti.h"
#include "capture/device.h"
#include "cuda/library/driver_types.h"
#include "cuda/trace/cupti.h"
#include "cuda/trace/tracing_watch.h"
#include "recording.h"

static int (*cuda_init)(unsigned);
static int (*retain)(void **, int);
static __typeof__(&fake_cuda_restart) cuda_restart;
static __typeof__(&fake_cupti_restart) cupti_restart;
static __typeof__(&fake_cupti_take_over) take_over;
static __typeof__(&fake_cupti_launch) launch;
static __typeof__(&fake_cupti_get) cupti_number;
static const int64_t wait_ns = INT64_C(5000000000);

static void find(const char *library, const char *symbol, void *function) {
    void *handle = dlopen(library, RTLD_NOW), *address = handle ? dlsym(handle, symbol) : NULL;
    if (!address) abort();
    memcpy(function, &address, sizeof address);
}

__attribute__((constructor)) static void load_doubles(void) {
    setenv("REGIMETER_LIBCUDA", FAKES "/libfake_cuda.so", 1);
    setenv("REGIMETER_LIBCUPTI", FAKES "/libfake_cupti.so", 1);
    find(FAKES "/libfake_cuda.so", "cuInit", &cuda_init);
    find(FAKES "/libfake_cuda.so", "cuDevicePrimaryCtxRetain", &retain);
    find(FAKES "/libfake_cuda.so", "fake_cuda_restart", &cuda_restart);
    find(FAKES "/libfake_cupti.so", "fake_cupti_restart", &cupti_restart);
    find(FAKES "/libfake_cupti.so", "fake_cupti_take_over", &take_over);
    find(FAKES "/libfake_cupti.so", "fake_cupti_launch", &launch);
    find(FAKES "/libfake_cupti.so", "fake_cupti_get", &cupti_number);
}

typedef struct {
    rgm_session *session;
    rgm_tracing_watch *watch;
} waiting;

static waiting wait_for_cuda(void) {
    waiting w = {0};
    rgm_tracing_options options = RGM_TRACING_DEFAULTS;
    options.flush_interval_ns = 1000000; // another tool is noticed by what is delivered
    options.buffer_bytes = 4096;
    CHECK_OK(rgm_session_new(&w.session, &RGM_SESSION_DEFAULTS, NULL, NULL));
    CHECK_OK(rgm_tracing_watch_new(&w.watch, rgm_session_sink(w.session), &options, NULL));
    return w;
}

static void begin(void) {
    cuda_restart();
    cupti_restart();
    rgm_cupti_forget();
    rgm_clock_init();
}

static rgm_tracing_watch_state state_of(const waiting *w) {
    rgm_tracing_watch_state state;
    rgm_tracing_watch_get_state(w->watch, &state);
    return state;
}

static int tracing_now(void) {
    rgm_tracing_stats stats;
    rgm_tracing_get_stats(&stats);
    return (int)stats.state;
}

static rgm_run *finish(waiting *w) {
    rgm_run *run = NULL;
    rgm_tracing_watch_end(w->watch, wait_ns);
    rgm_tracing_stop(rgm_session_sink(w->session).arg, wait_ns);
    rgm_tracing_watch_free(w->watch);
    rgm_session_stop(w->session);
    CHECK_OK(rgm_session_snapshot(w->session, &run, NULL));
    rgm_session_free(w->session);
    CHECK_EQ_I64(cupti_number("forbidden"), 0);
    return run;
}

static size_t kernels(const rgm_run *run) {
    size_t count = 0;
    for (size_t i = 0; i < run->spans.rows; i++)
        count += RGM_CELL(&run->spans, kind, i, 0) == RGM_KIND_KERNEL;
    return count;
}

// --- when it begins ---------------------------------------------------------------------------------------

TEST(a_program_that_never_uses_cuda_gets_nothing) {
    begin();
    waiting w = wait_for_cuda();
    for (int i = 0; i < 100; i++) rgm_tracing_watch_look(w.watch, i % 2);
    CHECK_STR_EQ(state_of(&w).phase, "waiting");
    rgm_tracing_watch_end(w.watch, wait_ns);
    rgm_tracing_watch_state state = state_of(&w);
    CHECK_STR_EQ(state.phase, "unused");
    CHECK(state.late_ns == -1 && state.started_ns == -1 && state.yielded_ns == -1 && state.cpu_ns == 0);
    CHECK_EQ_I64(cupti_number("subscribed"), 0);
    rgm_run_free(finish(&w));
}

TEST(a_look_after_the_first_use_has_it_begin) {
    begin();
    waiting w = wait_for_cuda();
    rgm_tracing_watch_look(w.watch, false);
    int64_t before_ns = rgm_clock_monotonic_ns();
    CHECK_EQ_I64(cuda_init(0), RGM_CU_SUCCESS);
    rgm_tracing_watch_look(w.watch, false);
    rgm_tracing_watch_begin(w.watch); // waits for the thread of the look
    rgm_tracing_watch_state state = state_of(&w);
    CHECK_STR_EQ(state.phase, "started");
    CHECK(state.started_ns >= before_ns && state.late_ns >= state.started_ns - before_ns && state.cpu_ns > 0);
    CHECK(!state.context_before);
    CHECK_EQ_I64(tracing_now(), RGM_TRACING_RUNNING);
    (void)launch("gemm", 7, 5000, 20000);
    rgm_run *run = finish(&w);
    CHECK_EQ_U64(kernels(run), 1);
    rgm_run_free(run);
}

TEST(who_knows_of_the_first_use_has_it_begin_at_once_and_work_before_is_told) {
    begin();
    void *context;
    waiting w = wait_for_cuda();
    rgm_tracing_watch_begin(w.watch);
    CHECK_STR_EQ(state_of(&w).phase, "waiting");
    CHECK_EQ_I64(cuda_init(0), RGM_CU_SUCCESS);
    CHECK_EQ_I64(retain(&context, 0), RGM_CU_SUCCESS);
    rgm_tracing_watch_begin(w.watch);
    CHECK_STR_EQ(state_of(&w).phase, "started");
    CHECK(state_of(&w).context_before);
    rgm_run_free(finish(&w));
}

TEST(where_cuda_is_in_use_it_has_begun_on_return_and_nothing_is_late) {
    begin();
    void *context;
    CHECK(cuda_init(0) == RGM_CU_SUCCESS && retain(&context, 0) == RGM_CU_SUCCESS);
    waiting w = wait_for_cuda();
    rgm_tracing_watch_state state = state_of(&w);
    CHECK_STR_EQ(state.phase, "started");
    CHECK(state.late_ns == 0 && !state.context_before);
    rgm_tracing_stats stats;
    rgm_tracing_get_stats(&stats);
    CHECK(stats.graph_nodes); // there may be graphs that CUPTI has not seen made
    rgm_run_free(finish(&w));
}

TEST(an_end_before_the_next_look_says_what_was_missed) {
    begin();
    waiting w = wait_for_cuda();
    CHECK_EQ_I64(cuda_init(0), RGM_CU_SUCCESS);
    rgm_tracing_watch_end(w.watch, wait_ns);
    CHECK_STR_EQ(state_of(&w).phase, "missed");
    CHECK(state_of(&w).late_ns >= 0 && state_of(&w).started_ns == -1);
    rgm_tracing_watch_look(w.watch, true);
    CHECK_STR_EQ(state_of(&w).phase, "missed");
    rgm_run_free(finish(&w));
}

TEST(where_it_cannot_begin_there_is_a_reason) {
    begin();
    setenv("REGIMETER_LIBCUPTI", "off", 1);
    waiting w = wait_for_cuda();
    CHECK_EQ_I64(cuda_init(0), RGM_CU_SUCCESS);
    rgm_tracing_watch_look(w.watch, false);
    rgm_tracing_watch_begin(w.watch);
    rgm_tracing_watch_state state = state_of(&w);
    CHECK_STR_EQ(state.phase, "refused");
    CHECK(strstr(state.reason, "REGIMETER_LIBCUPTI") && state.started_ns == -1 && state.late_ns == -1);
    rgm_run_free(finish(&w));
    setenv("REGIMETER_LIBCUPTI", FAKES "/libfake_cupti.so", 1);
}

// --- making room ------------------------------------------------------------------------------------------

TEST(who_gives_up_the_wait_does_not_begin) {
    begin();
    waiting w = wait_for_cuda();
    rgm_tracing_watch_yield(w.watch, "another came", wait_ns);
    CHECK_EQ_I64(cuda_init(0), RGM_CU_SUCCESS);
    rgm_tracing_watch_look(w.watch, true);
    rgm_tracing_watch_begin(w.watch);
    rgm_tracing_watch_state state = state_of(&w);
    CHECK_STR_EQ(state.phase, "yielded");
    CHECK_STR_EQ(state.reason, "another came");
    CHECK(state.yielded_ns > 0 && state.started_ns == -1);
    CHECK_EQ_I64(cupti_number("subscribed"), 0);
    rgm_run_free(finish(&w));
}

TEST(a_profiler_that_asks_for_kernels_gets_them) {
    begin();
    rgm_session *theirs;
    rgm_tracing_options options = RGM_TRACING_DEFAULTS;
    CHECK_EQ_I64(cuda_init(0), RGM_CU_SUCCESS);
    waiting w = wait_for_cuda();
    CHECK_OK(rgm_session_new(&theirs, &RGM_SESSION_DEFAULTS, NULL, NULL));
    CHECK(rgm_tracing_start(rgm_session_sink(theirs), &options, NULL) != RGM_OK);
    (void)launch("ours", 7, 5000, 20000);
    rgm_tracing_watch_make_room(wait_ns);
    CHECK_STR_EQ(state_of(&w).phase, "yielded");
    CHECK(strstr(state_of(&w).reason, "another profiler") && state_of(&w).started_ns > 0);
    CHECK_OK(rgm_tracing_start(rgm_session_sink(theirs), &options, NULL));
    rgm_tracing_watch_make_room(wait_ns); // nothing of theirs
    CHECK_EQ_I64(tracing_now(), RGM_TRACING_RUNNING);
    rgm_tracing_stop(rgm_session_sink(theirs).arg, wait_ns);
    rgm_session_stop(theirs);
    rgm_session_free(theirs);
    rgm_run *run = finish(&w);
    CHECK_EQ_U64(kernels(run), 1);
    rgm_run_free(run);
}

TEST(a_tool_that_takes_over_is_left_alone_by_a_look_that_may_wait) {
    begin();
    CHECK_EQ_I64(cuda_init(0), RGM_CU_SUCCESS);
    waiting w = wait_for_cuda();
    take_over();
    rgm_tracing_watch_look(w.watch, false);
    CHECK_STR_EQ(state_of(&w).phase, "started");
    for (int i = 0; i < 4000 && strcmp(state_of(&w).phase, "started") == 0; i++) {
        (void)launch("k", 7, 0, 10);
        rgm_tracing_watch_look(w.watch, true);
        usleep(1000);
    }
    CHECK_STR_EQ(state_of(&w).phase, "yielded");
    CHECK(strstr(state_of(&w).reason, "another tool"));
    rgm_run_free(finish(&w));
}

// --- many, and forks --------------------------------------------------------------------------------------

static atomic_bool go;

static void *keep_looking(void *arg) {
    while (!atomic_load(&go)) continue;
    for (int i = 0; i < 200; i++) rgm_tracing_watch_look(arg, false);
    rgm_tracing_watch_begin(arg);
    return NULL;
}

TEST(of_many_who_look_one_begins) {
    enum { LOOKERS = 4 };
    begin();
    pthread_t threads[LOOKERS];
    atomic_store(&go, false);
    waiting w = wait_for_cuda();
    for (int i = 0; i < LOOKERS; i++) CHECK(!pthread_create(&threads[i], NULL, keep_looking, w.watch));
    atomic_store(&go, true);
    CHECK_EQ_I64(cuda_init(0), RGM_CU_SUCCESS);
    for (int i = 0; i < LOOKERS; i++) CHECK(!pthread_join(threads[i], NULL));
    rgm_tracing_watch_begin(w.watch);
    CHECK_STR_EQ(state_of(&w).phase, "started");
    CHECK_EQ_I64(cupti_number("subscribed"), 1);
    rgm_run_free(finish(&w));
}

// In the child of a process that has not used CUDA the wait goes on; of one that has, the driver is lost.
static int phase_in_child(const waiting *w, const char *wanted) {
    int status = 0;
    pid_t child = fork();
    if (!child) {
        rgm_tracing_watch_look(w->watch, false);
        if (strcmp(state_of(w).phase, wanted) != 0) _exit(1);
        bool waits = strcmp(wanted, "waiting") == 0;
        _exit(waits ? 0 : strstr(state_of(w).reason, "forked") ? 0 : 2);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

TEST(a_child_waits_anew_or_has_lost_the_driver) {
    if (SANITIZED) return;
    begin();
    waiting w = wait_for_cuda();
    CHECK_EQ_I64(phase_in_child(&w, "waiting"), 0);
    CHECK_EQ_I64(cuda_init(0), RGM_CU_SUCCESS);
    rgm_tracing_watch_begin(w.watch);
    CHECK_EQ_I64(phase_in_child(&w, "refused"), 0);
    CHECK_STR_EQ(state_of(&w).phase, "started");
    rgm_run_free(finish(&w));
}
