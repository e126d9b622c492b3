// SPDX-License-Identifier: Apache-2.0
#include "io/trace/trace_rows.h"
#include "model/append.h"

void rgm_trace_ids_release(rgm_trace_ids *ids) {
    rgm_free(ids->name_of);
    rgm_free(ids->lane_of);
    *ids = (rgm_trace_ids){0};
}

static rgm_status join_names(rgm_trace_part *to, const rgm_trace_part *from, rgm_trace_ids *ids,
                             rgm_error *err) {
    uint32_t count = rgm_strings_count(&from->run->strings);
    if (count == ids->n_names) return RGM_OK;
    uint32_t *grown = rgm_realloc(ids->name_of, count * sizeof *grown);
    if (!grown) return rgm_error_no_memory(err);
    ids->name_of = grown;
    for (; ids->n_names < count; ids->n_names++) {
        rgm_string text = rgm_strings_view(&from->run->strings, (uint32_t)ids->n_names);
        RGM_TRY(rgm_strings_intern(&to->run->strings, text.data, text.length, &grown[ids->n_names], err));
    }
    return RGM_OK;
}

static rgm_place join_place(rgm_place place, const rgm_trace_ids *ids) {
    place.text = ids->name_of[place.text];
    return place;
}

static rgm_status join_lanes(rgm_trace_part *to, const rgm_trace_part *from, rgm_trace_ids *ids,
                             rgm_error *err) {
    size_t count = from->run->lanes.rows;
    uint32_t *grown = rgm_realloc(ids->lane_of, (count + 1) * sizeof *grown);
    if (!grown) return rgm_error_no_memory(err);
    ids->lane_of = grown;
    for (; ids->n_lanes < count; ids->n_lanes++) {
        rgm_lane_key key = from->lanes[ids->n_lanes];
        key.process = join_place(key.process, ids);
        key.thread = join_place(key.thread, ids);
        key.slot = ids->name_of[key.slot];
        RGM_TRY(rgm_part_find_lane(to, &key, err));
        grown[ids->n_lanes] = key.lane;
    }
    for (size_t i = 0; i < count; i++) {
        if (!from->lane_is_device[i] || to->lane_is_device[grown[i]]) continue;
        to->lane_is_device[grown[i]] = true;
        to->run->lanes.device[grown[i]] = from->run->lanes.device[i];
    }
    return RGM_OK;
}

static rgm_status join_loose(rgm_trace_part *to, const rgm_trace_part *from, const rgm_trace_ids *ids,
                             size_t first_span, rgm_error *err) {
    for (size_t i = 0; i < from->n_halves; i++) {
        rgm_trace_half half = from->halves[i];
        half.lane = ids->lane_of[half.lane];
        half.name = ids->name_of[half.name];
        half.extra = ids->name_of[half.extra];
        if (half.span >= 0) half.span += (int32_t)first_span;
        RGM_PART_GROW(to->halves, to->n_halves, to->halves_capacity);
        to->halves[to->n_halves++] = half;
    }
    for (size_t i = 0; i < from->n_marks; i++) {
        rgm_trace_mark mark = from->marks[i];
        mark.process = join_place(mark.process, ids);
        mark.thread = join_place(mark.thread, ids);
        mark.key = ids->name_of[mark.key];
        mark.text = ids->name_of[mark.text];
        RGM_PART_GROW(to->marks, to->n_marks, to->marks_capacity);
        to->marks[to->n_marks++] = mark;
    }
    return RGM_OK;
}

rgm_status rgm_trace_part_join(rgm_trace_part *to, const rgm_trace_part *from, rgm_trace_ids *ids,
                               rgm_error *err) {
    size_t first_span = to->run->spans.rows, first_flow = to->run->flows.rows;
    RGM_TRY(join_names(to, from, ids, err));
    RGM_TRY(join_lanes(to, from, ids, err));
    RGM_TRY(rgm_run_append(to->run, from->run, ids->name_of, ids->lane_of, err));
    RGM_TRY(join_loose(to, from, ids, first_span, err));
    RGM_TRY(rgm_trace_era_join(&to->era, &from->era, first_span, first_flow, err));
    to->events += from->events;
    to->kept += from->kept;
    for (int code = 0; code < RGM_ANOMALY_COUNT; code++)
        if (from->found[code].count || from->found[code].lost)
            rgm_trace_part_note(to, (rgm_anomaly)code, from->found[code].count, from->found[code].lost,
                                from->found[code].offset);
    return RGM_OK;
}
