// SPDX-License-Identifier: Apache-2.0
#include "io/frame.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/descriptor.h"
#include "base/memory.h"

#define FRAME_MAGIC 0x464D4752u // "RGMF"
#define BYTE_ORDER_MARK 0x01020304u

typedef struct {
    uint32_t magic;
    uint16_t type;
    uint16_t reserved;
    uint64_t length;
    uint32_t payload_crc;
    uint32_t head_crc; // of the 20 bytes before
} frame_head;

typedef struct {
    char magic[8];
    uint32_t version;
    uint32_t byte_order;
    uint32_t kind;
    uint32_t reserved[2];
    uint32_t crc; // of the 28 bytes before
} file_head;

_Static_assert(sizeof(frame_head) == RGM_FRAME_HEAD_BYTES, "file format");
_Static_assert(sizeof(file_head) == RGM_FILE_HEAD_BYTES, "file format");

void rgm_frame_write_head(rgm_bytes *out, rgm_file_kind kind) {
    file_head head = {.version = RGM_FILE_VERSION, .byte_order = BYTE_ORDER_MARK, .kind = (uint32_t)kind};
    memcpy(head.magic, RGM_FILE_MAGIC, sizeof head.magic);
    head.crc = rgm_crc32c(0, &head, offsetof(file_head, crc));
    rgm_bytes_append(out, &head, sizeof head);
}

size_t rgm_frame_begin(rgm_bytes *out, rgm_frame_type type) {
    size_t mark = out->length;
    frame_head head = {.magic = FRAME_MAGIC, .type = (uint16_t)type};
    rgm_bytes_append(out, &head, sizeof head);
    return mark;
}

void rgm_frame_end(rgm_bytes *out, size_t mark) {
    if (out->failed) return;
    frame_head head;
    memcpy(&head, out->data + mark, sizeof head);
    const uint8_t *payload = out->data + mark + sizeof head;
    head.length = out->length - mark - sizeof head;
    head.payload_crc = rgm_crc32c(0, payload, (size_t)head.length);
    head.head_crc = rgm_crc32c(0, &head, offsetof(frame_head, head_crc));
    memcpy(out->data + mark, &head, sizeof head);
    rgm_bytes_align(out);
}

static bool read_exact(int fd, void *to, size_t length, int64_t offset) {
    char *at = to;
    while (length) {
        ssize_t got = pread(fd, at, length, offset);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        offset += got;
        length -= (size_t)got;
    }
    return true;
}

static rgm_status check_head(rgm_frame_reader *reader, const file_head *head, rgm_error *err) {
    if (memcmp(head->magic, RGM_FILE_MAGIC, sizeof head->magic) != 0)
        return rgm_error_at(err, RGM_FORMAT, 0,
                            "%s: not a regimeter recording: the first 8 bytes are not its mark",
                            reader->path);
    if (head->byte_order != BYTE_ORDER_MARK)
        return rgm_error_at(err, RGM_FORMAT, 12, "%s: written on a machine of the other byte order",
                            reader->path);
    if (head->version > RGM_FILE_VERSION)
        return rgm_error_at(err, RGM_FORMAT, 8,
                            "%s: format version %u, this regimeter reads up to %d; upgrade regimeter",
                            reader->path, head->version, RGM_FILE_VERSION);
    if (head->crc != rgm_crc32c(0, head, offsetof(file_head, crc)) || head->version == 0 ||
        (head->kind != RGM_FILE_JOURNAL && head->kind != RGM_FILE_RUN))
        return rgm_error_at(err, RGM_FORMAT, 8, "%s: the file head is damaged", reader->path);
    reader->kind = (rgm_file_kind)head->kind;
    return RGM_OK;
}

rgm_status rgm_frame_open(rgm_frame_reader *reader, const char *path, rgm_error *err) {
    *reader = (rgm_frame_reader){.fd = -1, .path = path};
    struct stat info;
    int fd = rgm_descriptor_open(path, O_RDONLY, 0);
    if (fd < 0) return rgm_error_os(err, RGM_IO, errno, "cannot open %s", path);
    reader->fd = fd;
    rgm_status status = RGM_OK;
    file_head head;
    if (fstat(fd, &info) != 0) {
        status = rgm_error_os(err, RGM_IO, errno, "cannot read %s", path);
    } else if (!S_ISREG(info.st_mode)) {
        status = rgm_error_set(err, RGM_INVALID, "%s is not a regular file", path);
    } else if (!read_exact(fd, &head, sizeof head, 0)) {
        status = rgm_error_at(err, RGM_FORMAT, info.st_size,
                              "%s: %lld bytes, but a recording begins with a head of %d", path,
                              (long long)info.st_size, RGM_FILE_HEAD_BYTES);
    } else {
        status = check_head(reader, &head, err);
        reader->size = info.st_size;
        reader->offset = RGM_FILE_HEAD_BYTES;
    }
    if (status != RGM_OK) rgm_frame_close(reader);
    return status;
}

void rgm_frame_close(rgm_frame_reader *reader) {
    if (reader->fd >= 0) close(reader->fd);
    reader->fd = -1;
    rgm_free(reader->payload);
    reader->payload = NULL;
    reader->capacity = 0;
}

static rgm_status cut(const rgm_frame_reader *reader, const char *expected, rgm_error *err) {
    return rgm_error_at(err, RGM_FORMAT, reader->offset,
                        "%s: the file ends in the middle of a block at byte %lld of %lld; expected %s. "
                        "`regimeter recover %s -o OUT` keeps what is intact",
                        reader->path, (long long)reader->offset, (long long)reader->size, expected,
                        reader->path);
}

static rgm_status damaged(const rgm_frame_reader *reader, const char *what, rgm_error *err) {
    return rgm_error_at(err, RGM_FORMAT, reader->offset,
                        "%s: %s at byte %lld. `regimeter recover %s -o OUT` keeps what is intact",
                        reader->path, what, (long long)reader->offset, reader->path);
}

rgm_status rgm_frame_blame(const rgm_frame_reader *reader, rgm_error *err) {
    if (!err) return RGM_FORMAT;
    char what[sizeof err->message];
    (void)snprintf(what, sizeof what, "%s", err->message);
    return rgm_error_at(
        err, RGM_FORMAT, reader->frame_offset,
        "%s: %.200s, in the block at byte %lld. `regimeter recover %s -o OUT` keeps what is intact",
        reader->path, what, (long long)reader->frame_offset, reader->path);
}

rgm_status rgm_frame_next(rgm_frame_reader *reader, unsigned *type, const uint8_t **payload, size_t *length,
                          rgm_error *err) {
    int64_t left = reader->size - reader->offset;
    *type = 0;
    if (left <= 0) return RGM_OK;
    frame_head head;
    if (left < (int64_t)sizeof head) return cut(reader, "a block head of 24 bytes", err);
    if (!read_exact(reader->fd, &head, sizeof head, reader->offset))
        return rgm_error_os(err, RGM_IO, errno, "cannot read %s", reader->path);
    if (head.magic != FRAME_MAGIC || head.head_crc != rgm_crc32c(0, &head, offsetof(frame_head, head_crc)))
        return damaged(reader, "expected a block head, found other bytes", err);
    if (head.length > (uint64_t)(left - (int64_t)sizeof head)) {
        char expected[64];
        (void)snprintf(expected, sizeof expected, "a block of %llu bytes", (unsigned long long)head.length);
        return cut(reader, expected, err);
    }
    if (head.length > reader->capacity) {
        uint8_t *grown = rgm_realloc(reader->payload, (size_t)head.length);
        if (!grown) return rgm_error_no_memory(err);
        reader->payload = grown;
        reader->capacity = (size_t)head.length;
    }
    if (!read_exact(reader->fd, reader->payload, (size_t)head.length, reader->offset + (int64_t)sizeof head))
        return rgm_error_os(err, RGM_IO, errno, "cannot read %s", reader->path);
    if (head.payload_crc != rgm_crc32c(0, reader->payload, (size_t)head.length))
        return damaged(reader, "a block whose check sum does not match", err);
    *type = head.type;
    *payload = reader->payload;
    *length = (size_t)head.length;
    reader->frame_offset = reader->offset;
    reader->offset += (int64_t)(sizeof head + (head.length + 7) / 8 * 8);
    return RGM_OK;
}

// Whether a whole, sound frame begins at the offset.
static bool sound_at(rgm_frame_reader *reader, int64_t offset) {
    int64_t before = reader->offset;
    unsigned type;
    const uint8_t *payload;
    size_t length;
    reader->offset = offset;
    bool sound = rgm_frame_next(reader, &type, &payload, &length, NULL) == RGM_OK && type != 0;
    reader->offset = before;
    return sound;
}

rgm_status rgm_frame_resync(rgm_frame_reader *reader, int64_t *skipped, rgm_error *err) {
    enum { WINDOW = 1 << 16 };
    uint8_t *window = rgm_malloc(WINDOW);
    if (!window) return rgm_error_no_memory(err);
    int64_t from = reader->offset, found = reader->size;
    for (int64_t at = from + 8; at < reader->size && found == reader->size;) {
        size_t want = reader->size - at < WINDOW ? (size_t)(reader->size - at) : WINDOW;
        if (want < 4 || !read_exact(reader->fd, window, want, at)) break;
        // Frames begin at multiples of eight.
        for (size_t i = 0; i + 4 <= want; i += 8) {
            uint32_t word;
            memcpy(&word, window + i, sizeof word);
            if (word == FRAME_MAGIC && sound_at(reader, at + (int64_t)i)) {
                found = at + (int64_t)i;
                break;
            }
        }
        at += (int64_t)(want / 8 * 8 > 0 ? want / 8 * 8 : want);
    }
    rgm_free(window);
    reader->offset = found;
    *skipped = found - from;
    return RGM_OK;
}

bool rgm_frame_is_finished(int fd, bool *ours) {
    struct stat info;
    file_head head;
    *ours = false;
    if (fstat(fd, &info) != 0 || !read_exact(fd, &head, sizeof head, 0)) return false;
    if (memcmp(head.magic, RGM_FILE_MAGIC, sizeof head.magic) != 0) return false;
    *ours = true;
    if (head.kind == RGM_FILE_RUN) return true; // written whole, by rename
    struct {
        frame_head head;
        uint64_t payload;
    } tail;
    if (info.st_size < (off_t)(sizeof head + sizeof tail)) return false;
    if (!read_exact(fd, &tail, sizeof tail, info.st_size - (off_t)sizeof tail)) return false;
    return tail.head.magic == FRAME_MAGIC && tail.head.type == RGM_FRAME_END &&
           tail.head.head_crc == rgm_crc32c(0, &tail.head, offsetof(frame_head, head_crc));
}
