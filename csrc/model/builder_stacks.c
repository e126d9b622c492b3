// SPDX-License-Identifier: Apache-2.0
// Samples of host stacks: the tables `stacks` and `samples`.
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "model/builder_state.h"

enum { STACKS_MOST = 1 << 22 };

// Stacks are numbered in the order of their coming. In a file of which parts are lost there are gaps.
rgm_status rgm_builder_stack(rgm_builder *builder, const rgm_stack_row *row, rgm_error *err) {
    if (row->number >= STACKS_MOST || (row->parent != RGM_STACK_NONE && row->parent >= row->number))
        return rgm_error_set(err, RGM_FORMAT, "stack %u, called by stack %u", row->number, row->parent);
    size_t before = builder->stacks.count;
    RGM_TRY(rgm_builder_room(&builder->stacks, (size_t)row->number + 1, sizeof *row, err));
    rgm_stack_row *rows = builder->stacks.rows;
    for (size_t i = before; i < builder->stacks.count; i++) rows[i].number = RGM_STACK_NONE;
    rows[row->number] = *row;
    return RGM_OK;
}

rgm_status rgm_builder_host_sample(rgm_builder *builder, const rgm_host_sample_row *row, rgm_error *err) {
    size_t at = builder->host_samples.count;
    if (row->state >= RGM_SAMPLE_STATE_COUNT)
        return rgm_error_set(err, RGM_FORMAT, "a sample of a stack has state %u", row->state);
    RGM_TRY(rgm_builder_room(&builder->host_samples, at + 1, sizeof *row, err));
    ((rgm_host_sample_row *)builder->host_samples.rows)[at] = *row;
    if (row->ticks > builder->last_tick) builder->last_tick = row->ticks;
    return RGM_OK;
}

rgm_status rgm_builder_allocation(rgm_builder *builder, const rgm_allocation_row *row, rgm_error *err) {
    size_t at = builder->allocations.count;
    RGM_TRY(rgm_builder_room(&builder->allocations, at + 1, sizeof *row, err));
    ((rgm_allocation_row *)builder->allocations.rows)[at] = *row;
    if (row->ticks > builder->last_tick) builder->last_tick = row->ticks;
    return RGM_OK;
}

// The row of each stack by its number, RGM_STACK_NONE for one that the recording lacks, or whose callers it
// lacks.
static rgm_status place_stacks(rgm_builder *builder, uint32_t *place, rgm_error *err) {
    rgm_stacks *stacks = &builder->run->stacks;
    const rgm_stack_row *rows = builder->stacks.rows;
    for (size_t i = 0; i < builder->stacks.count; i++) {
        uint32_t parent = rows[i].parent;
        place[i] = RGM_STACK_NONE;
        if (rows[i].number == RGM_STACK_NONE) continue;
        if (parent != RGM_STACK_NONE && place[parent] == RGM_STACK_NONE) continue;
        size_t at;
        RGM_TRY(rgm_table_append(&rgm_stacks_desc, stacks, RGM_ALL_COLUMNS, &at, err));
        stacks->parent[at] = parent == RGM_STACK_NONE ? -1 : (rgm_i32)place[parent];
        stacks->function[at] = rgm_builder_text(builder, rows[i].function);
        stacks->file[at] = rgm_builder_text(builder, rows[i].file);
        stacks->line[at] = rows[i].line;
        stacks->first_line[at] = rows[i].first_line;
        place[i] = (uint32_t)at;
    }
    return RGM_OK;
}

// Rows of `memory`, whose times are ticks yet.
static rgm_status place_allocations(rgm_builder *builder, const uint32_t *place, rgm_error *err) {
    rgm_memory *memory = &builder->run->memory;
    const rgm_allocation_row *rows = builder->allocations.rows;
    const uint64_t columns = ~RGM_MEMORY_OF_SNAPSHOTS | RGM_COLUMN_BIT(memory, stack);
    if (!builder->allocations.count) return RGM_OK;
    RGM_TRY(
        rgm_table_reserve(&rgm_memory_desc, memory, columns, memory->rows + builder->allocations.count, err));
    for (size_t i = 0; i < builder->allocations.count; i++) {
        size_t at;
        bool known = rows[i].stack < builder->stacks.count && place[rows[i].stack] != RGM_STACK_NONE;
        RGM_TRY(rgm_table_append(&rgm_memory_desc, memory, columns, &at, err));
        memory->time_ns[at] = (rgm_i64)rows[i].ticks;
        memory->action[at] = rows[i].bytes < 0 ? RGM_ACTION_FREE : RGM_ACTION_ALLOC;
        memory->bytes[at] = rows[i].bytes;
        memory->address[at] = (rgm_i64)rows[i].address;
        memory->stack[at] = known ? (rgm_i32)place[rows[i].stack] : -1;
    }
    return RGM_OK;
}

rgm_status rgm_builder_host_samples(rgm_builder *builder, rgm_error *err) {
    rgm_samples *samples = &builder->run->samples;
    const rgm_host_sample_row *rows = builder->host_samples.rows;
    if (!builder->host_samples.count && !builder->stacks.count && !builder->allocations.count) return RGM_OK;
    int64_t lost = 0;
    RGM_FREED uint32_t *place = rgm_malloc((builder->stacks.count + 1) * sizeof *place);
    if (!place) return rgm_error_no_memory(err);
    RGM_TRY(place_stacks(builder, place, err));
    RGM_TRY(place_allocations(builder, place, err));
    for (size_t i = 0; i < builder->host_samples.count; i++) {
        size_t at;
        uint32_t stack = rows[i].stack < builder->stacks.count ? place[rows[i].stack] : RGM_STACK_NONE;
        lost += stack == RGM_STACK_NONE;
        if (stack == RGM_STACK_NONE) continue;
        RGM_TRY(rgm_table_append(&rgm_samples_desc, samples, RGM_ALL_COLUMNS, &at, err));
        samples->time_ns[at] = rgm_timebase_ns(&builder->time, rows[i].ticks);
        samples->thread[at] = rows[i].thread;
        samples->state[at] = rows[i].state;
        samples->stack[at] = stack;
    }
    return rgm_builder_note(builder, RGM_ANOMALY_LOST_ROWS, lost, err);
}
