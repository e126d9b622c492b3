// SPDX-License-Identifier: Apache-2.0
#include "base/buffer_pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "harness.h"

// A source that counts and whose memory can be marked busy, and a clock that stands still.
typedef struct {
    int64_t now_ns;
    int allocated, released, closed, refuse, marks;
    bool busy, no_mark;
} scripted;

static int64_t scripted_clock(void *context) { return ((scripted *)context)->now_ns; }
static rgm_status scripted_allocate(void *context, size_t bytes, rgm_pool_memory *memory, rgm_error *err) {
    scripted *s = context;
    if (s->refuse > 0) {
        s->refuse--;
        return rgm_error_set(err, RGM_LIMIT, "full");
    }
    memory->base = malloc(bytes);
    memory->address = (uint64_t)(uintptr_t)memory->base;
    s->now_ns += 1000; // a miss takes a microsecond
    s->allocated++;
    return memory->base ? RGM_OK : RGM_NO_MEMORY;
}
static void scripted_release(void *context, const rgm_pool_memory *memory) {
    ((scripted *)context)->released++;
    free(memory->base);
}
static bool scripted_mark(void *context, rgm_pool_memory *memory, uint64_t stream) {
    scripted *s = context;
    memory->fence = (void *)(uintptr_t)stream;
    s->marks++;
    return !s->no_mark;
}
static bool scripted_passed(void *context, const rgm_pool_memory *memory) {
    (void)memory;
    return !((scripted *)context)->busy;
}
static void scripted_close(void *context) { ((scripted *)context)->closed++; }

static rgm_buffer_pool *make(scripted *s, rgm_pool_options options) {
    rgm_pool_source source = {
        s, scripted_allocate, scripted_release, scripted_mark, scripted_passed, scripted_close};
    rgm_buffer_pool *pool = NULL;
    rgm_error err;
    CHECK_OK(rgm_buffer_pool_new(&pool, &options, &source, scripted_clock, s, &err));
    return pool;
}

static rgm_pool_buffer get(rgm_buffer_pool *pool, size_t bytes) {
    rgm_pool_buffer buffer = {0};
    rgm_error err;
    CHECK_OK(rgm_buffer_pool_allocate(pool, bytes, &buffer, &err));
    return buffer;
}
static void put(rgm_buffer_pool *pool, rgm_pool_buffer buffer) {
    rgm_error err;
    CHECK_OK(rgm_buffer_pool_release(pool, buffer.id, 0, &err));
}

TEST(classes_waste_at_most_a_fifth) {
    CHECK_EQ_U64(rgm_pool_class_bytes(1), 64);
    CHECK_EQ_U64(rgm_pool_class_bytes(64), 64);
    CHECK_EQ_U64(rgm_pool_class_bytes(65), 80);
    CHECK_EQ_U64(rgm_pool_class_bytes(1 << 20), 1 << 20);
    CHECK_EQ_U64(rgm_pool_class_bytes((1 << 20) + 1), 1310720);
    size_t before = 0;
    for (size_t bytes = 64; bytes < 100000; bytes++) {
        size_t granted = rgm_pool_class_bytes(bytes);
        CHECK(granted >= bytes && granted >= before && 5 * (granted - bytes) < granted + 5);
        CHECK_EQ_U64(rgm_pool_class_bytes(granted), granted);
        before = granted;
    }
}

TEST(a_buffer_comes_back_and_is_counted) {
    scripted s = {.now_ns = 5};
    rgm_buffer_pool *pool = make(&s, RGM_POOL_OPTION_DEFAULTS);
    rgm_pool_buffer first = get(pool, 5000);
    CHECK(!first.reused && first.granted == 5120);
    put(pool, first);
    rgm_pool_buffer second = get(pool, 5100);
    CHECK(second.reused && second.address == first.address && second.id != first.id);
    rgm_pool_buffer third = get(pool, 6000); // another class
    CHECK(!third.reused);
    rgm_pool_counts counts = rgm_buffer_pool_counts(pool);
    CHECK_EQ_I64(counts.hits, 1);
    CHECK_EQ_I64(counts.misses, 2);
    CHECK_EQ_I64(counts.miss_ns, 2000);
    CHECK_EQ_I64(counts.hit_ns, 0);
    CHECK_EQ_I64(counts.hit_bytes, 5100);
    CHECK_EQ_I64(counts.requested_bytes, 16100);
    CHECK_EQ_I64(counts.granted_bytes, 5120 + 5120 + 6144);
    CHECK_EQ_I64(counts.live_bytes, 5120 + 6144);
    CHECK_EQ_I64(counts.peak_bytes, 5120 + 6144);
    rgm_buffer_pool_free(pool); // with two in use
    CHECK_EQ_I64(s.released, s.allocated);
    CHECK_EQ_I64(s.closed, 1);
}

TEST(small_and_huge_requests_are_not_pooled) {
    scripted s = {0};
    rgm_pool_options options = RGM_POOL_OPTION_DEFAULTS;
    options.max_pool_bytes = 100000;
    rgm_buffer_pool *pool = make(&s, options);
    put(pool, get(pool, 4095));
    put(pool, get(pool, 200000));
    rgm_pool_counts counts = rgm_buffer_pool_counts(pool);
    CHECK_EQ_I64(counts.unpooled, 2);
    CHECK_EQ_I64(counts.granted_bytes, 204095); // not rounded
    CHECK_EQ_I64(counts.idle_buffers, 0);
    CHECK_EQ_I64(s.released, 2);
    rgm_buffer_pool_free(pool);
}

TEST(age_is_of_each_buffer) {
    scripted s = {0};
    rgm_pool_options options = RGM_POOL_OPTION_DEFAULTS;
    options.buffer_ttl_ns = 1000000;
    rgm_buffer_pool *pool = make(&s, options);
    rgm_pool_buffer a = get(pool, 5000), b = get(pool, 5000), c = get(pool, 9000);
    put(pool, a);
    s.now_ns += 600000;
    put(pool, b);
    s.now_ns += 399999;
    CHECK_EQ_U64(rgm_buffer_pool_evict_stale(pool), 0);
    s.now_ns += 1; // a is as old as it may become
    CHECK_EQ_U64(rgm_buffer_pool_evict_stale(pool), 1);
    CHECK_EQ_I64(rgm_buffer_pool_counts(pool).idle_buffers, 1);
    s.now_ns += 600000;
    put(pool, c); // looks for the old ones as well
    rgm_pool_counts counts = rgm_buffer_pool_counts(pool);
    CHECK_EQ_I64(counts.evicted_age, 2);
    CHECK_EQ_I64(counts.idle_buffers, 1);
    s.now_ns += 1000000;
    CHECK(!get(pool, 9000).reused);
    CHECK_EQ_I64(rgm_buffer_pool_counts(pool).evicted_age, 3);
    rgm_buffer_pool_free(pool);
    CHECK_EQ_I64(s.released, s.allocated);
}

TEST(bounds_evict_the_oldest) {
    scripted s = {0};
    rgm_pool_options options = RGM_POOL_OPTION_DEFAULTS;
    options.max_buffers_per_class = 2;
    options.max_pool_bytes = 20000;
    rgm_buffer_pool *pool = make(&s, options);
    rgm_pool_buffer a[3], big = get(pool, 16384);
    for (int i = 0; i < 3; i++) a[i] = get(pool, 5000);
    for (int i = 0; i < 3; i++) put(pool, a[i]);
    CHECK_EQ_I64(rgm_buffer_pool_counts(pool).evicted_room, 1);
    CHECK_EQ_I64(rgm_buffer_pool_counts(pool).idle_bytes, 10240);
    CHECK_EQ_U64(get(pool, 5000).address, a[2].address); // the last one first; the first one is gone
    put(pool, big);                                      // 16384 + 5120 are too many
    rgm_pool_counts counts = rgm_buffer_pool_counts(pool);
    CHECK_EQ_I64(counts.evicted_room, 2);
    CHECK_EQ_I64(counts.idle_bytes, 16384);
    rgm_buffer_pool_free(pool);
    CHECK_EQ_I64(s.released, s.allocated);
}

TEST(freeing_twice_or_elsewhere_is_told) {
    scripted s = {0};
    rgm_error err;
    rgm_buffer_pool *pool = make(&s, RGM_POOL_OPTION_DEFAULTS), *other = make(&s, RGM_POOL_OPTION_DEFAULTS);
    rgm_pool_buffer buffer = get(pool, 5000);
    CHECK_EQ_I64(rgm_buffer_pool_release(other, buffer.id, 0, &err), RGM_INVALID);
    CHECK(strstr(err.message, "gave out no buffer") != NULL);
    put(pool, buffer);
    CHECK_EQ_I64(rgm_buffer_pool_release(pool, buffer.id, 0, &err), RGM_INVALID);
    CHECK_STR_EQ(err.message, "buffer 1 of this pool was freed before");
    rgm_pool_buffer again = get(pool, 5000); // the same memory; the old id still is no key to it
    CHECK_EQ_U64(again.address, buffer.address);
    CHECK_EQ_I64(rgm_buffer_pool_release(pool, buffer.id, 0, &err), RGM_INVALID);
    CHECK_EQ_I64(rgm_buffer_pool_release(pool, 0, 0, &err), RGM_INVALID);
    CHECK_EQ_I64(rgm_buffer_pool_release(pool, again.id + 1, 0, &err), RGM_INVALID);
    CHECK(strstr(err.message, "gave out no buffer") != NULL);
    CHECK_EQ_I64(rgm_buffer_pool_counts(pool).deallocations, 1);
    rgm_buffer_pool_free(pool);
    rgm_buffer_pool_free(other);
}

TEST(what_a_device_still_uses_is_passed_over) {
    scripted s = {0};
    rgm_error err;
    rgm_buffer_pool *pool = make(&s, RGM_POOL_OPTION_DEFAULTS);
    rgm_pool_buffer a = get(pool, 5000);
    CHECK_OK(rgm_buffer_pool_release(pool, a.id, 77, &err));
    CHECK_EQ_I64(s.marks, 1);
    s.busy = true;
    rgm_pool_buffer b = get(pool, 5000);
    CHECK(!b.reused && b.address != a.address);
    CHECK_EQ_I64(rgm_buffer_pool_counts(pool).busy_skips, 1);
    s.busy = false;
    CHECK_EQ_U64(get(pool, 5000).address, a.address);
    s.no_mark = true; // cannot be marked: given back, not kept
    int before = s.released;
    put(pool, b);
    CHECK_EQ_I64(s.released, before + 1);
    rgm_buffer_pool_free(pool);
    CHECK_EQ_I64(s.released, s.allocated);
}

TEST(a_full_source_gets_back_what_is_kept) {
    scripted s = {0};
    rgm_error err;
    rgm_pool_buffer out;
    rgm_buffer_pool *pool = make(&s, RGM_POOL_OPTION_DEFAULTS);
    put(pool, get(pool, 5000));
    s.refuse = 1;
    CHECK(!get(pool, 100000).reused); // served at the second attempt
    CHECK_EQ_I64(rgm_buffer_pool_counts(pool).cleared, 1);
    s.refuse = 1; // nothing kept: refused
    CHECK_EQ_I64(rgm_buffer_pool_allocate(pool, 5000, &out, &err), RGM_LIMIT);
    CHECK_STR_EQ(err.message, "full");
    CHECK_EQ_I64(rgm_buffer_pool_counts(pool).failures, 1);
    CHECK_EQ_I64(rgm_buffer_pool_allocate(pool, 0, &out, &err), RGM_INVALID);
    CHECK_EQ_I64(rgm_buffer_pool_allocate(pool, SIZE_MAX, &out, &err), RGM_LIMIT);
    rgm_buffer_pool_free(pool);
}

TEST(without_a_source_it_only_counts) {
    rgm_buffer_pool *pool;
    rgm_error err;
    rgm_pool_options options = RGM_POOL_OPTION_DEFAULTS;
    CHECK_OK(rgm_buffer_pool_new(&pool, &options, &rgm_pool_no_source, NULL, NULL, &err));
    rgm_pool_buffer a = get(pool, (size_t)1 << 28);
    CHECK_EQ_U64(a.address, 0);
    put(pool, a);
    CHECK(get(pool, (size_t)1 << 28).reused);
    rgm_buffer_pool_free(pool);
    options.buffer_ttl_ns = -1;
    CHECK_EQ_I64(rgm_buffer_pool_new(&pool, &options, &rgm_pool_no_source, NULL, NULL, &err), RGM_INVALID);
    CHECK_STR_EQ(err.message, "buffer_ttl_ns must not be negative, got -1");
}

TEST(host_memory_is_aligned_and_whole) {
    rgm_buffer_pool *pool;
    rgm_error err;
    rgm_pool_options options = RGM_POOL_OPTION_DEFAULTS;
    int64_t live = rgm_memory_live();
    CHECK_OK(rgm_buffer_pool_new(&pool, &options, &rgm_pool_host_source, NULL, NULL, &err));
    static const size_t sizes[] = {1, 100, 4096, 70000, 1 << 20, 5 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        rgm_pool_buffer buffer = get(pool, sizes[i]);
        CHECK_EQ_U64(buffer.address % 64, 0);
        memset((void *)(uintptr_t)buffer.address, 1, sizes[i] < 4096 ? sizes[i] : buffer.granted);
        if (i % 2) put(pool, buffer);
    }
    rgm_pool_buffer in_use[8];
    CHECK_EQ_U64(rgm_buffer_pool_live(pool, in_use, 8), 3);
    CHECK_EQ_U64(in_use[0].requested, 1);
    CHECK_EQ_U64(in_use[2].requested, 1 << 20);
    rgm_buffer_pool_free(pool);
    CHECK_EQ_I64(rgm_memory_live(), live);
}

TEST(no_memory_leaves_the_pool_as_it_was) {
    rgm_buffer_pool *pool = NULL;
    rgm_error err;
    rgm_pool_options options = RGM_POOL_OPTION_DEFAULTS;
    int64_t live = rgm_memory_live();
    for (int n = 0; n < 2; n++) {
        rgm_memory_fail_after(n);
        CHECK_EQ_I64(rgm_buffer_pool_new(&pool, &options, &rgm_pool_host_source, NULL, NULL, &err),
                     RGM_NO_MEMORY);
    }
    rgm_memory_fail_after(-1);
    CHECK_OK(rgm_buffer_pool_new(&pool, &options, &rgm_pool_host_source, NULL, NULL, &err));
    for (int n = 0; n < 2; n++) {
        rgm_pool_buffer out;
        rgm_memory_fail_after(n);
        CHECK_EQ_I64(rgm_buffer_pool_allocate(pool, 5000, &out, &err), RGM_NO_MEMORY);
    }
    rgm_memory_fail_after(-1);
    for (int i = 0; i < 200; i++) (void)get(pool, 5000); // more buckets on the way
    rgm_buffer_pool_free(pool);
    CHECK_EQ_I64(rgm_memory_live(), live);
}

// --- many threads -----------------------------------------------------------------------------------------

enum { THREADS = 4, TURNS = 4000, HELD = 8 };

static void *use(void *context) {
    rgm_buffer_pool *pool = context;
    rgm_pool_buffer held[HELD] = {0};
    unsigned seed = (unsigned)(uintptr_t)&seed;
    for (int i = 0; i < TURNS; i++) {
        seed = seed * 1664525U + 1013904223U;
        rgm_pool_buffer *slot = &held[(seed >> 20) % HELD];
        if (slot->id) {
            const unsigned char *at = (void *)(uintptr_t)slot->address;
            CHECK(at[0] == (unsigned char)slot->id && at[slot->requested - 1] == (unsigned char)slot->id);
            put(pool, *slot);
        }
        *slot = get(pool, 4096 + (seed >> 8) % 5 * 4096);
        unsigned char *at = (void *)(uintptr_t)slot->address;
        at[0] = at[slot->requested - 1] = (unsigned char)slot->id;
        if (i % 512 == 0) (void)rgm_buffer_pool_clear(pool);
        if (i % 100 == 0) (void)rgm_buffer_pool_counts(pool);
    }
    for (int i = 0; i < HELD; i++)
        if (held[i].id) put(pool, held[i]);
    return NULL;
}

TEST(no_two_threads_ever_hold_the_same_memory) {
    rgm_buffer_pool *pool;
    rgm_error err;
    pthread_t threads[THREADS];
    rgm_pool_options options = RGM_POOL_OPTION_DEFAULTS;
    options.max_buffers_per_class = 4;
    CHECK_OK(rgm_buffer_pool_new(&pool, &options, &rgm_pool_host_source, NULL, NULL, &err));
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, use, pool) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    rgm_pool_counts counts = rgm_buffer_pool_counts(pool);
    CHECK_EQ_I64(counts.allocations, THREADS * TURNS);
    CHECK_EQ_I64(counts.deallocations, THREADS * TURNS);
    CHECK_EQ_I64(counts.hits + counts.misses, counts.allocations);
    CHECK_EQ_I64(counts.live_bytes, 0);
    CHECK_EQ_I64(counts.live_requested_bytes, 0);
    CHECK_EQ_I64(counts.misses, counts.evicted_room + counts.cleared + counts.idle_buffers);
    rgm_buffer_pool_free(pool);
}

// --- forks ------------------------------------------------------------------------------------------------

static _Atomic(bool) asked, taken;

// Called under the pool's lock.
static bool passed_slowly(void *context, const rgm_pool_memory *memory) {
    (void)context, (void)memory;
    atomic_store(&asked, true);
    for (int i = 0; i < 1000; i++) sched_yield();
    return true;
}

static void *take_one(void *pool) {
    (void)get(pool, 4096);
    atomic_store(&taken, true);
    return NULL;
}

TEST(a_child_can_use_a_pool_that_a_thread_of_the_parent_was_using) {
    rgm_pool_source source = rgm_pool_host_source;
    source.passed = passed_slowly;
    rgm_pool_options options = RGM_POOL_OPTION_DEFAULTS;
    rgm_buffer_pool *pool, *other;
    rgm_error err;
    pthread_t thread;
    int status = -1;
    CHECK_OK(rgm_buffer_pool_new(&pool, &options, &source, NULL, NULL, &err));
    CHECK_OK(rgm_buffer_pool_new(&other, &options, &source, NULL, NULL, &err));
    put(pool, get(pool, 4096));
    REQUIRE(pthread_create(&thread, NULL, take_one, pool) == 0);
    pthread_detach(thread); // or a child has one of its own that nobody joins
    while (!atomic_load(&asked)) sched_yield();
    pid_t child = fork();
    if (child == 0) {
        alarm(20); // ends a wait without an end
        put(pool, get(pool, 4096));
        rgm_buffer_pool_free(other);
        rgm_buffer_pool_free(pool);
        _exit(atomic_load(&harness_failures) != 0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    while (!atomic_load(&taken)) sched_yield();
    rgm_buffer_pool_free(pool);
    rgm_buffer_pool_free(other);
}
