// SPDX-License-Identifier: Apache-2.0
// Rows of one type that wait in memory for the journal or for a reader, within a budget.
//
// Threads: append, take and each from any thread. What does not fit is refused, never waited for.
#ifndef RGM_CAPTURE_ROW_LOG_H
#define RGM_CAPTURE_ROW_LOG_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

typedef struct {
    pthread_mutex_t mutex;
    uint8_t *rows;
    size_t width; // of a row, in bytes
    size_t count;
    size_t capacity;
    uint64_t total; // appended so far
} rgm_row_log;

void rgm_row_log_init(rgm_row_log *log, size_t width);
void rgm_row_log_release(rgm_row_log *log);
// False when the rows would take more than `budget` bytes, or there is no memory.
bool rgm_row_log_append(rgm_row_log *log, const void *rows, size_t count, int64_t budget);
size_t rgm_row_log_count(rgm_row_log *log);
uint64_t rgm_row_log_total(rgm_row_log *log);
// Removes the first rows; SIZE_MAX for all.
void rgm_row_log_drop(rgm_row_log *log, size_t count);
// As drop of all, and forgets how many there were.
void rgm_row_log_reset(rgm_row_log *log);

#endif
