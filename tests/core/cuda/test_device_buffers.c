// SPDX-License-Identifier: Apache-2.0
// The pool over the driver's memory, on the double of the driver.
#include "cuda/library/device_buffers.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "base/memory.h"
#include "cuda/library/driver.h"
#include "harness.h"

static const char fake[] = FAKES "/libfake_cuda.so";
static void *handle;

static void set(const char *name, long long value) {
    void (*call)(const char *, long long);
    *(void **)&call = dlsym(handle, "fake_cuda_set");
    call(name, value);
}
static long long get(const char *name) {
    long long (*call)(const char *);
    *(void **)&call = dlsym(handle, "fake_cuda_get");
    return call(name);
}

// The fence of a buffer that was given back passes a moment later.
static void let_pass(void) {
    void (*call)(long long);
    *(void **)&call = dlsym(handle, "fake_cuda_advance");
    call(10000);
}

static rgm_buffer_pool *open_pool(int device) {
    rgm_pool_source source;
    rgm_buffer_pool *pool = NULL;
    rgm_error err;
    rgm_pool_options options = RGM_POOL_OPTION_DEFAULTS;
    (void)setenv("REGIMETER_LIBCUDA", fake, 1);
    if (!handle) handle = dlopen(fake, RTLD_NOW);
    if (!handle) return NULL;
    static const char *const zero[] = {"calls_cuMemAlloc_v2", "calls_cuMemFree_v2", "calls_cuEventCreate",
                                       "calls_cuEventDestroy_v2"};
    for (size_t i = 0; i < sizeof zero / sizeof *zero; i++) set(zero[i], 0);
    if (rgm_device_buffers_open(&source, device, &err) != RGM_OK) {
        HARNESS_FAIL("%s", err.message);
        return NULL;
    }
    CHECK_OK(rgm_buffer_pool_new(&pool, &options, &source, NULL, NULL, &err));
    return pool;
}

TEST(memory_of_the_device_is_kept_and_given_back) {
    rgm_error err;
    rgm_pool_buffer a, b;
    int64_t live = rgm_memory_live();
    rgm_buffer_pool *pool = open_pool(0);
    REQUIRE(pool != NULL);
    CHECK_OK(rgm_buffer_pool_allocate(pool, 100000, &a, &err));
    CHECK_OK(rgm_buffer_pool_release(pool, a.id, 0, &err));
    let_pass();
    CHECK_OK(rgm_buffer_pool_allocate(pool, 100000, &b, &err));
    CHECK(b.reused && a.address == b.address);
    CHECK_EQ_I64(get("calls_cuMemAlloc_v2"), 1);
    CHECK_OK(rgm_buffer_pool_release(pool, b.id, 0, &err));
    CHECK_EQ_I64(get("calls_cuEventCreate"), 1); // one fence a buffer
    rgm_buffer_pool_free(pool);
    CHECK_EQ_I64(get("calls_cuMemFree_v2"), 1);
    CHECK_EQ_I64(get("calls_cuEventDestroy_v2"), 1);
    CHECK_EQ_I64(rgm_memory_live(), live);
}

TEST(work_that_is_queued_keeps_the_buffer) {
    rgm_error err;
    rgm_pool_buffer a, b;
    rgm_buffer_pool *pool = open_pool(0);
    REQUIRE(pool != NULL);
    CHECK_OK(rgm_buffer_pool_allocate(pool, 100000, &a, &err));
    set("fail_cuEventQuery", RGM_CU_NOT_READY);
    CHECK_OK(rgm_buffer_pool_release(pool, a.id, 0, &err));
    CHECK_OK(rgm_buffer_pool_allocate(pool, 100000, &b, &err));
    CHECK(!b.reused && a.address != b.address);
    set("fail_cuEventQuery", 0);
    CHECK_OK(rgm_buffer_pool_allocate(pool, 100000, &b, &err));
    CHECK(b.reused && a.address == b.address);
    rgm_buffer_pool_free(pool);
    CHECK_EQ_I64(get("calls_cuMemFree_v2"), 2);
}

TEST(a_buffer_that_cannot_be_marked_is_not_kept) {
    rgm_error err;
    rgm_pool_buffer a;
    rgm_buffer_pool *pool = open_pool(0);
    REQUIRE(pool != NULL);
    CHECK_OK(rgm_buffer_pool_allocate(pool, 100000, &a, &err));
    set("fail_cuEventRecord", RGM_CU_INVALID_HANDLE);
    CHECK_OK(rgm_buffer_pool_release(pool, a.id, 0, &err));
    set("fail_cuEventRecord", 0);
    CHECK_EQ_I64(get("calls_cuMemFree_v2"), 1);
    rgm_buffer_pool_free(pool);
}

TEST(a_full_device_says_so) {
    rgm_error err;
    rgm_pool_buffer a;
    rgm_buffer_pool *pool = open_pool(0);
    REQUIRE(pool != NULL);
    set("fail_cuMemAlloc_v2", RGM_CU_OUT_OF_MEMORY);
    CHECK_EQ_I64(rgm_buffer_pool_allocate(pool, 100000, &a, &err), RGM_LIMIT);
    CHECK_STR_EQ(err.message, "device 0: allocating 114688 bytes failed with CUDA_ERROR_OUT_OF_MEMORY");
    set("fail_cuMemAlloc_v2", 0);
    rgm_buffer_pool_free(pool);
}

TEST(there_must_be_such_a_device) {
    rgm_error err;
    rgm_pool_source source;
    REQUIRE(handle != NULL);
    CHECK_EQ_I64(rgm_device_buffers_open(&source, 99, &err), RGM_INVALID);
    CHECK(strstr(err.message, "there is no device 99") != NULL);
}
