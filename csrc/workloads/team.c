// SPDX-License-Identifier: Apache-2.0
#include "workloads/team.h"

#include <sched.h>

#include "base/thread.h"

enum {
    SPINS = 4000,   // some 10 us
    PARTS_EACH = 4, // of a job, for each thread: late ones take fewer
    OPEN = 1 << 30, // of the gate; the rest counts who has joined
    SLEEP_MS = 100, // a call to work is never missed; this bounds what a mistake would cost
};
static const int64_t sleep_ns = SLEEP_MS * INT64_C(1000000);

static inline void pause_briefly(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

unsigned rgm_team_processors(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    int count = CPU_COUNT(&set);
    if (count < 1) return 1;
    return count > RGM_TEAM_MOST ? RGM_TEAM_MOST : (unsigned)count;
}

static void take_parts(rgm_team *team) {
    for (;;) {
        size_t begin = atomic_fetch_add(&team->next, team->chunk);
        if (begin >= team->items) return;
        size_t left = team->items - begin;
        team->body(team->argument, begin, begin + (left < team->chunk ? left : team->chunk));
    }
}

static void wait_for_job(rgm_team *team, unsigned seen) {
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load(&team->job) != seen) return;
        pause_briefly();
    }
    pthread_mutex_lock(&team->mutex);
    while (atomic_load(&team->job) == seen) (void)rgm_cond_wait(&team->more, &team->mutex, sleep_ns);
    pthread_mutex_unlock(&team->mutex);
}

// Joins the job that is open, if one is.
static bool join(rgm_team *team) {
    unsigned gate = atomic_load(&team->gate);
    while (gate & OPEN)
        if (atomic_compare_exchange_weak(&team->gate, &gate, gate + 1)) return true;
    return false;
}

static void *work(void *argument) {
    rgm_team *team = argument;
    for (unsigned seen = 0;;) {
        wait_for_job(team, seen);
        seen = atomic_load(&team->job);
        if (atomic_load(&team->ended)) return NULL;
        if (!join(team)) continue;
        take_parts(team);
        atomic_fetch_sub(&team->gate, 1);
    }
}

static void call(rgm_team *team) {
    pthread_mutex_lock(&team->mutex);
    atomic_fetch_add(&team->job, 1);
    pthread_cond_broadcast(&team->more);
    pthread_mutex_unlock(&team->mutex);
}

void rgm_team_start(rgm_team *team, unsigned threads) {
    rgm_error err;
    *team = (rgm_team){.size = 1};
    pthread_mutex_init(&team->mutex, NULL);
    rgm_cond_init(&team->more);
    if (threads > RGM_TEAM_MOST) threads = RGM_TEAM_MOST;
    for (unsigned i = 1; i < threads; i++) {
        if (rgm_thread_start(&team->threads[i], "rgm-workload", work, team, &err) != RGM_OK) break;
        team->size++;
    }
}

void rgm_team_run(rgm_team *team, rgm_team_body body, void *argument, size_t items) {
    if (team->size == 1 || items == 1) {
        body(argument, 0, items);
        return;
    }
    team->body = body;
    team->argument = argument;
    team->items = items;
    team->chunk = items / ((size_t)team->size * PARTS_EACH);
    if (team->chunk == 0) team->chunk = 1;
    atomic_store(&team->next, 0);
    atomic_store(&team->gate, OPEN);
    call(team);
    take_parts(team);
    atomic_fetch_and(&team->gate, ~(unsigned)OPEN);
    for (int i = 0; atomic_load(&team->gate) > 0; i++) {
        if (i < SPINS)
            pause_briefly();
        else
            sched_yield();
    }
}

void rgm_team_stop(rgm_team *team) {
    atomic_store(&team->ended, true);
    call(team);
    for (unsigned i = 1; i < team->size; i++) pthread_join(team->threads[i], NULL);
    pthread_cond_destroy(&team->more);
    pthread_mutex_destroy(&team->mutex);
}
