// SPDX-License-Identifier: Apache-2.0
// Service threads of the profiler: all signals blocked, so that the program's handlers never run on them,
// a small stack, a name that tools show; and a condition variable on CLOCK_MONOTONIC.
#ifndef RGM_BASE_THREAD_H
#define RGM_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

rgm_status rgm_thread_start(pthread_t *thread, const char *name, void *(*body)(void *), void *arg,
                            rgm_error *err) RGM_NODISCARD;
// The same with a stack for code that is not ours and recurses (a demangler).
rgm_status rgm_thread_start_deep(pthread_t *thread, const char *name, void *(*body)(void *), void *arg,
                                 rgm_error *err) RGM_NODISCARD;
#ifdef RGM_FAULTS
// Refuses that many of the threads asked for from now on, as a limit of processes does; returns how many were
// still to be refused.
int rgm_thread_refuse(int count);
#endif
void rgm_cond_init(pthread_cond_t *cond);
// Waits until signalled or until the time has passed; false on time-out.
bool rgm_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t timeout_ns);
int64_t rgm_thread_native_id(void);
// Processor time of the calling thread.
int64_t rgm_thread_cpu_ns(void);

#endif
