// SPDX-License-Identifier: Apache-2.0
#include "base/thread.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { STACK_BYTES = 256 * 1024, DEEP_STACK_BYTES = 4 * 1024 * 1024 };

#ifdef RGM_FAULTS
static atomic_int refusals;

int rgm_thread_refuse(int count) { return atomic_exchange(&refusals, count); }

static bool refused(void) {
    int left = atomic_load(&refusals);
    while (left > 0)
        if (atomic_compare_exchange_weak(&refusals, &left, left - 1)) return true;
    return false;
}
#else
static bool refused(void) { return false; }
#endif

static rgm_status start(pthread_t *thread, const char *name, void *(*body)(void *), void *arg, size_t stack,
                        rgm_error *err) {
    sigset_t all, before;
    pthread_attr_t attributes;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = refused() ? EAGAIN : pthread_create(thread, &attributes, body, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (failed) return rgm_error_os(err, RGM_UNAVAILABLE, failed, "cannot start the thread %s", name);
    pthread_setname_np(*thread, name);
    return RGM_OK;
}

rgm_status rgm_thread_start(pthread_t *thread, const char *name, void *(*body)(void *), void *arg,
                            rgm_error *err) {
    return start(thread, name, body, arg, STACK_BYTES, err);
}

rgm_status rgm_thread_start_deep(pthread_t *thread, const char *name, void *(*body)(void *), void *arg,
                                 rgm_error *err) {
    return start(thread, name, body, arg, DEEP_STACK_BYTES, err);
}

void rgm_cond_init(pthread_cond_t *cond) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

bool rgm_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t timeout_ns) {
    struct timespec until;
    const int64_t year_ns = INT64_C(31536000) * 1000000000;
    clock_gettime(CLOCK_MONOTONIC, &until);
    if (timeout_ns < 0) timeout_ns = 0;
    if (timeout_ns > year_ns) timeout_ns = year_ns;
    int64_t ns = until.tv_nsec + timeout_ns;
    until.tv_sec += ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    return pthread_cond_timedwait(cond, mutex, &until) != ETIMEDOUT;
}

int64_t rgm_thread_native_id(void) { return (int64_t)syscall(SYS_gettid); }

int64_t rgm_thread_cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
