// SPDX-License-Identifier: Apache-2.0
#include "io/snapshot/stack_rows.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

void rgm_stack_rows_release(rgm_stack_rows *rows) {
    rgm_block_free(rows->slots);
    rgm_block_free(rows->frames);
    rgm_block_free(rows->frame_slots);
    *rows = (rgm_stack_rows){0};
}

static uint64_t hash_frame(rgm_stack_frame frame) {
    return rgm_hash_mix((uint64_t)frame.function << 32 | frame.file, (uint32_t)frame.line);
}

static bool same_frame(rgm_stack_frame a, rgm_stack_frame b) {
    return a.function == b.function && a.file == b.file && a.line == b.line;
}

// Fresh slots for twice as many; the caller puts its rows in.
static rgm_status grow_slots(uint32_t **slots, size_t *mask, rgm_error *err) {
    size_t count = *mask ? 2 * (*mask + 1) : 1024;
    uint32_t *fresh = rgm_block_realloc(NULL, count * sizeof *fresh);
    if (!fresh) return rgm_error_no_memory(err);
    memset(fresh, 0, count * sizeof *fresh);
    rgm_block_free(*slots);
    *slots = fresh;
    *mask = count - 1;
    return RGM_OK;
}

static uint32_t *frame_slot(const rgm_stack_rows *rows, rgm_stack_frame frame) {
    size_t at = hash_frame(frame) & rows->frame_mask;
    while (rows->frame_slots[at] && !same_frame(rows->frames[rows->frame_slots[at] - 1], frame))
        at = (at + 1) & rows->frame_mask;
    return &rows->frame_slots[at];
}

static rgm_status grow_frames(rgm_stack_rows *rows, rgm_error *err) {
    size_t room = rows->frame_room ? rows->frame_room * 2 : 512;
    rgm_stack_frame *frames = rgm_block_realloc(rows->frames, room * sizeof *frames);
    if (!frames) return rgm_error_no_memory(err);
    rows->frames = frames;
    RGM_TRY(grow_slots(&rows->frame_slots, &rows->frame_mask, err));
    rows->frame_room = room;
    for (size_t i = 0; i < rows->n_frames; i++) *frame_slot(rows, frames[i]) = (uint32_t)i + 1;
    return RGM_OK;
}

rgm_status rgm_stack_rows_frame(rgm_stack_rows *rows, rgm_stack_frame frame, uint32_t *number,
                                rgm_error *err) {
    if (rows->n_frames == rows->frame_room) RGM_TRY(grow_frames(rows, err));
    uint32_t *slot = frame_slot(rows, frame);
    if (!*slot) {
        rows->frames[rows->n_frames++] = frame;
        *slot = (uint32_t)rows->n_frames;
    }
    *number = *slot - 1;
    return RGM_OK;
}

static rgm_stack_frame frame_of_row(const rgm_stacks *stacks, size_t row) {
    return (rgm_stack_frame){stacks->function[row], stacks->file[row], stacks->line[row]};
}

static uint32_t *row_slot(const rgm_stack_rows *rows, int32_t parent, rgm_stack_frame frame) {
    const rgm_stacks *stacks = &rows->run->stacks;
    size_t at = rgm_hash_mix(hash_frame(frame), (uint32_t)parent) & rows->slot_mask;
    for (; rows->slots[at]; at = (at + 1) & rows->slot_mask) {
        size_t row = rows->slots[at] - 1;
        if (stacks->parent[row] == parent && same_frame(frame_of_row(stacks, row), frame)) break;
    }
    return &rows->slots[at];
}

static rgm_status grow_rows(rgm_stack_rows *rows, rgm_error *err) {
    const rgm_stacks *stacks = &rows->run->stacks;
    RGM_TRY(grow_slots(&rows->slots, &rows->slot_mask, err));
    for (size_t i = 0; i < stacks->rows; i++)
        *row_slot(rows, stacks->parent[i], frame_of_row(stacks, i)) = (uint32_t)i + 1;
    return RGM_OK;
}

rgm_status rgm_stack_rows_find(rgm_stack_rows *rows, int32_t parent, uint32_t frame, int32_t *row,
                               rgm_error *err) {
    rgm_stacks *stacks = &rows->run->stacks;
    if (2 * stacks->rows >= rows->slot_mask) RGM_TRY(grow_rows(rows, err));
    uint32_t *slot = row_slot(rows, parent, rows->frames[frame]);
    if (!*slot) {
        size_t made;
        if (stacks->rows >= INT32_MAX / 2)
            return rgm_error_set(err, RGM_FORMAT, "more than 2^30 distinct stacks");
        RGM_TRY(rgm_table_append(&rgm_stacks_desc, stacks, RGM_ALL_COLUMNS, &made, err));
        stacks->parent[made] = parent;
        stacks->function[made] = rows->frames[frame].function;
        stacks->file[made] = rows->frames[frame].file;
        stacks->line[made] = rows->frames[frame].line;
        *slot = (uint32_t)made + 1;
    }
    *row = (int32_t)*slot - 1;
    return RGM_OK;
}
