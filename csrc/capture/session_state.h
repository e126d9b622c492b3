// SPDX-License-Identifier: Apache-2.0
// What the files of capture/ share of a session.
//
// Lock order: registry, drain, state, sampling, stacks, logs (in their order), strings, time. The drain lock
// covers everything that is on its way out (the recorders' drainer side, journal, `written`) and is held
// while files are written; the time lock covers the time base, which is asked by those who may not wait for a
// file; the state lock covers the rest.
#ifndef RGM_CAPTURE_SESSION_STATE_H
#define RGM_CAPTURE_SESSION_STATE_H

#include <pthread.h>

#include "capture/governor.h"
#include "capture/journal.h"
#include "capture/listening.h"
#include "capture/pressure.h"
#include "capture/row_log.h"
#include "capture/sampling.h"
#include "capture/session.h"
#include "capture/stack_sampler.h"
#include "capture/witness.h"

enum { SITES_PER_CHUNK = 256, MAX_SITE_CHUNKS = 4096, POOL_SLOTS = 4096 };

typedef struct {
    uint32_t strings;
    uint32_t sites;
    uint32_t threads;
    size_t anchors;
    bool environment;
} rgm_written;

struct rgm_session {
    _Atomic(uint64_t) id; // 0 once stopped
    uint64_t last_id;
    rgm_session *next; // in the registry
    rgm_session_options options;
    rgm_strings strings;
    rgm_text_budget
        metadata; // guarded by the strings' mutex; it differs from call to call where names do not
    rgm_queue pool;
    _Atomic(int64_t) blocks;
    _Atomic(int64_t) hot_blocks;
    _Atomic(int64_t) pool_target;
    _Atomic(int64_t) counters[RGM_ANOMALY_COUNT];
    _Atomic(uint64_t) own[RGM_OWN_COUNT]; // ticks

    pthread_mutex_t state_mutex;
    rgm_recorder *recorders;
    rgm_recorder *retired; // of before a fork: their frames may still be named by open scopes
    uint32_t recorder_count;
    rgm_thread_row *threads;
    uint32_t thread_count, thread_capacity;
    rgm_site *site_chunks[MAX_SITE_CHUNKS];
    _Atomic(uint32_t) site_count;
    uint32_t *site_slots; // site id + 1
    uint32_t site_mask;
    uint32_t sites_dirty; // first id whose row changed since it was written
    uint32_t threads_dirty;
    rgm_bytes environment;
    char warning[600];
    bool stopped;
    _Atomic(bool) without_roles; // snapshots are
    pthread_t drainer;
    bool drainer_running, drainer_stop;
    _Atomic(int64_t) drainer_cpu_ns;
    pthread_cond_t drainer_wake;
    rgm_sampling sampling;
    rgm_stack_sampler stacks;
    _Atomic(rgm_session_look) look; // in passing, NULL for none
    void *look_arg;
    rgm_governor governor; // of the drainer
    _Atomic(uint32_t) one_in[RGM_GOVERNED_COUNT];
    _Atomic(int64_t) pressure_cpu_ns; // part of drainer_cpu_ns

    rgm_witness_state witness;
    rgm_pressure_state pressure; // of the drainer; when it has ended, of who has joined it
    rgm_listening listening;     // of the drainer

    pthread_mutex_t time_mutex;
    rgm_timebase time;

    pthread_mutex_t drain_mutex;
    rgm_journal journal;
    char *path; // as asked for; NULL records in memory
    bool journal_on;
    _Atomic(bool) journalling; // the same, for those who do not hold the drain lock
    bool journal_void;         // a reset could not be written to it, so what is in it has been forgotten
    bool stalled;              // the last write failed, of a full disk for one
    bool stall_told;
    int64_t retry_ns;            // while stalled, when to try again
    _Atomic(bool) child_pending; // forked: the first scope opens a file of the child's own
    rgm_written written;
    rgm_bytes buffer;
    rgm_open_scope open[RGM_OPEN_SCOPES_SEEN]; // scratch
    uint64_t drained_records;                  // records that have left memory for the journal

    rgm_row_log logs[RGM_LOG_COUNT];
};

static inline rgm_site *rgm_session_site_at(const rgm_session *session, uint32_t id) {
    return &session->site_chunks[id / SITES_PER_CHUNK][id % SITES_PER_CHUNK];
}

static inline void rgm_session_journal(rgm_session *session, bool on) {
    session->journal_on = on;
    atomic_store_explicit(&session->journalling, on, memory_order_relaxed);
}

// session.c
void rgm_session_warn(rgm_session *session, const char *format, ...) RGM_PRINTF(2, 3);
void rgm_session_alarm(void);
void rgm_session_look_around(rgm_session *session, bool may_wait);
void rgm_session_open_child(rgm_session *session); // in a forked child, the file of its own, once
// session_threads.c
void rgm_session_start_threads(rgm_session *session); // under the state lock
void rgm_session_stop_threads(rgm_session *session);
void rgm_session_take_pressure(rgm_session *session, bool last);
// session_fork.c
void rgm_session_watch_forks(void);              // any number of times
void rgm_session_register(rgm_session *session); // gives it its id; forks see it from now on
void rgm_session_unregister(rgm_session *session);
rgm_recorder *rgm_session_recorders(rgm_session *session); // extent.c; the list only grows at its head
rgm_site_row rgm_site_row_of(const rgm_site *site);        // sites.c
void rgm_session_give_block(rgm_session *session, rgm_block *block); // pool.c
void rgm_session_fill_pool(rgm_session *session, int64_t blocks);
// governed.c; the first by the drainer alone
void rgm_session_govern(rgm_session *session, int64_t now_ns);
void rgm_session_govern_anew(rgm_session *session);
void rgm_session_value(rgm_session *session, const char *name, double value, int64_t now_ns); // a counter
// drain.c, each under the drain lock
bool rgm_session_is_stopped(rgm_session *session);
int64_t rgm_session_counter(rgm_session *session, rgm_anomaly code); // total so far
void rgm_session_drain(rgm_session *session, bool closing);
void rgm_session_anchor(rgm_session *session, bool now);
void rgm_session_time_forget(rgm_session *session); // begins anew, with one anchor

#endif
