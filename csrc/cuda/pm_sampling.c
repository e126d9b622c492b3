// SPDX-License-Identifier: Apache-2.0
#include "cuda/pm_sampling.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"

enum {
    ROWS = 512,   // handed to the sink at a time
    DECODES = 64, // at most between two waits, and at the end
    SYSCLK_PER_US =
        1200, // of a chip that counts the interval in cycles; only a nominal figure follows from it
};

typedef struct {
    int64_t start_ns, end_ns; // the library's clock
    size_t index;
} place;

struct rgm_pm_sampling {
    const rgm_counter_library *library;
    const rgm_device_sink *sink;
    rgm_pm_options options;
    rgm_counter_plan plan;
    rgm_counter_configuration configuration;
    uint32_t series[RGM_PLAN_ROLES]; // string ids
    pid_t owner;
    bool target, started, by_time;
    rgm_cupti_pm object;
    uint8_t *availability, *data;
    size_t data_size;
    // The service thread's; stop's after it has ended.
    place *places; // [max_samples]
    rgm_counter_row rows[ROWS];
    size_t n_rows;
    bool any;                     // a first sample was seen, and left out
    bool overflow;                // since the last sample that was seen
    int64_t last_start, last_end; // of the last sample, the library's clock
    rgm_pm_counts counts;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    bool running, stop; // stop: under the mutex
};

const rgm_counter_plan *rgm_pm_sampling_plan(const rgm_pm_sampling *sampling) { return &sampling->plan; }

// --- samples ----------------------------------------------------------------------------------------------

static void hand_over(rgm_pm_sampling *s) {
    if (s->n_rows) s->sink->counters(s->sink->arg, s->rows, s->n_rows);
    s->n_rows = 0;
}

// What to add to a time of the library to have CLOCK_MONOTONIC; the tightest of some brackets.
static int64_t clock_offset(const rgm_pm_sampling *s) {
    int64_t best = INT64_MAX, offset = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t theirs = 0;
        int64_t before = rgm_clock_monotonic_ns();
        if (s->library->timestamp(&theirs) != RGM_CUPTI_SUCCESS) continue;
        int64_t after = rgm_clock_monotonic_ns();
        if (after - before >= best) continue;
        best = after - before;
        offset = before + (after - before) / 2 - (int64_t)theirs;
    }
    return offset;
}

static int by_start(const void *a, const void *b) {
    const place *x = a, *y = b;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

// Samples between the last one and this one that never came. Only where the interval is one of time.
static void look_for_gap(rgm_pm_sampling *s, const place *sample) {
    int64_t interval = s->options.interval_ns, gap = sample->start_ns - s->last_end, lost = 0;
    if (s->by_time && gap > interval / 2) lost = (gap + interval / 2) / interval;
    if (s->overflow && !lost) lost = 1; // the hardware says that it lost some
    s->overflow = false;
    if (!lost) return;
    s->counts.dropped += lost;
    s->sink->note(s->sink->arg, RGM_ANOMALY_DROPPED_COUNTERS, lost);
}

static void emit(rgm_pm_sampling *s, const place *sample, int64_t offset) {
    RGM_PARAMS(rgm_cupti_host_evaluate, p, values);
    double values[RGM_PLAN_ROLES];
    p.host = s->configuration.host.object;
    p.data = s->data;
    p.data_size = s->data_size;
    p.index = sample->index;
    p.metrics = s->configuration.metrics;
    p.count = s->configuration.count;
    p.values = values;
    if (s->library->host_evaluate(&p) != RGM_CUPTI_SUCCESS) {
        s->counts.failures++;
        return;
    }
    s->counts.samples++;
    for (size_t m = 0; m < s->configuration.count; m++) {
        if (!isfinite(values[m])) continue; // a rate of a sample in which its clock stood still
        if (s->n_rows == ROWS) hand_over(s);
        s->rows[s->n_rows++] = (rgm_counter_row){.time_ns = sample->start_ns + offset,
                                                 .value = values[m],
                                                 .series = s->series[m],
                                                 .device = (int16_t)s->options.device};
    }
}

// The interface does not say which clock its times are on. Those of cuptiGetTimestamp are tried; when that
// makes the last sample lie in the future or long ago, it is put at the time of its decoding.
static int64_t align(rgm_pm_sampling *s, int64_t last_end, int64_t now) {
    static const int64_t second = 1000000000;
    int64_t offset = clock_offset(s), end = last_end + offset;
    if (end <= now + second / 100 && end >= now - 10 * second) return offset;
    s->counts.guessed = true;
    return now - last_end;
}

static void take_sample(rgm_pm_sampling *s, const place *sample, int64_t offset) {
    if (s->any && sample->start_ns <= s->last_start) {
        s->counts.late++;
        return;
    }
    // The first sample began before the counters were set up.
    if (s->any) {
        look_for_gap(s, sample);
        emit(s, sample, offset);
    }
    s->any = true;
    s->last_start = sample->start_ns;
    s->last_end = sample->end_ns;
}

static void read_samples(rgm_pm_sampling *s, size_t completed, int64_t now) {
    size_t n = 0;
    for (size_t i = 0; i < completed && i < s->options.max_samples; i++) {
        RGM_PARAMS(rgm_cupti_pm_sample_info, p, end);
        p.pm = s->object;
        p.data = s->data;
        p.data_size = s->data_size;
        p.index = i;
        if (s->library->pm_sample_info(&p) == RGM_CUPTI_SUCCESS)
            s->places[n++] = (place){(int64_t)p.start, (int64_t)p.end, i};
        else
            s->counts.failures++;
    }
    if (!n) return;
    qsort(s->places, n, sizeof *s->places, by_start);
    int64_t offset = align(s, s->places[n - 1].end_ns, now);
    for (size_t i = 0; i < n; i++) take_sample(s, &s->places[i], offset);
    hand_over(s);
}

static rgm_cupti_result clear_data(const rgm_pm_sampling *s) {
    RGM_PARAMS(rgm_cupti_pm_data_initialize, p, data);
    p.pm = s->object;
    p.data_size = s->data_size;
    p.data = s->data;
    return s->library->pm_data_initialize(&p);
}

// True when there is more to decode at once.
static bool decode(rgm_pm_sampling *s) {
    RGM_PARAMS(rgm_cupti_pm_decode, p, overflow);
    RGM_PARAMS(rgm_cupti_pm_data_info, info, completed);
    p.pm = s->object;
    p.data = s->data;
    p.data_size = s->data_size;
    rgm_cupti_result result = s->library->pm_decode(&p);
    int64_t now = rgm_clock_monotonic_ns();
    if (p.overflow || result == RGM_CUPTI_OUT_OF_MEMORY) {
        s->counts.overflows++;
        s->overflow = true;
    }
    if (result != RGM_CUPTI_SUCCESS) s->counts.failures++;
    info.data = s->data;
    info.data_size = s->data_size;
    if (s->library->pm_data_info(&info) != RGM_CUPTI_SUCCESS) info.completed = 0;
    read_samples(s, info.completed, now);
    if (info.completed && clear_data(s) != RGM_CUPTI_SUCCESS) {
        s->counts.failures++;
        return false;
    }
    return result == RGM_CUPTI_SUCCESS && p.stopped == RGM_CUPTI_STOPPED_FULL;
}

static void decode_all(rgm_pm_sampling *s) {
    for (int i = 0; i < DECODES && decode(s); i++) {
    }
}

static void *serve(void *arg) {
    rgm_pm_sampling *s = arg;
    pthread_mutex_lock(&s->mutex);
    while (!s->stop) {
        pthread_mutex_unlock(&s->mutex);
        decode_all(s);
        s->counts.cpu_ns = rgm_thread_cpu_ns();
        pthread_mutex_lock(&s->mutex);
        if (!s->stop) (void)rgm_cond_wait(&s->wake, &s->mutex, s->options.decode_ns);
    }
    pthread_mutex_unlock(&s->mutex);
    return NULL;
}

// --- start and stop ---------------------------------------------------------------------------------------

static rgm_status ask_availability(rgm_pm_sampling *s, rgm_error *err) {
    RGM_PARAMS(rgm_cupti_pm_availability, p, image);
    static const char doing[] = "asking which counters are available";
    p.device = (size_t)s->options.device;
    RGM_TRY(rgm_cupti_check(s->library->pm_availability(&p), doing, err));
    s->availability = p.image = rgm_calloc(1, p.image_size + 1);
    if (!p.image) return rgm_error_no_memory(err);
    return rgm_cupti_check(s->library->pm_availability(&p), doing, err);
}

static rgm_status make_data(rgm_pm_sampling *s, rgm_error *err) {
    RGM_PARAMS(rgm_cupti_pm_data_size, p, data_size);
    p.pm = s->object;
    p.metrics = s->configuration.metrics;
    p.count = s->configuration.count;
    p.max_samples = s->options.max_samples;
    RGM_TRY(rgm_cupti_check(s->library->pm_data_size(&p), "sizing the samples", err));
    s->data_size = p.data_size;
    s->data = rgm_calloc(1, p.data_size + 1);
    s->places = rgm_malloc(p.max_samples * sizeof *s->places);
    if (!s->data || !s->places) return rgm_error_no_memory(err);
    return rgm_cupti_check(clear_data(s), "preparing the samples", err);
}

static rgm_status configure(rgm_pm_sampling *s, rgm_error *err) {
    RGM_PARAMS(rgm_cupti_pm_enable, enable, pm);
    RGM_PARAMS(rgm_cupti_pm_config, config, append);
    bool turing = strncmp(s->plan.chip, "TU", 2) == 0;
    s->by_time = !turing && strcmp(s->plan.chip, "GA100") != 0;
    enable.device = (size_t)s->options.device;
    RGM_TRY(rgm_cupti_check(s->library->pm_enable(&enable), "enabling PM sampling", err));
    s->object = enable.pm;
    config.pm = s->object;
    config.image_size = s->configuration.image_size;
    config.image = s->configuration.image;
    config.buffer_size = s->options.buffer_bytes;
    config.interval = (uint64_t)s->options.interval_ns;
    if (!s->by_time) config.interval = config.interval * SYSCLK_PER_US / 1000;
    config.trigger = s->by_time ? RGM_CUPTI_TRIGGER_TIME : RGM_CUPTI_TRIGGER_CYCLES;
    config.append = turing ? RGM_CUPTI_KEEP_OLDEST : RGM_CUPTI_KEEP_LATEST;
    return rgm_cupti_check(s->library->pm_config(&config), "configuring PM sampling", err);
}

static rgm_status prepare(rgm_pm_sampling *s, rgm_error *err) {
    const char *chip;
    RGM_TRY(rgm_counter_library_start(&s->library, RGM_COUNTER_PM, err));
    RGM_TRY(rgm_counter_target_begin(s->library, err));
    s->target = true;
    RGM_TRY(rgm_counter_device_chip(s->library, s->options.device, &chip, err));
    RGM_TRY(ask_availability(s, err));
    RGM_TRY(rgm_counter_plan_make(&s->plan, s->library, s->options.set, chip, s->availability, err));
    RGM_TRY(rgm_counter_configuration_make(&s->configuration, &s->plan, s->library, s->availability, err));
    for (size_t m = 0; m < s->configuration.count; m++) {
        const char *name = s->configuration.metrics[m];
        s->series[m] = s->sink->intern(s->sink->arg, name, strlen(name));
    }
    RGM_TRY(configure(s, err));
    return make_data(s, err);
}

static rgm_status begin(rgm_pm_sampling *s, rgm_error *err) {
    RGM_PARAMS(rgm_cupti_pm_control, p, pm);
    p.pm = s->object;
    RGM_TRY(rgm_cupti_check(s->library->pm_start(&p), "starting PM sampling", err));
    s->started = true;
    RGM_TRY(rgm_thread_start(&s->thread, "rgm-counters", serve, s, err));
    s->running = true;
    return RGM_OK;
}

rgm_status rgm_pm_sampling_start(rgm_pm_sampling **out, const rgm_pm_options *options,
                                 const rgm_device_sink *sink, rgm_error *err) {
    *out = NULL;
    if (options->device < 0 || options->device > INT16_MAX || options->interval_ns < 1000 ||
        options->decode_ns < 1 || !options->max_samples ||
        rgm_counter_sets[options->set].profiler != RGM_CUPTI_PM_SAMPLING)
        return rgm_error_set(err, RGM_INVALID,
                             "PM sampling needs a device, a set of samples, an interval of at least 1 us "
                             "and room for a sample");
    rgm_pm_sampling *s = rgm_calloc(1, sizeof *s);
    if (!s) return rgm_error_no_memory(err);
    s->options = *options;
    s->sink = sink;
    s->owner = getpid();
    pthread_mutex_init(&s->mutex, NULL);
    rgm_cond_init(&s->wake);
    rgm_status status = prepare(s, err);
    if (status == RGM_OK) status = begin(s, err);
    if (status == RGM_OK)
        *out = s;
    else
        rgm_pm_sampling_stop(s, NULL);
    return status;
}

static void end_sampling(rgm_pm_sampling *s) {
    RGM_PARAMS(rgm_cupti_pm_control, p, pm);
    if (s->running) {
        pthread_mutex_lock(&s->mutex);
        s->stop = true;
        pthread_cond_signal(&s->wake);
        pthread_mutex_unlock(&s->mutex);
        pthread_join(s->thread, NULL);
    }
    p.pm = s->object;
    if (s->started) {
        (void)s->library->pm_stop(&p);
        decode_all(s);
        if (s->overflow) { // no later sample told how many were lost
            s->counts.dropped++;
            s->sink->note(s->sink->arg, RGM_ANOMALY_DROPPED_COUNTERS, 1);
        }
    }
    if (s->object) (void)s->library->pm_disable(&p);
    rgm_counter_configuration_release(&s->configuration);
    if (s->target) rgm_counter_target_end(s->library);
}

void rgm_pm_sampling_stop(rgm_pm_sampling *s, rgm_pm_counts *counts) {
    if (!s) return;
    // A child has neither the thread nor a driver that works, and its mutex may be held by nobody.
    bool ours = s->owner == getpid();
    if (ours) end_sampling(s);
    if (counts) *counts = s->counts;
    if (ours) {
        pthread_cond_destroy(&s->wake);
        pthread_mutex_destroy(&s->mutex);
    } else {
        rgm_free(s->configuration.image);
    }
    rgm_free(s->availability);
    rgm_free(s->data);
    rgm_free(s->places);
    rgm_free(s);
}
