// SPDX-License-Identifier: Apache-2.0
#include "cuda/trace/tracing.h"

#include <stdio.h>
#include <string.h>

#include "base/thread.h"
#include "cuda/library/device_wait.h"
#include "cuda/trace/cupti_records.h"
#include "cuda/trace/tracing_state.h"

rgm_trace rgm_trace_now;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const int64_t grace_ns = 250000000;
// Where the interface serves a clock of one's own without records of time zero.
enum { CLOCK_FAULTY_FROM = 24, CLOCK_FAULTY_BEFORE = 130100, PER_THREAD_BUFFERS_FROM = 21 };
// Buffers on the device are 3.2 MB each by CUPTI's default, and up to 250: 800 MB of the program's memory.
enum { DEVICE_BUFFERS_MOST = 32, DEVICE_BUFFERS_MOST_OF_GRAPHS = 16 };

const char *rgm_tracing_state_token(rgm_tracing_state state) {
    static const char *const tokens[] = {
#define TOKEN(name, token, text) token,
        RGM_TRACING_STATES(TOKEN)
#undef TOKEN
    };
    return tokens[state < RGM_TRACING_STATE_COUNT ? state : RGM_TRACING_OFF];
}

const char *rgm_tracing_state_text(rgm_tracing_state state) {
    static const char *const texts[] = {
#define TEXT(name, token, text) text,
        RGM_TRACING_STATES(TEXT)
#undef TEXT
    };
    return texts[state < RGM_TRACING_STATE_COUNT ? state : RGM_TRACING_OFF];
}

// --- fork -------------------------------------------------------------------------------------------------

static void before_fork(void) {
    pthread_mutex_lock(&rgm_trace_now.mutex);
    pthread_mutex_lock(&rgm_trace_now.clock_mutex);
    pthread_mutex_lock(&rgm_trace_now.nodes.mutex);
}

static void after_fork(void) {
    pthread_mutex_unlock(&rgm_trace_now.nodes.mutex);
    pthread_mutex_unlock(&rgm_trace_now.clock_mutex);
    pthread_mutex_unlock(&rgm_trace_now.mutex);
}

// The threads are gone, and so is the driver; buffers and maps are left as they are.
static void in_child(void) {
    rgm_trace *trace = &rgm_trace_now;
    atomic_store(&trace->active, false);
    atomic_store(&trace->open, false);
    for (size_t i = 0; i < TRACE_STRIPES; i++) atomic_store(&trace->stripes[i].inside, 0);
    if (trace->state != RGM_TRACING_OFF) {
        atomic_store(&trace->dead, true);
        trace->state = RGM_TRACING_LOST;
    }
    after_fork();
}

static void prepare(void) {
    pthread_mutex_init(&rgm_trace_now.mutex, NULL);
    pthread_mutex_init(&rgm_trace_now.clock_mutex, NULL);
    rgm_cond_init(&rgm_trace_now.changed);
    rgm_graph_nodes_init(&rgm_trace_now.nodes);
    pthread_atfork(before_fork, after_fork, in_child);
}

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

// --- start ------------------------------------------------------------------------------------------------

static rgm_status refuse_running(const rgm_trace *trace, rgm_error *err) {
    switch (trace->state) {
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

// Nothing of another tool has been changed when this finds it.
static rgm_status subscribe(rgm_trace *trace, rgm_error *err) {
    const rgm_cupti *cupti = trace->cupti;
    rgm_cupti_result result = cupti->subscribe(&trace->subscriber, rgm_trace_callback, NULL);
    if (result == RGM_CUPTI_SUCCESS) return RGM_OK;
    trace->subscriber = NULL;
    if (result == RGM_CUPTI_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED || result == RGM_CUPTI_MAX_LIMIT_REACHED) {
        trace->sink.note(trace->sink.arg, RGM_ANOMALY_TRACING_CONFLICT, 1);
        return rgm_error_set(
            err, RGM_UNAVAILABLE,
            "CUPTI serves one tool at a time, and another one has it: torch.profiler keeps it "
            "from its first use with CUDA to the end of the process, Nsight Systems and Nsight "
            "Compute as long as they run. Scopes keep their device times; for kernels trace "
            "with this profiler first, or import the other tool's trace");
    }
    return rgm_error_set(err, RGM_UNAVAILABLE, "CUPTI: cuptiSubscribe failed with %s",
                         rgm_cupti_result_text(cupti, result));
}

static void set_attribute(const rgm_trace *trace, int attribute, size_t value) {
    size_t size = sizeof value;
    (void)trace->cupti->set_attribute(attribute, &size, &value); // a bound that an old release does not know
}

// Before any kind is enabled. Whether times come of it is known when kernels have been read: CUPTI answers
// with success also where the program has used CUDA before, and the times are then zero.
static void enable_queue_times(rgm_trace *trace) {
    const rgm_cupti *cupti = trace->cupti;
    if (!trace->options.queue_times) return;
    if (!rgm_cupti_can(cupti, RGM_CUPTI_QUEUE_TIMES)) {
        (void)snprintf(trace->queue_times_reason, sizeof trace->queue_times_reason,
                       "this CUPTI has no cuptiActivityEnableLatencyTimestamps");
        return;
    }
    rgm_cupti_result result = cupti->enable_queue_times(1);
    trace->queue_times = result == RGM_CUPTI_SUCCESS;
    if (!trace->queue_times)
        (void)snprintf(trace->queue_times_reason, sizeof trace->queue_times_reason,
                       "cuptiActivityEnableLatencyTimestamps failed with %s",
                       rgm_cupti_result_text(cupti, result));
}

static void configure(rgm_trace *trace) {
    const rgm_cupti *cupti = trace->cupti;
    uint32_t version = cupti->version;
    if (rgm_cupti_can(cupti, RGM_CUPTI_ATTRIBUTES)) {
        set_attribute(trace, RGM_CUPTI_ATTRIBUTE_DEVICE_BUFFER_LIMIT,
                      trace->options.graph_nodes ? DEVICE_BUFFERS_MOST_OF_GRAPHS : DEVICE_BUFFERS_MOST);
        // A buffer for each thread would make the bound a matter of the program's threads.
        uint8_t off = 0;
        size_t size = sizeof off;
        if (version >= PER_THREAD_BUFFERS_FROM)
            (void)cupti->set_attribute(RGM_CUPTI_ATTRIBUTE_PER_THREAD_BUFFERS, &size, &off);
    }
    if (rgm_cupti_can(cupti, RGM_CUPTI_THREAD_IDS))
        (void)cupti->set_thread_ids(RGM_CUPTI_THREAD_IDS_OF_SYSTEM);
    enable_queue_times(trace);
    bool sound = version < CLOCK_FAULTY_FROM || version >= CLOCK_FAULTY_BEFORE;
    trace->own_clock = sound && rgm_cupti_can(cupti, RGM_CUPTI_CLOCK) &&
                       cupti->register_clock(rgm_trace_monotonic_clock) == RGM_CUPTI_SUCCESS;
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
        bool dump = kinds[i].kind == RGM_CUPTI_KIND_CONTEXT && rgm_cupti_can(cupti, RGM_CUPTI_DUMP);
        rgm_cupti_result result = dump ? cupti->enable_and_dump(kinds[i].kind) : cupti->enable(kinds[i].kind);
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
    for (size_t i = 0; i < RGM_ACTIVITY_KINDS; i++) {
        atomic_store(&trace->kinds_read[i].records, 0);
        atomic_store(&trace->kinds_read[i].invalid, 0);
    }
    atomic_store(&trace->reader_ending, false);
    atomic_store(&trace->detached, false);
    trace->conflict[0] = '\0';
    trace->ended = false;
    trace->kind_count = trace->anchor_count = 0;
    trace->last_anchor = (rgm_anchor){0};
    trace->flush_wanted = trace->flush_done = 0;
    rgm_graph_nodes_clear(&trace->nodes);
}

static void close_buffers(rgm_trace *trace) {
    atomic_store(&trace->active, false);
    atomic_store(&trace->open, false);
    rgm_trace_wait_outside();
    // What CUPTI has not given back it may still write to.
    if (!trace->buffers_ready || rgm_activity_buffers_out(&trace->buffers)) return;
    rgm_activity_buffers_release(&trace->buffers);
    trace->buffers_ready = false;
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
        .next = trace->cupti->next_record,
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

// Under the lock. What has been done before a failure is taken back.
static rgm_status start(rgm_trace *trace, rgm_error *err) {
    rgm_status status;
    bool reading = false;
    RGM_TRY(subscribe(trace, err));
    RGM_GOTO(open_buffers(trace, err));
    configure(trace);
    rgm_trace_find_calls(trace);
    atomic_fetch_add(&trace->epoch, 1);
    atomic_store(&trace->open, true);
    atomic_store(&trace->active, true);
    rgm_cupti_result result = trace->cupti->register_callbacks(rgm_trace_requested, rgm_trace_completed);
    if (result != RGM_CUPTI_SUCCESS) {
        status = rgm_error_set(err, RGM_UNAVAILABLE, "CUPTI: buffers are refused: %s",
                               rgm_cupti_result_text(trace->cupti, result));
        goto done;
    }
    RGM_GOTO(rgm_thread_start_deep(&trace->reader, "rgm-activity", rgm_trace_read, trace, err));
    reading = true;
    rgm_trace_anchor(trace);
    RGM_GOTO(enable_kinds(trace, err));
    RGM_GOTO(rgm_thread_start(&trace->flusher, "rgm-cupti", rgm_trace_flush, trace, err));
    trace->state = RGM_TRACING_RUNNING;
    return RGM_OK;
done:
    rgm_trace_disable(trace);
    atomic_store(&trace->active, false);
    if (reading) {
        atomic_store(&trace->reader_ending, true);
        rgm_activity_buffers_wake(&trace->buffers);
        pthread_join(trace->reader, NULL);
    }
    close_buffers(trace);
    rgm_activity_parser_release(&trace->parser);
    return status;
}

rgm_status rgm_tracing_start(rgm_device_sink sink, const rgm_tracing_options *options, rgm_error *err) {
    rgm_trace *trace = &rgm_trace_now;
    const rgm_driver *driver;
    const rgm_cupti *cupti;
    pthread_once(&once, prepare);
    RGM_TRY(rgm_driver_start(&driver, err));
    RGM_TRY(rgm_cupti_get(&cupti, driver, err));
    pthread_mutex_lock(&trace->mutex);
    rgm_status status = refuse_running(trace, err);
    if (status == RGM_OK) {
        trace->own_clock = trace->queue_times = trace->memory = false;
        trace->queue_times_reason[0] = '\0';
        trace->driver = driver;
        trace->cupti = cupti;
        trace->options = *options;
        trace->sink = sink;
        read_devices(trace);
        status = start(trace, err);
    }
    pthread_mutex_unlock(&trace->mutex);
    return status;
}

// --- flush and stop ---------------------------------------------------------------------------------------

static bool is_owner(const rgm_trace *trace, const void *owner) {
    return trace->sink.arg == owner &&
           (trace->state == RGM_TRACING_RUNNING || trace->state == RGM_TRACING_ENDING);
}

bool rgm_tracing_owned_by(const void *owner) {
    pthread_once(&once, prepare);
    pthread_mutex_lock(&rgm_trace_now.mutex);
    bool owned = is_owner(&rgm_trace_now, owner);
    pthread_mutex_unlock(&rgm_trace_now.mutex);
    return owned;
}

void rgm_tracing_flush(const void *owner, int64_t wait_ns) {
    rgm_trace *trace = &rgm_trace_now;
    pthread_once(&once, prepare);
    pthread_mutex_lock(&trace->mutex);
    if (is_owner(trace, owner) && trace->state == RGM_TRACING_RUNNING) {
        int64_t deadline = rgm_clock_monotonic_ns() + wait_ns;
        uint64_t ticket = ++trace->flush_wanted;
        trace->flush_deadline_ns = deadline;
        pthread_cond_broadcast(&trace->changed);
        // CUPTI may hold the flusher up beyond the deadline; the caller does not wait for that.
        while (trace->flush_done < ticket && trace->state == RGM_TRACING_RUNNING) {
            int64_t left = deadline + grace_ns - rgm_clock_monotonic_ns();
            if (left <= 0) break;
            rgm_cond_wait(&trace->changed, &trace->mutex, left);
        }
    }
    pthread_mutex_unlock(&trace->mutex);
}

// Under the lock: waits for the flusher to go through the end.
static bool wait_for_end(rgm_trace *trace) {
    while (!trace->ended) {
        int64_t left = trace->deadline_ns + grace_ns - rgm_clock_monotonic_ns();
        if (left <= 0) return false;
        rgm_cond_wait(&trace->changed, &trace->mutex, left);
    }
    return true;
}

void rgm_tracing_stop(const void *owner, int64_t wait_ns) {
    rgm_trace *trace = &rgm_trace_now;
    pthread_once(&once, prepare);
    int64_t deadline = rgm_clock_monotonic_ns() + wait_ns;
    pthread_mutex_lock(&trace->mutex);
    bool waits = is_owner(trace, owner) && trace->state == RGM_TRACING_RUNNING && trace->options.synchronize;
    pthread_mutex_unlock(&trace->mutex);
    // Without the lock: the flusher takes it, and so does everybody who asks how tracing is.
    if (waits) (void)rgm_device_wait(trace->driver, deadline, rgm_trace_ignore_thread);
    pthread_mutex_lock(&trace->mutex);
    bool first = is_owner(trace, owner) && trace->state == RGM_TRACING_RUNNING;
    if (!first) {
        pthread_mutex_unlock(&trace->mutex);
        return;
    }
    trace->deadline_ns = deadline;
    trace->state = RGM_TRACING_ENDING;
    pthread_cond_broadcast(&trace->changed);
    bool ended = wait_for_end(trace);
    if (!ended) trace->state = RGM_TRACING_STUCK;
    pthread_mutex_unlock(&trace->mutex);
    atomic_store(&trace->active, false);
    if (ended) {
        pthread_join(trace->flusher, NULL);
        close_buffers(trace);
        rgm_activity_parser_release(&trace->parser);
    } else {
        // Its buffers, its threads and what they use stay for the rest of the process.
        pthread_detach(trace->flusher);
        rgm_trace_wait_outside();
    }
}

void rgm_tracing_get_stats(rgm_tracing_stats *stats) {
    rgm_trace *trace = &rgm_trace_now;
    *stats = (rgm_tracing_stats){.origin = rgm_library_origin_text(RGM_LIBRARY_NONE)};
    pthread_once(&once, prepare);
    pthread_mutex_lock(&trace->mutex);
    stats->state = trace->state;
    if (trace->cupti) {
        stats->version = trace->cupti->version;
        stats->origin = rgm_library_origin_text(trace->cupti->library.origin);
        (void)snprintf(stats->path, sizeof stats->path, "%s", trace->cupti->library.path);
    }
    stats->own_clock = trace->own_clock;
    stats->graph_nodes = trace->options.graph_nodes != 0;
    stats->memory = trace->memory;
    stats->queue_times_asked = trace->queue_times;
    memcpy(stats->queue_times_reason, trace->queue_times_reason, sizeof stats->queue_times_reason);
    memcpy(stats->conflict, trace->conflict, sizeof stats->conflict);
    stats->calls = rgm_trace_calls_so_far(trace);
    stats->records = atomic_load(&trace->records);
    stats->invalid = atomic_load(&trace->invalid);
    stats->dropped = atomic_load(&trace->dropped);
    stats->unknown = atomic_load(&trace->unknown);
    stats->untimed = atomic_load(&trace->untimed);
    stats->queue_times = atomic_load(&trace->queue_times_read);
    for (size_t i = 0; i < RGM_ACTIVITY_KINDS; i++)
        stats->kinds[i] = (rgm_activity_kind_counts){atomic_load(&trace->kinds_read[i].records),
                                                     atomic_load(&trace->kinds_read[i].invalid)};
    if (trace->buffers_ready) {
        stats->buffers = atomic_load(&trace->buffers.full_count) + atomic_load(&trace->buffers.scratch_count);
        stats->buffers_out = rgm_activity_buffers_out(&trace->buffers);
        stats->declined = atomic_load(&trace->buffers.declined);
        stats->foreign = atomic_load(&trace->buffers.foreign);
    }
    stats->service_cpu_ns = atomic_load(&trace->reader_cpu_ns) + atomic_load(&trace->flusher_cpu_ns);
    pthread_mutex_unlock(&trace->mutex);
}
