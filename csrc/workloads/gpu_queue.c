// SPDX-License-Identifier: Apache-2.0
#include "workloads/gpu_queue.h"

#include <math.h>

enum {
    ATTRIBUTE_CAPABILITY_MAJOR = 75,
    ATTRIBUTE_CAPABILITY_MINOR = 76,
    STREAM_NON_BLOCKING = 1,
    HOST_MEMORY_MAPPED = 2,
};
static const unsigned long long hold_ns = 500000000; // longer than any host takes to enqueue a batch

rgm_status rgm_gpu_check(const rgm_gpu_queue *queue, rgm_cu_result result, const char *what) {
    if (result == RGM_CU_SUCCESS) return RGM_OK;
    return rgm_error_set(queue->err, result == RGM_CU_OUT_OF_MEMORY ? RGM_LIMIT : RGM_UNAVAILABLE,
                         "%s: %s failed with %s", queue->subject, what,
                         rgm_driver_text(queue->driver, result));
}

// --- opening and closing ----------------------------------------------------------------------------------

static rgm_status enter_context(rgm_gpu_queue *queue, int ordinal) {
    int major = 0, minor = 0;
    rgm_cu_context context = NULL;
    RGM_GPU_TRY(queue, device_get(&queue->device, ordinal), "finding the device");
    RGM_GPU_TRY(queue, device_attribute(&major, ATTRIBUTE_CAPABILITY_MAJOR, queue->device),
                "asking the device");
    RGM_GPU_TRY(queue, device_attribute(&minor, ATTRIBUTE_CAPABILITY_MINOR, queue->device),
                "asking the device");
    queue->capability = 10 * major + minor;
    RGM_TRY(rgm_nvrtc_target(queue->capability, queue->arch, sizeof queue->arch, queue->err));
    RGM_GPU_TRY(queue, primary_retain(&context, queue->device), "taking the device's context");
    queue->retained = true;
    RGM_GPU_TRY(queue, context_push(context), "entering the device's context");
    queue->pushed = true;
    RGM_GPU_TRY(queue, stream_create(&queue->stream, STREAM_NON_BLOCKING), "making a stream");
    return RGM_OK;
}

static rgm_status make_timing(rgm_gpu_queue *queue) {
    void *words = NULL;
    RGM_TRY(rgm_gpu_load(queue, "latency", "rgm_hold", &queue->hold));
    for (size_t i = 0; i < 2 * RGM_GPU_BATCH; i++)
        RGM_GPU_TRY(queue, event_create(&queue->events[i], RGM_CU_EVENT_DEFAULT), "making an event");
    RGM_GPU_TRY(queue, memory_alloc_host(&words, sizeof(rgm_gpu_hold), HOST_MEMORY_MAPPED),
                "allocating pinned memory");
    queue->words = words;
    return RGM_OK;
}

rgm_status rgm_gpu_open(rgm_gpu_queue *queue, int device, const char *subject, rgm_cubin_cache *cache,
                        rgm_error *err) {
    *queue = (rgm_gpu_queue){.subject = subject, .cache = cache, .err = err};
    RGM_TRY(rgm_driver_start(&queue->driver, err));
    RGM_TRY(rgm_library_needs(&queue->driver->library, &rgm_driver_spec, RGM_DRIVER_MODULES, err));
    RGM_TRY(rgm_library_needs(&queue->driver->library, &rgm_driver_spec, RGM_DRIVER_EVENTS, err));
    RGM_TRY(enter_context(queue, device));
    return make_timing(queue);
}

void rgm_gpu_close(rgm_gpu_queue *queue) {
    const rgm_driver *driver = queue->driver;
    if (queue->words) queue->words->released = 1; // nothing may wait for it any more
    if (queue->stream) (void)driver->stream_synchronize(queue->stream);
    for (size_t i = 0; i < 2 * RGM_GPU_BATCH; i++)
        if (queue->events[i]) (void)driver->event_destroy(queue->events[i]);
    if (queue->words) (void)driver->memory_free_host((void *)(uintptr_t)queue->words);
    for (size_t i = 0; i < queue->n_modules; i++) (void)driver->module_unload(queue->modules[i]);
    if (queue->stream) (void)driver->stream_destroy(queue->stream);
    rgm_cu_context context;
    if (queue->pushed) (void)driver->context_pop(&context);
    if (queue->retained) (void)driver->primary_release(queue->device);
    *queue = (rgm_gpu_queue){0};
}

// --- kernels ----------------------------------------------------------------------------------------------

// A compiler newer than the driver makes code that the driver cannot read, and the driver's answer does not
// say so.
static rgm_status not_loaded(const rgm_gpu_queue *queue, rgm_cu_result result) {
    const rgm_nvrtc *nvrtc;
    int version = 0;
    if (queue->driver->driver_version(&version) != RGM_CU_SUCCESS || rgm_nvrtc_get(&nvrtc, NULL) != RGM_OK ||
        1000 * nvrtc->major + 10 * nvrtc->minor <= version)
        return rgm_gpu_check(queue, result, "loading the kernel");
    return rgm_error_set(
        queue->err, RGM_UNAVAILABLE,
        "%s: loading the kernel failed with %s; NVRTC %d.%d is newer than the driver, which is for "
        "CUDA %d.%d: install an older one (pip install nvidia-cuda-nvrtc-cu12)",
        queue->subject, rgm_driver_text(queue->driver, result), nvrtc->major, nvrtc->minor, version / 1000,
        version % 1000 / 10);
}

rgm_status rgm_gpu_load(rgm_gpu_queue *queue, const char *file, const char *entry,
                        rgm_cu_function *function) {
    rgm_bytes image = {0};
    if (queue->n_modules == RGM_GPU_MODULES)
        return rgm_error_set(queue->err, RGM_LIMIT, "%s: more than %d kernels at once", queue->subject,
                             RGM_GPU_MODULES);
    rgm_cu_module *module = &queue->modules[queue->n_modules];
    rgm_status status = rgm_kernel_compile(file, queue->arch, queue->cache, &image, queue->err);
    if (status == RGM_OK) {
        rgm_cu_result result = queue->driver->module_load(module, image.data);
        if (result == RGM_CU_SUCCESS)
            queue->n_modules++;
        else
            status = not_loaded(queue, result);
    }
    rgm_bytes_release(&image);
    if (status != RGM_OK) return status;
    RGM_GPU_TRY(queue, module_function(function, *module, entry), "finding the kernel");
    return RGM_OK;
}

rgm_status rgm_gpu_launch_once(rgm_gpu_queue *queue, const rgm_gpu_launch *what) {
    const uint32_t *grid = what->grid, *block = what->block;
    RGM_GPU_TRY(queue,
                launch(what->function, grid[0], grid[1], grid[2], block[0], block[1], block[2], 0,
                       queue->stream, what->arguments, NULL),
                "launching");
    return RGM_OK;
}

static rgm_status hold(rgm_gpu_queue *queue, int released) {
    // Pinned memory has one address for the host and the device.
    uint64_t flag = (uintptr_t)&queue->words->released, gave_up = (uintptr_t)&queue->words->gave_up;
    unsigned long long timeout_ns = hold_ns;
    void *arguments[] = {&flag, &gave_up, &timeout_ns};
    queue->words->released = released;
    queue->words->gave_up = 0;
    return rgm_gpu_launch_once(queue, &(rgm_gpu_launch){queue->hold, {1, 1, 1}, {1, 1, 1}, arguments});
}

rgm_status rgm_gpu_warm_up(rgm_gpu_queue *queue, const rgm_gpu_launch *what, uint32_t launches) {
    // The hold is loaded too: nothing can be loaded while it runs.
    RGM_TRY(hold(queue, 1));
    for (uint32_t i = 0; i < launches || i == 0; i++) {
        RGM_TRY(rgm_gpu_launch_once(queue, what));
        if (i % RGM_GPU_BATCH == RGM_GPU_BATCH - 1)
            RGM_GPU_TRY(queue, stream_synchronize(queue->stream), "warming up");
    }
    RGM_GPU_TRY(queue, stream_synchronize(queue->stream), "warming up");
    return RGM_OK;
}

static rgm_status enqueue(rgm_gpu_queue *queue, const rgm_gpu_launch *what, uint32_t count) {
    RGM_TRY(hold(queue, 0));
    for (uint32_t i = 0; i < count; i++) {
        RGM_GPU_TRY(queue, event_record(queue->events[2 * i], queue->stream), "recording an event");
        RGM_TRY(rgm_gpu_launch_once(queue, what));
        RGM_GPU_TRY(queue, event_record(queue->events[2 * i + 1], queue->stream), "recording an event");
    }
    return RGM_OK;
}

static rgm_status time_batch(rgm_gpu_queue *queue, const rgm_gpu_launch *what, uint32_t count,
                             int64_t *times_ns, uint32_t *gaps) {
    rgm_status status = enqueue(queue, what, count);
    queue->words->released = 1;
    RGM_TRY(status);
    RGM_GPU_TRY(queue, stream_synchronize(queue->stream), "running");
    if (queue->words->gave_up) *gaps += count;
    for (uint32_t i = 0; i < count; i++) {
        float milliseconds = 0.0f;
        RGM_GPU_TRY(queue, event_elapsed(&milliseconds, queue->events[2 * i], queue->events[2 * i + 1]),
                    "reading a time");
        times_ns[i] = llround((double)milliseconds * 1e6);
    }
    return RGM_OK;
}

rgm_status rgm_gpu_time(rgm_gpu_queue *queue, const rgm_gpu_launch *what, uint32_t launches,
                        int64_t *times_ns, uint32_t *gaps) {
    for (uint32_t done = 0; done < launches;) {
        uint32_t count = launches - done < RGM_GPU_BATCH ? launches - done : RGM_GPU_BATCH;
        RGM_TRY(time_batch(queue, what, count, times_ns + done, gaps));
        done += count;
    }
    return RGM_OK;
}

static rgm_status enqueue_span(rgm_gpu_queue *queue, rgm_gpu_enqueue work, void *arg) {
    RGM_GPU_TRY(queue, event_record(queue->events[0], queue->stream), "recording an event");
    RGM_TRY(work(queue, arg));
    RGM_GPU_TRY(queue, event_record(queue->events[1], queue->stream), "recording an event");
    return RGM_OK;
}

rgm_status rgm_gpu_span(rgm_gpu_queue *queue, bool held, rgm_gpu_enqueue work, void *arg, int64_t *ns,
                        uint32_t *gaps) {
    float milliseconds = 0.0f;
    if (held) RGM_TRY(hold(queue, 0));
    rgm_status status = enqueue_span(queue, work, arg);
    queue->words->released = 1;
    RGM_TRY(status);
    RGM_GPU_TRY(queue, stream_synchronize(queue->stream), "running");
    if (held && queue->words->gave_up) (*gaps)++;
    RGM_GPU_TRY(queue, event_elapsed(&milliseconds, queue->events[0], queue->events[1]), "reading a time");
    *ns = llround((double)milliseconds * 1e6);
    return RGM_OK;
}
