// SPDX-License-Identifier: Apache-2.0
// A sink that keeps counters in memory, for a measurement outside a recording. Bounded: rows past the limit
// are counted as dropped.
//
// Threads: the sink's functions from any; the rest when no measurement uses it any more.
#ifndef RGM_CUDA_COUNTER_ROWS_H
#define RGM_CUDA_COUNTER_ROWS_H

#include <pthread.h>

#include "base/strings.h"
#include "cuda/sink.h"

typedef struct {
    rgm_device_sink sink; // what a measurement is given
    pthread_mutex_t mutex;
    rgm_strings names;
    rgm_counter_row *rows;
    size_t n_rows, room, max_rows;
    rgm_activity_row *ranges;
    size_t n_ranges, ranges_room;
    int64_t dropped; // rows past the limit, or without memory
    int64_t noted;   // samples or ranges that the measurement said were lost
} rgm_counter_rows;

rgm_status rgm_counter_rows_init(rgm_counter_rows *rows, size_t max_rows, rgm_error *err) RGM_NODISCARD;
void rgm_counter_rows_release(rgm_counter_rows *rows);

#endif
