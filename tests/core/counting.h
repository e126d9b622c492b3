// SPDX-License-Identifier: Apache-2.0
// A sink that keeps what the device layer hands over, and doubles of the libraries that measure counters.
#ifndef RGM_TEST_COUNTING_H
#define RGM_TEST_COUNTING_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/counters/counter_host.h"
#include "cuda/library/driver.h"
#include "cuda/sink.h"

enum { KEPT_ROWS = 65536, KEPT_NAMES = 256, KEPT_ACTIVITIES = 1024 };

typedef struct {
    pthread_mutex_t mutex;
    rgm_counter_row rows[KEPT_ROWS];
    size_t n_rows;
    rgm_activity_row activities[KEPT_ACTIVITIES];
    size_t n_activities;
    char names[KEPT_NAMES][128]; // id - 1
    uint32_t n_names;
    int64_t notes[RGM_ANOMALY_COUNT];
} kept;

static void keep_counters(void *arg, const rgm_counter_row *rows, size_t count) {
    kept *k = arg;
    pthread_mutex_lock(&k->mutex);
    for (size_t i = 0; i < count && k->n_rows < KEPT_ROWS; i++) k->rows[k->n_rows++] = rows[i];
    pthread_mutex_unlock(&k->mutex);
}

static void keep_activities(void *arg, const rgm_activity_row *rows, size_t count) {
    kept *k = arg;
    pthread_mutex_lock(&k->mutex);
    for (size_t i = 0; i < count && k->n_activities < KEPT_ACTIVITIES; i++)
        k->activities[k->n_activities++] = rows[i];
    pthread_mutex_unlock(&k->mutex);
}

static uint32_t keep_name(void *arg, const char *text, size_t length) {
    kept *k = arg;
    pthread_mutex_lock(&k->mutex);
    (void)snprintf(k->names[k->n_names], sizeof k->names[0], "%.*s", (int)length, text);
    uint32_t id = ++k->n_names;
    pthread_mutex_unlock(&k->mutex);
    return id;
}

static void keep_note(void *arg, rgm_anomaly code, int64_t count) {
    kept *k = arg;
    pthread_mutex_lock(&k->mutex);
    k->notes[code] += count;
    pthread_mutex_unlock(&k->mutex);
}

static inline kept *kept_new(rgm_device_sink *sink) {
    kept *k = calloc(1, sizeof *k);
    if (!k) abort();
    pthread_mutex_init(&k->mutex, NULL);
    *sink = (rgm_device_sink){.arg = k,
                              .counters = keep_counters,
                              .activities = keep_activities,
                              .intern = keep_name,
                              .note = keep_note};
    return k;
}

static inline const char *kept_name(const kept *k, uint32_t id) {
    return id && id <= k->n_names ? k->names[id - 1] : "";
}

// --- doubles ----------------------------------------------------------------------------------------------

typedef struct {
    void *handle;
    void (*set)(const char *name, long long value);
    long long (*get)(const char *name);
} fake_library;

// Kept open, so that its numbers outlive what the code under test opens and closes; they start anew each
// time, because the library is loaded anew.
static inline fake_library fake_open(const char *path, const char *name) {
    char symbol[64];
    fake_library fake = {.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
    if (!fake.handle) {
        (void)fprintf(stderr, "%s\n", dlerror());
        abort();
    }
    (void)snprintf(symbol, sizeof symbol, "fake_%s_set", name);
    *(void **)&fake.set = dlsym(fake.handle, symbol);
    (void)snprintf(symbol, sizeof symbol, "fake_%s_get", name);
    *(void **)&fake.get = dlsym(fake.handle, symbol);
    return fake;
}

static inline fake_library counters_open(void) {
    static const char path[] = FAKES "/libfake_cupti_profiler.so";
    rgm_counter_library_forget();
    rgm_driver_forget();
    (void)setenv("REGIMETER_LIBCUPTI", path, 1);
    (void)setenv("REGIMETER_LIBCUDA", path, 1);
    return fake_open(path, "cupti_profiler");
}

static inline void counters_close(fake_library fake) {
    rgm_counter_library_forget();
    rgm_driver_forget();
    (void)dlclose(fake.handle);
}

#endif
