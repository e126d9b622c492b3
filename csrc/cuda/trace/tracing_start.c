// SPDX-License-Identifier: Apache-2.0
// The start of tracing: what CUPTI is asked for, in which order, and what is taken back where it refuses.
// CUPTI may keep it waiting for ever, so it holds no lock meanwhile, and a stop can give it up.
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "cuda/trace/cupti_records.h"
#include "cuda/trace/tracing_state.h"

enum { PER_THREAD_BUFFERS_FROM = 21 }; // version of the interface
enum { GRAPH_NODES_AS_SAFE = 2 };
// Buffers on the device are 3.2 MB each by CUPTI's default, and up to 250: 800 MB of the program's memory.
enum { DEVICE_BUFFERS_MOST = 32, DEVICE_BUFFERS_MOST_OF_GRAPHS = 16 };

// --- what the reader writes to ----------------------------------------------------------------------------

// The session may end while the reader is at work; then its rows go nowhere.
static void guarded_activities(void *arg, const rgm_activity_row *rows, size_t count) {
    const rgm_trace *trace = arg;
    if (!rgm_trace_hold()) return;
    trace->sink.activities(trace->sink.arg, rows, count);
    rgm_trace_release();
}

static void guarded_memory(void *arg, const rgm_device_memory_row *rows, size_t count) {
    const rgm_trace *trace = arg;
    if (!rgm_trace_hold()) return;
    trace->sink.memory(trace->sink.arg, rows, count);
    rgm_trace_release();
}

static void guarded_queue_times(void *arg, const rgm_queue_time_row *rows, size_t count) {
    const rgm_trace *trace = arg;
    if (!rgm_trace_hold()) return;
    trace->sink.queue_times(trace->sink.arg, rows, count);
    rgm_trace_release();
}

static uint32_t guarded_intern(void *arg, const char *text, size_t length) {
    const rgm_trace *trace = arg;
    if (!rgm_trace_hold()) return 0;
    uint32_t id = trace->sink.intern(trace->sink.arg, text, length);
    rgm_trace_release();
    return id;
}

static void guarded_note(void *arg, rgm_anomaly code, int64_t count) {
    const rgm_trace *trace = arg;
    if (!rgm_trace_hold()) return;
    trace->sink.note(trace->sink.arg, code, count);
    rgm_trace_release();
}

// --- what CUPTI is asked ----------------------------------------------------------------------------------

static rgm_status refuse_running(const rgm_trace *trace, rgm_error *err) {
    switch (trace->state) {
    case RGM_TRACING_STARTING:
    case RGM_TRACING_RUNNING:
    case RGM_TRACING_ENDING:
        return rgm_error_set(err, RGM_UNAVAILABLE,
                             "another profiler of this process traces kernels; close it first");
    case RGM_TRACING_STUCK:
    case RGM_TRACING_ABANDONED:
    case RGM_TRACING_LOST:
        return rgm_error_set(err, RGM_UNAVAILABLE, "%s", rgm_tracing_state_text(trace->state));
    default: return RGM_OK;
    }
}

// A stop that has waited long enough ends a start that CUPTI holds up; the sink is not used from then on.
static bool is_starting(rgm_trace *trace) {
    pthread_mutex_lock(&trace->mutex);
    bool starting = trace->state == RGM_TRACING_STARTING;
    pthread_mutex_unlock(&trace->mutex);
    return starting;
}

static void note_start(rgm_trace *trace, rgm_anomaly code) {
    pthread_mutex_lock(&trace->mutex);
    if (trace->state == RGM_TRACING_STARTING) trace->sink.note(trace->sink.arg, code, 1);
    pthread_mutex_unlock(&trace->mutex);
}

// Nothing of another tool has been changed when this finds it.
static rgm_status subscribe(rgm_trace *trace, rgm_error *err) {
    const char *other = trace->subscription.other;
    rgm_cupti_result result =
        rgm_subscription_open(&trace->subscription, trace->cupti, trace->options.several, rgm_trace_callback);
    if (result == RGM_CUPTI_SUCCESS) return RGM_OK;
    if (rgm_subscription_is_taken(result)) {
        note_start(trace, RGM_ANOMALY_TRACING_CONFLICT);
        return rgm_error_set(
            err, RGM_UNAVAILABLE,
            "CUPTI serves one tool at a time, and another one has it%s%s%s: torch.profiler keeps it "
            "from its first use with CUDA to the end of the process, Nsight Systems and Nsight "
            "Compute as long as they run. Scopes keep their device times; for kernels trace "
            "with this profiler first, or import the other tool's trace",
            *other ? " (\"" : "", other, *other ? "\")" : "");
    }
    return rgm_error_set(err, RGM_UNAVAILABLE, "CUPTI: cuptiSubscribe failed with %s",
                         rgm_cupti_result_text(trace->cupti, result));
}

// Before any kind is enabled. Whether times come of it is known when kernels have been read: CUPTI answers
// with success also where the program has used CUDA before, and the times are then zero.
static void enable_queue_times(rgm_trace *trace) {
    if (!trace->options.queue_times) return;
    rgm_cupti_result result = rgm_subscription_set_queue_times(&trace->subscription, 1);
    trace->queue_times = result == RGM_CUPTI_SUCCESS;
    if (trace->queue_times) return;
    if (!rgm_cupti_can(trace->cupti, RGM_CUPTI_QUEUE_TIMES))
        (void)snprintf(trace->queue_times_reason, sizeof trace->queue_times_reason,
                       "this CUPTI has no cuptiActivityEnableLatencyTimestamps");
    else
        (void)snprintf(trace->queue_times_reason, sizeof trace->queue_times_reason,
                       "cuptiActivityEnableLatencyTimestamps failed with %s",
                       rgm_cupti_result_text(trace->cupti, result));
}

// A program whose first call of CUDA was that short ago has instantiated no graph: to make a context alone
// takes as long.
static const int64_t fresh_ns = 100000000;

// Whether there may be graphs that CUPTI has not seen made. To launch one while launches of whole graphs are
// recorded ends the program within CUPTI (13.0.1, on an H200); node by node it does not.
static bool graphs_may_be_older(int64_t unused_ns) {
    const rgm_driver *driver;
    uint64_t seen = 0;
    return rgm_driver_used(&driver, &seen) && (!unused_ns || rgm_clock_monotonic_ns() - unused_ns > fresh_ns);
}

// Each is a wish: an old release does not know all of them.
static void configure(rgm_trace *trace) {
    const rgm_subscription *s = &trace->subscription;
    trace->options.graph_nodes = rgm_subscription_choose_graph_nodes(s, trace->options.graph_nodes != 0);
    size_t most = trace->options.graph_nodes ? DEVICE_BUFFERS_MOST_OF_GRAPHS : DEVICE_BUFFERS_MOST;
    (void)rgm_subscription_set(s, RGM_CUPTI_ATTRIBUTE_DEVICE_BUFFER_LIMIT, sizeof most, &most);
    // A buffer for each thread would make the bound a matter of the program's threads.
    uint8_t off = 0;
    if (trace->cupti->version >= PER_THREAD_BUFFERS_FROM)
        (void)rgm_subscription_set(s, RGM_CUPTI_ATTRIBUTE_PER_THREAD_BUFFERS, sizeof off, &off);
    (void)rgm_subscription_set_thread_ids(s, RGM_CUPTI_THREAD_IDS_OF_SYSTEM);
    enable_queue_times(trace);
    trace->own_clock = rgm_subscription_set_clock(s, rgm_trace_monotonic_clock);
}

static rgm_status enable_kinds(rgm_trace *trace, rgm_error *err) {
    const rgm_cupti *cupti = trace->cupti;
    const struct {
        int kind;
        bool wanted, needed;
    } kinds[] = {
        {RGM_CUPTI_KIND_CONTEXT, true, false},
        {RGM_CUPTI_KIND_CONCURRENT_KERNEL, true, true},
        {RGM_CUPTI_KIND_MEMCPY, true, true},
        {RGM_CUPTI_KIND_MEMCPY2, true, false},
        {RGM_CUPTI_KIND_MEMSET, true, true},
        {RGM_CUPTI_KIND_OVERHEAD, true, false},
        {RGM_CUPTI_KIND_SYNCHRONIZATION, true, false},
        {RGM_CUPTI_KIND_MARKER, true, false},
        {RGM_CUPTI_KIND_EXTERNAL_CORRELATION, true, false},
        {RGM_CUPTI_KIND_GRAPH_TRACE, !trace->options.graph_nodes, false},
        {RGM_CUPTI_KIND_CUDA_EVENT, trace->options.sync_events != 0, false},
        {RGM_CUPTI_KIND_MEMORY2, trace->options.memory != 0, false},
        {RGM_CUPTI_KIND_MEMORY_POOL, trace->options.memory != 0, false},
    };
    _Static_assert(sizeof kinds / sizeof *kinds <= TRACE_KINDS, "every kind has a place");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!kinds[i].wanted) continue;
        rgm_cupti_result result = kinds[i].kind == RGM_CUPTI_KIND_CONTEXT
                                      ? rgm_subscription_enable_and_dump(&trace->subscription, kinds[i].kind)
                                      : rgm_subscription_enable(&trace->subscription, kinds[i].kind);
        if (result == RGM_CUPTI_SUCCESS) {
            trace->kinds[trace->kind_count++] = kinds[i].kind;
            trace->memory = trace->memory || kinds[i].kind == RGM_CUPTI_KIND_MEMORY2;
        }
        if (result != RGM_CUPTI_SUCCESS && kinds[i].needed)
            return rgm_error_set(err, RGM_UNAVAILABLE, "CUPTI: records of kind %d cannot be had: %s%s",
                                 kinds[i].kind, rgm_cupti_result_text(cupti, result),
                                 result == RGM_CUPTI_INSUFFICIENT_PRIVILEGES
                                     ? "; the system's administrator can allow it (NVreg_"
                                       "RestrictProfilingToAdminUsers=0)"
                                     : "");
    }
    rgm_cupti_result result = rgm_trace_enable_calls(trace);
    if (result == RGM_CUPTI_SUCCESS) return RGM_OK;
    return rgm_error_set(err, RGM_UNAVAILABLE, "CUPTI: calls cannot be followed: %s",
                         rgm_cupti_result_text(cupti, result));
}

static void read_devices(rgm_trace *trace) {
    int count = 0;
    rgm_cu_device device;
    trace->devices = 0;
    if (trace->driver->device_count(&count) != RGM_CU_SUCCESS) return;
    for (int i = 0; i < count && i < TRACE_DEVICES; i++) {
        trace->limits[i] = (rgm_device_limits){0};
        if (trace->driver->device_get(&device, i) == RGM_CU_SUCCESS)
            trace->limits[i] = rgm_device_limits_read(trace->driver, device);
        trace->devices++;
    }
}

static void reset(rgm_trace *trace) {
    for (size_t i = 0; i < TRACE_STRIPES; i++) {
        atomic_store(&trace->stripes[i].calls, 0);
        atomic_store(&trace->stripes[i].highest, 0);
    }
    atomic_store(&trace->read, atomic_load(&trace->buffers.completed));
    atomic_store(&trace->highest_read, 0);
    atomic_store(&trace->records, 0);
    atomic_store(&trace->invalid, 0);
    atomic_store(&trace->dropped, 0);
    atomic_store(&trace->unknown, 0);
    atomic_store(&trace->untimed, 0);
    atomic_store(&trace->work_read, 0);
    atomic_store(&trace->queue_times_read, 0);
    atomic_store(&trace->green_contexts, 0);
    atomic_store(&trace->green_least, 0);
    for (size_t i = 0; i < RGM_ACTIVITY_KINDS; i++) {
        atomic_store(&trace->kinds_read[i].records, 0);
        atomic_store(&trace->kinds_read[i].invalid, 0);
    }
    atomic_store(&trace->reader_ending, false);
    trace->conflict[0] = '\0';
    trace->ended = false;
    trace->kind_count = trace->anchor_count = 0;
    trace->last_anchor = (rgm_anchor){0};
    trace->flush_wanted = trace->flush_done = 0;
    rgm_graph_nodes_clear(&trace->nodes);
}

void rgm_trace_close_buffers(rgm_trace *trace) {
    atomic_store(&trace->active, false);
    atomic_store(&trace->open, false);
    rgm_trace_wait_outside();
    // What CUPTI has not given back it may still write to.
    if (!trace->buffers_ready || rgm_activity_buffers_out(&trace->buffers)) return;
    rgm_activity_buffers_release(&trace->buffers);
    trace->buffers_ready = false;
}

static rgm_cupti_result next_record(uint8_t *buffer, size_t valid, void **record) {
    return rgm_subscription_next(&rgm_trace_now.subscription, buffer, valid, record);
}

static rgm_status open_buffers(rgm_trace *trace, rgm_error *err) {
    bool may_decline = trace->cupti->version >= RGM_CUPTI_MAY_DECLINE_BUFFERS;
    size_t bytes = (size_t)trace->options.buffer_bytes, most = (size_t)trace->options.buffers;
    // Buffers that an earlier tracing had to leave with CUPTI may still come back.
    if (trace->buffers_ready)
        rgm_activity_buffers_renew(&trace->buffers, bytes, most, may_decline);
    else
        RGM_TRY(rgm_activity_buffers_init(&trace->buffers, bytes, most, may_decline, err));
    trace->buffers_ready = true;
    trace->guarded = (rgm_device_sink){.arg = trace,
                                       .activities = guarded_activities,
                                       .memory = guarded_memory,
                                       .queue_times = guarded_queue_times,
                                       .intern = guarded_intern,
                                       .note = guarded_note};
    const rgm_activity_reading how = {
        .version = trace->cupti->version,
        .next = next_record,
        .sink = trace->guarded,
        .limits = trace->limits,
        .devices = trace->devices,
        .nodes = trace->options.graph_nodes ? &trace->nodes : NULL,
        .queue_times = trace->options.queue_times != 0,
    };
    rgm_activity_parser_init(&trace->parser, &how);
    reset(trace);
    return RGM_OK;
}

// From here on callbacks are heard. False where the start has been given up.
static bool open_to_callbacks(rgm_trace *trace) {
    pthread_mutex_lock(&trace->mutex);
    bool starting = trace->state == RGM_TRACING_STARTING;
    if (starting) {
        atomic_fetch_add(&trace->epoch, 1);
        atomic_store(&trace->open, true);
        atomic_store(&trace->active, true);
    }
    pthread_mutex_unlock(&trace->mutex);
    return starting;
}

static rgm_status given_up(rgm_error *err) {
    return rgm_error_set(err, RGM_UNAVAILABLE, "%s", rgm_tracing_state_text(RGM_TRACING_STUCK));
}

static rgm_status run_flusher(rgm_trace *trace, rgm_error *err) {
    pthread_mutex_lock(&trace->mutex);
    rgm_status status = trace->state == RGM_TRACING_STARTING
                            ? rgm_thread_start(&trace->flusher, "rgm-cupti", rgm_trace_flush, trace, err)
                            : given_up(err);
    if (status == RGM_OK) trace->state = RGM_TRACING_RUNNING;
    pthread_cond_broadcast(&trace->changed);
    pthread_mutex_unlock(&trace->mutex);
    return status;
}

// Without the lock, because CUPTI may keep it waiting. What has been done before a failure is taken back.
static rgm_status start(rgm_trace *trace, rgm_error *err) {
    rgm_status status;
    bool reading = false;
    RGM_TRY(subscribe(trace, err));
    configure(trace);
    RGM_GOTO(is_starting(trace) ? open_buffers(trace, err) : given_up(err));
    rgm_trace_find_calls(trace);
    RGM_GOTO(open_to_callbacks(trace) ? RGM_OK : given_up(err));
    rgm_cupti_result result = rgm_subscription_use_buffers(&trace->subscription);
    if (result != RGM_CUPTI_SUCCESS) {
        status = rgm_error_set(err, RGM_UNAVAILABLE, "CUPTI: buffers are refused: %s",
                               rgm_cupti_result_text(trace->cupti, result));
        goto done;
    }
    RGM_GOTO(rgm_thread_start_deep(&trace->reader, "rgm-activity", rgm_trace_read, trace, err));
    reading = true;
    rgm_trace_anchor(trace);
    RGM_GOTO(enable_kinds(trace, err));
    RGM_GOTO(run_flusher(trace, err));
    return RGM_OK;
done:
    rgm_trace_disable(trace);
    atomic_store(&trace->active, false);
    if (reading) {
        atomic_store(&trace->reader_ending, true);
        rgm_activity_buffers_wake(&trace->buffers);
        pthread_join(trace->reader, NULL);
    }
    rgm_trace_close_buffers(trace);
    rgm_activity_parser_release(&trace->parser);
    return status;
}

rgm_status rgm_tracing_start(rgm_device_sink sink, const rgm_tracing_options *options, rgm_error *err) {
    return rgm_tracing_start_unless(NULL, 0, sink, options, err);
}

rgm_status rgm_tracing_start_unless(const _Atomic(bool) *giving_up, int64_t unused_ns, rgm_device_sink sink,
                                    const rgm_tracing_options *options, rgm_error *err) {
    rgm_trace *trace = &rgm_trace_now;
    const rgm_driver *driver;
    const rgm_cupti *cupti;
    rgm_trace_prepare();
    bool older = graphs_may_be_older(unused_ns); // before this initialises the driver
    RGM_TRY(rgm_driver_start(&driver, err));
    RGM_TRY(rgm_cupti_get(&cupti, driver, err));
    pthread_mutex_lock(&trace->mutex);
    rgm_tracing_state before = trace->state;
    rgm_status status = giving_up && atomic_load(giving_up) ? given_up(err) : refuse_running(trace, err);
    if (status == RGM_OK) {
        trace->own_clock = trace->queue_times = trace->memory = false;
        trace->queue_times_reason[0] = '\0';
        trace->driver = driver;
        trace->cupti = cupti;
        trace->options = *options;
        if (options->graph_nodes == GRAPH_NODES_AS_SAFE) trace->options.graph_nodes = older;
        trace->sink = sink;
        trace->state = RGM_TRACING_STARTING;
        trace->in_start = true;
        atomic_store(&trace->detached, false);
        atomic_store(&trace->taken_over, false);
    }
    pthread_mutex_unlock(&trace->mutex);
    RGM_TRY(status);
    read_devices(trace);
    status = start(trace, err);
    pthread_mutex_lock(&trace->mutex);
    trace->in_start = false;
    if (trace->state == RGM_TRACING_STARTING) trace->state = before;
    pthread_cond_broadcast(&trace->changed);
    pthread_mutex_unlock(&trace->mutex);
    return status;
}
