// SPDX-License-Identifier: Apache-2.0
#include "cuda/library/device_buffers.h"

#include "base/memory.h"
#include "cuda/library/driver.h"

enum { DISABLE_TIMING = 2 }; // CU_EVENT_DISABLE_TIMING

typedef struct {
    const rgm_driver *driver;
    rgm_cu_device device;
    rgm_cu_context context;
    int ordinal;
} device_memory;

static rgm_status failed(const device_memory *from, rgm_cu_result result, const char *what, size_t bytes,
                         rgm_error *err) {
    return rgm_error_set(err, result == RGM_CU_OUT_OF_MEMORY ? RGM_LIMIT : RGM_UNAVAILABLE,
                         "device %d: %s %zu bytes failed with %s", from->ordinal, what, bytes,
                         rgm_driver_text(from->driver, result));
}

// Makes the context current, in a mode in which nothing that is called here disturbs a capture of any thread.
static rgm_cu_result enter(const device_memory *from, int *saved) {
    rgm_cu_result result = from->driver->context_push(from->context);
    *saved = RGM_CU_CAPTURE_MODE_RELAXED;
    if (result == RGM_CU_SUCCESS && from->driver->exchange_capture_mode)
        (void)from->driver->exchange_capture_mode(saved);
    return result;
}

static void leave(const device_memory *from, int saved) {
    rgm_cu_context popped;
    if (from->driver->exchange_capture_mode) (void)from->driver->exchange_capture_mode(&saved);
    (void)from->driver->context_pop(&popped);
}

static rgm_status allocate(void *context, size_t bytes, rgm_pool_memory *memory, rgm_error *err) {
    const device_memory *from = context;
    rgm_cu_pointer address = 0;
    int saved;
    if (rgm_driver_lost_by_fork())
        return rgm_error_set(err, RGM_UNAVAILABLE, "this process was forked from one that used CUDA");
    rgm_cu_result result = enter(from, &saved);
    if (result != RGM_CU_SUCCESS) return failed(from, result, "allocating", bytes, err);
    result = from->driver->memory_alloc(&address, bytes);
    leave(from, saved);
    if (result != RGM_CU_SUCCESS) return failed(from, result, "allocating", bytes, err);
    memory->address = address;
    return RGM_OK;
}

// cuMemFree waits for the work that uses the memory.
static void release(void *context, const rgm_pool_memory *memory) {
    const device_memory *from = context;
    int saved;
    if (rgm_driver_lost_by_fork() || enter(from, &saved) != RGM_CU_SUCCESS) return;
    (void)from->driver->memory_free(memory->address);
    if (memory->fence) (void)from->driver->event_destroy(memory->fence);
    leave(from, saved);
}

static bool mark(void *context, rgm_pool_memory *memory, uint64_t stream) {
    const device_memory *from = context;
    int saved;
    if (rgm_driver_lost_by_fork() || enter(from, &saved) != RGM_CU_SUCCESS) return false;
    rgm_cu_event event = memory->fence;
    bool done = event || from->driver->event_create(&event, DISABLE_TIMING) == RGM_CU_SUCCESS;
    if (done) {
        memory->fence = event;
        done = from->driver->event_record(event, (rgm_cu_stream)(uintptr_t)stream) == RGM_CU_SUCCESS;
    }
    leave(from, saved);
    return done;
}

static bool passed(void *context, const rgm_pool_memory *memory) {
    const device_memory *from = context;
    int saved;
    if (rgm_driver_lost_by_fork() || enter(from, &saved) != RGM_CU_SUCCESS) return false;
    bool done = from->driver->event_query(memory->fence) == RGM_CU_SUCCESS;
    leave(from, saved);
    return done;
}

static void close_device(void *context) {
    device_memory *from = context;
    if (!rgm_driver_lost_by_fork()) (void)from->driver->primary_release(from->device);
    rgm_free(from);
}

static rgm_status choose(device_memory *from, int device, rgm_error *err) {
    int count = 0;
    RGM_TRY(rgm_driver_start(&from->driver, err));
    RGM_TRY(rgm_library_needs(&from->driver->library, &rgm_driver_spec, RGM_DRIVER_EVENTS, err));
    RGM_TRY(rgm_library_needs(&from->driver->library, &rgm_driver_spec, RGM_DRIVER_MODULES, err));
    from->ordinal = device;
    if (from->driver->device_count(&count) != RGM_CU_SUCCESS || device < 0 || device >= count)
        return rgm_error_set(err, RGM_INVALID, "there is no device %d; this process sees %d", device, count);
    rgm_cu_result result = from->driver->device_get(&from->device, device);
    if (result == RGM_CU_SUCCESS) result = from->driver->primary_retain(&from->context, from->device);
    if (result == RGM_CU_SUCCESS) return RGM_OK;
    return rgm_error_set(err, RGM_UNAVAILABLE, "device %d: its context cannot be had: %s", device,
                         rgm_driver_text(from->driver, result));
}

rgm_status rgm_device_buffers_open(rgm_pool_source *source, int device, rgm_error *err) {
    device_memory *from = rgm_calloc(1, sizeof *from);
    if (!from) return rgm_error_no_memory(err);
    rgm_status status = choose(from, device, err);
    if (status != RGM_OK) {
        rgm_free(from);
        return status;
    }
    *source = (rgm_pool_source){.context = from,
                                .allocate = allocate,
                                .release = release,
                                .mark = mark,
                                .passed = passed,
                                .close = close_device};
    return RGM_OK;
}
