// SPDX-License-Identifier: Apache-2.0
// Writes protocol buffers' wire format into a growing buffer with a sticky failure.
#ifndef RGM_IO_PROTO_WRITE_H
#define RGM_IO_PROTO_WRITE_H

#include "base/bytes.h"
#include "base/strings.h"

void rgm_proto_varint(rgm_bytes *out, uint64_t value);
void rgm_proto_u64(rgm_bytes *out, unsigned field, uint64_t value);
void rgm_proto_i64(rgm_bytes *out, unsigned field, int64_t value); // int64, not sint64
void rgm_proto_fixed64(rgm_bytes *out, unsigned field, uint64_t value);
void rgm_proto_f64(rgm_bytes *out, unsigned field, double value);
void rgm_proto_bytes(rgm_bytes *out, unsigned field, const void *data, size_t length);
// Bytes that are not UTF-8 become U+FFFD, which the type `string` calls for.
void rgm_proto_text(rgm_bytes *out, unsigned field, const void *data, size_t length);

// A nested message, whose length is filled in at its end: at most 256 MiB. The length takes four bytes
// always.
size_t rgm_proto_begin(rgm_bytes *out, unsigned field);
void rgm_proto_end(rgm_bytes *out, size_t mark);

#endif
