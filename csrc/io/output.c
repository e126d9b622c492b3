// SPDX-License-Identifier: Apache-2.0
#include "io/output.h"

#include "base/memory.h"

enum { CAPACITY = 1 << 18 };

rgm_status rgm_output_init(rgm_output *out, rgm_sink_write write, void *context, rgm_error *err) {
    *out = (rgm_output){.write = write, .context = context, .err = err, .capacity = CAPACITY};
    out->data = rgm_malloc(CAPACITY);
    return out->data ? RGM_OK : rgm_error_no_memory(err);
}

void rgm_output_release(rgm_output *out) {
    rgm_free(out->data);
    *out = (rgm_output){0};
}

static void pass_on(rgm_output *out, const void *data, size_t length) {
    if (out->status == RGM_OK && length) out->status = out->write(out->context, data, length, out->err);
}

void rgm_output_flush(rgm_output *out) {
    pass_on(out, out->data, out->length);
    out->length = 0;
}

void rgm_output_long(rgm_output *out, const void *data, size_t length) {
    rgm_output_flush(out);
    if (length >= out->capacity) {
        pass_on(out, data, length);
        return;
    }
    memcpy(out->data, data, length);
    out->length = length;
}

rgm_status rgm_output_finish(rgm_output *out) {
    rgm_output_flush(out);
    return out->status;
}
