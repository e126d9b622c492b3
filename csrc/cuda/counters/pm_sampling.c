// SPDX-License-Identifier: Apache-2.0
#include "cuda/counters/pm_sampling.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/thread.h"
#include "cuda/counters/pm_decoder.h"

// Of a chip that counts the interval in cycles; only a nominal figure follows from it.
enum { SYSCLK_PER_US = 1200 };
// Version of the interface (12.8) whose configuration says what a full buffer keeps; 12.6 keeps the oldest.
enum { BUFFER_MODE_FROM = 26 };

struct rgm_pm_sampling {
    const rgm_counter_library *library;
    rgm_device_sink sink;
    rgm_pm_options options;
    rgm_counter_plan plan;
    rgm_counter_configuration configuration;
    pid_t owner;
    bool target, started;
    rgm_cupti_pm object;
    uint8_t *availability;
    rgm_pm_decoder decoder; // the service thread's; stop's after it has ended
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    bool running, stop; // stop: under the mutex
};

const rgm_counter_plan *rgm_pm_sampling_plan(const rgm_pm_sampling *sampling) { return &sampling->plan; }

// --- the service thread -----------------------------------------------------------------------------------

static void *serve(void *arg) {
    rgm_pm_sampling *s = arg;
    pthread_mutex_lock(&s->mutex);
    while (!s->stop) {
        pthread_mutex_unlock(&s->mutex);
        rgm_pm_decoder_run(&s->decoder);
        s->decoder.counts.cpu_ns = rgm_thread_cpu_ns();
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

static rgm_status make_decoder(rgm_pm_sampling *s, rgm_error *err) {
    RGM_PARAMS(rgm_cupti_pm_data_size, p, data_size);
    rgm_pm_decoder *d = &s->decoder;
    p.pm = d->object = s->object;
    p.metrics = d->metrics = s->configuration.metrics;
    p.count = d->n_metrics = s->configuration.count;
    p.max_samples = d->max_samples = s->options.max_samples;
    RGM_TRY(rgm_cupti_check(s->library->pm_data_size(&p), "sizing the samples", err));
    d->library = s->library;
    d->sink = s->sink;
    d->host = s->configuration.host.object;
    d->device = (int16_t)s->options.device;
    d->interval_ns = s->options.interval_ns;
    d->data_size = p.data_size;
    d->data = rgm_calloc(1, p.data_size + 1);
    d->places = rgm_malloc(p.max_samples * sizeof *d->places);
    if (!d->data || !d->places) return rgm_error_no_memory(err);
    return rgm_cupti_check(rgm_pm_decoder_clear(d), "preparing the samples", err);
}

static rgm_status configure(rgm_pm_sampling *s, rgm_error *err) {
    RGM_PARAMS(rgm_cupti_pm_enable, enable, pm);
    RGM_PARAMS(rgm_cupti_pm_config, config, append);
    bool turing = strncmp(s->plan.chip, "TU", 2) == 0;
    s->decoder.by_time = !turing && strcmp(s->plan.chip, "GA100") != 0;
    enable.device = (size_t)s->options.device;
    RGM_TRY(rgm_cupti_check(s->library->pm_enable(&enable), "enabling PM sampling", err));
    s->object = enable.pm;
    config.pm = s->object;
    config.image_size = s->configuration.image_size;
    config.image = s->configuration.image;
    config.buffer_size = s->options.buffer_bytes;
    config.interval = (uint64_t)s->options.interval_ns;
    if (!s->decoder.by_time) config.interval = config.interval * SYSCLK_PER_US / 1000;
    config.trigger = s->decoder.by_time ? RGM_CUPTI_TRIGGER_TIME : RGM_CUPTI_TRIGGER_CYCLES;
    if (s->library->api_version < BUFFER_MODE_FROM)
        config.size = offsetof(rgm_cupti_pm_config, trigger) + sizeof config.trigger;
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
        s->decoder.series[m] = s->sink.intern(s->sink.arg, name, strlen(name));
    }
    RGM_TRY(configure(s, err));
    return make_decoder(s, err);
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

rgm_status rgm_pm_sampling_start(rgm_pm_sampling **out, const rgm_pm_options *options, rgm_device_sink sink,
                                 rgm_error *err) {
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
        rgm_pm_decoder_finish(&s->decoder);
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
    if (counts) *counts = s->decoder.counts;
    if (ours) {
        pthread_cond_destroy(&s->wake);
        pthread_mutex_destroy(&s->mutex);
    } else {
        rgm_free(s->configuration.image);
    }
    rgm_free(s->availability);
    rgm_free(s->decoder.data);
    rgm_free(s->decoder.places);
    rgm_free(s);
}
