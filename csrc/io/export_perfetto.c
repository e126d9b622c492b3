// SPDX-License-Identifier: Apache-2.0
// Perfetto's protobuf: TrackDescriptors and TrackEvents on one packet sequence, names and categories
// interned, times in nanoseconds. Field numbers are those of the published definitions.
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "io/export.h"
#include "io/proto_write.h"
#include "io/span_rows.h"
#include "io/tracks.h"

enum { TRACE_PACKET = 1 };
enum {
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_TRACK = 60
};
enum { FLAG_CLEARED = 1, FLAG_NEEDS_STATE = 2, SEQUENCE = 1 };
enum {
    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_THREAD = 4,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8
};
enum {
    PROCESS_PID = 1,
    PROCESS_NAME = 6,
    PROCESS_LABELS = 8,
    THREAD_PID = 1,
    THREAD_TID = 2,
    THREAD_NAME = 5
};
enum {
    EVENT_CATEGORY = 3,
    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_NAME = 10,
    EVENT_TRACK = 11,
    EVENT_COUNTER = 30,
    EVENT_COUNTER_F64 = 44,
    EVENT_FLOW = 47,
    EVENT_FLOW_END = 48
};
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum { INTERNED_CATEGORIES = 1, INTERNED_NAMES = 2, INTERNED_ANNOTATIONS = 3, IID = 1, IID_NAME = 2 };
enum { ANNOTATION_IID = 1, ANNOTATION_INT = 4, ANNOTATION_F64 = 5, ANNOTATION_TEXT = 6 };
enum { UUID_PROCESS = 1, UNIT_BYTES = 3, KIND_IIDS = RGM_KIND_COUNT + 1 };

// X(token, key) of the annotations; their iids are their places.
#define ANNOTATIONS(X)                                                                                       \
    X(METADATA, "args")                                                                                      \
    X(EXTERNAL, "External id")                                                                               \
    X(CORRELATION, "correlation")                                                                            \
    X(STEP, "step")                                                                                          \
    X(BYTES, "bytes")                                                                                        \
    X(DEVICE, "device")                                                                                      \
    X(STREAM, "stream")                                                                                      \
    X(GRID_X, "grid x")                                                                                      \
    X(GRID_Y, "grid y")                                                                                      \
    X(GRID_Z, "grid z")                                                                                      \
    X(BLOCK_X, "block x")                                                                                    \
    X(BLOCK_Y, "block y")                                                                                    \
    X(BLOCK_Z, "block z")                                                                                    \
    X(REGISTERS, "registers per thread")                                                                     \
    X(SHARED, "shared memory")                                                                               \
    X(OCCUPANCY, "est. achieved occupancy %")                                                                \
    X(SEQUENCE, "Sequence number")                                                                           \
    X(SHAPES, "Input Dims")                                                                                  \
    X(TYPES, "Input type")                                                                                   \
    X(STACK, "Call stack")                                                                                   \
    X(MODULE, "Module Hierarchy")                                                                            \
    X(PYTHON_ID, "Python id")                                                                                \
    X(PYTHON_PARENT, "Python parent id")                                                                     \
    X(COLLECTIVE, "Collective name")                                                                         \
    X(DTYPE, "dtype")                                                                                        \
    X(IN_ELEMENTS, "In msg nelems")                                                                          \
    X(OUT_ELEMENTS, "Out msg nelems")                                                                        \
    X(GROUP, "Process Group Name")                                                                           \
    X(GROUP_SIZE, "Group size")                                                                              \
    X(SYNC, "cuda_sync_kind")                                                                                \
    X(ADDRESS, "Addr")                                                                                       \
    X(ALLOCATED, "Total Allocated")                                                                          \
    X(RESERVED, "Total Reserved")
#define ANNOTATION_ENUM(token, key) ANNOTATION_##token##_KEY,
enum { ANNOTATION_NO_KEY, ANNOTATIONS(ANNOTATION_ENUM) ANNOTATION_KEYS };

static const char *const kind_names[RGM_KIND_COUNT] = {
#define KIND_NAME(name, token) token,
    RGM_SPAN_KINDS(KIND_NAME)
#undef KIND_NAME
};

// The ends of arrows at one span, as a chain through `next`.
typedef struct {
    int32_t *head; // [spans] -1 for none
    int32_t *next; // [rows of the table that holds the ends]
} chain;

typedef struct {
    const rgm_run *run;
    rgm_tracks tracks;
    rgm_span_rows launches, operators, frames, collectives, syncs;
    int32_t *launch;
    chain started; // device work by its launch
    chain arrows;  // other flows by their span
    uint8_t *seen; // [strings] bit 0: interned as a name, bit 1: as a category
    int64_t *ends; // of the open slices of a track
    int64_t shift_ns;
    rgm_bytes bytes;
    rgm_output *out;
} perfetto;

// --- packets ----------------------------------------------------------------------------------------------

static void pass(perfetto *p) {
    if (p->bytes.failed || p->bytes.length < 65536) return;
    rgm_output_append(p->out, p->bytes.data, p->bytes.length);
    rgm_bytes_reset(&p->bytes);
}

static size_t begin_packet(perfetto *p, unsigned flags) {
    size_t mark = rgm_proto_begin(&p->bytes, TRACE_PACKET);
    rgm_proto_u64(&p->bytes, PACKET_SEQUENCE, SEQUENCE);
    rgm_proto_u64(&p->bytes, PACKET_FLAGS, flags);
    return mark;
}

static void end_packet(perfetto *p, size_t mark) {
    rgm_proto_end(&p->bytes, mark);
    pass(p);
}

static size_t begin_timed(perfetto *p, int64_t time) {
    size_t mark = begin_packet(p, FLAG_NEEDS_STATE);
    rgm_proto_u64(&p->bytes, PACKET_TIMESTAMP, (uint64_t)time - (uint64_t)p->shift_ns);
    return mark;
}

static size_t begin_event(perfetto *p, unsigned type, uint64_t uuid) {
    size_t mark = rgm_proto_begin(&p->bytes, PACKET_EVENT);
    rgm_proto_u64(&p->bytes, EVENT_TYPE, type);
    rgm_proto_u64(&p->bytes, EVENT_TRACK, uuid);
    return mark;
}

static void put_interned(perfetto *p, unsigned list, uint64_t iid, const char *text, size_t length) {
    size_t mark = rgm_proto_begin(&p->bytes, list);
    rgm_proto_u64(&p->bytes, IID, iid);
    rgm_proto_text(&p->bytes, IID_NAME, text, length);
    rgm_proto_end(&p->bytes, mark);
}

static void put_first_packet(perfetto *p) {
#define ANNOTATION_KEY(token, key) key,
    static const char *const keys[ANNOTATION_KEYS] = {"", ANNOTATIONS(ANNOTATION_KEY)};
    size_t mark = begin_packet(p, FLAG_CLEARED), list = rgm_proto_begin(&p->bytes, PACKET_INTERNED);
    for (size_t i = 1; i < ANNOTATION_KEYS; i++)
        put_interned(p, INTERNED_ANNOTATIONS, i, keys[i], strlen(keys[i]));
    for (size_t k = 0; k < RGM_KIND_COUNT; k++)
        put_interned(p, INTERNED_CATEGORIES, k + 1, kind_names[k], strlen(kind_names[k]));
    rgm_proto_end(&p->bytes, list);
    end_packet(p, mark);
}

// Interned data stands in the packet of the first use.
static void intern(perfetto *p, rgm_name name, rgm_name category) {
    bool fresh_name = !(p->seen[name] & 1u), fresh_category = category && !(p->seen[category] & 2u);
    if (!fresh_name && !fresh_category) return;
    size_t mark = rgm_proto_begin(&p->bytes, PACKET_INTERNED);
    rgm_string text = rgm_run_text(p->run, name);
    if (fresh_name) put_interned(p, INTERNED_NAMES, name + UINT64_C(1), text.data, text.length);
    text = rgm_run_text(p->run, category);
    if (fresh_category)
        put_interned(p, INTERNED_CATEGORIES, category + (uint64_t)KIND_IIDS, text.data, text.length);
    rgm_proto_end(&p->bytes, mark);
    p->seen[name] |= 1u;
    if (category) p->seen[category] |= 2u;
}

// --- tracks -----------------------------------------------------------------------------------------------

static uint64_t uuid_of_process(size_t process) { return UUID_PROCESS + (uint64_t)process; }
static uint64_t uuid_of_track(size_t track) { return (UINT64_C(1) << 32) + track; }
static uint64_t uuid_of_counter(size_t counter) { return (UINT64_C(2) << 32) + counter; }

// Streams are no threads, and process 0 is the idle process of Linux: their tracks have names only.
static bool is_real(const rgm_track_process *process) { return process->device < 0 && process->pid > 0; }

static void put_process(perfetto *p, size_t i) {
    char text[RGM_TRACK_NAME_ROOM];
    const rgm_track_process *process = &p->tracks.processes[i];
    size_t length = rgm_process_name(&p->tracks, i, text, sizeof text);
    rgm_string label = rgm_run_text(p->run, process->label);
    size_t mark = begin_packet(p, FLAG_NEEDS_STATE), track = rgm_proto_begin(&p->bytes, PACKET_TRACK);
    rgm_proto_u64(&p->bytes, TRACK_UUID, uuid_of_process(i));
    rgm_proto_text(&p->bytes, TRACK_NAME, text, length);
    if (is_real(process)) {
        size_t list = rgm_proto_begin(&p->bytes, TRACK_PROCESS);
        rgm_proto_i64(&p->bytes, PROCESS_PID, process->pid);
        rgm_proto_text(&p->bytes, PROCESS_NAME, text, length);
        if (label.length) rgm_proto_text(&p->bytes, PROCESS_LABELS, label.data, label.length);
        rgm_proto_end(&p->bytes, list);
    }
    rgm_proto_end(&p->bytes, track);
    end_packet(p, mark);
}

static void put_track(perfetto *p, size_t i) {
    char text[RGM_TRACK_NAME_ROOM];
    const rgm_track *t = &p->tracks.tracks[i];
    const rgm_track_process *process = &p->tracks.processes[t->process];
    size_t length = rgm_track_name(&p->tracks, i, text, sizeof text);
    size_t mark = begin_packet(p, FLAG_NEEDS_STATE), track = rgm_proto_begin(&p->bytes, PACKET_TRACK);
    rgm_proto_u64(&p->bytes, TRACK_UUID, uuid_of_track(i));
    rgm_proto_u64(&p->bytes, TRACK_PARENT, uuid_of_process(t->process));
    rgm_proto_text(&p->bytes, TRACK_NAME, text, length);
    if (is_real(process) && !t->number) {
        size_t list = rgm_proto_begin(&p->bytes, TRACK_THREAD);
        rgm_proto_i64(&p->bytes, THREAD_PID, process->pid);
        rgm_proto_i64(&p->bytes, THREAD_TID, t->tid);
        rgm_proto_text(&p->bytes, THREAD_NAME, text, length);
        rgm_proto_end(&p->bytes, list);
    }
    rgm_proto_end(&p->bytes, track);
    end_packet(p, mark);
}

// --- annotations ------------------------------------------------------------------------------------------

static void note_i64(perfetto *p, unsigned key, int64_t value) {
    if (value == -1) return;
    size_t mark = rgm_proto_begin(&p->bytes, EVENT_ANNOTATION);
    rgm_proto_u64(&p->bytes, ANNOTATION_IID, key);
    rgm_proto_i64(&p->bytes, ANNOTATION_INT, value);
    rgm_proto_end(&p->bytes, mark);
}

static void note_f64(perfetto *p, unsigned key, double value) {
    if (isnan(value)) return;
    size_t mark = rgm_proto_begin(&p->bytes, EVENT_ANNOTATION);
    rgm_proto_u64(&p->bytes, ANNOTATION_IID, key);
    rgm_proto_f64(&p->bytes, ANNOTATION_F64, value);
    rgm_proto_end(&p->bytes, mark);
}

static void note_text(perfetto *p, unsigned key, rgm_name name) {
    if (!name) return;
    rgm_string text = rgm_run_text(p->run, name);
    size_t mark = rgm_proto_begin(&p->bytes, EVENT_ANNOTATION);
    rgm_proto_u64(&p->bytes, ANNOTATION_IID, key);
    rgm_proto_text(&p->bytes, ANNOTATION_TEXT, text.data, text.length);
    rgm_proto_end(&p->bytes, mark);
}

static void note_launch(perfetto *p, int32_t row) {
    const rgm_launches *t = &p->run->launches;
    if (row < 0) return;
    note_i64(p, ANNOTATION_GRID_X_KEY, t->grid_x[row]);
    note_i64(p, ANNOTATION_GRID_Y_KEY, t->grid_y[row]);
    note_i64(p, ANNOTATION_GRID_Z_KEY, t->grid_z[row]);
    note_i64(p, ANNOTATION_BLOCK_X_KEY, t->block_x[row]);
    note_i64(p, ANNOTATION_BLOCK_Y_KEY, t->block_y[row]);
    note_i64(p, ANNOTATION_BLOCK_Z_KEY, t->block_z[row]);
    note_i64(p, ANNOTATION_REGISTERS_KEY, t->registers[row]);
    note_i64(p, ANNOTATION_SHARED_KEY, t->shared_bytes[row]);
    note_f64(p, ANNOTATION_OCCUPANCY_KEY, round(t->estimated_occupancy[row] * 1e11) / 1e9);
}

static void note_operator(perfetto *p, int32_t row) {
    const rgm_operators *t = &p->run->operators;
    if (row < 0) return;
    note_i64(p, ANNOTATION_SEQUENCE_KEY, t->sequence[row]);
    note_text(p, ANNOTATION_SHAPES_KEY, t->shapes[row]);
    note_text(p, ANNOTATION_TYPES_KEY, t->types[row]);
    note_text(p, ANNOTATION_STACK_KEY, t->stack[row]);
    note_text(p, ANNOTATION_MODULE_KEY, t->module[row]);
}

static void note_collective(perfetto *p, int32_t row) {
    const rgm_collectives *t = &p->run->collectives;
    if (row < 0) return;
    note_text(p, ANNOTATION_COLLECTIVE_KEY, t->collective[row]);
    note_text(p, ANNOTATION_DTYPE_KEY, t->element_type[row]);
    note_i64(p, ANNOTATION_IN_ELEMENTS_KEY, t->in_elements[row]);
    note_i64(p, ANNOTATION_OUT_ELEMENTS_KEY, t->out_elements[row]);
    note_text(p, ANNOTATION_GROUP_KEY, t->group_name[row]);
    note_i64(p, ANNOTATION_GROUP_SIZE_KEY, t->group_size[row]);
}

static void note_span(perfetto *p, size_t row) {
    const rgm_spans *s = &p->run->spans;
    uint32_t lane = RGM_CELL(s, lane, row, 0);
    int32_t frame = rgm_span_row(&p->frames, row), sync = rgm_span_row(&p->syncs, row);
    note_text(p, ANNOTATION_METADATA_KEY, RGM_CELL(s, metadata, row, 0));
    note_i64(p, ANNOTATION_EXTERNAL_KEY, RGM_CELL(s, external_id, row, -1));
    note_i64(p, ANNOTATION_CORRELATION_KEY, RGM_CELL(s, correlation, row, -1));
    note_i64(p, ANNOTATION_STEP_KEY, RGM_CELL(s, step, row, -1));
    note_i64(p, ANNOTATION_BYTES_KEY, RGM_CELL(s, bytes, row, -1));
    if (rgm_span_is_work(p->run, row)) {
        note_i64(p, ANNOTATION_DEVICE_KEY, RGM_LANE_CELL(p->run, device, lane, -1));
        note_i64(p, ANNOTATION_STREAM_KEY, RGM_LANE_CELL(p->run, thread, lane, -1));
    }
    note_launch(p, rgm_span_row(&p->launches, row));
    note_operator(p, rgm_span_row(&p->operators, row));
    note_collective(p, rgm_span_row(&p->collectives, row));
    if (frame >= 0) note_i64(p, ANNOTATION_PYTHON_ID_KEY, p->run->frames.id[frame]);
    if (frame >= 0) note_i64(p, ANNOTATION_PYTHON_PARENT_KEY, p->run->frames.parent_id[frame]);
    if (sync >= 0) note_text(p, ANNOTATION_SYNC_KEY, p->run->syncs.sync[sync]);
}

// --- arrows -----------------------------------------------------------------------------------------------

static rgm_status chain_new(chain *c, size_t heads, size_t ends, rgm_error *err) {
    c->head = rgm_malloc((heads + 1) * sizeof *c->head);
    c->next = rgm_malloc((ends + 1) * sizeof *c->next);
    if (!c->head || !c->next) return rgm_error_no_memory(err);
    for (size_t i = 0; i < heads; i++) c->head[i] = -1;
    return RGM_OK;
}

static void chain_add(chain *c, int32_t head, size_t end) {
    c->next[end] = c->head[head];
    c->head[head] = (int32_t)end;
}

static rgm_status find_arrows(perfetto *p, rgm_error *err) {
    const rgm_flows *f = &p->run->flows;
    size_t n = p->tracks.n_spans;
    RGM_TRY(rgm_span_launches(p->run, &p->launch, err));
    RGM_TRY(chain_new(&p->started, n, n, err));
    for (size_t i = n; i-- > 0;)
        if (p->launch[i] >= 0) chain_add(&p->started, p->launch[i], i);
    RGM_TRY(chain_new(&p->arrows, n, f->rows, err));
    for (size_t i = f->rows; i-- > 0;)
        if (f->kind[i] != RGM_FLOW_KIND_LAUNCH && f->span[i] >= 0 && (size_t)f->span[i] < n)
            chain_add(&p->arrows, f->span[i], i);
    return RGM_OK;
}

// A launch and a piece of its work share the row of the work, plus one; other flows have a range of their
// own.
static void put_arrows(perfetto *p, size_t row) {
    const rgm_flows *f = &p->run->flows;
    for (int32_t i = p->started.head[row]; i >= 0; i = p->started.next[i])
        rgm_proto_fixed64(&p->bytes, EVENT_FLOW, (uint64_t)i + 1);
    if (p->launch[row] >= 0) rgm_proto_fixed64(&p->bytes, EVENT_FLOW_END, (uint64_t)row + 1);
    for (int32_t i = p->arrows.head[row]; i >= 0; i = p->arrows.next[i])
        rgm_proto_fixed64(&p->bytes, f->phase[i] == RGM_FLOW_PHASE_FINISH ? EVENT_FLOW_END : EVENT_FLOW,
                          (uint64_t)f->id[i] ^ (uint64_t)(f->kind[i] + 1) << 60);
}

// --- slices -----------------------------------------------------------------------------------------------

static void put_begin(perfetto *p, size_t track, size_t row) {
    const rgm_spans *s = &p->run->spans;
    rgm_kind kind = rgm_span_kind(p->run, row);
    rgm_name name = s->name[row], category = RGM_CELL(s, category, row, 0);
    bool instant = kind == RGM_KIND_INSTANT && !s->duration_ns[row];
    size_t mark = begin_timed(p, s->start_ns[row]);
    intern(p, name, category);
    size_t event = begin_event(p, instant ? TYPE_INSTANT : TYPE_BEGIN, uuid_of_track(track));
    uint64_t iid = category ? category + (uint64_t)KIND_IIDS
                            : (kind < RGM_KIND_COUNT ? kind : RGM_KIND_OTHER) + UINT64_C(1);
    rgm_proto_u64(&p->bytes, EVENT_CATEGORY, iid);
    rgm_proto_u64(&p->bytes, EVENT_NAME, name + UINT64_C(1));
    put_arrows(p, row);
    note_span(p, row);
    rgm_proto_end(&p->bytes, event);
    end_packet(p, mark);
}

static void put_end(perfetto *p, size_t track, int64_t time) {
    size_t mark = begin_timed(p, time), event = begin_event(p, TYPE_END, uuid_of_track(track));
    rgm_proto_end(&p->bytes, event);
    end_packet(p, mark);
}

static void put_slices(perfetto *p, size_t track) {
    const rgm_tracks *t = &p->tracks;
    size_t depth = 0;
    for (uint32_t i = t->track_first[track]; i < t->track_first[track + 1]; i++) {
        uint32_t row = t->spans[i];
        int64_t start = p->run->spans.start_ns[row];
        while (depth && p->ends[depth - 1] <= start) put_end(p, track, p->ends[--depth]);
        put_begin(p, track, row);
        if (rgm_span_kind(p->run, row) != RGM_KIND_INSTANT || p->run->spans.duration_ns[row])
            p->ends[depth++] = rgm_span_end(p->run, row);
    }
    while (depth) put_end(p, track, p->ends[--depth]);
}

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

static uint64_t parent_of_device(const perfetto *p, int16_t device) {
    for (size_t i = 0; device >= 0 && i < p->tracks.n_processes; i++)
        if (p->tracks.processes[i].device == device) return uuid_of_process(i);
    return 0;
}

static void put_counter_track(perfetto *p, uint64_t uuid, int16_t device, const char *name, size_t length,
                              bool bytes) {
    size_t mark = begin_packet(p, FLAG_NEEDS_STATE), track = rgm_proto_begin(&p->bytes, PACKET_TRACK);
    uint64_t parent = parent_of_device(p, device);
    rgm_proto_u64(&p->bytes, TRACK_UUID, uuid);
    if (parent) rgm_proto_u64(&p->bytes, TRACK_PARENT, parent);
    rgm_proto_text(&p->bytes, TRACK_NAME, name, length);
    size_t counter = rgm_proto_begin(&p->bytes, TRACK_COUNTER);
    if (bytes) rgm_proto_u64(&p->bytes, 3, UNIT_BYTES);
    rgm_proto_end(&p->bytes, counter);
    rgm_proto_end(&p->bytes, track);
    end_packet(p, mark);
}

static rgm_status put_counters(perfetto *p, rgm_error *err) {
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
            put_counter_track(p, uuid_of_counter(++track), key->device, name.data, name.length, false);
        }
        if (isnan(t->value[key->row])) continue;
        size_t mark = begin_timed(p, t->time_ns[key->row]);
        size_t event = begin_event(p, TYPE_COUNTER, uuid_of_counter(track));
        rgm_proto_f64(&p->bytes, EVENT_COUNTER_F64, t->value[key->row]);
        rgm_proto_end(&p->bytes, event);
        end_packet(p, mark);
    }
    rgm_free(keys);
    return RGM_OK;
}

// --- memory -----------------------------------------------------------------------------------------------

static void put_memory_event(perfetto *p, size_t i) {
    static const char *const actions[RGM_ACTION_COUNT] = {
#define ACTION_NAME(name, token) token,
        RGM_MEMORY_ACTIONS(ACTION_NAME)
#undef ACTION_NAME
    };
    const rgm_memory *m = &p->run->memory;
    const char *name = actions[m->action[i] < RGM_ACTION_COUNT ? m->action[i] : 0];
    size_t lane = m->lane[i] >= 0 && (size_t)m->lane[i] < p->tracks.n_lanes ? (size_t)m->lane[i] : 0;
    size_t mark = begin_timed(p, m->time_ns[i]);
    size_t event = begin_event(p, TYPE_INSTANT, uuid_of_track(p->tracks.lane_track[lane]));
    rgm_proto_bytes(&p->bytes, 22, "memory", 6); // categories, not interned
    rgm_proto_bytes(&p->bytes, 23, name, strlen(name));
    note_i64(p, ANNOTATION_BYTES_KEY, m->bytes[i]);
    note_i64(p, ANNOTATION_DEVICE_KEY, m->device[i]);
    note_i64(p, ANNOTATION_ADDRESS_KEY, m->address[i]);
    note_i64(p, ANNOTATION_ALLOCATED_KEY, m->allocated[i]);
    note_i64(p, ANNOTATION_RESERVED_KEY, m->reserved[i]);
    rgm_proto_end(&p->bytes, event);
    end_packet(p, mark);
}

// One counter a device, numbered from its ordinal, so that no table of them is needed.
static void put_allocated(perfetto *p) {
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
        size_t mark = begin_timed(p, m->time_ns[i]), event = begin_event(p, TYPE_COUNTER, uuid);
        rgm_proto_i64(&p->bytes, EVENT_COUNTER, value);
        rgm_proto_end(&p->bytes, event);
        end_packet(p, mark);
    }
    rgm_free(known);
}

static void put_memory(perfetto *p) {
    for (size_t i = 0; i < p->run->memory.rows; i++)
        if (p->run->memory.action[i] != RGM_ACTION_SAMPLE) put_memory_event(p, i);
    put_allocated(p);
}

// --- the whole --------------------------------------------------------------------------------------------

// Timestamps are unsigned: a run that begins before its time 0 is shifted to begin at 0.
static void find_shift(perfetto *p) {
    const rgm_run *run = p->run;
    for (size_t i = 0; i < run->spans.rows; i++)
        if (run->spans.start_ns[i] < p->shift_ns) p->shift_ns = run->spans.start_ns[i];
    for (size_t i = 0; i < run->memory.rows; i++)
        if (run->memory.time_ns[i] < p->shift_ns) p->shift_ns = run->memory.time_ns[i];
    for (size_t i = 0; i < run->counters.rows; i++)
        if (run->counters.time_ns[i] < p->shift_ns) p->shift_ns = run->counters.time_ns[i];
}

static rgm_status prepare(perfetto *p, rgm_error *err) {
    const rgm_run *run = p->run;
    size_t n = run->spans.rows;
    RGM_TRY(rgm_tracks_init(&p->tracks, run, err));
    RGM_TRY(rgm_span_rows_init(&p->launches, n, run->launches.span, run->launches.rows, err));
    RGM_TRY(rgm_span_rows_init(&p->operators, n, run->operators.span, run->operators.rows, err));
    RGM_TRY(rgm_span_rows_init(&p->frames, n, run->frames.span, run->frames.rows, err));
    RGM_TRY(rgm_span_rows_init(&p->collectives, n, run->collectives.span, run->collectives.rows, err));
    RGM_TRY(rgm_span_rows_init(&p->syncs, n, run->syncs.span, run->syncs.rows, err));
    RGM_TRY(find_arrows(p, err));
    p->seen = rgm_calloc(rgm_strings_count(&run->strings) + (size_t)1, 1);
    p->ends = rgm_malloc((n + 1) * sizeof *p->ends);
    if (!p->seen || !p->ends) return rgm_error_no_memory(err);
    find_shift(p);
    return RGM_OK;
}

static void release(perfetto *p) {
    rgm_tracks_release(&p->tracks);
    rgm_span_rows_release(&p->launches);
    rgm_span_rows_release(&p->operators);
    rgm_span_rows_release(&p->frames);
    rgm_span_rows_release(&p->collectives);
    rgm_span_rows_release(&p->syncs);
    rgm_free(p->launch);
    rgm_free(p->started.head);
    rgm_free(p->started.next);
    rgm_free(p->arrows.head);
    rgm_free(p->arrows.next);
    rgm_free(p->seen);
    rgm_free(p->ends);
    rgm_bytes_release(&p->bytes);
}

rgm_status rgm_export_perfetto(const rgm_run *run, const char *option, rgm_output *out, rgm_error *err) {
    (void)option;
    perfetto p = {.run = run, .out = out};
    rgm_status status = prepare(&p, err);
    if (status != RGM_OK) goto done;
    put_first_packet(&p);
    for (size_t i = 0; i < p.tracks.n_processes; i++) put_process(&p, i);
    for (size_t t = 0; t < p.tracks.n_tracks; t++) put_track(&p, t);
    for (size_t t = 0; t < p.tracks.n_tracks && out->status == RGM_OK; t++) put_slices(&p, t);
    RGM_GOTO(put_counters(&p, err));
    put_memory(&p);
    rgm_output_append(out, p.bytes.data, p.bytes.length);
    if (p.bytes.failed) status = rgm_error_no_memory(err);
done:
    release(&p);
    return status;
}
