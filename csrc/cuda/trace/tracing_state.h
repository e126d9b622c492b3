// SPDX-License-Identifier: Apache-2.0
// What the files of tracing share. Included by cuda/trace/tracing*.c only.
//
// CUPTI's callbacks carry no argument, so there is one tracing in a process, in a variable.
//
// What may run on any thread at any time (callbacks, the reader) enters by rgm_trace_hold before it touches
// the sink or the buffers, and stop waits until nobody is inside. The counters of who is inside are spread,
// so that threads do not share a cache line for it.
#ifndef RGM_CUDA_TRACING_STATE_H
#define RGM_CUDA_TRACING_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "cuda/trace/activity_buffers.h"
#include "cuda/trace/activity_parse.h"
#include "cuda/trace/subscription.h"
#include "cuda/trace/tracing.h"

enum { TRACE_STRIPES = 64, TRACE_IDS = 2048, TRACE_DEVICES = 64, TRACE_ANCHORS = 64, TRACE_KINDS = 14 };

typedef struct {
    _Alignas(64) _Atomic(int64_t) inside;
    _Atomic(uint64_t) calls;   // that launched work
    _Atomic(uint32_t) highest; // correlation of those
} rgm_trace_stripe;

// What a callback id stands for.
typedef enum {
    TRACE_CALL_NONE,
    TRACE_CALL_WORK,
    TRACE_CALL_SYNC,
    TRACE_CALL_NODE,
    TRACE_CALL_MEMORY
} rgm_trace_call;

typedef struct {
    const rgm_cupti *cupti;
    const rgm_driver *driver;
    rgm_tracing_options options;
    rgm_device_sink sink;
    rgm_subscription subscription;
    _Atomic(uint64_t) epoch;  // of this tracing, from 1
    _Atomic(bool) active;     // the sink may be used
    _Atomic(bool) open;       // the buffers may be used
    _Atomic(bool) dead;       // a child of a fork
    _Atomic(bool) taken_over; // the records are another tool's, which may not be disturbed at the end
    _Atomic(bool) detach_wanted, detached;
    rgm_trace_stripe stripes[TRACE_STRIPES];
    uint32_t names[2][TRACE_IDS]; // of the driver's and the runtime's calls: string id + 1
    uint8_t calls[2][TRACE_IDS];  // rgm_trace_call
    int kinds[TRACE_KINDS];       // enabled
    size_t kind_count;
    bool own_clock, queue_times, memory;
    char queue_times_reason[160];
    rgm_device_limits limits[TRACE_DEVICES];
    size_t devices;

    rgm_activity_buffers buffers;
    bool buffers_ready;
    rgm_graph_nodes nodes;
    // The reader's own.
    rgm_activity_parser parser;
    rgm_device_sink guarded;
    pthread_t reader;
    _Atomic(bool) reader_ending;
    _Atomic(uint64_t) read; // buffers
    _Atomic(uint32_t) highest_read;
    _Atomic(uint64_t) records, invalid, dropped, unknown, untimed;
    _Atomic(uint64_t) queue_times_read, green_contexts;
    _Atomic(uint32_t) green_least;
    _Atomic(uint64_t) work_read; // kernels, copies, sets and graphs among the records
    struct {
        _Atomic(uint64_t) records, invalid;
    } kinds_read[RGM_ACTIVITY_KINDS];
    unsigned kept; // buffers whose bytes were kept; of the process
    _Atomic(int64_t) reader_cpu_ns, flusher_cpu_ns;

    // Of what follows, and of what is above while a start is under way: never held in a call of CUPTI.
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    rgm_tracing_state state;
    bool in_start; // also of one that was given up
    bool ended;    // the flusher has gone through the end
    int64_t deadline_ns;
    uint64_t flush_wanted, flush_done;
    int64_t flush_deadline_ns;
    pthread_t flusher;
    char conflict[256];

    pthread_mutex_t context_mutex; // of what follows; never held in a call of the listener
    pthread_cond_t context_told;
    rgm_context_listener context_listener;
    void *context_arg;
    int context_telling; // threads that are in a call of it

    pthread_mutex_t clock_mutex;       // of what follows
    rgm_anchor anchors[TRACE_ANCHORS]; // on their way to the reader
    size_t anchor_count;
    rgm_anchor last_anchor;
} rgm_trace;

extern rgm_trace rgm_trace_now;

// tracing.c
void rgm_trace_prepare(void); // before the first use of any lock

// tracing_contexts.c
void rgm_trace_forget_contexts(rgm_trace *trace); // at first, and in a child of a fork

// tracing_start.c
void rgm_trace_close_buffers(rgm_trace *trace);

// tracing_calls.c
void rgm_trace_ignore_thread(void); // calls of the current thread are not the program's
bool rgm_trace_hold(void);          // true: the sink may be used until release
void rgm_trace_release(void);
void rgm_trace_wait_outside(void);
void rgm_trace_find_calls(rgm_trace *trace);
rgm_cupti_result rgm_trace_enable_calls(rgm_trace *trace);
void rgm_trace_callback(void *user, int domain, uint32_t id, const void *data);
void rgm_trace_requested(uint8_t **buffer, size_t *size, size_t *most_records);
void rgm_trace_completed(rgm_cu_context context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);
uint64_t rgm_trace_calls_so_far(const rgm_trace *trace);
uint32_t rgm_trace_highest_call(const rgm_trace *trace);

// tracing_threads.c
uint64_t rgm_trace_monotonic_clock(void);
void rgm_trace_anchor(rgm_trace *trace);
void *rgm_trace_read(void *arg);
void *rgm_trace_flush(void *arg);
// Takes back what start has done so far with CUPTI.
void rgm_trace_disable(rgm_trace *trace);

#endif
