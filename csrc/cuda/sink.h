// SPDX-License-Identifier: Apache-2.0
// Where the device layer puts what it sees. A session implements it (capture/device.c); nothing here knows
// what a session is. It is handed over and kept by value, so only what `arg` points to has to outlive its
// use: service threads call it long after the function that started them has returned.
//
// Threads: every function may be called from any thread, also from service threads that hold no lock of the
// interpreter. `call` is for the thread that makes the call, at its end; it takes no lock and does not fail.
#ifndef RGM_CUDA_SINK_H
#define RGM_CUDA_SINK_H

#include <stddef.h>

#include "model/record.h"
#include "model/schema.h"

typedef struct {
    void *arg;
    void (*interval)(void *arg, const rgm_interval_row *row);
    void (*activities)(void *arg, const rgm_activity_row *rows, size_t count);
    void (*memory)(void *arg, const rgm_device_memory_row *rows, size_t count);
    void (*queue_times)(void *arg, const rgm_queue_time_row *rows, size_t count);
    void (*counters)(void *arg, const rgm_counter_row *rows, size_t count);
    void (*stalls)(void *arg, const rgm_stall_row *rows, size_t count);
    // A call by the current thread that launched device work: ticks at begin and end, string id of its name.
    void (*call)(void *arg, uint64_t begin, uint64_t end, uint32_t name, uint32_t correlation);
    // Id of a text; 0, and a count, when there is no room.
    uint32_t (*intern)(void *arg, const char *text, size_t length);
    void (*note)(void *arg, rgm_anomaly code, int64_t count);
} rgm_device_sink;

#endif
