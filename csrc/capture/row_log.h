// SPDX-License-Identifier: Apache-2.0
// Rows of one type that wait in memory for the journal or for a reader, within a budget.
//
// They lie in chunks, in the order of their coming. What has been dropped gives its chunks back to the
// system, but for a few that serve again, so the memory is that of what waits and not of what has ever
// waited.
//
// Threads: append, count and total from any thread. What does not fit is refused, never waited for. walk,
// drop and reset are for one thread at a time, which the caller sees to; rows that are there do not move
// while it reads them.
#ifndef RGM_CAPTURE_ROW_LOG_H
#define RGM_CAPTURE_ROW_LOG_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { RGM_ROW_CHUNK_BYTES = 256 << 10, RGM_ROW_CHUNKS_SPARE = 4 };

typedef struct rgm_row_chunk rgm_row_chunk;

typedef struct {
    pthread_mutex_t mutex;
    rgm_row_chunk *first, *last;
    rgm_row_chunk *spare;
    size_t spares;
    size_t gone;  // rows of the first chunk that have been dropped
    size_t width; // of a row, in bytes
    size_t count;
    uint64_t total; // appended so far
} rgm_row_log;

void rgm_row_log_init(rgm_row_log *log, size_t width);
void rgm_row_log_release(rgm_row_log *log);
// False when the rows would take more than `budget` bytes, or there is no memory. *waiting (may be NULL):
// bytes of the rows that are there now.
bool rgm_row_log_append(rgm_row_log *log, const void *rows, size_t count, int64_t budget, size_t *waiting);
size_t rgm_row_log_count(rgm_row_log *log);
uint64_t rgm_row_log_total(rgm_row_log *log);
// Calls back with the first `most` rows, a stretch of them at a time, until one does not answer RGM_OK.
typedef rgm_status (*rgm_row_visit)(void *arg, const void *rows, size_t count, rgm_error *err);
rgm_status rgm_row_log_walk(rgm_row_log *log, size_t most, rgm_row_visit visit, void *arg,
                            rgm_error *err) RGM_NODISCARD;
// Removes the first rows; SIZE_MAX for all.
void rgm_row_log_drop(rgm_row_log *log, size_t count);
// As drop of all, and forgets how many there were.
void rgm_row_log_reset(rgm_row_log *log);
// The same by one who holds the mutex already: in the child of a fork.
void rgm_row_log_forget(rgm_row_log *log);

#endif
