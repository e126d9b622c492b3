// SPDX-License-Identifier: Apache-2.0
#include "io/export/proto_write.h"

#include <string.h>

#include "base/utf8.h"

enum { VARINT = 0, FIXED64 = 1, LENGTH = 2, LENGTH_BYTES = 4 };

void rgm_proto_varint(rgm_bytes *out, uint64_t value) {
    uint8_t bytes[10];
    size_t used = 0;
    for (; value >= 0x80; value >>= 7) bytes[used++] = (uint8_t)(value | 0x80u);
    bytes[used++] = (uint8_t)value;
    rgm_bytes_append(out, bytes, used);
}

static void tag(rgm_bytes *out, unsigned field, unsigned type) { rgm_proto_varint(out, field << 3 | type); }

void rgm_proto_u64(rgm_bytes *out, unsigned field, uint64_t value) {
    tag(out, field, VARINT);
    rgm_proto_varint(out, value);
}

void rgm_proto_i64(rgm_bytes *out, unsigned field, int64_t value) {
    rgm_proto_u64(out, field, (uint64_t)value);
}

void rgm_proto_fixed64(rgm_bytes *out, unsigned field, uint64_t value) {
    tag(out, field, FIXED64);
    rgm_bytes_u64(out, value);
}

void rgm_proto_f64(rgm_bytes *out, unsigned field, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    rgm_proto_fixed64(out, field, bits);
}

void rgm_proto_bytes(rgm_bytes *out, unsigned field, const void *data, size_t length) {
    tag(out, field, LENGTH);
    rgm_proto_varint(out, length);
    rgm_bytes_append(out, data, length);
}

void rgm_proto_text(rgm_bytes *out, unsigned field, const void *data, size_t length) {
    const unsigned char *at = data, *end = at + length, *plain = at;
    size_t good = 1;
    while (at < end && (good = rgm_utf8_length(at, end))) at += good;
    if (at == end) {
        rgm_proto_bytes(out, field, data, length);
        return;
    }
    size_t mark = rgm_proto_begin(out, field);
    for (at = plain; at < end; at += good ? good : 1) {
        good = rgm_utf8_length(at, end);
        if (good)
            rgm_bytes_append(out, at, good);
        else
            rgm_bytes_text(out, "\xEF\xBF\xBD");
    }
    rgm_proto_end(out, mark);
}

size_t rgm_proto_begin(rgm_bytes *out, unsigned field) {
    static const uint8_t room[LENGTH_BYTES];
    tag(out, field, LENGTH);
    rgm_bytes_append(out, room, LENGTH_BYTES);
    return out->length;
}

void rgm_proto_end(rgm_bytes *out, size_t mark) {
    if (out->failed) return;
    size_t length = out->length - mark;
    uint8_t *at = out->data + mark - LENGTH_BYTES;
    for (int i = 0; i < LENGTH_BYTES; i++, length >>= 7)
        at[i] = (uint8_t)((length & 0x7Fu) | (i < LENGTH_BYTES - 1 ? 0x80u : 0));
    if (length) out->failed = true;
}
