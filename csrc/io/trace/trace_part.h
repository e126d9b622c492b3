// SPDX-License-Identifier: Apache-2.0
// Events -> rows. A part holds the rows of one stretch of the input; parts are joined in the order of the
// input, and the joined whole is finished: arrows and begin/end pairs are closed, lanes named, structure
// computed.
#ifndef RGM_IO_TRACE_PART_H
#define RGM_IO_TRACE_PART_H

#include "io/trace/trace_era.h"
#include "io/trace/trace_event.h"
#include "model/run.h"

// Seven days; what is longer is an overflow of the device's time stamps.
#define RGM_LONGEST_SPAN_NS (INT64_C(7) * 86400 * 1000000000)

enum { RGM_NAME_CACHE = 8192, RGM_LANE_CACHE = 256 };

typedef struct {
    uint64_t hash;
    uint8_t *text; // as it stood in the input
    uint32_t length, id;
} rgm_name_slot;

// A process or thread as an event names it: a number, or the id of a text.
typedef struct {
    int64_t number;
    rgm_name text; // 0 for a number
} rgm_place;

typedef struct {
    rgm_place process, thread;
    uint32_t slot; // 0, or the id of an asynchronous track's name
    uint32_t lane;
} rgm_lane_key;

// Events that only mean something together with others, in the order of the input.
typedef struct {
    char phase; // B, E, b, e
    uint32_t lane;
    int64_t time_ns;
    int64_t id; // of b and e
    rgm_name name;
    int32_t span;   // row that B or b made, -1
    rgm_name extra; // arguments of E or e
    int64_t offset;
} rgm_trace_half;

// What a metadata event says of a process or thread.
typedef struct {
    rgm_place process, thread;
    rgm_name key, text;
} rgm_trace_mark;

typedef struct {
    rgm_run *run;
    rgm_name_slot *names; // [RGM_NAME_CACHE]
    rgm_bytes scratch;
    rgm_lane_key *lanes; // [run->lanes.rows]
    size_t lanes_capacity;
    uint32_t *lane_slots; // hash of places -> lane + 1
    size_t lane_mask;
    rgm_lane_key lane_cache[RGM_LANE_CACHE];
    bool *lane_is_device;
    rgm_trace_half *halves;
    size_t n_halves, halves_capacity;
    rgm_trace_mark *marks;
    size_t n_marks, marks_capacity;
    rgm_trace_era era;
    int64_t events, kept;
    struct {
        int64_t count, lost, offset;
    } found[RGM_ANOMALY_COUNT];
} rgm_trace_part;

// Takes no run over: the part makes its own.
rgm_status rgm_trace_part_init(rgm_trace_part *part, rgm_error *err) RGM_NODISCARD;
void rgm_trace_part_release(rgm_trace_part *part);
// Counts a find; `lost` rows of the input are not in the run because of it.
void rgm_trace_part_note(rgm_trace_part *part, rgm_anomaly code, int64_t count, int64_t lost, int64_t offset);
rgm_status rgm_trace_part_emit(rgm_trace_part *part, const rgm_event *event, rgm_error *err) RGM_NODISCARD;
// Empties the part for the next stretch; its names and lanes stay, so that ids keep their meaning.
void rgm_trace_part_clear(rgm_trace_part *part);
// Translates ids of one part into those of another; zero-initialised memory knows none.
typedef struct {
    uint32_t *name_of, *lane_of;
    size_t n_names, n_lanes;
} rgm_trace_ids;
void rgm_trace_ids_release(rgm_trace_ids *ids);

// Adds the rows of `from` behind those of `to`. `ids` belongs to this pair of parts and grows with `from`.
rgm_status rgm_trace_part_join(rgm_trace_part *to, const rgm_trace_part *from, rgm_trace_ids *ids,
                               rgm_error *err) RGM_NODISCARD;

#endif
