// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "heap/heap.h"

#define EXPORTED __attribute__((visibility("default")))
#define OWN_TO_THREAD static __thread __attribute__((tls_model("initial-exec")))

// The C library's own, under the names that it offers to who stands before it.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

enum { BUCKETS = 1 << 15, IN_BUCKET = 8 };  // a bucket is a line of the cache
static const int64_t idle_period = 1 << 20; // bytes between looks whether anybody watches

static _Atomic(const rgm_heap_watcher *) watching;
static _Atomic(int64_t) mean_period;
static _Atomic(int64_t) watched; // blocks in the table
static struct {
    _Alignas(64) _Atomic(uintptr_t) blocks[IN_BUCKET];
} table[BUCKETS];
// A bit that is set once a block that hashes to it was watched: most that are given back need no look at the
// table, which does not fit into the nearest caches as this does.
enum { FILTER_BITS = 1 << 18, WORD_BITS = 64 };
static _Atomic(uint64_t) filter[FILTER_BITS / WORD_BITS];

OWN_TO_THREAD int64_t left;    // bytes until the next that is drawn
OWN_TO_THREAD uint64_t state;  // of the random numbers, 0 before the first
OWN_TO_THREAD bool is_calling; // the watcher, or an allocator that is stood before

// --- watched blocks ---------------------------------------------------------------------------------------

static uint64_t mix(const void *block) { return ((uintptr_t)block >> 4) * UINT64_C(0x9E3779B97F4A7C15); }

static _Atomic(uintptr_t) *bucket_of(const void *block) { return table[mix(block) >> 49].blocks; }

static uint64_t bit_of(const void *block) { return UINT64_C(1) << (mix(block) >> 40 & (WORD_BITS - 1)); }
static _Atomic(uint64_t) *word_of(const void *block) {
    return &filter[mix(block) >> 46 & (FILTER_BITS / WORD_BITS - 1)];
}

// False where there is no room: the block is not watched.
static bool put(const void *block) {
    _Atomic(uintptr_t) *blocks = bucket_of(block);
    atomic_fetch_or_explicit(word_of(block), bit_of(block), memory_order_relaxed);
    for (int i = 0; i < IN_BUCKET; i++) {
        uintptr_t none = 0;
        if (atomic_compare_exchange_strong(&blocks[i], &none, (uintptr_t)block)) {
            atomic_fetch_add_explicit(&watched, 1, memory_order_relaxed);
            return true;
        }
    }
    return false;
}

// Before the block is given back, after which another thread may get it.
static void take_out(const void *block) {
    _Atomic(uintptr_t) *blocks = bucket_of(block);
    for (int i = 0; i < IN_BUCKET; i++) {
        uintptr_t own = (uintptr_t)block;
        if (atomic_load_explicit(&blocks[i], memory_order_relaxed) != own) continue;
        if (!atomic_compare_exchange_strong(&blocks[i], &own, 0)) return;
        atomic_fetch_sub_explicit(&watched, 1, memory_order_relaxed);
        const rgm_heap_watcher *watcher = atomic_load_explicit(&watching, memory_order_acquire);
        if (watcher) watcher->given(block);
        return;
    }
}

// --- which are drawn --------------------------------------------------------------------------------------

static void seed(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    state = ((uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec ^ (uintptr_t)&state) | 1;
}

// Bytes until the next that is drawn: an exponential distance.
static int64_t distance(int64_t period) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    double uniform = ((double)(state >> 11) + 1) * 0x1p-53;
    return (int64_t)(-log(uniform) * (double)period) + 1;
}

static void look(const void *block, size_t bytes) {
    const rgm_heap_watcher *watcher = atomic_load_explicit(&watching, memory_order_acquire);
    if (!watcher || is_calling) {
        left = idle_period;
        if (!watcher) state = 0;
        return;
    }
    int64_t period = atomic_load_explicit(&mean_period, memory_order_relaxed);
    if (!state) {
        seed();
        left = distance(period) - (int64_t)bytes;
        if (left >= 0) return;
    }
    left = distance(period);
    double part = -expm1(-(double)bytes / (double)period);
    if (!put(block)) return;
    is_calling = true;
    watcher->taken(block, (int64_t)((double)bytes / part));
    is_calling = false;
}

static inline void *taken(void *block, size_t bytes) {
    if (block && bytes <= PTRDIFF_MAX && __builtin_expect((left -= (int64_t)bytes) < 0, 0)) {
        int before = errno;
        look(block, bytes);
        errno = before;
    }
    return block;
}

static inline void given(const void *block) {
    if (block &&
        __builtin_expect((atomic_load_explicit(word_of(block), memory_order_relaxed) & bit_of(block)) != 0,
                         0) &&
        atomic_load_explicit(&watched, memory_order_relaxed)) {
        int before = errno;
        take_out(block);
        errno = before;
    }
}

EXPORTED bool rgm_heap_watch(const rgm_heap_watcher *watcher, int64_t period) {
    const rgm_heap_watcher *none = NULL;
    if (!watcher) {
        atomic_store(&watching, NULL);
        for (size_t i = 0; i < BUCKETS; i++)
            for (int j = 0; j < IN_BUCKET; j++)
                atomic_store_explicit(&table[i].blocks[j], 0, memory_order_relaxed);
        for (size_t i = 0; i < FILTER_BITS / WORD_BITS; i++)
            atomic_store_explicit(&filter[i], 0, memory_order_relaxed);
        atomic_store(&watched, 0);
        return true;
    }
    if (atomic_load(&watching)) return false;
    atomic_store(&mean_period, period > 0 ? period : 1);
    return atomic_compare_exchange_strong(&watching, &none, watcher);
}

EXPORTED int64_t rgm_heap_left(void) { return left; }

// --- before an allocator of a language --------------------------------------------------------------------

static bool enter(void) {
    bool before = is_calling;
    is_calling = true;
    return before;
}

// What it asked for meanwhile has not been drawn, and does not count.
static inline void *leave(bool before, int64_t counted, void *block, size_t bytes) {
    is_calling = before;
    left = counted;
    return before ? block : taken(block, bytes);
}

static void *before_malloc(void *context, size_t bytes) {
    const rgm_heap_allocator *other = context;
    int64_t counted = left;
    bool before = enter();
    return leave(before, counted, other->malloc(other->context, bytes), bytes);
}

static void *before_calloc(void *context, size_t count, size_t size) {
    const rgm_heap_allocator *other = context;
    int64_t counted = left;
    bool before = enter();
    return leave(before, counted, other->calloc(other->context, count, size), count * size);
}

static void *before_realloc(void *context, void *block, size_t bytes) {
    const rgm_heap_allocator *other = context;
    int64_t counted = left;
    given(block);
    bool before = enter();
    return leave(before, counted, other->realloc(other->context, block, bytes), bytes);
}

static void before_free(void *context, void *block) {
    const rgm_heap_allocator *other = context;
    given(block);
    other->free(other->context, block);
}

EXPORTED rgm_heap_allocator rgm_heap_before(const rgm_heap_allocator *other) {
    return (rgm_heap_allocator){(void *)(uintptr_t)other, before_malloc, before_calloc, before_realloc,
                                before_free};
}

// --- in the place of the C library ------------------------------------------------------------------------

EXPORTED void *malloc(size_t bytes) { return taken(__libc_malloc(bytes), bytes); }

EXPORTED void *calloc(size_t count, size_t size) {
    return taken(__libc_calloc(count, size), count * size); // an overflow gives NULL
}

EXPORTED void *realloc(void *block, size_t bytes) {
    given(block);
    return taken(__libc_realloc(block, bytes), bytes);
}

EXPORTED void *reallocarray(void *block, size_t count, size_t size) {
    size_t bytes;
    if (!__builtin_mul_overflow(count, size, &bytes)) return realloc(block, bytes);
    errno = ENOMEM;
    return NULL;
}

EXPORTED void free(void *block) {
    given(block);
    __libc_free(block);
}

EXPORTED void *memalign(size_t alignment, size_t bytes) {
    return taken(__libc_memalign(alignment, bytes), bytes);
}

EXPORTED void *aligned_alloc(size_t alignment, size_t bytes) {
    return taken(__libc_memalign(alignment, bytes), bytes);
}

EXPORTED int posix_memalign(void **block, size_t alignment, size_t bytes) {
    if (alignment % sizeof(void *) || alignment & (alignment - 1) || !alignment) return EINVAL;
    int before = errno;
    void *made = __libc_memalign(alignment, bytes);
    errno = before;
    if (!made) return ENOMEM;
    *block = taken(made, bytes);
    return 0;
}
