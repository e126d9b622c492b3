// SPDX-License-Identifier: Apache-2.0
// A session whose kernels are traced, with the doubles of CUPTI and the CUDA driver, loaded as the real ones
// are. What the double forbids (flushing from a callback, a call in a child) it fails loudly for.
#ifndef REGIMETER_TESTS_TRACED_H
#define REGIMETER_TESTS_TRACED_H

#include <dlfcn.h>

#include "../fakes/cuda.h"
#include "../fakes/cupti.h"
#include "capture/device.h"
#include "cuda/trace/cupti.h"
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

static inline bool find_doubles(void) {
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

static inline rgm_tracing_options few_flushes(void) {
    rgm_tracing_options options = RGM_TRACING_DEFAULTS;
    options.flush_interval_ns = INT64_C(3600) * 1000000000; // only when asked to
    return options;
}

static inline void open_session(traced *t) {
    *t = (traced){0};
    do_fake_cupti_restart();
    rgm_cupti_forget(); // the version may have changed
    rgm_clock_init();
    CHECK_OK(rgm_session_new(&t->session, &RGM_SESSION_DEFAULTS, NULL, NULL));
    t->sink = rgm_session_sink(t->session);
    CHECK_OK(rgm_session_site(t->session, "step", 4, RGM_DEVICE_GPU, RGM_ROLE_NONE, &t->site, NULL));
}

static inline void begin(traced *t, const rgm_tracing_options *options) {
    rgm_error err = RGM_ERROR_NONE;
    open_session(t);
    rgm_status status = rgm_tracing_start(t->sink, options, &err);
    if (status != RGM_OK) HARNESS_FAIL("tracing did not start: %s", err.message);
}

static inline rgm_run *finish(traced *t) {
    rgm_tracing_stop(t->sink.arg, wait_ns);
    rgm_run *run = session_finish(t->session);
    CHECK_EQ_I64(do_fake_cupti_get("forbidden"), 0);
    return run;
}

static inline rgm_tracing_stats stats_now(void) {
    rgm_tracing_stats stats;
    rgm_tracing_get_stats(&stats);
    return stats;
}

static inline open_scope step_begin(const traced *t) {
    open_scope scope = {0};
    rgm_recorder *r = rgm_recorder_get(t->session, rgm_session_id(t->session));
    scope.frame = rgm_scope_begin(r, t, t->site->id, 0, &scope.seq);
    return scope;
}

static inline void step_end(const traced *t, open_scope scope) {
    rgm_recorder *r = rgm_recorder_get(t->session, rgm_session_id(t->session));
    rgm_scope_end(r, scope.frame, scope.seq, rgm_clock_ticks(), 0);
}

static inline size_t count_kind(const rgm_run *run, int kind) {
    size_t count = 0;
    for (size_t i = 0; i < run->spans.rows; i++) count += RGM_CELL(&run->spans, kind, i, 0) == kind;
    return count;
}

#endif
