// SPDX-License-Identifier: Apache-2.0
#include "capture/row_log.h"

#include <string.h>

#include "base/memory.h"

void rgm_row_log_init(rgm_row_log *log, size_t width) {
    *log = (rgm_row_log){.width = width};
    pthread_mutex_init(&log->mutex, NULL);
}

void rgm_row_log_release(rgm_row_log *log) {
    if (!log->width) return;
    pthread_mutex_destroy(&log->mutex);
    rgm_free(log->rows);
    *log = (rgm_row_log){0};
}

// Under the lock. Grows by half, and to the budget's edge rather than beyond it.
static bool make_room(rgm_row_log *log, size_t count, int64_t budget) {
    size_t most = (size_t)budget / log->width, wanted = log->count + count;
    if (wanted <= log->capacity) return true;
    if (wanted > most) return false;
    size_t capacity = log->capacity + log->capacity / 2;
    if (capacity < 256) capacity = 256;
    if (capacity < wanted) capacity = wanted;
    if (capacity > most) capacity = most;
    uint8_t *grown = rgm_realloc(log->rows, capacity * log->width);
    if (!grown) return false;
    log->rows = grown;
    log->capacity = capacity;
    return true;
}

bool rgm_row_log_append(rgm_row_log *log, const void *rows, size_t count, int64_t budget) {
    pthread_mutex_lock(&log->mutex);
    bool fits = make_room(log, count, budget);
    if (fits) {
        memcpy(log->rows + log->count * log->width, rows, count * log->width);
        log->count += count;
        log->total += count;
    }
    pthread_mutex_unlock(&log->mutex);
    return fits;
}

size_t rgm_row_log_count(rgm_row_log *log) {
    pthread_mutex_lock(&log->mutex);
    size_t count = log->count;
    pthread_mutex_unlock(&log->mutex);
    return count;
}

uint64_t rgm_row_log_total(rgm_row_log *log) {
    pthread_mutex_lock(&log->mutex);
    uint64_t total = log->total;
    pthread_mutex_unlock(&log->mutex);
    return total;
}

void rgm_row_log_drop(rgm_row_log *log, size_t count) {
    pthread_mutex_lock(&log->mutex);
    if (count > log->count) count = log->count;
    log->count -= count;
    if (count) memmove(log->rows, log->rows + count * log->width, log->count * log->width);
    pthread_mutex_unlock(&log->mutex);
}

void rgm_row_log_reset(rgm_row_log *log) {
    rgm_row_log_drop(log, SIZE_MAX);
    pthread_mutex_lock(&log->mutex);
    log->total = 0;
    pthread_mutex_unlock(&log->mutex);
}
