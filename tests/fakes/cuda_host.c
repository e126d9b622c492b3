// SPDX-License-Identifier: Apache-2.0
// A CUDA driver whose device is this processor: it runs the kernels of csrc/workloads/kernels, compiled into
// it as C.
//
// Streams are queues that run when somebody waits for them, as a device does from the host's point of view:
// results are not there before, and what a launch points to is copied at the launch. Device memory ends at a
// page that cannot be touched, so an access beyond the end of a buffer is a crash.
#include <pthread.h>

#include "cuda/library/driver_types.h"
#include "fake.h"

// X(number, initial).
#define NUMBERS(X)                                                                                           \
    X(devices, 1)                                                                                            \
    X(capability, 90)                                                                                        \
    X(version, 13000)                                                                                        \
    X(fail_load, 0)   /* 1: no module can be loaded */                                                       \
    X(order, 0)       /* of the threads of a block: 0 by rank, 1 backwards, 2 mixed */                       \
    X(eager, 0)       /* 1: a launch runs at once, so a kernel that waits for the host waits in vain */      \
    X(fail_alloc, 0)  /* the n-th allocation fails; 0: none */                                               \
    X(fail_launch, 0) /* the n-th launch fails */                                                            \
    X(launches, 0)                                                                                           \
    X(allocations, 0)                                                                                        \
    X(live, 0) /* allocations, events, streams and modules that were not given back */
FAKE_NUMBERS(cuda_host, "FAKE_CUDA_HOST", NUMBERS)

// Kernels are written for a compiler that says less.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#include "workloads/kernels/ar_forecast.cu"
#include "workloads/kernels/arithmetic.cu"
#include "workloads/kernels/bandwidth.cu"
#include "workloads/kernels/dot_product.cu"
#include "workloads/kernels/latency.cu"
#include "workloads/kernels/vector_add.cu"

#include "workloads/kernels/conv2d.cu"
#undef WIDE
#undef HIGH
#undef TILE_WIDE
#undef TILE_HIGH
#include "workloads/kernels/image_segmentation.cu"
#undef ROWS
#undef COLUMNS
#include "workloads/kernels/pixel_entropy.cu"

#include "workloads/kernels/dendritic_integration.cu"
#undef SIDE
#include "workloads/kernels/lstm_cell_forward.cu"
#undef SIDE
#undef TILE
#include "workloads/kernels/matrix_multiply.cu"
#pragma GCC diagnostic pop

// --- kernels as functions of a list of arguments ----------------------------------------------------------

typedef const float *in;
typedef float *out;

#define A(i, type)                                                                                           \
    ({                                                                                                       \
        type value_##i;                                                                                      \
        memcpy(&value_##i, &a[i], sizeof value_##i);                                                         \
        value_##i;                                                                                           \
    })
#define SIZES(name, ...) static const unsigned char sizes_##name[] = {__VA_ARGS__};
#define BODY(name) static void call_##name(const uint64_t *a)
#define K0(name)                                                                                             \
    SIZES(name, 0)                                                                                           \
    BODY(name) { name(); }
#define K1(name, t0)                                                                                         \
    SIZES(name, sizeof(t0))                                                                                  \
    BODY(name) { name(A(0, t0)); }
#define K3(name, t0, t1, t2)                                                                                 \
    SIZES(name, sizeof(t0), sizeof(t1), sizeof(t2))                                                          \
    BODY(name) { name(A(0, t0), A(1, t1), A(2, t2)); }
#define K4(name, t0, t1, t2, t3)                                                                             \
    SIZES(name, sizeof(t0), sizeof(t1), sizeof(t2), sizeof(t3))                                              \
    BODY(name) { name(A(0, t0), A(1, t1), A(2, t2), A(3, t3)); }
#define K5(name, t0, t1, t2, t3, t4)                                                                         \
    SIZES(name, sizeof(t0), sizeof(t1), sizeof(t2), sizeof(t3), sizeof(t4))                                  \
    BODY(name) { name(A(0, t0), A(1, t1), A(2, t2), A(3, t3), A(4, t4)); }
#define K6(name, t0, t1, t2, t3, t4, t5)                                                                     \
    SIZES(name, sizeof(t0), sizeof(t1), sizeof(t2), sizeof(t3), sizeof(t4), sizeof(t5))                      \
    BODY(name) { name(A(0, t0), A(1, t1), A(2, t2), A(3, t3), A(4, t4), A(5, t5)); }
#define K8(name, t0, t1, t2, t3, t4, t5, t6, t7)                                                             \
    SIZES(name, sizeof(t0), sizeof(t1), sizeof(t2), sizeof(t3), sizeof(t4), sizeof(t5), sizeof(t6),          \
          sizeof(t7))                                                                                        \
    BODY(name) { name(A(0, t0), A(1, t1), A(2, t2), A(3, t3), A(4, t4), A(5, t5), A(6, t6), A(7, t7)); }
#define K11(name, t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10)                                               \
    SIZES(name, sizeof(t0), sizeof(t1), sizeof(t2), sizeof(t3), sizeof(t4), sizeof(t5), sizeof(t6),          \
          sizeof(t7), sizeof(t8), sizeof(t9), sizeof(t10))                                                   \
    BODY(name) {                                                                                             \
        name(A(0, t0), A(1, t1), A(2, t2), A(3, t3), A(4, t4), A(5, t5), A(6, t6), A(7, t7), A(8, t8),       \
             A(9, t9), A(10, t10));                                                                          \
    }

typedef unsigned long long size;
K6(ar_forecast, in, in, out, int, int, int)
K11(lstm_cell_forward, in, in, in, in, in, in, out, out, int, int, int)
K6(pixel_entropy, in, out, int, int, int, float)
K8(conv2d, in, in, out, int, int, int, int, int)
K5(image_segmentation, in, int *, int, int, float)
K8(dendritic_integration, in, in, in, out, int, int, int, int)
K4(vector_add, in, in, out, int)
K6(matrix_multiply, in, in, out, int, int, int)
K6(dot_product, in, in, out, out, unsigned *, int)
K3(rgm_copy, uint4 *, const uint4 *, size)
K5(rgm_triad, float4 *, const float4 *, const float4 *, float, size)
K3(rgm_read, unsigned *, const uint4 *, size)
K3(rgm_fill, uint4 *, unsigned, size)
K4(rgm_read_l2, unsigned *, const uint4 *, size, int)
K4(rgm_fma_fp32, float *, float, float, int)
K4(rgm_fma_fp64, double *, double, double, int)
K0(rgm_empty)
K5(rgm_chase, const unsigned *, unsigned, int, unsigned *, long long *)
K1(rgm_timestamp, long long *)
K3(rgm_hold, const volatile int *, int *, size)

struct rgm_cu_function_s {
    const char *name;
    void (*call)(const uint64_t *arguments);
    const unsigned char *sizes;
    size_t n;
};

#define ROW(name) {#name, call_##name, sizes_##name, sizeof sizes_##name}
static struct rgm_cu_function_s functions[] = {
    ROW(ar_forecast),        ROW(lstm_cell_forward), ROW(pixel_entropy),   ROW(conv2d),
    ROW(image_segmentation), ROW(vector_add),        ROW(matrix_multiply), ROW(dot_product),
    ROW(rgm_copy),           ROW(rgm_triad),         ROW(rgm_read),        ROW(rgm_fill),
    ROW(rgm_read_l2),        ROW(rgm_fma_fp32),      ROW(rgm_fma_fp64),    ROW(rgm_empty),
    ROW(rgm_chase),          ROW(rgm_timestamp),     ROW(rgm_hold),        ROW(dendritic_integration),
};

// --- streams ----------------------------------------------------------------------------------------------

enum { MOST_ARGUMENTS = 16 };

typedef struct work {
    enum { WORK_LAUNCH, WORK_RECORD, WORK_COPY, WORK_SET } kind;
    struct work *next;
    rgm_cu_function function;
    fiber_dim grid, block;
    uint64_t arguments[MOST_ARGUMENTS];
    rgm_cu_event event;
    void *to;
    const void *from;
    void *own; // a copy of what was to be copied to the device
    size_t bytes;
    int value;
} work;

struct rgm_cu_stream_s {
    work *first, **last;
};
struct rgm_cu_event_s {
    bool recorded;
    int64_t at_ns;
};
struct rgm_cu_module_s {
    int unused;
};
struct rgm_cu_context_s {
    int unused;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; // of the one device
static struct rgm_cu_context_s primary;
static _Thread_local rgm_cu_context stack[8]; // stack[depth] is current
static _Thread_local unsigned depth;

static void do_work(const work *w) {
    switch (w->kind) {
    case WORK_LAUNCH:
        fiber_launch(w->function->name, w->function->call, w->arguments, w->grid, w->block,
                     (int)FAKE_VALUE(order));
        break;
    case WORK_RECORD:
        w->event->recorded = true;
        w->event->at_ns = fiber_now_ns();
        break;
    case WORK_COPY: memcpy(w->to, w->own ? w->own : w->from, w->bytes); break;
    case WORK_SET: memset(w->to, w->value, w->bytes); break;
    }
}

static void drain(rgm_cu_stream stream) {
    while (stream->first) {
        work *w = stream->first;
        stream->first = w->next;
        do_work(w);
        free(w->own);
        free(w);
    }
    stream->last = &stream->first;
}

static rgm_cu_result enqueue(rgm_cu_stream stream, const work *given) {
    if (!depth) return RGM_CU_INVALID_CONTEXT;
    if (!stream) return RGM_CU_INVALID_HANDLE;
    work *w = malloc(sizeof *w);
    if (!w) return RGM_CU_OUT_OF_MEMORY;
    *w = *given;
    w->next = NULL;
    pthread_mutex_lock(&mutex);
    *stream->last = w;
    stream->last = &w->next;
    if (FAKE_VALUE(eager)) drain(stream);
    pthread_mutex_unlock(&mutex);
    return RGM_CU_SUCCESS;
}

// --- the driver's functions -------------------------------------------------------------------------------

#define EXPORT FAKE_EXPORT rgm_cu_result

EXPORT cuInit(unsigned flags) { return RGM_CU_SUCCESS; }
EXPORT cuDriverGetVersion(int *version) {
    *version = (int)FAKE_VALUE(version);
    return RGM_CU_SUCCESS;
}
EXPORT cuGetErrorName(rgm_cu_result result, const char **text) {
    *text = result == RGM_CU_OUT_OF_MEMORY   ? "CUDA_ERROR_OUT_OF_MEMORY"
            : result == RGM_CU_LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED"
                                             : "CUDA_ERROR_OF_THE_FAKE";
    return RGM_CU_SUCCESS;
}
EXPORT cuDeviceGetCount(int *count) {
    *count = (int)FAKE_VALUE(devices);
    return RGM_CU_SUCCESS;
}
EXPORT cuDeviceGet(rgm_cu_device *device, int ordinal) {
    *device = ordinal;
    return ordinal < (int)FAKE_VALUE(devices) ? RGM_CU_SUCCESS : RGM_CU_INVALID_DEVICE;
}
EXPORT cuDeviceGetName(char *name, int room, rgm_cu_device device) {
    (void)snprintf(name, (size_t)room, "this processor");
    return RGM_CU_SUCCESS;
}
EXPORT cuDeviceGetUuid(rgm_cu_uuid *uuid, rgm_cu_device device) {
    memset(uuid, device, sizeof *uuid);
    return RGM_CU_SUCCESS;
}
EXPORT cuDeviceGetAttribute(int *value, int attribute, rgm_cu_device device) {
    int capability = (int)FAKE_VALUE(capability);
    *value = attribute == 75 ? capability / 10 : attribute == 76 ? capability % 10 : 0;
    return RGM_CU_SUCCESS;
}
EXPORT cuDeviceTotalMem_v2(size_t *bytes, rgm_cu_device device) {
    *bytes = (size_t)1 << 30;
    return RGM_CU_SUCCESS;
}
EXPORT cuCtxGetCurrent(rgm_cu_context *context) {
    *context = stack[depth];
    return RGM_CU_SUCCESS;
}
EXPORT cuCtxGetDevice(rgm_cu_device *device) {
    *device = 0;
    return RGM_CU_SUCCESS;
}
EXPORT cuCtxPushCurrent_v2(rgm_cu_context context) {
    if (depth + 1 == sizeof stack / sizeof *stack) return RGM_CU_OUT_OF_MEMORY;
    stack[++depth] = context;
    return RGM_CU_SUCCESS;
}
EXPORT cuCtxPopCurrent_v2(rgm_cu_context *context) {
    if (!depth) return RGM_CU_INVALID_CONTEXT;
    *context = stack[depth--];
    return RGM_CU_SUCCESS;
}
EXPORT cuCtxSynchronize(void) { return RGM_CU_SUCCESS; }
EXPORT cuDevicePrimaryCtxRetain(rgm_cu_context *context, rgm_cu_device device) {
    *context = &primary;
    FAKE_VALUE(live)++;
    return RGM_CU_SUCCESS;
}
EXPORT cuDevicePrimaryCtxRelease_v2(rgm_cu_device device) {
    FAKE_VALUE(live)--;
    return RGM_CU_SUCCESS;
}
EXPORT cuDevicePrimaryCtxGetState(rgm_cu_device device, unsigned *flags, int *active) {
    *flags = 0;
    *active = 1;
    return RGM_CU_SUCCESS;
}
EXPORT cuStreamCreate(rgm_cu_stream *stream, unsigned flags) {
    *stream = calloc(1, sizeof **stream);
    if (!*stream) return RGM_CU_OUT_OF_MEMORY;
    (*stream)->last = &(*stream)->first;
    FAKE_VALUE(live)++;
    return RGM_CU_SUCCESS;
}
EXPORT cuStreamSynchronize(rgm_cu_stream stream) {
    pthread_mutex_lock(&mutex);
    drain(stream);
    pthread_mutex_unlock(&mutex);
    return RGM_CU_SUCCESS;
}
EXPORT cuStreamDestroy_v2(rgm_cu_stream stream) {
    (void)cuStreamSynchronize(stream);
    free(stream);
    FAKE_VALUE(live)--;
    return RGM_CU_SUCCESS;
}
EXPORT cuStreamGetCtx(rgm_cu_stream stream, rgm_cu_context *context) {
    *context = &primary;
    return RGM_CU_SUCCESS;
}
EXPORT cuEventCreate(rgm_cu_event *event, unsigned flags) {
    *event = calloc(1, sizeof **event);
    FAKE_VALUE(live)++;
    return *event ? RGM_CU_SUCCESS : RGM_CU_OUT_OF_MEMORY;
}
EXPORT cuEventDestroy_v2(rgm_cu_event event) {
    free(event);
    FAKE_VALUE(live)--;
    return RGM_CU_SUCCESS;
}
EXPORT cuEventRecord(rgm_cu_event event, rgm_cu_stream stream) {
    event->recorded = false;
    return enqueue(stream, &(work){.kind = WORK_RECORD, .event = event});
}
EXPORT cuEventQuery(rgm_cu_event event) { return event->recorded ? RGM_CU_SUCCESS : RGM_CU_NOT_READY; }
EXPORT cuEventSynchronize(rgm_cu_event event) { return cuEventQuery(event); }
EXPORT cuEventElapsedTime(float *milliseconds, rgm_cu_event begin, rgm_cu_event end) {
    if (!begin->recorded || !end->recorded) return RGM_CU_NOT_READY;
    *milliseconds = (float)((double)(end->at_ns - begin->at_ns) * 1e-6);
    return RGM_CU_SUCCESS;
}
EXPORT cuModuleLoadData(rgm_cu_module *module, const void *image) {
    // Machine code is an ELF file; PTX begins with a comment.
    if (memcmp(image, "\177ELF", 4) != 0 && memcmp(image, "//", 2) != 0) return RGM_CU_INVALID_VALUE;
    if (FAKE_VALUE(fail_load)) return RGM_CU_INVALID_VALUE;
    *module = calloc(1, sizeof **module);
    FAKE_VALUE(live)++;
    return *module ? RGM_CU_SUCCESS : RGM_CU_OUT_OF_MEMORY;
}
EXPORT cuModuleUnload(rgm_cu_module module) {
    free(module);
    FAKE_VALUE(live)--;
    return RGM_CU_SUCCESS;
}
EXPORT cuModuleGetFunction(rgm_cu_function *function, rgm_cu_module module, const char *name) {
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        *function = &functions[i];
        if (strcmp(functions[i].name, name) == 0) return RGM_CU_SUCCESS;
    }
    return RGM_CU_INVALID_VALUE;
}
EXPORT cuLaunchKernel(rgm_cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                      rgm_cu_stream stream, void **parameters, void **extra) {
    work w = {.kind = WORK_LAUNCH,
              .function = function,
              .grid = {grid_x, grid_y, grid_z},
              .block = {block_x, block_y, block_z}};
    if (!grid_x || !grid_y || !grid_z || grid_y > 65535 || grid_z > 65535) return RGM_CU_INVALID_VALUE;
    if (!block_x || !block_y || !block_z || block_x * block_y * block_z > 1024) return RGM_CU_INVALID_VALUE;
    if (++FAKE_VALUE(launches) == FAKE_VALUE(fail_launch)) return RGM_CU_LAUNCH_FAILED;
    for (size_t i = 0; i < function->n && function->sizes[i]; i++)
        memcpy(&w.arguments[i], parameters[i], function->sizes[i]);
    return enqueue(stream, &w);
}

// Device memory: pages of its own, and one behind them that cannot be touched.
static struct {
    char *memory, *map;
    size_t mapped;
} allocated[64];

static size_t whole_pages(size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

EXPORT cuMemAlloc_v2(rgm_cu_pointer *address, size_t bytes) {
    size_t room = whole_pages(bytes), at = 0;
    if (!bytes) return RGM_CU_INVALID_VALUE;
    if (++FAKE_VALUE(allocations) == FAKE_VALUE(fail_alloc)) return RGM_CU_OUT_OF_MEMORY;
    char *map = mmap(NULL, room + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) return RGM_CU_OUT_OF_MEMORY;
    (void)mprotect(map + room, 4096, PROT_NONE);
    pthread_mutex_lock(&mutex);
    while (allocated[at].memory)
        if (++at == sizeof allocated / sizeof *allocated) abort();
    allocated[at].map = map;
    allocated[at].mapped = room + 4096;
    // As near to that page as accesses of 16 bytes allow.
    allocated[at].memory = map + room - (bytes + 15) / 16 * 16;
    *address = (rgm_cu_pointer)(uintptr_t)allocated[at].memory;
    FAKE_VALUE(live)++;
    pthread_mutex_unlock(&mutex);
    return RGM_CU_SUCCESS;
}
EXPORT cuMemFree_v2(rgm_cu_pointer address) {
    size_t at = 0;
    pthread_mutex_lock(&mutex);
    while ((rgm_cu_pointer)(uintptr_t)allocated[at].memory != address)
        if (++at == sizeof allocated / sizeof *allocated) abort();
    (void)munmap(allocated[at].map, allocated[at].mapped);
    allocated[at].memory = NULL;
    FAKE_VALUE(live)--;
    pthread_mutex_unlock(&mutex);
    return RGM_CU_SUCCESS;
}
EXPORT cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
    *free_bytes = *total = (size_t)1 << 30;
    return RGM_CU_SUCCESS;
}
EXPORT cuMemHostAlloc(void **address, size_t bytes, unsigned flags) {
    *address = calloc(1, bytes);
    FAKE_VALUE(live)++;
    return *address ? RGM_CU_SUCCESS : RGM_CU_OUT_OF_MEMORY;
}
EXPORT cuMemFreeHost(void *address) {
    free(address);
    FAKE_VALUE(live)--;
    return RGM_CU_SUCCESS;
}
EXPORT cuMemcpyHtoDAsync_v2(rgm_cu_pointer to, const void *from, size_t bytes, rgm_cu_stream stream) {
    work w = {.kind = WORK_COPY, .to = (void *)(uintptr_t)to, .bytes = bytes, .own = malloc(bytes)};
    if (!w.own) return RGM_CU_OUT_OF_MEMORY;
    memcpy(w.own, from, bytes);
    return enqueue(stream, &w);
}
EXPORT cuMemcpyDtoHAsync_v2(void *to, rgm_cu_pointer from, size_t bytes, rgm_cu_stream stream) {
    return enqueue(stream,
                   &(work){.kind = WORK_COPY, .to = to, .from = (void *)(uintptr_t)from, .bytes = bytes});
}
EXPORT cuMemcpyDtoDAsync_v2(rgm_cu_pointer to, rgm_cu_pointer from, size_t bytes, rgm_cu_stream stream) {
    return cuMemcpyDtoHAsync_v2((void *)(uintptr_t)to, from, bytes, stream);
}
EXPORT cuMemsetD8Async(rgm_cu_pointer to, unsigned char value, size_t bytes, rgm_cu_stream stream) {
    return enqueue(stream,
                   &(work){.kind = WORK_SET, .to = (void *)(uintptr_t)to, .bytes = bytes, .value = value});
}
