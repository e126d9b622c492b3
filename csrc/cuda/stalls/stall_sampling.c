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
#include "cuda/stalls/stall_devices.h"
#include "cuda/trace/subscription.h"
#include "cuda/trace/tracing.h"

// Version of the interface (12.8) before which the records of kernels exclude PC sampling.
enum { BESIDE_RECORDS_FROM = 26, ENDED_MOST = 64 };
static const int64_t forever_ns = INT64_C(31536000) * 1000000000;

struct rgm_stall_sampling {
    rgm_stall_options options;
    rgm_activity_names names;
    rgm_source_lines lines;
    pid_t owner;
    rgm_subscription subscription; // its own, where tracing does not tell of contexts
    bool by_tracing, listening, running;
    char untold[256]; // why nobody tells of contexts, "" where somebody does
    pthread_t thread;

    pthread_mutex_t mutex; // of what follows; never held in a call of anybody
    pthread_cond_t wake, turn_ends;
    bool stop, taken; // taken: the turn, by `taker`
    pthread_t taker;
    rgm_cu_context ended[ENDED_MOST]; // while another had the turn
    size_t ended_count;
    bool ended_more;
    int64_t missed;

    // Of who has the turn, which is kept in calls of CUPTI and of the driver.
    rgm_stall_devices devices;
    bool closed;
    int64_t cpu_ns;
};

// --- turns ------------------------------------------------------------------------------------------------

// What ended while another had the turn is not called any more.
static void forget_ended(rgm_stall_sampling *s) {
    for (size_t i = 0; i < s->ended_count; i++) rgm_stall_devices_forget(&s->devices, s->ended[i]);
    if (s->ended_more) rgm_stall_devices_forget_untold(&s->devices);
    s->ended_count = 0;
    s->ended_more = false;
}

// False where the time has passed, and at once for who has it already.
static bool take_turn(rgm_stall_sampling *s, int64_t wait_ns) {
    int64_t until = rgm_clock_monotonic_ns() + wait_ns, left = wait_ns;
    pthread_mutex_lock(&s->mutex);
    while (s->taken && left > 0 && !pthread_equal(s->taker, pthread_self())) {
        (void)rgm_cond_wait(&s->turn_ends, &s->mutex, left);
        left = until - rgm_clock_monotonic_ns();
    }
    bool mine = !s->taken;
    if (mine) {
        s->taken = true;
        s->taker = pthread_self();
        forget_ended(s);
    }
    pthread_mutex_unlock(&s->mutex);
    return mine;
}

static void end_turn(rgm_stall_sampling *s) {
    pthread_mutex_lock(&s->mutex);
    s->taken = false;
    pthread_cond_signal(&s->turn_ends);
    pthread_mutex_unlock(&s->mutex);
}

// --- contexts ---------------------------------------------------------------------------------------------

static void miss(rgm_stall_sampling *s, rgm_cu_context context, bool made) {
    pthread_mutex_lock(&s->mutex);
    if (made)
        s->missed += !pthread_equal(s->taker, pthread_self()); // of its own calls it knows
    else if (s->ended_count < ENDED_MOST)
        s->ended[s->ended_count++] = context;
    else
        s->ended_more = true;
    pthread_mutex_unlock(&s->mutex);
}

// In a call of the program's. Who has the turn may wait in CUPTI for what this thread holds, so its end is
// not waited for for ever.
static void hear_context(void *arg, rgm_cu_context context, bool made) {
    rgm_stall_sampling *s = arg;
    if (!take_turn(s, s->options.turn_ns)) {
        miss(s, context, made);
        return;
    }
    if (!s->closed && made)
        rgm_stall_devices_made(&s->devices, context);
    else if (!s->closed)
        rgm_stall_devices_ends(&s->devices, context);
    end_turn(s);
}

static rgm_cupti_result subscribe(rgm_stall_sampling *s) {
    const rgm_cupti *cupti = s->devices.cupti;
    static const uint32_t events[] = {RGM_CUPTI_CONTEXT_CREATED, RGM_CUPTI_CONTEXT_ENDS};
    rgm_cupti_result result =
        rgm_subscription_open(&s->subscription, cupti, RGM_SUBSCRIBE_ALONE, rgm_tracing_hear_context);
    for (size_t i = 0; i < sizeof events / sizeof *events && result == RGM_CUPTI_SUCCESS; i++)
        result = cupti->enable_callback(1, s->subscription.handle, RGM_CUPTI_RESOURCE, events[i]);
    if (result != RGM_CUPTI_SUCCESS) rgm_subscription_close(&s->subscription);
    return result;
}

static rgm_status listen(rgm_stall_sampling *s, rgm_error *err) {
    s->listening = rgm_tracing_on_context(hear_context, s);
    if (!s->listening)
        return rgm_error_set(err, RGM_UNAVAILABLE,
                             "PC sampling: another profiler of this process samples stalls; close it first");
    s->by_tracing = rgm_tracing_tells_of_contexts();
    rgm_cupti_result result = s->by_tracing ? RGM_CUPTI_SUCCESS : subscribe(s);
    if (rgm_subscription_is_taken(result))
        (void)snprintf(
            s->untold, sizeof s->untold,
            "PC sampling: CUPTI's callbacks belong to another tool of the process, so contexts that "
            "are made after the profiler cannot be seen, and there was none before");
    else if (result != RGM_CUPTI_SUCCESS)
        (void)snprintf(
            s->untold, sizeof s->untold,
            "PC sampling: CUPTI does not tell of contexts that are made after the profiler (%s), and "
            "there was none before",
            rgm_cupti_result_text(s->devices.cupti, result));
    return RGM_OK;
}

static void stop_listening(rgm_stall_sampling *s) {
    if (!s->listening) return;
    rgm_tracing_off_context(s);
    rgm_subscription_close(&s->subscription);
    s->listening = false;
}

// Of those that tracing told of nothing is heard once it has ended.
static void forget_untold(rgm_stall_sampling *s) {
    if (s->by_tracing && !rgm_tracing_tells_of_contexts()) rgm_stall_devices_forget_untold(&s->devices);
}

// --- the thread -------------------------------------------------------------------------------------------

static void *serve(void *arg) {
    rgm_stall_sampling *s = arg;
    const rgm_driver *driver = s->devices.driver;
    int mode = RGM_CU_CAPTURE_MODE_RELAXED;
    // What CUPTI does here must not spoil a capture of another thread.
    if (driver->exchange_capture_mode) (void)driver->exchange_capture_mode(&mode);
    pthread_mutex_lock(&s->mutex);
    while (!s->stop) {
        (void)rgm_cond_wait(&s->wake, &s->mutex, s->options.collect_ns);
        if (s->stop) break;
        pthread_mutex_unlock(&s->mutex);
        if (take_turn(s, forever_ns)) {
            forget_untold(s);
            rgm_stall_devices_collect(&s->devices);
            s->cpu_ns = rgm_thread_cpu_ns();
            end_turn(s);
        }
        pthread_mutex_lock(&s->mutex);
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
    rgm_stall_devices *d = &s->devices;
    RGM_TRY(rgm_driver_start(&d->driver, err));
    RGM_TRY(rgm_cupti_get(&d->cupti, d->driver, err));
    RGM_TRY(check(d->cupti, err));
    // Before the first context, and so before modules.
    rgm_source_lines_start(&s->lines, d->cupti, s->names.sink);
    rgm_stall_devices_read(d);
    RGM_TRY(listen(s, err));
    if (take_turn(s, forever_ns)) {
        rgm_stall_devices_look(d);
        end_turn(s);
    }
    RGM_TRY(rgm_thread_start_deep(&s->thread, "rgm-stalls", serve, s, err));
    s->running = true;
    return RGM_OK;
}

rgm_status rgm_stall_sampling_start(rgm_stall_sampling **out, const rgm_stall_options *options,
                                    rgm_device_sink sink, rgm_error *err) {
    *out = NULL;
    uint32_t period = options->setting.period;
    if ((period && (period < 5 || period > 31)) || !options->setting.most_pcs || options->turn_ns < 0 ||
        options->collect_ns < 1)
        return rgm_error_set(err, RGM_INVALID,
                             "PC sampling: a period is 5 to 31, for 2^5 to 2^31 cycles between two samples");
    rgm_stall_sampling *s = rgm_calloc(1, sizeof *s);
    if (!s) return rgm_error_no_memory(err);
    s->options = *options;
    s->owner = getpid();
    rgm_activity_names_init(&s->names, sink);
    s->devices = (rgm_stall_devices){.setting = options->setting, .lines = &s->lines, .names = &s->names};
    pthread_mutex_init(&s->mutex, NULL);
    rgm_cond_init(&s->wake);
    rgm_cond_init(&s->turn_ends);
    rgm_status status = prepare(s, err);
    if (status == RGM_OK)
        *out = s;
    else
        rgm_stall_sampling_stop(s, NULL);
    return status;
}

// Where nobody tells of contexts, they are looked for.
void rgm_stall_sampling_collect(rgm_stall_sampling *s) {
    if (!s || s->owner != getpid() || !take_turn(s, forever_ns)) return;
    forget_untold(s);
    if (s->untold[0]) rgm_stall_devices_look(&s->devices);
    rgm_stall_devices_collect(&s->devices);
    end_turn(s);
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

static const char *reason_of(const rgm_stall_sampling *s) {
    if (s->devices.reason[0] || s->devices.sampled) return s->devices.reason;
    if (s->untold[0]) return s->untold;
    return s->missed
               ? "PC sampling: a context was made while samples of another were being collected, for too "
                 "long to be waited for, and is not sampled"
               : "";
}

static void read_state(const rgm_stall_sampling *s, rgm_stall_state *state) {
    const rgm_stall_devices *d = &s->devices;
    *state = (rgm_stall_state){.forked = s->owner != getpid(),
                               .devices = d->sampled,
                               .period = d->period,
                               .missed = s->missed + d->no_place,
                               .cpu_ns = s->cpu_ns,
                               .asks_for_cubins = s->lines.on};
    for (int i = 0; i < d->count; i++) add_figures(state, &d->contexts[i].figures);
    (void)snprintf(state->reason, sizeof state->reason, "%s", reason_of(s));
    if (d->cupti) (void)snprintf(state->path, sizeof state->path, "%s", d->cupti->library.path);
    if (s->lines.on && !state->forked) state->cubins = rgm_cubins_read();
}

void rgm_stall_sampling_read(rgm_stall_sampling *s, rgm_stall_state *state) {
    // In a child nobody ends the turn that another thread of the parent had.
    bool mine = s->owner == getpid() && take_turn(s, forever_ns);
    if (mine) pthread_mutex_lock(&s->mutex);
    read_state(s, state);
    if (mine) pthread_mutex_unlock(&s->mutex);
    if (mine) end_turn(s);
}

// Contexts are heard of until none is sampled any more, so that none ends in a call.
static void end(rgm_stall_sampling *s) {
    pthread_mutex_lock(&s->mutex);
    s->stop = true;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->mutex);
    if (s->running) pthread_join(s->thread, NULL);
    if (take_turn(s, forever_ns)) {
        forget_untold(s);
        rgm_stall_devices_stop(&s->devices);
        s->closed = true;
        end_turn(s);
    }
    stop_listening(s);
}

void rgm_stall_sampling_stop(rgm_stall_sampling *s, rgm_stall_state *state) {
    if (!s) return;
    bool ours = s->owner == getpid();
    if (ours) end(s);
    if (state) read_state(s, state);
    rgm_stall_devices_release(&s->devices);
    if (ours) {
        rgm_source_lines_stop(&s->lines);
        pthread_cond_destroy(&s->wake);
        pthread_cond_destroy(&s->turn_ends);
        pthread_mutex_destroy(&s->mutex);
    }
    rgm_source_lines_release(&s->lines);
    rgm_activity_names_release(&s->names);
    rgm_free(s);
}
