// SPDX-License-Identifier: Apache-2.0
// The framed file that journals and saved runs share: a 32-byte head, then frames that each carry their
// length and two CRC-32C sums, padded to eight bytes. A reader can verify every frame on its own and can find
// the next good one after damage. Integers are in the byte order that the head names.
//
// From version 2 on each frame names its file and its number in it, so that a frame that is missing, stands
// twice, in the wrong place or in the wrong file is seen; END says how many came before it. Frames of version
// 1 have neither, and a magic of their own. Where old frames were taken out on purpose (a ring of the last
// minutes) a HOLE says how many. The head is written again where a write has found no room: that needs none,
// and tells of it where no frame can any more.
#ifndef RGM_IO_FRAME_H
#define RGM_IO_FRAME_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/status.h"

#define RGM_FILE_MAGIC "\x89RGM\r\n\x1a\n"
enum { RGM_FILE_VERSION = 2, RGM_FILE_HEAD_BYTES = 32, RGM_FRAME_HEAD_BYTES = 32 };
typedef enum { RGM_FILE_JOURNAL = 1, RGM_FILE_RUN = 2 } rgm_file_kind;

// X(NAME, number, payload). Numbers are for ever; a reader skips those it does not know.
#define RGM_FRAME_TYPES(X)                                                                                   \
    X(ENVIRONMENT, 1, "JSON object text")                                                                    \
    X(STRINGS, 2, "u32 first id, u32 count, then u32 length and bytes of each")                              \
    X(SITES, 3, "u32 first id, u32 count, rgm_site_row each")                                                \
    X(THREADS, 4, "u32 first id, u32 count, rgm_thread_row each")                                            \
    X(RECORDS, 5, "u32 stream, u32 count, rgm_record each")                                                  \
    X(SAMPLES, 6, "u32 0, u32 count, rgm_sample each")                                                       \
    X(ANCHOR, 7, "u64 ticks, i64 monotonic ns, i64 unix ns")                                                 \
    X(OPEN, 8, "u32 stream, u32 count, rgm_open_scope each")                                                 \
    X(COUNTERS, 9, "u32 0, u32 count, then u64 anomaly code and i64 total so far of each")                   \
    X(RESET, 10, "nothing: forget records and samples before")                                               \
    X(END, 11, "u64 frames before this one, 0 in version 1: the recording was closed")                       \
    X(TABLE, 12, "one column of one table")                                                                  \
    X(INFO, 13, "i64 start ns, i64 end ns, i64 start unix ns, u64 complete")                                 \
    X(INTERVALS, 14, "u32 0, u32 count, rgm_interval_row each")                                              \
    X(ACTIVITIES, 15, "u32 0, u32 count, rgm_activity_row each")                                             \
    X(VALUES, 16, "u32 0, u32 count, rgm_counter_row each")                                                  \
    X(WITNESSES, 17, "u32 0, u32 count, rgm_witness_row each")                                               \
    X(PRESSURES, 18, "u32 0, u32 count, rgm_pressure_row each")                                              \
    X(HOST_SAMPLES, 19, "u32 0, u32 count, rgm_host_sample_row each")                                        \
    X(STACKS, 20, "u32 0, u32 count, rgm_stack_row each")                                                    \
    X(ALLOCATIONS, 21, "u32 0, u32 count, rgm_allocation_row each")                                          \
    X(HOLE, 22, "u64 frames and u64 bytes after this frame that were taken out")                             \
    X(DEVICE_MEMORY, 23, "u32 0, u32 count, rgm_device_memory_row each")                                     \
    X(QUEUE_TIMES, 24, "u32 0, u32 count, rgm_queue_time_row each")                                          \
    X(COLLECTIVES, 25, "u32 0, u32 count, rgm_collective_row each")                                          \
    X(STALLS, 26, "u32 0, u32 count, rgm_stall_row each")

#define RGM_FRAME_ENUM(name, number, payload) RGM_FRAME_##name = number,
typedef enum { RGM_FRAME_TYPES(RGM_FRAME_ENUM) RGM_FRAME_LAST } rgm_frame_type;

// --- write ------------------------------------------------------------------------------------------------

// Which file, and the number of its next frame.
typedef struct {
    uint32_t file;
    uint32_t next;
} rgm_frame_series;

// lacking: a write to the file has found no room; the head is then written over the one before.
void rgm_frame_write_head(rgm_bytes *out, rgm_file_kind kind, uint32_t file, bool lacking);
// begin returns a mark for end, which fills in length and the sum of the payload.
size_t rgm_frame_begin(rgm_bytes *out, rgm_frame_type type);
void rgm_frame_end(rgm_bytes *out, size_t mark);
// Numbers the frames of a buffer (which may begin with the file's head), right before they are written.
void rgm_frame_number(rgm_bytes *frames, rgm_frame_series *series);

// --- read -------------------------------------------------------------------------------------------------

typedef enum {
    RGM_LOAD_STRICT,  // a damaged, cut, missing or doubled frame is an error with its offset
    RGM_LOAD_RECOVER, // every sound frame is read once, in order; what is wrong is counted
} rgm_load_mode;

// What a reader that recovers has found. Frames of version 1 have no numbers, so only `bytes` is known of
// them.
typedef struct {
    int64_t bytes;     // that belong to no sound frame
    int64_t missing;   // frames
    int64_t doubled;   // left out
    int64_t displaced; // put in order
    int64_t foreign;   // of another file, left out
} rgm_frame_damage;

typedef struct {
    int64_t offset;
    uint32_t file;
    uint32_t number;
    uint32_t taken; // of a HOLE: how many frames stood behind it
    uint16_t type;
    bool numbered;
} rgm_frame_place;

typedef struct {
    int fd;
    const char *path;
    rgm_load_mode mode;
    int64_t offset; // of the next frame
    int64_t size;
    rgm_file_kind kind;
    bool numbered, ended, lacking;
    uint32_t file, expected;
    uint8_t *payload; // of the last frame, with capacity
    size_t capacity;
    int64_t frame_offset;    // of the last frame
    rgm_frame_place *places; // of a reader that recovers: the frames, in order
    size_t place_count, place_capacity, place;
    int64_t taken;  // frames that holes of it tell of
    int64_t wasted; // bytes of payloads that were read and not sound
    rgm_frame_damage damage;
} rgm_frame_reader;

// Opens and checks the head. One that recovers needs no head: it looks for frames, and guesses the kind of
// file from them. The path must outlive the reader.
rgm_status rgm_frame_open(rgm_frame_reader *reader, const char *path, rgm_load_mode mode,
                          rgm_error *err) RGM_NODISCARD;
void rgm_frame_close(rgm_frame_reader *reader);
// Sets *type to 0 at the end of the file.
rgm_status rgm_frame_next(rgm_frame_reader *reader, unsigned *type, const uint8_t **payload, size_t *length,
                          rgm_error *err) RGM_NODISCARD;
// Rewrites the error about the content of the last frame, so that it names the file, the place and the way
// out.
rgm_status rgm_frame_blame(const rgm_frame_reader *reader, rgm_error *err);
// Whether an open file of our format ends with an END frame. *ours is false when it has another format.
bool rgm_frame_is_finished(int fd, bool *ours);

#endif
