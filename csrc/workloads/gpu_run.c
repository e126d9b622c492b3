// SPDX-License-Identifier: Apache-2.0
#include "workloads/gpu_run.h"

#include <math.h>

#include "cuda/driver.h"
#include "workloads/arrays.h"

enum {
    BATCH = 64, // three entries each stay far below the thousand that fit in a stream's queue
    ATTRIBUTE_CAPABILITY_MAJOR = 75,
    ATTRIBUTE_CAPABILITY_MINOR = 76,
    STREAM_NON_BLOCKING = 1,
    HOST_MEMORY_MAPPED = 2,
};
static const unsigned long long hold_ns = 500000000; // longer than any host takes to enqueue a batch

// Words that the host and the holding kernel share.
typedef struct {
    int released;
    int gave_up;
} hold_words;

typedef struct {
    const rgm_driver *driver;
    const rgm_workload *workload;
    rgm_error *err;
    rgm_cu_device device;
    bool retained, pushed;
    rgm_cu_stream stream;
    rgm_cu_module module, hold_module;
    rgm_cu_function function, hold;
    rgm_cu_pointer buffers[RGM_WORKLOAD_BUFFERS];
    rgm_cu_event events[2 * BATCH];
    volatile hold_words *words; // pinned
    // What a launch points to: an eight-byte place an argument.
    uint64_t places[RGM_WORKLOAD_BUFFERS + RGM_WORKLOAD_PARAMETERS];
    void *arguments[RGM_WORKLOAD_BUFFERS + RGM_WORKLOAD_PARAMETERS];
    rgm_workload_shape shape;
} gpu_job;

static rgm_status check(const gpu_job *job, rgm_cu_result result, const char *what) {
    if (result == RGM_CU_SUCCESS) return RGM_OK;
    return rgm_error_set(job->err, result == RGM_CU_OUT_OF_MEMORY ? RGM_LIMIT : RGM_UNAVAILABLE,
                         "%s: %s failed with %s", job->workload->name, what,
                         rgm_driver_text(job->driver, result));
}

#define TRY_CU(job, call, what) RGM_TRY(check(job, (job)->driver->call, what))

// --- setting up -------------------------------------------------------------------------------------------

static rgm_status enter_context(gpu_job *job, int ordinal, int *capability) {
    int major = 0, minor = 0;
    rgm_cu_context context = NULL;
    TRY_CU(job, device_get(&job->device, ordinal), "finding the device");
    TRY_CU(job, device_attribute(&major, ATTRIBUTE_CAPABILITY_MAJOR, job->device), "asking the device");
    TRY_CU(job, device_attribute(&minor, ATTRIBUTE_CAPABILITY_MINOR, job->device), "asking the device");
    *capability = 10 * major + minor;
    TRY_CU(job, primary_retain(&context, job->device), "taking the device's context");
    job->retained = true;
    TRY_CU(job, context_push(context), "entering the device's context");
    job->pushed = true;
    TRY_CU(job, stream_create(&job->stream, STREAM_NON_BLOCKING), "making a stream");
    return RGM_OK;
}

// A compiler newer than the driver makes code that the driver cannot read, and the driver's answer does not
// say so.
static rgm_status not_loaded(const gpu_job *job, rgm_cu_result result) {
    const rgm_nvrtc *nvrtc;
    int version = 0;
    if (job->driver->driver_version(&version) != RGM_CU_SUCCESS || rgm_nvrtc_get(&nvrtc, NULL) != RGM_OK ||
        1000 * nvrtc->major + 10 * nvrtc->minor <= version)
        return check(job, result, "loading the kernel");
    return rgm_error_set(
        job->err, RGM_UNAVAILABLE,
        "%s: loading the kernel failed with %s; NVRTC %d.%d is newer than the driver, which is for "
        "CUDA %d.%d: install an older one (pip install nvidia-cuda-nvrtc-cu12)",
        job->workload->name, rgm_driver_text(job->driver, result), nvrtc->major, nvrtc->minor, version / 1000,
        version % 1000 / 10);
}

static rgm_status load(gpu_job *job, const char *file, const char *entry, const char *arch,
                       rgm_cubin_cache *cache, rgm_cu_module *module, rgm_cu_function *function) {
    rgm_bytes image = {0};
    rgm_status status = rgm_kernel_compile(file, arch, cache, &image, job->err);
    if (status == RGM_OK) {
        rgm_cu_result result = job->driver->module_load(module, image.data);
        if (result != RGM_CU_SUCCESS) status = not_loaded(job, result);
    }
    if (status == RGM_OK)
        status = check(job, job->driver->module_function(function, *module, entry), "finding the kernel");
    rgm_bytes_release(&image);
    return status;
}

static rgm_status make_buffers(gpu_job *job, const rgm_arrays *arrays) {
    const rgm_driver *driver = job->driver;
    for (size_t i = 0; job->workload->buffers[i].name; i++) {
        rgm_buffer_role role = job->workload->buffers[i].role;
        size_t bytes = arrays->bytes[i];
        TRY_CU(job, memory_alloc(&job->buffers[i], bytes), "allocating device memory");
        // What a kernel forgets to write is NaN, not the right result of an earlier run.
        rgm_cu_result result =
            role == RGM_BUFFER_INPUT
                ? driver->copy_to_device(job->buffers[i], arrays->data[i], bytes, job->stream)
                : driver->memory_set(job->buffers[i], role == RGM_BUFFER_SCRATCH ? 0 : 255, bytes,
                                     job->stream);
        RGM_TRY(check(job, result, "filling device memory"));
    }
    TRY_CU(job, stream_synchronize(job->stream), "filling device memory");
    return RGM_OK;
}

static void set_arguments(gpu_job *job, const double *values) {
    size_t n = 0;
    for (size_t i = 0; job->workload->buffers[i].name; i++) job->places[n++] = job->buffers[i];
    for (size_t i = 0; job->workload->parameters[i].name; i++, n++) {
        union {
            int whole;
            float number;
            uint64_t place;
        } value = {.place = 0};
        if (job->workload->parameters[i].whole)
            value.whole = (int)values[i];
        else
            value.number = (float)values[i];
        job->places[n] = value.place;
    }
    for (size_t i = 0; i < n; i++) job->arguments[i] = &job->places[i];
}

static rgm_status make_timing(gpu_job *job) {
    void *words = NULL;
    for (size_t i = 0; i < 2 * BATCH; i++)
        TRY_CU(job, event_create(&job->events[i], RGM_CU_EVENT_DEFAULT), "making an event");
    TRY_CU(job, memory_alloc_host(&words, sizeof(hold_words), HOST_MEMORY_MAPPED),
           "allocating pinned memory");
    job->words = words;
    return RGM_OK;
}

static void tear_down(gpu_job *job) {
    const rgm_driver *driver = job->driver;
    if (job->words) job->words->released = 1; // nothing may wait for it any more
    if (job->stream) (void)driver->stream_synchronize(job->stream);
    for (size_t i = 0; i < 2 * BATCH; i++)
        if (job->events[i]) (void)driver->event_destroy(job->events[i]);
    for (size_t i = 0; i < RGM_WORKLOAD_BUFFERS; i++)
        if (job->buffers[i]) (void)driver->memory_free(job->buffers[i]);
    if (job->words) (void)driver->memory_free_host((void *)(uintptr_t)job->words);
    if (job->module) (void)driver->module_unload(job->module);
    if (job->hold_module) (void)driver->module_unload(job->hold_module);
    if (job->stream) (void)driver->stream_destroy(job->stream);
    rgm_cu_context context;
    if (job->pushed) (void)driver->context_pop(&context);
    if (job->retained) (void)driver->primary_release(job->device);
}

// --- launching --------------------------------------------------------------------------------------------

static rgm_status launch(gpu_job *job) {
    const uint32_t *grid = job->shape.grid, *block = job->shape.block;
    TRY_CU(job,
           launch(job->function, grid[0], grid[1], grid[2], block[0], block[1], block[2], 0, job->stream,
                  job->arguments, NULL),
           "launching");
    return RGM_OK;
}

static rgm_status hold(gpu_job *job, int released) {
    // Pinned memory has one address for the host and the device.
    uint64_t flag = (uintptr_t)&job->words->released, gave_up = (uintptr_t)&job->words->gave_up;
    unsigned long long timeout_ns = hold_ns;
    void *arguments[] = {&flag, &gave_up, &timeout_ns};
    job->words->released = released;
    job->words->gave_up = 0;
    TRY_CU(job, launch(job->hold, 1, 1, 1, 1, 1, 1, 0, job->stream, arguments, NULL), "launching the hold");
    return RGM_OK;
}

// Loads both kernels onto the device: the first launch of a kernel can wait until the device is idle, which
// it never is while the hold runs.
static rgm_status warm_up(gpu_job *job, uint32_t launches) {
    RGM_TRY(hold(job, 1));
    for (uint32_t i = 0; i < launches || i == 0; i++) {
        RGM_TRY(launch(job));
        if (i % BATCH == BATCH - 1) TRY_CU(job, stream_synchronize(job->stream), "warming up");
    }
    TRY_CU(job, stream_synchronize(job->stream), "warming up");
    return RGM_OK;
}

static rgm_status enqueue(gpu_job *job, uint32_t count) {
    RGM_TRY(hold(job, 0));
    for (uint32_t i = 0; i < count; i++) {
        TRY_CU(job, event_record(job->events[2 * i], job->stream), "recording an event");
        RGM_TRY(launch(job));
        TRY_CU(job, event_record(job->events[2 * i + 1], job->stream), "recording an event");
    }
    return RGM_OK;
}

static rgm_status time_batch(gpu_job *job, uint32_t count, int64_t *times_ns, uint32_t *gaps) {
    rgm_status status = enqueue(job, count);
    job->words->released = 1;
    RGM_TRY(status);
    TRY_CU(job, stream_synchronize(job->stream), "running");
    if (job->words->gave_up) *gaps += count;
    for (uint32_t i = 0; i < count; i++) {
        float milliseconds = 0.0f;
        TRY_CU(job, event_elapsed(&milliseconds, job->events[2 * i], job->events[2 * i + 1]),
               "reading a time");
        times_ns[i] = llround((double)milliseconds * 1e6);
    }
    return RGM_OK;
}

static rgm_status run(gpu_job *job, const rgm_gpu_request *request, rgm_gpu_result *result) {
    RGM_TRY(warm_up(job, request->warmup));
    for (uint32_t done = 0; done < request->iterations;) {
        uint32_t count = request->iterations - done < BATCH ? request->iterations - done : BATCH;
        RGM_TRY(time_batch(job, count, request->times_ns + done, &result->gaps));
        done += count;
    }
    return RGM_OK;
}

static rgm_status copy_out(gpu_job *job, rgm_arrays *arrays) {
    for (size_t i = 0; job->workload->buffers[i].name; i++)
        if (job->workload->buffers[i].role == RGM_BUFFER_OUTPUT)
            TRY_CU(job, copy_to_host(arrays->data[i], job->buffers[i], arrays->bytes[i], job->stream),
                   "copying the result");
    TRY_CU(job, stream_synchronize(job->stream), "copying the result");
    return RGM_OK;
}

static rgm_status run_on_device(gpu_job *job, const rgm_gpu_request *request, const double *values,
                                rgm_arrays *arrays, rgm_gpu_result *result) {
    rgm_error *err = job->err;
    RGM_TRY(enter_context(job, request->device, &result->capability));
    RGM_TRY(rgm_nvrtc_target(result->capability, result->arch, sizeof result->arch, err));
    const char *name = job->workload->name;
    RGM_TRY(load(job, name, name, result->arch, request->cache, &job->module, &job->function));
    RGM_TRY(load(job, "latency", "rgm_hold", result->arch, request->cache, &job->hold_module, &job->hold));
    RGM_TRY(make_buffers(job, arrays));
    set_arguments(job, values);
    RGM_TRY(make_timing(job));
    RGM_TRY(run(job, request, result));
    return copy_out(job, arrays);
}

rgm_status rgm_gpu_run(const rgm_workload *workload, const rgm_gpu_request *request, rgm_gpu_result *result,
                       rgm_error *err) {
    double values[RGM_WORKLOAD_PARAMETERS];
    rgm_arrays arrays;
    gpu_job job = {.workload = workload, .err = err};
    *result = (rgm_gpu_result){0};
    if (request->iterations > RGM_GPU_MOST_ITERATIONS || request->warmup > RGM_GPU_MOST_ITERATIONS)
        return rgm_error_set(err, RGM_INVALID, "more than %d launches", RGM_GPU_MOST_ITERATIONS);
    RGM_TRY(rgm_workload_prepare(workload, request->parameters, values, &result->shape, err));
    RGM_TRY(rgm_driver_start(&job.driver, err));
    RGM_TRY(rgm_library_needs(&job.driver->library, &rgm_driver_spec, RGM_DRIVER_MODULES, err));
    RGM_TRY(rgm_library_needs(&job.driver->library, &rgm_driver_spec, RGM_DRIVER_EVENTS, err));
    RGM_TRY(rgm_arrays_make(&arrays, workload, values, &result->shape, request->inputs, err));
    job.shape = result->shape;
    rgm_status status = run_on_device(&job, request, values, &arrays, result);
    tear_down(&job);
    if (status == RGM_OK) rgm_arrays_take(&arrays, workload, request->outputs);
    rgm_arrays_free(&arrays);
    return status;
}
