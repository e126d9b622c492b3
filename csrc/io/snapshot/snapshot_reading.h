// SPDX-License-Identifier: Apache-2.0
// What the parts of the reader of memory snapshots share: the words of the format, the shapes that containers
// of the pickle turn out to have, and what has been gathered so far. Only io/snapshot/memory_snapshot.c and
// io/snapshot/snapshot_* include this.
#ifndef RGM_IO_SNAPSHOT_READING_H
#define RGM_IO_SNAPSHOT_READING_H

#include "base/bytes.h"
#include "io/output.h"
#include "io/snapshot/pickle.h"
#include "io/snapshot/stack_rows.h"

// Keys of torch's dictionaries, of all versions: X(NAME, text).
#define RGM_SNAPSHOT_WORDS(X)                                                                                \
    X(SEGMENTS, "segments")                                                                                  \
    X(DEVICE_TRACES, "device_traces")                                                                        \
    X(HOST_SEGMENTS, "host_segments")                                                                        \
    X(HOST_TRACES, "host_traces")                                                                            \
    X(ALLOCATOR_SETTINGS, "allocator_settings")                                                              \
    X(EXTERNAL_ANNOTATIONS, "external_annotations")                                                          \
    X(DEVICE, "device")                                                                                      \
    X(ADDRESS, "address")                                                                                    \
    X(TOTAL_SIZE, "total_size")                                                                              \
    X(ALLOCATED_SIZE, "allocated_size")                                                                      \
    X(ACTIVE_SIZE, "active_size")                                                                            \
    X(REQUESTED_SIZE, "requested_size")                                                                      \
    X(STREAM, "stream")                                                                                      \
    X(SEGMENT_TYPE, "segment_type")                                                                          \
    X(SEGMENT_POOL_ID, "segment_pool_id")                                                                    \
    X(IS_EXPANDABLE, "is_expandable")                                                                        \
    X(FRAMES, "frames")                                                                                      \
    X(BLOCKS, "blocks")                                                                                      \
    X(SIZE, "size")                                                                                          \
    X(STATE, "state")                                                                                        \
    X(HISTORY, "history")                                                                                    \
    X(REAL_SIZE, "real_size")                                                                                \
    X(NAME, "name")                                                                                          \
    X(FILENAME, "filename")                                                                                  \
    X(LINE, "line")                                                                                          \
    X(ACTION, "action")                                                                                      \
    X(ADDR, "addr")                                                                                          \
    X(TIME_US, "time_us")                                                                                    \
    X(DEVICE_FREE, "device_free")                                                                            \
    X(COMPILE_CONTEXT, "compile_context")                                                                    \
    X(USER_METADATA, "user_metadata")

typedef enum {
    RGM_WORD_UNKNOWN,
#define WORD_ENUM(name, text) RGM_WORD_##name,
    RGM_SNAPSHOT_WORDS(WORD_ENUM)
#undef WORD_ENUM
        RGM_WORD_COUNT
} rgm_word;

// What a container is, with what its payload then is.
typedef enum {
    RGM_SHAPE_EMPTY,
    RGM_SHAPE_FRAME,    // number of the frame
    RGM_SHAPE_STACK,    // row of `stacks`
    RGM_SHAPE_ENTRY,    // row of `memory`
    RGM_SHAPE_TRACE,    // number of a range of such rows
    RGM_SHAPE_TRACES,   // the same, of all devices
    RGM_SHAPE_BLOCK,    // row of `blocks`
    RGM_SHAPE_BLOCKS,   // number of a range
    RGM_SHAPE_SEGMENT,  // row of `segments`
    RGM_SHAPE_SEGMENTS, // number of a range
    RGM_SHAPE_PAST,     // an entry of a block's history, as old versions wrote them: number in `pasts`
    RGM_SHAPE_PASTS,    // number of the first of them, the latest
    RGM_SHAPE_PAIR,     // number in `pairs`
    RGM_SHAPE_JSON,     // anything else: number in `jsons`, RGM_JSON_DROPPED beyond their budget
    RGM_SHAPE_SNAPSHOT
} rgm_shape;

#define RGM_JSON_DROPPED UINT32_MAX

// Rows one behind the other; parts: lists that it is made of.
typedef struct {
    size_t first, count, parts;
} rgm_snapshot_range;

typedef struct {
    int64_t requested;
    int32_t stack;
} rgm_snapshot_past;

typedef struct {
    int64_t first, second;
} rgm_snapshot_pair;

typedef struct {
    rgm_run *run;
    rgm_stack_rows stacks;
    uint8_t *words; // [texts] rgm_word of a text of the pickle + 1, 0 where nobody has looked yet
    rgm_name *ids;  // [texts] its string of the run
    size_t text_room;
    rgm_snapshot_range *ranges;
    size_t n_ranges, range_room;
    rgm_snapshot_past *pasts;
    size_t n_pasts, past_room;
    rgm_snapshot_pair *pairs;
    size_t n_pairs, pair_room;
    rgm_bytes *jsons; // without the outer brackets
    size_t n_jsons, json_room, json_bytes;
    rgm_output out; // writes JSON to the bytes that its context names
    struct {
        uint32_t context, metadata; // texts of the pickle + 1
        rgm_name note;
    } last_note;
    size_t *block_ends; // [segments] rows of `blocks` when a segment was complete
    size_t block_end_room;
    bool found;           // a snapshot
    uint32_t settings;    // json + 1 of the allocator's settings, 0 for none
    uint32_t annotations; // json + 1
} rgm_snapshot_reading;

// Room for one more, doubling.
rgm_status rgm_snapshot_room(void **rows, size_t size, size_t count, size_t *room,
                             rgm_error *err) RGM_NODISCARD;
// RGM_FORMAT at the instruction that is carried out.
rgm_status rgm_snapshot_refuse(const rgm_pickle *pickle, const char *why, rgm_error *err) RGM_NODISCARD;
rgm_shape rgm_snapshot_shape(rgm_pickle *pickle, rgm_pickle_value value);

// snapshot_values.c: what a value is, or the default where it is something else.
rgm_status rgm_snapshot_word(rgm_snapshot_reading *reading, rgm_pickle *pickle, rgm_pickle_value value,
                             rgm_word *word, rgm_error *err) RGM_NODISCARD;
rgm_status rgm_snapshot_name(rgm_snapshot_reading *reading, rgm_pickle *pickle, rgm_pickle_value value,
                             rgm_name *name, rgm_error *err) RGM_NODISCARD;
int64_t rgm_snapshot_number(const rgm_pickle_value *value, int64_t missing);
// Whether a value is this text.
bool rgm_snapshot_is(const rgm_pickle *pickle, const rgm_pickle_value *value, const char *text);
// Adds to a container that is nothing the format knows.
rgm_status rgm_snapshot_fill_json(rgm_snapshot_reading *reading, rgm_pickle *pickle,
                                  rgm_pickle_object *object, const rgm_pickle_value *values, size_t count,
                                  rgm_error *err) RGM_NODISCARD;
// What the program and the compiler said of an entry, as the text of one JSON object; values may be NULL.
rgm_status rgm_snapshot_note(rgm_snapshot_reading *reading, rgm_pickle *pickle,
                             const rgm_pickle_value *context, const rgm_pickle_value *metadata,
                             rgm_name *note, rgm_error *err) RGM_NODISCARD;
// Sink of reading->out.
rgm_status rgm_snapshot_keep(void *context, const void *data, size_t length, rgm_error *err);

// snapshot_dicts.c, snapshot_lists.c: what a dictionary or list turns out to be.
rgm_status rgm_snapshot_fill_dict(rgm_snapshot_reading *reading, rgm_pickle *pickle,
                                  rgm_pickle_object *object, const rgm_pickle_value *values, size_t count,
                                  rgm_error *err) RGM_NODISCARD;
rgm_status rgm_snapshot_fill_list(rgm_snapshot_reading *reading, rgm_pickle *pickle,
                                  rgm_pickle_object *object, const rgm_pickle_value *values, size_t count,
                                  rgm_error *err) RGM_NODISCARD;

#endif
