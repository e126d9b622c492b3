// SPDX-License-Identifier: Apache-2.0
// Lists and tuples of a snapshot: what one is follows from what it holds.
#include "io/snapshot/snapshot_reading.h"

enum {
    BATCH = 1000, // items that Python's writer adds to a list at a time
    MOST_FRAMES = 10 * BATCH,
    FREE_STACKS = 4 << 20, // rows of `stacks`; beyond them one for so many bytes of input
    BYTES_PER_STACK = 16,
};

static uint32_t payload_of(rgm_pickle *pickle, rgm_pickle_value value) {
    return rgm_pickle_object_of(pickle, value)->payload;
}

static rgm_status find_frame(rgm_snapshot_reading *r, rgm_pickle *pickle, uint32_t frame, int32_t *row,
                             rgm_error *err) {
    uint64_t most = FREE_STACKS + (uint64_t)rgm_pickle_offset(pickle) / BYTES_PER_STACK;
    if (r->run->stacks.rows > most)
        return rgm_snapshot_refuse(pickle, "there are more distinct stacks than in any program", err);
    return rgm_stack_rows_find(&r->stacks, *row, frame, row, err);
}

// A deep stack comes in batches, the innermost first: what is known of it goes onto its new outer frames.
static rgm_status extend_stack(rgm_snapshot_reading *r, rgm_pickle *pickle, int32_t known, int32_t *row,
                               rgm_error *err) {
    const rgm_stacks *stacks = &r->run->stacks;
    uint32_t frames[MOST_FRAMES];
    size_t count = 0;
    for (int32_t at = known; at >= 0; at = stacks->parent[at]) {
        if (count == MOST_FRAMES)
            return rgm_snapshot_refuse(pickle, "a stack has more than 10,000 frames", err);
        rgm_stack_frame frame = {stacks->function[at], stacks->file[at], stacks->line[at]};
        RGM_TRY(rgm_stack_rows_frame(&r->stacks, frame, &frames[count++], err));
    }
    if (count % BATCH) return rgm_snapshot_refuse(pickle, "a stack is filled in pieces", err);
    while (count > 0) RGM_TRY(find_frame(r, pickle, frames[--count], row, err));
    return RGM_OK;
}

static rgm_status take_frames(rgm_snapshot_reading *r, rgm_pickle *pickle, rgm_pickle_object *object,
                              const rgm_pickle_value *values, size_t count, rgm_error *err) {
    int32_t row = -1;
    if (count > MOST_FRAMES) return rgm_snapshot_refuse(pickle, "a stack has more than 10,000 frames", err);
    for (size_t i = count; i-- > 0;) {
        if (rgm_snapshot_shape(pickle, values[i]) != RGM_SHAPE_FRAME)
            return rgm_snapshot_refuse(pickle, "a stack holds something else than frames", err);
        RGM_TRY(find_frame(r, pickle, payload_of(pickle, values[i]), &row, err));
    }
    if (object->shape == RGM_SHAPE_STACK)
        RGM_TRY(extend_stack(r, pickle, (int32_t)object->payload, &row, err));
    object->shape = RGM_SHAPE_STACK;
    object->payload = (uint32_t)row;
    return RGM_OK;
}

static rgm_status begin_range(rgm_snapshot_reading *r, rgm_pickle_object *object, rgm_shape shape,
                              size_t first, rgm_error *err) {
    RGM_TRY(rgm_snapshot_room((void **)&r->ranges, sizeof *r->ranges, r->n_ranges, &r->range_room, err));
    r->ranges[r->n_ranges] = (rgm_snapshot_range){first, 0, 0};
    object->shape = (uint8_t)shape;
    object->payload = (uint32_t)r->n_ranges++;
    return RGM_OK;
}

// Entries, blocks or segments: rows that were made one after the other.
static rgm_status take_rows(rgm_snapshot_reading *r, rgm_pickle *pickle, rgm_pickle_object *object,
                            rgm_shape list, rgm_shape item, const rgm_pickle_value *values, size_t count,
                            rgm_error *err) {
    for (size_t i = 0; i < count; i++) {
        if (rgm_snapshot_shape(pickle, values[i]) != item)
            return rgm_snapshot_refuse(pickle, "a list holds things of several kinds", err);
        uint32_t row = payload_of(pickle, values[i]);
        if (object->shape == RGM_SHAPE_EMPTY) RGM_TRY(begin_range(r, object, list, row, err));
        rgm_snapshot_range *range = &r->ranges[object->payload];
        if (row != range->first + range->count)
            return rgm_snapshot_refuse(pickle, "a list holds a thing that is elsewhere too", err);
        range->count++;
    }
    return RGM_OK;
}

// Traces, one a device, of which some are empty.
static rgm_status take_traces(rgm_snapshot_reading *r, rgm_pickle *pickle, rgm_pickle_object *object,
                              const rgm_pickle_value *values, size_t count, size_t skipped, rgm_error *err) {
    if (object->shape == RGM_SHAPE_EMPTY) {
        size_t first = r->ranges[payload_of(pickle, values[skipped])].first;
        RGM_TRY(begin_range(r, object, RGM_SHAPE_TRACES, first, err));
    }
    for (size_t i = 0; i < count; i++) {
        rgm_shape shape = rgm_snapshot_shape(pickle, values[i]);
        rgm_snapshot_range *all = &r->ranges[object->payload];
        size_t device = all->parts++;
        if (shape == RGM_SHAPE_EMPTY && values[i].kind == RGM_PICKLE_CONTAINER) continue;
        if (shape != RGM_SHAPE_TRACE || device > INT16_MAX)
            return rgm_snapshot_refuse(pickle, "the traces hold something else than one list a device", err);
        const rgm_snapshot_range *one = &r->ranges[payload_of(pickle, values[i])];
        if (one->first != all->first + all->count)
            return rgm_snapshot_refuse(pickle, "a trace is elsewhere too", err);
        for (size_t row = one->first; row < one->first + one->count; row++)
            r->run->memory.device[row] = (int16_t)device;
        all->count += one->count;
    }
    return RGM_OK;
}

static rgm_status take_pasts(rgm_pickle *pickle, rgm_pickle_object *object, const rgm_pickle_value *values) {
    if (object->shape == RGM_SHAPE_EMPTY) {
        object->shape = RGM_SHAPE_PASTS;
        object->payload = payload_of(pickle, values[0]);
    }
    return RGM_OK;
}

static rgm_status take_pair(rgm_snapshot_reading *r, rgm_pickle_object *object,
                            const rgm_pickle_value *values, rgm_error *err) {
    RGM_TRY(rgm_snapshot_room((void **)&r->pairs, sizeof *r->pairs, r->n_pairs, &r->pair_room, err));
    r->pairs[r->n_pairs] =
        (rgm_snapshot_pair){rgm_snapshot_number(&values[0], 0), rgm_snapshot_number(&values[1], 0)};
    object->shape = RGM_SHAPE_PAIR;
    object->payload = (uint32_t)r->n_pairs++;
    return RGM_OK;
}

static bool is_pair(const rgm_pickle_object *object, const rgm_pickle_value *values, size_t count) {
    return object->type == RGM_PICKLE_TUPLE && object->shape == RGM_SHAPE_EMPTY && count == 2 &&
           values[0].kind == RGM_PICKLE_INT && values[1].kind == RGM_PICKLE_INT;
}

// The shape of what a list holds: of its first items that are not empty lists.
static rgm_shape shape_of_items(rgm_pickle *pickle, const rgm_pickle_value *values, size_t count,
                                size_t *at) {
    for (*at = 0; *at < count; (*at)++) {
        rgm_shape shape = rgm_snapshot_shape(pickle, values[*at]);
        if (shape != RGM_SHAPE_EMPTY || values[*at].kind != RGM_PICKLE_CONTAINER) return shape;
    }
    return RGM_SHAPE_EMPTY;
}

rgm_status rgm_snapshot_fill_list(rgm_snapshot_reading *r, rgm_pickle *pickle, rgm_pickle_object *object,
                                  const rgm_pickle_value *values, size_t count, rgm_error *err) {
    size_t at;
    if (object->shape == RGM_SHAPE_JSON || object->shape == RGM_SHAPE_PAIR)
        return rgm_snapshot_fill_json(r, pickle, object, values, count, err);
    if (is_pair(object, values, count)) return take_pair(r, object, values, err);
    rgm_shape shape = shape_of_items(pickle, values, count, &at);
    if (object->shape == RGM_SHAPE_TRACES || (shape == RGM_SHAPE_TRACE && object->shape == RGM_SHAPE_EMPTY))
        return take_traces(r, pickle, object, values, count, at, err);
    if (object->shape == RGM_SHAPE_STACK || shape == RGM_SHAPE_FRAME)
        return take_frames(r, pickle, object, values, count, err);
    switch (object->shape == RGM_SHAPE_EMPTY ? shape : (rgm_shape)object->shape) {
    case RGM_SHAPE_ENTRY:
    case RGM_SHAPE_TRACE:
        return take_rows(r, pickle, object, RGM_SHAPE_TRACE, RGM_SHAPE_ENTRY, values, count, err);
    case RGM_SHAPE_BLOCK:
    case RGM_SHAPE_BLOCKS:
        return take_rows(r, pickle, object, RGM_SHAPE_BLOCKS, RGM_SHAPE_BLOCK, values, count, err);
    case RGM_SHAPE_SEGMENT:
    case RGM_SHAPE_SEGMENTS:
        return take_rows(r, pickle, object, RGM_SHAPE_SEGMENTS, RGM_SHAPE_SEGMENT, values, count, err);
    case RGM_SHAPE_PAST:
    case RGM_SHAPE_PASTS: return take_pasts(pickle, object, values);
    default: return rgm_snapshot_fill_json(r, pickle, object, values, count, err);
    }
}
