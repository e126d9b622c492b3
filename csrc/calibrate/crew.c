// SPDX-License-Identifier: Apache-2.0
#include "calibrate/crew.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"

enum { SPINS = 1000 }; // then others may run

typedef struct {
    rgm_crew *crew;
    unsigned number;
    int64_t begin_ns, end_ns, cpu_ns;
    pthread_t thread;
} crew_member;

struct rgm_crew {
    pthread_mutex_t mutex;
    pthread_cond_t begun, done;
    uint64_t round; // under the mutex, like what follows
    unsigned finished;
    bool over;
    rgm_crew_work work;
    void *arg;
    atomic_uint arrived; // members that are awake and wait for the others
    unsigned count, started;
    crew_member members[];
};

// All members are awake before any begins, so that waking up is not in the time.
static void rendezvous(rgm_crew *crew, uint64_t round) {
    atomic_fetch_add(&crew->arrived, 1);
    unsigned wanted = (unsigned)(round * crew->count);
    for (unsigned spins = 1; atomic_load(&crew->arrived) != wanted; spins++)
        if (spins % SPINS == 0) sched_yield();
}

static int64_t thread_cpu_ns(void) {
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void *member_body(void *arg) {
    crew_member *self = arg;
    rgm_crew *crew = self->crew;
    uint64_t seen = 0;
    pthread_mutex_lock(&crew->mutex);
    for (;;) {
        while (crew->round == seen && !crew->over) pthread_cond_wait(&crew->begun, &crew->mutex);
        if (crew->over) break;
        seen = crew->round;
        pthread_mutex_unlock(&crew->mutex);
        rendezvous(crew, seen);
        int64_t cpu_ns = thread_cpu_ns();
        self->begin_ns = rgm_clock_monotonic_ns();
        crew->work(crew->arg, self->number);
        self->end_ns = rgm_clock_monotonic_ns();
        self->cpu_ns = thread_cpu_ns() - cpu_ns;
        pthread_mutex_lock(&crew->mutex);
        if (++crew->finished == crew->count) pthread_cond_signal(&crew->done);
    }
    pthread_mutex_unlock(&crew->mutex);
    return NULL;
}

// A failure to pin leaves the thread to the scheduler, which is what it had before.
static void pin_members(rgm_crew *crew) {
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) != (int)crew->count)
        return;
    int processor = -1;
    for (unsigned i = 0; i < crew->started; i++) {
        do processor++;
        while (!CPU_ISSET((size_t)processor, &allowed));
        CPU_ZERO(&one);
        CPU_SET((size_t)processor, &one);
        (void)pthread_setaffinity_np(crew->members[i].thread, sizeof one, &one);
    }
}

rgm_status rgm_crew_start(rgm_crew **made, unsigned members, rgm_error *err) {
    *made = NULL;
    if (members < 1 || members > RGM_CREW_MOST)
        return rgm_error_set(err, RGM_INVALID, "calibration: %u threads; 1 to %d are possible", members,
                             RGM_CREW_MOST);
    rgm_crew *crew = rgm_calloc(1, sizeof *crew + members * sizeof(crew_member));
    if (!crew) return rgm_error_no_memory(err);
    pthread_mutex_init(&crew->mutex, NULL);
    rgm_cond_init(&crew->begun);
    rgm_cond_init(&crew->done);
    crew->count = members;
    rgm_status status = RGM_OK;
    for (unsigned i = 0; status == RGM_OK && i < members; i++) {
        crew->members[i].crew = crew;
        crew->members[i].number = i;
        status =
            rgm_thread_start(&crew->members[i].thread, "rgm-calibrate", member_body, &crew->members[i], err);
        if (status == RGM_OK) crew->started++;
    }
    if (status == RGM_OK) {
        if (members > 1) pin_members(crew);
        *made = crew;
    } else {
        rgm_crew_end(crew);
    }
    return status;
}

// What a member lost: it began late, or was off its processor. Reading the clocks makes a little of neither.
static int64_t lost_ns(const crew_member *member, int64_t first_ns) {
    int64_t off_ns = member->end_ns - member->begin_ns - member->cpu_ns;
    return member->begin_ns - first_ns + (off_ns > 0 ? off_ns : 0);
}

static rgm_crew_time time_of(const rgm_crew *crew) {
    int64_t begin = crew->members[0].begin_ns, end = crew->members[0].end_ns, lost = 0;
    for (unsigned i = 1; i < crew->count; i++) {
        if (crew->members[i].begin_ns < begin) begin = crew->members[i].begin_ns;
        if (crew->members[i].end_ns > end) end = crew->members[i].end_ns;
    }
    for (unsigned i = 0; i < crew->count; i++) {
        int64_t own = lost_ns(&crew->members[i], begin);
        if (own > lost) lost = own;
    }
    int64_t wall = end > begin ? end - begin : 1;
    if (lost >= wall) lost = wall - 1;
    return (rgm_crew_time){.wall_ns = wall, .own_ns = wall - lost, .stolen = (double)lost / (double)wall};
}

rgm_crew_time rgm_crew_run(rgm_crew *crew, rgm_crew_work work, void *arg) {
    pthread_mutex_lock(&crew->mutex);
    crew->work = work;
    crew->arg = arg;
    crew->finished = 0;
    crew->round++;
    pthread_cond_broadcast(&crew->begun);
    while (crew->finished < crew->count) pthread_cond_wait(&crew->done, &crew->mutex);
    pthread_mutex_unlock(&crew->mutex);
    return time_of(crew);
}

unsigned rgm_crew_members(const rgm_crew *crew) { return crew->count; }

void rgm_crew_end(rgm_crew *crew) {
    if (!crew) return;
    pthread_mutex_lock(&crew->mutex);
    crew->over = true;
    pthread_cond_broadcast(&crew->begun);
    pthread_mutex_unlock(&crew->mutex);
    for (unsigned i = 0; i < crew->started; i++) pthread_join(crew->members[i].thread, NULL);
    pthread_cond_destroy(&crew->begun);
    pthread_cond_destroy(&crew->done);
    pthread_mutex_destroy(&crew->mutex);
    rgm_free(crew);
}
