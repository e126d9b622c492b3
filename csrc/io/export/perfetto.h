// SPDX-License-Identifier: Apache-2.0
// A trace of Perfetto while it is written: packets of one sequence, with names and categories interned, and
// times in nanoseconds. Field numbers are those of the published definitions. Only the files that write such
// traces include it, so its constants have the short names of those definitions.
#ifndef RGM_IO_PERFETTO_H
#define RGM_IO_PERFETTO_H

#include "io/export/proto_write.h"
#include "io/export/span_rows.h"
#include "io/export/tracks.h"
#include "io/output.h"

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
#define RGM_PERFETTO_ANNOTATIONS(X)                                                                          \
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
enum { ANNOTATION_NO_KEY, RGM_PERFETTO_ANNOTATIONS(ANNOTATION_ENUM) ANNOTATION_KEYS };

// The ends of arrows at one span, as a chain through `next`.
typedef struct {
    int32_t *head; // [spans] -1 for none
    int32_t *next; // [rows of the table that holds the ends]
} rgm_perfetto_chain;

typedef struct {
    const rgm_run *run;
    rgm_tracks tracks;
    rgm_span_rows launches, operators, frames, collectives, syncs;
    int32_t *launch;
    rgm_perfetto_chain started; // device work by its launch
    rgm_perfetto_chain arrows;  // other flows by their span
    uint8_t *seen;              // [strings] bit 0: interned as a name, bit 1: as a category
    int64_t *ends;              // of the open slices of a track
    int64_t shift_ns;
    rgm_bytes bytes;
    rgm_output *out;
} rgm_perfetto;

// Every track has a number of its own.
static inline uint64_t rgm_perfetto_process(size_t process) { return UUID_PROCESS + (uint64_t)process; }
static inline uint64_t rgm_perfetto_track(size_t track) { return (UINT64_C(1) << 32) + track; }
static inline uint64_t rgm_perfetto_counter(size_t counter) { return (UINT64_C(2) << 32) + counter; }

// The packet that defines the categories of kinds and the keys of annotations; it goes first.
void rgm_perfetto_begin(rgm_perfetto *p);
// Each begin returns a mark; that of a packet is for end_packet, that of an event for rgm_proto_end.
size_t rgm_perfetto_begin_packet(rgm_perfetto *p, unsigned flags);
size_t rgm_perfetto_begin_timed(rgm_perfetto *p, int64_t time);
size_t rgm_perfetto_begin_event(rgm_perfetto *p, unsigned type, uint64_t uuid);
void rgm_perfetto_end_packet(rgm_perfetto *p, size_t mark);
// Defines what is used for the first time; the packet that uses it is open.
void rgm_perfetto_intern(rgm_perfetto *p, rgm_name name, rgm_name category);
// Annotations of the open event; what is unknown (-1, NaN, no text) is left out.
void rgm_perfetto_note_i64(rgm_perfetto *p, unsigned key, int64_t value);
void rgm_perfetto_note_f64(rgm_perfetto *p, unsigned key, double value);
void rgm_perfetto_note_text(rgm_perfetto *p, unsigned key, rgm_name name);

// perfetto_series.c: counters, allocations, and how much was allocated.
rgm_status rgm_perfetto_counters(rgm_perfetto *p, rgm_error *err) RGM_NODISCARD;
void rgm_perfetto_memory(rgm_perfetto *p);

#endif
