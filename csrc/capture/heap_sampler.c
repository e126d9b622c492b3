// SPDX-License-Identifier: Apache-2.0
#include "capture/heap_sampler.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "capture/session_state.h"
#include "heap/heap.h"

enum { EVENTS = 2048, FRAMES = 48 }; // a power of two; of a stack the innermost

typedef struct {
    _Atomic(uint64_t) turn; // number of the event that it holds + 1
    uint64_t ticks, address;
    int64_t bytes; // that the block stands for, -1 where it was given back
    size_t count;
    bool cut;
    rgm_source_frame frames[FRAMES];
} event;

// Written by any thread, read by one. Blocks are drawn anywhere, so this stays when a session ends.
static struct {
    event *events;
    const rgm_stack_source *source;
    _Atomic(uint64_t) written, read;
    _Atomic(int64_t) dropped;
    _Atomic(bool) in_use;
} ring;

static rgm_heap_watch_call library(void) {
    rgm_heap_watch_call watch;
    void *found = dlsym(RTLD_DEFAULT, RGM_HEAP_WATCH);
    memcpy(&watch, &found, sizeof watch);
    return watch;
}

// Addresses do not tell: a program that always lies at the same one (Debian's Python) has a malloc of its
// own, which only leads on.
static bool comes_by(void) {
    rgm_heap_left_call left;
    void *found = dlsym(RTLD_DEFAULT, RGM_HEAP_LEFT);
    memcpy(&left, &found, sizeof left);
    if (!found) return false;
    void *(*volatile ask)(size_t) = malloc; // else the compiler leaves both calls out
    int64_t before = left();
    void *block = ask(1);
    bool counted = !block || left() != before;
    free(block);
    return counted;
}

const char *rgm_heap_reason(void) {
    if (!library())
        return "the library that watches allocations was not loaded before the program: start it with "
               "`regimeter record --memory`";
    return comes_by()
               ? ""
               : "another library that was loaded before the program (LD_PRELOAD) stands before malloc";
}

// --- putting aside ----------------------------------------------------------------------------------------

// Half of the places are for blocks that are given back: without that they would seem to live on.
static event *next_event(uint64_t *number, uint64_t places) {
    *number = atomic_load_explicit(&ring.written, memory_order_relaxed);
    do {
        if (*number - atomic_load_explicit(&ring.read, memory_order_acquire) >= places) {
            atomic_fetch_add_explicit(&ring.dropped, 1, memory_order_relaxed);
            return NULL;
        }
    } while (!atomic_compare_exchange_weak(&ring.written, number, *number + 1));
    return &ring.events[*number % EVENTS];
}

static void put_aside(const void *block, int64_t bytes) {
    uint64_t number;
    event *e = next_event(&number, bytes >= 0 ? EVENTS / 2 : EVENTS);
    if (!e) return;
    e->ticks = rgm_clock_ticks();
    e->address = (uintptr_t)block;
    e->bytes = bytes;
    e->count = 0;
    e->cut = false;
    if (bytes >= 0) ring.source->own_frames(e->frames, FRAMES, &e->count, &e->cut);
    atomic_store_explicit(&e->turn, number + 1, memory_order_release);
}

static void on_taken(const void *block, int64_t stands_for) { put_aside(block, stands_for); }
static void on_given(const void *block) { put_aside(block, -1); }

// --- taking up --------------------------------------------------------------------------------------------

static bool add_row(rgm_stack_sampler *stacks, rgm_walker *walker, const event *e) {
    rgm_allocation_row row = {
        .ticks = e->ticks, .address = e->address, .bytes = e->bytes, .stack = RGM_STACK_NONE};
    if (e->count && rgm_stack_tree_find(stacks->tree, stacks->source, walker, e->frames, e->count, e->cut,
                                        rgm_clock_monotonic_ns(), &row.stack) != RGM_STACK_KNOWN)
        row.stack = RGM_STACK_NONE;
    return rgm_session_rows(stacks->session, RGM_LOG_ALLOCATIONS, &row, 1);
}

void rgm_heap_take(rgm_stack_sampler *stacks, rgm_walker *walker) {
    uint64_t read = atomic_load_explicit(&ring.read, memory_order_relaxed);
    for (;; read++) {
        const event *e = &ring.events[read % EVENTS];
        if (atomic_load_explicit(&e->turn, memory_order_acquire) != read + 1) break;
        (void)add_row(stacks, walker, e);
        atomic_store_explicit(&ring.read, read + 1, memory_order_release);
    }
    int64_t dropped = atomic_exchange(&ring.dropped, 0);
    if (dropped) rgm_session_note(stacks->session, RGM_ANOMALY_DROPPED_SAMPLES, dropped);
}

void rgm_heap_forget(void) { atomic_store(&ring.read, atomic_load(&ring.written)); }

// --- life -------------------------------------------------------------------------------------------------

bool rgm_heap_begin(const rgm_stack_source *source, int64_t period) {
    static const rgm_heap_watcher watcher = {on_taken, on_given};
    rgm_heap_watch_call watch = library();
    if (*rgm_heap_reason() || atomic_exchange(&ring.in_use, true)) return false;
    if (!ring.events) ring.events = rgm_calloc(EVENTS, sizeof *ring.events);
    ring.source = source;
    rgm_heap_forget();
    if (ring.events && watch(&watcher, period)) return true;
    atomic_store(&ring.in_use, false);
    return false;
}

void rgm_heap_end(void) {
    rgm_heap_watch_call watch = library();
    if (watch) (void)watch(NULL, 0);
    atomic_store(&ring.in_use, false);
}
