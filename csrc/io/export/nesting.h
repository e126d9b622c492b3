// SPDX-License-Identifier: Apache-2.0
// Places spans, given in order of start (the longer first), on the first of the lane's tracks where they
// nest.
#ifndef RGM_IO_NESTING_H
#define RGM_IO_NESTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct {
    int64_t end;
    uint32_t track;
} rgm_nesting_open;

typedef struct {
    int64_t end; // of the span around this level
    bool work;   // it or one around it is device work
} rgm_nesting_level;

typedef struct {
    rgm_nesting_level *levels;
    size_t count, capacity;
} rgm_nesting_track;

// A tournament tree over the tracks holds the latest end that each can still take: of a span, and of device
// work (which must not begin inside other work). A heap of what is open tells which levels have ended.
typedef struct {
    rgm_nesting_track *tracks;
    int64_t *any, *work; // [2 * leaves], leaf t at leaves + t; a node holds the larger of its two
    size_t leaves, n_tracks;
    rgm_nesting_open *heap;
    size_t open, heap_capacity;
} rgm_nesting;

// Begins with an empty lane; zero-initialise before the first use, release after the last.
void rgm_nesting_reset(rgm_nesting *nesting);
rgm_status rgm_nesting_place(rgm_nesting *nesting, int64_t start, int64_t end, bool work, uint32_t *track,
                             rgm_error *err) RGM_NODISCARD;
void rgm_nesting_release(rgm_nesting *nesting);

#endif
