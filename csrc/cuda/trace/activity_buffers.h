// SPDX-License-Identifier: Apache-2.0
// The buffers that CUPTI fills: a bounded pool, handed over without a lock.
//
// CUPTI asks for a buffer (request) and gives it back (complete) on threads of its own or of the program;
// both take a few instructions and never wait. One reader takes what has come back (next), reads it and
// returns it (put). At the limit the answer is "none" where CUPTI can bear that, and elsewhere a small
// scratch buffer, whose records the reader counts as dropped.
//
// Lifetime: a buffer may still be with CUPTI when tracing ends. Then the pool stays as it is, for the rest of
// the process: what comes back late is recognised, and what another tool's buffer is is not touched.
#ifndef RGM_CUDA_ACTIVITY_BUFFERS_H
#define RGM_CUDA_ACTIVITY_BUFFERS_H

#include <semaphore.h>

#include "base/queue.h"

enum {
    RGM_BUFFERS_MOST = 64,  // of full size
    RGM_SCRATCH_MOST = 192, // of the small size
    RGM_BUFFERS_KNOWN = RGM_BUFFERS_MOST + RGM_SCRATCH_MOST,
    RGM_SCRATCH_BYTES = 64 * 1024,
    RGM_BUFFER_ALIGNMENT = 64,
};

typedef struct {
    uint8_t *memory; // as allocated
    uint8_t *data;   // aligned; what CUPTI sees
    size_t size;
    size_t valid;
    bool scratch;
    _Atomic(uint64_t) number; // of the hand-out, from 1; 0 while free
    _Atomic(bool) out;        // with CUPTI
} rgm_activity_buffer;

typedef struct {
    size_t bytes;     // of a buffer
    size_t most;      // buffers of full size
    bool may_decline; // CUPTI bears the answer "none"
    rgm_queue free, scratch_free, ready;
    sem_t wake;                                              // one post per buffer in `ready`, and one to end
    _Atomic(rgm_activity_buffer *) known[RGM_BUFFERS_KNOWN]; // gaps are NULL
    _Atomic(uint32_t) scratch_count, full_count;
    _Atomic(uint64_t) handed_out, completed, declined, foreign;
} rgm_activity_buffers;

// `most` is cut to RGM_BUFFERS_MOST.
rgm_status rgm_activity_buffers_init(rgm_activity_buffers *buffers, size_t bytes, size_t most,
                                     bool may_decline, rgm_error *err) RGM_NODISCARD;
// For another tracing, while nobody asks or gives back: buffers that are out stay known, beside the new
// bound.
void rgm_activity_buffers_renew(rgm_activity_buffers *buffers, size_t bytes, size_t most, bool may_decline);
// Frees the buffers; the caller knows that none is out.
void rgm_activity_buffers_release(rgm_activity_buffers *buffers);
size_t rgm_activity_buffers_out(rgm_activity_buffers *buffers);
// Number of the oldest hand-out that has not been read, UINT64_MAX when there is none.
uint64_t rgm_activity_buffers_oldest(rgm_activity_buffers *buffers);

// CUPTI's two callbacks: *data NULL answers "none".
void rgm_activity_buffers_request(rgm_activity_buffers *buffers, uint8_t **data, size_t *size);
void rgm_activity_buffers_complete(rgm_activity_buffers *buffers, uint8_t *data, size_t valid);

// The reader's side: waits for a buffer; NULL after a wake without one. A buffer that comes back while
// another is still being handed over may be seen only at the next call.
rgm_activity_buffer *rgm_activity_buffers_next(rgm_activity_buffers *buffers);
void rgm_activity_buffers_put(rgm_activity_buffers *buffers, rgm_activity_buffer *buffer);
void rgm_activity_buffers_wake(rgm_activity_buffers *buffers);

#endif
