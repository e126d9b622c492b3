// SPDX-License-Identifier: Apache-2.0
// Helpers of the tests of files: the blocks of one in turn, files made of blocks by hand, and damaged ones.
#ifndef RGM_TEST_FRAMES_H
#define RGM_TEST_FRAMES_H

#include "io/journal/frame.h"
#include "recording.h"

typedef struct {
    uint16_t type;
    uint64_t bytes; // of content
    size_t next;    // where the next block begins
} frame_seen;

// The block at that place of a file; false where no head has room.
UNUSED static bool frame_at(const uint8_t *data, size_t length, size_t at, frame_seen *frame) {
    if (at + RGM_FRAME_HEAD_BYTES > length) return false;
    memcpy(&frame->type, data + at + 4, 2);
    memcpy(&frame->bytes, data + at + 16, 8);
    frame->next = at + RGM_FRAME_HEAD_BYTES + (frame->bytes + 7) / 8 * 8;
    return true;
}

// Offsets of the blocks, and of the end.
UNUSED static size_t frames_of(const uint8_t *data, size_t length, size_t *offsets, size_t most) {
    size_t count = 0, at = RGM_FILE_HEAD_BYTES;
    frame_seen frame;
    for (; count + 1 < most && frame_at(data, length, at, &frame); at = frame.next) offsets[count++] = at;
    offsets[count] = at;
    return count;
}

UNUSED static void frame_put(rgm_bytes *out, rgm_frame_type type, const void *payload, size_t length) {
    size_t mark = rgm_frame_begin(out, type);
    rgm_bytes_append(out, payload, length);
    rgm_frame_end(out, mark);
}

// Numbers the blocks that were put behind the head of file 7, writes and releases them.
UNUSED static bool frames_write(const char *path, rgm_bytes *out) {
    rgm_frame_number(out, &(rgm_frame_series){.file = 7});
    bool written = !out->failed && file_write(path, out->data, out->length);
    rgm_bytes_release(out);
    return written;
}

UNUSED static bool says_the_way_out(const rgm_error *err, const char *path) {
    return strstr(err->message, path) != NULL && strstr(err->message, "regimeter recover") != NULL;
}

// What is left of a file that is not to be read as a whole.
UNUSED static rgm_run *recovered_only(const char *path, const uint8_t *data, size_t length) {
    rgm_run *run = NULL;
    rgm_error err = RGM_ERROR_NONE;
    if (!file_write(path, data, length)) return NULL;
    CHECK_EQ_I64(rgm_run_load(path, RGM_LOAD_STRICT, &run, &err), RGM_FORMAT);
    CHECK(says_the_way_out(&err, path));
    return load_of(path, RGM_LOAD_RECOVER);
}

#endif
