// SPDX-License-Identifier: Apache-2.0
// Calls of the double of the driver that give the device work, and who listens to them: copies,
// kernels, and memory (cuda_memory.h). A part of cuda.c, which includes it once.
#ifndef RGM_FAKES_CUDA_WORK_H
#define RGM_FAKES_CUDA_WORK_H

#include <elf.h>

// --- listeners --------------------------------------------------------------------------------------------

// Calls of one thread may lie in one another: of a listener's.
static _Atomic(int) threads_inside;
static _Thread_local int calls_inside;

static void go_inside(int step) {
    if (step < 0 && calls_inside == 0) return; // of a double that was started anew in the call
    calls_inside += step;
    if (calls_inside == (step > 0)) threads_inside += step;
}

FAKE_EXPORT int fake_cuda_others_inside(void) { return threads_inside - (calls_inside > 0); }

// Under the mutex: what a listener is told; it is called without the mutex.
static fake_cuda_call begin_call_of(const char *symbol, void *stream, model_context *context) {
    fake_cuda_call call = {.symbol = symbol, .stream = stream, .device = -1};
    go_inside(1);
    pthread_mutex_lock(&model_mutex);
    call.correlation = ++next_correlation;
    if (!context) context = model_current();
    if (context) {
        call.context = context;
        call.context_number = (unsigned)context->id;
        call.device = context->device;
    }
    fake_cuda_listener tell = listener;
    void *arg = listener_arg;
    pthread_mutex_unlock(&model_mutex);
    if (tell) tell(arg, &call);
    return call;
}

static fake_cuda_call begin_call(const char *symbol, void *stream) {
    return begin_call_of(symbol, stream, NULL);
}

static int end_call(fake_cuda_call *call, int result) {
    pthread_mutex_lock(&model_mutex);
    fake_cuda_listener tell = listener;
    void *arg = listener_arg;
    call->exit = 1;
    call->result = result;
    int64_t host = model_monotonic_ns();
    call->host_start_ns = host_of(call->start_ns, host);
    call->host_end_ns = host_of(call->end_ns, host);
    pthread_mutex_unlock(&model_mutex);
    if (tell) tell(arg, call);
    go_inside(-1);
    return result;
}

FAKE_EXPORT void fake_cuda_subscribe(fake_cuda_listener tell, void *arg) {
    pthread_mutex_lock(&model_mutex);
    listener = tell;
    listener_arg = arg;
    pthread_mutex_unlock(&model_mutex);
}

// Queues the work of a call, except in a stream that is being captured.
static void queue(fake_cuda_call *call, model_stream *stream, int kind, int64_t ns) {
    call->stream_number = stream->number;
    call->context_number = (unsigned)stream->context->id;
    if (stream->capture == MODEL_CAPTURE_ACTIVE) return;
    call->kind = kind;
    call->end_ns = model_work(stream, now_ns(), ns, &call->start_ns);
}

#include "cuda_memory.h"

// --- contexts ---------------------------------------------------------------------------------------------

FAKE_EXPORT int cuCtxCreate_v2(void **context, unsigned flags, int device) {
    HEARD(cuCtxCreate_v2, NULL);
    model_context *made = model_context_new(device, false);
    result = !made || model_here.depth == MODEL_STACK ? RGM_CU_OUT_OF_MEMORY : RGM_CU_SUCCESS;
    if (result != RGM_CU_SUCCESS) goto done;
    (void)model_push(made);
    *context = call.context = made;
    TOLD;
}

// The listener hears of it before the context ends.
FAKE_EXPORT int cuCtxDestroy_v2(void *context) {
    pthread_mutex_lock(&model_mutex);
    model_context *known = model_context_of(context);
    bool alive = known && known->alive;
    pthread_mutex_unlock(&model_mutex);
    fake_cuda_call call = begin_call_of("cuCtxDestroy_v2", NULL, alive ? known : NULL);
    pthread_mutex_lock(&model_mutex);
    int result = admit(FAKE_calls_cuCtxDestroy_v2);
    if (result == RGM_CU_SUCCESS && !alive) result = RGM_CU_INVALID_CONTEXT;
    if (result == RGM_CU_SUCCESS) {
        model_context_end(known);
        if (model_current() == known) (void)model_pop();
    }
    pthread_mutex_unlock(&model_mutex);
    return end_call(&call, result);
}

// --- copies and sets --------------------------------------------------------------------------------------

static int64_t transfer_ns(size_t bytes) {
    return 1000 + (int64_t)bytes * 1000 / FAKE_VALUE(copy_bytes_per_us);
}

// A copy or a set, done on the host at once and queued on the device; `from` NULL sets `value`.
#define TRANSFER(name, to, from, set, kind_, copy_)                                                          \
    fake_cuda_call call = begin_call(#name, stream);                                                         \
    call.bytes = bytes;                                                                                      \
    call.copy = (copy_);                                                                                     \
    pthread_mutex_lock(&model_mutex);                                                                        \
    int result = admit(FAKE_calls_##name);                                                                   \
    if (result != RGM_CU_SUCCESS) goto done;                                                                 \
    STREAM(in, stream);                                                                                      \
    if (in->capture != MODEL_CAPTURE_ACTIVE) {                                                               \
        const void *source = (from);                                                                         \
        if (source)                                                                                          \
            memmove((void *)(uintptr_t)(to), source, bytes);                                                 \
        else                                                                                                 \
            memset((void *)(uintptr_t)(to), (set), bytes);                                                   \
    }                                                                                                        \
    queue(&call, in, kind_, transfer_ns(bytes));                                                             \
    done:                                                                                                    \
    pthread_mutex_unlock(&model_mutex);                                                                      \
    return end_call(&call, result)

FAKE_EXPORT int cuMemcpyHtoDAsync_v2(rgm_cu_pointer to, const void *from, size_t bytes, void *stream) {
    TRANSFER(cuMemcpyHtoDAsync_v2, to, from, 0, 2, 1);
}
FAKE_EXPORT int cuMemcpyDtoHAsync_v2(void *to, rgm_cu_pointer from, size_t bytes, void *stream) {
    TRANSFER(cuMemcpyDtoHAsync_v2, to, (void *)(uintptr_t)from, 0, 2, 2);
}
FAKE_EXPORT int cuMemcpyDtoDAsync_v2(rgm_cu_pointer to, rgm_cu_pointer from, size_t bytes, void *stream) {
    TRANSFER(cuMemcpyDtoDAsync_v2, to, (void *)(uintptr_t)from, 0, 2, 3);
}
FAKE_EXPORT int cuMemsetD8Async(rgm_cu_pointer to, unsigned char value, size_t bytes, void *stream) {
    TRANSFER(cuMemsetD8Async, to, NULL, value, 3, 0);
}

#include "calibration_times.h"

// --- kernels ----------------------------------------------------------------------------------------------

typedef struct {
    char name[128];
    fake_cuda_body body;
    int64_t ns; // < 0: the number kernel_ns
    const void *image;
} kernel;

// What cuModuleLoadData makes: where it was made from, which has to stay as it is.
typedef struct {
    const void *image;
} module_of;

enum { KERNELS = 256 };
static kernel kernels[KERNELS];
static size_t kernel_count;

static kernel *kernel_of(const char *name) {
    for (size_t i = 0; i < kernel_count; i++)
        if (strcmp(kernels[i].name, name) == 0) return &kernels[i];
    if (kernel_count == KERNELS) abort();
    kernel *made = &kernels[kernel_count++];
    (void)snprintf(made->name, sizeof made->name, "%s", name);
    made->ns = -1;
    return made;
}

FAKE_EXPORT void fake_cuda_kernel(const char *name, fake_cuda_body body, long long ns) {
    pthread_mutex_lock(&model_mutex);
    kernel *known = kernel_of(name);
    known->body = body;
    known->ns = ns;
    pthread_mutex_unlock(&model_mutex);
}

static _Thread_local int64_t next_ns = -1;

FAKE_EXPORT void fake_cuda_lasts(long long ns) { next_ns = ns; }

// As the driver knows it: nobody tells it the size of a binary.
static size_t elf_bytes(const void *image) {
    Elf64_Ehdr head;
    if (strncmp(image, ELFMAG, SELFMAG) != 0) return 0; // a text may be shorter
    memcpy(&head, image, sizeof head);
    return head.e_shoff + (size_t)head.e_shnum * head.e_shentsize;
}

FAKE_EXPORT int cuModuleLoadData(void **module, const void *image) {
    HEARD(cuModuleLoadData, NULL);
    CURRENT(context);
    module_of *made = malloc(sizeof *made);
    call.image_bytes = image ? elf_bytes(image) : 0;
    made->image = call.image = call.image_bytes ? image : NULL;
    *module = made;
    TOLD;
}

FAKE_EXPORT int cuModuleUnload(void *module) {
    ENTER(cuModuleUnload);
    free(module);
    LEAVE;
}

FAKE_EXPORT int cuModuleGetFunction(void **function, void *module, const char *name) {
    ENTER(cuModuleGetFunction);
    kernel *known = kernel_of(name);
    known->image = ((const module_of *)module)->image;
    *function = known;
    LEAVE;
}

FAKE_EXPORT int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                               unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                               void *stream, void **parameters, void **extra) {
    kernel *launched = function;
    int64_t told = next_ns;
    next_ns = -1;
    fake_cuda_call call = begin_call("cuLaunchKernel", stream);
    unsigned grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};
    fake_cuda_body body = NULL;
    memcpy(call.grid, grid, sizeof grid);
    memcpy(call.block, block, sizeof block);
    call.shared_bytes = shared_bytes;
    call.name = launched->name;
    call.image = launched->image;
    pthread_mutex_lock(&model_mutex);
    int result = admit(FAKE_calls_cuLaunchKernel);
    if (result != RGM_CU_SUCCESS) goto done;
    STREAM(in, stream);
    if (in->capture != MODEL_CAPTURE_ACTIVE) body = launched->body;
    if (told < 0) told = launched->ns;
    if (told < 0 && FAKE_VALUE(by_launch)) told = paper_ns(launched->name, grid, block, parameters);
    queue(&call, in, 1, told >= 0 ? told : FAKE_VALUE(kernel_ns));
    if (FAKE_VALUE(by_launch) && call.kind) paper_result(launched->name, parameters, call.start_ns);
done:
    pthread_mutex_unlock(&model_mutex);
    if (body) body(parameters, grid, block, shared_bytes);
    return end_call(&call, result);
}

FAKE_EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int block_size,
                                                            size_t shared_bytes) {
    ENTER(cuOccupancyMaxActiveBlocksPerMultiprocessor);
    if (block_size < 1) ANSWER(RGM_CU_INVALID_VALUE);
    *blocks = 2048 / block_size;
    LEAVE;
}

#endif
