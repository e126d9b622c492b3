// SPDX-License-Identifier: Apache-2.0
// Events of the double of the driver. A part of cuda.c, which includes it once.
#ifndef RGM_FAKES_CUDA_EVENTS_H
#define RGM_FAKES_CUDA_EVENTS_H

FAKE_EXPORT int cuEventCreate(void **event, unsigned flags) {
    ENTER(cuEventCreate);
    CURRENT(context);
    *event = model_event_add(context, !(flags & 2u));
    LEAVE;
}

#define EVENT(variable, handle)                                                                              \
    model_event *variable = model_event_of(handle);                                                          \
    if (!variable) ANSWER(RGM_CU_INVALID_HANDLE);                                                            \
    if (model_event_dead(variable)) {                                                                        \
        FAKE_VALUE(dead_events)++;                                                                           \
        ANSWER(RGM_CU_CONTEXT_IS_DESTROYED);                                                                 \
    }

FAKE_EXPORT int cuEventDestroy_v2(void *event) {
    ENTER(cuEventDestroy_v2);
    EVENT(known, event);
    known->alive = false;
    LEAVE;
}

static int record(void *event, void *stream) {
    int result = RGM_CU_SUCCESS;
    EVENT(known, event);
    STREAM(in, stream);
    if (in->context != known->context) ANSWER(RGM_CU_INVALID_HANDLE);
    if (model_implicit(in)) {
        model_invalidate(in->context);
        FAKE_VALUE(invalidated)++;
        ANSWER(RGM_CU_STREAM_CAPTURE_IMPLICIT);
    }
    if (in->capture == MODEL_CAPTURE_INVALIDATED) ANSWER(RGM_CU_STREAM_CAPTURE_INVALIDATED);
    model_event_record(known, in, now_ns(), model_event_ns(FAKE_VALUE(follow) != 0, FAKE_VALUE(event_ns)));
done:
    return result;
}

FAKE_EXPORT int cuEventRecord(void *event, void *stream) {
    ENTER(cuEventRecord);
    result = record(event, stream);
    LEAVE;
}

#ifndef FAKE_CUDA_OLDER
FAKE_EXPORT int cuEventRecordWithFlags(void *event, void *stream, unsigned flags) {
    ENTER(cuEventRecordWithFlags);
    result = record(event, stream);
    LEAVE;
}
#endif

FAKE_EXPORT int cuEventQuery(void *event) {
    ENTER(cuEventQuery);
    EVENT(known, event);
    if (known->captured) {
        model_invalidate(known->context);
        FAKE_VALUE(invalidated)++;
        ANSWER(RGM_CU_CAPTURED_EVENT);
    }
    if ((result = offence()) != RGM_CU_SUCCESS) goto done;
    ANSWER(!known->recorded || known->passes_ns <= now_ns() ? RGM_CU_SUCCESS : RGM_CU_NOT_READY);
    LEAVE;
}

FAKE_EXPORT int cuEventSynchronize(void *event) {
    ENTER(cuEventSynchronize);
    EVENT(known, event);
    if (known->captured) ANSWER(RGM_CU_CAPTURED_EVENT);
    if ((result = offence()) != RGM_CU_SUCCESS) goto done;
    if (known->recorded) wait_until(known->passes_ns);
    LEAVE;
}

FAKE_EXPORT int cuEventElapsedTime(float *milliseconds, void *begin, void *end) {
    ENTER(cuEventElapsedTime);
    EVENT(first, begin);
    EVENT(last, end);
    if (!first->recorded || !last->recorded || !first->timing || !last->timing ||
        first->context != last->context)
        ANSWER(RGM_CU_INVALID_HANDLE);
    if (first->captured || last->captured) ANSWER(RGM_CU_CAPTURED_EVENT);
    int64_t now = now_ns();
    if (first->passes_ns > now || last->passes_ns > now) ANSWER(RGM_CU_NOT_READY);
    *milliseconds = model_milliseconds(last->passes_ns - first->passes_ns);
    LEAVE;
}

#endif
