// SPDX-License-Identifier: Apache-2.0
#include "cuda/nvml/telemetry.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "cuda/nvml/budget.h"

enum { MAX_FAILURES = 10, NAME_ROOM = 96 };
static const int64_t second_ns = 1000000000;
static const int64_t patience_ns = 2 * INT64_C(1000000000);

typedef struct {
    rgm_telemetry_series row;
    uint32_t name;      // string id of the sink
    bool seen;          // a value was handed on
    double last;        // the value handed on
    int64_t sent_ns;    // when
    int64_t changed_ns; // when it last changed, 0 never
    uint64_t failed_in_row;
} series;

// One call to one device, and the series that it gives.
typedef struct {
    rgm_telemetry_call call;
    size_t gpu; // of the list
    size_t first, count;
    uint64_t calls;
    int64_t longest_ns;
    int64_t due_tick;
    bool waiting; // for another call to turn out unavailable
    bool slowed;
} source;

struct rgm_telemetry {
    const rgm_nvml *nvml;
    rgm_nvml_list list;
    rgm_device_sink sink;
    rgm_telemetry_options options;
    rgm_telemetry_stats stats;
    source *sources;
    rgm_budget_item *items; // one per source
    size_t source_count;
    series *series;
    size_t series_count;
    int64_t start_ns;
    pid_t process;
    pthread_t thread;
    pthread_mutex_t mutex; // everything below, statistics and series, and the sink
    pthread_cond_t wake;
    bool running, stop, ended, abandoned;
};

static int64_t clock_now(const rgm_telemetry *t) {
    return t->options.clock ? t->options.clock(t->options.clock_arg) : rgm_clock_monotonic_ns();
}

// --- what is read -----------------------------------------------------------------------------------------

// What is asked for by name is read; else all that may be, each kind of power in one way.
static bool wanted(const rgm_telemetry *t, rgm_telemetry_metric metric) {
    if (rgm_telemetry_calls[rgm_telemetry_metrics[metric].call].cost == RGM_COST_EXPENSIVE) return false;
    return !t->options.metrics || (t->options.metrics & (UINT64_C(1) << metric));
}

static bool selected(const rgm_telemetry *t, const rgm_nvml_gpu *gpu) {
    if (gpu->ordinal < 0 || !gpu->handle) return false;
    for (size_t i = 0; i < t->options.ordinal_count; i++)
        if (t->options.ordinals[i] == gpu->ordinal) return true;
    return !t->options.ordinals;
}

static void add_series(rgm_telemetry *t, const source *from, rgm_telemetry_metric metric) {
    const rgm_nvml_gpu *gpu = &t->list.gpus[from->gpu];
    bool whole = gpu->mig && !rgm_telemetry_calls[from->call].of_part;
    char name[NAME_ROOM];
    int length = snprintf(name, sizeof name, "%s%s", rgm_telemetry_metrics[metric].name,
                          whole ? " (whole device)" : "");
    series *made = &t->series[t->series_count++];
    *made = (series){.row = {.metric = metric, .device = gpu->ordinal, .live = true, .whole = whole}};
    made->name = t->sink.intern(t->sink.arg, name, (size_t)length);
}

static void add_sources(rgm_telemetry *t, size_t gpu) {
    for (int call = 0; call < RGM_CALL_COUNT; call++) {
        source made = {.call = (rgm_telemetry_call)call, .gpu = gpu, .first = t->series_count};
        made.waiting = call == RGM_CALL_POWER && !t->options.metrics;
        for (int metric = 0; metric < RGM_TELEMETRY_COUNT; metric++) {
            if ((int)rgm_telemetry_metrics[metric].call != call || !wanted(t, (rgm_telemetry_metric)metric))
                continue;
            add_series(t, &made, (rgm_telemetry_metric)metric);
            made.count++;
        }
        if (!made.count) continue;
        int64_t asked = t->stats.interval_ns;
        if (rgm_telemetry_calls[call].cost == RGM_COST_MODERATE && asked < second_ns) asked = second_ns;
        t->items[t->source_count] =
            (rgm_budget_item){.asked_ns = asked, .period_ns = asked, .off = made.waiting};
        t->sources[t->source_count++] = made;
    }
}

static rgm_status prepare(rgm_telemetry *t, rgm_error *err) {
    RGM_TRY(rgm_nvml_get(&t->nvml, err));
    RGM_TRY(rgm_nvml_list_read(&t->list, t->nvml, err));
    for (size_t i = 0; i < t->list.count; i++) t->stats.devices += selected(t, &t->list.gpus[i]);
    if (!t->stats.devices)
        return rgm_error_set(err, RGM_UNAVAILABLE,
                             "telemetry: none of the %zu devices of NVML is visible to CUDA", t->list.count);
    t->sources = rgm_calloc(t->stats.devices * RGM_CALL_COUNT, sizeof *t->sources);
    t->items = rgm_calloc(t->stats.devices * RGM_CALL_COUNT, sizeof *t->items);
    t->series = rgm_calloc(t->stats.devices * RGM_TELEMETRY_COUNT, sizeof *t->series);
    if (!t->sources || !t->items || !t->series) return rgm_error_no_memory(err);
    for (size_t i = 0; i < t->list.count; i++)
        if (selected(t, &t->list.gpus[i])) add_sources(t, i);
    return RGM_OK;
}

static void set_options(rgm_telemetry *t, const rgm_telemetry_options *options) {
    const int64_t least = RGM_TELEMETRY_MIN_INTERVAL_MS * INT64_C(1000000);
    t->options = *options;
    t->stats.interval_ns = options->interval_ns;
    t->stats.budget = options->budget > 0 ? options->budget : RGM_TELEMETRY_DEFAULT_BUDGET;
    if (t->options.heartbeat_ns <= 0) t->options.heartbeat_ns = RGM_TELEMETRY_DEFAULT_HEARTBEAT_NS;
    if (t->stats.interval_ns <= 0)
        t->stats.interval_ns = RGM_TELEMETRY_DEFAULT_INTERVAL_MS * INT64_C(1000000);
    if (t->stats.interval_ns >= least) return;
    (void)snprintf(
        t->stats.remark, sizeof t->stats.remark,
        "the interval is %d ms, not %.3g ms: the driver updates no value faster, and each call holds "
        "its lock",
        RGM_TELEMETRY_MIN_INTERVAL_MS, (double)t->stats.interval_ns / 1e6);
    t->stats.interval_ns = least;
}

// --- one call ---------------------------------------------------------------------------------------------

static bool ends_device(rgm_nvml_result result) {
    return result == RGM_NVML_GPU_IS_LOST || result == RGM_NVML_RESET_REQUIRED ||
           result == RGM_NVML_UNINITIALIZED || result == RGM_NVML_DRIVER_NOT_LOADED;
}

// What will be the same at the next call.
static bool ends_series(rgm_nvml_result result) {
    switch (result) {
    case RGM_NVML_NOT_SUPPORTED:
    case RGM_NVML_NO_PERMISSION:
    case RGM_NVML_INVALID_ARGUMENT:
    case RGM_NVML_FUNCTION_NOT_FOUND:
    case RGM_NVML_VGPU_ECC_NOT_SUPPORTED:
    case RGM_NVML_ARGUMENT_VERSION_MISMATCH:
    case RGM_NVML_DEPRECATED: return true;
    default: return false;
    }
}

static void hand_on(rgm_telemetry *t, series *s, double value, int64_t time_ns) {
    bool changed = !s->seen || value != s->last;
    if (changed && s->seen) {
        if (s->changed_ns && (!s->row.update_ns || time_ns - s->changed_ns < s->row.update_ns))
            s->row.update_ns = time_ns - s->changed_ns;
        s->changed_ns = time_ns;
    }
    if (!changed && time_ns - s->sent_ns < t->options.heartbeat_ns) return;
    rgm_counter_row row = {
        .time_ns = time_ns, .value = value, .series = s->name, .device = (int16_t)s->row.device};
    s->seen = true;
    s->last = value;
    s->sent_ns = time_ns;
    t->stats.values++;
    t->sink.counters(t->sink.arg, &row, 1);
}

static void take_value(rgm_telemetry *t, series *s, rgm_nvml_result result, double value, int64_t time_ns) {
    s->row.calls++;
    s->row.result = result;
    if (result == RGM_NVML_SUCCESS) {
        s->failed_in_row = 0;
        hand_on(t, s, value, time_ns);
        return;
    }
    s->row.failures++;
    s->failed_in_row++;
    if (ends_series(result) || s->failed_in_row == MAX_FAILURES) s->row.live = false;
}

static void lose_device(rgm_telemetry *t, size_t gpu, rgm_nvml_result result) {
    for (size_t i = 0; i < t->source_count; i++) {
        source *from = &t->sources[i];
        if (t->list.gpus[from->gpu].whole != t->list.gpus[gpu].whole) continue;
        t->items[i].off = true;
        from->waiting = false;
        for (size_t k = from->first; k < from->first + from->count; k++) {
            if (!t->series[k].row.live) continue;
            t->series[k].row.live = false;
            t->series[k].row.result = result;
        }
    }
    t->stats.lost++;
    t->sink.note(t->sink.arg, RGM_ANOMALY_TELEMETRY_LOST, 1);
}

// A call without a live series is not made again; what waited for that begins.
static void retire(rgm_telemetry *t, size_t index) {
    const source *from = &t->sources[index];
    for (size_t k = from->first; k < from->first + from->count; k++)
        if (t->series[k].row.live) return;
    t->items[index].off = true;
    for (size_t i = 0; i < t->source_count; i++) {
        source *other = &t->sources[i];
        if (!other->waiting || other->gpu != from->gpu || from->call != RGM_CALL_POWER_FIELDS) continue;
        other->waiting = false;
        t->items[i].off = false;
    }
}

// The first call of a kind may have to wake something up, so that a shorter second one stands for both.
static void measure(rgm_budget_item *item, source *from, int64_t took_ns) {
    const double weight = 0.125;
    from->calls++;
    if (took_ns > from->longest_ns) from->longest_ns = took_ns;
    double took = (double)took_ns;
    if (from->calls == 1 || (from->calls == 2 && took < item->cost_ns))
        item->cost_ns = took;
    else
        item->cost_ns += weight * (took - item->cost_ns);
}

// False once the thread was left behind: the sink may be gone.
static bool make_call(rgm_telemetry *t, size_t index) {
    source *from = &t->sources[index];
    rgm_telemetry_reading reading;
    int64_t before = clock_now(t);
    rgm_telemetry_read(&reading, t->nvml, from->call, &t->list.gpus[from->gpu]);
    int64_t after = clock_now(t);
    pthread_mutex_lock(&t->mutex);
    bool wanted_still = !t->abandoned;
    if (wanted_still) {
        t->stats.calls++;
        t->stats.nvml_ns += after - before;
        measure(&t->items[index], from, after - before);
        for (size_t k = from->first; k < from->first + from->count; k++) {
            series *s = &t->series[k];
            int slot = rgm_telemetry_metrics[s->row.metric].slot;
            if (!s->row.live) continue;
            if (ends_device(reading.result[slot])) {
                lose_device(t, from->gpu, reading.result[slot]);
                break;
            }
            take_value(t, s, reading.result[slot], reading.value[slot], before + (after - before) / 2);
        }
        retire(t, index);
    }
    pthread_mutex_unlock(&t->mutex);
    return wanted_still;
}

// --- ticks ------------------------------------------------------------------------------------------------

// Periods are whole ticks, so that what is due together is read together.
static void divide(rgm_telemetry *t, int64_t tick) {
    const int64_t interval = t->stats.interval_ns;
    rgm_budget_divide(t->items, t->source_count, t->stats.budget);
    t->stats.slowed = 0;
    for (size_t i = 0; i < t->source_count; i++) {
        source *from = &t->sources[i];
        rgm_budget_item *item = &t->items[i];
        int64_t ticks = item->period_ns / interval + (item->period_ns % interval != 0);
        bool slowed = !item->off && item->period_ns > item->asked_ns;
        if (slowed && !from->slowed) t->sink.note(t->sink.arg, RGM_ANOMALY_TELEMETRY_SLOWED, 1);
        from->slowed = from->slowed || slowed;
        t->stats.slowed += slowed;
        if (from->due_tick <= tick) from->due_tick = tick + ticks;
        for (size_t k = from->first; k < from->first + from->count; k++) {
            t->series[k].row.cost_ns = (int64_t)item->cost_ns;
            t->series[k].row.longest_ns = from->longest_ns;
            t->series[k].row.asked_ns = item->asked_ns;
            t->series[k].row.period_ns = ticks * interval;
        }
    }
}

int64_t rgm_telemetry_tick(rgm_telemetry *t) {
    const int64_t interval = t->stats.interval_ns;
    int64_t tick = (clock_now(t) - t->start_ns) / interval;
    // What begins to be read because something else turned out unavailable is after it in the list.
    for (size_t i = 0; i < t->source_count; i++)
        if (!t->items[i].off && t->sources[i].due_tick <= tick && !make_call(t, i)) return INT64_MAX;
    int64_t now = clock_now(t);
    int64_t next = INT64_MAX;
    pthread_mutex_lock(&t->mutex);
    t->stats.ticks++;
    t->stats.wall_ns = now - t->start_ns;
    if (!t->abandoned) divide(t, tick);
    for (size_t i = 0; i < t->source_count; i++)
        if (!t->items[i].off && t->sources[i].due_tick < next) next = t->sources[i].due_tick;
    pthread_mutex_unlock(&t->mutex);
    return next == INT64_MAX ? INT64_MAX : t->start_ns + next * interval;
}

static void *run(void *arg) {
    rgm_telemetry *t = arg;
    pthread_mutex_lock(&t->mutex);
    while (!t->stop) {
        pthread_mutex_unlock(&t->mutex);
        int64_t due = rgm_telemetry_tick(t);
        pthread_mutex_lock(&t->mutex);
        // All devices gone: nothing is left to do but to wait for the end.
        int64_t wait = due == INT64_MAX ? INT64_MAX : due - clock_now(t);
        while (!t->stop && wait > 0 && rgm_cond_wait(&t->wake, &t->mutex, wait))
            wait = due == INT64_MAX ? INT64_MAX : due - clock_now(t);
    }
    t->ended = true;
    pthread_cond_broadcast(&t->wake);
    pthread_mutex_unlock(&t->mutex);
    return NULL;
}

// --- life -------------------------------------------------------------------------------------------------

static void release(rgm_telemetry *t) {
    rgm_nvml_list_release(&t->list);
    rgm_free(t->sources);
    rgm_free(t->items);
    rgm_free(t->series);
    rgm_free(t);
}

rgm_status rgm_telemetry_start(rgm_telemetry **telemetry, const rgm_telemetry_options *options,
                               rgm_device_sink sink, rgm_error *err) {
    *telemetry = NULL;
    rgm_telemetry *t = rgm_calloc(1, sizeof *t);
    if (!t) return rgm_error_no_memory(err);
    t->sink = sink;
    t->process = getpid();
    set_options(t, options);
    rgm_status status = prepare(t, err);
    if (status != RGM_OK) {
        release(t);
        return status;
    }
    pthread_mutex_init(&t->mutex, NULL);
    rgm_cond_init(&t->wake);
    t->start_ns = clock_now(t);
    if (!options->by_hand) {
        status = rgm_thread_start(&t->thread, "rgm-telemetry", run, t, err);
        t->running = status == RGM_OK;
    }
    // The list of the caller is not kept.
    t->options.ordinals = NULL;
    t->options.ordinal_count = 0;
    if (status == RGM_OK)
        *telemetry = t;
    else
        rgm_telemetry_free(t);
    return status;
}

void rgm_telemetry_stop(rgm_telemetry *t) {
    if (!t || !t->running || t->process != getpid()) return;
    t->running = false;
    pthread_mutex_lock(&t->mutex);
    t->stop = true;
    pthread_cond_broadcast(&t->wake);
    int64_t until = rgm_clock_monotonic_ns() + patience_ns;
    while (!t->ended) {
        int64_t left = until - rgm_clock_monotonic_ns();
        if (left <= 0 || !rgm_cond_wait(&t->wake, &t->mutex, left)) break;
    }
    t->abandoned = !t->ended;
    pthread_mutex_unlock(&t->mutex);
    if (t->abandoned)
        pthread_detach(t->thread);
    else
        pthread_join(t->thread, NULL);
}

void rgm_telemetry_free(rgm_telemetry *t) {
    if (!t) return;
    rgm_telemetry_stop(t);
    // A thread that is stuck in the driver still uses it.
    if (t->abandoned) return;
    if (t->process == getpid()) {
        pthread_cond_destroy(&t->wake);
        pthread_mutex_destroy(&t->mutex);
    }
    release(t);
}

// A child of fork has no thread that writes, and its mutex may be held by nobody for ever.
static bool lock_here(rgm_telemetry *t) {
    return t->process == getpid() && pthread_mutex_lock(&t->mutex) == 0;
}

void rgm_telemetry_stats_read(rgm_telemetry *t, rgm_telemetry_stats *stats) {
    bool locked = lock_here(t);
    *stats = t->stats;
    if (locked) pthread_mutex_unlock(&t->mutex);
}

size_t rgm_telemetry_series_read(rgm_telemetry *t, rgm_telemetry_series *rows, size_t room) {
    bool locked = lock_here(t);
    for (size_t i = 0; i < t->series_count && i < room; i++) rows[i] = t->series[i].row;
    if (locked) pthread_mutex_unlock(&t->mutex);
    return t->series_count;
}
