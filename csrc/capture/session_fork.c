// SPDX-License-Identifier: Apache-2.0
// Sessions of the process, and a fork of it: all locks are held over it, the parent's sessions go on, those
// of the child begin anew in what is left of them.
#include <math.h>

#include "base/fork.h"
#include "base/memory.h"
#include "base/thread.h"
#include "capture/session_state.h"
#include "capture/turns.h"

static pthread_mutex_t registry_mutex = PTHREAD_MUTEX_INITIALIZER;
static rgm_session *registry;
static _Atomic(uint64_t) id_source = 1;

static struct {
    uint64_t ticks;
    int64_t cpu_ns, wall_ns;
} fork_began; // under the registry's lock

static void fork_prepare(void) {
    pthread_mutex_lock(&registry_mutex);
    for (rgm_session *s = registry; s; s = s->next) {
        uint64_t begin = rgm_clock_ticks();
        pthread_mutex_lock(&s->drain_mutex);
        pthread_mutex_lock(&s->state_mutex);
        rgm_stack_sampler_hold(&s->stacks);
        for (int log = 0; log < RGM_LOG_COUNT; log++) pthread_mutex_lock(&s->logs[log].mutex);
        pthread_mutex_lock(&s->strings.mutex);
        pthread_mutex_lock(&s->time_mutex);
        rgm_session_own(s, RGM_OWN_forks, rgm_clock_ticks() - begin);
    }
    fork_began.ticks = rgm_clock_ticks();
    fork_began.cpu_ns = rgm_thread_cpu_ns();
    fork_began.wall_ns = rgm_clock_monotonic_ns();
}

static void fork_unlock(void) {
    for (rgm_session *s = registry; s; s = s->next) {
        pthread_mutex_unlock(&s->time_mutex);
        pthread_mutex_unlock(&s->strings.mutex);
        for (int log = RGM_LOG_COUNT; log-- > 0;) pthread_mutex_unlock(&s->logs[log].mutex);
        rgm_stack_sampler_release_hold(&s->stacks);
        pthread_mutex_unlock(&s->state_mutex);
        pthread_mutex_unlock(&s->drain_mutex);
    }
    pthread_mutex_unlock(&registry_mutex);
}

// A fork takes as long as there are pages to be shared with the child: a session has cost its blocks' part of
// the processor time. Elapsed time would count the child's, which often runs first.
static void fork_parent(void) {
    double ticks = (double)(rgm_clock_ticks() - fork_began.ticks);
    double busy = (double)(rgm_thread_cpu_ns() - fork_began.cpu_ns);
    double wall = (double)(rgm_clock_monotonic_ns() - fork_began.wall_ns);
    int64_t held = registry ? rgm_memory_private() : -1;
    for (rgm_session *s = registry; s && held > 0 && wall > 0; s = s->next) {
        double share = (double)atomic_load(&s->blocks) * sizeof(rgm_block) / (double)held;
        rgm_session_own(s, RGM_OWN_forks, (uint64_t)(ticks * fmin(busy / wall, 1) * fmin(share, 1)));
    }
    fork_unlock();
}

// What the parent's recorders hold stays the parent's; only their frames are kept, closed, because scopes
// that were open at the fork still name them.
static void child_retire(rgm_session *s, rgm_recorder *r) {
    atomic_store(&r->session_id, RGM_SESSION_ENDED);
    for (rgm_track *t = atomic_load(&r->tracks); t; t = t->next)
        for (rgm_frame *f = atomic_load(&t->top); f; f = atomic_load(&f->parent))
            atomic_store(&f->closed, true);
    for (rgm_block *block = r->first, *next; block; block = next) {
        next = atomic_load(&block->next);
        rgm_free(block);
    }
    r->first = r->block = NULL;
    r->next = s->retired;
    s->retired = r;
}

static void child_reset(rgm_session *s) {
    uint64_t begin = rgm_clock_ticks();
    while (s->recorders) {
        rgm_recorder *r = s->recorders;
        s->recorders = r->next;
        child_retire(s, r);
    }
    rgm_queue_reset(&s->pool, rgm_free); // threads of the parent may have been at it without a lock
    atomic_store(&s->blocks, 0);
    atomic_store(&s->hot_blocks, 0);
    for (int code = 0; code < RGM_ANOMALY_COUNT; code++) atomic_store(&s->counters[code], 0);
    for (int what = 0; what < RGM_OWN_COUNT; what++) atomic_store(&s->own[what], 0);
    atomic_store(&s->drainer_cpu_ns, 0);
    atomic_store(&s->pressure_cpu_ns, 0);
    for (uint32_t id = 0; id < atomic_load(&s->site_count); id++)
        atomic_store(&rgm_session_site_at(s, id)->skipped, 0);
    s->recorder_count = 0;
    s->thread_count = 0;
    for (int log = 0; log < RGM_LOG_COUNT; log++) rgm_row_log_forget(&s->logs[log]);
    s->drained_records = 0;
    s->warning[0] = '\0';
    rgm_timebase_release(&s->time);
    // Under the lock of the fork. Without memory for it the next drain tries again.
    rgm_anchor anchor = rgm_clock_anchor();
    if (rgm_timebase_add(&s->time, anchor, NULL) != RGM_OK) rgm_session_note(s, RGM_ANOMALY_INTERNAL, 1);
    rgm_witness_start(&s->witness, s->options.witness_interval_ns, anchor);
    rgm_pressure_reset(&s->pressure);
    rgm_listening_reset(&s->listening);
    rgm_bytes_reset(&s->buffer);
    rgm_journal_close(&s->journal);
    rgm_session_journal(s, false);
    s->journal_void = false;
    s->stalled = s->stall_told = false;
    atomic_store(&s->child_pending, s->path && atomic_load(&s->id));
    s->drainer_running = false;
    rgm_sampling_forked(s);
    rgm_stack_sampler_forked(&s->stacks);
    rgm_session_govern_anew(s);
    rgm_cond_init(&s->drainer_wake);
    if (atomic_load(&s->id)) atomic_store(&s->id, s->last_id = atomic_fetch_add(&id_source, 1));
    rgm_session_own(s, RGM_OWN_forks, rgm_clock_ticks() - begin);
}

static void fork_child(void) {
    rgm_memory_reopen();
    rgm_turns_forget();
    for (rgm_session *s = registry; s; s = s->next) child_reset(s);
    fork_unlock();
}

static const rgm_fork_hooks hooks = {fork_prepare, fork_parent, fork_child};

void rgm_session_watch_forks(void) { rgm_fork_watch(RGM_FORK_SESSIONS, &hooks); }

void rgm_session_register(rgm_session *session) {
    atomic_store(&session->id, session->last_id = atomic_fetch_add(&id_source, 1));
    pthread_mutex_lock(&registry_mutex);
    session->next = registry;
    registry = session;
    pthread_mutex_unlock(&registry_mutex);
}

void rgm_session_unregister(rgm_session *session) {
    pthread_mutex_lock(&registry_mutex);
    for (rgm_session **link = &registry; *link; link = &(*link)->next) {
        if (*link != session) continue;
        *link = session->next;
        break;
    }
    pthread_mutex_unlock(&registry_mutex);
}
