// SPDX-License-Identifier: Apache-2.0
// Double of the CUDA driver (libcuda.so.1): device_model.h behind the driver's functions. What it offers
// beside them is in cuda.h. The numbers:
//   devices, version        what the driver tells of itself
//   ready                   1: initialised from the start, and every thread has device 0's primary context
//   follow                  1: device time runs with CLOCK_MONOTONIC; 0: only fake_cuda_advance moves it
//   offset_ns, drift_ppm    of the device's clock from CLOCK_MONOTONIC
//   kernel_ns               duration of a kernel that has none of its own
//   by_launch               1: kernels take as long as their work asks for: those of the stub of torch by
//                           their size, those of the calibration by their arguments
//   event_ns                what an event costs its stream; -1: 1.5 us where device time runs, else nothing
//   copy_bytes_per_us       rate of copies and sets
//   graph_ns                duration of a graph's replay
//   major, minor            of the compute capability
//   l2_bytes                of the cache: buffers of a calibration are several times as large
//   paper                   0: the devices have the name of a real one (NVIDIA H100 80GB HBM3)
//   gone                    1: the driver is shutting down (DEINITIALIZED)
//   calls, calls_in_child   all calls; those in a process that was forked after initialisation
//   stay_ns                 how long a call that makes a primary context stays in the driver when it is made
//   tell_waits              1: the listener is told of waits for the context, too
//   dead_events             calls that named an event of a context that is gone
//   invalidated             stream captures that a call from outside spoilt
//   green_multiprocessors   of a green context, whatever resources it was made of
//   shared_green            times that a green context was made current that another thread had current
#include "cuda.h"

#include "cuda/library/driver_types.h"
#include "device_model.h"
#include "fake.h"

#define FUNCTIONS(F, X)                                                                                      \
    F(X, cuInit)                                                                                             \
    F(X, cuDriverGetVersion)                                                                                 \
    F(X, cuDeviceGetCount)                                                                                   \
    F(X, cuDeviceGet)                                                                                        \
    F(X, cuDeviceGetName)                                                                                    \
    F(X, cuDeviceGetUuid)                                                                                    \
    F(X, cuDeviceGetAttribute)                                                                               \
    F(X, cuDeviceTotalMem_v2)                                                                                \
    F(X, cuCtxCreate_v2)                                                                                     \
    F(X, cuCtxDestroy_v2)                                                                                    \
    F(X, cuCtxGetCurrent)                                                                                    \
    F(X, cuCtxSetCurrent)                                                                                    \
    F(X, cuCtxGetDevice)                                                                                     \
    F(X, cuCtxPushCurrent_v2)                                                                                \
    F(X, cuCtxPopCurrent_v2)                                                                                 \
    F(X, cuCtxSynchronize)                                                                                   \
    F(X, cuCtxGetId)                                                                                         \
    F(X, cuGreenCtxCreate)                                                                                   \
    F(X, cuGreenCtxDestroy)                                                                                  \
    F(X, cuGreenCtxStreamCreate)                                                                             \
    F(X, cuCtxFromGreenCtx)                                                                                  \
    F(X, cuStreamGetGreenCtx)                                                                                \
    F(X, cuDevicePrimaryCtxRetain)                                                                           \
    F(X, cuDevicePrimaryCtxRelease_v2)                                                                       \
    F(X, cuDevicePrimaryCtxReset_v2)                                                                         \
    F(X, cuDevicePrimaryCtxGetState)                                                                         \
    F(X, cuStreamCreate)                                                                                     \
    F(X, cuStreamDestroy_v2)                                                                                 \
    F(X, cuStreamSynchronize)                                                                                \
    F(X, cuStreamQuery)                                                                                      \
    F(X, cuStreamGetCtx)                                                                                     \
    F(X, cuStreamIsCapturing)                                                                                \
    F(X, cuStreamBeginCapture_v2)                                                                            \
    F(X, cuStreamEndCapture)                                                                                 \
    F(X, cuThreadExchangeStreamCaptureMode)                                                                  \
    F(X, cuEventCreate)                                                                                      \
    F(X, cuEventDestroy_v2)                                                                                  \
    F(X, cuEventRecord)                                                                                      \
    F(X, cuEventRecordWithFlags)                                                                             \
    F(X, cuEventQuery)                                                                                       \
    F(X, cuEventSynchronize)                                                                                 \
    F(X, cuEventElapsedTime)                                                                                 \
    F(X, cuModuleLoadData)                                                                                   \
    F(X, cuModuleUnload)                                                                                     \
    F(X, cuModuleGetFunction)                                                                                \
    F(X, cuLaunchKernel)                                                                                     \
    F(X, cuMemAlloc_v2)                                                                                      \
    F(X, cuMemFree_v2)                                                                                       \
    F(X, cuMemGetInfo_v2)                                                                                    \
    F(X, cuMemHostAlloc)                                                                                     \
    F(X, cuMemFreeHost)                                                                                      \
    F(X, cuMemAllocManaged)                                                                                  \
    F(X, cuMemAllocAsync)                                                                                    \
    F(X, cuMemAllocFromPoolAsync)                                                                            \
    F(X, cuMemFreeAsync)                                                                                     \
    F(X, cuMemPoolCreate)                                                                                    \
    F(X, cuMemPoolTrimTo)                                                                                    \
    F(X, cuMemPoolDestroy)                                                                                   \
    F(X, cuMemcpyHtoDAsync_v2)                                                                               \
    F(X, cuMemcpyDtoHAsync_v2)                                                                               \
    F(X, cuMemcpyDtoDAsync_v2)                                                                               \
    F(X, cuMemsetD8Async)                                                                                    \
    F(X, cuOccupancyMaxActiveBlocksPerMultiprocessor)                                                        \
    F(X, cuGraphInstantiateWithFlags)                                                                        \
    F(X, cuGraphLaunch)                                                                                      \
    F(X, cuGraphExecDestroy)                                                                                 \
    F(X, cuGraphDestroy)

#define FUNCTION_NUMBERS(X, name) X(calls_##name, 0) X(fail_##name, 0) X(skip_##name, 0)
#define NUMBERS(X)                                                                                           \
    X(devices, 1)                                                                                            \
    X(version, 13000)                                                                                        \
    X(ready, 0)                                                                                              \
    X(follow, 1)                                                                                             \
    X(offset_ns, 5000000000)                                                                                 \
    X(drift_ppm, 0)                                                                                          \
    X(kernel_ns, 10000)                                                                                      \
    X(event_ns, -1)                                                                                          \
    X(by_launch, 0)                                                                                          \
    X(copy_bytes_per_us, 20000)                                                                              \
    X(memory_bytes, 8589934592)                                                                              \
    X(multiprocessors, 132)                                                                                  \
    X(graph_ns, 100000)                                                                                      \
    X(major, 9)                                                                                              \
    X(minor, 0)                                                                                              \
    X(l2_bytes, 52428800)                                                                                    \
    X(paper, 1)                                                                                              \
    X(gone, 0)                                                                                               \
    X(calls, 0)                                                                                              \
    X(calls_in_child, 0)                                                                                     \
    X(stay_ns, 0)                                                                                            \
    X(tell_waits, 0)                                                                                         \
    X(dead_events, 0)                                                                                        \
    X(invalidated, 0)                                                                                        \
    X(shared_green, 0)                                                                                       \
    X(green_multiprocessors, 16)                                                                             \
    FUNCTIONS(FUNCTION_NUMBERS, X)

FAKE_NUMBERS(cuda, "FAKE_CUDA", NUMBERS)

static bool initialised;
static bool in_child;
static fake_cuda_listener listener;
static void *listener_arg;
static uint32_t next_correlation;

// The mutex is made anew, because another thread of the parent may have held it.
static void forget_in_child(void) {
    in_child = initialised || FAKE_VALUE(ready);
    model_mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

__attribute__((constructor)) static void watch(void) { pthread_atfork(NULL, NULL, forget_in_child); }

static int64_t at_ns(int64_t host) {
    return model_at_ns(host, FAKE_VALUE(follow) != 0, FAKE_VALUE(offset_ns), FAKE_VALUE(drift_ppm));
}
static int64_t now_ns(void) { return at_ns(model_monotonic_ns()); }

// By one look at the clock, so that what lies between two times does not depend on when they are asked for.
static int64_t host_of(int64_t device_ns, int64_t host) { return device_ns - at_ns(host) + host; }

static bool starts_up(int number) {
    return number == FAKE_calls_cuInit || number == FAKE_calls_cuDriverGetVersion;
}

// Counts the call; the result that it has to give at once, or SUCCESS when it is to work.
static int admit(int calls) {
    fake_number *counts = &fake_numbers[calls], *fail = &fake_numbers[calls + 1],
                *skip = &fake_numbers[calls + 2];
    counts->value++;
    FAKE_VALUE(calls)++;
    if (in_child) {
        FAKE_VALUE(calls_in_child)++;
        return RGM_CU_NOT_INITIALIZED;
    }
    if (FAKE_VALUE(gone)) return RGM_CU_DEINITIALIZED;
    if (fail->value) {
        if (skip->value <= 0) return (int)fail->value;
        skip->value--;
    }
    if (FAKE_VALUE(ready)) {
        initialised = true;
        if (!model_here.depth) (void)model_push(model_primary_retain(0));
    }
    return initialised || starts_up(calls) ? RGM_CU_SUCCESS : RGM_CU_NOT_INITIALIZED;
}

// A function of the driver: ENTER takes the mutex and returns early, LEAVE lets it go.
#define ENTER(name)                                                                                          \
    pthread_mutex_lock(&model_mutex);                                                                        \
    int result = admit(FAKE_calls_##name);                                                                   \
    if (result != RGM_CU_SUCCESS) goto done
#define ANSWER(value)                                                                                        \
    do {                                                                                                     \
        result = (value);                                                                                    \
        goto done;                                                                                           \
    } while (0)
#define LEAVE                                                                                                \
    done:                                                                                                    \
    pthread_mutex_unlock(&model_mutex);                                                                      \
    return result

// The current context, or a reason why there is none that works.
static int current(model_context **context) {
    *context = model_current();
    if (!*context) return RGM_CU_INVALID_CONTEXT;
    return (*context)->alive ? RGM_CU_SUCCESS : RGM_CU_CONTEXT_IS_DESTROYED;
}
#define CURRENT(context)                                                                                     \
    model_context *context;                                                                                  \
    if ((result = current(&context)) != RGM_CU_SUCCESS) goto done

static int offence(void) {
    if (!model_offends()) return RGM_CU_SUCCESS;
    FAKE_VALUE(invalidated)++;
    return RGM_CU_STREAM_CAPTURE_UNSUPPORTED;
}

// --- devices and contexts ---------------------------------------------------------------------------------

FAKE_EXPORT int cuInit(unsigned flags) {
    ENTER(cuInit);
    if (FAKE_VALUE(devices) < 1) ANSWER(RGM_CU_NO_DEVICE);
    initialised = true;
    LEAVE;
}

FAKE_EXPORT int cuDriverGetVersion(int *version) {
    ENTER(cuDriverGetVersion);
    *version = (int)FAKE_VALUE(version);
    LEAVE;
}

FAKE_EXPORT int cuGetErrorName(int code, const char **text) {
    static const struct {
        int value;
        const char *name;
    } names[] = {
#define NAME(name, value) {value, "CUDA_ERROR_" #name},
        RGM_CU_RESULTS(NAME)
#undef NAME
    };
    *text = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].value == code) *text = names[i].name;
    return *text ? RGM_CU_SUCCESS : RGM_CU_INVALID_VALUE;
}

FAKE_EXPORT int cuDeviceGetCount(int *count) {
    ENTER(cuDeviceGetCount);
    *count = (int)FAKE_VALUE(devices);
    LEAVE;
}

FAKE_EXPORT int cuDeviceGet(int *device, int ordinal) {
    ENTER(cuDeviceGet);
    if (ordinal < 0 || ordinal >= FAKE_VALUE(devices)) ANSWER(RGM_CU_INVALID_DEVICE);
    *device = ordinal;
    LEAVE;
}

FAKE_EXPORT int cuDeviceGetName(char *name, int room, int device) {
    ENTER(cuDeviceGetName);
    if (FAKE_VALUE(paper))
        (void)snprintf(name, (size_t)room, "Paper GPU %d", device);
    else
        (void)snprintf(name, (size_t)room, "NVIDIA H100 80GB HBM3");
    LEAVE;
}

FAKE_EXPORT int cuDeviceGetUuid(rgm_cu_uuid *uuid, int device) {
    ENTER(cuDeviceGetUuid);
    for (int i = 0; i < 16; i++) uuid->bytes[i] = (unsigned char)(i * 16 + device);
    LEAVE;
}
FAKE_EXPORT int cuDeviceGetUuid_v2(rgm_cu_uuid *uuid, int device) { return cuDeviceGetUuid(uuid, device); }

// Those attributes that are asked for; what no test has needed yet is 0.
FAKE_EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device) {
    ENTER(cuDeviceGetAttribute);
    switch (attribute) {
    case 1: *value = 1024; break;                              // threads per block
    case 8: *value = 49152; break;                             // shared bytes per block
    case 10: *value = 32; break;                               // warp
    case 12: *value = 65536; break;                            // registers per block
    case 13: *value = 1755000; break;                          // kHz
    case 16: *value = (int)FAKE_VALUE(multiprocessors); break; //
    case 36: *value = 1593000; break;                          // memory kHz
    case 37: *value = 5120; break;                             // bus bits
    case 38: *value = (int)FAKE_VALUE(l2_bytes); break;        //
    case 39: *value = 2048; break;                             // threads per multiprocessor
    case 75: *value = (int)FAKE_VALUE(major); break;           // compute capability
    case 76: *value = (int)FAKE_VALUE(minor); break;           //
    case 81: *value = 233472; break;                           // shared bytes per multiprocessor
    case 82: *value = 65536; break;                            // registers per multiprocessor
    case 97: *value = 232448; break;                           // shared bytes per block, opt-in
    default: *value = 0;
    }
    LEAVE;
}

FAKE_EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    ENTER(cuDeviceTotalMem_v2);
    *bytes = (size_t)FAKE_VALUE(memory_bytes);
    LEAVE;
}

FAKE_EXPORT int cuCtxGetCurrent(void **context) {
    ENTER(cuCtxGetCurrent);
    *context = model_current();
    LEAVE;
}

FAKE_EXPORT int cuCtxSetCurrent(void *context) {
    ENTER(cuCtxSetCurrent);
    if (context && !model_context_of(context)) ANSWER(RGM_CU_INVALID_CONTEXT);
    if (model_here.depth) (void)model_pop();
    if (context) FAKE_VALUE(shared_green) += !model_push(context);
    LEAVE;
}

FAKE_EXPORT int cuCtxGetDevice(int *device) {
    ENTER(cuCtxGetDevice);
    CURRENT(context);
    *device = context->device;
    LEAVE;
}

FAKE_EXPORT int cuCtxPushCurrent_v2(void *context) {
    ENTER(cuCtxPushCurrent_v2);
    model_context *known = model_context_of(context);
    if (!known || model_here.depth == MODEL_STACK) ANSWER(RGM_CU_INVALID_CONTEXT);
    if (!known->alive) ANSWER(RGM_CU_CONTEXT_IS_DESTROYED);
    FAKE_VALUE(shared_green) += !model_push(known);
    LEAVE;
}

FAKE_EXPORT int cuCtxPopCurrent_v2(void **context) {
    ENTER(cuCtxPopCurrent_v2);
    if (!model_here.depth) ANSWER(RGM_CU_INVALID_CONTEXT);
    model_context *top = model_pop();
    if (context) *context = top;
    LEAVE;
}

#ifndef FAKE_CUDA_OLDER
FAKE_EXPORT int cuCtxGetId(void *context, unsigned long long *id) {
    ENTER(cuCtxGetId);
    model_context *known = context ? model_context_of(context) : model_current();
    if (!known) ANSWER(RGM_CU_INVALID_CONTEXT);
    if (!known->alive) ANSWER(RGM_CU_CONTEXT_IS_DESTROYED);
    *id = known->id;
    LEAVE;
}
#endif

static void go_inside(int step);

// The listener hears of a primary context when it is there, and before it ends. It may call the driver.
static void tell_primary(const char *symbol, int exit, model_context *context) {
    fake_cuda_call call = {.symbol = symbol, .exit = exit, .context = context, .device = context->device};
    fake_cuda_listener tell = listener;
    void *arg = listener_arg;
    const struct timespec stay = {FAKE_VALUE(stay_ns) / 1000000000, FAKE_VALUE(stay_ns) % 1000000000};
    pthread_mutex_unlock(&model_mutex);
    go_inside(1);
    if (tell) tell(arg, &call);
    if (exit && FAKE_VALUE(stay_ns)) nanosleep(&stay, NULL);
    go_inside(-1);
    pthread_mutex_lock(&model_mutex);
}

FAKE_EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) {
    ENTER(cuDevicePrimaryCtxRetain);
    if (device < 0 || device >= FAKE_VALUE(devices)) ANSWER(RGM_CU_INVALID_DEVICE);
    bool before = model_primary(device)->alive;
    *context = model_primary_retain(device);
    if (!before) tell_primary("cuDevicePrimaryCtxRetain", 1, *context);
    LEAVE;
}

FAKE_EXPORT int cuDevicePrimaryCtxRelease_v2(int device) {
    ENTER(cuDevicePrimaryCtxRelease_v2);
    model_context *context = model_primary(device);
    if (!context->alive) ANSWER(RGM_CU_INVALID_CONTEXT);
    if (context->retained <= 1) tell_primary("cuDevicePrimaryCtxRelease_v2", 0, context);
    if (--context->retained <= 0) model_context_end(context);
    LEAVE;
}

FAKE_EXPORT int cuDevicePrimaryCtxReset_v2(int device) {
    ENTER(cuDevicePrimaryCtxReset_v2);
    if (model_primary(device)->alive) tell_primary("cuDevicePrimaryCtxReset_v2", 0, model_primary(device));
    model_context_end(model_primary(device));
    LEAVE;
}

FAKE_EXPORT int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
    ENTER(cuDevicePrimaryCtxGetState);
    *flags = 0;
    *active = model_primary(device)->alive;
    LEAVE;
}

#include "cuda_streams.h"

#include "cuda_events.h"

#include "cuda_work.h"

#include "cuda_green.h"

// --- graphs: what was captured is not known, a replay takes the number graph_ns ---------------------------

#ifndef FAKE_CUDA_OLDER
FAKE_EXPORT int cuGraphInstantiateWithFlags(void **made, void *graph, unsigned long long flags) {
    ENTER(cuGraphInstantiateWithFlags);
    if (!graph) ANSWER(RGM_CU_INVALID_VALUE);
    *made = graph;
    LEAVE;
}

FAKE_EXPORT int cuGraphLaunch(void *graph, void *stream) {
    int64_t start;
    ENTER(cuGraphLaunch);
    STREAM(in, stream);
    (void)model_work(in, now_ns(), FAKE_VALUE(graph_ns), &start);
    LEAVE;
}

FAKE_EXPORT int cuGraphExecDestroy(void *graph) {
    ENTER(cuGraphExecDestroy);
    LEAVE;
}

FAKE_EXPORT int cuGraphDestroy(void *graph) {
    ENTER(cuGraphDestroy);
    LEAVE;
}
#endif

// --- what a test moves ------------------------------------------------------------------------------------

FAKE_EXPORT int fake_cuda_work(void *stream, long long ns) {
    int64_t start;
    int result = RGM_CU_SUCCESS;
    pthread_mutex_lock(&model_mutex);
    STREAM(in, stream);
    if (in->capture != MODEL_CAPTURE_ACTIVE) (void)model_work(in, now_ns(), ns, &start);
done:
    pthread_mutex_unlock(&model_mutex);
    return result;
}

FAKE_EXPORT int fake_cuda_is_maker(void *context) {
    pthread_mutex_lock(&model_mutex);
    model_context *known = model_context_of(context);
    int is = known && pthread_equal(known->maker, pthread_self());
    pthread_mutex_unlock(&model_mutex);
    return is;
}

FAKE_EXPORT void fake_cuda_unsafe(void) {
    pthread_mutex_lock(&model_mutex);
    (void)offence();
    pthread_mutex_unlock(&model_mutex);
}

FAKE_EXPORT void fake_cuda_advance(long long ns) { model_advanced_ns += ns; }
FAKE_EXPORT long long fake_cuda_now(void) { return now_ns(); }

FAKE_EXPORT long long fake_cuda_idle_at(void *stream) {
    pthread_mutex_lock(&model_mutex);
    model_stream *known = model_stream_of(stream);
    long long at = known ? known->idle_ns : -1;
    pthread_mutex_unlock(&model_mutex);
    return at;
}

FAKE_EXPORT void fake_cuda_restart(void) {
    pthread_mutex_lock(&model_mutex);
    for (model_event *at = model_events; at; at = at->next) at->alive = false;
    for (model_stream *at = model_streams; at; at = at->next) at->alive = false, at->capture = 0;
    for (int i = 0; i < MODEL_CONTEXTS; i++)
        if (!model_contexts[i].primary) model_contexts[i].used = model_contexts[i].alive = false;
    for (int i = 0; i < MODEL_CONTEXTS; i++) model_context_end(&model_contexts[i]);
    model_here = (model_thread){.depth = 0};
    model_advanced_ns = 0;
    initialised = false;
    next_correlation = 0;
    for (size_t i = 0; i < FAKE_NUMBER_COUNT; i++) {
        const char *name = fake_numbers[i].name;
        if (!strncmp(name, "calls", 5) || !strncmp(name, "fail_", 5) || !strncmp(name, "skip_", 5))
            fake_numbers[i].value = 0;
    }
    FAKE_VALUE(gone) = FAKE_VALUE(dead_events) = FAKE_VALUE(invalidated) = FAKE_VALUE(shared_green) = 0;
    pthread_mutex_unlock(&model_mutex);
}
