// SPDX-License-Identifier: Apache-2.0
// Calls that the double of CUPTI tells its subscriber of. A part of cupti.c, which includes it once.
#ifndef RGM_FAKES_CUPTI_CALLBACKS_H
#define RGM_FAKES_CUPTI_CALLBACKS_H

// Numbers as in the headers of 13.0.
static const struct {
    int domain;
    uint32_t id;
    const char *name, *symbol; // symbol: of the driver, as the double of it says
} calls[] = {
    {1, 307, "cuLaunchKernel", "cuLaunchKernel"},
    {1, 514, "cuGraphLaunch", ""},
    {1, 277, "cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync_v2"},
    {1, 279, "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoHAsync_v2"},
    {1, 281, "cuMemcpyDtoDAsync_v2", "cuMemcpyDtoDAsync_v2"},
    {1, 218, "cuMemsetD8Async", "cuMemsetD8Async"},
    {1, 243, "cuMemAlloc_v2", "cuMemAlloc_v2"},
    {1, 245, "cuMemFree_v2", "cuMemFree_v2"},
    {1, 39, "cuMemHostAlloc", "cuMemHostAlloc"},
    {1, 38, "cuMemFreeHost", "cuMemFreeHost"},
    {1, 371, "cuMemAllocManaged", "cuMemAllocManaged"},
    {1, 598, "cuMemAllocAsync", "cuMemAllocAsync"},
    {1, 600, "cuMemFreeAsync", "cuMemFreeAsync"},
    {1, 602, "cuMemPoolTrimTo", "cuMemPoolTrimTo"},
    {1, 607, "cuMemPoolCreate", "cuMemPoolCreate"},
    {1, 608, "cuMemPoolDestroy", "cuMemPoolDestroy"},
    {1, 611, "cuMemAllocFromPoolAsync", "cuMemAllocFromPoolAsync"},
    {1, 124, "cuStreamSynchronize", "cuStreamSynchronize"},
    {1, 17, "cuCtxSynchronize", "cuCtxSynchronize"},
    {1, 527, "cuLaunchHostFunc", ""},
    {2, 211, "cudaLaunchKernel_v7000", ""},
    {2, 214, "cudaLaunchKernel_ptsz_v7000", ""},
    {2, 311, "cudaGraphLaunch_v10000", ""},
    {2, 505, "__cudaLaunchKernel_v13000", ""},
    {2, 262, "cudaGraphAddKernelNode_v10000", ""},
};
enum { CALLS = sizeof calls / sizeof *calls, LAST_ID = 620 };

static void tell(int domain, uint32_t id, int site, uint32_t correlation, int result) {
    listener to[CLIENTS];
    size_t count = listeners_of(domain, id, to);
    const rgm_cupti_call call = {.site = site,
                                 .function = "of the double",
                                 .result = site == RGM_CUPTI_EXIT ? &result : NULL,
                                 .correlation = correlation};
    for (size_t i = 0; i < count; i++) to[i].callback(to[i].user, domain, id, &call);
}

static uint32_t id_of(const char *symbol) {
    for (size_t i = 0; i < CALLS; i++)
        if (strcmp(calls[i].symbol, symbol) == 0) return calls[i].id;
    return 0;
}

static void add_sync(const fake_cuda_call *call) {
    uint8_t record[LAYOUT_LARGEST];
    bool stream = strcmp(call->symbol, "cuStreamSynchronize") == 0;
    if (!stream && strcmp(call->symbol, "cuCtxSynchronize") != 0) return;
    uint64_t now = own_clock();
    bool untimed = FAKE_VALUE(untimed_syncs) != 0;
    size_t size =
        layout_sync(record, version(), stream ? 3 : 4, untimed ? 0 : now - 1000, untimed ? 0 : now,
                    call->correlation, call->context_number, stream ? call->stream_number : UINT32_MAX, 0);
    add_record(LAYOUT_SYNC, record, size, monotonic());
}

static bool is_one_of(const char *symbol, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(symbol, names[i]) == 0) return true;
    return false;
}

// Where NVIDIA's samples begin and end to sample a context. What is sampled in one that ends is lost.
static void tell_context(const fake_cuda_call *call) {
    static const char *const makers[] = {"cuCtxCreate_v2", "cuDevicePrimaryCtxRetain"};
    static const char *const enders[] = {"cuCtxDestroy_v2", "cuDevicePrimaryCtxRelease_v2",
                                         "cuDevicePrimaryCtxReset_v2"};
    bool made = call->exit && call->result == 0 && is_one_of(call->symbol, makers, 2);
    bool ends = !call->exit && is_one_of(call->symbol, enders, 3);
    uint32_t id = made ? RGM_CUPTI_CONTEXT_CREATED : RGM_CUPTI_CONTEXT_ENDS;
    const rgm_cupti_resource resource = {.context = (rgm_cu_context)call->context};
    listener to[CLIENTS];
    size_t count = made || ends ? listeners_of(RGM_CUPTI_RESOURCE, id, to) : 0;
    in_context_callback++;
    for (size_t i = 0; i < count; i++) to[i].callback(to[i].user, RGM_CUPTI_RESOURCE, id, &resource);
    in_context_callback--;
    if (ends) pc_end(call->context);
}

static void add_green(const fake_cuda_call *call) {
    uint8_t record[LAYOUT_LARGEST];
    size_t size = layout_context(record, version(), call->context_number, (uint32_t)call->device,
                                 (uint16_t)call->multiprocessors);
    add_record(LAYOUT_CONTEXT, record, size, monotonic());
}

#include "cupti_memory.h"

// What the double of the driver tells.
static void on_driver(void *arg, const fake_cuda_call *call) {
    static _Thread_local int64_t begun_ns;
    (void)arg;
    if (!call->exit) begun_ns = monotonic();
    uint32_t id = id_of(call->symbol);
    if (call->exit && call->kind) {
        static const uint8_t copies[4] = {0, 1, 2, 8}, from[4] = {0, 1, 3, 3}, to[4] = {0, 3, 1, 3};
        int copy = call->copy & 3;
        layout_work w = {.bytes = call->bytes,
                         .name = (uint64_t)(uintptr_t)call->name,
                         .device = (uint32_t)call->device,
                         .context = call->context_number,
                         .stream = call->stream_number,
                         .correlation = call->correlation,
                         .dynamic_shared = call->shared_bytes,
                         .registers = 32,
                         .copy = copies[copy],
                         .from = from[copy],
                         .to = call->kind == 3 ? 3 : to[copy]};
        if (FAKE_VALUE(cluster) && call->kind == 1)
            w.cluster[0] = (uint32_t)FAKE_VALUE(cluster), w.cluster[1] = w.cluster[2] = 1,
            w.most_clusters = (uint32_t)FAKE_VALUE(most_clusters);
        memcpy(w.grid, call->grid, sizeof w.grid);
        memcpy(w.block, call->block, sizeof w.block);
        pc_hear(call);
        static const uint32_t kinds[] = {0, LAYOUT_KERNEL, LAYOUT_MEMCPY, LAYOUT_MEMSET};
        add_work(kinds[call->kind & 3], &w, call->host_start_ns, call->host_end_ns, begun_ns);
    }
    if (call->exit && call->image_bytes && call->result == 0) pc_load(call);
    if (call->exit) add_sync(call);
    if (call->exit && call->multiprocessors) add_green(call);
    tell_context(call);
    if (call->exit && call->memory && call->result == 0) add_memory(call);
    if (id) tell(1, id, call->exit ? RGM_CUPTI_EXIT : RGM_CUPTI_ENTER, call->correlation, call->result);
}

// As often off as it was on: for the subscriber, and for each context that is sampled.
static void hear(bool on) {
    static _Atomic(int) hearing;
    void (*subscribe)(fake_cuda_listener, void *) = NULL;
    void *address = of_driver("fake_cuda_subscribe");
    memcpy(&subscribe, &address, sizeof address);
    hearing += on ? 1 : -1;
    if (hearing < 0) hearing = 0;
    if (subscribe) subscribe(hearing ? on_driver : NULL, NULL);
}

static void call_driver(void) {
    void (*unsafe)(void) = NULL;
    void *address = FAKE_VALUE(flush_calls) ? of_driver("fake_cuda_unsafe") : NULL;
    memcpy(&unsafe, &address, sizeof address);
    if (unsafe) unsafe();
}

#endif
