// SPDX-License-Identifier: Apache-2.0
// Bytes that come in pieces of a size, as from a pipe.
#ifndef RGM_TEST_PIECES_H
#define RGM_TEST_PIECES_H

#include <string.h>

#include "io/source.h"

typedef struct {
    const void *data;
    size_t length, at, piece;
} pieces;

// The read function of an rgm_source whose context is one of these.
static inline rgm_status read_piece(void *context, uint8_t *buffer, size_t room, size_t *filled,
                                    rgm_error *err) {
    pieces *p = context;
    (void)err;
    size_t left = p->length - p->at, size = p->piece < room ? p->piece : room;
    *filled = size < left ? size : left;
    if (*filled) memcpy(buffer, (const uint8_t *)p->data + p->at, *filled);
    p->at += *filled;
    return RGM_OK;
}

#endif
