// SPDX-License-Identifier: Apache-2.0
// Where an importer has its bytes from.
#ifndef RGM_IO_SOURCE_H
#define RGM_IO_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// Puts up to `room` bytes at `buffer` and their number in *filled; 0 is the end of the input. Called from one
// thread at a time, not always the same.
typedef rgm_status (*rgm_source_read)(void *context, uint8_t *buffer, size_t room, size_t *filled,
                                      rgm_error *err);

// The same from a place of the input; called from two threads at once.
typedef rgm_status (*rgm_source_read_at)(void *context, int64_t offset, uint8_t *buffer, size_t room,
                                         size_t *filled, rgm_error *err);

typedef struct {
    rgm_source_read read;
    rgm_source_read_at read_at; // NULL for an input that can only be read once from the beginning
    int64_t size;               // where read_at is given
    void *context;
    const char *name; // for messages and the `files` table
} rgm_source;

#endif
