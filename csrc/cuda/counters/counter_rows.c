// SPDX-License-Identifier: Apache-2.0
#include "cuda/counters/counter_rows.h"

#include <string.h>

#include "base/memory.h"

enum { NAMES_BYTES = 1 << 20 };

// Room for `count` more of `size` bytes each; less when the limit or the memory ends before.
static size_t make_room(void **items, size_t size, size_t used, size_t *room, size_t max, size_t count) {
    if (used + count > *room && *room < max) {
        size_t wanted = *room ? 2 * *room : 1024;
        while (wanted < used + count) wanted *= 2;
        if (wanted > max) wanted = max;
        void *grown = rgm_realloc(*items, wanted * size);
        if (grown) {
            *items = grown;
            *room = wanted;
        }
    }
    return used + count <= *room ? count : *room - used;
}

static void take_counters(void *arg, const rgm_counter_row *rows, size_t count) {
    rgm_counter_rows *r = arg;
    pthread_mutex_lock(&r->mutex);
    void *items = r->rows;
    size_t n = make_room(&items, sizeof *rows, r->n_rows, &r->room, r->max_rows, count);
    r->rows = items;
    if (n) memcpy(r->rows + r->n_rows, rows, n * sizeof *rows);
    r->n_rows += n;
    r->dropped += (int64_t)(count - n);
    pthread_mutex_unlock(&r->mutex);
}

static void take_activities(void *arg, const rgm_activity_row *rows, size_t count) {
    rgm_counter_rows *r = arg;
    pthread_mutex_lock(&r->mutex);
    void *items = r->ranges;
    size_t n = make_room(&items, sizeof *rows, r->n_ranges, &r->ranges_room, r->max_rows, count);
    r->ranges = items;
    if (n) memcpy(r->ranges + r->n_ranges, rows, n * sizeof *rows);
    r->n_ranges += n;
    r->dropped += (int64_t)(count - n);
    pthread_mutex_unlock(&r->mutex);
}

static uint32_t take_name(void *arg, const char *text, size_t length) {
    rgm_counter_rows *r = arg;
    uint32_t id;
    return rgm_strings_intern(&r->names, text, length, &id, NULL) == RGM_OK ? id : 0;
}

static void take_note(void *arg, rgm_anomaly code, int64_t count) {
    rgm_counter_rows *r = arg;
    pthread_mutex_lock(&r->mutex);
    if (code == RGM_ANOMALY_DROPPED_COUNTERS) r->noted += count;
    pthread_mutex_unlock(&r->mutex);
}

rgm_status rgm_counter_rows_init(rgm_counter_rows *rows, size_t max_rows, rgm_error *err) {
    *rows = (rgm_counter_rows){.max_rows = max_rows,
                               .sink = {.arg = rows,
                                        .counters = take_counters,
                                        .activities = take_activities,
                                        .intern = take_name,
                                        .note = take_note}};
    RGM_TRY(rgm_strings_init(&rows->names, NAMES_BYTES, err));
    pthread_mutex_init(&rows->mutex, NULL);
    return RGM_OK;
}

void rgm_counter_rows_release(rgm_counter_rows *rows) {
    pthread_mutex_destroy(&rows->mutex);
    rgm_strings_release(&rows->names);
    rgm_free(rows->rows);
    rgm_free(rows->ranges);
}
