// SPDX-License-Identifier: Apache-2.0
// Tracing that begins by itself: it waits for the program to initialise the CUDA driver, which it never does
// itself, and then starts. A program that never uses CUDA gets no thread for it and keeps the right to fork
// processes that do.
//
// Who waits lends looks of threads that it has anyway; one look is a question to a list of loaded objects, or
// to the driver (driver.h). The start loads CUPTI and may take longer than such threads can be spared, so it
// has a thread of its own, once. It makes room for others: for a profiler that asks for kernels by name, and
// for another tool of the program.
//
// Threads: any; new and free by one. Fork: while tracing starts one waits, for some seconds at most, because
// a child inherits a loader at work; in the child of a process that had not used the driver the wait begins
// anew.
//
// A CUPTI that hangs in the start keeps the thread; nothing else waits for it longer than it is told.
#ifndef RGM_CUDA_TRACING_WATCH_H
#define RGM_CUDA_TRACING_WATCH_H

#include "cuda/trace/tracing.h"

// X(NAME, token)
#define RGM_WATCH_PHASES(X)                                                                                  \
    X(WAITING, "waiting")   /* the program has not initialised the driver */                                 \
    X(STARTING, "starting") /* it has, and tracing starts */                                                 \
    X(STARTED, "started")   /* to the end */                                                                 \
    X(REFUSED, "refused")   /* `reason` */                                                                   \
    X(YIELDED, "yielded")   /* to another tool: `reason` */                                                  \
    X(UNUSED, "unused")     /* the end came, and the driver had not been initialised */                      \
    X(MISSED, "missed")     /* the end came before tracing could start */

#define RGM_WATCH_ENUM(name, token) RGM_WATCH_##name,
typedef enum { RGM_WATCH_PHASES(RGM_WATCH_ENUM) RGM_WATCH_PHASE_COUNT } rgm_watch_phase;

typedef struct rgm_tracing_watch rgm_tracing_watch;

// Times are on CLOCK_MONOTONIC.
typedef struct {
    const char *phase;
    char reason[512];
    int64_t late_ns;     // tracing began at most so long after the program had initialised the driver; -1
    int64_t started_ns;  // -1 before
    int64_t yielded_ns;  // -1 before
    bool context_before; // a device had its context when tracing had started, so work may have been missed
    int64_t cpu_ns;      // of the start
} rgm_tracing_watch_state;

// The wait begins; where the driver is in use already, tracing has started when it returns. The sink is valid
// until the watch has ended.
rgm_status rgm_tracing_watch_new(rgm_tracing_watch **watch, rgm_device_sink sink,
                                 const rgm_tracing_options *options, rgm_error *err) RGM_NODISCARD;
// NULL is a valid argument of these two. What has ended may be asked and freed.
// Tracing that has begun is left to rgm_tracing_stop; a start that takes longer than the wait is given up.
void rgm_tracing_watch_end(rgm_tracing_watch *watch, int64_t wait_ns);
void rgm_tracing_watch_free(rgm_tracing_watch *watch);
// A look. It starts what is to be started and does not wait for it. Who may wait also ends tracing that
// another tool has taken over.
void rgm_tracing_watch_look(rgm_tracing_watch *watch, bool may_wait);
// Where the driver is in use, has tracing started when it returns (but for a CUPTI that takes seconds): for
// who knows that it was just initialised.
void rgm_tracing_watch_begin(rgm_tracing_watch *watch);
// Ends tracing that has begun by itself, with this reason, or the waiting for it.
void rgm_tracing_watch_yield(rgm_tracing_watch *watch, const char *reason, int64_t wait_ns);
// The same for whoever traces by itself in this process, for a profiler that asks for kernels.
void rgm_tracing_watch_make_room(int64_t wait_ns);
void rgm_tracing_watch_get_state(rgm_tracing_watch *watch, rgm_tracing_watch_state *state);

#endif
