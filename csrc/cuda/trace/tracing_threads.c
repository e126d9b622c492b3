// SPDX-License-Identifier: Apache-2.0
// The two threads of tracing. The flusher asks CUPTI to deliver, watches over the clocks and over other
// tools, and ends the tracing; it may be held up by CUPTI. The reader turns buffers into rows; it holds no
// lock while it calls CUPTI, and is never waited for by a callback.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "cuda/trace/cupti_records.h"
#include "cuda/trace/tracing_state.h"

enum { ROUNDS_OF_SILENCE = 3, SMALLEST_RECORD = 48, KEPT_MOST = 8 };
static const int64_t first_pause_ns = 500000, longest_pause_ns = 20000000, silence_ns = 200000000;
static const int64_t least_detach_ns = 50000000;
static const int64_t clock_step_ns = 1000000;

// --- clocks -----------------------------------------------------------------------------------------------

uint64_t rgm_trace_monotonic_clock(void) { return (uint64_t)rgm_clock_monotonic_ns(); }

// What CUPTI takes by default: put back at the end, for the next tool.
static uint64_t default_clock(void) { return (uint64_t)rgm_clock_unix_ns(); }

// The tightest of a few brackets of CUPTI's clock.
static bool bracket(const rgm_trace *trace, rgm_anchor *best) {
    int64_t best_width = INT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t now = 0;
        int64_t before = rgm_clock_monotonic_ns();
        if (rgm_subscription_time(&trace->subscription, &now) != RGM_CUPTI_SUCCESS || now == 0) return false;
        int64_t after = rgm_clock_monotonic_ns();
        if (after - before >= best_width) continue;
        best_width = after - before;
        *best = (rgm_anchor){now, before + (after - before) / 2, 0};
    }
    return true;
}

// An anchor that starts anew, because CUPTI's clock has been set, carries a mark.
enum { ANCHOR_RESTARTS = 1 };

void rgm_trace_anchor(rgm_trace *trace) {
    rgm_anchor anchor;
    if (trace->own_clock || !bracket(trace, &anchor)) return;
    pthread_mutex_lock(&trace->clock_mutex);
    const rgm_anchor *last = &trace->last_anchor;
    if (last->ticks) {
        int64_t passed = anchor.monotonic_ns - last->monotonic_ns;
        int64_t difference = (int64_t)(anchor.ticks - last->ticks) - passed;
        int64_t bearable = clock_step_ns + passed / 1000;
        if (difference > bearable || difference < -bearable) anchor.unix_ns = ANCHOR_RESTARTS;
    }
    // While nothing is read the newest anchor takes the last place; a mark that was there stays.
    if (trace->anchor_count == TRACE_ANCHORS) anchor.unix_ns |= trace->anchors[--trace->anchor_count].unix_ns;
    trace->anchors[trace->anchor_count++] = anchor;
    trace->last_anchor = anchor;
    pthread_mutex_unlock(&trace->clock_mutex);
}

static void take_anchors(rgm_trace *trace) {
    rgm_anchor anchors[TRACE_ANCHORS];
    pthread_mutex_lock(&trace->clock_mutex);
    size_t count = trace->anchor_count;
    for (size_t i = 0; i < count; i++) anchors[i] = trace->anchors[i];
    trace->anchor_count = 0;
    pthread_mutex_unlock(&trace->clock_mutex);
    for (size_t i = 0; i < count; i++) {
        if (anchors[i].unix_ns == ANCHOR_RESTARTS) {
            rgm_timebase_release(&trace->parser.clock);
            trace->guarded.note(trace->guarded.arg, RGM_ANOMALY_CLOCK_STEP, 1);
        }
        rgm_timebase_thin_out(&trace->parser.clock);
        if (rgm_timebase_add(&trace->parser.clock, anchors[i], NULL) != RGM_OK)
            trace->guarded.note(trace->guarded.arg, RGM_ANOMALY_INTERNAL, 1);
    }
}

// --- the reader -------------------------------------------------------------------------------------------

static void note(rgm_trace *trace, rgm_anomaly code, uint64_t count) {
    if (count) trace->guarded.note(trace->guarded.arg, code, (int64_t)count);
}

// Moves on what the parser has counted since the last look.
static void publish(rgm_trace *trace, uint64_t dropped) {
    rgm_activity_counts *counts = &trace->parser.counts;
    note(trace, RGM_ANOMALY_INVALID_ACTIVITY, counts->invalid);
    note(trace, RGM_ANOMALY_DROPPED_ACTIVITY, counts->dropped + dropped);
    note(trace, RGM_ANOMALY_UNMAPPED_NODES, rgm_graph_nodes_take_unmapped(&trace->nodes));
    atomic_fetch_add(&trace->records, counts->records);
    atomic_fetch_add(&trace->invalid, counts->invalid);
    atomic_fetch_add(&trace->unknown, counts->unknown);
    atomic_fetch_add(&trace->untimed, counts->untimed);
    atomic_fetch_add(&trace->work_read, counts->work);
    atomic_fetch_add(&trace->queue_times_read, counts->queue_times);
    atomic_fetch_add(&trace->green_contexts, counts->green_contexts);
    atomic_store(&trace->green_least, counts->green_least);
    for (size_t i = 0; i < RGM_ACTIVITY_KINDS; i++) {
        if (!counts->kinds[i].records) continue;
        atomic_fetch_add(&trace->kinds_read[i].records, counts->kinds[i].records);
        atomic_fetch_add(&trace->kinds_read[i].invalid, counts->kinds[i].invalid);
    }
    atomic_fetch_add(&trace->dropped, counts->dropped + dropped);
    atomic_store(&trace->highest_read, counts->highest);
    *counts = (rgm_activity_counts){.highest = counts->highest, .green_least = counts->green_least};
}

// Keeps the first buffers as CUPTI filled them, in the folder that REGIMETER_KEEP_ACTIVITY names: for reports
// of records that are not understood, and as input for tests.
static void keep_bytes(rgm_trace *trace, const rgm_activity_buffer *buffer) {
    char path[4096];
    const char *folder = getenv("REGIMETER_KEEP_ACTIVITY");
    if (RGM_LIKELY(!folder || !*folder || trace->kept == KEPT_MOST)) return;
    (void)snprintf(path, sizeof path, "%s/activity-v%u-pid%d-%u.raw", folder, (unsigned)trace->cupti->version,
                   (int)getpid(), trace->kept++);
    FILE *file = fopen(path, "wbe");
    if (!file) return;
    (void)fwrite(buffer->data, 1, buffer->valid, file);
    (void)fclose(file);
}

static void read_buffer(rgm_trace *trace, rgm_activity_buffer *buffer) {
    uint64_t dropped = 0;
    size_t lost = 0;
    take_anchors(trace);
    keep_bytes(trace, buffer);
    if (buffer->scratch)
        dropped = rgm_activity_count(&trace->parser, buffer->data, buffer->valid);
    else
        rgm_activity_parse(&trace->parser, buffer->data, buffer->valid);
    if (rgm_subscription_dropped(&trace->subscription, &lost) == RGM_CUPTI_SUCCESS) dropped += lost;
    rgm_activity_buffers_put(&trace->buffers, buffer);
    publish(trace, dropped);
    rgm_graph_nodes_purge(&trace->nodes, rgm_activity_buffers_oldest(&trace->buffers));
    atomic_fetch_add(&trace->read, 1);
}

void *rgm_trace_read(void *arg) {
    rgm_trace *trace = arg;
    for (;;) {
        rgm_activity_buffer *buffer = rgm_activity_buffers_next(&trace->buffers);
        if (buffer) {
            read_buffer(trace, buffer);
            atomic_store_explicit(&trace->reader_cpu_ns, rgm_thread_cpu_ns(), memory_order_relaxed);
        } else if (atomic_load(&trace->reader_ending) &&
                   atomic_load(&trace->read) == atomic_load(&trace->buffers.completed)) {
            break;
        }
    }
    rgm_activity_parser_finish(&trace->parser, rgm_clock_monotonic_ns());
    publish(trace, 0);
    return NULL;
}

// --- the flusher ------------------------------------------------------------------------------------------

static void pause_for(int64_t ns) {
    const struct timespec time = {ns / 1000000000, ns % 1000000000};
    (void)nanosleep(&time, NULL);
}

static bool all_read(rgm_trace *trace) {
    return atomic_load(&trace->read) == atomic_load(&trace->buffers.completed);
}

// Until the buffers that have been completed so far have been read.
static void wait_for_reader(rgm_trace *trace, int64_t deadline_ns) {
    uint64_t completed = atomic_load(&trace->buffers.completed);
    while (atomic_load(&trace->read) < completed && rgm_clock_monotonic_ns() < deadline_ns)
        pause_for(first_pause_ns);
}

// Asks CUPTI to deliver until the work of every call so far has been read, or until the deadline. What the
// program goes on to launch is not waited for: it may be faster than the reader. A call need not leave a
// record (it may have been captured, or its record dropped), so silence for a while ends it too: no record of
// work, though CUPTI may write records of its own about each flush. A buffer that it keeps over a flush holds
// work that has not ended.
static void drain(rgm_trace *trace, int64_t deadline_ns) {
    const uint64_t highest = rgm_trace_highest_call(trace);
    int64_t pause = first_pause_ns, heard_ns = rgm_clock_monotonic_ns();
    for (uint64_t completed = 0, work = 0;;) {
        (void)trace->cupti->flush_all(RGM_CUPTI_FLUSH);
        int64_t now = rgm_clock_monotonic_ns(), left = deadline_ns - now;
        uint64_t completed_before = completed, work_before = work;
        completed = atomic_load(&trace->buffers.completed);
        work = atomic_load(&trace->work_read);
        bool kept = completed == completed_before && rgm_activity_buffers_out(&trace->buffers);
        if (work != work_before || kept) heard_ns = now;
        bool all = atomic_load(&trace->highest_read) >= highest;
        if (left <= 0 || all || (all_read(trace) && now - heard_ns > silence_ns)) break;
        pause_for(pause < left ? pause : left);
        pause = pause * 2 < longest_pause_ns ? pause * 2 : longest_pause_ns;
    }
    wait_for_reader(trace, deadline_ns);
}

static void conflict(rgm_trace *trace, const char *text) {
    pthread_mutex_lock(&trace->mutex);
    bool first = !trace->conflict[0];
    if (first) (void)snprintf(trace->conflict, sizeof trace->conflict, "%s", text);
    pthread_mutex_unlock(&trace->mutex);
    if (first) note(trace, RGM_ANOMALY_TRACING_CONFLICT, 1);
}

typedef struct {
    uint64_t calls;      // at the last round
    uint64_t since;      // when a buffer was last handed out
    uint64_t handed_out; // then
    int silent;          // rounds
} watch;

// Another tool that registers its own buffers takes the records away without a word. Sure signs: launches go
// on while no buffer is out, or there have been more than the buffers that are out can hold.
static void watch_others(rgm_trace *trace, watch *w) {
    uint64_t calls = rgm_trace_calls_so_far(trace), handed_out = atomic_load(&trace->buffers.handed_out);
    uint64_t room = rgm_activity_buffers_out(&trace->buffers) * (uint64_t)trace->options.buffer_bytes;
    bool same = handed_out == w->handed_out && atomic_load(&trace->buffers.declined) == 0;
    if (!same) w->since = calls;
    w->silent = same && calls > w->calls && room == 0 ? w->silent + 1 : 0;
    w->calls = calls;
    w->handed_out = handed_out;
    if (atomic_load(&trace->buffers.foreign))
        conflict(trace, "CUPTI gave back buffers of another tool, which traces this process too");
    if (w->silent >= ROUNDS_OF_SILENCE || (same && room && (calls - w->since) * SMALLEST_RECORD > room)) {
        conflict(trace, "launches are seen but no records come: another tool (torch.profiler?) has taken "
                        "CUPTI's records over");
        atomic_store(&trace->taken_over, true);
    }
}

static bool driver_is_gone(const rgm_trace *trace) {
    rgm_cu_context context = NULL;
    return trace->driver->context_current(&context) == RGM_CU_DEINITIALIZED;
}

// With their last buffers. Kinds and clock are of the process: those that another tool set stay as they are.
static void disable_kinds(rgm_trace *trace) {
    if (atomic_load(&trace->taken_over)) trace->kind_count = 0;
    if (trace->kind_count) (void)trace->cupti->flush_all(RGM_CUPTI_FLUSH_FORCED);
    for (size_t i = 0; i < trace->kind_count; i++)
        (void)rgm_subscription_disable(&trace->subscription, trace->kinds[i]);
    trace->kind_count = 0;
}

void rgm_trace_disable(rgm_trace *trace) {
    disable_kinds(trace);
    bool settings =
        !trace->subscription.several && !atomic_load(&trace->taken_over); // of the process, left to us
    if (atomic_load(&trace->detached)) trace->subscription.open = false;
    rgm_subscription_close(&trace->subscription);
    if (settings && trace->queue_times) (void)rgm_subscription_set_queue_times(&trace->subscription, 0);
    if (settings && trace->own_clock) (void)rgm_subscription_set_clock(&trace->subscription, default_clock);
}

// Waits for a call of the program at whose end CUPTI can be taken out, for a moment even where the work that
// was waited for has taken all the time.
static void detach(rgm_trace *trace, int64_t deadline_ns) {
    int64_t least_ns = rgm_clock_monotonic_ns() + least_detach_ns;
    if (deadline_ns < least_ns) deadline_ns = least_ns;
    atomic_store(&trace->detach_wanted, true);
    while (!atomic_load(&trace->detached) && rgm_clock_monotonic_ns() < deadline_ns)
        pause_for(first_pause_ns);
    atomic_store(&trace->detach_wanted, false);
}

// Those that were dropped after the last buffer.
static void count_dropped(rgm_trace *trace) {
    size_t dropped = 0;
    note(trace, RGM_ANOMALY_UNMAPPED_NODES, rgm_graph_nodes_take_unmapped(&trace->nodes));
    if (rgm_subscription_dropped(&trace->subscription, &dropped) != RGM_CUPTI_SUCCESS) return;
    note(trace, RGM_ANOMALY_DROPPED_ACTIVITY, dropped);
    atomic_fetch_add(&trace->dropped, dropped);
}

static rgm_tracing_state end(rgm_trace *trace, int64_t deadline_ns) {
    bool gone = driver_is_gone(trace);
    if (!gone) {
        drain(trace, deadline_ns);
        disable_kinds(trace);
        wait_for_reader(trace, deadline_ns);
        count_dropped(trace);
        // Beside other tools CUPTI stays theirs.
        if (trace->options.detach && !trace->subscription.several &&
            rgm_cupti_can(trace->cupti, RGM_CUPTI_FINALIZE))
            detach(trace, deadline_ns);
        rgm_trace_disable(trace);
    }
    wait_for_reader(trace, deadline_ns);
    atomic_store(&trace->reader_ending, true);
    rgm_activity_buffers_wake(&trace->buffers);
    pthread_join(trace->reader, NULL);
    if (gone) return RGM_TRACING_ABANDONED;
    return atomic_load(&trace->detached) ? RGM_TRACING_DETACHED : RGM_TRACING_ATTACHED;
}

// One round under the lock, which is let go while CUPTI works.
static void round_of(rgm_trace *trace, watch *w) {
    uint64_t wanted = trace->flush_wanted;
    int64_t deadline = trace->flush_deadline_ns;
    bool asked = wanted != trace->flush_done;
    pthread_mutex_unlock(&trace->mutex);
    if (!driver_is_gone(trace)) {
        rgm_trace_anchor(trace);
        if (asked)
            drain(trace, deadline);
        else
            (void)trace->cupti->flush_all(RGM_CUPTI_FLUSH);
        if (!asked) watch_others(trace, w);
    }
    atomic_store_explicit(&trace->flusher_cpu_ns, rgm_thread_cpu_ns(), memory_order_relaxed);
    pthread_mutex_lock(&trace->mutex);
    trace->flush_done = wanted;
    pthread_cond_broadcast(&trace->changed);
}

void *rgm_trace_flush(void *arg) {
    rgm_trace *trace = arg;
    watch w = {0};
    // What this thread has CUPTI call in the driver must not end a capture of another thread.
    int mode = RGM_CU_CAPTURE_MODE_RELAXED;
    if (trace->driver->exchange_capture_mode) (void)trace->driver->exchange_capture_mode(&mode);
    pthread_mutex_lock(&trace->mutex);
    while (trace->state == RGM_TRACING_RUNNING) {
        if (trace->flush_wanted == trace->flush_done)
            rgm_cond_wait(&trace->changed, &trace->mutex, trace->options.flush_interval_ns);
        if (trace->state == RGM_TRACING_RUNNING) round_of(trace, &w);
    }
    int64_t deadline = trace->deadline_ns;
    pthread_mutex_unlock(&trace->mutex);
    rgm_trace_anchor(trace);
    rgm_tracing_state state = end(trace, deadline);
    pthread_mutex_lock(&trace->mutex);
    trace->ended = true;
    if (trace->state == RGM_TRACING_ENDING) trace->state = state;
    pthread_cond_broadcast(&trace->changed);
    pthread_mutex_unlock(&trace->mutex);
    return NULL;
}
