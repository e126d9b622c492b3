// SPDX-License-Identifier: Apache-2.0
// Event timing through AMD's HIP runtime. HIP has no contexts to speak of: events belong to a device, which
// stands for the context here, and a reset shows only in the errors that follow it. The first call of HIP
// would initialise it, so it is used only once a library of the program has told a stream of its own.
#include "cuda/events/event_provider.h"
#include "cuda/library/hip_library.h"

static const rgm_hip *_Atomic hip; // set once, before any other function of this file is called

static rgm_hip_stream stream_of(uint64_t stream) {
    return (rgm_hip_stream)(uintptr_t)stream; // NOLINT(performance-no-int-to-ptr): handles are integers
}

// Device 0 is no NULL context.
static void *context_from(int device) {
    return (void *)(uintptr_t)(device + 1); // NOLINT(performance-no-int-to-ptr): never followed
}
static int device_from(void *context) { return (int)(uintptr_t)context - 1; }

static rgm_events_result result_of(rgm_hip_result result) {
    switch (result) {
    case RGM_HIP_SUCCESS: return RGM_EVENTS_OK;
    case RGM_HIP_NOT_READY: return RGM_EVENTS_NOT_READY;
    case RGM_HIP_NOT_INITIALIZED:
    case RGM_HIP_DEINITIALIZED: return RGM_EVENTS_DOWN;
    case RGM_HIP_INVALID_CONTEXT:
    case RGM_HIP_CONTEXT_IS_DESTROYED: return RGM_EVENTS_GONE;
    default: return RGM_EVENTS_REFUSED;
    }
}

static rgm_status open_runtime(rgm_error *err) {
    const rgm_hip *found = NULL;
    RGM_TRY(rgm_hip_get(&found, err));
    hip = found;
    return RGM_OK;
}

static rgm_events_result context_of(uint64_t stream, void **context, uint64_t *id) {
    int device = -1;
    bool own = stream > RGM_STREAM_OF_THREAD && hip->stream_device;
    rgm_hip_result result = own ? hip->stream_device(stream_of(stream), &device) : hip->get_device(&device);
    *context = result == RGM_HIP_SUCCESS ? context_from(device) : NULL;
    *id = 0;
    return result_of(result);
}

static rgm_events_result place_of(void *context, uint64_t id, rgm_events_place *place) {
    *place = (rgm_events_place){.home = context, .home_id = id, .device = (int16_t)device_from(context)};
    return RGM_EVENTS_OK;
}

static bool capturing(uint64_t stream) {
    int status = 0;
    return hip->stream_capturing(stream_of(stream), &status) == RGM_HIP_STREAM_CAPTURE_IMPLICIT ||
           status != 0;
}

// What leave needs, in one number: the device before, and the capture mode before.
static rgm_events_result enter(void *context, uint64_t id, int *saved) {
    int before = 0, mode = RGM_HIP_CAPTURE_MODE_RELAXED;
    (void)id;
    rgm_events_result result = result_of(hip->get_device(&before));
    if (result == RGM_EVENTS_OK && before != device_from(context))
        result = result_of(hip->set_device(device_from(context)));
    if (result != RGM_EVENTS_OK) return result;
    (void)hip->exchange_capture_mode(&mode);
    *saved = before * 4 + mode;
    return RGM_EVENTS_OK;
}

static void leave(int saved) {
    int mode = saved % 4;
    (void)hip->exchange_capture_mode(&mode);
    (void)hip->set_device(saved / 4);
}

static rgm_events_result create(void **event) {
    rgm_hip_event made = NULL;
    rgm_hip_result result = hip->event_create(&made, 0);
    *event = made;
    return result_of(result);
}

static void destroy(void *event) { (void)hip->event_destroy(event); }

static rgm_events_result record(void *event, uint64_t stream) {
    return result_of(hip->event_record(event, stream_of(stream)));
}

static rgm_events_result query(void *event) { return result_of(hip->event_query(event)); }

static rgm_events_result elapsed(void *begin, void *end, float *milliseconds) {
    return result_of(hip->event_elapsed(milliseconds, begin, end));
}

static rgm_events_result stream_new(uint64_t *stream) {
    rgm_hip_stream made = NULL;
    rgm_hip_result result = hip->stream_create(&made, RGM_HIP_STREAM_NON_BLOCKING);
    *stream = (uint64_t)(uintptr_t)made;
    return result_of(result);
}

static void stream_free(uint64_t stream) { (void)hip->stream_destroy(stream_of(stream)); }

const rgm_event_provider rgm_events_of_hip = {
    .title = "HIP runtime",
    .needs_source = true,
    .open = open_runtime,
    .context_of = context_of,
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
