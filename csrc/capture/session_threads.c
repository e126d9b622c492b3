// SPDX-License-Identifier: Apache-2.0
// The threads of a session: the one that drains and looks around, and the one that samples.
#include "base/thread.h"
#include "capture/session.h"
#include "capture/session_state.h"

enum { POOL_MOST = 64 }; // blocks that wait for threads

// What else ran on the machine, by the drainer, or by whoever has joined it.
void rgm_session_take_pressure(rgm_session *session, bool last) {
    int64_t threads[RGM_PRESSURE_THREADS];
    size_t count = 0;
    rgm_pressure_row row;
    if (session->witness.interval_ns <= 0 || (!last && rgm_clock_monotonic_ns() < session->pressure.due_ns))
        return;
    int64_t begin_ns = rgm_thread_cpu_ns();
    pthread_mutex_lock(&session->state_mutex);
    for (rgm_recorder *r = session->recorders; r && count < RGM_PRESSURE_THREADS; r = r->next)
        if (!atomic_load(&r->orphaned))
            threads[count++] = session->threads[atomic_load(&r->thread_row)].thread;
    pthread_mutex_unlock(&session->state_mutex);
    int64_t interval_ns =
        2 * session->witness.interval_ns * atomic_load(&session->one_in[RGM_GOVERNED_machine]);
    if (rgm_pressure_read(&session->pressure, threads, count, interval_ns, &row))
        rgm_session_rows(session, RGM_LOG_PRESSURES, &row, 1);
    atomic_fetch_add(&session->pressure_cpu_ns, rgm_thread_cpu_ns() - begin_ns);
}

static void look_for_listeners(rgm_session *session) {
    unsigned found = rgm_listening_look(&session->listening);
    int64_t now_ns = rgm_clock_monotonic_ns();
    if (found & RGM_LISTENING_LOOP) rgm_session_value(session, RGM_LISTENING_SERIES, 1, now_ns);
    if (found & RGM_LISTENING_TO_ITSELF) rgm_session_value(session, RGM_ASKS_ITSELF_SERIES, 1, now_ns);
}

static void *drain_loop(void *arg) {
    rgm_session *session = arg;
    int64_t hot_seen = 0;
    pthread_mutex_lock(&session->state_mutex);
    while (!session->drainer_stop) {
        pthread_mutex_unlock(&session->state_mutex);
        int64_t hot = atomic_load(&session->hot_blocks), target = atomic_load(&session->pool_target);
        if (hot > hot_seen && target < POOL_MOST) atomic_store(&session->pool_target, target *= 2);
        hot_seen = hot;
        rgm_session_fill_pool(session, target);
        rgm_session_take_pressure(session, false);
        look_for_listeners(session);
        rgm_session_look_around(session, true);
        rgm_session_govern(session, rgm_clock_monotonic_ns());
        pthread_mutex_lock(&session->drain_mutex);
        rgm_session_drain(session, false);
        pthread_mutex_unlock(&session->drain_mutex);
        atomic_store_explicit(&session->drainer_cpu_ns, rgm_thread_cpu_ns(), memory_order_relaxed);
        pthread_mutex_lock(&session->state_mutex);
        if (!session->drainer_stop)
            rgm_cond_wait(&session->drainer_wake, &session->state_mutex, session->options.drain_interval_ns);
    }
    pthread_mutex_unlock(&session->state_mutex);
    return NULL;
}

void rgm_session_start_threads(rgm_session *session) {
    if (session->drainer_running) return;
    session->drainer_stop = false;
    // Without the thread recording still works: blocks come from the heap, the journal is written at stop.
    session->drainer_running =
        rgm_thread_start(&session->drainer, "rgm-drain", drain_loop, session, NULL) == RGM_OK;
    if (!session->drainer_running) rgm_session_note(session, RGM_ANOMALY_INTERNAL, 1);
    rgm_sampling_start(session);
}

void rgm_session_stop_threads(rgm_session *session) {
    pthread_mutex_lock(&session->state_mutex);
    bool running = session->drainer_running;
    session->drainer_stop = true;
    session->drainer_running = false;
    pthread_cond_signal(&session->drainer_wake);
    pthread_mutex_unlock(&session->state_mutex);
    rgm_sampling_stop(session);
    if (running) pthread_join(session->drainer, NULL);
}

void rgm_session_stacks(rgm_session *session, const rgm_stack_source *source) {
    pthread_mutex_lock(&session->state_mutex);
    session->stacks.source = session->options.stacks_interval_ns > 0 ? source : NULL;
    pthread_mutex_unlock(&session->state_mutex);
}

const char *rgm_session_stacks_refused(rgm_session *session) {
    const char *refused = atomic_load(&session->stacks.refused);
    return refused ? refused : "";
}

void rgm_session_resume(rgm_session *session) {
    pthread_mutex_lock(&session->state_mutex);
    if (session->stacks.source && session->sampling.forked && atomic_load(&session->id))
        rgm_session_start_threads(session);
    pthread_mutex_unlock(&session->state_mutex);
}
