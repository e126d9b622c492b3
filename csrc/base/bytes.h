// SPDX-License-Identifier: Apache-2.0
// A growable byte buffer with a sticky failure: writers append without checking, the owner asks once
// at the end whether everything fitted. Zero-initialise before use.
#ifndef RGM_BASE_BYTES_H
#define RGM_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct {
    uint8_t *data;
    size_t length;
    size_t capacity;
    bool failed; // an allocation was refused; the content is incomplete
} rgm_bytes;

// Makes room for `extra` bytes and returns where they go, or NULL after setting `failed`.
uint8_t *rgm_bytes_grow(rgm_bytes *bytes, size_t extra);
void rgm_bytes_append(rgm_bytes *bytes, const void *data, size_t length);
void rgm_bytes_text(rgm_bytes *bytes, const char *text);
void rgm_bytes_u32(rgm_bytes *bytes, uint32_t value);
void rgm_bytes_u64(rgm_bytes *bytes, uint64_t value);
// Pads with zero bytes to a multiple of eight.
void rgm_bytes_align(rgm_bytes *bytes);
// Forgets the content, keeps the memory.
void rgm_bytes_reset(rgm_bytes *bytes);
void rgm_bytes_release(rgm_bytes *bytes);

#endif
