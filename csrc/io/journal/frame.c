// SPDX-License-Identifier: Apache-2.0
// Writing frames.
#include "io/journal/frame.h"

#include <string.h>

#include "io/journal/frame_format.h"

void rgm_frame_write_head(rgm_bytes *out, rgm_file_kind kind, uint32_t file, bool lacking) {
    rgm_file_head head = {.version = RGM_FILE_VERSION,
                          .byte_order = RGM_BYTE_ORDER_MARK,
                          .kind = (uint32_t)kind,
                          .file = file,
                          .lacking = lacking};
    memcpy(head.magic, RGM_FILE_MAGIC, sizeof head.magic);
    head.crc = rgm_crc32c(0, &head, offsetof(rgm_file_head, crc));
    rgm_bytes_append(out, &head, sizeof head);
}

size_t rgm_frame_begin(rgm_bytes *out, rgm_frame_type type) {
    size_t mark = out->length;
    rgm_frame_head head = {.magic = RGM_FRAME_MAGIC, .type = (uint16_t)type};
    rgm_bytes_append(out, &head, sizeof head);
    return mark;
}

void rgm_frame_end(rgm_bytes *out, size_t mark) {
    if (out->failed) return;
    rgm_frame_head head;
    memcpy(&head, out->data + mark, sizeof head);
    head.length = out->length - mark - sizeof head;
    head.payload_crc = rgm_crc32c(0, out->data + mark + sizeof head, (size_t)head.length);
    memcpy(out->data + mark, &head, sizeof head);
    rgm_bytes_align(out);
}

void rgm_frame_number(rgm_bytes *frames, rgm_frame_series *series) {
    if (frames->failed) return;
    size_t at = 0;
    if (frames->length >= RGM_FILE_HEAD_BYTES && memcmp(frames->data, RGM_FILE_MAGIC, 8) == 0)
        at = RGM_FILE_HEAD_BYTES;
    while (at < frames->length) {
        rgm_frame_head head;
        memcpy(&head, frames->data + at, sizeof head);
        head.file = series->file;
        head.number = series->next++;
        if (head.type == RGM_FRAME_END) {
            uint64_t before = head.number;
            memcpy(frames->data + at + sizeof head, &before, sizeof before);
            head.payload_crc = rgm_crc32c(0, &before, sizeof before);
        }
        head.head_crc = rgm_crc32c(0, &head, offsetof(rgm_frame_head, head_crc));
        memcpy(frames->data + at, &head, sizeof head);
        at += sizeof head + (size_t)((head.length + 7) / 8 * 8);
    }
}
