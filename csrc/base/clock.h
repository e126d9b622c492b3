// SPDX-License-Identifier: Apache-2.0
// Ticks: the cheapest monotonic counter of this machine, and what turns them into nanoseconds.
//
// A tick is the invariant time-stamp counter where the processor has one, CLOCK_MONOTONIC in nanoseconds
// otherwise, or whatever a test sets. Ticks mean nothing across processes. An rgm_anchor ties a tick to
// CLOCK_MONOTONIC; an rgm_timebase is a growing list of anchors, and time between two anchors is linear, so
// a conversion once given never changes. A bracketed anchor is good to some 40 ns.
#ifndef RGM_BASE_CLOCK_H
#define RGM_BASE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

// Nanoseconds on CLOCK_MONOTONIC lie within this of zero, so that sums and differences of a few do not
// overflow.
#define RGM_TIME_MOST (INT64_MAX / 8)

static inline bool rgm_time_in_range(int64_t ns) { return ns >= -RGM_TIME_MOST && ns <= RGM_TIME_MOST; }

typedef enum { RGM_CLOCK_UNSET, RGM_CLOCK_TSC, RGM_CLOCK_MONOTONIC, RGM_CLOCK_FAKE } rgm_clock_source;

typedef struct {
    uint64_t ticks;
    int64_t monotonic_ns;
    int64_t unix_ns;
} rgm_anchor;

// A recording adds up to twenty a second, for as long as it lasts: 98 kB of them are kept.
enum { RGM_ANCHORS_MOST = 4096 };

typedef struct {
    rgm_anchor *anchors; // the first of all, and fewer the longer ago they were
    size_t count;
    size_t capacity;
} rgm_timebase;

extern rgm_clock_source rgm_clock_active;
uint64_t rgm_clock_ticks_slow(void);

// Two nanoseconds' work on x86: unordered on purpose, a fence would cost more than it corrects.
static inline uint64_t rgm_clock_ticks(void) {
#if defined(__x86_64__)
    if (RGM_LIKELY(rgm_clock_active == RGM_CLOCK_TSC)) return __rdtsc();
#endif
    return rgm_clock_ticks_slow();
}

// Picks the source; called by whoever starts a session, any number of times.
void rgm_clock_init(void);
const char *rgm_clock_name(void);
int64_t rgm_clock_monotonic_ns(void);
int64_t rgm_clock_unix_ns(void);
rgm_anchor rgm_clock_anchor(void);

// Tests only: from here on a tick is a nanosecond and time stands still between calls of advance.
void rgm_clock_fake(uint64_t start_ns);
void rgm_clock_fake_advance(uint64_t ns);
void rgm_clock_fake_stop(void);

void rgm_timebase_release(rgm_timebase *base);
// Appends unless it is less than a microsecond after the last anchor, which then stands for it.
rgm_status rgm_timebase_add(rgm_timebase *base, rgm_anchor anchor, rgm_error *err) RGM_NODISCARD;
// Where the most are there, every second of the older half goes.
void rgm_timebase_thin_out(rgm_timebase *base);
// CLOCK_MONOTONIC time of a tick; outside the anchors the nearest segment's rate is used.
int64_t rgm_timebase_ns(const rgm_timebase *base, uint64_t ticks);

#endif
