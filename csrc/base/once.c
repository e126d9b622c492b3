// SPDX-License-Identifier: Apache-2.0
#include "base/once.h"

#include <pthread.h>

#include "base/fork.h"

// One lock for all: it is held for the question alone, never while something is made.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static uint32_t process = 1; // one more in a child: who was making something in the parent is not there

static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }
static void in_child(void) {
    process++;
    (void)pthread_cond_init(&ended, NULL);
    pthread_mutex_unlock(&lock);
}
static const rgm_fork_hooks hooks = {before_fork, after_fork, in_child};

rgm_status rgm_once_make(rgm_once *once, rgm_making make, void *owner, rgm_error *err) {
    if (rgm_once_made(once)) return RGM_OK;
    rgm_fork_watch(RGM_FORK_ONCE, &hooks);
    pthread_mutex_lock(&lock);
    while (once->maker == process) pthread_cond_wait(&ended, &lock);
    bool made = rgm_once_made(once);
    if (!made) once->maker = process;
    pthread_mutex_unlock(&lock);
    if (made) return RGM_OK;
    rgm_status status = make(owner, err);
    pthread_mutex_lock(&lock);
    once->maker = 0;
    if (status == RGM_OK) atomic_store_explicit(&once->made, true, memory_order_release);
    pthread_cond_broadcast(&ended);
    pthread_mutex_unlock(&lock);
    return status;
}
