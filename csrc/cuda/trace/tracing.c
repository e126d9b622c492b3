// SPDX-License-Identifier: Apache-2.0
#include "cuda/trace/tracing.h"

#include <stdio.h>
#include <string.h>

#include "base/fork.h"
#include "base/thread.h"
#include "base/tokens.h"
#include "cuda/library/device_wait.h"
#include "cuda/trace/tracing_state.h"

rgm_trace rgm_trace_now;

static pthread_once_t once = PTHREAD_ONCE_INIT;
// Of a busy machine, on which threads that have little left to do come late: taken for stuck CUPTI is lost
// for good.
static const int64_t grace_ns = 1000000000;

const char *rgm_tracing_state_token(rgm_tracing_state state) {
    static const char *const tokens[] = {RGM_TRACING_STATES(RGM_TOKEN)};
    return tokens[state < RGM_TRACING_STATE_COUNT ? state : RGM_TRACING_OFF];
}

const char *rgm_tracing_state_text(rgm_tracing_state state) {
    static const char *const texts[] = {RGM_TRACING_STATES(RGM_TEXT)};
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
    rgm_trace_forget_contexts(trace); // a thread of the parent may have been told of one
    if (trace->state != RGM_TRACING_OFF) {
        atomic_store(&trace->dead, true);
        trace->state = RGM_TRACING_LOST;
    }
    after_fork();
}

static const rgm_fork_hooks hooks = {before_fork, after_fork, in_child};

static void prepare_once(void) {
    pthread_mutex_init(&rgm_trace_now.mutex, NULL);
    pthread_mutex_init(&rgm_trace_now.clock_mutex, NULL);
    rgm_trace_forget_contexts(&rgm_trace_now);
    rgm_cond_init(&rgm_trace_now.changed);
    rgm_graph_nodes_init(&rgm_trace_now.nodes);
    rgm_fork_watch(RGM_FORK_TRACING, &hooks);
}

void rgm_trace_prepare(void) { (void)pthread_once(&once, prepare_once); }

// --- flush and stop ---------------------------------------------------------------------------------------

static bool is_owner(const rgm_trace *trace, const void *owner) {
    return trace->sink.arg == owner &&
           (trace->state == RGM_TRACING_STARTING || trace->state == RGM_TRACING_RUNNING ||
            trace->state == RGM_TRACING_ENDING);
}

bool rgm_tracing_owned_by(const void *owner) {
    rgm_trace_prepare();
    pthread_mutex_lock(&rgm_trace_now.mutex);
    bool owned = is_owner(&rgm_trace_now, owner);
    pthread_mutex_unlock(&rgm_trace_now.mutex);
    return owned;
}

bool rgm_tracing_is_taken_over(void) {
    return atomic_load_explicit(&rgm_trace_now.taken_over, memory_order_relaxed);
}

void rgm_tracing_flush(const void *owner, int64_t wait_ns) {
    rgm_trace *trace = &rgm_trace_now;
    rgm_trace_prepare();
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

// Under the lock: waits for a change, but not beyond the deadline and a grace.
static bool wait_until(rgm_trace *trace, int64_t deadline_ns) {
    int64_t left = deadline_ns + grace_ns - rgm_clock_monotonic_ns();
    if (left > 0) rgm_cond_wait(&trace->changed, &trace->mutex, left);
    return left > 0;
}

// Under the lock: waits for the flusher to go through the end.
static bool wait_for_end(rgm_trace *trace) {
    while (!trace->ended)
        if (!wait_until(trace, trace->deadline_ns)) return false;
    return true;
}

// Under the lock: waits for the owner's start, and gives it up at the deadline.
static void wait_for_start(rgm_trace *trace, const void *owner, int64_t deadline_ns) {
    while (is_owner(trace, owner) && trace->state == RGM_TRACING_STARTING) {
        if (wait_until(trace, deadline_ns)) continue;
        trace->state = RGM_TRACING_STUCK;
        atomic_store(&trace->active, false);
    }
}

void rgm_tracing_stop(const void *owner, int64_t wait_ns) {
    rgm_trace *trace = &rgm_trace_now;
    rgm_trace_prepare();
    int64_t deadline = rgm_clock_monotonic_ns() + wait_ns;
    pthread_mutex_lock(&trace->mutex);
    wait_for_start(trace, owner, deadline);
    bool waits = is_owner(trace, owner) && trace->state == RGM_TRACING_RUNNING && trace->options.synchronize;
    pthread_mutex_unlock(&trace->mutex);
    // Without the lock: the flusher takes it, and so does everybody who asks how tracing is.
    if (waits) (void)rgm_device_wait(trace->driver, deadline, rgm_trace_ignore_thread);
    pthread_mutex_lock(&trace->mutex);
    bool first = is_owner(trace, owner) && trace->state == RGM_TRACING_RUNNING;
    if (!first) {
        pthread_mutex_unlock(&trace->mutex);
        rgm_trace_wait_outside(); // of a start that was given up
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
        rgm_trace_close_buffers(trace);
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
    rgm_trace_prepare();
    pthread_mutex_lock(&trace->mutex);
    stats->state = trace->state;
    if (trace->in_start) { // all else is being set
        pthread_mutex_unlock(&trace->mutex);
        return;
    }
    stats->several = trace->subscription.several;
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
    stats->green_contexts = atomic_load(&trace->green_contexts);
    stats->green_multiprocessors = atomic_load(&trace->green_least);
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
