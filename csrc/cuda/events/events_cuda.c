// SPDX-License-Identifier: Apache-2.0
// Event timing through the CUDA driver. The driver is never initialised here, and never loaded: what the
// program uses is used, so that a profiler makes no context of its own.
#include "cuda/events/event_provider.h"
#include "cuda/library/driver.h"

enum { STREAM_NON_BLOCKING = 1 };

static const rgm_driver *_Atomic driver; // set once, before any other function of this file is called

static rgm_cu_stream stream_of(uint64_t stream) {
    return (rgm_cu_stream)(uintptr_t)stream; // NOLINT(performance-no-int-to-ptr): handles are integers
}

static rgm_events_result result_of(rgm_cu_result result) {
    switch (result) {
    case RGM_CU_SUCCESS: return RGM_EVENTS_OK;
    case RGM_CU_NOT_READY: return RGM_EVENTS_NOT_READY;
    case RGM_CU_NOT_INITIALIZED:
    case RGM_CU_DEINITIALIZED: return RGM_EVENTS_DOWN;
    case RGM_CU_INVALID_CONTEXT:
    case RGM_CU_CONTEXT_IS_DESTROYED: return RGM_EVENTS_GONE;
    default: return RGM_EVENTS_REFUSED;
    }
}

static rgm_status open_driver(rgm_error *err) {
    const rgm_driver *found = NULL;
    RGM_TRY(rgm_driver_get(&found, RGM_LIBRARY_IF_LOADED, err));
    static const uint32_t needed[] = {RGM_DRIVER_EVENTS, RGM_DRIVER_CAPTURE, RGM_DRIVER_CAPTURE_MODE};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        RGM_TRY(rgm_library_needs(&found->library, &rgm_driver_spec, needed[i], err));
    rgm_cu_context context = NULL;
    rgm_cu_result result = found->context_current(&context);
    if (result != RGM_CU_SUCCESS)
        return rgm_error_set(err, RGM_UNAVAILABLE, "CUDA driver: the program has not initialised it (%s)",
                             rgm_driver_text(found, result));
    driver = found;
    return RGM_OK;
}

static rgm_events_result id_of(rgm_cu_context context, uint64_t *id) {
    unsigned long long found = 0;
    *id = 0;
    if (!driver->context_id) return RGM_EVENTS_OK; // a driver from before CUDA 12
    rgm_cu_result result = driver->context_id(context, &found);
    *id = found;
    return result_of(result);
}

static rgm_events_result context_of(uint64_t stream, void **context, uint64_t *id) {
    rgm_cu_context found = NULL;
    rgm_cu_result result = stream <= RGM_STREAM_OF_THREAD ? driver->context_current(&found)
                                                          : driver->stream_context(stream_of(stream), &found);
    *context = found;
    if (result != RGM_CU_SUCCESS) return result_of(result);
    return found ? id_of(found, id) : RGM_EVENTS_NO_CONTEXT;
}

// The program holds the context, so it stays when the reference that tells its handle is given back at once.
static rgm_events_result primary_of(rgm_cu_device device, void **context, uint64_t *id) {
    rgm_cu_context found = NULL;
    unsigned flags = 0;
    int active = 0;
    *context = NULL;
    if (driver->primary_state(device, &flags, &active) != RGM_CU_SUCCESS || !active)
        return RGM_EVENTS_NO_CONTEXT;
    if (driver->primary_retain(&found, device) != RGM_CU_SUCCESS) return RGM_EVENTS_NO_CONTEXT;
    (void)driver->primary_release(device);
    *context = found;
    return id_of(found, id);
}

static rgm_events_result primary(int ordinal, void **context, uint64_t *id) {
    rgm_cu_device device = -1;
    *context = NULL;
    if (driver->device_get(&device, ordinal) != RGM_CU_SUCCESS) return RGM_EVENTS_NO_CONTEXT;
    return primary_of(device, context, id);
}

// Of the default stream the driver tells whether the context that is current is a green one.
static rgm_events_result place_of(void *context, uint64_t id, rgm_events_place *place) {
    rgm_cu_device device = -1;
    rgm_cu_context popped;
    rgm_cu_green_context green = NULL;
    rgm_cu_result result = driver->context_push(context);
    if (result == RGM_CU_SUCCESS) {
        result = driver->context_device(&device);
        if (driver->stream_green && driver->stream_green(NULL, &green) != RGM_CU_SUCCESS) green = NULL;
        (void)driver->context_pop(&popped);
    }
    *place = (rgm_events_place){.home = context, .home_id = id, .device = (int16_t)device};
    if (result != RGM_CU_SUCCESS || !green) return result_of(result);
    return primary_of(device, &place->home, &place->home_id);
}

// An error is an answer too: the legacy stream cannot be used while a stream that waits for it is captured,
// and the question, unlike the use, does no harm to the capture.
static bool capturing(uint64_t stream) {
    int status = RGM_CU_CAPTURE_NONE;
    return driver->stream_capturing(stream_of(stream), &status) == RGM_CU_STREAM_CAPTURE_IMPLICIT ||
           status != RGM_CU_CAPTURE_NONE;
}

static rgm_events_result enter(void *context, uint64_t id, int *saved) {
    uint64_t now = 0;
    rgm_events_result result = id_of(context, &now);
    if (result != RGM_EVENTS_OK) return result;
    if (now != id) return RGM_EVENTS_GONE;
    result = result_of(driver->context_push(context));
    if (result != RGM_EVENTS_OK) return result;
    // A query from a thread in the default mode would invalidate a capture of any other thread.
    *saved = RGM_CU_CAPTURE_MODE_RELAXED;
    (void)driver->exchange_capture_mode(saved);
    return RGM_EVENTS_OK;
}

static void leave(int saved) {
    rgm_cu_context popped;
    (void)driver->exchange_capture_mode(&saved);
    (void)driver->context_pop(&popped);
}

static rgm_events_result create(void **event) {
    rgm_cu_event made = NULL;
    rgm_cu_result result = driver->event_create(&made, RGM_CU_EVENT_DEFAULT);
    *event = made;
    return result_of(result);
}

static void destroy(void *event) { (void)driver->event_destroy(event); }

static rgm_events_result record(void *event, uint64_t stream) {
    return result_of(driver->event_record(event, stream_of(stream)));
}

static rgm_events_result query(void *event) { return result_of(driver->event_query(event)); }

static rgm_events_result elapsed(void *begin, void *end, float *milliseconds) {
    return result_of(driver->event_elapsed(milliseconds, begin, end));
}

static rgm_events_result stream_new(uint64_t *stream) {
    rgm_cu_stream made = NULL;
    rgm_cu_result result = driver->stream_create(&made, STREAM_NON_BLOCKING);
    *stream = (uint64_t)(uintptr_t)made;
    return result_of(result);
}

static void stream_free(uint64_t stream) { (void)driver->stream_destroy(stream_of(stream)); }

const rgm_event_provider rgm_events_of_cuda = {
    .title = "CUDA driver",
    .open = open_driver,
    .context_of = context_of,
    .primary = primary,
    .place_of = place_of,
    .capturing = capturing,
    .enter = enter,
    .leave = leave,
    .create = create,
    .destroy = destroy,
    .record = record,
    .query = query,
    .elapsed = elapsed,
    .stream_new = stream_new,
    .stream_free = stream_free,
};
