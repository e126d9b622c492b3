// SPDX-License-Identifier: Apache-2.0
// Whose memory, and where: each rank, or process, of a run has allocators and addresses of its own, on a
// device of the same number too. Where what an allocator held at the end does not say whose it is, all is
// taken as of one.
#ifndef RGM_ANALYSIS_PLACES_H
#define RGM_ANALYSIS_PLACES_H

#include <stdbool.h>

#include "model/run.h"

typedef struct {
    int16_t device;  // ordinal, -1 for the host
    int32_t rank;    // -1 where all is of one, or of processes without ranks
    int64_t process; // of processes; -1 elsewhere
} rgm_memory_place;

typedef struct {
    rgm_memory_place *places; // by device, then by rank, then by process
    size_t count;
    uint32_t *of; // [n_events, then rows of `blocks` and of `segments`] an index of `places`
} rgm_memory_places;

// Whether a row of `memory` with this action is of an allocator; others are readings.
bool rgm_memory_is_of_allocator(uint8_t action);

// events: rows of `memory` that are. Zero-initialised memory is a valid argument of release.
rgm_status rgm_memory_places_init(rgm_memory_places *found, const rgm_run *run, const uint32_t *events,
                                  size_t n_events, rgm_error *err) RGM_NODISCARD;
void rgm_memory_places_release(rgm_memory_places *found);

#endif
