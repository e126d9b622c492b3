// SPDX-License-Identifier: Apache-2.0
#include "io/trace/trace_part.h"

#include <string.h>

#include "io/trace/trace_rows.h"

enum { LANES_START = 64 };

rgm_status rgm_trace_part_init(rgm_trace_part *part, rgm_error *err) {
    *part = (rgm_trace_part){0};
    part->names = rgm_calloc(RGM_NAME_CACHE, sizeof *part->names);
    part->lane_mask = LANES_START * 2 - 1;
    part->lane_slots = rgm_calloc(part->lane_mask + 1, sizeof *part->lane_slots);
    if (!part->names || !part->lane_slots) return rgm_error_no_memory(err);
    for (size_t i = 0; i < RGM_LANE_CACHE; i++) part->lane_cache[i].lane = UINT32_MAX;
    for (size_t i = 0; i < RGM_ANOMALY_COUNT; i++) part->found[i].offset = -1;
    return rgm_run_new(&part->run, err);
}

void rgm_trace_part_release(rgm_trace_part *part) {
    for (size_t i = 0; part->names && i < RGM_NAME_CACHE; i++) rgm_free(part->names[i].text);
    rgm_free(part->names);
    rgm_free(part->lanes);
    rgm_free(part->lane_slots);
    rgm_free(part->lane_is_device);
    rgm_free(part->halves);
    rgm_free(part->marks);
    rgm_free(part->era.fractions);
    rgm_bytes_release(&part->scratch);
    rgm_run_free(part->run);
    *part = (rgm_trace_part){0};
}

void rgm_trace_part_note(rgm_trace_part *part, rgm_anomaly code, int64_t count, int64_t lost,
                         int64_t offset) {
    part->found[code].count += count;
    part->found[code].lost += lost;
    if (part->found[code].offset < 0 || (offset >= 0 && offset < part->found[code].offset))
        part->found[code].offset = offset;
}

void rgm_trace_part_clear(rgm_trace_part *part) {
    for (size_t t = 0; t < rgm_run_tables_count; t++)
        if (rgm_run_tables[t] != &rgm_lanes_desc)
            ((rgm_table *)rgm_run_table(part->run, rgm_run_tables[t]))->rows = 0;
    part->n_halves = part->n_marks = 0;
    part->era.n_fractions = 0;
    part->events = part->kept = 0;
    for (size_t i = 0; i < RGM_ANOMALY_COUNT; i++) {
        part->found[i].count = part->found[i].lost = 0;
        part->found[i].offset = -1;
    }
}

// --- events -----------------------------------------------------------------------------------------------

static rgm_status add_flow(rgm_trace_part *part, const rgm_event *event, uint8_t phase, rgm_error *err) {
    size_t row = 0;
    uint32_t lane = 0;
    RGM_TRY(rgm_part_lane(part, event, 0, &lane, err));
    RGM_PART_ROOM(flows, RGM_ALL_COLUMNS, row);
    if (RGM_UNLIKELY(part->era.state != RGM_ERA_DECIMAL))
        RGM_TRY(rgm_trace_era_look(&part->era, event, true, row, err));
    rgm_flows *out = &part->run->flows;
    out->id[row] = rgm_event_number(event, RGM_FIELD_ID, 0);
    out->time_ns[row] = event->value[RGM_FIELD_TS].number;
    out->lane[row] = lane;
    out->span[row] = -1;
    out->kind[row] = event->flow;
    out->phase[row] = phase;
    out->category[row] = 0;
    if (event->flow == RGM_FLOW_KIND_OTHER && event->category) {
        rgm_event_value text = {.text = event->category, .length = event->category_length};
        RGM_TRY(rgm_part_intern(part, &text, RGM_NAME_PLAIN, event->offset, &out->category[row], err));
    }
    part->run->flows.rows++;
    return RGM_OK;
}

static rgm_status add_memory(rgm_trace_part *part, const rgm_event *event, rgm_error *err) {
    size_t row = 0;
    uint32_t lane = 0;
    RGM_TRY(rgm_part_lane(part, event, 0, &lane, err));
    RGM_PART_ROOM(memory, ~RGM_MEMORY_OF_SNAPSHOTS, row);
    rgm_memory *out = &part->run->memory;
    int64_t bytes = rgm_event_number(event, RGM_FIELD_MEMORY_BYTES, 0);
    int64_t device = rgm_event_number(event, RGM_FIELD_MEMORY_DEVICE, -1);
    bool host = rgm_event_number(event, RGM_FIELD_MEMORY_DEVICE_TYPE, 0) == 0;
    out->time_ns[row] = event->value[RGM_FIELD_TS].number;
    out->device[row] = (int16_t)(host || device < 0 || device > INT16_MAX ? -1 : device);
    out->action[row] = bytes >= 0 ? RGM_ACTION_ALLOC : RGM_ACTION_FREE;
    out->bytes[row] = bytes >= 0 ? bytes : bytes == INT64_MIN ? INT64_MAX : -bytes;
    out->address[row] = rgm_event_number(event, RGM_FIELD_MEMORY_ADDRESS, 0);
    out->allocated[row] = rgm_event_number(event, RGM_FIELD_MEMORY_ALLOCATED, -1);
    out->reserved[row] = rgm_event_number(event, RGM_FIELD_MEMORY_RESERVED, -1);
    out->span[row] = -1;
    out->lane[row] = (int32_t)lane;
    part->run->memory.rows++;
    return RGM_OK;
}

static rgm_status add_half(rgm_trace_part *part, const rgm_event *event, uint32_t lane, int32_t span,
                           rgm_error *err) {
    uint32_t name, extra = 0;
    RGM_TRY(rgm_part_name(part, event, RGM_FIELD_NAME, &name, err));
    if (span < 0) RGM_TRY(rgm_part_extra(part, event, 0, &extra, err));
    RGM_PART_GROW(part->halves, part->n_halves, part->halves_capacity);
    part->halves[part->n_halves++] = (rgm_trace_half){.phase = event->phase,
                                                      .lane = lane,
                                                      .time_ns = event->value[RGM_FIELD_TS].number,
                                                      .id = rgm_event_number(event, RGM_FIELD_ID, 0),
                                                      .name = name,
                                                      .span = span,
                                                      .extra = extra,
                                                      .offset = event->offset};
    return RGM_OK;
}

// b and e events overlap freely; each name is a track of its own.
static rgm_status emit_half(rgm_trace_part *part, const rgm_event *event, bool begins, bool async,
                            rgm_error *err) {
    uint32_t slot = 0, lane;
    size_t row = 0;
    if (async) {
        rgm_event_value text = {.text = (const uint8_t *)"async", .length = 5};
        RGM_TRY(rgm_part_intern(part, &text, RGM_NAME_PLAIN, event->offset, &slot, err));
    }
    if (!begins) {
        RGM_TRY(rgm_part_lane(part, event, slot, &lane, err));
        return add_half(part, event, lane, -1, err);
    }
    RGM_TRY(rgm_part_span(part, event, slot, &row, err));
    part->run->spans.duration_ns[row] = 0;
    part->run->spans.flags[row] |= RGM_FLAG_OPEN;
    RGM_TRY(rgm_part_arguments(part, event, row, err));
    return add_half(part, event, part->run->spans.lane[row], (int32_t)row, err);
}

static rgm_status emit_instant(rgm_trace_part *part, const rgm_event *event, rgm_error *err) {
    const rgm_event_value *name = &event->value[RGM_FIELD_NAME];
    if (rgm_event_has(event, RGM_FIELD_NAME) && name->length == 8 && memcmp(name->text, "[memory]", 8) == 0 &&
        rgm_event_has(event, RGM_FIELD_MEMORY_BYTES))
        return add_memory(part, event, err);
    size_t row = 0;
    RGM_TRY(rgm_part_span(part, event, 0, &row, err));
    part->run->spans.kind[row] = RGM_KIND_INSTANT;
    part->run->spans.duration_ns[row] = 0;
    return RGM_OK;
}

static void lose(rgm_trace_part *part, rgm_anomaly code, const rgm_event *event) {
    rgm_trace_part_note(part, code, 1, 1, event->offset);
}

rgm_status rgm_trace_part_emit(rgm_trace_part *part, const rgm_event *event, rgm_error *err) {
    if (event->phase == 'M') {
        part->kept++;
        return rgm_part_metadata_event(part, event, err);
    }
    int64_t time = event->value[RGM_FIELD_TS].number;
    if (!event->phase) {
        lose(part, RGM_ANOMALY_BAD_EVENT, event);
        return RGM_OK;
    }
    if (!rgm_event_has(event, RGM_FIELD_TS) || time > INT64_MAX / 2 || time < INT64_MIN / 2) {
        lose(part, RGM_ANOMALY_MISSING_TIME, event);
        return RGM_OK;
    }
    size_t row = 0;
    part->kept++;
    switch (event->phase) {
    case 'X':
        RGM_TRY(rgm_part_span(part, event, 0, &row, err));
        return rgm_part_arguments(part, event, row, err);
    case 's': return add_flow(part, event, RGM_FLOW_PHASE_START, err);
    case 't': return add_flow(part, event, RGM_FLOW_PHASE_STEP, err);
    case 'f': return add_flow(part, event, RGM_FLOW_PHASE_FINISH, err);
    case 'i':
    case 'I':
    case 'R':
    case 'n': return emit_instant(part, event, err);
    case 'C': return rgm_part_counter_event(part, event, err);
    case 'B': return emit_half(part, event, true, false, err);
    case 'E': return emit_half(part, event, false, false, err);
    case 'b':
    case 'S': return emit_half(part, event, true, true, err);
    case 'e':
    case 'F': return emit_half(part, event, false, true, err);
    default:
        part->kept--;
        lose(part, RGM_ANOMALY_UNKNOWN_PHASE, event);
        return RGM_OK;
    }
}
