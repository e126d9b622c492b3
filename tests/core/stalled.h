// SPDX-License-Identifier: Apache-2.0
// For the tests of PC sampling: the doubles of CUPTI and the CUDA driver, a program's calls, and what is
// recorded of them.
#ifndef RGM_TEST_STALLED_H
#define RGM_TEST_STALLED_H

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "../fakes/cuda.h"
#include "../fakes/cupti.h"
#include "base/memory.h"
#include "capture/device.h"
#include "cuda/stalls/stall_sampling.h"
#include "cuda/trace/tracing.h"
#include "recording.h"

typedef struct {
    void (*set)(const char *name, long long value);
    long long (*get)(const char *name);
    void (*restart)(void);
} numbers;

static numbers cupti_, cuda_;
static void (*kernel_lasts)(long long ns);

static void *find(void *handle, const char *name) {
    void *address = dlsym(handle, name);
    if (!address) abort();
    return address;
}

static numbers open_double(const char *path, const char *set, const char *get, const char *restart) {
    numbers n;
    void *handle = dlopen(path, RTLD_NOW);
    if (!handle) abort();
    *(void **)&n.set = find(handle, set);
    *(void **)&n.get = find(handle, get);
    *(void **)&n.restart = find(handle, restart);
    if (strstr(path, "fake_cuda")) *(void **)&kernel_lasts = find(handle, "fake_cuda_lasts");
    return n;
}

__attribute__((constructor)) static void load_doubles(void) {
    setenv("REGIMETER_LIBCUDA", FAKES "/libfake_cuda.so", 1);
    setenv("REGIMETER_LIBCUPTI", FAKES "/libfake_cupti.so", 1);
    cuda_ = open_double(FAKES "/libfake_cuda.so", "fake_cuda_set", "fake_cuda_get", "fake_cuda_restart");
    cupti_ = open_double(FAKES "/libfake_cupti.so", "fake_cupti_set", "fake_cupti_get", "fake_cupti_restart");
}

// --- a program --------------------------------------------------------------------------------------------

typedef struct {
    rgm_session *session;
    rgm_stall_sampling *sampling;
    const rgm_driver *driver;
    rgm_stall_options options;
    rgm_error err;
} bench;

UNUSED static bench bench_make(void) {
    bench b = {.options = rgm_stall_defaults()};
    cuda_.restart();
    cupti_.restart();
    cupti_.set("version", 130001);
    cupti_.set("pc_misuse", 0);
    cupti_.set("pc_collections", 0);
    cupti_.set("pc_foreign_thread", 0);
    rgm_cupti_forget();
    rgm_clock_init();
    b.options.collect_ns = INT64_C(3600) * 1000000000; // only when asked to
    CHECK_OK(rgm_session_new(&b.session, &RGM_SESSION_DEFAULTS, NULL, NULL));
    CHECK_OK(rgm_driver_start(&b.driver, NULL));
    return b;
}

UNUSED static rgm_status bench_start(bench *b) {
    rgm_error_clear(&b->err);
    return rgm_stall_sampling_start(&b->sampling, &b->options, rgm_session_sink(b->session), &b->err);
}

UNUSED static rgm_cu_context context_make(const bench *b, int device) {
    rgm_cu_context context = NULL;
    CHECK_EQ_I64(b->driver->primary_retain(&context, device), RGM_CU_SUCCESS);
    CHECK_EQ_I64(b->driver->context_push(context), RGM_CU_SUCCESS);
    return context;
}

// What has been taken up so far: nobody is waited for.
UNUSED static rgm_stall_state state_now(const bench *b) {
    rgm_stall_state state;
    rgm_stall_sampling_read(b->sampling, &state);
    return state;
}

UNUSED static void launch_of(const bench *b, const void *image, const char *name, long long ns) {
    rgm_cu_module module;
    rgm_cu_function function;
    CHECK_EQ_I64(b->driver->module_load(&module, image), RGM_CU_SUCCESS);
    CHECK_EQ_I64(b->driver->module_function(&function, module, name), RGM_CU_SUCCESS);
    kernel_lasts(ns);
    CHECK_EQ_I64(b->driver->launch(function, 8, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL), RGM_CU_SUCCESS);
    CHECK_EQ_I64(b->driver->module_unload(module), RGM_CU_SUCCESS);
}

UNUSED static void launch(const bench *b, const char *name, long long ns) { launch_of(b, "", name, ns); }

UNUSED static rgm_run *finish(bench *b, rgm_stall_state *state) {
    rgm_stall_sampling_stop(b->sampling, state);
    rgm_run *run = session_finish(b->session);
    CHECK_EQ_I64(cupti_.get("pc_misuse"), 0);
    CHECK_EQ_I64(cupti_.get("pc_foreign_thread"), 0);
    CHECK_EQ_I64(cupti_.get("pc_contexts"), 0);
    CHECK_EQ_I64(cupti_.get("subscribed"), 0);
    CHECK_EQ_I64(cupti_.get("forbidden"), 0);
    CHECK_EQ_I64(cupti_.get("calls_child"), 0);
    return run;
}

UNUSED static void check_row(const rgm_run *run, size_t row, const char *kernel, const char *reason,
                             int64_t offset, int64_t samples, int64_t not_issued) {
    REQUIRE(row < run->stalls.rows);
    CHECK_STR_EQ(text_of(run, run->stalls.kernel[row]), kernel);
    CHECK_STR_EQ(text_of(run, run->stalls.reason[row]), reason);
    CHECK_EQ_I64(run->stalls.offset[row], offset);
    CHECK_EQ_I64(run->stalls.samples[row], samples);
    CHECK_EQ_I64(run->stalls.not_issued[row], not_issued);
    CHECK_EQ_I64(run->stalls.cubin[row], 0xC0FFEE);
}

#endif
