// SPDX-License-Identifier: Apache-2.0
#include "io/trace/trace_rows.h"

#include <string.h>

#include "model/links.h"

#define COLUMN(name) RGM_COLUMN_BIT(spans, name)
// What links make of spans (parent, launch, step) gets its memory there.
static const uint64_t span_columns = COLUMN(start_ns) | COLUMN(duration_ns) | COLUMN(name) | COLUMN(kind) |
                                     COLUMN(lane) | COLUMN(correlation) | COLUMN(external_id) |
                                     COLUMN(bytes) | COLUMN(flags);

static rgm_status span_room(rgm_trace_part *part, size_t *row, rgm_error *err) {
    rgm_spans *spans = &part->run->spans;
    if (spans->rows == spans->capacity) {
        if (spans->rows > INT32_MAX / 2) return rgm_error_set(err, RGM_LIMIT, "more than 2^30 spans");
        RGM_TRY(rgm_table_reserve(&rgm_spans_desc, spans, span_columns,
                                  spans->capacity ? spans->capacity * 2 : 1024, err));
    }
    *row = spans->rows;
    return RGM_OK;
}

static int64_t duration_of(rgm_trace_part *part, const rgm_event *event, uint32_t *flags) {
    bool missing = event->phase == 'X' && !rgm_event_has(event, RGM_FIELD_DUR);
    int64_t duration = rgm_event_number(event, RGM_FIELD_DUR, 0);
    if (RGM_LIKELY(!missing && duration >= 0 && duration <= RGM_LONGEST_SPAN_NS)) return duration;
    rgm_anomaly code = missing        ? RGM_ANOMALY_MISSING_DURATION
                       : duration < 0 ? RGM_ANOMALY_NEGATIVE_DURATION
                                      : RGM_ANOMALY_ABSURD_DURATION;
    rgm_trace_part_note(part, code, 1, 0, event->offset);
    *flags |= RGM_FLAG_REPAIRED;
    return 0;
}

static bool is_device_kind(uint8_t kind) {
    return rgm_kind_is_work(kind) || kind == RGM_KIND_DEVICE_ANNOTATION;
}

static uint8_t kind_by_name(const rgm_event *event) {
    const rgm_event_value *name = &event->value[RGM_FIELD_NAME];
    if (!rgm_event_has(event, RGM_FIELD_NAME)) return event->kind;
#define RETURN_KIND(text_, kind_)                                                                            \
    if (name->length == sizeof text_ - 1 && memcmp(name->text, text_, sizeof text_ - 1) == 0)                \
        return RGM_KIND_##kind_;
    RGM_ACCELERATOR_NAMES(RETURN_KIND)
#undef RETURN_KIND
    return event->kind;
}

static uint8_t kind_of(const rgm_event *event) {
    return RGM_LIKELY(event->kind != RGM_KIND_ACCELERATOR) ? event->kind : kind_by_name(event);
}

#define HAS_ANY(mask) (event->present & (mask))
static const uint64_t launch_fields =
    RGM_FIELD_BIT(GRID) | RGM_FIELD_BIT(BLOCK) | RGM_FIELD_BIT(REGISTERS) | RGM_FIELD_BIT(SHARED) |
    RGM_FIELD_BIT(ESTIMATED_OCCUPANCY) | RGM_FIELD_BIT(OCCUPANCY) | RGM_FIELD_BIT(GRAPH) |
    RGM_FIELD_BIT(GRAPH_NODE) | RGM_FIELD_BIT(BLOCKS_PER_SM) | RGM_FIELD_BIT(WARPS_PER_SM);
static const uint64_t operator_fields =
    RGM_FIELD_BIT(SEQUENCE) | RGM_FIELD_BIT(FORWARD_THREAD) | RGM_FIELD_BIT(SHAPES) | RGM_FIELD_BIT(TYPES) |
    RGM_FIELD_BIT(STRIDES) | RGM_FIELD_BIT(VALUES) | RGM_FIELD_BIT(STACK) | RGM_FIELD_BIT(MODULE);
static const uint64_t collective_fields = RGM_FIELD_BIT(COLLECTIVE) | RGM_FIELD_BIT(DTYPE) |
                                          RGM_FIELD_BIT(IN_ELEMENTS) | RGM_FIELD_BIT(OUT_ELEMENTS);

// Rows of the counters table for the numbers among the arguments of an event without a place of their own.
static const uint64_t all_collective_fields =
    RGM_FIELD_BIT(COLLECTIVE) | RGM_FIELD_BIT(DTYPE) | RGM_FIELD_BIT(IN_ELEMENTS) |
    RGM_FIELD_BIT(OUT_ELEMENTS) | RGM_FIELD_BIT(GROUP_SIZE) | RGM_FIELD_BIT(GROUP_NAME) |
    RGM_FIELD_BIT(GROUP_DESCRIPTION) | RGM_FIELD_BIT(GROUP_RANKS) | RGM_FIELD_BIT(IN_SPLIT) |
    RGM_FIELD_BIT(OUT_SPLIT) | RGM_FIELD_BIT(RANK) | RGM_FIELD_BIT(SOURCE_RANK) |
    RGM_FIELD_BIT(DESTINATION_RANK) | RGM_FIELD_BIT(GLOBAL_START) | RGM_FIELD_BIT(GLOBAL_STRIDE) |
    RGM_FIELD_BIT(COLLECTIVE_SEQUENCE) | RGM_FIELD_BIT(COMMUNICATOR);
static const uint64_t event_fields = RGM_FIELD_BIT(CORRELATION) - 1; // the fields before the first argument
static const uint64_t frame_fields =
    RGM_FIELD_BIT(PYTHON_ID) | RGM_FIELD_BIT(PYTHON_PARENT) | RGM_FIELD_BIT(PYTHON_MODULE);
static const uint64_t sync_fields = RGM_FIELD_BIT(SYNC) | RGM_FIELD_BIT(STREAM) | RGM_FIELD_BIT(DEVICE) |
                                    RGM_FIELD_BIT(WAIT_STREAM) | RGM_FIELD_BIT(WAIT_EVENT) |
                                    RGM_FIELD_BIT(WAIT_CORRELATION);

static bool is_call_with_grid(const rgm_event *event, uint8_t kind) {
    return rgm_kind_is_call(kind) && rgm_event_has(event, RGM_FIELD_GRID);
}

// Fields of the event for which its kind of span has no column.
static uint64_t unused_fields(const rgm_event *event, uint8_t kind) {
    uint64_t used =
        event_fields | RGM_FIELD_BIT(LANE_THREAD) | RGM_FIELD_BIT(CORRELATION) | RGM_FIELD_BIT(EXTERNAL);
    if (kind == RGM_KIND_PYTHON) return event->present & ~(used | frame_fields);
    used |= operator_fields;
    if (HAS_ANY(collective_fields)) used |= all_collective_fields;
    if (is_device_kind(kind)) used |= RGM_FIELD_BIT(DEVICE) | RGM_FIELD_BIT(STREAM);
    if (is_device_kind(kind) || is_call_with_grid(event, kind)) used |= launch_fields;
    if (is_device_kind(kind) || rgm_kind_is_call(kind)) used |= RGM_FIELD_BIT(BYTES);
    if (kind == RGM_KIND_SYNC) used |= sync_fields;
    return event->present & ~used;
}

rgm_status rgm_part_span(rgm_trace_part *part, const rgm_event *event, uint32_t slot, size_t *at,
                         rgm_error *err) {
    size_t row = 0;
    uint32_t lane, name, extra, flags = 0;
    const uint8_t kind = kind_of(event);
    RGM_TRY(span_room(part, &row, err));
    RGM_TRY(rgm_part_lane(part, event, slot, &lane, err));
    RGM_TRY(rgm_part_name(part, event, RGM_FIELD_NAME, &name, err));
    RGM_TRY(rgm_part_extra(part, event, unused_fields(event, kind), &extra, err));
    if (RGM_UNLIKELY(part->era.state != RGM_ERA_DECIMAL))
        RGM_TRY(rgm_trace_era_look(&part->era, event, false, row, err));
    rgm_spans *spans = &part->run->spans;
    if (RGM_UNLIKELY(extra && !spans->metadata))
        RGM_TRY(rgm_table_ensure(&rgm_spans_desc, spans, RGM_COLUMN_INDEX(spans, metadata), err));
    if (RGM_UNLIKELY(event->other && !spans->category))
        RGM_TRY(rgm_table_ensure(&rgm_spans_desc, spans, RGM_COLUMN_INDEX(spans, category), err));
    spans->start_ns[row] = event->value[RGM_FIELD_TS].number;
    spans->duration_ns[row] = duration_of(part, event, &flags);
    spans->name[row] = name;
    spans->kind[row] = kind;
    spans->lane[row] = lane;
    spans->correlation[row] = rgm_event_number(event, RGM_FIELD_CORRELATION, -1);
    spans->external_id[row] = rgm_event_number(event, RGM_FIELD_EXTERNAL, -1);
    spans->bytes[row] = -1;
    spans->flags[row] = flags;
    if (spans->metadata) spans->metadata[row] = extra;
    if (spans->category) {
        spans->category[row] = 0;
        if (event->other && event->category) {
            rgm_event_value text = {.text = event->category, .length = event->category_length};
            RGM_TRY(rgm_part_intern(part, &text, RGM_NAME_PLAIN, event->offset, &spans->category[row], err));
        }
    }
    spans->rows++;
    *at = row;
    return RGM_OK;
}

static int32_t small(int64_t value) { return value > INT32_MAX || value < INT32_MIN ? -1 : (int32_t)value; }

// Clusters, the call that a graph's node was captured from, and times in queues are told by no trace.
#define LAUNCH(column) RGM_COLUMN_BIT(launches, column)
static const uint64_t launch_columns =
    LAUNCH(span) | LAUNCH(grid_x) | LAUNCH(grid_y) | LAUNCH(grid_z) | LAUNCH(block_x) | LAUNCH(block_y) |
    LAUNCH(block_z) | LAUNCH(registers) | LAUNCH(shared_bytes) | LAUNCH(occupancy) | LAUNCH(occupancy_limit) |
    LAUNCH(estimated_occupancy) | LAUNCH(blocks_per_sm) | LAUNCH(warps_per_sm) | LAUNCH(graph) |
    LAUNCH(graph_node);
#undef LAUNCH

static rgm_status add_launch(rgm_trace_part *part, const rgm_event *event, size_t span, rgm_error *err) {
    size_t row = 0;
    RGM_PART_ROOM(launches, launch_columns, row);
    rgm_launches *out = &part->run->launches;
    bool grid = rgm_event_has(event, RGM_FIELD_GRID), block = rgm_event_has(event, RGM_FIELD_BLOCK);
    out->span[row] = (uint32_t)span;
    out->grid_x[row] = grid ? event->grid[0] : 0;
    out->grid_y[row] = grid ? event->grid[1] : 0;
    out->grid_z[row] = grid ? event->grid[2] : 0;
    out->block_x[row] = block ? event->block[0] : 0;
    out->block_y[row] = block ? event->block[1] : 0;
    out->block_z[row] = block ? event->block[2] : 0;
    out->registers[row] = small(rgm_event_number(event, RGM_FIELD_REGISTERS, -1));
    out->shared_bytes[row] = rgm_event_number(event, RGM_FIELD_SHARED, -1);
    out->occupancy[row] = rgm_event_real(event, RGM_FIELD_OCCUPANCY, NAN) / 100;
    out->occupancy_limit[row] = RGM_OCCUPANCY_LIMIT_UNKNOWN;
    out->estimated_occupancy[row] = rgm_event_real(event, RGM_FIELD_ESTIMATED_OCCUPANCY, NAN) / 100;
    out->blocks_per_sm[row] = rgm_event_real(event, RGM_FIELD_BLOCKS_PER_SM, NAN);
    out->warps_per_sm[row] = rgm_event_real(event, RGM_FIELD_WARPS_PER_SM, NAN);
    out->graph[row] = rgm_event_number(event, RGM_FIELD_GRAPH, -1);
    out->graph_node[row] = rgm_event_number(event, RGM_FIELD_GRAPH_NODE, -1);
    part->run->launches.rows++;
    return RGM_OK;
}

static rgm_status add_operator(rgm_trace_part *part, const rgm_event *event, size_t span, rgm_error *err) {
    size_t row = 0;
    RGM_PART_ROOM(operators, RGM_ALL_COLUMNS, row);
    rgm_operators *out = &part->run->operators;
    out->span[row] = (uint32_t)span;
    out->sequence[row] = rgm_event_number(event, RGM_FIELD_SEQUENCE, -1);
    out->forward_thread[row] = rgm_event_number(event, RGM_FIELD_FORWARD_THREAD, -1);
    RGM_TRY(rgm_part_json(part, event, RGM_FIELD_SHAPES, &out->shapes[row], err));
    RGM_TRY(rgm_part_json(part, event, RGM_FIELD_TYPES, &out->types[row], err));
    RGM_TRY(rgm_part_json(part, event, RGM_FIELD_STRIDES, &out->strides[row], err));
    RGM_TRY(rgm_part_json(part, event, RGM_FIELD_VALUES, &out->values[row], err));
    RGM_TRY(rgm_part_name(part, event, RGM_FIELD_STACK, &out->stack[row], err));
    RGM_TRY(rgm_part_name(part, event, RGM_FIELD_MODULE, &out->module[row], err));
    part->run->operators.rows++;
    return RGM_OK;
}

static rgm_status add_collective(rgm_trace_part *part, const rgm_event *event, size_t span, rgm_error *err) {
    size_t row = 0;
    RGM_PART_ROOM(collectives, RGM_ALL_COLUMNS, row);
    rgm_collectives *out = &part->run->collectives;
    out->span[row] = (uint32_t)span;
    RGM_TRY(rgm_part_name(part, event, RGM_FIELD_COLLECTIVE, &out->collective[row], err));
    RGM_TRY(rgm_part_name(part, event, RGM_FIELD_DTYPE, &out->element_type[row], err));
    RGM_TRY(rgm_part_name(part, event, RGM_FIELD_GROUP_NAME, &out->group_name[row], err));
    RGM_TRY(rgm_part_name(part, event, RGM_FIELD_GROUP_DESCRIPTION, &out->group_description[row], err));
    RGM_TRY(rgm_part_name(part, event, RGM_FIELD_GROUP_RANKS, &out->group_ranks[row], err));
    RGM_TRY(rgm_part_name(part, event, RGM_FIELD_IN_SPLIT, &out->in_split[row], err));
    RGM_TRY(rgm_part_name(part, event, RGM_FIELD_OUT_SPLIT, &out->out_split[row], err));
    out->in_elements[row] = rgm_event_number(event, RGM_FIELD_IN_ELEMENTS, -1);
    out->out_elements[row] = rgm_event_number(event, RGM_FIELD_OUT_ELEMENTS, -1);
    out->group_size[row] = small(rgm_event_number(event, RGM_FIELD_GROUP_SIZE, -1));
    out->rank[row] = small(rgm_event_number(event, RGM_FIELD_RANK, -1));
    out->source_rank[row] = small(rgm_event_number(event, RGM_FIELD_SOURCE_RANK, -1));
    out->destination_rank[row] = small(rgm_event_number(event, RGM_FIELD_DESTINATION_RANK, -1));
    out->global_rank_start[row] = small(rgm_event_number(event, RGM_FIELD_GLOBAL_START, -1));
    out->global_rank_stride[row] = small(rgm_event_number(event, RGM_FIELD_GLOBAL_STRIDE, -1));
    out->sequence[row] = rgm_event_number(event, RGM_FIELD_COLLECTIVE_SEQUENCE, -1);
    out->communicator[row] = rgm_event_number(event, RGM_FIELD_COMMUNICATOR, -1);
    part->run->collectives.rows++;
    return RGM_OK;
}

static rgm_status add_frame(rgm_trace_part *part, const rgm_event *event, size_t span, rgm_error *err) {
    size_t row = 0;
    RGM_PART_ROOM(frames, RGM_ALL_COLUMNS, row);
    rgm_frames *out = &part->run->frames;
    out->span[row] = (uint32_t)span;
    out->id[row] = rgm_event_number(event, RGM_FIELD_PYTHON_ID, -1);
    out->parent_id[row] = rgm_event_number(event, RGM_FIELD_PYTHON_PARENT, -1);
    out->module_id[row] = rgm_event_number(event, RGM_FIELD_PYTHON_MODULE, -1);
    part->run->frames.rows++;
    return RGM_OK;
}

static rgm_status add_sync(rgm_trace_part *part, const rgm_event *event, size_t span, rgm_error *err) {
    size_t row = 0;
    RGM_PART_ROOM(syncs, RGM_ALL_COLUMNS, row);
    rgm_syncs *out = &part->run->syncs;
    out->span[row] = (uint32_t)span;
    RGM_TRY(rgm_part_name(part, event, RGM_FIELD_SYNC, &out->sync[row], err));
    out->stream[row] = rgm_event_number(event, RGM_FIELD_STREAM, -1);
    out->waits_on_stream[row] = rgm_event_number(event, RGM_FIELD_WAIT_STREAM, -1);
    out->event[row] = rgm_event_number(event, RGM_FIELD_WAIT_EVENT, -1);
    out->record_correlation[row] = rgm_event_number(event, RGM_FIELD_WAIT_CORRELATION, -1);
    part->run->syncs.rows++;
    return RGM_OK;
}

rgm_status rgm_part_arguments(rgm_trace_part *part, const rgm_event *event, size_t span, rgm_error *err) {
    rgm_spans *spans = &part->run->spans;
    const uint8_t kind = part->run->spans.kind[span];
    if (is_device_kind(kind)) {
        uint32_t lane = spans->lane[span];
        if (!part->lane_is_device[lane]) {
            int64_t device = rgm_event_number(event, RGM_FIELD_DEVICE, part->run->lanes.process[lane]);
            part->lane_is_device[lane] = true;
            part->run->lanes.device[lane] = (int16_t)(device >= 0 && device <= INT16_MAX ? device : 0);
        }
        spans->bytes[span] = rgm_event_number(event, RGM_FIELD_BYTES, -1);
        if (HAS_ANY(launch_fields)) RGM_TRY(add_launch(part, event, span, err));
    }
    if (rgm_kind_is_call(kind)) { // with ROCm the call may know what the work does not say
        spans->bytes[span] = rgm_event_number(event, RGM_FIELD_BYTES, -1);
        if (is_call_with_grid(event, kind)) RGM_TRY(add_launch(part, event, span, err));
    }
    if (kind == RGM_KIND_PYTHON) return add_frame(part, event, span, err);
    if (kind == RGM_KIND_SYNC) RGM_TRY(add_sync(part, event, span, err));
    if (kind == RGM_KIND_COUNTER_RANGE) RGM_TRY(rgm_part_counters(part, event, (int64_t)span, NULL, 0, err));
    if (HAS_ANY(operator_fields)) RGM_TRY(add_operator(part, event, span, err));
    if (RGM_UNLIKELY(HAS_ANY(collective_fields))) RGM_TRY(add_collective(part, event, span, err));
    return RGM_OK;
}
