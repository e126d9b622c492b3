// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <string.h>

#include "base/memory.h"

uint8_t *rgm_bytes_grow(rgm_bytes *bytes, size_t extra) {
    if (bytes->failed) return NULL;
    if (extra > SIZE_MAX / 2 - bytes->length) {
        bytes->failed = true;
        return NULL;
    }
    size_t need = bytes->length + extra;
    if (need > bytes->capacity) {
        size_t capacity = bytes->capacity ? bytes->capacity : 256;
        while (capacity < need) capacity *= 2;
        uint8_t *data = rgm_realloc(bytes->data, capacity);
        if (!data) {
            bytes->failed = true;
            return NULL;
        }
        bytes->data = data;
        bytes->capacity = capacity;
    }
    uint8_t *at = bytes->data + bytes->length;
    bytes->length = need;
    return at;
}

void rgm_bytes_append(rgm_bytes *bytes, const void *data, size_t length) {
    if (!length) return;
    uint8_t *at = rgm_bytes_grow(bytes, length);
    if (at) memcpy(at, data, length);
}

void rgm_bytes_text(rgm_bytes *bytes, const char *text) { rgm_bytes_append(bytes, text, strlen(text)); }

void rgm_bytes_u32(rgm_bytes *bytes, uint32_t value) { rgm_bytes_append(bytes, &value, sizeof value); }
void rgm_bytes_u64(rgm_bytes *bytes, uint64_t value) { rgm_bytes_append(bytes, &value, sizeof value); }

void rgm_bytes_align(rgm_bytes *bytes) {
    static const uint8_t zeros[8];
    rgm_bytes_append(bytes, zeros, (8 - bytes->length % 8) % 8);
}

void rgm_bytes_reset(rgm_bytes *bytes) {
    bytes->length = 0;
    bytes->failed = false;
}

void rgm_bytes_release(rgm_bytes *bytes) {
    rgm_free(bytes->data);
    *bytes = (rgm_bytes){0};
}
