// SPDX-License-Identifier: Apache-2.0
// Workloads through the driver's table, on a driver whose device is this processor.
#include "workloads/gpu_run.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "cuda/library/driver.h"
#include "faults.h"

static const char fake_driver[] = FAKES "/libfake_cuda_host.so";
static const char fake_compiler[] = FAKES "/libfake_nvrtc.so";
static void *handle; // keeps the double, and with it its numbers

static void set(const char *name, long long value) {
    void (*call)(const char *, long long);
    *(void **)&call = dlsym(handle, "fake_cuda_host_set");
    call(name, value);
}

static long long get(const char *name) {
    long long (*call)(const char *);
    *(void **)&call = dlsym(handle, "fake_cuda_host_get");
    return call(name);
}

static bool begin(void) {
    (void)setenv("REGIMETER_LIBCUDA", fake_driver, 1);
    (void)setenv("REGIMETER_LIBNVRTC", fake_compiler, 1);
    if (!handle) handle = dlopen(fake_driver, RTLD_NOW);
    CHECK(handle != NULL);
    if (!handle) return false;
    static const char *const zero[] = {"order",    "eager",       "fail_alloc", "fail_launch",
                                       "launches", "allocations", "live"};
    for (size_t i = 0; i < sizeof zero / sizeof *zero; i++) set(zero[i], 0);
    set("capability", 90);
    set("devices", 1);
    set("version", 13000);
    set("fail_load", 0);
    return true;
}

static int64_t times[512];

static rgm_status run(const char *name, rgm_gpu_request request, rgm_gpu_result *result, rgm_error *err) {
    request.times_ns = times;
    return rgm_gpu_run(rgm_workload_find(name), &request, result, err);
}

TEST(launches_are_those_that_were_asked_for) {
    rgm_gpu_result result;
    rgm_error err;
    REQUIRE(begin());
    // 3 + 100 launches and one hold for the warm-up and for each of two batches.
    CHECK_OK(run("ar_forecast", (rgm_gpu_request){.warmup = 3, .iterations = 100}, &result, &err));
    CHECK_EQ_I64(get("launches"), 3 + 100 + 1 + 2);
    CHECK_EQ_I64(get("live"), 0);
    CHECK_EQ_U64(result.gaps, 0);
    CHECK_STR_EQ(result.arch, "sm_90");
    for (int i = 0; i < 100; i++) CHECK(times[i] > 0);
}

TEST(host_calls_are_timed_apart) {
    rgm_gpu_result result;
    rgm_error err;
    int64_t calls[8] = {0};
    REQUIRE(begin());
    // The kernel's own launches and holds as above, then a warm-up and five host calls of one launch each.
    CHECK_OK(run("dot_product",
                 (rgm_gpu_request){.warmup = 1, .iterations = 2, .calls = 5, .call_times_ns = calls}, &result,
                 &err));
    CHECK_EQ_I64(get("launches"), 1 + 2 + 1 + 1 + 1 + 5);
    CHECK_EQ_I64(get("live"), 0);
    for (int i = 0; i < 5; i++) CHECK(calls[i] > 0);
    CHECK_EQ_I64(calls[5], 0);
    // Five buffers of the kernel, and five of each host call: every one of them may fail.
    for (int n = 6; n <= 15; n++) {
        set("allocations", 0);
        set("fail_alloc", n);
        CHECK_EQ_I64(run("dot_product",
                         (rgm_gpu_request){.warmup = 1, .iterations = 2, .calls = 5, .call_times_ns = calls},
                         &result, &err),
                     RGM_LIMIT);
        CHECK_EQ_I64(get("live"), 0);
    }
    set("fail_alloc", 0);
}

TEST(nothing_timed_still_computes) {
    rgm_gpu_result result;
    rgm_error err;
    float forecast[10] = {0};
    void *outputs[RGM_WORKLOAD_BUFFERS] = {NULL, NULL, forecast};
    REQUIRE(begin());
    CHECK_OK(run("ar_forecast", (rgm_gpu_request){.outputs = outputs}, &result, &err));
    CHECK_EQ_I64(get("launches"), 2); // the hold and one launch, which loads the code
    CHECK(forecast[0] > 20.0f && forecast[0] < 60.0f);
}

TEST(a_launch_that_waited_for_the_host_is_counted) {
    rgm_gpu_result result;
    rgm_error err;
    REQUIRE(begin());
    set("eager", 1); // the hold runs before the host can let go, and gives up
    CHECK_OK(run("ar_forecast", (rgm_gpu_request){.warmup = 1, .iterations = 5}, &result, &err));
    CHECK_EQ_U64(result.gaps, 5);
}

TEST(every_failure_gives_everything_back) {
    rgm_gpu_result result;
    rgm_error err;
    REQUIRE(begin());
    for (int n = 1; n <= 5; n++) { // dot_product has five buffers
        set("allocations", 0);
        set("fail_alloc", n);
        CHECK_EQ_I64(run("dot_product", (rgm_gpu_request){.iterations = 2}, &result, &err), RGM_LIMIT);
        CHECK_STR_EQ(err.message,
                     "dot_product: allocating device memory failed with CUDA_ERROR_OUT_OF_MEMORY");
        CHECK_EQ_I64(get("live"), 0);
    }
    set("fail_alloc", 0);
    for (int n = 1; n <= 6; n++) { // hold, two warm-ups, hold, two that are timed
        set("launches", 0);
        set("fail_launch", n);
        CHECK_EQ_I64(run("dot_product", (rgm_gpu_request){.warmup = 2, .iterations = 2}, &result, &err),
                     RGM_UNAVAILABLE);
        CHECK(strstr(err.message, "CUDA_ERROR_LAUNCH_FAILED") != NULL);
        CHECK_EQ_I64(get("live"), 0);
    }
    set("fail_launch", 0);
    CHECK_OK(run("dot_product", (rgm_gpu_request){.iterations = 2}, &result, &err));
}

TEST(no_memory_of_the_host_gives_everything_back) {
    rgm_gpu_result result;
    rgm_error err;
    REQUIRE(begin());
    CHECK_OK(run("vector_add", (rgm_gpu_request){.iterations = 1}, &result, &err)); // loads libraries
    EACH_FAULT("vector_add") {
        FAULTY(run("vector_add", (rgm_gpu_request){.iterations = 1}, &result, &err));
        CHECK_EQ_I64(get("live"), 0);
    }
}

TEST(the_current_context_is_left_as_it_was) {
    rgm_gpu_result result;
    rgm_error err;
    const rgm_driver *driver;
    rgm_cu_context before, after, popped;
    REQUIRE(begin());
    REQUIRE(rgm_driver_start(&driver, &err) == RGM_OK);
    for (int own = 0; own < 2; own++) { // without one, and with one that the caller made current
        if (own) CHECK_EQ_I64(driver->context_push((rgm_cu_context)(void *)&popped), RGM_CU_SUCCESS);
        CHECK_EQ_I64(driver->context_current(&before), RGM_CU_SUCCESS);
        CHECK_OK(run("ar_forecast", (rgm_gpu_request){.iterations = 1}, &result, &err));
        CHECK_EQ_I64(driver->context_current(&after), RGM_CU_SUCCESS);
        CHECK(after == before);
        set("launches", 0);
        set("fail_launch", 1);
        CHECK_EQ_I64(run("ar_forecast", (rgm_gpu_request){.iterations = 1}, &result, &err), RGM_UNAVAILABLE);
        set("fail_launch", 0);
        CHECK_EQ_I64(driver->context_current(&after), RGM_CU_SUCCESS);
        CHECK(after == before);
    }
    CHECK_EQ_I64(driver->context_pop(&popped), RGM_CU_SUCCESS);
}

TEST(a_device_that_is_not_there_is_named) {
    rgm_gpu_result result;
    rgm_error err;
    REQUIRE(begin());
    CHECK_EQ_I64(run("conv2d", (rgm_gpu_request){.device = 1}, &result, &err), RGM_UNAVAILABLE);
    CHECK(strstr(err.message, "finding the device") != NULL);
    set("capability", 60); // below what this compiler knows
    CHECK_EQ_I64(run("conv2d", (rgm_gpu_request){.device = 0}, &result, &err), RGM_UNAVAILABLE);
    CHECK(strstr(err.message, "NVRTC 13.0") != NULL);
    CHECK_EQ_I64(get("live"), 0);
}

TEST(a_newer_device_runs_ptx) {
    rgm_gpu_result result;
    rgm_error err;
    REQUIRE(begin());
    set("capability", 120);
    CHECK_OK(run("conv2d", (rgm_gpu_request){.iterations = 1}, &result, &err));
    CHECK_STR_EQ(result.arch, "compute_100");
}

TEST(a_compiler_newer_than_the_driver_is_told_of) {
    rgm_gpu_result result;
    rgm_error err;
    REQUIRE(begin());
    set("fail_load", 1);
    CHECK_EQ_I64(run("conv2d", (rgm_gpu_request){.iterations = 1}, &result, &err), RGM_UNAVAILABLE);
    CHECK_STR_EQ(err.message, "conv2d: loading the kernel failed with CUDA_ERROR_OF_THE_FAKE");
    set("version", 12040);
    CHECK_EQ_I64(run("conv2d", (rgm_gpu_request){.iterations = 1}, &result, &err), RGM_UNAVAILABLE);
    CHECK(strstr(err.message, "NVRTC 13.0 is newer than the driver, which is for CUDA 12.4") != NULL);
    CHECK_EQ_I64(get("live"), 0);
}

TEST(parameters_out_of_bounds_are_named) {
    rgm_workload_shape shape;
    rgm_error err;
    double values[RGM_WORKLOAD_PARAMETERS], wrong[] = {100.5}, none[] = {0}, nan_value[] = {NAN};
    const rgm_workload *add = rgm_workload_find("vector_add"), *conv = rgm_workload_find("conv2d");
    CHECK_EQ_I64(rgm_workload_prepare(add, wrong, values, &shape, &err), RGM_INVALID);
    CHECK_STR_EQ(err.message, "vector_add: n is 100.5; a whole number from 1 to 2.68435e+08 is needed");
    CHECK_EQ_I64(rgm_workload_prepare(add, none, values, &shape, &err), RGM_INVALID);
    CHECK_EQ_I64(rgm_workload_prepare(add, nan_value, values, &shape, &err), RGM_INVALID);
    double small[] = {2, 2, 7, 1, 1}; // a kernel larger than the image with its border
    CHECK_EQ_I64(rgm_workload_prepare(conv, small, values, &shape, &err), RGM_INVALID);
    CHECK(rgm_workload_find("nothing") == NULL);
}

// The documented sizes, which the documentation's table repeats.
TEST(work_of_the_documented_sizes) {
    static const struct {
        const char *name;
        double operations, bytes;
    } rows[] = {
        {"ar_forecast", 2 * 5 * 10, 4 * (5 + 5 + 10)},
        {"lstm_cell_forward", 32 * 128 * (8 * (64 + 128) + 9),
         4 * (32 * 64 + 2 * 32 * 128 + 512 * 64 + 512 * 128 + 512 + 2 * 32 * 128)},
        {"pixel_entropy", 512.0 * 512 * (2 * 16 * 3 + 3), 2 * 4 * 512 * 512},
        {"conv2d", 2.0 * 9 * 256 * 256, 4 * (2 * 256 * 256 + 9)},
        {"image_segmentation", 15.0 * 256 * 256, 4 * 2 * 256 * 256},
        {"dendritic_integration", 10 * 8 * (2 * 16 + 5 + 1), 4 * (2 * 10 * 8 * 16 + 10 + 10)},
        {"vector_add", 100000, 12 * 100000},
        {"matrix_multiply", 2.0 * 256 * 256 * 256, 4 * 3 * 256 * 256},
        {"dot_product", 2 * 100000, 8 * 100000 + 4},
    };
    CHECK_EQ_U64(sizeof rows / sizeof *rows, rgm_workloads_count);
    for (size_t i = 0; i < rgm_workloads_count; i++) {
        rgm_workload_shape shape;
        rgm_error err;
        double values[RGM_WORKLOAD_PARAMETERS];
        CHECK_STR_EQ(rgm_workloads[i]->name, rows[i].name);
        CHECK_OK(rgm_workload_prepare(rgm_workloads[i], NULL, values, &shape, &err));
        CHECK_NEAR(shape.operations, rows[i].operations, 0);
        CHECK_NEAR(shape.bytes, rows[i].bytes, 0);
    }
}

// --- the queue itself: what calibration launches its kernels with ----------------------------------------

TEST(a_calibration_kernel_runs_through_the_queue) {
    rgm_gpu_queue queue;
    rgm_error err;
    rgm_cu_pointer from = 0, to = 0;
    unsigned out[64] = {0}, in[64];
    uint32_t gaps = 0;
    REQUIRE(begin());
    for (unsigned i = 0; i < 64; i++) in[i] = i * 2654435761u;
    REQUIRE(rgm_gpu_open(&queue, 0, "copy", NULL, &err) == RGM_OK);
    CHECK_EQ_I64(queue.driver->memory_alloc(&from, sizeof in), 0);
    CHECK_EQ_I64(queue.driver->memory_alloc(&to, sizeof out), 0);
    CHECK_EQ_I64(queue.driver->copy_to_device(from, in, sizeof in, queue.stream), 0);
    unsigned long long units = sizeof in / 16;
    void *arguments[] = {&to, &from, &units};
    rgm_gpu_launch what = {.grid = {2, 1, 1}, .block = {32, 1, 1}, .arguments = arguments};
    CHECK_OK(rgm_gpu_load(&queue, "bandwidth", "rgm_copy", &what.function));
    CHECK_OK(rgm_gpu_warm_up(&queue, &what, 1));
    CHECK_OK(rgm_gpu_time(&queue, &what, 130, times, &gaps));
    CHECK_EQ_U64(gaps, 0);
    CHECK(times[0] > 0 && times[129] > 0);
    CHECK_EQ_I64(queue.driver->copy_to_host(out, to, sizeof out, queue.stream), 0);
    CHECK_EQ_I64(queue.driver->stream_synchronize(queue.stream), 0);
    CHECK(memcmp(out, in, sizeof out) == 0);
    CHECK_EQ_I64(queue.driver->memory_free(from), 0);
    CHECK_EQ_I64(queue.driver->memory_free(to), 0);
    rgm_gpu_close(&queue);
    CHECK_EQ_I64(get("live"), 0);
}

TEST(a_queue_refuses_what_it_cannot_load) {
    rgm_gpu_queue queue;
    rgm_error err;
    rgm_cu_function function;
    REQUIRE(begin());
    REQUIRE(rgm_gpu_open(&queue, 0, "calibration", NULL, &err) == RGM_OK);
    CHECK_EQ_I64(rgm_gpu_load(&queue, "nothing", "rgm_copy", &function), RGM_INVALID);
    CHECK_EQ_I64(rgm_gpu_load(&queue, "bandwidth", "nothing", &function), RGM_UNAVAILABLE);
    CHECK_STR_EQ(err.message, "calibration: finding the kernel failed with CUDA_ERROR_OF_THE_FAKE");
    rgm_status status = RGM_OK;
    for (int i = 0; i < 40 && status == RGM_OK; i++)
        status = rgm_gpu_load(&queue, "bandwidth", "rgm_copy", &function);
    CHECK_EQ_I64(status, RGM_LIMIT);
    rgm_gpu_close(&queue);
    CHECK_EQ_I64(get("live"), 0);
    set("capability", 75);
    REQUIRE(rgm_gpu_open(&queue, 0, "calibration", NULL, &err) == RGM_OK);
    CHECK_EQ_I64(rgm_gpu_load(&queue, "tensor_sm80", "rgm_mma_bf16", &function), RGM_UNAVAILABLE);
    CHECK_STR_EQ(err.message, "tensor_sm80 needs compute capability 8.0, sm_75 is below");
    rgm_gpu_close(&queue);
}
