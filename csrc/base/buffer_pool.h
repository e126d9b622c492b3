// SPDX-License-Identifier: Apache-2.0
// A pool of buffers: memory that was given back is kept for a while and handed out again, instead of asking
// the system anew. Where the memory comes from is a table of functions, so the same pool serves host memory,
// the memory of a device, and (with no source) the accounting of allocations that are made elsewhere.
//
// A request is rounded up to a size class, four to every doubling, so at most a fifth of a buffer is unused.
// Requests below the least pooled size or above the bound of the pool go straight to the source. What is idle
// is bounded in bytes, in buffers a class and in age; past a bound the buffer that has been idle longest goes
// first. A reused buffer holds what its last user left in it.
//
// A buffer is known by an id that is never used again, within this process, by any pool. So freeing twice
// and freeing what another pool gave out are told apart and refused, even when the address lives on.
//
// Device work: a buffer that is freed while a device still uses it must not be handed out before the device
// is done. A source with a fence marks the buffer when it is freed, and a buffer whose fence has not passed
// is passed over.
//
// Threads: everything from any thread. Source and clock are called without the pool's lock, except `passed`.
#ifndef RGM_BASE_BUFFER_POOL_H
#define RGM_BASE_BUFFER_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// X(name, default, unit, doc): the specification's defaults.
#define RGM_POOL_OPTIONS(X)                                                                                  \
    X(max_pool_bytes, INT64_C(512) << 20, "bytes", "Idle memory that is kept at most.")                      \
    X(max_buffers_per_class, 16, "buffers", "Idle buffers of one size class that are kept at most.")         \
    X(buffer_ttl_ns, INT64_C(60000000000), "ns", "A buffer that has been idle for so long is given back.")   \
    X(min_pooled_size, 4096, "bytes", "Smaller requests are not pooled.")

typedef struct {
#define RGM_POOL_OPTION_FIELD(name, initial, unit, doc) int64_t name;
    RGM_POOL_OPTIONS(RGM_POOL_OPTION_FIELD)
#undef RGM_POOL_OPTION_FIELD
} rgm_pool_options;
#define RGM_POOL_OPTION_DEFAULT(name, initial, unit, doc) .name = (initial),
#define RGM_POOL_OPTION_DEFAULTS                                                                             \
    (rgm_pool_options) { RGM_POOL_OPTIONS(RGM_POOL_OPTION_DEFAULT) }

// X(name, unit, doc): counted since the pool was made, unless the text says "now".
#define RGM_POOL_COUNTS(X)                                                                                   \
    X(allocations, "", "Requests that were served.")                                                         \
    X(deallocations, "", "Buffers that were given back to the pool.")                                        \
    X(hits, "", "Requests that a kept buffer served.")                                                       \
    X(misses, "", "Requests of a pooled size that the source served.")                                       \
    X(unpooled, "", "Requests below min_pooled_size or above max_pool_bytes, served by the source.")         \
    X(busy_skips, "", "Kept buffers that were passed over because a device still used them.")                \
    X(evicted_age, "", "Buffers given back to the source because they were idle too long.")                  \
    X(evicted_room, "", "Buffers given back to the source because a bound was reached.")                     \
    X(cleared, "", "Buffers given back to the source by clear or close.")                                    \
    X(failures, "", "Requests that the source refused.")                                                     \
    X(live_buffers, "", "Buffers in use, now.")                                                              \
    X(live_bytes, "bytes", "Memory of the buffers in use, now.")                                             \
    X(live_requested_bytes, "bytes", "What was asked for of it, now.")                                       \
    X(idle_buffers, "", "Buffers kept, now.")                                                                \
    X(idle_bytes, "bytes", "Memory kept, now.")                                                              \
    X(peak_bytes, "bytes", "Most memory in use and kept at once.")                                           \
    X(requested_bytes, "bytes", "Sum of what was asked for.")                                                \
    X(granted_bytes, "bytes", "Sum of the sizes that it was rounded up to.")                                 \
    X(hit_bytes, "bytes", "Sum of what was asked for and a kept buffer served.")                             \
    X(hit_ns, "ns", "Time of the requests that a kept buffer served, measured.")                             \
    X(miss_ns, "ns", "Time of the requests of a pooled size that the source served, measured.")

typedef struct {
#define RGM_POOL_COUNT_FIELD(name, unit, doc) int64_t name;
    RGM_POOL_COUNTS(RGM_POOL_COUNT_FIELD)
#undef RGM_POOL_COUNT_FIELD
} rgm_pool_counts;

// Memory of a source. `base` is the source's own, `address` what the user gets.
typedef struct {
    void *base;
    uint64_t address;
    void *fence; // NULL: none was made yet
} rgm_pool_memory;

typedef struct {
    void *context;
    // NULL: nothing is allocated, the pool only counts.
    rgm_status (*allocate)(void *context, size_t bytes, rgm_pool_memory *memory, rgm_error *err);
    void (*release)(void *context, const rgm_pool_memory *memory);
    // NULL: what is freed can be used at once. mark notes the work of `stream` so far; false where that was
    // not possible, and the memory is then given back to the source, which waits.
    bool (*mark)(void *context, rgm_pool_memory *memory, uint64_t stream);
    bool (*passed)(void *context, const rgm_pool_memory *memory);
    void (*close)(void *context); // NULL: nothing to do
} rgm_pool_source;

typedef struct {
    uint64_t id;
    uint64_t address;
    size_t requested, granted; // bytes
    bool reused;
} rgm_pool_buffer;

typedef int64_t (*rgm_pool_clock)(void *context);
typedef struct rgm_buffer_pool rgm_buffer_pool;

// Aligned to 64 bytes; large buffers have pages of their own.
extern const rgm_pool_source rgm_pool_host_source;
extern const rgm_pool_source rgm_pool_no_source;

// Takes the source over: its close is called by free, and here on failure. `clock` (NULL: CLOCK_MONOTONIC)
// gives nanoseconds that do not go back.
rgm_status rgm_buffer_pool_new(rgm_buffer_pool **pool, const rgm_pool_options *options,
                               const rgm_pool_source *source, rgm_pool_clock clock, void *clock_context,
                               rgm_error *err) RGM_NODISCARD;
// Gives all memory back, that of buffers in use too: their users must be done. NULL is fine.
void rgm_buffer_pool_free(rgm_buffer_pool *pool);

rgm_status rgm_buffer_pool_allocate(rgm_buffer_pool *pool, size_t bytes, rgm_pool_buffer *out,
                                    rgm_error *err) RGM_NODISCARD;
// `stream` is what the device's last work on the buffer was queued in; without meaning for host memory.
// RGM_INVALID: freed before, or never given out by this pool.
rgm_status rgm_buffer_pool_release(rgm_buffer_pool *pool, uint64_t id, uint64_t stream,
                                   rgm_error *err) RGM_NODISCARD;
// Gives back what has been idle too long (which allocate and release do as well); returns how many buffers.
size_t rgm_buffer_pool_evict_stale(rgm_buffer_pool *pool);
// Gives back all that is idle.
size_t rgm_buffer_pool_clear(rgm_buffer_pool *pool);

rgm_pool_counts rgm_buffer_pool_counts(rgm_buffer_pool *pool);
// Buffers in use, the oldest first: up to `room` of them, and how many there are.
size_t rgm_buffer_pool_live(rgm_buffer_pool *pool, rgm_pool_buffer *out, size_t room);
// The size that a request is rounded up to.
size_t rgm_pool_class_bytes(size_t bytes);

#endif
