// SPDX-License-Identifier: Apache-2.0
#include "base/fork.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t forking = PTHREAD_MUTEX_INITIALIZER; // one fork at a time; over it, of what follows it
static const rgm_fork_hooks *_Atomic watchers[RGM_FORK_PLACES];
static const rgm_fork_hooks *holding[RGM_FORK_PLACES]; // who comes while a fork is under way holds nothing

static void before(void) {
    pthread_mutex_lock(&forking);
    for (int place = 0; place < RGM_FORK_PLACES; place++) {
        holding[place] = atomic_load(&watchers[place]);
        if (holding[place]) holding[place]->before();
    }
}

static void in_parent(void) {
    for (int place = RGM_FORK_PLACES; place-- > 0;)
        if (holding[place]) holding[place]->parent();
    pthread_mutex_unlock(&forking);
}

static void in_child(void) {
    for (int place = RGM_FORK_PLACES; place-- > 0;)
        if (holding[place]) holding[place]->child();
    pthread_mutex_unlock(&forking);
}

static void begin(void) { (void)pthread_atfork(before, in_parent, in_child); }

void rgm_fork_watch(rgm_fork_place place, const rgm_fork_hooks *hooks) {
    pthread_once(&once, begin);
    atomic_store(&watchers[place], hooks);
}
