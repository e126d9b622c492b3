// SPDX-License-Identifier: Apache-2.0
// Reading frames.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/memory.h"
#include "io/journal/frame_format.h"

bool rgm_read_exact(int fd, void *to, size_t length, int64_t offset) {
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

rgm_status rgm_frame_check_head(rgm_frame_reader *reader, const rgm_file_head *head, bool *unreadable,
                                rgm_error *err) {
    uint32_t crc = rgm_crc32c(0, head, offsetof(rgm_file_head, crc));
    *unreadable = false;
    rgm_frame_facts first;
    bool ours = memcmp(head->magic, RGM_FILE_MAGIC, sizeof head->magic) == 0;
    if (!ours && !rgm_frame_head_at(reader, RGM_FILE_HEAD_BYTES, &first))
        return rgm_error_at(err, RGM_FORMAT, 0,
                            "%s: not a regimeter recording: the first 8 bytes are not its mark",
                            reader->path);
    if (head->byte_order == __builtin_bswap32(RGM_BYTE_ORDER_MARK) &&
        (head->crc == __builtin_bswap32(crc) || head->crc == crc)) {
        *unreadable = true;
        return rgm_error_at(err, RGM_FORMAT, 12, "%s: written on a machine of the other byte order",
                            reader->path);
    }
    if (head->crc == crc && head->version > RGM_FILE_VERSION) {
        *unreadable = true;
        return rgm_error_at(err, RGM_FORMAT, 8,
                            "%s: format version %u, this regimeter reads up to %d; upgrade regimeter",
                            reader->path, head->version, RGM_FILE_VERSION);
    }
    if (!ours || head->crc != crc || head->byte_order != RGM_BYTE_ORDER_MARK || head->version == 0 ||
        (head->kind != RGM_FILE_JOURNAL && head->kind != RGM_FILE_RUN))
        return rgm_error_at(
            err, RGM_FORMAT, 8,
            "%s: the file head is damaged. `regimeter recover %s -o OUT` keeps what is intact", reader->path,
            reader->path);
    reader->kind = (rgm_file_kind)head->kind;
    reader->file = head->file;
    reader->numbered = head->version > 1;
    reader->lacking = head->lacking == 1;
    return RGM_OK;
}

// The head, where there is one; a reader that recovers does without.
static rgm_status begin(rgm_frame_reader *reader, rgm_error *err) {
    rgm_file_head head;
    bool unreadable = false;
    rgm_status status = RGM_FORMAT;
    if (rgm_read_exact(reader->fd, &head, sizeof head, 0))
        status = rgm_frame_check_head(reader, &head, &unreadable, err);
    else
        (void)rgm_error_at(err, RGM_FORMAT, reader->size,
                           "%s: %lld bytes, but a recording begins with a head of %d", reader->path,
                           (long long)reader->size, RGM_FILE_HEAD_BYTES);
    reader->offset = RGM_FILE_HEAD_BYTES;
    if (reader->mode == RGM_LOAD_STRICT || unreadable) return status;
    // The error about the head stands where nothing else is found either.
    rgm_error quiet = RGM_ERROR_NONE;
    rgm_status found = rgm_frame_salvage(reader, status == RGM_OK, &quiet);
    if (found != RGM_OK && found != RGM_FORMAT && err) *err = quiet;
    return found == RGM_FORMAT ? status : found;
}

rgm_status rgm_frame_open(rgm_frame_reader *reader, const char *path, rgm_load_mode mode, rgm_error *err) {
    *reader = (rgm_frame_reader){.fd = -1, .path = path, .mode = mode};
    struct stat info;
    int fd = rgm_descriptor_open(path, O_RDONLY, 0);
    if (fd < 0) return rgm_error_os(err, RGM_IO, errno, "cannot open %s", path);
    reader->fd = fd;
    rgm_status status = RGM_OK;
    if (fstat(fd, &info) != 0) {
        status = rgm_error_os(err, RGM_IO, errno, "cannot read %s", path);
    } else if (!S_ISREG(info.st_mode)) {
        status = rgm_error_set(err, RGM_INVALID, "%s is not a regular file", path);
    } else {
        reader->size = info.st_size;
        status = begin(reader, err);
    }
    if (status != RGM_OK) rgm_frame_close(reader);
    return status;
}

void rgm_frame_close(rgm_frame_reader *reader) {
    if (reader->fd >= 0) close(reader->fd);
    reader->fd = -1;
    rgm_free(reader->payload);
    rgm_free(reader->places);
    reader->payload = NULL;
    reader->places = NULL;
    reader->capacity = reader->place_count = reader->place_capacity = 0;
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

bool rgm_frame_head_at(const rgm_frame_reader *reader, int64_t offset, rgm_frame_facts *facts) {
    union {
        uint32_t magic;
        rgm_frame_head head;
        rgm_frame_head_old old;
    } at;
    *facts = (rgm_frame_facts){.place = {.offset = offset}};
    if (reader->size - offset < (int64_t)sizeof at.old ||
        !rgm_read_exact(reader->fd, &at.old, sizeof at.old, offset))
        return false;
    if (at.magic == RGM_FRAME_MAGIC_OLD) {
        facts->place.type = at.old.type;
        facts->length = at.old.length;
        facts->payload_crc = at.old.payload_crc;
        facts->head_bytes = sizeof at.old;
        return at.old.head_crc == rgm_crc32c(0, &at.old, offsetof(rgm_frame_head_old, head_crc));
    }
    if (at.magic != RGM_FRAME_MAGIC || reader->size - offset < (int64_t)sizeof at.head ||
        !rgm_read_exact(reader->fd, &at.head, sizeof at.head, offset))
        return false;
    facts->place.type = at.head.type;
    facts->place.file = at.head.file;
    facts->place.number = at.head.number;
    facts->place.numbered = true;
    facts->length = at.head.length;
    facts->payload_crc = at.head.payload_crc;
    facts->head_bytes = sizeof at.head;
    return at.head.head_crc == rgm_crc32c(0, &at.head, offsetof(rgm_frame_head, head_crc));
}

// Whether the frames that a HOLE tells of could have stood behind it.
static bool hole_fits(const rgm_frame_reader *reader, rgm_frame_facts *facts) {
    uint64_t hole[2];
    if (facts->length != sizeof hole) return false;
    memcpy(hole, reader->payload, sizeof hole);
    if (hole[0] > UINT32_MAX - facts->place.number) return false;
    if (hole[1] > (uint64_t)(reader->size - facts->place.offset - rgm_frame_total(facts))) return false;
    facts->place.taken = (uint32_t)hole[0];
    facts->hole_bytes = (int64_t)hole[1];
    return true;
}

rgm_status rgm_frame_payload(rgm_frame_reader *reader, rgm_frame_facts *facts, rgm_error *err) {
    size_t length = (size_t)facts->length;
    if (length > reader->capacity) {
        uint8_t *grown = rgm_realloc(reader->payload, length);
        if (!grown) return rgm_error_no_memory(err);
        reader->payload = grown;
        reader->capacity = length;
    }
    if (!rgm_read_exact(reader->fd, reader->payload, length, facts->place.offset + facts->head_bytes))
        return rgm_error_os(err, RGM_IO, errno, "cannot read %s", reader->path);
    if (facts->payload_crc != rgm_crc32c(0, reader->payload, length)) return RGM_FORMAT;
    return facts->place.type == RGM_FRAME_HOLE && !hole_fits(reader, facts) ? RGM_FORMAT : RGM_OK;
}

// What a frame says of its place in the file, against where it stands.
static rgm_status check_place(rgm_frame_reader *reader, const rgm_frame_place *place, rgm_error *err) {
    if (place->numbered != reader->numbered || place->file != (reader->numbered ? reader->file : 0))
        return damaged(reader, "a block of another recording", err);
    if (reader->ended) return damaged(reader, "a block after the closing block", err);
    if (!reader->numbered) return RGM_OK;
    if (place->number < reader->expected)
        return damaged(reader, "a block that stands twice or in the wrong place", err);
    if (place->number > reader->expected) {
        char what[64];
        (void)snprintf(what, sizeof what, "%u missing blocks, before the one",
                       place->number - reader->expected);
        return damaged(reader, what, err);
    }
    reader->expected++;
    return RGM_OK;
}

static rgm_status next_in_file(rgm_frame_reader *reader, rgm_frame_facts *facts, rgm_error *err) {
    int64_t left = reader->size - reader->offset;
    if (left < (int64_t)sizeof(rgm_frame_head_old)) return cut(reader, "the head of a block", err);
    if (!rgm_frame_head_at(reader, reader->offset, facts))
        return damaged(reader, "expected a block head, found other bytes", err);
    if (facts->length > (uint64_t)(left - facts->head_bytes)) {
        char expected[64];
        (void)snprintf(expected, sizeof expected, "a block of %llu bytes", (unsigned long long)facts->length);
        return cut(reader, expected, err);
    }
    RGM_TRY(check_place(reader, &facts->place, err));
    rgm_status status = rgm_frame_payload(reader, facts, err);
    reader->expected += facts->place.taken;
    return status == RGM_FORMAT ? damaged(reader, "a block whose check sum does not match", err) : status;
}

rgm_status rgm_frame_next(rgm_frame_reader *reader, unsigned *type, const uint8_t **payload, size_t *length,
                          rgm_error *err) {
    rgm_frame_facts facts = {0};
    *type = 0;
    if (reader->mode == RGM_LOAD_RECOVER) {
        if (reader->place == reader->place_count) return RGM_OK;
        reader->offset = reader->places[reader->place++].offset;
        // It was sound a moment ago.
        if (!rgm_frame_head_at(reader, reader->offset, &facts) ||
            rgm_frame_payload(reader, &facts, err) != RGM_OK)
            return rgm_error_os(err, RGM_IO, errno, "%s changed while it was read", reader->path);
    } else {
        if (reader->offset >= reader->size) return RGM_OK;
        RGM_TRY(next_in_file(reader, &facts, err));
    }
    *type = facts.place.type;
    *payload = reader->payload;
    *length = (size_t)facts.length;
    reader->ended = facts.place.type == RGM_FRAME_END;
    reader->frame_offset = reader->offset;
    reader->offset += rgm_frame_total(&facts);
    return RGM_OK;
}

bool rgm_frame_is_finished(int fd, bool *ours) {
    rgm_frame_reader reader = {.fd = fd, .path = ""};
    struct stat info;
    rgm_file_head head;
    *ours = false;
    if (fstat(fd, &info) != 0 || !rgm_read_exact(fd, &head, sizeof head, 0)) return false;
    if (memcmp(head.magic, RGM_FILE_MAGIC, sizeof head.magic) != 0) return false;
    *ours = true;
    if (head.kind == RGM_FILE_RUN) return true; // written whole, by rename
    reader.size = info.st_size;
    static const size_t heads[] = {sizeof(rgm_frame_head), sizeof(rgm_frame_head_old)};
    for (size_t i = 0; i < 2; i++) {
        rgm_frame_facts facts;
        int64_t offset = info.st_size - (int64_t)(heads[i] + sizeof(uint64_t));
        if (offset >= (int64_t)sizeof head && rgm_frame_head_at(&reader, offset, &facts) &&
            facts.place.type == RGM_FRAME_END && (size_t)facts.head_bytes == heads[i])
            return true;
    }
    return false;
}
