// SPDX-License-Identifier: Apache-2.0
// What the files that make rows of events share. Only they include it.
#ifndef RGM_IO_TRACE_ROWS_H
#define RGM_IO_TRACE_ROWS_H

#include "base/memory.h"
#include "io/trace/trace_part.h"

typedef enum { RGM_NAME_PLAIN, RGM_NAME_JSON } rgm_name_form;

// trace_names.c: pieces of the input -> ids of the string table; 0 where the event has nothing there.
rgm_status rgm_part_intern(rgm_trace_part *part, const rgm_event_value *value, rgm_name_form form,
                           int64_t offset, uint32_t *id, rgm_error *err) RGM_NODISCARD;
rgm_status rgm_part_name(rgm_trace_part *part, const rgm_event *event, rgm_field field, uint32_t *id,
                         rgm_error *err) RGM_NODISCARD;
rgm_status rgm_part_json(rgm_trace_part *part, const rgm_event *event, rgm_field field, uint32_t *id,
                         rgm_error *err) RGM_NODISCARD;
// JSON text of what has no column: keys without a place, and the fields `unused` by the kind of span.
rgm_status rgm_part_extra(rgm_trace_part *part, const rgm_event *event, uint64_t unused, uint32_t *id,
                          rgm_error *err) RGM_NODISCARD;

// trace_lanes.c: processes and threads -> rows of `lanes`.
rgm_status rgm_part_place(rgm_trace_part *part, const rgm_event *event, rgm_field field, rgm_place *place,
                          rgm_error *err) RGM_NODISCARD;
rgm_status rgm_part_find_lane(rgm_trace_part *part, rgm_lane_key *key, rgm_error *err) RGM_NODISCARD;
rgm_status rgm_part_lane(rgm_trace_part *part, const rgm_event *event, uint32_t slot, uint32_t *lane,
                         rgm_error *err) RGM_NODISCARD;
static inline bool rgm_same_place(rgm_place a, rgm_place b) {
    return a.number == b.number && a.text == b.text;
}

// trace_spans.c: a row of `spans`, and rows of the tables that describe it.
rgm_status rgm_part_span(rgm_trace_part *part, const rgm_event *event, uint32_t slot, size_t *at,
                         rgm_error *err) RGM_NODISCARD;
rgm_status rgm_part_arguments(rgm_trace_part *part, const rgm_event *event, size_t span,
                              rgm_error *err) RGM_NODISCARD;

// trace_counters.c: numbers among the arguments of an event without a place of their own; texts of metadata
// events.
rgm_status rgm_part_counters(rgm_trace_part *part, const rgm_event *event, int64_t span, const char *prefix,
                             size_t prefix_length, rgm_error *err) RGM_NODISCARD;
rgm_status rgm_part_counter_event(rgm_trace_part *part, const rgm_event *event, rgm_error *err) RGM_NODISCARD;
rgm_status rgm_part_metadata_event(rgm_trace_part *part, const rgm_event *event,
                                   rgm_error *err) RGM_NODISCARD;

// Room for a row of which those columns are set by the caller; the others have their default as long as
// nothing asks for them.
#define RGM_PART_ROOM(table, columns, row)                                                                   \
    do {                                                                                                     \
        rgm_##table *room_ = &part->run->table;                                                              \
        if (room_->rows == room_->capacity)                                                                  \
            RGM_TRY(rgm_table_reserve(&rgm_##table##_desc, room_, columns,                                   \
                                      room_->capacity ? room_->capacity * 2 : 64, err));                     \
        (row) = room_->rows;                                                                                 \
    } while (0)

#define RGM_PART_GROW(list, count, capacity)                                                                 \
    do {                                                                                                     \
        if ((count) < (capacity)) break;                                                                     \
        size_t wanted_ = (capacity) ? (capacity) * 2 : 64;                                                   \
        void *grown_ = rgm_realloc(list, wanted_ * sizeof *(list));                                          \
        if (!grown_) return rgm_error_no_memory(err);                                                        \
        (list) = grown_;                                                                                     \
        (capacity) = wanted_;                                                                                \
    } while (0)

#endif
