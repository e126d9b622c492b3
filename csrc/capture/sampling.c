// SPDX-License-Identifier: Apache-2.0
#include "capture/sampling.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/thread.h"
#include "capture/session_state.h"

// When what is looked at next, INT64_MAX: never.
typedef struct {
    int64_t stacks_ns, memory_ns;
} due;

static int64_t rarer(int64_t interval_ns, _Atomic(uint32_t) *one_in) {
    uint32_t looks = atomic_load(one_in);
    return looks > 1 ? interval_ns * looks : interval_ns;
}

// From half the interval to one and a half.
static int64_t next_pause(rgm_session *session) {
    rgm_sampling *sampling = &session->sampling;
    int64_t interval_ns = rarer(session->options.stacks_interval_ns, &sampling->stacks_one_in);
    sampling->random = rgm_hash_u64(sampling->random + 1);
    return interval_ns / 2 + (int64_t)(sampling->random % (uint64_t)(interval_ns > 0 ? interval_ns : 1));
}

// How far apart two looks may be due that are taken together.
static int64_t nearness(rgm_session *session) {
    rgm_sampling *sampling = &session->sampling;
    int64_t stacks_ns = rarer(session->options.stacks_interval_ns, &sampling->stacks_one_in);
    int64_t memory_ns = rarer(sampling->memory_interval_ns, &sampling->memory_one_in);
    return (stacks_ns < memory_ns ? stacks_ns : memory_ns) / 2;
}

static int64_t next_waking(rgm_session *session, const due *next) {
    int64_t first = next->stacks_ns, last = next->memory_ns;
    bool together = first < INT64_MAX && last < first && first - last <= nearness(session);
    return together || first < last ? first : last;
}

static void look_at_memory(rgm_session *session) {
    rgm_sample sample;
    if (rgm_memory_look(&session->sampling.memory, &sample))
        rgm_session_rows(session, RGM_LOG_SAMPLES, &sample, 1);
}

static void look_at_stacks(rgm_session *session, due *next, int64_t now_ns) {
    bool more = rgm_stack_sampler_look(&session->stacks);
    rgm_witness_beside(session);
    rgm_session_look_around(session, false);
    next->stacks_ns += next_pause(session);
    if (next->stacks_ns < now_ns) // held up: what was due is gone
        next->stacks_ns = now_ns + next_pause(session);
    if (!more) next->stacks_ns = INT64_MAX;
}

// Adds what the thread has spent since the last time to one of the two.
static void book(_Atomic(int64_t) *spent_ns, int64_t *booked_ns) {
    int64_t cpu_ns = rgm_thread_cpu_ns();
    atomic_fetch_add_explicit(spent_ns, cpu_ns - *booked_ns, memory_order_relaxed);
    *booked_ns = cpu_ns;
}

// One waking, which is the stacks' where they are due: without the memory it would be taken all the same. The
// memory first, under the lock, so that who sets its interval knows that the last look at the old one has
// been taken.
static void look(rgm_session *session, due *next, int64_t now_ns, int64_t *booked_ns) {
    rgm_sampling *sampling = &session->sampling;
    bool stacks = now_ns >= next->stacks_ns;
    if (stacks) book(&sampling->stacks_cpu_ns, booked_ns);
    if (next->memory_ns < INT64_MAX && now_ns >= next->memory_ns - (stacks ? nearness(session) : 0)) {
        look_at_memory(session);
        next->memory_ns = now_ns + rarer(sampling->memory_interval_ns, &sampling->memory_one_in);
        book(&sampling->memory_cpu_ns, booked_ns);
    }
    if (!stacks) return;
    pthread_mutex_unlock(&sampling->mutex);
    look_at_stacks(session, next, now_ns);
    book(&sampling->stacks_cpu_ns, booked_ns);
    pthread_mutex_lock(&sampling->mutex);
}

static void *sampling_loop(void *arg) {
    rgm_session *session = arg;
    rgm_sampling *sampling = &session->sampling;
    int64_t booked_ns = 0, interval_ns = 0;
    due next = {.stacks_ns = INT64_MAX, .memory_ns = INT64_MAX};
    if (session->stacks.source && rgm_stack_sampler_open(&session->stacks))
        next.stacks_ns = rgm_clock_monotonic_ns() + next_pause(session);
    pthread_mutex_lock(&sampling->mutex);
    while (!sampling->stop) {
        int64_t now_ns = rgm_clock_monotonic_ns();
        if (sampling->memory_interval_ns != interval_ns) {
            interval_ns = sampling->memory_interval_ns;
            next.memory_ns = interval_ns > 0 ? now_ns : INT64_MAX;
        }
        int64_t waking_ns = next_waking(session, &next);
        if (now_ns < waking_ns)
            rgm_cond_wait(&sampling->wake, &sampling->mutex, waking_ns - now_ns);
        else
            look(session, &next, now_ns, &booked_ns);
    }
    if (sampling->memory_interval_ns > 0) look_at_memory(session);
    book(&sampling->memory_cpu_ns, &booked_ns);
    pthread_mutex_unlock(&sampling->mutex);
    rgm_stack_sampler_close(&session->stacks);
    return NULL;
}

// --- life -------------------------------------------------------------------------------------------------

void rgm_sampling_init(rgm_sampling *sampling, int64_t memory_interval_ns, int64_t heartbeat_ns) {
    pthread_mutex_init(&sampling->mutex, NULL);
    rgm_cond_init(&sampling->wake);
    sampling->memory_interval_ns = memory_interval_ns;
    sampling->memory.heartbeat_ns = heartbeat_ns;
}

void rgm_sampling_release(rgm_sampling *sampling) {
    pthread_cond_destroy(&sampling->wake);
    pthread_mutex_destroy(&sampling->mutex);
}

static bool begin_stacks(rgm_session *session) {
    if (!session->stacks.source) return false;
    if (rgm_stack_sampler_begin(&session->stacks, session) == RGM_OK) return true;
    session->stacks.source = NULL;
    rgm_session_note(session, RGM_ANOMALY_INTERNAL, 1);
    return false;
}

static bool begin_memory(rgm_session *session) {
    if (session->sampling.memory_interval_ns <= 0) return false;
    if (rgm_memory_resident() >= 0) return true;
    rgm_session_note(session, RGM_ANOMALY_INTERNAL, 1); // /proc/self/statm cannot be read
    return false;
}

void rgm_sampling_start(rgm_session *session) {
    rgm_sampling *sampling = &session->sampling;
    pthread_mutex_lock(&sampling->mutex);
    bool memory = !sampling->running && begin_memory(session);
    if (!sampling->running && (begin_stacks(session) || memory)) {
        sampling->stop = false;
        sampling->random = rgm_clock_ticks();
        sampling->running =
            rgm_thread_start(&sampling->thread, "rgm-samples", sampling_loop, session, NULL) == RGM_OK;
        if (!sampling->running) rgm_session_note(session, RGM_ANOMALY_INTERNAL, 1);
    }
    pthread_mutex_unlock(&sampling->mutex);
}

void rgm_sampling_stop(rgm_session *session) {
    rgm_sampling *sampling = &session->sampling;
    pthread_mutex_lock(&sampling->mutex);
    bool running = sampling->running;
    sampling->running = false;
    sampling->stop = true;
    pthread_cond_signal(&sampling->wake);
    pthread_mutex_unlock(&sampling->mutex);
    if (!running) return;
    pthread_join(sampling->thread, NULL);
    rgm_stack_sampler_end(&session->stacks);
}

void rgm_session_sampling(rgm_session *session, int64_t interval_ns) {
    rgm_sampling *sampling = &session->sampling;
    pthread_mutex_lock(&session->state_mutex);
    pthread_mutex_lock(&sampling->mutex);
    if (sampling->running && sampling->memory_interval_ns > 0) look_at_memory(session);
    sampling->memory_interval_ns = interval_ns;
    sampling->memory.told_ns = 0;
    pthread_cond_signal(&sampling->wake);
    pthread_mutex_unlock(&sampling->mutex);
    if (session->recorders && !session->stopped) rgm_sampling_start(session);
    pthread_mutex_unlock(&session->state_mutex);
}

void rgm_sampling_forked(rgm_session *session) {
    rgm_sampling *sampling = &session->sampling;
    sampling->forked = sampling->running && session->stacks.source;
    sampling->running = false;
    sampling->memory.told_ns = 0;
    atomic_store(&sampling->stacks_cpu_ns, 0);
    atomic_store(&sampling->memory_cpu_ns, 0);
    pthread_mutex_init(&sampling->mutex, NULL); // the thread that may have held it is the parent's
    rgm_cond_init(&sampling->wake);
}
