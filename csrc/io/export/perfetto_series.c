// SPDX-License-Identifier: Apache-2.0
// What has values over time: hardware counters and memory.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/tokens.h"
#include "io/export/perfetto.h"

// --- counters ---------------------------------------------------------------------------------------------

typedef struct {
    rgm_name series;
    int16_t device;
    uint32_t row;
} counter_key;

static int compare_counters(const void *left, const void *right) {
    const counter_key *a = left, *b = right;
    if (a->series != b->series) return a->series < b->series ? -1 : 1;
    if (a->device != b->device) return a->device < b->device ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

static uint64_t parent_of_device(const rgm_perfetto *p, int16_t device) {
    for (size_t i = 0; device >= 0 && i < p->tracks.n_processes; i++)
        if (p->tracks.processes[i].device == device) return rgm_perfetto_process(i);
    return 0;
}

static void put_counter_track(rgm_perfetto *p, uint64_t uuid, int16_t device, const char *name, size_t length,
                              bool bytes) {
    size_t mark = rgm_perfetto_begin_packet(p, FLAG_NEEDS_STATE),
           track = rgm_proto_begin(&p->bytes, PACKET_TRACK);
    uint64_t parent = parent_of_device(p, device);
    rgm_proto_u64(&p->bytes, TRACK_UUID, uuid);
    if (parent) rgm_proto_u64(&p->bytes, TRACK_PARENT, parent);
    rgm_proto_text(&p->bytes, TRACK_NAME, name, length);
    size_t counter = rgm_proto_begin(&p->bytes, TRACK_COUNTER);
    if (bytes) rgm_proto_u64(&p->bytes, 3, UNIT_BYTES);
    rgm_proto_end(&p->bytes, counter);
    rgm_proto_end(&p->bytes, track);
    rgm_perfetto_end_packet(p, mark);
}

rgm_status rgm_perfetto_counters(rgm_perfetto *p, rgm_error *err) {
    const rgm_counters *t = &p->run->counters;
    counter_key *keys = rgm_malloc((t->rows + 1) * sizeof *keys);
    if (!keys) return rgm_error_no_memory(err);
    for (size_t i = 0; i < t->rows; i++) keys[i] = (counter_key){t->series[i], t->device[i], (uint32_t)i};
    qsort(keys, t->rows, sizeof *keys, compare_counters);
    size_t track = 0;
    for (size_t i = 0; i < t->rows; i++) {
        const counter_key *key = &keys[i];
        if (!i || key->series != key[-1].series || key->device != key[-1].device) {
            rgm_string name = rgm_run_text(p->run, key->series);
            put_counter_track(p, rgm_perfetto_counter(++track), key->device, name.data, name.length, false);
        }
        if (isnan(t->value[key->row])) continue;
        size_t mark = rgm_perfetto_begin_timed(p, t->time_ns[key->row]);
        size_t event = rgm_perfetto_begin_event(p, TYPE_COUNTER, rgm_perfetto_counter(track));
        rgm_proto_f64(&p->bytes, EVENT_COUNTER_F64, t->value[key->row]);
        rgm_proto_end(&p->bytes, event);
        rgm_perfetto_end_packet(p, mark);
    }
    rgm_free(keys);
    return RGM_OK;
}

// --- memory -----------------------------------------------------------------------------------------------

static void put_memory_event(rgm_perfetto *p, size_t i) {
    static const char *const actions[RGM_ACTION_COUNT] = {RGM_MEMORY_ACTIONS(RGM_TOKEN)};
    const rgm_memory *m = &p->run->memory;
    const char *name = actions[m->action[i] < RGM_ACTION_COUNT ? m->action[i] : 0];
    size_t lane = m->lane[i] >= 0 && (size_t)m->lane[i] < p->tracks.n_lanes ? (size_t)m->lane[i] : 0;
    size_t mark = rgm_perfetto_begin_timed(p, m->time_ns[i]);
    size_t event = rgm_perfetto_begin_event(p, TYPE_INSTANT, rgm_perfetto_track(p->tracks.lane_track[lane]));
    rgm_proto_bytes(&p->bytes, 22, "memory", 6); // categories, not interned
    rgm_proto_bytes(&p->bytes, 23, name, strlen(name));
    rgm_perfetto_note_i64(p, ANNOTATION_BYTES_KEY, m->bytes[i]);
    rgm_perfetto_note_i64(p, ANNOTATION_DEVICE_KEY, m->device[i]);
    rgm_perfetto_note_i64(p, ANNOTATION_ADDRESS_KEY, m->address[i]);
    rgm_perfetto_note_i64(p, ANNOTATION_ALLOCATED_KEY, m->allocated[i]);
    rgm_perfetto_note_i64(p, ANNOTATION_RESERVED_KEY, m->reserved[i]);
    rgm_proto_end(&p->bytes, event);
    rgm_perfetto_end_packet(p, mark);
}

// One counter a device, numbered from its ordinal, so that no table of them is needed.
static void put_allocated(rgm_perfetto *p) {
    const rgm_memory *m = &p->run->memory;
    uint8_t *known = rgm_calloc(65536, 1);
    if (!known) p->bytes.failed = true;
    for (size_t i = 0; known && i < m->rows; i++) {
        int16_t device = m->device[i];
        int64_t value = m->allocated[i] >= 0                ? m->allocated[i]
                        : m->action[i] == RGM_ACTION_SAMPLE ? m->bytes[i]
                                                            : -1;
        uint64_t uuid = (UINT64_C(3) << 32) + (uint16_t)device;
        if (value < 0) continue;
        if (!known[(uint16_t)device]) put_counter_track(p, uuid, device, "memory", 6, true);
        known[(uint16_t)device] = 1;
        size_t mark = rgm_perfetto_begin_timed(p, m->time_ns[i]),
               event = rgm_perfetto_begin_event(p, TYPE_COUNTER, uuid);
        rgm_proto_i64(&p->bytes, EVENT_COUNTER, value);
        rgm_proto_end(&p->bytes, event);
        rgm_perfetto_end_packet(p, mark);
    }
    rgm_free(known);
}

void rgm_perfetto_memory(rgm_perfetto *p) {
    for (size_t i = 0; i < p->run->memory.rows; i++)
        if (p->run->memory.action[i] != RGM_ACTION_SAMPLE) put_memory_event(p, i);
    put_allocated(p);
}
