// SPDX-License-Identifier: Apache-2.0
// Dictionaries of a snapshot: frames, entries of a trace, blocks, segments, the snapshot itself. What one is
// follows from its keys, not from its place, so that all versions of the format are read alike.
#include <string.h>

#include "io/snapshot/snapshot_reading.h"

typedef struct {
    rgm_snapshot_reading *reading;
    rgm_pickle *pickle;
    const rgm_pickle_value *of[RGM_WORD_COUNT]; // value of each key, NULL where it is not there
    rgm_error *err;
} dict;

static int64_t number(const dict *d, rgm_word word, int64_t missing) {
    return rgm_snapshot_number(d->of[word], missing);
}

static rgm_shape shape(const dict *d, rgm_word word) {
    return d->of[word] ? rgm_snapshot_shape(d->pickle, *d->of[word]) : RGM_SHAPE_EMPTY;
}

static uint32_t payload(const dict *d, rgm_word word) {
    return rgm_pickle_object_of(d->pickle, *d->of[word])->payload;
}

static rgm_status name(const dict *d, rgm_word word, rgm_name *out) {
    *out = 0;
    return d->of[word] ? rgm_snapshot_name(d->reading, d->pickle, *d->of[word], out, d->err) : RGM_OK;
}

static int32_t stack(const dict *d) {
    return shape(d, RGM_WORD_FRAMES) == RGM_SHAPE_STACK ? (int32_t)payload(d, RGM_WORD_FRAMES) : -1;
}

static int32_t clamp_i32(int64_t value) {
    return value < INT32_MIN ? INT32_MIN : value > INT32_MAX ? INT32_MAX : (int32_t)value;
}

static int16_t device(const dict *d) {
    int64_t ordinal = number(d, RGM_WORD_DEVICE, 0);
    return ordinal < 0 || ordinal > INT16_MAX ? -1 : (int16_t)ordinal;
}

// --- the kinds --------------------------------------------------------------------------------------------

static rgm_status take_frame(dict *d, rgm_pickle_object *object) {
    rgm_stack_frame frame;
    RGM_TRY(name(d, RGM_WORD_NAME, &frame.function));
    RGM_TRY(name(d, RGM_WORD_FILENAME, &frame.file));
    frame.line = clamp_i32(number(d, RGM_WORD_LINE, -1));
    RGM_TRY(rgm_stack_rows_frame(&d->reading->stacks, frame, &object->payload, d->err));
    object->shape = RGM_SHAPE_FRAME;
    return RGM_OK;
}

static uint8_t action_of(const dict *d) {
    static const struct {
        const char *text;
        rgm_action action;
    } actions[] = {
        {"alloc", RGM_ACTION_ALLOC},
        {"free_requested", RGM_ACTION_FREE_REQUESTED},
        {"free_completed", RGM_ACTION_FREE},
        {"segment_alloc", RGM_ACTION_SEGMENT_ALLOC},
        {"segment_free", RGM_ACTION_SEGMENT_FREE},
        {"segment_map", RGM_ACTION_SEGMENT_MAP},
        {"segment_unmap", RGM_ACTION_SEGMENT_UNMAP},
        {"oom", RGM_ACTION_OOM},
        {"snapshot", RGM_ACTION_SNAPSHOT},
    };
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (rgm_snapshot_is(d->pickle, d->of[RGM_WORD_ACTION], actions[i].text))
            return (uint8_t)actions[i].action;
    return RGM_ACTION_OTHER;
}

static rgm_status take_entry(dict *d, rgm_pickle_object *object) {
    rgm_memory *memory = &d->reading->run->memory;
    const uint64_t columns = RGM_COLUMN_BIT(memory, time_ns) | RGM_COLUMN_BIT(memory, device) |
                             RGM_COLUMN_BIT(memory, action) | RGM_COLUMN_BIT(memory, bytes) |
                             RGM_COLUMN_BIT(memory, address) | RGM_COLUMN_BIT(memory, stack);
    uint64_t mask = columns;
    int64_t stream = number(d, RGM_WORD_STREAM, 0), left = number(d, RGM_WORD_DEVICE_FREE, -1), time_ns;
    rgm_name note;
    size_t row;
    RGM_TRY(rgm_snapshot_note(d->reading, d->pickle, d->of[RGM_WORD_COMPILE_CONTEXT],
                              d->of[RGM_WORD_USER_METADATA], &note, d->err));
    if (__builtin_mul_overflow(number(d, RGM_WORD_TIME_US, 0), 1000, &time_ns) || time_ns > INT64_MAX / 2)
        return rgm_snapshot_refuse(d->pickle, "a time lies outside the range of times", d->err);
    if (stream) mask |= RGM_COLUMN_BIT(memory, stream);
    if (left >= 0) mask |= RGM_COLUMN_BIT(memory, device_free);
    if (note) mask |= RGM_COLUMN_BIT(memory, note);
    if (memory->rows >= UINT32_MAX) return rgm_snapshot_refuse(d->pickle, "there are 2^32 entries", d->err);
    RGM_TRY(rgm_table_append(&rgm_memory_desc, memory, mask, &row, d->err));
    memory->time_ns[row] = time_ns;
    memory->action[row] = action_of(d);
    memory->bytes[row] = number(d, RGM_WORD_SIZE, -1);
    // An end of memory has no block; its key for what was left is `device_free`, in old versions `addr`.
    memory->address[row] = number(d, RGM_WORD_ADDR, 0);
    memory->stack[row] = stack(d);
    if (memory->stream) memory->stream[row] = stream;
    if (memory->device_free) memory->device_free[row] = left;
    if (memory->note) memory->note[row] = note;
    *object = (rgm_pickle_object){(uint32_t)row, object->type, RGM_SHAPE_ENTRY, object->used};
    return RGM_OK;
}

static uint8_t state_of(const dict *d) {
    const rgm_pickle_value *state = d->of[RGM_WORD_STATE];
    if (rgm_snapshot_is(d->pickle, state, "active_allocated")) return RGM_BLOCK_ALLOCATED;
    // torch's own documents and tools say the second, its C++ the first.
    if (rgm_snapshot_is(d->pickle, state, "active_pending_free") ||
        rgm_snapshot_is(d->pickle, state, "active_awaiting_free"))
        return RGM_BLOCK_PENDING_FREE;
    return RGM_BLOCK_INACTIVE;
}

static rgm_status take_block(dict *d, rgm_pickle_object *object) {
    rgm_blocks *blocks = &d->reading->run->blocks;
    size_t row;
    rgm_snapshot_past past = {-1, -1};
    if (shape(d, RGM_WORD_HISTORY) == RGM_SHAPE_PASTS) past = d->reading->pasts[payload(d, RGM_WORD_HISTORY)];
    if (blocks->rows >= UINT32_MAX) return rgm_snapshot_refuse(d->pickle, "there are 2^32 blocks", d->err);
    RGM_TRY(rgm_table_append(&rgm_blocks_desc, blocks, RGM_ALL_COLUMNS, &row, d->err));
    blocks->address[row] = number(d, RGM_WORD_ADDRESS, -1);
    blocks->bytes[row] = number(d, RGM_WORD_SIZE, 0);
    blocks->requested[row] =
        number(d, RGM_WORD_REQUESTED_SIZE, past.requested >= 0 ? past.requested : blocks->bytes[row]);
    blocks->state[row] = state_of(d);
    blocks->stack[row] = d->of[RGM_WORD_FRAMES] ? stack(d) : past.stack;
    *object = (rgm_pickle_object){(uint32_t)row, object->type, RGM_SHAPE_BLOCK, object->used};
    return RGM_OK;
}

static rgm_status take_past(dict *d, rgm_pickle_object *object) {
    rgm_snapshot_reading *r = d->reading;
    RGM_TRY(rgm_snapshot_room((void **)&r->pasts, sizeof *r->pasts, r->n_pasts, &r->past_room, d->err));
    r->pasts[r->n_pasts] = (rgm_snapshot_past){number(d, RGM_WORD_REAL_SIZE, -1), stack(d)};
    *object = (rgm_pickle_object){(uint32_t)r->n_pasts++, object->type, RGM_SHAPE_PAST, object->used};
    return RGM_OK;
}

// The blocks of a segment follow one another; old versions gave them no addresses.
static void place_blocks(dict *d, int64_t address, int16_t on_device) {
    rgm_blocks *blocks = &d->reading->run->blocks;
    if (shape(d, RGM_WORD_BLOCKS) != RGM_SHAPE_BLOCKS) return;
    const rgm_snapshot_range *range = &d->reading->ranges[payload(d, RGM_WORD_BLOCKS)];
    uint64_t at = (uint64_t)address;
    for (size_t i = range->first; i < range->first + range->count; i++) {
        if (blocks->address[i] < 0) blocks->address[i] = (int64_t)at;
        blocks->segment_address[i] = address;
        blocks->device[i] = on_device;
        at += (uint64_t)blocks->bytes[i];
    }
}

static rgm_status take_segment(dict *d, rgm_pickle_object *object) {
    rgm_segments *segments = &d->reading->run->segments;
    size_t row;
    if (segments->rows >= UINT32_MAX)
        return rgm_snapshot_refuse(d->pickle, "there are 2^32 segments", d->err);
    RGM_TRY(rgm_table_append(&rgm_segments_desc, segments, RGM_ALL_COLUMNS, &row, d->err));
    segments->device[row] = device(d);
    segments->address[row] = number(d, RGM_WORD_ADDRESS, 0);
    segments->bytes[row] = number(d, RGM_WORD_TOTAL_SIZE, 0);
    segments->allocated[row] = number(d, RGM_WORD_ALLOCATED_SIZE, -1);
    segments->active[row] = number(d, RGM_WORD_ACTIVE_SIZE, -1);
    segments->requested[row] = number(d, RGM_WORD_REQUESTED_SIZE, -1);
    segments->stream[row] = number(d, RGM_WORD_STREAM, 0);
    segments->expandable[row] = number(d, RGM_WORD_IS_EXPANDABLE, 0) != 0;
    segments->stack[row] = stack(d);
    if (rgm_snapshot_is(d->pickle, d->of[RGM_WORD_SEGMENT_TYPE], "small"))
        segments->kind[row] = RGM_SEGMENT_SMALL;
    if (rgm_snapshot_is(d->pickle, d->of[RGM_WORD_SEGMENT_TYPE], "large"))
        segments->kind[row] = RGM_SEGMENT_LARGE;
    if (shape(d, RGM_WORD_SEGMENT_POOL_ID) == RGM_SHAPE_PAIR) {
        rgm_snapshot_pair pair = d->reading->pairs[payload(d, RGM_WORD_SEGMENT_POOL_ID)];
        segments->pool_graph[row] = pair.first;
        segments->pool_user[row] = pair.second;
    }
    place_blocks(d, segments->address[row], segments->device[row]);
    RGM_TRY(rgm_snapshot_room((void **)&d->reading->block_ends, sizeof *d->reading->block_ends, row,
                              &d->reading->block_end_room, d->err));
    d->reading->block_ends[row] = d->reading->run->blocks.rows;
    *object = (rgm_pickle_object){(uint32_t)row, object->type, RGM_SHAPE_SEGMENT, object->used};
    return RGM_OK;
}

// --- the snapshot -----------------------------------------------------------------------------------------

// Pinned memory of the host is of no device.
static void move_to_host(dict *d) {
    rgm_snapshot_reading *r = d->reading;
    if (shape(d, RGM_WORD_HOST_SEGMENTS) == RGM_SHAPE_SEGMENTS) {
        const rgm_snapshot_range *range = &r->ranges[payload(d, RGM_WORD_HOST_SEGMENTS)];
        size_t last = range->first + range->count - 1;
        for (size_t i = range->first; i <= last; i++) r->run->segments.device[i] = -1;
        for (size_t i = range->first ? r->block_ends[range->first - 1] : 0; i < r->block_ends[last]; i++)
            r->run->blocks.device[i] = -1;
    }
    rgm_shape traces = shape(d, RGM_WORD_HOST_TRACES);
    if (traces == RGM_SHAPE_TRACES || traces == RGM_SHAPE_TRACE) {
        const rgm_snapshot_range *range = &r->ranges[payload(d, RGM_WORD_HOST_TRACES)];
        for (size_t i = range->first; i < range->first + range->count; i++) r->run->memory.device[i] = -1;
    }
}

static uint32_t json_of(const dict *d, rgm_word word) {
    return shape(d, word) == RGM_SHAPE_JSON && payload(d, word) != RGM_JSON_DROPPED ? payload(d, word) + 1
                                                                                    : 0;
}

static rgm_status take_snapshot(dict *d, rgm_pickle_object *object) {
    if (d->reading->found) return rgm_snapshot_refuse(d->pickle, "there is a second snapshot", d->err);
    d->reading->found = true;
    d->reading->settings = json_of(d, RGM_WORD_ALLOCATOR_SETTINGS);
    d->reading->annotations = json_of(d, RGM_WORD_EXTERNAL_ANNOTATIONS);
    move_to_host(d);
    object->shape = RGM_SHAPE_SNAPSHOT;
    return RGM_OK;
}

static bool is_list_of_segments(const dict *d) {
    const rgm_pickle_value *segments = d->of[RGM_WORD_SEGMENTS];
    if (!segments || segments->kind != RGM_PICKLE_CONTAINER) return false;
    rgm_shape found = shape(d, RGM_WORD_SEGMENTS);
    return found == RGM_SHAPE_SEGMENTS || found == RGM_SHAPE_EMPTY;
}

rgm_status rgm_snapshot_fill_dict(rgm_snapshot_reading *reading, rgm_pickle *pickle,
                                  rgm_pickle_object *object, const rgm_pickle_value *values, size_t count,
                                  rgm_error *err) {
    dict d = {.reading = reading, .pickle = pickle, .err = err};
    if (object->shape != RGM_SHAPE_EMPTY)
        return rgm_snapshot_fill_json(reading, pickle, object, values, count, err);
    for (size_t i = 0; i < count; i += 2) {
        rgm_word word;
        RGM_TRY(rgm_snapshot_word(reading, pickle, values[i], &word, err));
        d.of[word] = &values[i + 1];
    }
    if (d.of[RGM_WORD_ACTION]) return take_entry(&d, object);
    if (d.of[RGM_WORD_FILENAME] && d.of[RGM_WORD_LINE]) return take_frame(&d, object);
    if (d.of[RGM_WORD_BLOCKS] && d.of[RGM_WORD_TOTAL_SIZE]) return take_segment(&d, object);
    if (d.of[RGM_WORD_STATE] && d.of[RGM_WORD_SIZE]) return take_block(&d, object);
    if (d.of[RGM_WORD_REAL_SIZE]) return take_past(&d, object);
    if (is_list_of_segments(&d)) return take_snapshot(&d, object);
    return rgm_snapshot_fill_json(reading, pickle, object, values, count, err);
}
