// SPDX-License-Identifier: Apache-2.0
// Bytes on their way out: a buffer in front of a sink, with a sticky failure. Writers append without
// checking; the owner asks once, at the end, whether everything was written.
#ifndef RGM_IO_OUTPUT_H
#define RGM_IO_OUTPUT_H

#include <stdint.h>
#include <string.h>

#include "base/status.h"

// Takes all of the bytes or fails.
typedef rgm_status (*rgm_sink_write)(void *context, const void *data, size_t length, rgm_error *err);

typedef struct {
    uint8_t *data;
    size_t length;
    size_t capacity;
    rgm_sink_write write;
    void *context;
    rgm_status status; // of the first failure; what comes after it is dropped
    rgm_error *err;
} rgm_output;

// `err` (may be NULL) receives the message of the first failure, whenever that is.
rgm_status rgm_output_init(rgm_output *out, rgm_sink_write write, void *context,
                           rgm_error *err) RGM_NODISCARD;
void rgm_output_release(rgm_output *out);
void rgm_output_flush(rgm_output *out);
// Writes what is left and says whether all of it went out.
rgm_status rgm_output_finish(rgm_output *out) RGM_NODISCARD;
// For bytes that do not fit into the buffer.
void rgm_output_long(rgm_output *out, const void *data, size_t length);

static inline void rgm_output_append(rgm_output *out, const void *data, size_t length) {
    if (RGM_UNLIKELY(out->capacity - out->length < length)) {
        rgm_output_long(out, data, length);
        return;
    }
    if (length) memcpy(out->data + out->length, data, length);
    out->length += length;
}

static inline void rgm_output_byte(rgm_output *out, char byte) {
    if (RGM_UNLIKELY(out->capacity == out->length)) rgm_output_flush(out);
    out->data[out->length++] = (uint8_t)byte;
}

#define RGM_OUTPUT_LITERAL(out, text) rgm_output_append((out), (text), sizeof(text) - 1)

#endif
