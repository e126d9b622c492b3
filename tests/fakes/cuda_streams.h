// SPDX-License-Identifier: Apache-2.0
// Streams of the double of the driver, and captures in them. A part of cuda.c, which includes it once.
#ifndef RGM_FAKES_CUDA_STREAMS_H
#define RGM_FAKES_CUDA_STREAMS_H

// Waits until the device's clock has come to a time; a clock that stands still is put forward.
static void wait_until(int64_t device_ns) {
    while (now_ns() < device_ns) {
        int64_t left = device_ns - now_ns();
        if (!FAKE_VALUE(follow)) {
            model_advanced_ns += left;
            return;
        }
        pthread_mutex_unlock(&model_mutex);
        struct timespec pause = {left / 1000000000, left % 1000000000};
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&model_mutex);
    }
}

static fake_cuda_call begin_call(const char *symbol, void *stream);
static int end_call(fake_cuda_call *call, int result);

static int wait_for_context(void) {
    ENTER(cuCtxSynchronize);
    CURRENT(context);
    if ((result = offence()) != RGM_CU_SUCCESS) goto done;
    int64_t last = context->legacy.idle_ns;
    for (model_stream *at = model_streams; at; at = at->next)
        if (at->context == context && at->idle_ns > last) last = at->idle_ns;
    wait_until(last);
    LEAVE;
}

FAKE_EXPORT int cuCtxSynchronize(void) {
    if (!FAKE_VALUE(tell_waits)) return wait_for_context();
    fake_cuda_call call = begin_call("cuCtxSynchronize", NULL);
    return end_call(&call, wait_for_context());
}

FAKE_EXPORT int cuStreamCreate(void **stream, unsigned flags) {
    ENTER(cuStreamCreate);
    CURRENT(context);
    *stream = model_stream_add(context, !(flags & 1u));
    LEAVE;
}

FAKE_EXPORT int cuStreamDestroy_v2(void *stream) {
    ENTER(cuStreamDestroy_v2);
    model_stream *known = model_stream_of(stream);
    if (!known || (uintptr_t)stream <= 2) ANSWER(RGM_CU_INVALID_HANDLE);
    known->alive = false;
    LEAVE;
}

#define STREAM(variable, handle)                                                                             \
    model_stream *variable = model_stream_of(handle);                                                        \
    if (!variable) ANSWER((uintptr_t)(handle) <= 2 ? RGM_CU_INVALID_CONTEXT : RGM_CU_INVALID_HANDLE)

FAKE_EXPORT int cuStreamSynchronize(void *stream) {
    ENTER(cuStreamSynchronize);
    STREAM(known, stream);
    if ((result = offence()) != RGM_CU_SUCCESS) goto done;
    wait_until(known->legacy ? model_stream_ready(known, 0) : known->idle_ns);
    LEAVE;
}

FAKE_EXPORT int cuStreamQuery(void *stream) {
    ENTER(cuStreamQuery);
    STREAM(known, stream);
    if ((result = offence()) != RGM_CU_SUCCESS) goto done;
    ANSWER(known->idle_ns <= now_ns() ? RGM_CU_SUCCESS : RGM_CU_NOT_READY);
    LEAVE;
}

FAKE_EXPORT int cuStreamGetCtx(void *stream, void **context) {
    ENTER(cuStreamGetCtx);
    STREAM(known, stream);
    *context = known->context;
    LEAVE;
}

// --- capture ----------------------------------------------------------------------------------------------

FAKE_EXPORT int cuStreamIsCapturing(void *stream, int *status) {
    ENTER(cuStreamIsCapturing);
    STREAM(known, stream);
    if (model_implicit(known)) ANSWER(RGM_CU_STREAM_CAPTURE_IMPLICIT);
    *status = known->capture;
    LEAVE;
}

FAKE_EXPORT int cuStreamBeginCapture_v2(void *stream, int mode) {
    ENTER(cuStreamBeginCapture_v2);
    STREAM(known, stream);
    if (known->legacy) ANSWER(RGM_CU_STREAM_CAPTURE_UNSUPPORTED);
    if (known->capture) ANSWER(RGM_CU_INVALID_VALUE);
    known->capture = MODEL_CAPTURE_ACTIVE;
    known->capture_mode = mode;
    known->capturer = pthread_self();
    LEAVE;
}

FAKE_EXPORT int cuStreamEndCapture(void *stream, void **graph) {
    ENTER(cuStreamEndCapture);
    STREAM(known, stream);
    int was = known->capture;
    known->capture = MODEL_CAPTURE_NONE;
    *graph = was == MODEL_CAPTURE_ACTIVE ? known : NULL;
    if (was == MODEL_CAPTURE_INVALIDATED) ANSWER(RGM_CU_STREAM_CAPTURE_INVALIDATED);
    if (was == MODEL_CAPTURE_NONE) ANSWER(RGM_CU_INVALID_VALUE);
    LEAVE;
}

#ifndef FAKE_CUDA_OLDEST
FAKE_EXPORT int cuThreadExchangeStreamCaptureMode(int *mode) {
    ENTER(cuThreadExchangeStreamCaptureMode);
    int before = model_here.capture_mode;
    model_here.capture_mode = *mode;
    *mode = before;
    LEAVE;
}
#endif

#endif
