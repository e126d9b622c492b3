// SPDX-License-Identifier: Apache-2.0
// Records of memory by the double of CUPTI. A part of cupti.c, which includes it once.
//
// What is freed has an address and neither a kind nor a size, which is the least that NVIDIA's header
// promises.
#ifndef RGM_FAKES_CUPTI_MEMORY_H
#define RGM_FAKES_CUPTI_MEMORY_H

static void add_memory(const fake_cuda_call *call) {
    static const uint8_t operations[] = {[FAKE_MEMORY_GIVEN] = 1,
                                         [FAKE_MEMORY_TAKEN] = 2,
                                         [FAKE_POOL_MADE] = 1,
                                         [FAKE_POOL_ENDED] = 2,
                                         [FAKE_POOL_TRIMMED] = 3};
    uint8_t record[LAYOUT_LARGEST];
    bool of_pool = call->memory >= FAKE_POOL_MADE;
    uint32_t kind = of_pool ? LAYOUT_MEMORY_POOL : LAYOUT_MEMORY;
    layout_memory m = {.operation = operations[call->memory],
                       .kind = (uint32_t)call->memory_kind,
                       .correlation = call->correlation,
                       .address = call->address,
                       .bytes = call->bytes,
                       .time = own_clock(),
                       .process = (uint32_t)getpid(),
                       .device = (uint32_t)call->device,
                       .context = call->context_number,
                       .stream = UINT32_MAX,
                       .pool_type = call->pool ? 1 : 0,
                       .pool = call->pool,
                       .pool_bytes = call->pool_bytes,
                       .pool_used = call->pool_used};
    size_t size =
        of_pool ? layout_pool_record(record, version(), &m) : layout_memory_record(record, version(), &m);
    add_record(kind, record, size, 0);
}

#endif
