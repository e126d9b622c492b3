// SPDX-License-Identifier: Apache-2.0
// What the processors and the memory of this machine can reach, measured with loops of ours.
#ifndef RGM_CALIBRATE_HOST_H
#define RGM_CALIBRATE_HOST_H

#include "calibrate/figure.h"

// X(NAME, token, doc): measured apart, so that whoever asks can say how far it has come.
#define RGM_HOST_PARTS(X)                                                                                    \
    X(MEMORY, "memory", "bandwidth beyond all caches")                                                       \
    X(CACHES, "caches", "bandwidth of the caches")                                                           \
    X(LATENCY, "latency", "latency of memory")                                                               \
    X(COMPUTE, "compute", "arithmetic")

#define RGM_HOST_PART_ENUM(name, token, doc) RGM_HOST_##name,
typedef enum { RGM_HOST_PARTS(RGM_HOST_PART_ENUM) RGM_HOST_PART_COUNT } rgm_host_part;

enum { RGM_CACHE_LEVELS = 3, RGM_HOST_BUFFERS = 3 }; // buffers of the bandwidth

// Data caches by level from 1; 0 where the system does not tell.
typedef struct {
    int64_t bytes[RGM_CACHE_LEVELS];
    int sharers[RGM_CACHE_LEVELS]; // processors that share one
} rgm_host_caches;

void rgm_host_caches_read(rgm_host_caches *caches);
// Bytes of the largest; 0 where none is known.
int64_t rgm_host_caches_last(const rgm_host_caches *caches);
// Bytes of all of that level that so many threads use.
int64_t rgm_host_caches_used(const rgm_host_caches *caches, unsigned threads);

typedef struct {
    rgm_effort effort;
    unsigned threads;
    int64_t free_bytes; // memory that may be thought of as free
    rgm_host_caches caches;
} rgm_host_request;

// Fills the figures of a part: a value, or the reason why there is none. RGM_INVALID when a loop did other
// work than it should, RGM_LIMIT when it was ended.
rgm_status rgm_host_measure(rgm_host_part part, const rgm_host_request *request, rgm_figures *figures,
                            rgm_error *err) RGM_NODISCARD;

rgm_status rgm_host_memory(const rgm_host_request *request, rgm_figures *figures,
                           rgm_error *err) RGM_NODISCARD;
rgm_status rgm_host_cache_levels(const rgm_host_request *request, rgm_figures *figures,
                                 rgm_error *err) RGM_NODISCARD;
rgm_status rgm_host_latency(const rgm_host_request *request, rgm_figures *figures,
                            rgm_error *err) RGM_NODISCARD;
rgm_status rgm_host_compute(const rgm_host_request *request, rgm_figures *figures,
                            rgm_error *err) RGM_NODISCARD;

// Size of each of `count` buffers that are beyond all caches together, though not each alone where caches are
// large; 0 where so little memory is free that they would not be.
size_t rgm_host_buffer_bytes(const rgm_host_request *request, size_t count);
// The most that a part takes at once.
int64_t rgm_host_takes(const rgm_host_request *request);

// Asks for large pages, before the block is touched: they are what arrays of NumPy and large blocks of many
// allocators have, and looking up small ones would be in a latency. The system may refuse, which is no error.
void rgm_host_large_pages(void *block, size_t bytes);

// Writes indices that lead through all `count` places in one cycle, in an order of chance; place i is the
// 32-bit word at i * stride_words. RGM_LIMIT when it was ended; effort NULL: it is not.
rgm_status rgm_chase_write(uint32_t *places, size_t count, size_t stride_words, uint64_t seed,
                           const rgm_effort *effort, rgm_error *err) RGM_NODISCARD;

#endif
