// SPDX-License-Identifier: Apache-2.0
// A system that has no room for more threads: preloaded, it lets THREADS of them start and refuses the rest.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

__attribute__((visibility("default"))) int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                                                          void *(*run)(void *), void *argument) {
    static atomic_int started;
    const char *room = getenv("THREADS");
    if (atomic_fetch_add(&started, 1) >= (room ? atoi(room) : 0)) return EAGAIN;
    create *real = (create *)dlsym(RTLD_NEXT, "pthread_create");
    return real ? real(thread, attributes, run, argument) : EAGAIN;
}
