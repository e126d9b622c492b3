// SPDX-License-Identifier: Apache-2.0
#include "cuda/library/device_wait.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"

typedef struct {
    const rgm_driver *driver;
    rgm_cu_context context;
    void (*begin)(void);
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool done, left; // left: the caller has gone, and the thread cleans up
} device_wait;

static void release(device_wait *w) {
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->mutex);
    rgm_free(w);
}

static void *wait_for_device(void *arg) {
    device_wait *w = arg;
    rgm_cu_context context = NULL;
    if (w->begin) w->begin();
    if (w->driver->context_push(w->context) == RGM_CU_SUCCESS) {
        (void)w->driver->context_synchronize();
        (void)w->driver->context_pop(&context);
    }
    pthread_mutex_lock(&w->mutex);
    w->done = true;
    bool left = w->left;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->mutex);
    if (left) release(w);
    return NULL;
}

bool rgm_device_wait(const rgm_driver *driver, int64_t deadline_ns, void (*begin)(void)) {
    rgm_cu_context context = NULL;
    pthread_t thread;
    if (driver->context_current(&context) != RGM_CU_SUCCESS || !context) return true;
    device_wait *w = rgm_calloc(1, sizeof *w);
    if (!w) return false;
    *w = (device_wait){.driver = driver, .context = context, .begin = begin};
    pthread_mutex_init(&w->mutex, NULL);
    rgm_cond_init(&w->changed);
    if (rgm_thread_start(&thread, "rgm-wait", wait_for_device, w, NULL) != RGM_OK) {
        release(w);
        return false;
    }
    pthread_mutex_lock(&w->mutex);
    while (!w->done) {
        int64_t left = deadline_ns - rgm_clock_monotonic_ns();
        if (left <= 0) break;
        rgm_cond_wait(&w->changed, &w->mutex, left);
    }
    bool done = w->done;
    w->left = !done;
    pthread_mutex_unlock(&w->mutex);
    if (!done) {
        pthread_detach(thread);
        return false;
    }
    pthread_join(thread, NULL);
    release(w);
    return true;
}
