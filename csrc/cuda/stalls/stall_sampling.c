// SPDX-License-Identifier: Apache-2.0
#include "cuda/stalls/stall_sampling.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "cuda/stalls/cubins.h"
#include "cuda/trace/tracing.h"

// Version of the interface (12.8) before which the records of kernels exclude PC sampling.
enum { BESIDE_RECORDS_FROM = 26 };
enum { UNSEEN, SAMPLED, REFUSED };

// Contexts that the program made by itself and that wait to be sampled.
enum { MADE_MOST = 16 };

struct rgm_stall_sampling {
    rgm_stall_options options;
    const rgm_driver *driver;
    const rgm_cupti *cupti;
    rgm_activity_names names;
    rgm_source_lines lines;
    pid_t owner;
    int devices;
    rgm_cu_device handles[RGM_STALL_DEVICES];
    pthread_t thread;
    pthread_cond_t wake;
    pthread_mutex_t mutex; // of all below
    bool running, stop;
    int seen[RGM_STALL_DEVICES];
    rgm_stall_context contexts[RGM_STALL_DEVICES];
    bool own[RGM_STALL_DEVICES];     // what is sampled there is a context that the program made by itself
    bool counted[RGM_STALL_DEVICES]; // in state.devices
    rgm_cu_context made[MADE_MOST];
    size_t made_count;
    rgm_stall_state state;
};

// --- contexts ---------------------------------------------------------------------------------------------

static bool has_context(const rgm_stall_sampling *s, int ordinal) {
    unsigned flags;
    int active = 0;
    if (s->own[ordinal]) return true; // to its end, which is heard of
    return s->driver->primary_state(s->handles[ordinal], &flags, &active) == RGM_CU_SUCCESS && active;
}

static bool take_up(rgm_stall_sampling *s, int ordinal, rgm_cu_context context) {
    rgm_error err;
    rgm_stall_context *c = &s->contexts[ordinal];
    *c = (rgm_stall_context){.driver = s->driver,
                             .cupti = s->cupti,
                             .lines = &s->lines,
                             .context = context,
                             .device = (int16_t)ordinal,
                             .figures = c->figures};
    rgm_error_clear(&err);
    bool started = rgm_stall_context_start(c, &s->options.setting, s->names.sink, &err) == RGM_OK;
    s->seen[ordinal] = started ? SAMPLED : REFUSED;
    if (started && !s->counted[ordinal] && !s->state.devices++) s->state.period = c->period;
    s->counted[ordinal] |= started;
    if (!started && !s->state.reason[0])
        (void)snprintf(s->state.reason, sizeof s->state.reason, "%s", err.message);
    return started;
}

static void find_context(rgm_stall_sampling *s, int ordinal) {
    rgm_cu_context context;
    if (!has_context(s, ordinal)) return;
    if (s->driver->primary_retain(&context, s->handles[ordinal]) != RGM_CU_SUCCESS) return;
    if (!take_up(s, ordinal, context)) (void)s->driver->primary_release(s->handles[ordinal]);
}

static int ordinal_of(const rgm_stall_sampling *s, rgm_cu_context context) {
    rgm_cu_device device;
    rgm_cu_context left;
    if (s->driver->context_push(context) != RGM_CU_SUCCESS) return -1;
    bool known = s->driver->context_device(&device) == RGM_CU_SUCCESS;
    (void)s->driver->context_pop(&left);
    for (int i = 0; known && i < s->devices; i++)
        if (s->handles[i] == device) return i;
    return -1;
}

// One context of a device can be sampled: of several the first that is there. The others wait for its end.
static void find_made(rgm_stall_sampling *s) {
    size_t kept = 0;
    for (size_t i = 0; i < s->made_count; i++) {
        int ordinal = ordinal_of(s, s->made[i]);
        if (ordinal >= 0 && s->seen[ordinal] == UNSEEN) {
            s->own[ordinal] = take_up(s, ordinal, s->made[i]);
        } else if (ordinal >= 0 && s->contexts[ordinal].context != s->made[i]) {
            s->made[kept++] = s->made[i];
        }
    }
    s->made_count = kept;
}

static void forget(rgm_stall_sampling *s, rgm_cu_context context) {
    size_t kept = 0;
    for (size_t i = 0; i < s->made_count; i++)
        if (s->made[i] != context) s->made[kept++] = s->made[i];
    s->made_count = kept;
    for (int i = 0; i < s->devices; i++) {
        if (!s->own[i] || s->contexts[i].context != context) continue;
        rgm_stall_context_stop(&s->contexts[i], &s->names);
        s->own[i] = false;
        s->seen[i] = UNSEEN;
    }
}

// On the program's thread, from tracing.
static void hear_context(void *arg, rgm_cu_context context, bool made) {
    rgm_stall_sampling *s = arg;
    pthread_mutex_lock(&s->mutex);
    if (!made)
        forget(s, context);
    else if (s->made_count < MADE_MOST)
        s->made[s->made_count++] = context;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->mutex);
}

// True while a device has had no context yet.
static bool look(rgm_stall_sampling *s) {
    bool waiting = false;
    for (int i = 0; i < s->devices; i++) {
        if (s->seen[i] == UNSEEN) find_context(s, i);
        waiting |= s->seen[i] == UNSEEN;
    }
    find_made(s);
    return waiting;
}

static void collect(rgm_stall_sampling *s) {
    for (int i = 0; i < s->devices; i++)
        if (s->seen[i] == SAMPLED && has_context(s, i)) rgm_stall_context_collect(&s->contexts[i], &s->names);
}

static void *serve(void *arg) {
    rgm_stall_sampling *s = arg;
    int mode = RGM_CU_CAPTURE_MODE_RELAXED;
    // What CUPTI does here must not spoil a capture of another thread.
    if (s->driver->exchange_capture_mode) (void)s->driver->exchange_capture_mode(&mode);
    pthread_mutex_lock(&s->mutex);
    int64_t collected = rgm_clock_monotonic_ns();
    while (!s->stop) {
        bool waiting = look(s);
        int64_t now = rgm_clock_monotonic_ns();
        if (now - collected >= s->options.collect_ns) {
            collect(s);
            collected = now;
        }
        s->state.cpu_ns = rgm_thread_cpu_ns();
        int64_t pause = s->options.collect_ns - (now - collected);
        if (waiting && pause > s->options.look_ns) pause = s->options.look_ns;
        if (!s->stop) (void)rgm_cond_wait(&s->wake, &s->mutex, pause);
    }
    pthread_mutex_unlock(&s->mutex);
    return NULL;
}

// --- start and stop ---------------------------------------------------------------------------------------

static rgm_status check(const rgm_cupti *cupti, rgm_error *err) {
    rgm_tracing_stats tracing;
    if (!rgm_cupti_can(cupti, RGM_CUPTI_PC_SAMPLING) || cupti->version < RGM_CUPTI_PC_SAMPLING_FROM)
        return rgm_error_set(err, RGM_UNAVAILABLE,
                             "PC sampling: %s (API version %u) is too old; it needs CUPTI 12.4 or later: %s",
                             cupti->library.path, (unsigned)cupti->version, rgm_cupti_spec.remedy);
    if (cupti->version >= BESIDE_RECORDS_FROM) return RGM_OK;
    rgm_tracing_get_stats(&tracing);
    if (tracing.state != RGM_TRACING_RUNNING) return RGM_OK;
    return rgm_error_set(err, RGM_UNAVAILABLE,
                         "PC sampling: this CUPTI (API version %u) either records kernels or samples them; "
                         "use 12.8 Update 1 or later, or leave the recording of kernels out",
                         (unsigned)cupti->version);
}

static rgm_status prepare(rgm_stall_sampling *s, rgm_error *err) {
    RGM_TRY(rgm_driver_start(&s->driver, err));
    RGM_TRY(rgm_cupti_get(&s->cupti, s->driver, err));
    RGM_TRY(check(s->cupti, err));
    rgm_source_lines_start(&s->lines, s->cupti,
                           s->names.sink); // before the first context, and so before modules
    (void)snprintf(s->state.path, sizeof s->state.path, "%s", s->cupti->library.path);
    if (s->driver->device_count(&s->devices) != RGM_CU_SUCCESS) s->devices = 0;
    if (s->devices > RGM_STALL_DEVICES) s->devices = RGM_STALL_DEVICES;
    for (int i = 0; i < s->devices; i++)
        if (s->driver->device_get(&s->handles[i], i) != RGM_CU_SUCCESS) s->seen[i] = REFUSED;
    RGM_TRY(rgm_thread_start_deep(&s->thread, "rgm-stalls", serve, s, err));
    s->running = true;
    rgm_tracing_on_context(hear_context, s);
    return RGM_OK;
}

rgm_status rgm_stall_sampling_start(rgm_stall_sampling **out, const rgm_stall_options *options,
                                    rgm_device_sink sink, rgm_error *err) {
    *out = NULL;
    uint32_t period = options->setting.period;
    if ((period && (period < 5 || period > 31)) || !options->setting.most_pcs || options->look_ns < 1 ||
        options->collect_ns < 1)
        return rgm_error_set(err, RGM_INVALID,
                             "PC sampling: a period is 5 to 31, for 2^5 to 2^31 cycles between two samples");
    rgm_stall_sampling *s = rgm_calloc(1, sizeof *s);
    if (!s) return rgm_error_no_memory(err);
    s->options = *options;
    s->owner = getpid();
    rgm_activity_names_init(&s->names, sink);
    pthread_mutex_init(&s->mutex, NULL);
    rgm_cond_init(&s->wake);
    rgm_status status = prepare(s, err);
    if (status == RGM_OK)
        *out = s;
    else
        rgm_stall_sampling_stop(s, NULL);
    return status;
}

void rgm_stall_sampling_collect(rgm_stall_sampling *s) {
    if (!s || s->owner != getpid()) return;
    pthread_mutex_lock(&s->mutex);
    (void)look(s);
    collect(s);
    pthread_mutex_unlock(&s->mutex);
}

static void add_figures(rgm_stall_state *state, const rgm_stall_figures *f) {
    state->figures.samples += f->samples;
    state->figures.not_issued += f->not_issued;
    state->figures.total += f->total;
    state->figures.dropped += f->dropped;
    state->figures.no_record += f->no_record;
    state->figures.lines += f->lines;
    state->figures.full += f->full;
    state->figures.failures += f->failures;
}

static void read_state(const rgm_stall_sampling *s, rgm_stall_state *state) {
    *state = s->state;
    state->forked = s->owner != getpid();
    for (int i = 0; i < s->devices; i++) add_figures(state, &s->contexts[i].figures);
    state->asks_for_cubins = s->lines.on;
    if (s->lines.on && !state->forked) state->cubins = rgm_cubins_read();
}

void rgm_stall_sampling_read(rgm_stall_sampling *s, rgm_stall_state *state) {
    bool ours = s->owner == getpid(); // in a child the mutex may be held by nobody
    if (ours) pthread_mutex_lock(&s->mutex);
    read_state(s, state);
    if (ours) pthread_mutex_unlock(&s->mutex);
}

static void end_contexts(rgm_stall_sampling *s) {
    for (int i = 0; i < s->devices; i++) {
        if (s->seen[i] != SAMPLED) continue;
        if (!has_context(s, i)) continue; // the program has reset the device: there is nothing to end
        rgm_stall_context_stop(&s->contexts[i], &s->names);
        if (!s->own[i]) (void)s->driver->primary_release(s->handles[i]);
    }
}

void rgm_stall_sampling_stop(rgm_stall_sampling *s, rgm_stall_state *state) {
    if (!s) return;
    bool ours = s->owner == getpid();
    if (ours && s->running) {
        rgm_tracing_on_context(NULL, NULL);
        pthread_mutex_lock(&s->mutex);
        s->stop = true;
        pthread_cond_signal(&s->wake);
        pthread_mutex_unlock(&s->mutex);
        pthread_join(s->thread, NULL);
        (void)look(s); // of a program that ended before the thread came to run
        end_contexts(s);
    }
    if (state) read_state(s, state);
    for (int i = 0; i < s->devices; i++) rgm_stall_context_release(&s->contexts[i]);
    if (ours) {
        rgm_source_lines_stop(&s->lines);
        pthread_cond_destroy(&s->wake);
        pthread_mutex_destroy(&s->mutex);
    }
    rgm_source_lines_release(&s->lines);
    rgm_activity_names_release(&s->names);
    rgm_free(s);
}
