// SPDX-License-Identifier: Apache-2.0
#include "capture/stack_sampler.h"

#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "capture/heap_sampler.h"
#include "capture/session_state.h"
#include "capture/thread_activity.h"

// --- one thread -------------------------------------------------------------------------------------------

static rgm_sampled_thread *thread_of(rgm_stack_sampler *stacks, int64_t thread) {
    for (size_t i = 0; i < stacks->known_count; i++)
        if (stacks->known[i].thread == thread) return &stacks->known[i];
    if (stacks->known_count == RGM_STACK_THREADS) return NULL;
    rgm_sampled_thread *fresh = &stacks->known[stacks->known_count++];
    *fresh = (rgm_sampled_thread){.thread = thread, .cpu_ns = -1};
    return fresh;
}

// What a thread with the interpreter's lock does: its own steps take 20 to 100 ns, so one that has run for
// longer and has not moved is in one call. One move may be the end of a call, two while it ran for a moment
// are steps. Where the machine is busy it may not get to run meanwhile (and is charged for being put aside),
// or this thread comes late to look: then nothing is known. A loop that makes objects at two addresses in
// turn is as it was every other time, hence several looks at uneven distances.
static rgm_sample_state with_lock(const rgm_stack_sampler *stacks, rgm_walker *walker,
                                  const rgm_sampled_thread *t, int64_t cpu_ns) {
    enum { PAUSES = 3, PAUSE_NS = 50000, STEPS_NS = 20000, LATE_NS = 300000, STILL = 6, APART_NS = 1700 };
    int64_t begin_ns = rgm_clock_monotonic_ns();
    int moves = 0, still = 0;
    for (int pauses = 0;;) {
        int64_t now_ns = rgm_clock_monotonic_ns(), ran_ns = rgm_thread_clock_ns(t->thread) - cpu_ns;
        bool moved = stacks->source->moved(walker), in_time = ran_ns < LATE_NS;
        if (!moved && ran_ns >= STEPS_NS && 2 * ran_ns >= now_ns - begin_ns) {
            if (++still == STILL) return RGM_SAMPLE_CALLING;
            while (rgm_clock_monotonic_ns() < now_ns + still * APART_NS) continue;
            continue;
        }
        if (moved) {
            if (in_time && ++moves == 2) return RGM_SAMPLE_INTERPRETING;
            cpu_ns += ran_ns;
            begin_ns = now_ns;
            still = 0;
            if (in_time) continue;
        }
        if (pauses == PAUSES) return RGM_SAMPLE_RUNNING;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS << pauses++}, NULL);
    }
}

static rgm_sample_state running(const rgm_stack_sampler *stacks, rgm_walker *walker,
                                const rgm_sampled_thread *t, int64_t cpu_ns) {
    return stacks->source->has_lock(walker, t->number) ? with_lock(stacks, walker, t, cpu_ns)
                                                       : RGM_SAMPLE_NATIVE;
}

static bool in_a_wait(uint8_t state) {
    return state != RGM_SAMPLE_UNKNOWN && state != RGM_SAMPLE_WAITING_FOR_PROCESSOR &&
           !rgm_sample_runs((rgm_sample_state)state);
}

static rgm_sample_state waiting(const rgm_stack_sampler *stacks, const rgm_walker *walker,
                                rgm_thread_wait wait, uint64_t address) {
    switch (wait) {
    case RGM_WAITS_FOR_PROCESSOR: return RGM_SAMPLE_WAITING_FOR_PROCESSOR;
    case RGM_WAITS_AT_ADDRESS:
        return stacks->source->is_lock(walker, address) ? RGM_SAMPLE_WAITING_FOR_LOCK
                                                        : RGM_SAMPLE_WAITING_FOR_THREAD;
    case RGM_WAITS_ASLEEP: return RGM_SAMPLE_SLEEPING;
    case RGM_WAITS_FOR_FILE: return RGM_SAMPLE_WAITING_FOR_FILE;
    case RGM_WAITS_FOR_SOCKET: return RGM_SAMPLE_WAITING_FOR_SOCKET;
    case RGM_WAITS_FOR_PIPE: return RGM_SAMPLE_WAITING_FOR_PIPE;
    case RGM_WAITS_FOR_PROCESS: return RGM_SAMPLE_WAITING_FOR_PROCESS;
    case RGM_WAITS_OTHERWISE: return RGM_SAMPLE_WAITING;
    default: return RGM_SAMPLE_UNKNOWN;
    }
}

// What a thread does at the moment: its clock goes on, or it waits.
typedef struct {
    int64_t cpu_ns;
    rgm_thread_wait wait;
    uint64_t address;
} activity;

static bool has_waited(const rgm_sampled_thread *t) { return t->fresh && in_a_wait(t->state); }

static rgm_kept_file *kept_open(const rgm_stack_sampler *stacks, const rgm_sampled_thread *t,
                                rgm_kept_file *file) {
    return t - stacks->known < RGM_STACK_FILES ? file : NULL;
}

// Who waited last time mostly does again, and then the clock need not be read.
static activity ask(const rgm_stack_sampler *stacks, rgm_sampled_thread *t, int64_t begin_cpu_ns) {
    rgm_kept_file *file = kept_open(stacks, t, &t->wait_file);
    activity now = {.cpu_ns = begin_cpu_ns};
    bool waited = has_waited(t);
    if (waited) now.wait = rgm_thread_waits(t->thread, file, &now.address);
    if (now.wait != RGM_WAITS_UNKNOWN && now.wait != RGM_WAITS_FOR_PROCESSOR) return now;
    now.cpu_ns = rgm_thread_clock_ns(t->thread);
    if (!waited && now.cpu_ns <= begin_cpu_ns) now.wait = rgm_thread_waits(t->thread, file, &now.address);
    return now;
}

// Who gets on runs, who sleeps in the system waits, and who is ready may have been put aside by this thread a
// moment ago.
static rgm_sample_state state_of(const rgm_stack_sampler *stacks, rgm_walker *walker, rgm_sampled_thread *t,
                                 activity now, int64_t begin_cpu_ns) {
    if (now.cpu_ns > begin_cpu_ns) return running(stacks, walker, t, now.cpu_ns);
    bool mostly_ran = t->cpu_ns >= 0 && 2 * (begin_cpu_ns - t->cpu_ns) > t->now_ns - t->at_ns;
    if (now.wait == RGM_WAITS_FOR_PROCESSOR && mostly_ran &&
        rgm_thread_displaced(t->thread, kept_open(stacks, t, &t->place_file)))
        return running(stacks, walker, t, begin_cpu_ns);
    return waiting(stacks, walker, now.wait, now.address);
}

static bool add_row(rgm_stack_sampler *stacks, const rgm_sampled_thread *t) {
    rgm_host_sample_row row = {.ticks = t->ticks, .thread = t->thread, .stack = t->stack, .state = t->state};
    return rgm_session_rows(stacks->session, RGM_LOG_HOST_SAMPLES, &row, 1);
}

static void note(rgm_stack_sampler *stacks, rgm_stack_found found) {
    bool torn = found == RGM_STACK_UNREADABLE;
    rgm_session_note(stacks->session, torn ? RGM_ANOMALY_TORN_STACKS : RGM_ANOMALY_DROPPED_SAMPLES, 1);
}

// The number of the stack that it is in.
static rgm_stack_found number(rgm_stack_sampler *stacks, rgm_walker *walker, rgm_sampled_thread *t,
                              size_t count, bool cut) {
    rgm_kept_stack *kept = &t->kept;
    if (cut || kept->count < count)
        return rgm_stack_tree_find(stacks->tree, stacks->source, walker, stacks->frames, count, cut,
                                   t->now_ns, &t->stack);
    size_t same = kept->count - count;
    t->stack = same ? kept->frames[same - 1].node : RGM_STACK_NONE;
    return rgm_stack_tree_follow(stacks->tree, stacks->source, walker, stacks->frames, count, t->now_ns,
                                 kept->frames + same, &t->stack);
}

// Where it stands, by a walk, and what it does; false where nothing can be said of it. Of one that ran it has
// to be told whether it does now: others have been looked at since its clock was read.
static bool look(rgm_stack_sampler *stacks, rgm_walker *walker, rgm_sampled_thread *t) {
    size_t count;
    bool cut;
    int64_t begin_cpu_ns = has_waited(t) ? t->now_cpu_ns : rgm_thread_clock_ns(t->thread);
    rgm_walk walk = stacks->source->frames(walker, t->number, &t->kept, stacks->frames, &count, &cut);
    if (walk == RGM_WALK_TORN) note(stacks, RGM_STACK_UNREADABLE);
    if (walk != RGM_WALK_FOUND) return false;
    activity now = ask(stacks, t, begin_cpu_ns);
    rgm_stack_found found = number(stacks, walker, t, count, cut);
    if (found != RGM_STACK_KNOWN) {
        t->kept.count = 0;
        note(stacks, found);
        return false;
    }
    t->state = (uint8_t)state_of(stacks, walker, t, now, begin_cpu_ns);
    return true;
}

// Reads its clock: one that has not got on since is where it was. Nor does one move that was ready and has
// not got to run meanwhile. One that is being started has no number yet, and 0 would be this thread's clock.
static void meet(rgm_stack_sampler *stacks, int64_t thread, uint32_t number) {
    rgm_sampled_thread *t = thread > 0 ? thread_of(stacks, thread) : NULL;
    if (!t) return;
    t->ticks = rgm_clock_ticks();
    t->now_cpu_ns = rgm_thread_clock_ns(thread);
    t->now_ns = rgm_clock_monotonic_ns();
    t->number = number;
    t->seen = t->now_cpu_ns >= 0;
    t->due = t->seen && !(t->fresh && t->now_cpu_ns == t->cpu_ns && t->state != RGM_SAMPLE_UNKNOWN &&
                          !rgm_sample_runs((rgm_sample_state)t->state));
}

// --- all threads ------------------------------------------------------------------------------------------

static void forget(rgm_sampled_thread *t) {
    rgm_kept_close(&t->wait_file);
    rgm_kept_close(&t->place_file);
    rgm_free(t->kept.frames);
}

static void forget_gone(rgm_stack_sampler *stacks) {
    size_t kept = 0;
    for (size_t i = 0; i < stacks->known_count; i++)
        if (stacks->known[i].seen)
            stacks->known[kept++] = stacks->known[i];
        else
            forget(&stacks->known[i]);
    stacks->known_count = kept;
}

static void look_at_due(rgm_stack_sampler *stacks, rgm_walker *walker, bool with_lock_too) {
    for (size_t i = 0; i < stacks->known_count; i++) {
        rgm_sampled_thread *t = &stacks->known[i];
        if (!t->due || (!with_lock_too && stacks->source->has_lock(walker, t->number))) continue;
        if (with_lock_too) t->ticks = rgm_clock_ticks();
        t->fresh = look(stacks, walker, t);
        t->due = false;
    }
}

static void look_at_all(rgm_stack_sampler *stacks, rgm_walker *walker) {
    size_t due = 0;
    for (size_t i = 0; i < stacks->known_count; i++)
        if (stacks->known[i].due) stacks->due[due++] = stacks->known[i].number;
    stacks->source->together(walker, stacks->due, due);
    look_at_due(stacks, walker, false);
    look_at_due(stacks, walker, true);
    for (size_t i = 0; i < stacks->known_count; i++) {
        rgm_sampled_thread *t = &stacks->known[i];
        t->cpu_ns = t->now_cpu_ns;
        t->at_ns = t->now_ns;
        if (t->fresh) (void)add_row(stacks, t);
    }
}

bool rgm_stack_sampler_look(rgm_stack_sampler *stacks) {
    rgm_walker *walker = stacks->walker;
    const char *reason = "";
    int64_t thread;
    uint32_t number = 0;
    rgm_walk walk = RGM_WALK_END;
    rgm_session_open_child(stacks->session);
    pthread_mutex_lock(&stacks->rows_mutex);
    bool begun = stacks->source->begin(walker, &reason);
    if (stacks->watches_heap && begun) rgm_heap_take(stacks, walker);
    for (size_t i = 0; i < stacks->known_count; i++) stacks->known[i].seen = false;
    while (begun && (walk = stacks->source->next(walker, &thread)) == RGM_WALK_FOUND)
        meet(stacks, thread, number++);
    if (walk == RGM_WALK_TORN) note(stacks, RGM_STACK_UNREADABLE);
    forget_gone(stacks);
    look_at_all(stacks, walker);
    pthread_mutex_unlock(&stacks->rows_mutex);
    if (*reason) atomic_store(&stacks->refused, reason);
    return !*reason;
}

// What was drawn since the last look.
static void take_rest(rgm_stack_sampler *stacks) {
    const char *reason = "";
    if (!stacks->watches_heap) return;
    pthread_mutex_lock(&stacks->rows_mutex);
    if (stacks->source->begin(stacks->walker, &reason)) rgm_heap_take(stacks, stacks->walker);
    pthread_mutex_unlock(&stacks->rows_mutex);
}

// --- life -------------------------------------------------------------------------------------------------

void rgm_stack_sampler_init(rgm_stack_sampler *stacks) {
    *stacks = (rgm_stack_sampler){0};
    pthread_mutex_init(&stacks->rows_mutex, NULL);
}

static bool take_row(void *arg, const rgm_stack_row *row) {
    return rgm_session_rows(arg, RGM_LOG_STACKS, row, 1);
}

static rgm_status prepare(rgm_stack_sampler *stacks, rgm_session *session) {
    stacks->session = session;
    if (!stacks->known) stacks->known = rgm_calloc(RGM_STACK_THREADS, sizeof *stacks->known);
    if (!stacks->frames) stacks->frames = rgm_calloc(RGM_STACK_DEEPEST, sizeof *stacks->frames);
    if (!stacks->known || !stacks->frames) return rgm_error_no_memory(NULL);
    if (!stacks->tree) RGM_TRY(rgm_stack_tree_new(&stacks->tree, &session->strings, take_row, session, NULL));
    return RGM_OK;
}

rgm_status rgm_stack_sampler_begin(rgm_stack_sampler *stacks, rgm_session *session) {
    RGM_TRY(prepare(stacks, session));
    int64_t period = session->options.allocations_bytes;
    stacks->watches_heap = stacks->watches_heap || (period > 0 && rgm_heap_begin(stacks->source, period));
    return RGM_OK;
}

bool rgm_stack_sampler_open(rgm_stack_sampler *stacks) {
    const char *reason = NULL;
    stacks->walker = stacks->source->start(&reason);
    if (!stacks->walker) atomic_store(&stacks->refused, reason);
    return stacks->walker;
}

void rgm_stack_sampler_close(rgm_stack_sampler *stacks) {
    if (!stacks->walker) return;
    take_rest(stacks);
    stacks->source->stop(stacks->walker);
    stacks->walker = NULL;
}

static void forget_all(rgm_stack_sampler *stacks) {
    for (size_t i = 0; i < stacks->known_count; i++) forget(&stacks->known[i]);
    stacks->known_count = 0;
}

void rgm_stack_sampler_end(rgm_stack_sampler *stacks) {
    if (stacks->watches_heap) rgm_heap_end();
    stacks->watches_heap = false;
    forget_all(stacks);
}

void rgm_stack_sampler_release(rgm_stack_sampler *stacks) {
    forget_all(stacks);
    rgm_stack_tree_free(stacks->tree);
    rgm_free(stacks->known);
    rgm_free(stacks->frames);
    pthread_mutex_destroy(&stacks->rows_mutex);
    *stacks = (rgm_stack_sampler){0};
}

void rgm_stack_sampler_hold(rgm_stack_sampler *stacks) { pthread_mutex_lock(&stacks->rows_mutex); }
void rgm_stack_sampler_release_hold(rgm_stack_sampler *stacks) { pthread_mutex_unlock(&stacks->rows_mutex); }

void rgm_stack_sampler_clear(rgm_stack_sampler *stacks) {
    if (stacks->tree) rgm_stack_tree_clear(stacks->tree);
    forget_all(stacks);
}

void rgm_stack_sampler_forked(rgm_stack_sampler *stacks) {
    rgm_stack_sampler_clear(stacks);
    stacks->walker = NULL;
    if (stacks->watches_heap) rgm_heap_forget(); // it was the parent's
}
