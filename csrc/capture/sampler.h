// SPDX-License-Identifier: Apache-2.0
// Host memory: reading it, and a thread that does so at an interval.
#ifndef RGM_CAPTURE_SAMPLER_H
#define RGM_CAPTURE_SAMPLER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/status.h"
#include "model/record.h"

// Resident set in bytes from a kept-open /proc/self/statm (half a microsecond), -1 when there is none.
int64_t rgm_memory_resident(void);
// The part of it that no file stands behind, from the same place; a fork copies the page tables of this.
int64_t rgm_memory_private(void);
// Peak resident set of the process so far (getrusage), -1 when unknown.
int64_t rgm_memory_resident_peak(void);
// In use and held by malloc (mallinfo2); false where the C library does not offer it. Takes the allocator's
// locks, so it is read on request only, never by the sampler.
bool rgm_memory_malloc(int64_t *in_use, int64_t *held);
// After fork the kept-open file would still show the parent.
void rgm_memory_reopen(void);

typedef void (*rgm_sampler_sink)(void *arg, const rgm_sample *sample);

typedef struct rgm_sampler {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    bool running;
    bool stop;
    int64_t interval_ns;
    int64_t heartbeat_ns;
    _Atomic(uint32_t) one_in; // looks that are taken, 0 or 1: all
    _Atomic(int64_t) cpu_ns;  // spent by the thread so far
    rgm_sampler_sink sink;
    void *arg;
} rgm_sampler;

// An unchanged value is handed on only once per heartbeat.
rgm_status rgm_sampler_start(rgm_sampler *sampler, int64_t interval_ns, int64_t heartbeat_ns,
                             rgm_sampler_sink sink, void *arg, rgm_error *err) RGM_NODISCARD;
void rgm_sampler_stop(rgm_sampler *sampler);

#endif
