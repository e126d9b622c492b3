// SPDX-License-Identifier: Apache-2.0
// Green contexts of the double of the driver: parts of a device, whose events are those of the primary
// context, and which one thread at a time may have current. A part of cuda.c, which includes it once.
#ifndef RGM_FAKES_CUDA_GREEN_H
#define RGM_FAKES_CUDA_GREEN_H

#ifndef FAKE_CUDA_OLDER
// The handle of a green context is none of a context before it is converted.
static void *green_handle(model_context *context) { return (char *)context + 1; }

static model_context *green_of(void *handle) {
    model_context *known = handle ? model_context_of((char *)handle - 1) : NULL;
    return known && known->part_of ? known : NULL;
}
#define GREEN(variable, handle)                                                                              \
    model_context *variable = green_of(handle);                                                              \
    if (!variable) ANSWER(RGM_CU_INVALID_CONTEXT);                                                           \
    if (!variable->alive) ANSWER(RGM_CU_CONTEXT_IS_DESTROYED)

FAKE_EXPORT int cuGreenCtxCreate(void **context, void *resources, int device, unsigned flags) {
    HEARD(cuGreenCtxCreate, NULL);
    enum { DEFAULT_STREAM = 1 };
    if (device < 0 || device >= FAKE_VALUE(devices)) ANSWER(RGM_CU_INVALID_DEVICE);
    if (flags != DEFAULT_STREAM) ANSWER(RGM_CU_INVALID_VALUE);
    model_context *whole = model_primary_retain(device), *made = model_context_new(device, false);
    if (!made) ANSWER(RGM_CU_OUT_OF_MEMORY);
    made->part_of = whole;
    *context = green_handle(made);
    call.context_number = (unsigned)made->id;
    call.device = device;
    call.multiprocessors = (unsigned)FAKE_VALUE(green_multiprocessors);
    TOLD;
}

FAKE_EXPORT int cuGreenCtxDestroy(void *context) {
    ENTER(cuGreenCtxDestroy);
    GREEN(known, context);
    known->alive = false;
    if (--known->part_of->retained <= 0) model_context_end(known->part_of);
    LEAVE;
}

FAKE_EXPORT int cuCtxFromGreenCtx(void **converted, void *context) {
    ENTER(cuCtxFromGreenCtx);
    GREEN(known, context);
    *converted = known;
    LEAVE;
}

FAKE_EXPORT int cuGreenCtxStreamCreate(void **stream, void *context, unsigned flags, int priority) {
    ENTER(cuGreenCtxStreamCreate);
    GREEN(known, context);
    if (flags != 1) ANSWER(RGM_CU_INVALID_VALUE); // it waits for no default stream
    *stream = model_stream_add(known, false);
    LEAVE;
}

FAKE_EXPORT int cuStreamGetGreenCtx(void *stream, void **context) {
    ENTER(cuStreamGetGreenCtx);
    STREAM(known, stream);
    *context = known->context->part_of ? green_handle(known->context) : NULL;
    LEAVE;
}
#endif

#endif
