// SPDX-License-Identifier: Apache-2.0
// Memory of the double of the driver, which is the host's: of the device, managed, pinned, and of pools,
// which grow by steps and keep what is freed until they are trimmed. The listener is told of each. A part of
// cuda.c, which includes it once.
#ifndef RGM_FAKES_CUDA_MEMORY_H
#define RGM_FAKES_CUDA_MEMORY_H

// CUPTI's numbers of the kinds.
enum { MEMORY_PINNED = 2, MEMORY_DEVICE = 3, MEMORY_MANAGED = 5 };
enum { POOLS = 8, POOL_STEP = 2 << 20 };

typedef struct {
    size_t bytes, used;
    bool alive;
} memory_pool;

static memory_pool pools[POOLS]; // the first is the default one

// Before each block of a pool.
typedef union {
    struct {
        memory_pool *pool;
        size_t bytes;
    };
    _Alignas(64) char room[64];
} pool_block;

static void tell_memory(fake_cuda_call *call, int what, int kind, const void *address, size_t bytes) {
    call->memory = what;
    call->memory_kind = kind;
    call->address = (uint64_t)(uintptr_t)address;
    call->bytes = bytes;
}

static void tell_pool(fake_cuda_call *call, const memory_pool *pool) {
    call->pool = (uint64_t)(uintptr_t)pool;
    call->pool_bytes = pool->bytes;
    call->pool_used = pool->used;
}

// A call that the listener hears of: ENTER and LEAVE with a begin and an end.
#define HEARD(name, stream)                                                                                  \
    fake_cuda_call call = begin_call(#name, stream);                                                         \
    pthread_mutex_lock(&model_mutex);                                                                        \
    int result = admit(FAKE_calls_##name);                                                                   \
    if (result != RGM_CU_SUCCESS) goto done
#define TOLD                                                                                                 \
    done:                                                                                                    \
    pthread_mutex_unlock(&model_mutex);                                                                      \
    return end_call(&call, result)

static int give_out(fake_cuda_call *call, int kind, void **address, size_t bytes) {
    void *block = bytes ? calloc(1, bytes) : NULL;
    if (!block) return bytes ? RGM_CU_OUT_OF_MEMORY : RGM_CU_INVALID_VALUE;
    *address = block;
    tell_memory(call, FAKE_MEMORY_GIVEN, kind, block, bytes);
    return RGM_CU_SUCCESS;
}

FAKE_EXPORT int cuMemAlloc_v2(rgm_cu_pointer *address, size_t bytes) {
    void *block = NULL;
    HEARD(cuMemAlloc_v2, NULL);
    CURRENT(context);
    if ((result = offence()) != RGM_CU_SUCCESS) goto done;
    result = give_out(&call, MEMORY_DEVICE, &block, bytes);
    *address = (rgm_cu_pointer)(uintptr_t)block;
    TOLD;
}

FAKE_EXPORT int cuMemAllocManaged(rgm_cu_pointer *address, size_t bytes, unsigned flags) {
    void *block = NULL;
    HEARD(cuMemAllocManaged, NULL);
    CURRENT(context);
    result = give_out(&call, MEMORY_MANAGED, &block, bytes);
    *address = (rgm_cu_pointer)(uintptr_t)block;
    TOLD;
}

FAKE_EXPORT int cuMemFree_v2(rgm_cu_pointer address) {
    HEARD(cuMemFree_v2, NULL);
    if ((result = offence()) != RGM_CU_SUCCESS) goto done;
    tell_memory(&call, FAKE_MEMORY_TAKEN, 0, (void *)(uintptr_t)address, 0);
    free((void *)(uintptr_t)address);
    TOLD;
}

FAKE_EXPORT int cuMemGetInfo_v2(size_t *left, size_t *total) {
    ENTER(cuMemGetInfo_v2);
    CURRENT(context);
    *total = (size_t)FAKE_VALUE(memory_bytes);
    *left = *total / 2;
    LEAVE;
}

FAKE_EXPORT int cuMemHostAlloc(void **address, size_t bytes, unsigned flags) {
    HEARD(cuMemHostAlloc, NULL);
    CURRENT(context);
    result = give_out(&call, MEMORY_PINNED, address, bytes ? bytes : 1);
    TOLD;
}

FAKE_EXPORT int cuMemFreeHost(void *address) {
    HEARD(cuMemFreeHost, NULL);
    tell_memory(&call, FAKE_MEMORY_TAKEN, 0, address, 0);
    free(address);
    TOLD;
}

// --- pools ------------------------------------------------------------------------------------------------

FAKE_EXPORT int cuMemPoolCreate(void **pool, const void *properties) {
    HEARD(cuMemPoolCreate, NULL);
    CURRENT(context);
    size_t at = 1;
    while (at < POOLS && pools[at].alive) at++;
    if (at == POOLS) ANSWER(RGM_CU_OUT_OF_MEMORY);
    pools[at] = (memory_pool){.alive = true};
    *pool = &pools[at];
    tell_memory(&call, FAKE_POOL_MADE, 0, &pools[at], 0);
    tell_pool(&call, &pools[at]);
    TOLD;
}

FAKE_EXPORT int cuMemPoolTrimTo(void *handle, size_t keep) {
    HEARD(cuMemPoolTrimTo, NULL);
    memory_pool *pool = handle;
    size_t least = pool->used > keep ? pool->used : keep;
    if (pool->bytes > least) pool->bytes = (least + POOL_STEP - 1) / POOL_STEP * POOL_STEP;
    tell_memory(&call, FAKE_POOL_TRIMMED, 0, pool, 0);
    tell_pool(&call, pool);
    TOLD;
}

FAKE_EXPORT int cuMemPoolDestroy(void *handle) {
    HEARD(cuMemPoolDestroy, NULL);
    memory_pool *pool = handle;
    tell_memory(&call, FAKE_POOL_ENDED, 0, pool, 0);
    tell_pool(&call, pool);
    pool->alive = false;
    TOLD;
}

static int give_from(fake_cuda_call *call, memory_pool *pool, rgm_cu_pointer *address, size_t bytes) {
    pool_block *block = bytes ? calloc(1, sizeof *block + bytes) : NULL;
    if (!block) return bytes ? RGM_CU_OUT_OF_MEMORY : RGM_CU_INVALID_VALUE;
    block->pool = pool;
    block->bytes = bytes;
    pool->used += bytes;
    if (pool->bytes < pool->used) pool->bytes = (pool->used + POOL_STEP - 1) / POOL_STEP * POOL_STEP;
    *address = (rgm_cu_pointer)(uintptr_t)(block + 1);
    tell_memory(call, FAKE_MEMORY_GIVEN, MEMORY_DEVICE, block + 1, bytes);
    tell_pool(call, pool);
    return RGM_CU_SUCCESS;
}

FAKE_EXPORT int cuMemAllocAsync(rgm_cu_pointer *address, size_t bytes, void *stream) {
    HEARD(cuMemAllocAsync, stream);
    CURRENT(context);
    result = give_from(&call, &pools[0], address, bytes);
    TOLD;
}

FAKE_EXPORT int cuMemAllocFromPoolAsync(rgm_cu_pointer *address, size_t bytes, void *pool, void *stream) {
    HEARD(cuMemAllocFromPoolAsync, stream);
    CURRENT(context);
    result = give_from(&call, pool, address, bytes);
    TOLD;
}

FAKE_EXPORT int cuMemFreeAsync(rgm_cu_pointer address, void *stream) {
    HEARD(cuMemFreeAsync, stream);
    pool_block *block = (pool_block *)(uintptr_t)address - 1;
    block->pool->used -= block->bytes;
    tell_memory(&call, FAKE_MEMORY_TAKEN, 0, (void *)(uintptr_t)address, 0);
    tell_pool(&call, block->pool);
    free(block);
    TOLD;
}

#endif
