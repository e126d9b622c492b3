// SPDX-License-Identifier: Apache-2.0
#include "cuda/trace/tracing_watch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fork.h"
#include "base/memory.h"
#include "base/thread.h"
#include "base/tokens.h"
#include "cuda/library/driver.h"

struct rgm_tracing_watch {
    rgm_tracing_watch *next;
    rgm_device_sink sink;
    rgm_tracing_options options;
    _Atomic(int) phase;         // rgm_watch_phase
    _Atomic(int64_t) unused_ns; // when the driver was last seen not to be initialised
    _Atomic(uint64_t) loaded;   // of rgm_driver_used
    _Atomic(int64_t) cpu_ns;
    pthread_mutex_t mutex;  // of what follows
    pthread_cond_t changed; // the phase, from STARTING on
    int64_t started_ns, yielded_ns;
    bool context_before;
    bool at_once; // the driver was in use before the wait: what was then is not missed
    bool thread_made;
    _Atomic(bool)
        given_up; // the start, whose thread goes on: the last of it and of free gives the memory back
    bool ended;   // that thread, or the watch's life
    pthread_t thread;
    char reason[512];
};

// Guards what follows; held over a fork, and taken before the locks of tracing and of a sink.
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_cond_t start_ended;
static int starting; // threads in a start
static rgm_tracing_watch *watches;

// Beyond CUPTI's first start, which takes up to some seconds.
static const int64_t start_most_ns = INT64_C(5000000000);

static const char taken_by_profiler[] =
    "another profiler of the program asked for kernels, and has them from then on";
static const char taken_by_tool[] = "another tool of the program has taken CUPTI's records over";

static int phase_of(const rgm_tracing_watch *watch) {
    return atomic_load_explicit(&watch->phase, memory_order_relaxed);
}

static bool move(rgm_tracing_watch *watch, rgm_watch_phase from, rgm_watch_phase to) {
    int expected = (int)from;
    return atomic_compare_exchange_strong(&watch->phase, &expected, (int)to);
}

// Under the watch's lock.
static void enter(rgm_tracing_watch *watch, rgm_watch_phase phase, const char *reason) {
    (void)snprintf(watch->reason, sizeof watch->reason, "%s", reason);
    atomic_store(&watch->phase, (int)phase);
    pthread_cond_broadcast(&watch->changed);
}

// --- fork -------------------------------------------------------------------------------------------------

// Under the lock, which is let go meanwhile.
static void wait_for_starts(int64_t deadline_ns) {
    for (int64_t left; starting && (left = deadline_ns - rgm_clock_monotonic_ns()) > 0;)
        (void)rgm_cond_wait(&start_ended, &mutex, left);
}

static void before_fork(void) {
    pthread_mutex_lock(&mutex);
    wait_for_starts(rgm_clock_monotonic_ns() + start_most_ns);
}
static void after_fork(void) { pthread_mutex_unlock(&mutex); }

// Where the parent had the driver in use, a look finds that it cannot be used here.
static void begin_anew(rgm_tracing_watch *watch) {
    pthread_mutex_init(&watch->mutex, NULL); // a thread of the parent may have held it
    rgm_cond_init(&watch->changed);
    watch->thread_made = watch->context_before = watch->at_once = watch->ended = false;
    watch->started_ns = watch->yielded_ns = 0;
    watch->reason[0] = '\0';
    atomic_store(&watch->given_up, false);
    atomic_store(&watch->cpu_ns, 0);
    atomic_store(&watch->unused_ns, rgm_clock_monotonic_ns());
    atomic_store(&watch->phase, RGM_WATCH_WAITING);
}

static void in_child(void) {
    for (rgm_tracing_watch *watch = watches; watch; watch = watch->next) begin_anew(watch);
    starting = 0;
    rgm_cond_init(&start_ended);
    pthread_mutex_unlock(&mutex);
}

static const rgm_fork_hooks hooks = {before_fork, after_fork, in_child};

static void prepare(void) {
    rgm_cond_init(&start_ended);
    rgm_fork_watch(RGM_FORK_WATCHES, &hooks);
}

// --- start ------------------------------------------------------------------------------------------------

static bool has_context(void) {
    const rgm_driver *driver;
    rgm_cu_device device;
    unsigned flags = 0;
    int count = 0, active = 0;
    if (rgm_driver_get(&driver, RGM_LIBRARY_IF_LOADED, NULL) != RGM_OK) return false;
    if (driver->device_count(&count) != RGM_CU_SUCCESS) return false;
    for (int i = 0; i < count && !active; i++)
        if (driver->device_get(&device, i) == RGM_CU_SUCCESS)
            (void)driver->primary_state(device, &flags, &active);
    return active != 0;
}

static void count_out(void) {
    pthread_mutex_lock(&mutex);
    starting--;
    pthread_cond_broadcast(&start_ended);
    pthread_mutex_unlock(&mutex);
}

static void release(rgm_tracing_watch *watch) {
    pthread_cond_destroy(&watch->changed);
    pthread_mutex_destroy(&watch->mutex);
    rgm_free(watch);
}

// Of the thread of a start and of free: true for the second of them.
static bool ends_last(rgm_tracing_watch *watch) {
    pthread_mutex_lock(&watch->mutex);
    bool last = !watch->given_up || watch->ended;
    watch->ended = true;
    pthread_mutex_unlock(&watch->mutex);
    return last;
}

static void *start(void *arg) {
    rgm_tracing_watch *watch = arg;
    rgm_error err = RGM_ERROR_NONE;
    int64_t begin_ns = rgm_thread_cpu_ns();
    int64_t unused_ns = watch->at_once ? 0 : atomic_load(&watch->unused_ns);
    rgm_status status =
        rgm_tracing_start_unless(&watch->given_up, unused_ns, watch->sink, &watch->options, &err);
    bool context = status == RGM_OK && has_context();
    pthread_mutex_lock(&watch->mutex);
    bool given_up = watch->given_up;
    if (!given_up) {
        watch->started_ns = rgm_clock_monotonic_ns();
        watch->context_before = context && !watch->at_once;
        atomic_fetch_add(&watch->cpu_ns, rgm_thread_cpu_ns() - begin_ns);
        enter(watch, status == RGM_OK ? RGM_WATCH_STARTED : RGM_WATCH_REFUSED, err.message);
    }
    pthread_mutex_unlock(&watch->mutex);
    count_out();
    if (given_up && ends_last(watch)) release(watch);
    return NULL;
}

// Of a child whose parent used the driver: it has its reason from the driver.
static void give_up(rgm_tracing_watch *watch) {
    const rgm_driver *driver;
    rgm_error err = RGM_ERROR_NONE;
    if (rgm_driver_get(&driver, RGM_LIBRARY_IF_LOADED, &err) == RGM_OK) return;
    if (!move(watch, RGM_WATCH_WAITING, RGM_WATCH_STARTING)) return;
    pthread_mutex_lock(&watch->mutex);
    enter(watch, RGM_WATCH_REFUSED, err.message);
    pthread_mutex_unlock(&watch->mutex);
}

// Whether it is for the caller to have tracing started.
static bool is_due(rgm_tracing_watch *watch) {
    const rgm_driver *driver;
    if (phase_of(watch) != RGM_WATCH_WAITING) return false;
    if (RGM_UNLIKELY(rgm_driver_lost_by_fork())) {
        give_up(watch);
        return false;
    }
    uint64_t loaded = atomic_load_explicit(&watch->loaded, memory_order_relaxed);
    int64_t now_ns = rgm_clock_monotonic_ns();
    if (rgm_driver_used(&driver, &loaded)) return true;
    atomic_store_explicit(&watch->loaded, loaded, memory_order_relaxed);
    atomic_store_explicit(&watch->unused_ns, now_ns, memory_order_relaxed);
    return false;
}

// Another tool has taken the records over, and tracing has ended for it.
static void leave_to_tool(rgm_tracing_watch *watch) {
    if (phase_of(watch) == RGM_WATCH_STARTED && rgm_tracing_is_taken_over())
        rgm_tracing_watch_yield(watch, taken_by_tool, 0);
}

void rgm_tracing_watch_look(rgm_tracing_watch *watch, bool may_wait) {
    rgm_error err = RGM_ERROR_NONE;
    if (may_wait) leave_to_tool(watch);
    if (RGM_LIKELY(!is_due(watch))) return;
    pthread_mutex_lock(&mutex);
    bool ours = move(watch, RGM_WATCH_WAITING, RGM_WATCH_STARTING);
    starting += ours;
    pthread_mutex_unlock(&mutex);
    if (!ours) return;
    pthread_mutex_lock(&watch->mutex);
    // What is loaded has constructors of any depth.
    watch->thread_made = rgm_thread_start_deep(&watch->thread, "rgm-kernels", start, watch, &err) == RGM_OK;
    bool made = watch->thread_made;
    if (!made) enter(watch, RGM_WATCH_REFUSED, err.message);
    pthread_mutex_unlock(&watch->mutex);
    if (!made) count_out();
}

// False when the time has passed before.
static bool wait_for_start(rgm_tracing_watch *watch, int64_t wait_ns) {
    int64_t deadline = rgm_clock_monotonic_ns() + wait_ns;
    pthread_mutex_lock(&watch->mutex);
    for (int64_t left;
         phase_of(watch) == RGM_WATCH_STARTING && (left = deadline - rgm_clock_monotonic_ns()) > 0;)
        (void)rgm_cond_wait(&watch->changed, &watch->mutex, left);
    bool done = phase_of(watch) != RGM_WATCH_STARTING;
    pthread_mutex_unlock(&watch->mutex);
    return done;
}

void rgm_tracing_watch_begin(rgm_tracing_watch *watch) {
    rgm_tracing_watch_look(watch, false);
    (void)wait_for_start(watch, start_most_ns);
}

// --- end --------------------------------------------------------------------------------------------------

// CUPTI hangs in the start. The thread is left to it, and what comes of it goes nowhere.
static void give_up_start(rgm_tracing_watch *watch) {
    pthread_mutex_lock(&watch->mutex);
    bool given_up = phase_of(watch) == RGM_WATCH_STARTING && watch->thread_made;
    if (given_up) {
        atomic_store(&watch->given_up, true);
        enter(watch, RGM_WATCH_REFUSED, rgm_tracing_state_text(RGM_TRACING_STUCK));
        (void)pthread_detach(watch->thread);
        watch->thread_made = false;
    }
    pthread_mutex_unlock(&watch->mutex);
    if (given_up) rgm_tracing_stop(watch->sink.arg, 0);
}

void rgm_tracing_watch_yield(rgm_tracing_watch *watch, const char *reason, int64_t wait_ns) {
    if (!wait_for_start(watch, wait_ns)) give_up_start(watch);
    bool started = phase_of(watch) == RGM_WATCH_STARTED;
    if (!started && !move(watch, RGM_WATCH_WAITING, RGM_WATCH_YIELDED)) return;
    if (started) rgm_tracing_stop(watch->sink.arg, wait_ns);
    pthread_mutex_lock(&watch->mutex);
    watch->yielded_ns = rgm_clock_monotonic_ns();
    enter(watch, RGM_WATCH_YIELDED, reason);
    pthread_mutex_unlock(&watch->mutex);
}

void rgm_tracing_watch_make_room(int64_t wait_ns) {
    int64_t deadline = rgm_clock_monotonic_ns() + wait_ns;
    pthread_mutex_lock(&mutex);
    wait_for_starts(deadline);
    for (rgm_tracing_watch *watch = watches; watch; watch = watch->next)
        if (phase_of(watch) == RGM_WATCH_STARTED && rgm_tracing_owned_by(watch->sink.arg))
            rgm_tracing_watch_yield(watch, taken_by_profiler, wait_ns);
    pthread_mutex_unlock(&mutex);
}

void rgm_tracing_watch_end(rgm_tracing_watch *watch, int64_t wait_ns) {
    const rgm_driver *driver;
    if (!watch) return;
    uint64_t loaded = atomic_load(&watch->loaded);
    if (rgm_driver_lost_by_fork()) give_up(watch);
    if (phase_of(watch) == RGM_WATCH_WAITING)
        (void)move(watch, RGM_WATCH_WAITING,
                   rgm_driver_used(&driver, &loaded) ? RGM_WATCH_MISSED : RGM_WATCH_UNUSED);
    if (!wait_for_start(watch, wait_ns)) give_up_start(watch);
    leave_to_tool(watch);
    pthread_mutex_lock(&watch->mutex);
    bool made = watch->thread_made;
    watch->thread_made = false;
    pthread_mutex_unlock(&watch->mutex);
    if (made) pthread_join(watch->thread, NULL);
}

// --- life -------------------------------------------------------------------------------------------------

rgm_status rgm_tracing_watch_new(rgm_tracing_watch **made, rgm_device_sink sink,
                                 const rgm_tracing_options *options, rgm_error *err) {
    pthread_once(&once, prepare);
    rgm_tracing_watch *watch = rgm_calloc(1, sizeof *watch);
    if (!watch) return rgm_error_no_memory(err);
    watch->sink = sink;
    watch->options = *options;
    begin_anew(watch);
    pthread_mutex_lock(&mutex);
    watch->next = watches;
    watches = watch;
    pthread_mutex_unlock(&mutex);
    watch->at_once = true;
    rgm_tracing_watch_begin(watch);
    watch->at_once = phase_of(watch) != RGM_WATCH_WAITING;
    *made = watch;
    return RGM_OK;
}

void rgm_tracing_watch_free(rgm_tracing_watch *watch) {
    if (!watch) return;
    rgm_tracing_watch_end(watch, start_most_ns);
    pthread_mutex_lock(&mutex);
    for (rgm_tracing_watch **link = &watches; *link; link = &(*link)->next) {
        if (*link != watch) continue;
        *link = watch->next;
        break;
    }
    pthread_mutex_unlock(&mutex);
    if (ends_last(watch)) release(watch);
}

void rgm_tracing_watch_get_state(rgm_tracing_watch *watch, rgm_tracing_watch_state *state) {
    static const char *const tokens[] = {RGM_WATCH_PHASES(RGM_TOKEN)};
    pthread_mutex_lock(&watch->mutex);
    int phase = phase_of(watch);
    int64_t unused_ns = atomic_load(&watch->unused_ns);
    bool started = watch->started_ns && phase != RGM_WATCH_REFUSED;
    *state = (rgm_tracing_watch_state){
        .phase = tokens[phase],
        .late_ns = !started         ? -1
                   : watch->at_once ? 0
                                    : watch->started_ns - unused_ns,
        .started_ns = started ? watch->started_ns : -1,
        .yielded_ns = watch->yielded_ns ? watch->yielded_ns : -1,
        .context_before = watch->context_before,
        .cpu_ns = atomic_load(&watch->cpu_ns),
    };
    if (phase == RGM_WATCH_MISSED) state->late_ns = rgm_clock_monotonic_ns() - unused_ns;
    memcpy(state->reason, watch->reason, sizeof state->reason);
    pthread_mutex_unlock(&watch->mutex);
}
