// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

rgm_clock_source rgm_clock_active = RGM_CLOCK_UNSET;
static _Atomic(uint64_t) fake_now;
static pthread_mutex_t source_mutex = PTHREAD_MUTEX_INITIALIZER;

static int64_t read_clock(clockid_t id) {
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t rgm_clock_monotonic_ns(void) {
    if (rgm_clock_active == RGM_CLOCK_FAKE) return (int64_t)atomic_load(&fake_now);
    return read_clock(CLOCK_MONOTONIC);
}

int64_t rgm_clock_unix_ns(void) {
    if (rgm_clock_active == RGM_CLOCK_FAKE) return (int64_t)atomic_load(&fake_now);
    return read_clock(CLOCK_REALTIME);
}

uint64_t rgm_clock_ticks_slow(void) {
    if (rgm_clock_active == RGM_CLOCK_UNSET) rgm_clock_init();
#if defined(__x86_64__)
    if (rgm_clock_active == RGM_CLOCK_TSC) return __rdtsc();
#endif
    return (uint64_t)rgm_clock_monotonic_ns();
}

#if defined(__x86_64__)
// The kernel watches the counter and switches to one of these when it finds it unsteady.
static bool kernel_distrusts_tsc(void) {
    char name[32] = "";
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    if (!file) return false;
    bool known = fgets(name, sizeof name, file) != NULL;
    (void)fclose(file);
    return known &&
           (strncmp(name, "hpet", 4) == 0 || strncmp(name, "acpi_pm", 7) == 0 || strstr(name, "jiffies"));
}
#endif

static bool tsc_usable(void) {
#if defined(__x86_64__)
    unsigned a, b, c, d;
    if (!__get_cpuid(0x80000007u, &a, &b, &c, &d)) return false;
    // Invariant: constant rate in every state, equal on every core.
    return (d & (1u << 8)) != 0 && !kernel_distrusts_tsc();
#else
    return false;
#endif
}

static bool source_unset(void) {
    pthread_mutex_lock(&source_mutex);
    bool unset = rgm_clock_active == RGM_CLOCK_UNSET;
    pthread_mutex_unlock(&source_mutex);
    return unset;
}

void rgm_clock_init(void) {
    if (!source_unset()) return;
    rgm_clock_source found =
        tsc_usable() ? RGM_CLOCK_TSC : RGM_CLOCK_MONOTONIC; // whoever asks finds the same
    pthread_mutex_lock(&source_mutex);
    if (rgm_clock_active == RGM_CLOCK_UNSET) rgm_clock_active = found;
    pthread_mutex_unlock(&source_mutex);
}

const char *rgm_clock_name(void) {
    switch (rgm_clock_active) {
    case RGM_CLOCK_TSC: return "invariant TSC calibrated against CLOCK_MONOTONIC";
    case RGM_CLOCK_MONOTONIC: return "CLOCK_MONOTONIC";
    case RGM_CLOCK_FAKE: return "fake clock of a test";
    default: return "not started";
    }
}

void rgm_clock_fake(uint64_t start_ns) {
    rgm_clock_active = RGM_CLOCK_FAKE;
    atomic_store(&fake_now, start_ns);
}
void rgm_clock_fake_advance(uint64_t ns) { atomic_fetch_add(&fake_now, ns); }
void rgm_clock_fake_stop(void) {
    rgm_clock_active = RGM_CLOCK_UNSET;
    rgm_clock_init();
}

rgm_anchor rgm_clock_anchor(void) {
    rgm_anchor best = {0, 0, 0};
    uint64_t best_width = UINT64_MAX;
    // The tightest of a few brackets: an interrupt between the two reads of one try only spoils that try.
    for (int i = 0; i < 5; i++) {
        uint64_t before = rgm_clock_ticks();
        int64_t now = rgm_clock_monotonic_ns();
        uint64_t after = rgm_clock_ticks();
        if (after - before < best_width) {
            best_width = after - before;
            best.ticks = before + (after - before) / 2;
            best.monotonic_ns = now;
        }
    }
    best.unix_ns = rgm_clock_unix_ns() - (rgm_clock_monotonic_ns() - best.monotonic_ns);
    return best;
}

void rgm_timebase_release(rgm_timebase *base) {
    rgm_free(base->anchors);
    *base = (rgm_timebase){0};
}

static rgm_status reserve(rgm_timebase *base, size_t count, rgm_error *err) {
    if (count <= base->capacity) return RGM_OK;
    size_t capacity = base->capacity ? base->capacity * 2 : 16;
    while (capacity < count) capacity *= 2;
    rgm_anchor *anchors = rgm_realloc(base->anchors, capacity * sizeof *anchors);
    if (!anchors) return rgm_error_no_memory(err);
    base->anchors = anchors;
    base->capacity = capacity;
    return RGM_OK;
}

void rgm_timebase_thin_out(rgm_timebase *base) {
    size_t kept = 1, half = base->count / 2;
    if (base->count < RGM_ANCHORS_MOST) return;
    for (size_t i = 2; i < base->count; i += i < half ? 2 : 1) base->anchors[kept++] = base->anchors[i];
    base->count = kept;
}

rgm_status rgm_timebase_add(rgm_timebase *base, rgm_anchor anchor, rgm_error *err) {
    if (base->count) {
        const rgm_anchor *last = &base->anchors[base->count - 1];
        if (anchor.ticks <= last->ticks || anchor.monotonic_ns < last->monotonic_ns) return RGM_OK;
        if ((uint64_t)anchor.monotonic_ns - (uint64_t)last->monotonic_ns < 1000) return RGM_OK;
    }
    RGM_TRY(reserve(base, base->count + 1, err));
    base->anchors[base->count++] = anchor;
    return RGM_OK;
}

// Times of a damaged file may be anything; within these bounds a time and a duration can be added.
static int64_t bounded(__int128 ns) {
    return ns > RGM_TIME_MOST ? RGM_TIME_MOST : ns < -RGM_TIME_MOST ? -RGM_TIME_MOST : (int64_t)ns;
}

static int64_t interpolate(const rgm_anchor *a, const rgm_anchor *b, uint64_t ticks) {
    __int128 elapsed = (__int128)ticks - (__int128)a->ticks;
    __int128 span_ns = bounded(b->monotonic_ns) - bounded(a->monotonic_ns);
    __int128 span_ticks = (__int128)(b->ticks - a->ticks);
    __int128 scaled = elapsed * span_ns;
    // Rounds to nearest on both sides of the anchor.
    __int128 half = span_ticks / 2;
    return bounded(a->monotonic_ns + (scaled + (scaled < 0 ? -half : half)) / span_ticks);
}

int64_t rgm_timebase_ns(const rgm_timebase *base, uint64_t ticks) {
    if (base->count == 0) return bounded(ticks);
    if (base->count == 1)
        return bounded((__int128)base->anchors[0].monotonic_ns + (__int128)ticks -
                       (__int128)base->anchors[0].ticks);
    size_t low = 0, high = base->count - 1; // segment [low, low + 1] that holds the tick
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (base->anchors[middle].ticks <= ticks)
            low = middle;
        else
            high = middle;
    }
    return interpolate(&base->anchors[low], &base->anchors[low + 1], ticks);
}
