// SPDX-License-Identifier: Apache-2.0
// Double of AMD's HIP runtime (libamdhip64.so): device_model.h behind the runtime's functions. A device has
// one context, and every thread begins on device 0. The numbers are those of the same names in cuda.c.
#include "cuda/library/hip_library.h"
#include "device_model.h"
#include "fake.h"

#define FUNCTIONS(F, X)                                                                                      \
    F(X, hipGetDevice)                                                                                       \
    F(X, hipSetDevice)                                                                                       \
    F(X, hipEventCreateWithFlags)                                                                            \
    F(X, hipEventDestroy)                                                                                    \
    F(X, hipEventRecord)                                                                                     \
    F(X, hipEventQuery)                                                                                      \
    F(X, hipEventElapsedTime)                                                                                \
    F(X, hipStreamCreateWithFlags)                                                                           \
    F(X, hipStreamDestroy)                                                                                   \
    F(X, hipStreamIsCapturing)                                                                               \
    F(X, hipThreadExchangeStreamCaptureMode)                                                                 \
    F(X, hipStreamGetDevice)

#define FUNCTION_NUMBERS(X, name) X(calls_##name, 0) X(fail_##name, 0)
#define NUMBERS(X)                                                                                           \
    X(devices, 2)                                                                                            \
    X(follow, 1)                                                                                             \
    X(offset_ns, 5000000000)                                                                                 \
    X(drift_ppm, 0)                                                                                          \
    X(event_ns, -1)                                                                                          \
    X(gone, 0)                                                                                               \
    X(invalidated, 0)                                                                                        \
    FUNCTIONS(FUNCTION_NUMBERS, X)

FAKE_NUMBERS(hip, "FAKE_HIP", NUMBERS)

static int64_t now_ns(void) {
    return model_at_ns(model_monotonic_ns(), FAKE_VALUE(follow) != 0, FAKE_VALUE(offset_ns),
                       FAKE_VALUE(drift_ppm));
}

static int admit(int calls) {
    fake_numbers[calls].value++;
    if (FAKE_VALUE(gone)) return RGM_HIP_DEINITIALIZED;
    if (!model_here.depth) model_here.stack[model_here.depth++] = model_primary_retain(0);
    return (int)fake_numbers[calls + 1].value;
}

#define ENTER(name)                                                                                          \
    pthread_mutex_lock(&model_mutex);                                                                        \
    int result = admit(FAKE_calls_##name);                                                                   \
    if (result != RGM_HIP_SUCCESS) goto done
#define ANSWER(value)                                                                                        \
    do {                                                                                                     \
        result = (value);                                                                                    \
        goto done;                                                                                           \
    } while (0)
#define LEAVE                                                                                                \
    done:                                                                                                    \
    pthread_mutex_unlock(&model_mutex);                                                                      \
    return result
#define STREAM(variable, handle)                                                                             \
    model_stream *variable = model_stream_of(handle);                                                        \
    if (!variable) ANSWER(RGM_HIP_INVALID_HANDLE)
#define EVENT(variable, handle)                                                                              \
    model_event *variable = model_event_of(handle);                                                          \
    if (!variable || model_event_dead(variable)) ANSWER(RGM_HIP_INVALID_HANDLE)

FAKE_EXPORT int hipGetDevice(int *device) {
    ENTER(hipGetDevice);
    *device = model_current()->device;
    LEAVE;
}

FAKE_EXPORT int hipSetDevice(int device) {
    ENTER(hipSetDevice);
    if (device < 0 || device >= FAKE_VALUE(devices)) ANSWER(RGM_HIP_INVALID_DEVICE);
    model_here.stack[0] = model_primary_retain(device);
    LEAVE;
}

FAKE_EXPORT int hipEventCreateWithFlags(void **event, unsigned flags) {
    ENTER(hipEventCreateWithFlags);
    *event = model_event_add(model_current(), !(flags & 2u));
    LEAVE;
}

FAKE_EXPORT int hipEventDestroy(void *event) {
    ENTER(hipEventDestroy);
    EVENT(known, event);
    known->alive = false;
    LEAVE;
}

FAKE_EXPORT int hipEventRecord(void *event, void *stream) {
    ENTER(hipEventRecord);
    EVENT(known, event);
    STREAM(in, stream);
    if (in->context != known->context) ANSWER(RGM_HIP_INVALID_HANDLE);
    model_event_record(known, in, now_ns(), model_event_ns(FAKE_VALUE(follow) != 0, FAKE_VALUE(event_ns)));
    LEAVE;
}

FAKE_EXPORT int hipEventQuery(void *event) {
    ENTER(hipEventQuery);
    EVENT(known, event);
    if (known->captured) ANSWER(RGM_HIP_CAPTURED_EVENT);
    if (model_offends()) {
        FAKE_VALUE(invalidated)++;
        ANSWER(RGM_HIP_STREAM_CAPTURE_UNSUPPORTED);
    }
    ANSWER(!known->recorded || known->passes_ns <= now_ns() ? RGM_HIP_SUCCESS : RGM_HIP_NOT_READY);
    LEAVE;
}

FAKE_EXPORT int hipEventElapsedTime(float *milliseconds, void *begin, void *end) {
    ENTER(hipEventElapsedTime);
    EVENT(first, begin);
    EVENT(last, end);
    if (!first->recorded || !last->recorded) ANSWER(RGM_HIP_INVALID_HANDLE);
    if (first->passes_ns > now_ns() || last->passes_ns > now_ns()) ANSWER(RGM_HIP_NOT_READY);
    *milliseconds = model_milliseconds(last->passes_ns - first->passes_ns);
    LEAVE;
}

FAKE_EXPORT int hipStreamCreateWithFlags(void **stream, unsigned flags) {
    ENTER(hipStreamCreateWithFlags);
    *stream = model_stream_add(model_current(), !(flags & 1u));
    LEAVE;
}

FAKE_EXPORT int hipStreamDestroy(void *stream) {
    ENTER(hipStreamDestroy);
    STREAM(known, stream);
    known->alive = false;
    LEAVE;
}

FAKE_EXPORT int hipStreamIsCapturing(void *stream, int *status) {
    ENTER(hipStreamIsCapturing);
    STREAM(known, stream);
    if (model_implicit(known)) ANSWER(RGM_HIP_STREAM_CAPTURE_IMPLICIT);
    *status = known->capture;
    LEAVE;
}

FAKE_EXPORT int hipThreadExchangeStreamCaptureMode(int *mode) {
    ENTER(hipThreadExchangeStreamCaptureMode);
    int before = model_here.capture_mode;
    model_here.capture_mode = *mode;
    *mode = before;
    LEAVE;
}

FAKE_EXPORT int hipStreamGetDevice(void *stream, int *device) {
    ENTER(hipStreamGetDevice);
    STREAM(known, stream);
    *device = known->context->device;
    LEAVE;
}

// --- what a test moves ------------------------------------------------------------------------------------

FAKE_EXPORT int fake_hip_work(void *stream, long long ns) {
    int64_t start;
    int result = RGM_HIP_SUCCESS;
    pthread_mutex_lock(&model_mutex);
    STREAM(in, stream);
    if (in->capture != MODEL_CAPTURE_ACTIVE) (void)model_work(in, now_ns(), ns, &start);
done:
    pthread_mutex_unlock(&model_mutex);
    return result;
}

FAKE_EXPORT void fake_hip_advance(long long ns) { model_advanced_ns += ns; }

FAKE_EXPORT void fake_hip_capture(void *stream, int status) {
    pthread_mutex_lock(&model_mutex);
    model_stream *known = model_stream_of(stream);
    if (known) {
        known->capture = status;
        known->capturer = pthread_self();
    }
    pthread_mutex_unlock(&model_mutex);
}
