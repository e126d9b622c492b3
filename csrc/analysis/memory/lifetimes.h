// SPDX-License-Identifier: Apache-2.0
// How long each block of memory lived, from the events of an allocator and from what it held at the end.
//
// An allocator's history is a ring that may have lost its beginning, so it is completed from the end: a block
// that is freed without having been asked for lived before the history began, and so did a block that is held
// at the end without having been asked for. Where the recording ends without a list of blocks, those that
// were not freed live on.
//
// Torch's profiler records no such end, but with each event what was allocated in all: what the events do not
// explain of the first such total lived before them, one block for each device.
//
// Events without an address change what lives for good: such a block has negative bytes where it is a free.
//
// Sizes are what the program asked for; what an allocator adds by rounding is in `pools`.
#ifndef RGM_ANALYSIS_LIFETIMES_H
#define RGM_ANALYSIS_LIFETIMES_H

#include <stdbool.h>

#include "analysis/memory/places.h"
#include "model/run.h"

// Bytes that a damaged file may state add up to the largest number at most.
static inline int64_t rgm_bytes_sum(int64_t a, int64_t b) {
    int64_t total;
    if (!__builtin_add_overflow(a, b, &total)) return total;
    return b > 0 ? INT64_MAX : INT64_MIN;
}

// A block lives at position p of the events where begin <= p < end.
typedef struct {
    int64_t bytes;
    int32_t begin; // position of the event that asked for it, -1 for before all
    int32_t end;   // position of the event that freed it, the number of events for never
    int32_t stack; // row of `stacks`, -1 when not known
    rgm_name category;
    uint32_t place; // an index of `devices`
    int64_t span;   // row of who asked, -1 when not known
} rgm_lifetime;

// What one place has in all.
typedef struct {
    rgm_memory_place place;
    bool reserved_known; // a list of segments says what was reserved at the end
    bool rest_known;     // an event has stated what was allocated in all
    int64_t live_before, reserved_before;
    int64_t peak;    // most bytes that lived at once
    int32_t peak_at; // position of the first event after which they did, -1 for before all
} rgm_memory_device;

typedef struct {
    const rgm_run *run;
    uint32_t *events; // [n_events] rows of `memory` that an allocator wrote, by time
    size_t n_events;
    rgm_lifetime *blocks;
    size_t n_blocks;
    rgm_memory_device *devices; // [places.count]
    rgm_memory_places places;
    int64_t *live;     // [n_events] after each event, of its device
    int64_t *reserved; // the same; -1 when not known
} rgm_lifetimes;

rgm_status rgm_lifetimes_init(rgm_lifetimes *lifetimes, const rgm_run *run, rgm_error *err) RGM_NODISCARD;
// Zero-initialised memory is a valid argument.
void rgm_lifetimes_release(rgm_lifetimes *lifetimes);
// Where the event at a position happened.
static inline rgm_memory_device *rgm_lifetimes_device(const rgm_lifetimes *lifetimes, size_t position) {
    return &lifetimes->devices[lifetimes->places.of[position]];
}

#endif
