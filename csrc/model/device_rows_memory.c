// SPDX-License-Identifier: Apache-2.0
// What CUDA gave out and took back, as rows of `memory`.
#include "model/device_rows.h"
#include "model/numbered_calls.h"

// The scope around the call that asked; of a call outside any scope the call itself, which has a name.
static void set_place(rgm_run *run, size_t at, rgm_i64 call) {
    const rgm_spans *spans = &run->spans;
    if (call < 0) return;
    run->memory.lane[at] = (rgm_i32)RGM_CELL(spans, lane, call, 0);
    run->memory.span[at] = spans->parent && spans->parent[call] >= 0 ? spans->parent[call] : call;
}

rgm_status rgm_device_rows_to_memory(const rgm_device_rows *rows, rgm_run *run, rgm_error *err) {
    rgm_memory *memory = &run->memory;
    const uint64_t columns =
        ~RGM_MEMORY_OF_SNAPSHOTS | RGM_COLUMN_BIT(memory, category) | RGM_COLUMN_BIT(memory, pool);
    rgm_numbered_calls calls;
    if (!rows->block_count) return RGM_OK;
    RGM_TRY(rgm_table_reserve(&rgm_memory_desc, memory, columns, memory->rows + rows->block_count, err));
    RGM_TRY(rgm_numbered_calls_init(&calls, run, err));
    rgm_status status = RGM_OK;
    for (size_t i = 0; status == RGM_OK && i < rows->block_count; i++) {
        const rgm_device_memory_row *row = &rows->blocks[i];
        size_t at;
        status = rgm_table_append(&rgm_memory_desc, memory, columns, &at, err);
        if (status != RGM_OK) break;
        memory->time_ns[at] = row->time_ns;
        memory->device[at] = row->device;
        memory->action[at] = row->action;
        memory->bytes[at] = row->bytes;
        memory->address[at] = (rgm_i64)row->address;
        memory->allocated[at] = row->pool_used;
        memory->reserved[at] = row->pool_bytes;
        memory->category[at] = row->memory;
        memory->pool[at] = (rgm_i64)row->pool;
        set_place(run, at, rgm_numbered_calls_find(&calls, row->correlation));
    }
    rgm_numbered_calls_release(&calls);
    return status;
}
