// SPDX-License-Identifier: Apache-2.0
// The bytes of a framed file. Included by io/journal/frame.c, frame_read.c and frame_salvage.c only.
#ifndef RGM_IO_FRAME_FORMAT_H
#define RGM_IO_FRAME_FORMAT_H

#include "base/crc32c.h"
#include "io/journal/frame.h"

#define RGM_FRAME_MAGIC 0x424D4752u     // "RGMB"
#define RGM_FRAME_MAGIC_OLD 0x464D4752u // "RGMF", of version 1
#define RGM_BYTE_ORDER_MARK 0x01020304u

typedef struct {
    uint32_t magic;
    uint16_t type;
    uint16_t reserved;
    uint32_t file;
    uint32_t number;
    uint64_t length;
    uint32_t payload_crc;
    uint32_t head_crc; // of the 28 bytes before
} rgm_frame_head;

typedef struct {
    uint32_t magic;
    uint16_t type;
    uint16_t reserved;
    uint64_t length;
    uint32_t payload_crc;
    uint32_t head_crc; // of the 20 bytes before
} rgm_frame_head_old;

typedef struct {
    char magic[8];
    uint32_t version;
    uint32_t byte_order;
    uint32_t kind;
    uint32_t file;    // 0 in version 1
    uint32_t lacking; // 1 where a write found no room, else 0
    uint32_t crc;     // of the 28 bytes before
} rgm_file_head;

_Static_assert(sizeof(rgm_frame_head) == RGM_FRAME_HEAD_BYTES, "file format");
_Static_assert(sizeof(rgm_frame_head_old) == 24, "file format");
_Static_assert(sizeof(rgm_file_head) == RGM_FILE_HEAD_BYTES, "file format");

// The head of a frame of either version.
typedef struct {
    rgm_frame_place place;
    uint64_t length;
    uint32_t payload_crc;
    int64_t head_bytes;
    int64_t hole_bytes; // after the frame, known with its payload
} rgm_frame_facts;

static inline int64_t rgm_frame_total(const rgm_frame_facts *facts) {
    return facts->head_bytes + (int64_t)((facts->length + 7) / 8 * 8) + facts->hole_bytes;
}

// frame_read.c. read_exact is false where the file has fewer bytes.
bool rgm_read_exact(int fd, void *to, size_t length, int64_t offset);
// Whether a sound head stands at the offset, of a frame that the file has room for or not.
bool rgm_frame_head_at(const rgm_frame_reader *reader, int64_t offset, rgm_frame_facts *facts);
// Reads the payload and compares its sum: RGM_FORMAT without a message where they differ.
rgm_status rgm_frame_payload(rgm_frame_reader *reader, rgm_frame_facts *facts, rgm_error *err);
// RGM_OK, with kind, file and numbered of the reader set; RGM_FORMAT otherwise. *newer: of a later version,
// or of a machine of the other byte order, and sound.
rgm_status rgm_frame_check_head(rgm_frame_reader *reader, const rgm_file_head *head, bool *unreadable,
                                rgm_error *err);
// frame_salvage.c: finds the sound frames and puts them in order.
rgm_status rgm_frame_salvage(rgm_frame_reader *reader, bool head_is_sound, rgm_error *err) RGM_NODISCARD;

#endif
