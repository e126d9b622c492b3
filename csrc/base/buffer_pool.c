// SPDX-License-Identifier: Apache-2.0
#include "base/buffer_pool.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/fork.h"
#include "base/hash.h"
#include "base/memory.h"

enum {
    SMALLEST = 64,  // bytes of the first class
    STEPS_BITS = 2, // four classes to a doubling
    CLASSES = 64 << STEPS_BITS,
    FIRST_BUCKETS = 64,
    NUMBER_BITS = 40, // of an id: the serial number below, the number of the pool above
    ALIGNMENT = 64,
};

typedef struct node node;
typedef struct {
    node *next, *previous;
} place;

struct node {
    rgm_pool_buffer buffer;
    rgm_pool_memory memory;
    int64_t idle_since_ns;
    bool pooled;
    node *chain;  // of its bucket, while live
    place in_all; // in the list of those that are live, or of those that are idle
    place in_class;
};

typedef struct {
    node *first, *last;
    int64_t count;
} list;

struct rgm_buffer_pool {
    rgm_buffer_pool *next; // of all pools
    pthread_mutex_t mutex;
    rgm_pool_options options;
    rgm_pool_source source;
    rgm_pool_clock clock;
    void *clock_context;
    uint64_t number, serial;
    list live, idle; // the oldest first
    list classes[CLASSES];
    node **buckets;
    size_t n_buckets; // a power of two
    rgm_pool_counts counts;
};

// --- forks ------------------------------------------------------------------------------------------------

static pthread_mutex_t all_mutex = PTHREAD_MUTEX_INITIALIZER; // taken before those of the pools
static rgm_buffer_pool *all;

static void before_fork(void) {
    pthread_mutex_lock(&all_mutex);
    for (rgm_buffer_pool *pool = all; pool; pool = pool->next) pthread_mutex_lock(&pool->mutex);
}
static void after_fork(void) {
    for (rgm_buffer_pool *pool = all; pool; pool = pool->next) pthread_mutex_unlock(&pool->mutex);
    pthread_mutex_unlock(&all_mutex);
}
static const rgm_fork_hooks hooks = {before_fork, after_fork, after_fork};

static void enlist(rgm_buffer_pool *pool) {
    rgm_fork_watch(RGM_FORK_POOLS, &hooks);
    pthread_mutex_lock(&all_mutex);
    pool->next = all;
    all = pool;
    pthread_mutex_unlock(&all_mutex);
}

static void delist(const rgm_buffer_pool *pool) {
    pthread_mutex_lock(&all_mutex);
    rgm_buffer_pool **at = &all;
    while (*at != pool) at = &(*at)->next;
    *at = pool->next;
    pthread_mutex_unlock(&all_mutex);
}

// --- lists ------------------------------------------------------------------------------------------------

#define LIST_APPEND(to, item, links)                                                                         \
    do {                                                                                                     \
        (item)->links = (place){NULL, (to)->last};                                                           \
        *((to)->last ? &(to)->last->links.next : &(to)->first) = (item);                                     \
        (to)->last = (item);                                                                                 \
        (to)->count++;                                                                                       \
    } while (0)
#define LIST_REMOVE(from, item, links)                                                                       \
    do {                                                                                                     \
        place at_ = (item)->links;                                                                           \
        *(at_.previous ? &at_.previous->links.next : &(from)->first) = at_.next;                             \
        *(at_.next ? &at_.next->links.previous : &(from)->last) = at_.previous;                              \
        (from)->count--;                                                                                     \
    } while (0)

// --- size classes -----------------------------------------------------------------------------------------

static unsigned steps_of(size_t bytes) { // log2 of the distance of classes around `bytes`
    return 63U - (unsigned)__builtin_clzll((unsigned long long)(bytes - 1)) - STEPS_BITS;
}

size_t rgm_pool_class_bytes(size_t bytes) {
    if (bytes <= SMALLEST) return SMALLEST;
    size_t mask = ((size_t)1 << steps_of(bytes)) - 1;
    return bytes > SIZE_MAX - mask ? SIZE_MAX : (bytes + mask) & ~mask;
}

static size_t class_of(size_t granted) {
    unsigned step = steps_of(granted);
    return (((size_t)step << STEPS_BITS) + (((granted - 1) >> step) & ((1U << STEPS_BITS) - 1))) % CLASSES;
}

// --- the buffers in use -----------------------------------------------------------------------------------

static node **bucket_of(const rgm_buffer_pool *pool, uint64_t id) {
    return &pool->buckets[rgm_hash_u64(id) & (pool->n_buckets - 1)];
}

// Without memory for more buckets the chains get longer, which costs time only.
static void widen(rgm_buffer_pool *pool) {
    size_t more = 2 * pool->n_buckets;
    node **wide = rgm_calloc(more, sizeof(node *));
    if (!wide) return;
    rgm_free(pool->buckets);
    pool->buckets = wide;
    pool->n_buckets = more;
    for (node *one = pool->live.first; one; one = one->in_all.next) {
        node **bucket = bucket_of(pool, one->buffer.id);
        one->chain = *bucket;
        *bucket = one;
    }
}

static void insert_live(rgm_buffer_pool *pool, node *one) {
    if ((size_t)pool->live.count >= pool->n_buckets) widen(pool);
    one->buffer.id = (pool->number << NUMBER_BITS) | ++pool->serial;
    node **bucket = bucket_of(pool, one->buffer.id);
    one->chain = *bucket;
    *bucket = one;
    LIST_APPEND(&pool->live, one, in_all);
    pool->counts.live_bytes += (int64_t)one->buffer.granted;
    pool->counts.live_requested_bytes += (int64_t)one->buffer.requested;
}

static node *take_live(rgm_buffer_pool *pool, uint64_t id) {
    node **at = bucket_of(pool, id);
    while (*at && (*at)->buffer.id != id) at = &(*at)->chain;
    node *one = *at;
    if (!one) return NULL;
    *at = one->chain;
    LIST_REMOVE(&pool->live, one, in_all);
    pool->counts.live_bytes -= (int64_t)one->buffer.granted;
    pool->counts.live_requested_bytes -= (int64_t)one->buffer.requested;
    return one;
}

static rgm_status not_live(rgm_buffer_pool *pool, uint64_t id, rgm_error *err) {
    uint64_t serial = id & (((uint64_t)1 << NUMBER_BITS) - 1);
    if (id >> NUMBER_BITS == pool->number && serial > 0 && serial <= pool->serial)
        return rgm_error_set(err, RGM_INVALID, "buffer %llu of this pool was freed before",
                             (unsigned long long)serial);
    return rgm_error_set(err, RGM_INVALID,
                         "this pool gave out no buffer with the id %llu; free it where it was allocated",
                         (unsigned long long)id);
}

// --- the buffers that are kept ----------------------------------------------------------------------------

static void insert_idle(rgm_buffer_pool *pool, node *one, int64_t now_ns) {
    list *same = &pool->classes[class_of(one->buffer.granted)];
    one->idle_since_ns = now_ns;
    LIST_APPEND(&pool->idle, one, in_all);
    LIST_APPEND(same, one, in_class);
    pool->counts.idle_bytes += (int64_t)one->buffer.granted;
}

static void remove_idle(rgm_buffer_pool *pool, node *one) {
    list *same = &pool->classes[class_of(one->buffer.granted)];
    LIST_REMOVE(&pool->idle, one, in_all);
    LIST_REMOVE(same, one, in_class);
    pool->counts.idle_bytes -= (int64_t)one->buffer.granted;
}

// The one that was used last, which the caches still know, unless a device is busy with it.
static node *take_idle(rgm_buffer_pool *pool, size_t granted) {
    node *one = pool->classes[class_of(granted)].last;
    for (; one; one = one->in_class.previous) {
        if (!pool->source.passed || pool->source.passed(pool->source.context, &one->memory)) break;
        pool->counts.busy_skips++;
    }
    if (one) remove_idle(pool, one);
    return one;
}

// Moves a kept buffer to the chain of those that go back to the source once the lock is released.
static void evict(rgm_buffer_pool *pool, node *one, node **gone, int64_t *count) {
    remove_idle(pool, one);
    one->chain = *gone;
    *gone = one;
    ++*count;
}

static void evict_old(rgm_buffer_pool *pool, int64_t now_ns, node **gone) {
    while (pool->idle.first && now_ns - pool->idle.first->idle_since_ns >= pool->options.buffer_ttl_ns)
        evict(pool, pool->idle.first, gone, &pool->counts.evicted_age);
}

static void evict_for_room(rgm_buffer_pool *pool, size_t class, node **gone) {
    list *same = &pool->classes[class];
    while (same->first && same->count > pool->options.max_buffers_per_class)
        evict(pool, same->first, gone, &pool->counts.evicted_room);
    while (pool->idle.first && pool->counts.idle_bytes > pool->options.max_pool_bytes)
        evict(pool, pool->idle.first, gone, &pool->counts.evicted_room);
}

static size_t give_back(const rgm_buffer_pool *pool, node *gone) {
    size_t count = 0;
    while (gone) {
        node *next = gone->chain;
        if (pool->source.release) pool->source.release(pool->source.context, &gone->memory);
        rgm_free(gone);
        gone = next;
        count++;
    }
    return count;
}

// --- from outside -----------------------------------------------------------------------------------------

static int64_t monotonic(void *unused) {
    (void)unused;
    return rgm_clock_monotonic_ns();
}

static rgm_status check_options(const rgm_pool_options *options, rgm_error *err) {
#define CHECK_OPTION(name, initial, unit, doc)                                                               \
    if (options->name < 0)                                                                                   \
        return rgm_error_set(err, RGM_INVALID, "%s must not be negative, got %lld", #name,                   \
                             (long long)options->name);
    RGM_POOL_OPTIONS(CHECK_OPTION)
#undef CHECK_OPTION
    return RGM_OK;
}

rgm_status rgm_buffer_pool_new(rgm_buffer_pool **out, const rgm_pool_options *options,
                               const rgm_pool_source *source, rgm_pool_clock clock, void *clock_context,
                               rgm_error *err) {
    static _Atomic(uint64_t) numbers;
    rgm_status status = check_options(options, err);
    rgm_buffer_pool *pool = status == RGM_OK ? rgm_calloc(1, sizeof *pool) : NULL;
    if (pool) pool->buckets = rgm_calloc(FIRST_BUCKETS, sizeof(node *));
    *out = NULL;
    if (!pool || !pool->buckets) {
        rgm_free(pool);
        if (source->close) source->close(source->context);
        return status == RGM_OK ? rgm_error_no_memory(err) : status;
    }
    pool->n_buckets = FIRST_BUCKETS;
    pool->options = *options;
    pool->source = *source;
    pool->clock = clock ? clock : monotonic;
    pool->clock_context = clock_context;
    pool->number = atomic_fetch_add(&numbers, 1) + 1;
    pthread_mutex_init(&pool->mutex, NULL);
    enlist(pool);
    *out = pool;
    return RGM_OK;
}

void rgm_buffer_pool_free(rgm_buffer_pool *pool) {
    if (!pool) return;
    delist(pool);
    (void)rgm_buffer_pool_clear(pool);
    node *gone = NULL;
    while (pool->live.first) {
        node *one = pool->live.first;
        LIST_REMOVE(&pool->live, one, in_all);
        one->chain = gone;
        gone = one;
    }
    (void)give_back(pool, gone);
    if (pool->source.close) pool->source.close(pool->source.context);
    pthread_mutex_destroy(&pool->mutex);
    rgm_free(pool->buckets);
    rgm_free(pool);
}

static rgm_status from_source(rgm_buffer_pool *pool, size_t granted, node **out, rgm_error *err) {
    node *one = rgm_calloc(1, sizeof *one);
    if (!one) return rgm_error_no_memory(err);
    rgm_status status = RGM_OK;
    if (pool->source.allocate) {
        status = pool->source.allocate(pool->source.context, granted, &one->memory, err);
        // What is kept may be what is missing.
        if (status != RGM_OK && rgm_buffer_pool_clear(pool) > 0)
            status = pool->source.allocate(pool->source.context, granted, &one->memory, err);
    }
    if (status != RGM_OK) {
        rgm_free(one);
        return status;
    }
    one->buffer.address = one->memory.address;
    one->buffer.granted = granted;
    *out = one;
    return RGM_OK;
}

static void count_request(rgm_pool_counts *counts, const node *one, int64_t took_ns) {
    const rgm_pool_buffer *buffer = &one->buffer;
    counts->allocations++;
    counts->requested_bytes += (int64_t)buffer->requested;
    counts->granted_bytes += (int64_t)buffer->granted;
    if (buffer->reused) {
        counts->hits++;
        counts->hit_bytes += (int64_t)buffer->requested;
        counts->hit_ns += took_ns;
    } else if (one->pooled) {
        counts->misses++;
        counts->miss_ns += took_ns;
    } else {
        counts->unpooled++;
    }
    int64_t held = counts->live_bytes + counts->idle_bytes;
    if (held > counts->peak_bytes) counts->peak_bytes = held;
}

rgm_status rgm_buffer_pool_allocate(rgm_buffer_pool *pool, size_t bytes, rgm_pool_buffer *out,
                                    rgm_error *err) {
    node *one = NULL, *gone = NULL;
    if (bytes == 0) return rgm_error_set(err, RGM_INVALID, "a buffer has at least one byte");
    if (bytes > SIZE_MAX / 4) return rgm_error_set(err, RGM_LIMIT, "no memory holds %zu bytes", bytes);
    int64_t begin_ns = pool->clock(pool->clock_context);
    size_t granted = rgm_pool_class_bytes(bytes);
    bool pooled = bytes >= (size_t)pool->options.min_pooled_size &&
                  granted <= (size_t)pool->options.max_pool_bytes && pool->options.max_buffers_per_class > 0;
    pthread_mutex_lock(&pool->mutex);
    evict_old(pool, begin_ns, &gone);
    if (pooled) one = take_idle(pool, granted);
    pthread_mutex_unlock(&pool->mutex);
    bool reused = one != NULL;
    rgm_status status = reused ? RGM_OK : from_source(pool, pooled ? granted : bytes, &one, err);
    int64_t took_ns = pool->clock(pool->clock_context) - begin_ns;
    pthread_mutex_lock(&pool->mutex);
    if (status == RGM_OK) {
        one->pooled = pooled;
        one->buffer.requested = bytes;
        one->buffer.reused = reused;
        insert_live(pool, one);
        count_request(&pool->counts, one, took_ns);
        *out = one->buffer;
    } else {
        pool->counts.failures++;
    }
    pthread_mutex_unlock(&pool->mutex);
    (void)give_back(pool, gone);
    return status;
}

rgm_status rgm_buffer_pool_release(rgm_buffer_pool *pool, uint64_t id, uint64_t stream, rgm_error *err) {
    node *gone = NULL;
    pthread_mutex_lock(&pool->mutex);
    node *one = take_live(pool, id);
    rgm_status status = one ? RGM_OK : not_live(pool, id, err);
    if (one) pool->counts.deallocations++;
    pthread_mutex_unlock(&pool->mutex);
    if (!one) return status;
    // In neither list now, so nobody else has it.
    bool keep =
        one->pooled && (!pool->source.mark || pool->source.mark(pool->source.context, &one->memory, stream));
    int64_t now_ns = pool->clock(pool->clock_context);
    pthread_mutex_lock(&pool->mutex);
    if (keep) {
        insert_idle(pool, one, now_ns);
        evict_for_room(pool, class_of(one->buffer.granted), &gone);
    } else {
        one->chain = NULL;
        gone = one;
    }
    evict_old(pool, now_ns, &gone);
    pthread_mutex_unlock(&pool->mutex);
    (void)give_back(pool, gone);
    return RGM_OK;
}

size_t rgm_buffer_pool_evict_stale(rgm_buffer_pool *pool) {
    node *gone = NULL;
    int64_t now_ns = pool->clock(pool->clock_context);
    pthread_mutex_lock(&pool->mutex);
    evict_old(pool, now_ns, &gone);
    pthread_mutex_unlock(&pool->mutex);
    return give_back(pool, gone);
}

size_t rgm_buffer_pool_clear(rgm_buffer_pool *pool) {
    node *gone = NULL;
    pthread_mutex_lock(&pool->mutex);
    while (pool->idle.first) evict(pool, pool->idle.first, &gone, &pool->counts.cleared);
    pthread_mutex_unlock(&pool->mutex);
    return give_back(pool, gone);
}

rgm_pool_counts rgm_buffer_pool_counts(rgm_buffer_pool *pool) {
    pthread_mutex_lock(&pool->mutex);
    rgm_pool_counts counts = pool->counts;
    counts.live_buffers = pool->live.count;
    counts.idle_buffers = pool->idle.count;
    pthread_mutex_unlock(&pool->mutex);
    return counts;
}

size_t rgm_buffer_pool_live(rgm_buffer_pool *pool, rgm_pool_buffer *out, size_t room) {
    size_t count = 0;
    pthread_mutex_lock(&pool->mutex);
    for (const node *one = pool->live.first; one; one = one->in_all.next, count++)
        if (count < room) out[count] = one->buffer;
    pthread_mutex_unlock(&pool->mutex);
    return count;
}

// --- sources ----------------------------------------------------------------------------------------------

static rgm_status host_allocate(void *unused, size_t bytes, rgm_pool_memory *memory, rgm_error *err) {
    (void)unused;
    memory->base = rgm_block_realloc(NULL, bytes + ALIGNMENT);
    if (!memory->base) return rgm_error_no_memory(err);
    uint64_t at = (uint64_t)(uintptr_t)memory->base;
    memory->address = (at + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
    return RGM_OK;
}

static void host_release(void *unused, const rgm_pool_memory *memory) {
    (void)unused;
    rgm_block_free(memory->base);
}

const rgm_pool_source rgm_pool_host_source = {.allocate = host_allocate, .release = host_release};
const rgm_pool_source rgm_pool_no_source = {.context = NULL};
