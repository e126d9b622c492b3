// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/hash.h"
#include "io/trace/trace_rows.h"

enum { LANES_START = 64 };

static bool same_lane(const rgm_lane_key *a, const rgm_lane_key *b) {
    return rgm_same_place(a->thread, b->thread) && rgm_same_place(a->process, b->process) &&
           a->slot == b->slot;
}

static uint64_t hash_lane(const rgm_lane_key *key) {
    uint64_t process = (uint64_t)key->process.number + ((uint64_t)key->process.text << 32);
    uint64_t thread = (uint64_t)key->thread.number + ((uint64_t)key->thread.text << 32);
    return rgm_hash_mix(process + key->slot, thread);
}

// "7", "stream 7" and "thread 7 (python)" are 7, so that ends of arrows, which name numbers, find their lane.
static bool number_of_place(const char *text, size_t length, int64_t *number) {
    static const char *const words[] = {"stream ", "thread "};
    size_t at = 0;
    for (size_t i = 0; i < 2; i++)
        if (length > 7 && memcmp(text, words[i], 7) == 0) at = 7;
    bool negative = at < length && text[at] == '-';
    size_t from = at + negative;
    int64_t value = 0;
    for (at = from; at < length && at < from + 18 && text[at] >= '0' && text[at] <= '9'; at++)
        value = value * 10 + (text[at] - '0');
    if (at == from || (at < length && text[at] != ' ')) return false;
    *number = negative ? -value : value;
    return true;
}

rgm_status rgm_part_place(rgm_trace_part *part, const rgm_event *event, rgm_field field, rgm_place *place,
                          rgm_error *err) {
    *place = (rgm_place){.number = -1};
    if (!rgm_event_has(event, field)) return RGM_OK;
    if (!(event->texts >> field & 1)) {
        place->number = event->value[field].number;
        return RGM_OK;
    }
    RGM_TRY(rgm_part_name(part, event, field, &place->text, err));
    rgm_string text = rgm_strings_view(&part->run->strings, place->text);
    if (number_of_place(text.data, text.length, &place->number)) place->text = 0;
    return RGM_OK;
}

static void put_lane(rgm_trace_part *part, uint32_t lane) {
    size_t at = hash_lane(&part->lanes[lane]);
    while (part->lane_slots[at & part->lane_mask]) at++;
    part->lane_slots[at & part->lane_mask] = lane + 1;
}

static rgm_status grow_lanes(rgm_trace_part *part, rgm_error *err) {
    size_t capacity = part->lanes_capacity ? part->lanes_capacity * 2 : LANES_START;
    rgm_lane_key *lanes = rgm_realloc(part->lanes, capacity * sizeof *lanes);
    if (lanes) part->lanes = lanes;
    bool *devices = rgm_realloc(part->lane_is_device, capacity * sizeof *devices);
    if (devices) part->lane_is_device = devices;
    uint32_t *slots = rgm_calloc(capacity * 2, sizeof *slots);
    if (!lanes || !devices || !slots) {
        rgm_free(slots);
        return rgm_error_no_memory(err);
    }
    rgm_free(part->lane_slots);
    part->lane_slots = slots;
    part->lane_mask = capacity * 2 - 1;
    part->lanes_capacity = capacity;
    for (uint32_t lane = 0; lane < part->run->lanes.rows; lane++) put_lane(part, lane);
    return RGM_OK;
}

static rgm_status add_lane(rgm_trace_part *part, rgm_lane_key *key, rgm_error *err) {
    size_t row = 0;
    if (part->run->lanes.rows == part->lanes_capacity) RGM_TRY(grow_lanes(part, err));
    RGM_TRY(rgm_table_append(&rgm_lanes_desc, &part->run->lanes, RGM_ALL_COLUMNS, &row, err));
    rgm_lanes *lanes = &part->run->lanes;
    lanes->process[row] = key->process.text ? -1 : key->process.number;
    lanes->process_name[row] = key->process.text;
    lanes->thread[row] = key->thread.text ? -1 : key->thread.number;
    lanes->name[row] = key->thread.text;
    key->lane = (uint32_t)row;
    part->lanes[row] = *key;
    part->lane_is_device[row] = false;
    put_lane(part, key->lane);
    return RGM_OK;
}

rgm_status rgm_part_find_lane(rgm_trace_part *part, rgm_lane_key *key, rgm_error *err) {
    for (size_t at = hash_lane(key);; at++) {
        uint32_t found = part->lane_slots[at & part->lane_mask];
        if (!found) return add_lane(part, key, err);
        if (!same_lane(&part->lanes[found - 1], key)) continue;
        key->lane = found - 1;
        return RGM_OK;
    }
}

rgm_status rgm_part_lane(rgm_trace_part *part, const rgm_event *event, uint32_t slot, uint32_t *lane,
                         rgm_error *err) {
    rgm_lane_key key = {.slot = slot};
    RGM_TRY(rgm_part_place(part, event, RGM_FIELD_PID, &key.process, err));
    if (rgm_event_has(event, RGM_FIELD_LANE_THREAD))
        key.thread.number = event->value[RGM_FIELD_LANE_THREAD].number;
    else
        RGM_TRY(rgm_part_place(part, event, RGM_FIELD_TID, &key.thread, err));
    rgm_lane_key *cached =
        &part->lane_cache[((uint64_t)key.process.number * 31 + (uint64_t)key.thread.number) % RGM_LANE_CACHE];
    if (cached->lane == UINT32_MAX || !same_lane(cached, &key)) {
        RGM_TRY(rgm_part_find_lane(part, &key, err));
        *cached = key;
    }
    *lane = cached->lane;
    return RGM_OK;
}
