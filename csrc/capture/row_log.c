// SPDX-License-Identifier: Apache-2.0
#include "capture/row_log.h"

#include <string.h>

#include "base/memory.h"

// Pages of its own, so that they go back to the system one by one.
struct rgm_row_chunk {
    rgm_row_chunk *next;
    size_t count;
    _Alignas(16) uint8_t rows[];
};

static size_t rows_of_chunk(const rgm_row_log *log) { return RGM_ROW_CHUNK_BYTES / log->width; }

void rgm_row_log_init(rgm_row_log *log, size_t width) {
    *log = (rgm_row_log){.width = width};
    pthread_mutex_init(&log->mutex, NULL);
}

// --- chunks, under the lock -------------------------------------------------------------------------------

static rgm_row_chunk *chunk_take(rgm_row_log *log) {
    rgm_row_chunk *chunk = log->spare;
    if (chunk) {
        log->spare = chunk->next;
        log->spares--;
    } else {
        chunk = rgm_block_realloc(NULL, sizeof *chunk + RGM_ROW_CHUNK_BYTES);
        if (!chunk) return NULL;
    }
    chunk->next = NULL;
    chunk->count = 0;
    return chunk;
}

static void chunk_give(rgm_row_log *log, rgm_row_chunk *chunk) {
    if (log->spares >= RGM_ROW_CHUNKS_SPARE) {
        rgm_block_free(chunk);
        return;
    }
    chunk->next = log->spare;
    log->spare = chunk;
    log->spares++;
}

static void drop(rgm_row_log *log, size_t count) {
    if (count > log->count) count = log->count;
    log->count -= count;
    log->gone += count;
    while (log->first && log->gone >= log->first->count) {
        rgm_row_chunk *chunk = log->first;
        log->gone -= chunk->count;
        log->first = chunk->next;
        if (!log->first) log->last = NULL;
        chunk_give(log, chunk);
    }
}

// Room for `count` rows, in chunks that stand ready behind the last one.
static bool make_room(rgm_row_log *log, size_t count) {
    rgm_row_chunk *first = NULL, **end = &first;
    size_t room = log->last ? rows_of_chunk(log) - log->last->count : 0;
    for (; room < count; room += rows_of_chunk(log)) {
        rgm_row_chunk *chunk = chunk_take(log);
        *end = chunk;
        if (!chunk) break;
        end = &chunk->next;
    }
    if (room < count) {
        for (rgm_row_chunk *next; first; first = next) {
            next = first->next;
            chunk_give(log, first);
        }
        return false;
    }
    if (!log->last)
        log->first = log->last = first;
    else
        log->last->next = first;
    return true;
}

static void fill(rgm_row_log *log, const uint8_t *rows, size_t count) {
    for (rgm_row_chunk *chunk = log->last; count && chunk; chunk = chunk->next) {
        size_t n = rows_of_chunk(log) - chunk->count;
        if (n > count) n = count;
        if (n) memcpy(chunk->rows + chunk->count * log->width, rows, n * log->width);
        chunk->count += n;
        rows += n * log->width;
        count -= n;
        log->last = chunk;
    }
}

// --- rows -------------------------------------------------------------------------------------------------

void rgm_row_log_release(rgm_row_log *log) {
    if (!log->width) return;
    drop(log, SIZE_MAX);
    for (rgm_row_chunk *chunk = log->spare, *next; chunk; chunk = next) {
        next = chunk->next;
        rgm_block_free(chunk);
    }
    pthread_mutex_destroy(&log->mutex);
    *log = (rgm_row_log){0};
}

bool rgm_row_log_append(rgm_row_log *log, const void *rows, size_t count, int64_t budget, size_t *waiting) {
    pthread_mutex_lock(&log->mutex);
    bool fits = log->count + count <= (size_t)budget / log->width && make_room(log, count);
    if (fits) {
        fill(log, rows, count);
        log->count += count;
        log->total += count;
    }
    if (waiting) *waiting = log->count * log->width;
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

// The rows of a chunk from `from` on, and which chunk comes next; append may be at work on both meanwhile.
static size_t stretch(rgm_row_log *log, const rgm_row_chunk *chunk, size_t from, rgm_row_chunk **next) {
    pthread_mutex_lock(&log->mutex);
    size_t count = chunk->count - from;
    *next = chunk->next;
    pthread_mutex_unlock(&log->mutex);
    return count;
}

rgm_status rgm_row_log_walk(rgm_row_log *log, size_t most, rgm_row_visit visit, void *arg, rgm_error *err) {
    rgm_status status = RGM_OK;
    pthread_mutex_lock(&log->mutex);
    rgm_row_chunk *chunk = log->first, *next;
    size_t from = log->gone;
    pthread_mutex_unlock(&log->mutex);
    for (; status == RGM_OK && chunk && most; chunk = next, from = 0) {
        size_t count = stretch(log, chunk, from, &next);
        if (count > most) count = most;
        most -= count;
        if (count) status = visit(arg, chunk->rows + from * log->width, count, err);
    }
    return status;
}

void rgm_row_log_drop(rgm_row_log *log, size_t count) {
    pthread_mutex_lock(&log->mutex);
    drop(log, count);
    pthread_mutex_unlock(&log->mutex);
}

void rgm_row_log_forget(rgm_row_log *log) {
    drop(log, SIZE_MAX);
    log->total = 0;
}

void rgm_row_log_reset(rgm_row_log *log) {
    pthread_mutex_lock(&log->mutex);
    rgm_row_log_forget(log);
    pthread_mutex_unlock(&log->mutex);
}
